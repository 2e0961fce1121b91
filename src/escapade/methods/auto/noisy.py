"""Descent through noise, digits, meshes and missing points: regression models in a trust region.

Each move asks for one value, or a few, and then a quadratic is fitted to all values near the best point
(`regression.py`). `Search.move` chooses: a STEP where the model promises more than it is unsure of; else LEARN, a point
where the gradient is least certain; else RESIZE, a smaller region where the model shows f well above its noise, and a
larger one where it does not. MEASURE looks at the noise where f has become another size. Points without a value are
left out. On a mesh, f is asked at its points alone, where values are exact.

Nothing is certified from these models: the point they lead to is looked at with fresh values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

from ..._array import Matrix, Vector, epsilon, to_numpy
from ...derivatives.mesh import Mesh
from ...derivatives.values import ValueKind, ValueReport
from .differences import Differences
from .noise_law import NoiseLaw
from .regression import Frame, Guess, Regression, Sample
from .settings import NOISY, REGRESSION


class Move(Enum):
    """What a search asks for next."""

    STEP = auto()
    """The lowest point of the model."""
    LEARN = auto()
    """A point that tells most of the gradient."""
    RESIZE = auto()
    """Nothing: another radius."""
    MEASURE = auto()
    """Close values, for the noise at this size of f."""
    MESH = auto()
    """The best point of the mesh that was not asked."""


@dataclass
class Values:
    """All points that have a value, and these."""

    X: Matrix
    f: Vector
    count: int = 0
    seen: dict[bytes, float] = field(default_factory=dict)
    """By point, the missing ones included."""

    @classmethod
    def empty(cls, d: int) -> Values:
        """None yet."""
        return cls(np.zeros((64, d)), np.zeros(64))

    def add(self, y: Vector, value: float) -> None:
        """One more, if it is finite."""
        self.seen[y.tobytes()] = value
        if not abs(value) < NOISY.huge:
            return
        if self.count == len(self.f):
            self.X, self.f = np.concatenate([self.X, 0 * self.X]), np.concatenate([self.f, 0 * self.f])
        self.X[self.count], self.f[self.count] = y, value
        self.count += 1

    @property
    def points(self) -> Matrix:
        """The points, as rows."""
        return self.X[: self.count]

    @property
    def values(self) -> Vector:
        """Their values."""
        return self.f[: self.count]


@dataclass(frozen=True)
class Answer:
    """Where a search ended."""

    y: Vector
    value: float
    """What the model thinks f is there."""
    noise: float
    """The standard deviation of the error of a value there."""
    hessian: Matrix
    """Of the model."""


@dataclass
class Search:
    """One descent on regression models."""

    differences: Differences
    rng: np.random.Generator
    report: ValueReport
    values: Values
    frame: Frame
    law: NoiseLaw
    third: float = 0.0
    """T of the last model."""
    width: float = REGRESSION.width
    rougher: float = 1.0
    """By what factor a rough function is rougher than its report says, as the last model had it."""
    hessian: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    learnt: int = 0
    """Points asked for since the last step to learn the gradient."""
    restarts: int = 0
    misses: int = 0
    """Mesh points in a row that were no better."""
    lost: int = 0
    """Points in a row without a value."""
    measured: int = 0
    """The number of values when the noise was last measured."""
    progress: list[tuple[int, float]] = field(default_factory=list)
    """The number of values, and the least that the models thought of f, from time to time."""

    @classmethod
    def begin(
        cls, differences: Differences, rng: np.random.Generator, report: ValueReport, y: Vector, value: float
    ) -> Search:
        """A search from a point and its value."""
        d, radius = len(y), NOISY.radius * max(1.0, float(np.max(np.abs(y))))
        mesh, values = report.mesh, Values.empty(d)
        rounding = max(epsilon(differences.x), differences.f.precision)
        if mesh is not None:
            y, radius = mesh.nearest(y), max(radius, NOISY.cells * float(np.max(mesh.pitch)))
        values.add(y, value)
        for x, f in stored(differences, mesh):
            if report.close or np.min(np.linalg.norm(values.points - x, axis=1)) >= report.spacing:
                values.add(x, f)  # closer ones of a rough function share their error
        law, frame = NoiseLaw.of(report, rounding), Frame.plain(y, radius)
        return cls(differences, rng, report, values, frame, law, hessian=np.zeros((d, d)), measured=values.count)

    @property
    def d(self) -> int:
        """The number of variables."""
        return self.differences.d

    @property
    def mesh(self) -> Mesh | None:
        """The mesh that f lives on."""
        return self.report.mesh

    @property
    def rough(self) -> bool:
        """Whether f is deterministic, and its errors are alike at points close together."""
        return not self.report.close

    def run(self) -> Iterator[tuple[Vector, float]]:
        """Every point that the search goes on from, and what the model thinks f is there.

        Queries: n for the first model, 1 a step, up to n to learn a gradient, 6 where noise is measured
        """
        moves = {
            Move.STEP: self.step, Move.LEARN: self.learn, Move.MEASURE: self.measure, Move.RESIZE: self.resize,
            Move.MESH: self.on_mesh,
        }
        self.first()
        where = self.frame.centre
        while True:
            model = self.centred()
            if not np.array_equal(where, self.frame.centre):
                where = self.frame.centre
                yield where, float(model.smoothed[0])
            if self.restarts > NOISY.restarts or self.lost > NOISY.missing + self.d or self.exact or self._idle(model):
                return
            moves[self.move(model)](model)

    # Values

    def value(self, y: Vector) -> float:
        """f at y, or at the point of the mesh next to it; infinite where it is missing. No point of a mesh is asked
        twice.

        Queries: 1
        """
        y = self.differences.host(y if self.mesh is None else self.mesh.nearest(y))
        if self.mesh is not None and y.tobytes() in self.values.seen:
            return self.values.seen[y.tobytes()]
        seen = self.differences.f.tagged("descent").trial(self.differences.array(y))
        self.values.add(y, seen)
        self.lost = 0 if math.isfinite(seen) else self.lost + 1
        return seen

    def first(self) -> None:
        """Values at the corners of a simplex; shorter, or on the other side, where one is missing.

        Queries: n
        """
        start = self.frame.centre
        near = np.linalg.norm(self.frame.inside(self.values.points), axis=1) <= NOISY.known
        for i in range(self.d if np.sum(near) <= 2 * self.d else 0):
            for part in NOISY.corners:
                if math.isfinite(self.value(start + part * self.frame.radius * np.eye(1, self.d, i)[0])):
                    break
        values = self.values.values
        self.third = REGRESSION.first_third * (float(np.ptp(values)) + 1e-300) / self.frame.radius**3
        self.frame = self.frame.at(self.values.points[int(np.argmin(values))].copy())

    # Models

    def fit(self, *, tune: bool = True) -> Regression:
        """The regression on the values near the centre."""
        sample, size = self.sample(), self.frame.radius
        H = self.frame.metric @ self.hessian @ self.frame.metric * size**2
        most = REGRESSION.most * max(sample.spread, float(sample.noise[0]))
        H = H * min(1.0, most / max(float(np.linalg.norm(H)), 1e-300))
        third = float(np.clip(self.third * size**3, REGRESSION.least_third * most, most))
        guess = Guess(H, self.width, third, self.rougher)
        if tune:
            model = Regression.likeliest(self.frame, sample, guess, REGRESSION.width, rough=self.rough)
        else:
            model = Regression.of(self.frame, sample, guess, REGRESSION.width)
        self.third, self.width, self.hessian = model.third, model.guess.width, model.hessian_outside
        self.rougher = model.guess.noise
        return model

    def sample(self) -> Sample:
        """The nearest values, and how wrong each is."""
        n, u = self.d, self.frame.inside(self.values.points)
        distance = np.linalg.norm(u, axis=1)
        coefficients = (n + 1) * (n + 2) // 2
        count = min(len(u), max(int(REGRESSION.points * coefficients) + 5, REGRESSION.many), REGRESSION.largest)
        index = np.argsort(distance, kind="stable")[:count]
        distance = distance[index]
        index = index[distance < max(REGRESSION.near, REGRESSION.edge * distance[min(n + 1, count - 1)])]
        distance, values = distance[: len(index)], self.values.values[index]
        inside = values[distance <= REGRESSION.around]
        inside = inside if len(inside) > 2 else values[: n + 2]
        spread = max(float(np.ptp(inside)), NOISY.digits * abs(float(values[0])), NOISY.nothing)
        noise = self.law.deviation(np.maximum(np.abs(values), float(np.min(np.abs(inside)))))
        return Sample(index, u[index], values, noise, distance, spread)

    def centred(self) -> Regression:
        """The model around the point near by that it thinks the lowest."""
        model = self.fit()
        best = int(np.argmin(np.where(model.sample.distance <= NOISY.near, model.smoothed, np.inf)))
        if best == 0 or not model.smoothed[best] < model.smoothed[0]:
            return model
        self.frame = self.frame.at(self.values.points[model.sample.index[best]].copy()).fitting(self.hessian)
        return self.fit(tune=False)

    # Moves

    def move(self, model: Regression) -> Move:
        """What to ask for next."""
        noise = model.noise
        since = self.values.count - self.measured
        again = since > NOISY.again * (self.d + 1)
        if since > 0 and self.law.unknown(float(model.smoothed[0]), noise, again=again):
            return Move.MEASURE
        s = model.step()
        gain = -model.change(s)
        if self.mesh is not None and self._stays(self.frame.outside(s)):
            return Move.MESH
        if gain >= NOISY.sure * model.deviation(s) and gain > NOISY.digits * abs(float(model.sample.values[0])):
            return Move.STEP
        if self.learnt < max(2, self.d):
            return Move.LEARN
        return Move.RESIZE

    def step(self, model: Regression) -> None:
        """Ask for the lowest point of the model, and judge the region by what it shows.

        Queries: 1, or 2 where its value is missing
        """
        self.learnt = 0
        s = model.step()
        length, gain, before = float(np.linalg.norm(s)), -model.change(s), self.values.count
        if not math.isfinite(self.value(self.frame.outside(s))):
            turn = self.rng.standard_normal(self.d)
            turn *= NOISY.turned * length / float(np.linalg.norm(turn))
            self.value(self.frame.outside(NOISY.shorter * s + turn))
        shrink = self.frame.sized(self.frame.radius / 2)
        if self.values.count == before:
            self.frame = shrink
            return
        after = self.fit(tune=False)
        new = np.flatnonzero(after.sample.index == self.values.count - 1)
        if not len(new):
            self.frame = shrink
            return
        ratio = float(after.smoothed[0] - after.smoothed[new[0]]) / gain
        if ratio >= NOISY.good and length > NOISY.edge:
            self.frame = self.frame.sized(NOISY.grow * self.frame.radius)
        elif (ratio < NOISY.poor or length < NOISY.inside) and self.shows(after):
            self.frame = shrink

    def learn(self, model: Regression) -> None:
        """Ask for a point on a direction in which the gradient is least certain; the second time on a random one, by
        how uncertain they are, or, of a rough function, for a point that may be the lowest.

        Queries: 1
        """
        if self.rough and self.learnt % 2 == 1:
            self.learnt += 1
            self.value(self.frame.outside(self._may_be_lowest(model)))
            return
        values, vectors = np.linalg.eigh(model.gradient_covariance)
        way = vectors[:, -1]
        if self.learnt > 0 or not values[-1] > 0:
            way = vectors @ (np.sqrt(np.maximum(values, 0.0)) * self.rng.standard_normal(self.d))
        way = way / max(float(np.linalg.norm(way)), 1e-300)
        down = -1.0 if float(model.gradient @ way) > 0 else 1.0
        self.learnt += 1
        self.value(self.frame.outside(down * (1.0 if self.learnt % 2 else -1.0) * way))

    def _may_be_lowest(self, model: Regression) -> Vector:
        """A random point where the model is no higher above its lowest than values are wrong."""
        values, vectors = np.linalg.eigh(model.hessian)
        far = np.sqrt(2 * model.noise / np.maximum(values, 2 * model.noise + 1e-300))
        u: Vector = model.step() + vectors @ (far * self.rng.standard_normal(self.d)) / math.sqrt(self.d)
        return u / max(1.0, float(np.linalg.norm(u)))

    def resize(self, model: Regression) -> None:
        """Another radius: shorter where the model shows f above its noise, else longer; at the floor, a fresh one."""
        self.learnt = 0
        self.frame = self.frame.sized(self.frame.radius * (0.5 if self.shows(model) else NOISY.widen))
        size = max(NOISY.least_size, float(np.max(np.abs(self.frame.centre))))
        floor = (NOISY.exact_floor if self.law.silent else NOISY.floor) * size
        if self.frame.radius < (max(floor, self.report.spacing) if self.rough else floor):
            self.restarts += 1
            self.frame = self.frame.sized(NOISY.radius * max(1.0, size))

    def shows(self, model: Regression) -> bool:
        """Whether half the radius would still show the model above the noise."""
        noise = model.noise
        return noise < NOISY.small * model.sample.spread or model.signal > NOISY.signal * noise

    def measure(self, model: Regression) -> None:
        """Take the noise from close values; the digits from those that are there.

        Queries: 6, for digits none
        """
        self.measured = self.values.count
        if self.law.kind is ValueKind.DIGITS:
            values, first = model.sample.values, abs(float(model.sample.values[0]))
            alike = (np.abs(values) >= first / NOISY.alike) & (np.abs(values) <= NOISY.alike * first)
            self.law.add(values[alike][: NOISY.digits_of], abs(float(model.smoothed[0])))
            return
        size = np.maximum(np.abs(self.frame.centre), NOISY.least_size)
        h = self.report.spacing * size * self.rng.choice([-1.0, 1.0], self.d)
        seen = np.array([self.value(self.frame.centre + k * h) for k in range(NOISY.close)])
        self.measured, seen = self.values.count, seen[np.isfinite(seen)]
        if len(seen) >= NOISY.least:
            self.law.add(seen, abs(float(np.mean(seen))))

    # Meshes

    def _stays(self, y: Vector) -> bool:
        """Whether the point of the mesh next to y is the centre."""
        assert self.mesh is not None
        small = self.frame.radius < float(np.min(self.mesh.pitch))
        return small or bool(np.array_equal(self.mesh.nearest(y), self.frame.centre))

    def on_mesh(self, model: Regression) -> None:
        """Ask for the best point of the mesh near by, of those that were not asked; a wider region where there is none.

        Queries: 1 at most
        """
        assert self.mesh is not None
        pitch = float(np.max(self.mesh.pitch))
        ways = self.rng.standard_normal((NOISY.candidates, self.d)) / math.sqrt(self.d)
        sizes, vectors = np.linalg.eigh(self.hessian)
        flat = np.maximum(np.abs(sizes) / max(float(np.max(np.abs(sizes))), 1e-300), REGRESSION.flattest) ** -0.5
        half = NOISY.candidates // 2
        ways[half:] = (ways[half:] * flat / math.sqrt(float(np.max(flat)))) @ vectors.T  # along the valley
        ways *= self.frame.radius * 2.0 ** self.rng.integers(-1, 3, (NOISY.candidates, 1))
        near = np.clip(ways, -NOISY.reach * pitch, NOISY.reach * pitch)
        points = np.unique(self.mesh.nearest(self.frame.centre + near), axis=0)
        promised = model.constant + model.changes(self.frame.inside(points))
        best = float(model.smoothed[0])
        for k in np.argsort(promised)[: NOISY.tried]:
            if promised[k] >= best:
                break
            if self.differences.host(points[k]).tobytes() not in self.values.seen:
                better = self.value(points[k]) < best
                self.misses = 0 if better else self.misses + 1
                if better:
                    self.frame = self.frame.sized(max(2 * self.frame.radius, NOISY.cells * pitch))
                if self.misses < 2 * self.d + 3:
                    return
                break
        self.misses = 0
        self.restarts += 1
        self.frame = self.frame.sized(max(self.frame.radius, pitch) * self.rng.uniform(1.5, 4.0))
        self.value(self.frame.outside(self.rng.standard_normal(self.d) / math.sqrt(self.d)))

    # The end

    @property
    def exact(self) -> bool:
        """Whether the noise that was heard is gone."""
        return self.report.mesh is None and self.law.gone

    @property
    def smooth(self) -> bool:
        """Whether f is smooth below the length at which it is rough, so that differences may lead on from there."""
        return self.rough and self.report.kind is ValueKind.NOISE

    def _idle(self, model: Regression) -> bool:
        """Whether the models gained nothing over the last values, beside the noise."""
        count, value = self.values.count, float(model.smoothed[0])
        patience, gain = NOISY.patience, NOISY.worthwhile
        if self.smooth:  # differences lead lower from there
            patience, gain = NOISY.rough_patience, NOISY.rough_gain
        before = [seen for when, seen in self.progress if when <= count - patience * (self.d + 1)]
        if not self.progress or count > self.progress[-1][0] + self.d:
            self.progress.append((count, min(value, self.progress[-1][1]) if self.progress else value))
        least = max(gain * model.noise, NOISY.least_gain * abs(value))
        return bool(before) and before[-1] - value <= least

    def answers(self) -> list[Answer]:
        """Where the search may end, the most promising first: the model's minimiser where noise hides differences, as
        far as the model is sure of it; the point that the model thinks the lowest; a point elsewhere whose value is
        lower by more than both may be wrong. A rough function is deterministic: its lowest value is no luck.
        """
        if self.mesh is not None:
            lowest = self.values.points[int(np.argmin(self.values.values))].copy()
            self.frame = self.frame.at(lowest).sized(NOISY.cells * float(np.max(self.mesh.pitch)))
        model = self.centred()
        noise, value = model.noise, float(model.smoothed[0])
        found = [Answer(self.frame.centre, value, noise, self.hessian)]
        s = self._surest_step(model)
        if noise > NOISY.small * model.sample.spread:
            y = self.differences.host(self.frame.outside(s))
            found.insert(0, Answer(y, value + min(model.change(s), 0.0), noise, self.hessian))
        elif self.mesh is not None:
            half = NOISY.cell * self.mesh.pitch
            y = np.clip(self.frame.outside(s), self.frame.centre - half, self.frame.centre + half)
            s = self.frame.inside(y[None, :])[0]
            if model.change(s) + model.deviation(s) < 0:  # after it was cut too
                found.insert(0, Answer(self.differences.host(y), value, noise, self.hessian))
        best = int(np.argmin(self.values.values))
        least, error = float(self.values.values[best]), float(self.law.deviation(self.values.values[[best]])[0])
        if self.rough or least + NOISY.clearly * (noise + error) < value:
            found.insert(0, Answer(self.values.points[best].copy(), least, error, self.hessian))
        return found

    def _surest_step(self, model: Regression) -> Vector:
        """The step whose promise is the largest beside what the model is unsure of; none, where it is unsure of all."""
        steps = [model.step(part) for part in NOISY.parts]
        promised = [model.change(s) + model.deviation(s) for s in steps]
        best = int(np.argmin(promised))
        return steps[best] if promised[best] < 0 else np.zeros(self.d)


def stored(differences: Differences, mesh: Mesh | None) -> list[tuple[Vector, float]]:
    """What the run asked before, as far as it is remembered: points in the variables of the method, and values.

    Queries: none
    """
    f = differences.f
    X, values = f.pairs
    if len(X) == 0:
        return []
    Y = X if f.unit is None else X / to_numpy(f.unit).astype(np.float64)
    Y = Y if mesh is None else mesh.nearest(Y)
    finite = np.isfinite(values)
    return list(zip(Y[finite], (values[finite] / f.value_unit).tolist(), strict=True))
