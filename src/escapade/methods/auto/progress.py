"""What the steps of a run gained: too little for the way they led, or more than the model had promised."""

from __future__ import annotations

from dataclasses import dataclass, field

CREEP, SLOW = 30, 0.1
"""A run creeps once so many steps gained less, over the way they went, than this share of the gradient tolerance."""

SHORT, MORE = 8, 1.35
"""A model is stale once so many steps gained so much more than was promised, on average: f is no longer as curved."""


@dataclass
class Progress:
    """The values that steps led to, and how far they went."""

    way: float = 0.0
    """How far all steps went."""
    trail: list[tuple[float, float]] = field(default_factory=list)
    """The values where steps since the last creep began, and how far the steps before them went."""
    window: int = CREEP
    """How many steps are looked at for a creep; twice as many after each."""
    patience: int = SHORT
    """Steps since an escape before a model can be stale; twice as many as were taken when one last was."""

    def add(self, value: float, length: float) -> None:
        """A step of this length, from a point of this value."""
        self.trail.append((value, self.way))
        self.way += length

    def creeps(self, value: float, slope: float, steps: int) -> bool:
        """Whether the last of so many steps, which end at this value, led along a valley with a slope within this."""
        if min(steps, len(self.trail)) < self.window:
            return False
        before, way = self.trail[-self.window]
        if before - value > SLOW * slope * (self.way - way):
            return False
        self.trail.clear()
        self.window *= 2
        return True

    def stale(self, kept: list[float], steps: int) -> bool:
        """Whether the last of so many steps gained more than was promised, of which they kept these shares."""
        if steps < self.patience or sum(kept[-SHORT:]) <= MORE * SHORT:
            return False
        self.patience = 2 * steps
        return True
