"""How the panels of a figure are laid out in rows: each row draws some of the curves of its panels."""

from __future__ import annotations

from dataclasses import dataclass

from .evidence import Evidence
from .panels import ROWS, Panel

COLUMNS = 4


@dataclass(frozen=True)
class View:
    """A panel in one row of its figure."""

    panel: Panel
    row: str

    @property
    def labels(self) -> tuple[str, ...]:
        """The curves that are drawn here; where the check is free, those of the paper's row."""
        of = "paper" if self.row == "check free" else self.row
        return tuple(curve.label for curve in self.panel.curves if of in curve.shown_in)

    @property
    def axis(self) -> str:
        """What the horizontal axis counts."""
        return "free" if self.row == "check free" else self.panel.axis

    @property
    def title(self) -> str:
        """What is written above it."""
        return f"{ROWS[self.row]}: {self.panel.title}" if ROWS[self.row] else self.panel.title


def rows_of(panels: list[Panel], evidence: Evidence | None = None) -> list[list[View]]:
    """Panels with the same curves, at most four, then the same panels in each further row that has curves in it."""
    groups: list[list[Panel]] = []
    for panel in panels:
        if not groups or len(groups[-1]) == COLUMNS or _labels(panel) != _labels(groups[-1][-1]):
            groups.append([])
        groups[-1].append(panel)
    rows = [[View(panel, row) for panel in group if _drawn(panel, row, evidence)] for group in groups for row in ROWS]
    return [row for row in rows if row]


def _drawn(panel: Panel, row: str, evidence: Evidence | None) -> bool:
    if row == "check free" and panel.samples is None:
        return False
    labels = View(panel, row).labels
    return any(evidence is None or evidence.has(panel, label) for label in labels)


def _labels(panel: Panel) -> list[tuple[str, tuple[str, ...]]]:
    return [(curve.label, curve.shown_in) for curve in panel.curves]
