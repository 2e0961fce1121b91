"""What `escapade paper rates` runs, as data.

Grids are as wide as a second or two a run allow. Where the theory is a sum, the other constants are chosen so that the
term named in the sweep is not buried under the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .rate_runs import Sweep

FEWEST = 3
"""Points behind an exponent: two constants are fitted, and one point is left to disagree."""

_ONLINE: dict[str, Any] = {"method": "ZO-NCF-Online", "theorem": "Theorem 1", "kappa": 1.0}
_CHEBYSHEV: dict[str, Any] = {"method": "ZO-NCF-Deterministic", "theorem": "Theorem 2"}
_GD: dict[str, Any] = {"method": "ZO-GD-NCF", "theorem": "Theorem 4"}
_GD_II: dict[str, Any] = {"method": "ZO-GD-NCF II", "theorem": "Theorem 4 II"}
_SGD: dict[str, Any] = {"method": "ZO-SGD-NCF", "theorem": "Theorem 3", "sigma": 0.2}
_SCSG: dict[str, Any] = {"method": "ZO-SCSG-NCF", "theorem": "Theorem 7", "sigma": 0.1}
_SPIDER: dict[str, Any] = {"method": "ZO-SPIDER-NCF", "theorem": "Theorem 8", "sigma": 0.2}
_DESCENT: dict[str, Any] = {"instance": "ramp", "d": 5, "delta": 1.0, "rho": 0.1, "kappa": 0.2}
"""On the ramp with a wide delta nearly all queries are those of descents."""
_SADDLE: dict[str, Any] = {"instance": "cubic", "epsilon": 0.3, "kappa": 0.5}

SWEEPS: tuple[Sweep, ...] = (
    # The finders alone. Without noise of the Hessians the online one would take 1/delta iterations on batches of one.
    Sweep(**_ONLINE, variable="delta", instance="nothing to find", points=(0.5, 0.25, 0.125, 0.0625, 0.03125)),
    Sweep(**_ONLINE, variable="delta", instance="at the edge", points=(0.5, 0.25, 0.125, 0.0625, 0.03125)),
    Sweep(**_ONLINE, variable="d", instance="nothing to find", points=(5, 10, 20, 40, 80), delta=0.25),
    Sweep(**_CHEBYSHEV, variable="delta", instance="nothing to find", points=(1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)),
    Sweep(**_CHEBYSHEV, variable="delta", instance="at the edge", points=(1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)),
    Sweep(**_CHEBYSHEV, variable="d", instance="nothing to find", points=(5, 10, 20, 40, 80, 160), delta=0.01),
    # ZO-GD-NCF
    Sweep(**_GD, variable="epsilon", instance="cubic", points=(0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4), d=20, delta=0.3),
    Sweep(**_GD, variable="epsilon", instance="tail", points=(0.1, 0.05, 0.025, 0.0125), d=5, delta=1.0),
    Sweep(**_GD, variable="epsilon", instance="ramp", points=(0.1, 0.05, 0.025, 0.0125, 0.00625), d=5, delta=1.0),
    Sweep(**_GD, variable="delta", instance="cubic", points=(0.4, 0.2, 0.1, 0.05, 0.025, 0.0125), d=20, epsilon=5e-3),
    Sweep(
        **_GD, variable="delta", instance="cubic, short escapes", points=(0.05, 0.025, 0.0125, 0.00625), epsilon=0.1
    ),
    Sweep(**_GD, variable="d", instance="cubic", points=(10, 20, 40, 80, 160), delta=0.3, epsilon=0.01),
    Sweep(**_GD, variable="d", instance="octopus", points=(4, 8, 12, 20, 32), delta=1.0, epsilon=0.01),
    Sweep(**_GD_II, variable="d", instance="ramp", points=(3, 6, 12, 24, 48), epsilon=0.1),
    # ZO-SGD-NCF
    Sweep(**_SGD | _DESCENT | {"rho": 3.0}, variable="epsilon", points=(0.07, 0.05, 0.035, 0.025, 0.018, 0.0125)),
    Sweep(
        **_SGD | _DESCENT | {"rho": 3.0},
        variable="epsilon",
        points=(0.07, 0.05, 0.035, 0.025, 0.018, 0.0125),
        steps_alone=True,
    ),
    Sweep(**_SGD, variable="epsilon", instance="cubic", points=(0.2, 0.1, 0.05, 0.025, 0.0125), kappa=0.2),
    Sweep(**_SGD | _SADDLE, variable="delta", points=(0.5, 0.35, 0.25, 0.18, 0.125, 0.09)),
    Sweep(**_SGD | _DESCENT | {"d": 10}, variable="d", points=(4, 8, 16, 32), epsilon=0.05),
    # ZO-SCSG-NCF
    Sweep(**_SCSG | _DESCENT | {"sigma": 0.2}, variable="epsilon", points=(0.28, 0.2, 0.14, 0.1, 0.07)),
    Sweep(**_SCSG, variable="epsilon", instance="cubic", points=(0.4, 0.28, 0.2, 0.14, 0.1), kappa=0.1),
    Sweep(**_SCSG | _SADDLE, variable="delta", points=(0.5, 0.35, 0.25, 0.18, 0.125, 0.09)),
    Sweep(**_SCSG | _DESCENT, variable="d", points=(4, 8, 16, 32), epsilon=0.1),
    # ZO-SPIDER-NCF
    Sweep(**_SPIDER, **_DESCENT, variable="epsilon", points=(0.1, 0.05, 0.025, 0.0125, 0.00625)),
    Sweep(**_SPIDER, variable="epsilon", instance="cubic", points=(0.2, 0.14, 0.1, 0.07, 0.05), d=5, kappa=0.2),
    Sweep(**_SPIDER | _DESCENT | {"kappa": 0.5}, variable="delta", points=(0.5, 0.35, 0.25, 0.18, 0.125), epsilon=0.1),
    Sweep(**_SPIDER | _DESCENT, variable="d", points=(4, 8, 16, 32), epsilon=0.05),
)


def sweeps(quick: bool) -> tuple[Sweep, ...]:
    """All of them; `quick` leaves out the two hardest points, or as many as leave three."""
    if not quick:
        return SWEEPS
    return tuple(replace(one, points=one.points[: max(FEWEST, len(one.points) - 2)]) for one in SWEEPS)
