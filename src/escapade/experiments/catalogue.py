"""The paper's figures as data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from . import settings, since
from .evidence import AS_PRINTED, AUTHORS, ONLINE
from .panels import Curve, Form, Panel
from .settings import EPSILON, Row

SAMPLED_QUERIES = 30_000_000
"""The budget of a run on samples, where one value of f_S is |S| queries."""

COMPONENTS = 1000
"""Components of the stochastic cubic problem, for which the paper writes an expectation."""

GRID = tuple((every, shrink) for every in (10, 20, 40) for shrink in (0.85, 0.9, 0.95, 0.98))
"""T_sigma1 and rho_sigma1 of the grid search; the values themselves are not in the paper."""

FORMS: tuple[Form, ...] = ("plain", "permuted", "rotated")

SMALLER = {10: 4, 30: 6, 50: 8, 100: 10, 200: 20}
"""Dimensions with `quick`; those of the stochastic problem are 10 and 20."""


AUTO = Curve(label="auto", shown_in=("auto",))
"""The library's own method: in a row of its own, not over the paper's curves."""

SCIPY = (Curve(label="Powell (SciPy)", solver="Powell"), Curve(label="BFGS (SciPy)", solver="BFGS"))


BESIDE = ("ZPSGD", "PAGD", "ZO-GD-NCF")
"""The curves that later methods are shown beside."""


def _curves(rows: tuple[Row, ...], printed: tuple[str, ...] = (), authors: tuple[str, ...] = ()) -> tuple[Curve, ...]:
    """The rows with what was used; those that fail as printed also as printed, rivals also in their authors' form."""
    as_printed = (Curve(label=row.algorithm + AS_PRINTED, row=row, variant="printed") for row in rows)
    as_theirs = (Curve(label=row.algorithm + AUTHORS, row=row, variant="authors") for row in rows)
    return (
        *(Curve(label=row.algorithm, row=row) for row in rows),
        *(curve for curve in as_theirs if curve.label.removesuffix(AUTHORS) in authors),
        *(curve for curve in as_printed if curve.label.removesuffix(AS_PRINTED) in printed),
    )


def _deterministic(rows: tuple[Row, ...], authors: tuple[str, ...] = ("RSPI",)) -> tuple[Curve, ...]:
    return (*_curves(rows, ("ZPSGD", "PAGD"), authors), AUTO)


def _with_later(curves: tuple[Curve, ...], later: tuple[Row, ...]) -> tuple[Curve, ...]:
    """And in a row of their own methods that came after the paper, beside ZPSGD, PAGD and ZO-GD-NCF."""
    beside = tuple(
        replace(curve, shown_in=(*curve.shown_in, "since then")) if curve.label in BESIDE else curve for curve in curves
    )
    return (*beside, *(Curve(label=row.algorithm, row=row, shown_in=("since then",)) for row in later))


def _sampled(rows: tuple[Row, ...]) -> tuple[Curve, ...]:
    """Every method with the minibatch finder, and in a second row beside itself with the paper's ZO-NCF-Online."""
    curves = _curves(rows, ("ZO-SPIDER-NCF",))
    online = (
        replace(curve, label=_online(curve.label), finder="online", shown_in=("finders",)) for curve in curves
    )
    return (*(replace(curve, shown_in=("paper", "finders")) for curve in curves), *online, AUTO)


def _online(label: str) -> str:
    name = label.removesuffix(AS_PRINTED)
    return name + ONLINE + label[len(name) :]


def _beside_scipy(rows: tuple[Row, ...]) -> tuple[Curve, ...]:
    """ZO-GD-NCF and two of SciPy's solvers, and auto."""
    return (*_curves(tuple(row for row in rows if row.algorithm == "ZO-GD-NCF")), *SCIPY, AUTO)


def octopus(small: Callable[[int], int]) -> list[Panel]:
    """The paper's first figure, and its permuted and rotated row."""
    epsilon = EPSILON["octopus"]
    panels = []
    for form in FORMS:
        for printed in settings.OCTOPUS_DIMENSIONS:
            d = small(printed)
            rows = tuple(replace(row, m=d if row.m else None) for row in settings.octopus(printed))
            panels.append(
                Panel(
                    figure="octopus",
                    name=f"d = {d}",
                    family="octopus",
                    d=d,
                    form=form,
                    curves=_with_later(_deterministic(rows), since.OCTOPUS) if form == "plain" else _beside_scipy(rows),
                    epsilon=epsilon,
                    delta=math.sqrt(math.e * epsilon),
                )
            )
    return panels


def rspi_grid(small: Callable[[int], int]) -> list[Panel]:
    """The grid search for RSPI's schedule: 200 iterations with each pair, two seeds."""
    panels = []
    for printed in settings.OCTOPUS_DIMENSIONS:
        d = small(printed)
        row = next(row for row in settings.octopus(printed) if row.algorithm == "RSPI")
        curves = tuple(
            Curve(label=f"T = {every}, rho = {shrink}", row=replace(row, every=every, shrink=shrink))
            for every, shrink in GRID
        )
        panels.append(
            Panel(
                figure="rspi-grid",
                name=f"d = {d}",
                family="octopus",
                d=d,
                curves=curves,
                epsilon=EPSILON["octopus"],
                delta=math.sqrt(math.e * EPSILON["octopus"]),
                budget=200 * (4 * d * 20 + 4),
                seeds=2,
            )
        )
    return panels


def neon2(small: Callable[[int], int]) -> list[Panel]:
    """f against iterations."""
    return [
        Panel(
            figure="neon2",
            name=f"d = {small(d)}",
            family="octopus",
            d=small(d),
            curves=(*_curves(settings.neon2(d)), AUTO),
            epsilon=EPSILON["neon2"],
            delta=math.sqrt(math.e * EPSILON["neon2"]),
            axis="iterations",
        )
        for d in settings.NEON2_DIMENSIONS
    ]


def cubic(small: Callable[[int], int]) -> list[Panel]:
    """Deterministic and stochastic, and the permuted and rotated row."""
    pairs: list[tuple[Form, int]] = [(form, d) for form in FORMS for d in settings.CUBIC_DIMENSIONS]
    panels = [_deterministic_cubic(form, small(d)) for form, d in pairs]
    quick = small(10) < 10
    sampled = [_stochastic_cubic(printed, quick) for printed in settings.STOCHASTIC_DIMENSIONS]
    return panels[:2] + sampled + panels[2:]


def _deterministic_cubic(form: Form, d: int) -> Panel:
    rows = settings.deterministic(d)
    return Panel(
        figure="cubic",
        name=f"deterministic, d = {d}",
        family="cubic",
        d=d,
        form=form,
        curves=_with_later(_deterministic(rows), since.CUBIC) if form == "plain" else _beside_scipy(rows),
        epsilon=EPSILON["cubic"],
        delta=math.sqrt(EPSILON["cubic"]),
    )


def _stochastic_cubic(printed: int, quick: bool) -> Panel:
    d = {20: 10, 100: 20}[printed] if quick else printed
    return Panel(
        figure="cubic",
        name=f"stochastic, d = {d}",
        family="cubic",
        d=d,
        samples=COMPONENTS // 5 if quick else COMPONENTS,
        curves=_sampled(settings.stochastic(d)),
        epsilon=EPSILON["cubic"],
        delta=math.sqrt(EPSILON["cubic"]),
        budget=SAMPLED_QUERIES,
    )


def squares(small: Callable[[int], int]) -> list[Panel]:
    """Regularised least squares on w1a, deterministic and stochastic; RSPI not in its authors' form, which differs only
    after a random step that gains: with seed 0 none did in 3 million queries."""
    epsilon, n = EPSILON["least-squares"], 128 if small(10) < 10 else 2477
    plain = Panel(
        figure="least-squares",
        name="deterministic",
        family="least-squares",
        d=300,
        rows=n,
        curves=_deterministic(settings.deterministic(300), authors=()),
        epsilon=epsilon,
        delta=math.sqrt(epsilon),
    )
    sampled = _sampled(settings.stochastic(300))
    return [plain, replace(plain, name="stochastic", curves=sampled, samples=n, budget=SAMPLED_QUERIES)]


FIGURES: dict[str, Callable[[Callable[[int], int]], list[Panel]]] = {
    "octopus": lambda small: octopus(small) + rspi_grid(small),
    "neon2": neon2,
    "cubic": cubic,
    "least-squares": squares,
}


def panels_of(names: tuple[str, ...], quick: bool, budget: int | None = None) -> list[Panel]:
    """The panels of the figures asked for; `quick` makes dimensions and budgets smaller."""
    small = SMALLER.__getitem__ if quick else lambda d: d
    panels = [panel for name in names for panel in FIGURES[name](small)]
    if quick:
        panels = [replace(panel, budget=min(panel.budget, _quick_budget(panel))) for panel in panels]
    return [replace(panel, budget=min(panel.budget, budget or panel.budget)) for panel in panels]


def _quick_budget(panel: Panel) -> int:
    if panel.figure == "rspi-grid":
        return panel.budget // 5
    if panel.samples:
        return 1_000_000
    return {"cubic": 200_000, "least-squares": 400_000}.get(panel.family, 60_000)
