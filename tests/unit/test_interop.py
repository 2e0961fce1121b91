"""Escapade as a method of SciPy's `minimize`, and inside `basinhopping`."""

import numpy as np
import pytest
from scipy.optimize import Bounds, OptimizeWarning, basinhopping, minimize

import escapade
from escapade.problems import OffAxis
from escapade.stopping import Stop

PROBLEM = OffAxis(d=4, seed=0)


def solve(fun=PROBLEM, **options):
    keywords = {key: options.pop(key) for key in ("tol", "callback", "args", "jac") if key in options}
    return minimize(fun, PROBLEM.start, method=escapade.scipy_method, options={"rng": 0, **options}, **keywords)


def test_it_leaves_the_saddle():
    result = solve()
    assert isinstance(result, escapade.Result)
    assert result.success
    assert result.certificate.verdict == "minimum"
    assert result.fun == pytest.approx(PROBLEM.minimum, abs=1e-8)


def test_options_are_the_keywords_of_minimize():
    assert solve(maxfev=5).stop is Stop.BUDGET
    assert solve(maxiter=1, method="zo-gd-ncf").nit == 1
    result = solve(method="pagd", vectorized=True, curvtol=0.1)
    assert result.method == "pagd"
    assert result.certificate.curvtol == 0.1


def test_tol_is_gtol():
    assert solve(tol=1e-3).certificate.gtol == 1e-3
    assert solve(tol=1e-3, gtol=1e-2).certificate.gtol == 1e-2


def test_unknown_options_are_warned_about():
    with pytest.warns(OptimizeWarning, match="Unknown solver options: disp, nonsense"):
        result = solve(nonsense=1, disp=True)
    assert result.success


def test_args_and_derivatives_are_passed_over():
    jac = {"jac": lambda x, a, b: a * PROBLEM.gradient(x)}
    result = solve(lambda x, a, b: a * float(PROBLEM(x)) + b, args=(2.0, 1.0), **jac)
    assert result.njev > 0
    assert result.fun == pytest.approx(2 * PROBLEM.minimum + 1, abs=1e-8)


def test_callbacks():
    points = []

    def by_point(xk):
        points.append(xk)

    def by_name(intermediate_result):
        points.append(intermediate_result.x)
        raise StopIteration

    first = solve(callback=by_point)
    assert first.success
    assert len(points) == first.nit
    second = solve(callback=by_name)
    assert second.stop is Stop.CALLBACK
    assert np.array_equal(points[-1], points[0])


def test_bounds():
    for bounds in ([(0.5, None)] * 4, Bounds(0.5, np.inf)):
        result = minimize(PROBLEM, PROBLEM.start, method=escapade.scipy_method, bounds=bounds, options={"rng": 0})
        assert result.success
        assert np.all(result.x >= 0.5)


def test_basinhopping():
    """Two wells, of depth 1 and 2, on either side of a saddle."""

    def fun(x):
        return float((x[0] ** 2 - 1) ** 2 + 0.3 * x[0] + x[1] ** 2)

    result = basinhopping(
        fun,
        np.array([1.0, 0.5]),
        niter=8,
        stepsize=1.5,
        minimizer_kwargs={"method": escapade.scipy_method, "options": {"rng": 0}},
        rng=1,
    )
    best = result.lowest_optimization_result
    assert result.minimization_failures == 0
    assert best.certificate.verdict == "minimum"
    assert best.x[0] == pytest.approx(-1.0355, abs=1e-3)
    assert result.nfev > best.nfev
