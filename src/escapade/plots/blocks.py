"""A journal: the least value of every block against queries, coloured by phase, and the best until then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..oracle.journal import Row
from .curve import PHASES, PURPOSES
from .run import COLOURS
from .style import OKABE_ITO, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_blocks(ax: Axes, rows: Sequence[Row], title: str) -> None:
    """Draw the blocks of a journal, with labels and a legend."""
    queries = np.array([row.queries for row in rows])
    best, least = np.array([row.best for row in rows]), np.array([row.least for row in rows])
    if np.isfinite(best).any():
        ax.step(queries, best, where="post", color="black", linewidth=1.6, label="best until then", zorder=1)
    phases = np.array([PURPOSES.get(row.purpose, "descent") for row in rows])
    for phase in PHASES:
        chosen = (phases == phase) & np.isfinite(least)
        if chosen.any():
            colour = OKABE_ITO[COLOURS[phase]]
            ax.plot(
                queries[chosen], least[chosen], "o", color=colour, markersize=3.5, label=f"{phase}: least of a block"
            )
    tidy(ax)
    ax.set_xlabel("queries")
    ax.set_ylabel("f")
    total = int(queries[-1]) if len(rows) else 0
    ax.set_title(f"{title}: {total:,} queries in {len(rows):,} blocks", loc="left", fontsize="medium")
    if rows:
        ax.legend(frameon=False, fontsize="small", loc="best")
