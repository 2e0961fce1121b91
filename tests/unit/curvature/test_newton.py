"""Kantorovich's radius is where the minimiser is, if the Hessian falls as fast as rho allows."""

import numpy as np
import pytest

from escapade.curvature.newton import newton_radius


@pytest.mark.parametrize("share", [1e-9, 0.1, 0.5, 0.9, 1.0])
def test_the_worst_cubic(share):
    curvature, rho = 0.7, 3.0
    g = share * curvature**2 / (2 * rho)
    near, far = sorted(np.roots([-rho / 2, curvature, -g]).real)  # where -g + lambda x - rho x^2 / 2 = 0
    assert near <= newton_radius(g, curvature, rho) * (1 + 1e-9) + 1e-15
    assert newton_radius(g, curvature, rho) == pytest.approx(near, rel=1e-6)
    assert g / curvature <= newton_radius(g, curvature, rho) <= 2 * g / curvature <= 2 * far
