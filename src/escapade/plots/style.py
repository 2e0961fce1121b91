"""Colours that colour-blind readers tell apart, and figures that need no display."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OKABE_ITO = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
    "grey": "#8A8A8A",
}
"""The palette of Okabe and Ito (2008), and a grey."""


def require_matplotlib() -> None:
    """Say which extra is missing, if Matplotlib is."""
    if find_spec("matplotlib") is None:
        raise ImportError("drawing needs Matplotlib, which is not installed: pip install 'escapade[plot]'")


def new_figure(width: float = 8.0, height: float = 4.5) -> Figure:
    """A figure of this size in inches that belongs to no window."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def check_format(path: str | Path) -> None:
    """Refuse a name whose ending is no format that can be written."""
    formats = new_figure().canvas.get_supported_filetypes()
    if Path(path).suffix.lower().removeprefix(".") not in formats:
        known = ", ".join("." + name for name in sorted(formats))
        raise ValueError(f"{str(path)!r} names no picture: it must end in one of {known}")


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure in the format that its name ends in (png, svg, pdf, ...)."""
    check_format(path)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, facecolor="white")
    return path


def tidy(ax: Axes) -> None:
    """A light grid, no box, and numbers with thousands apart."""
    from matplotlib.ticker import StrMethodFormatter

    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.grid(visible=True, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
