"""The picture of the demonstration: f against queries for Escapade's methods, and where SciPy's solvers stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..plots import OKABE_ITO, draw_run, new_figure, save
from ..plots.curve import curve_of
from .showcase import Showcase

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {"auto": "method auto, no constants", "zo-gd-ncf": "the paper's ZO-GD-NCF"}


def draw(showcase: Showcase, path: Path) -> Path:
    """Draw the answers of a demonstration into a file."""
    figure = new_figure(11.0, 5.4)
    panels = figure.subplots(1, len(showcase.results), sharey=True, squeeze=False)[0]
    for ax, (method, result) in zip(panels, showcase.results.items(), strict=True):
        _saddles(ax, showcase)
        draw_run(ax, result, curve_of(result, showcase.problem))
        ax.grid(visible=False)
        ax.set_title(f"{TITLES.get(method, method)}: {result.nfev:,} queries", loc="left", fontsize="medium")
        ax.set_xlabel("queries")
    panels[0].set_ylabel("f")
    panels[0].set_ylim(1.07 * showcase.minimum, -0.11 * showcase.minimum)
    _solvers(panels[0], showcase)
    for ax in panels:
        ax.legend(loc="upper right", bbox_to_anchor=(1, 0.9), fontsize="small", framealpha=1.0, edgecolor="0.85")
    figure.suptitle(
        f"Down a chain of {showcase.d} saddles, from function values alone (the octopus function, rotated, "
        f"d = {showcase.d})",
        fontsize="large",
    )
    return save(figure, path)


def _saddles(ax: Axes, showcase: Showcase) -> None:
    """The values of the saddles."""
    for k in range(showcase.d):
        label = "value of a saddle" if k == 0 else "_nolegend_"
        ax.axhline(-k * showcase.nu, color="0.7", linewidth=0.9, linestyle=(0, (2, 3)), zorder=0, label=label)


def _solvers(ax: Axes, showcase: Showcase) -> None:
    """Where SciPy's solvers stop, and what they say."""
    scipy = [answer for answer in showcase.answers if answer.solver not in showcase.results]
    xs, ys = [answer.queries for answer in scipy], [answer.fun for answer in scipy]
    colour = OKABE_ITO["purple"]
    ax.plot(
        xs, ys, "X", color=colour, markeredgecolor="black", markersize=9, zorder=6, label="a solver of SciPy's stops"
    )
    claimed = [answer.solver for answer in scipy if answer.success and answer.curvature < 0]
    if claimed:
        ax.annotate(
            f"{', '.join(claimed)}\nstop at a saddle and report success",
            (max(xs), max(ys)),
            xytext=(14, 4),
            textcoords="offset points",
            fontsize="small",
        )
