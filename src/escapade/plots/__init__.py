"""Pictures of runs, drawn with Matplotlib, which is imported only when something is drawn."""

from .blocks import draw_blocks
from .minima import plot_minima
from .run import draw_run, plot_run
from .style import OKABE_ITO, check_format, new_figure, save

__all__ = ["OKABE_ITO", "check_format", "draw_blocks", "draw_run", "new_figure", "plot_minima", "plot_run", "save"]
