"""One run: f against queries, coloured by phase, with escapes and the certificate marked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._array import Array
from .curve import PHASES, Curve, Drawable, curve_of
from .style import OKABE_ITO, require_matplotlib, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = dict(zip(PHASES, ("grey", "blue", "orange", "vermillion", "green"), strict=True))


def plot_run(run: Drawable, ax: Axes | None = None, fun: Callable[[Array], Any] | None = None) -> Axes:
    """Draw a run with its labels and its legend, on new axes if none are given."""
    require_matplotlib()
    curve = curve_of(run, fun)
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(8.0, 4.5), layout="constrained")
    draw_run(ax, run, curve)
    ax.set_xlabel("queries")
    ax.set_ylabel("f, the least seen" if curve.best_seen else "f")
    ax.set_title(f"{run.method}: {run.nfev:,} queries", loc="left", fontsize="medium")
    ax.legend(frameon=False, fontsize="small", loc="best")
    return ax


def draw_run(ax: Axes, run: Drawable, curve: Curve) -> None:
    """Draw the curve, the escapes and the ending; a legend can be made of their labels."""
    named: set[str] = set()
    for phase, points in curve.pieces:
        xs, ys = zip(*points, strict=True)
        label = phase if phase not in named else "_nolegend_"
        named.add(phase)
        ax.plot(xs, ys, color=OKABE_ITO[COLOURS[phase]], linewidth=2.4, solid_capstyle="butt", label=label)
    if curve.escapes:
        xs, ys = zip(*curve.escapes, strict=True)
        ax.plot(
            xs,
            ys,
            "o",
            markersize=4.5,
            markerfacecolor="white",
            markeredgecolor="black",
            label="escape begins",
            zorder=4,
        )
    if curve.pieces:
        _mark_ending(ax, run, curve.pieces[-1][1][-1])
    tidy(ax)


def _mark_ending(ax: Axes, run: Drawable, end: tuple[float, float]) -> None:
    x, y = end
    if run.certificate is None:
        ax.plot(x, y, "X", color="black", markersize=9, zorder=5, label=f"no certificate ({run.stop.name.lower()})")
        return
    holds = run.certificate.holds
    shape, colour = ("*", OKABE_ITO["green"]) if holds else ("X", OKABE_ITO["black"])
    label = f"{'certified' if holds else 'not certified'}: {run.certificate.verdict}"
    ax.plot(
        x, y, shape, color=colour, markeredgecolor="black", markersize=14 if holds else 9, zorder=5, label=label,
        linestyle="none", clip_on=False,
    )  # fmt: skip
