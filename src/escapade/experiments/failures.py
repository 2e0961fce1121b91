"""Printed settings that failed here: each is tried, and what happened stands beside what was used instead."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import bisect

from ..errors import BelowPrecision
from ..problems import Octopus
from ..theory import theorem_1, theorem_2
from .evidence import AS_PRINTED, Evidence
from .panels import Panel, least_squares
from .purposes import moves_of
from .settings import E

TRIALS = 20

SPIDER = "ZO-SPIDER-NCF"


@dataclass(frozen=True)
class Failure:
    """A printed setting, what it did here, and what stands in its place."""

    figure: str
    printed: str
    happened: str
    instead: str


def failures_of(evidence: Evidence, panels: list[Panel], data: Path | None) -> list[Failure]:
    """Those of the figures that were run."""
    shown: list[Failure] = []
    for figure in dict.fromkeys(panel.figure for panel in panels):
        shown += [failure for look in LOOKS.get(figure, ()) if (failure := look(evidence, data)) is not None]
    return shown


def radii(evidence: Evidence, data: Path | None) -> Failure:
    """The literal sigma of ZO-NCF-Deterministic, at the origin and at the next saddle."""
    panel = evidence.figure("octopus", "plain")[0]
    settings = theorem_2(ell=E, rho=E, d=panel.d, delta=panel.delta, p=0.01)
    problem, rng = Octopus(d=panel.d), np.random.default_rng(0)
    saddle = 4 * problem.tau * np.eye(panel.d)[0]
    moved = 0
    for _ in range(TRIALS):
        xi = rng.standard_normal(panel.d)
        xi *= settings.perturbation / np.linalg.norm(xi)
        moved += bool(problem(saddle + xi) != problem(saddle))
    try:
        settings.resolved(saddle, abs(float(problem(saddle))))
        answer = "accepted"
    except BelowPrecision as error:
        answer = f"refused: {error}"
    return Failure(
        "octopus",
        f"the perturbation of ZO-NCF-Deterministic, sigma = {settings.perturbation:.1e} at d = {panel.d}",
        f"at the second saddle f(x + sigma xi) differed from f(x) in {moved} of {TRIALS} tries: "
        f"every difference is zero, and the saddle would pass for a minimum. The library's answer is: {answer}",
        "the same recurrence with the direction kept at length one and differences at a step that float64 resolves",
    )


def ell_of_octopus(evidence: Evidence, data: Path | None) -> Failure:
    """The Chebyshev recurrence with exact products at a minimum of the octopus, at ell = e and at 2e."""
    panel = evidence.figure("octopus", "plain")[0]
    problem = Octopus(d=panel.d)
    H = problem.hessian(problem.minima[0])
    wrong = {
        ell: sum(_grows(H, ell, panel.delta, 0.01, np.random.default_rng(seed)) for seed in range(TRIALS))
        for ell in (E, 2 * E)
    }
    return Failure(
        "octopus",
        f"ell = e for the octopus, whose curvature is 2e = {2 * E:.2f} at its minima (d = {panel.d})",
        f"with exact products, the finder reported a minimum as a saddle {wrong[E]} times out of {TRIALS}",
        f"ell = 2e for the finder ({wrong[2 * E]} of {TRIALS}); step sizes keep the printed ell",
    )


def _grows(H: np.ndarray, ell: float, delta: float, p: float, rng: np.random.Generator) -> bool:
    """Whether Algorithm 3 reports a direction, lines 3 to 11 with products H y."""
    d = len(H)
    y = rng.standard_normal(d)
    y /= np.linalg.norm(y)
    before = np.zeros(d)
    steps = (math.log(4 * d / p) + math.log(d / p)) / math.acosh(1 + delta / (4 * ell))
    for _ in range(math.ceil(steps)):
        m = -H @ y / ell + (1 - 3 * delta / (4 * ell)) * y
        before, y = y, 2 * m - before
        if np.linalg.norm(y - m) >= d / p:
            return True
    return False


def _ends(evidence: Evidence, figure: str, method: str, ending: Callable[[float, float, float], bool]) -> str:
    """In each panel, how many runs as printed ended so; "" if none were made."""
    parts = []
    for panel in evidence.figure(figure, "plain"):
        runs = evidence.runs(panel, method + AS_PRINTED)
        if runs:
            count = sum(ending(run.fun, run.start, run.least) for run in runs)
            parts.append(f"{count} of {len(runs)} at {panel.title}")
    return ", ".join(parts)


def pagd_gives_up(figure: str) -> Callable[[Evidence, Path | None], Failure | None]:
    """PAGD with t_thres = 1."""

    def look(evidence: Evidence, data: Path | None) -> Failure | None:
        stayed = _ends(evidence, figure, "PAGD", lambda fun, start, least: fun >= start - (start - least) / 1000)
        if not stayed:
            return None
        return Failure(
            figure,
            "PAGD with t_thres = 1",
            f"runs that ended within a thousandth of where they started: {stayed}",
            "descent goes on from the perturbed point, for as many steps as growth from r / sqrt(d) to one takes at a "
            "curvature of -1; it ends when nothing was gained",
        )

    return look


def zpsgd_diverges(evidence: Evidence, data: Path | None) -> Failure | None:
    """ZPSGD with eta = 1 / (2 ell), ell = e."""
    lost = _ends(evidence, "octopus", "ZPSGD", lambda fun, start, least: fun > start)
    if not lost:
        return None
    return Failure(
        "octopus",
        "ZPSGD with eta = 1/(2 ell), ell = e and m = d",
        f"runs that ended above the value they started from: {lost}",
        "the step divided by 1 + (d + 1)/m, the factor by which a Gaussian gradient's square exceeds the gradient's",
    )


def pagd_is_coarse(evidence: Evidence, data: Path | None) -> Failure | None:
    """g_thres = e / 100 beside epsilon = 1e-4."""
    panels = evidence.figure("octopus", "plain")
    runs = [run for panel in panels for run in evidence.runs(panel, "PAGD")]
    if not runs:
        return None
    coarse = sum(run.gradient > panels[0].epsilon for run in runs)
    return Failure(
        "octopus",
        "PAGD with g_thres = e/100, beside epsilon = 1e-4",
        f"{coarse} of {len(runs)} runs ended with a gradient above epsilon "
        f"(median {np.median([run.gradient for run in runs]):.1e}), so that no certificate at epsilon can be given",
        "kept as printed: the curve is that of the table, without a certificate",
    )


def online_is_endless(evidence: Evidence, data: Path | None) -> Failure | None:
    """T of ZO-NCF-Online."""
    panels = evidence.figure("cubic", sampled=True)
    if not panels:
        return None
    panel = panels[0]
    T = theorem_1(ell=100.0, rho=1.0, d=panel.d, delta=panel.delta, p=0.01).T
    return Failure(
        "cubic",
        f"the T of ZO-NCF-Online for ell = 100 and delta = {panel.delta:.1g} (C_0 = 1, d = {panel.d})",
        f"one weak run asks for T = {T:.1e} iterations of 4d queries, {4 * panel.d * T:.1e} queries; the budget of "
        f"a whole run here is {panel.budget:.1e}",
        "ZO-NCF-Online with an estimated ell and steps as long as the measured variance of its products lets them be: "
        "curves of their own, beside those with the minibatch finder, at the same delta and p",
    )


def spider_walks_at_random(evidence: Evidence, data: Path | None) -> Failure | None:
    """Algorithm 8 looks for curvature before every block of steps, and goes either way along what it finds."""
    panels = [panel for panel in evidence.figure("cubic", sampled=True) if evidence.has(panel, SPIDER + AS_PRINTED)]
    if not panels:
        return None
    return Failure(
        "cubic",
        "ZO-SPIDER-NCF as in Algorithm 8, with |S_1| = 128",
        "; ".join(_walk(evidence, panel, data) for panel in panels)
        + ". Every search that succeeds makes a block of escape steps along a random sign of its direction, so that "
        "the iterate walks at random, and the estimate v of the gradient is paid for in each of them and not used",
        "the sign that v says goes down, and a search only where |v| is small (then exact derivatives end the run, as "
        "the noise of v hides epsilon); batches and steps are kept",
    )


def _walk(evidence: Evidence, panel: Panel, data: Path | None) -> str:
    """What the runs of one panel did."""
    label = SPIDER + AS_PRINTED
    runs, left = evidence.runs(panel, label), evidence.left_over(panel, label).value
    moves, v = moves_of(runs), evidence.shares(panel, label).get("descent", 0.0)
    stopped = sum(run.ending in ("certified", "finished", "undecided", "not_stationary") for run in runs)
    return (
        f"at {panel.title}: {moves.get('escape', 0.0):,.0f} escape steps and {moves.get('descent', 0.0):,.0f} descent "
        f"steps (medians); v took {100 * v:.0f}% of the queries; farthest from the start |x| = "
        f"{np.median([run.far for run in runs]):.2f} (a search can succeed up to {_reach(panel, data):.2f} on a way of "
        f"lowest curvature), with {100 * left:.3g}% of the drop left; its own test ended {stopped} of {len(runs)} runs"
    )


def _reach(panel: Panel, data: Path | None) -> float:
    """The greatest distance from the start, in a direction of its lowest curvature, with curvature below -delta."""
    problem = panel.problem(0, data)
    x = problem.start
    v = np.linalg.eigh(problem.hessian(x))[1][:, 0]

    def lowest(r: float) -> float:
        return float(np.linalg.eigvalsh(problem.hessian(x + r * v))[0]) + panel.delta

    high = 1.0
    while lowest(high) < 0:
        high *= 2
    return float(bisect(lowest, 1e-6, high))


def no_saddle(evidence: Evidence, data: Path | None) -> Failure | None:
    """The origin of the least-squares problem."""
    panels = evidence.figure("least-squares")
    if not panels:
        return None
    problem = least_squares(data, panels[0].rows)
    x = problem.start
    spectrum = np.linalg.eigvalsh(problem.hessian(x))
    return Failure(
        "least-squares",
        "an experiment on escaping saddles, started (it is not said where) at the origin",
        f"the origin is no saddle: the gradient has norm {np.linalg.norm(problem.gradient(x)):.3f}, and all "
        f"curvatures lie in [{spectrum[0]:.2f}, {spectrum[-1]:.2f}] (n = {problem.n})",
        "the origin is kept; what can be compared is the speed of descent, not the escape",
    )


LOOKS: dict[str, tuple[Callable[[Evidence, Path | None], Failure | None], ...]] = {
    "octopus": (radii, ell_of_octopus, pagd_gives_up("octopus"), pagd_is_coarse, zpsgd_diverges),
    "cubic": (pagd_gives_up("cubic"), online_is_endless, spider_walks_at_random),
    "least-squares": (no_saddle,),
}
