"""The distinct minima that many runs found: their values, what was shown of each, and how many runs ended there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from .style import OKABE_ITO, require_matplotlib, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Drawable(Protocol):
    """What is read of a minimum."""

    @property
    def fun(self) -> float: ...

    @property
    def verdict(self) -> str: ...

    @property
    def runs(self) -> tuple[int, ...]: ...


LOOKS = {
    "minimum": ("*", "green", 15),
    "second-order": ("*", "sky", 15),
    "saddle": ("X", "vermillion", 9),
    "not certified": ("o", "grey", 6),
}
"""Marker, colour and size of a verdict; of every other, those of the last line in amber."""


def plot_minima(minima: Sequence[Drawable], ax: Axes | None = None) -> Axes:
    """Draw the minima from the lowest to the highest; the number of runs stands above each that has several."""
    require_matplotlib()
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(8.0, 4.5), layout="constrained")
    for verdict in dict.fromkeys(m.verdict for m in minima):
        marker, colour, size = LOOKS.get(verdict, ("o", "orange", 6))
        own = [(rank, m) for rank, m in enumerate(minima, start=1) if m.verdict == verdict]
        ax.plot(
            [rank for rank, _ in own], [m.fun for _, m in own], marker, color=OKABE_ITO[colour], markersize=size,
            markeredgecolor="black", markeredgewidth=0.6, label=f"{verdict}: {len(own)}", linestyle="none",
        )  # fmt: skip
    for rank, m in enumerate(minima, start=1):
        if len(m.runs) > 1:
            ax.annotate(f"{len(m.runs)}", (rank, m.fun), (0, 9), textcoords="offset points", ha="center", fontsize=8)
    tidy(ax)
    runs = sum(len(m.runs) for m in minima)
    ax.set_xlabel("distinct points, the lowest first (above: the runs that ended there, where several did)")
    ax.set_ylabel("f")
    ax.set_title(f"{len(minima)} distinct points at which {runs} runs ended", loc="left", fontsize="medium")
    if minima:
        ax.legend(frameon=False, fontsize="small", loc="best")
    return ax
