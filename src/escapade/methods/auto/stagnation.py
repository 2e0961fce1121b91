"""What the steps of a run gained: too little for the distance, or more than the model predicted."""

from __future__ import annotations

from dataclasses import dataclass, field

from .settings import DESCENT


@dataclass
class Progress:
    """The values that steps led to, and how far they went."""

    distance: float = 0.0
    """How far all steps went."""
    trail: list[tuple[float, float]] = field(default_factory=list)
    """The values where steps since the last stagnation began, and how far the steps before them went."""
    window: int = DESCENT.stagnation
    """How many steps are looked at for stagnation; twice as many after each."""
    patience: int = DESCENT.outdated
    """Steps since an escape before a model can be outdated; twice as many as were taken when one last was."""

    def add(self, value: float, length: float) -> None:
        """A step of this length, from a point of this value."""
        self.trail.append((value, self.distance))
        self.distance += length

    def stagnates(self, value: float, slope: float, steps: int) -> bool:
        """Whether the last `window` steps, which end at this value, led along a valley with a slope within this."""
        if min(steps, len(self.trail)) < self.window:
            return False
        before, distance = self.trail[-self.window]
        if before - value > DESCENT.small * slope * (self.distance - distance):
            return False
        self.trail.clear()
        self.window *= 2
        return True

    def outdated(self, ratios: list[float], steps: int) -> bool:
        """Whether the last steps gained more than was predicted, by these ratios."""
        last = ratios[-DESCENT.outdated :]
        if steps < self.patience or sum(last) <= DESCENT.outdated_gain * DESCENT.outdated:
            return False
        self.patience = 2 * steps
        return True
