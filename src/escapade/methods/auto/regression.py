"""Bayesian regression of a quadratic model on all values near a point, each with an error of its own.

In u = P^-1 (x - c) / radius the model is m(u) = a + g'u + u'Hu / 2. Before any value is seen, a and the entries of g
are normal with deviation `level`, and H is normal around the Hessian of the last model, H0, with a density that falls
with the Frobenius norm of H - H0 over `width`. The covariance of the values of such quadratics is

    k(u, v) = level^2 (1 + u'v) + width^2 (u'v)^2 / 4,

so that all is found from a system as large as the number of points, whatever the number of variables. Without errors
and with a large slope this is the model of least change of the Hessian in the Frobenius norm (Powell, 2004).

A value is wrong by its noise and by what no quadratic follows, T |u|^3 radius^3 of unknown sign. T and the width are
those that make the values likeliest, and so is the size of roughness. Noise is measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from ..._array import Matrix, Vector
from .settings import REGRESSION


@dataclass(frozen=True)
class Frame:
    """The coordinates of a model: x = centre + radius * metric @ u."""

    centre: Vector
    radius: float
    metric: Matrix
    """Symmetric, of determinant one: longer where f is flatter."""
    inverse: Matrix

    @classmethod
    def plain(cls, centre: Vector, radius: float) -> Frame:
        """That of the variables themselves."""
        eye = np.eye(len(centre))
        return cls(centre, radius, eye, eye)

    def inside(self, X: Matrix) -> Matrix:
        """The rows of X in these coordinates."""
        u: Matrix = (X - self.centre) @ self.inverse / self.radius
        return u

    def outside(self, u: Vector) -> Vector:
        """The point of these coordinates."""
        x: Vector = self.centre + self.radius * (self.metric @ u)
        return x

    def at(self, centre: Vector) -> Frame:
        """The same around another centre."""
        return replace(self, centre=centre)

    def sized(self, radius: float) -> Frame:
        """The same with another radius."""
        return replace(self, radius=radius)

    def fitting(self, H: Matrix) -> Frame:
        """The same with the metric |H|^-power, of a bounded condition."""
        values, vectors = np.linalg.eigh(H)
        sizes = np.abs(values)
        top = float(np.max(sizes))
        if not 0 < top < math.inf:
            return self
        w = np.maximum(sizes / top, REGRESSION.flattest) ** -REGRESSION.power
        w /= math.exp(float(np.mean(np.log(w))))
        return replace(self, metric=(vectors * w) @ vectors.T, inverse=(vectors / w) @ vectors.T)


@dataclass(frozen=True)
class Sample:
    """The values that a model is fitted to, the nearest first."""

    index: np.ndarray[tuple[int], np.dtype[np.int64]]
    """Their numbers among all values."""
    u: Matrix
    values: Vector
    noise: Vector
    """The standard deviation of each value."""
    distance: Vector
    """|u|."""
    spread: float
    """How much values differ within the region: the size of all that the model may show."""

    @cached_property
    def products(self) -> Matrix:
        """u'v of all pairs."""
        out: Matrix = self.u @ self.u.T
        return out

    @cached_property
    def squares(self) -> Matrix:
        """(u'v)^2 of all pairs."""
        out: Matrix = self.products**2
        return out


@dataclass(frozen=True)
class Guess:
    """What is thought of f before its values are seen."""

    hessian: Matrix
    """In u."""
    width: float
    """Of its prior, in spreads."""
    third: float
    """T radius^3: by how much f leaves a quadratic at |u| = 1."""
    noise: float = 1.0
    """By what factor values are wronger than the sample says."""


@dataclass(frozen=True)
class Regression:
    """The model that a sample leads to."""

    frame: Frame
    sample: Sample
    guess: Guess
    level: float
    """The prior deviation of a and of g."""
    width: float
    """That of H."""
    cholesky: Matrix
    """L, of the covariance of the values over their deviations: D K D = L L'."""
    scale: Vector
    """D."""
    weights: Vector
    """K^-1 (values - those of the prior's mean)."""
    likelihood: float

    @classmethod
    def of(cls, frame: Frame, sample: Sample, guess: Guess, typical: float) -> Regression:
        """The regression with these parameters; `typical` is the width of the prior, before it is fitted."""
        spread, U = sample.spread, sample.u
        wrong = guess.noise * sample.noise
        level = REGRESSION.level * spread
        width = guess.width * max(spread, REGRESSION.share * float(np.linalg.norm(guess.hessian)))
        K = level**2 * (1.0 + sample.products) + (width**2 / 4) * sample.squares
        far = np.minimum(sample.distance, REGRESSION.far)
        floor = (REGRESSION.jitter * spread) ** 2
        K.flat[:: len(K) + 1] += wrong**2 + (guess.third * far**3) ** 2 + floor
        left = sample.values - sample.values[0] - np.sum((U @ guess.hessian) * U, axis=1) / 2
        scale = 1 / np.sqrt(K.diagonal())
        L = _lower(K * scale[:, None] * scale)
        w = solve_triangular(L, scale * left, lower=True, check_finite=False)
        weights = scale * solve_triangular(L, w, lower=True, trans="T", check_finite=False)
        likelihood = -0.5 * float(w @ w) - float(np.sum(np.log(L.diagonal()))) + float(np.sum(np.log(scale)))
        likelihood -= 0.25 * math.log(guess.third / (REGRESSION.third * spread)) ** 2
        likelihood -= 0.5 * math.log(guess.width / typical) ** 2 + REGRESSION.rougher * math.log(guess.noise) ** 2
        return cls(frame, sample, guess, level, width, L, scale, weights, likelihood)

    @classmethod
    def likeliest(cls, frame: Frame, sample: Sample, guess: Guess, typical: float, *, rough: bool) -> Regression:
        """The regression after one look around the third derivative and the width that were assumed, and around the
        errors of values where f is rough: these are not measured."""
        best = cls.of(frame, sample, guess, typical)
        for name in ("third", "width", "noise")[: 3 if rough else 2]:
            for by in (REGRESSION.other, 1 / REGRESSION.other):
                other = replace(best.guess, **{name: by * getattr(best.guess, name)})
                tried = cls.of(frame, sample, other, typical)
                if tried.likelihood > best.likelihood + REGRESSION.likelier:
                    best = tried
                    break
        return best

    # The model

    @cached_property
    def gradient(self) -> Vector:
        """g, in u."""
        g: Vector = self.level**2 * (self.weights @ self.sample.u)
        return g

    @cached_property
    def hessian(self) -> Matrix:
        """H, in u."""
        U = self.sample.u
        H: Matrix = self.guess.hessian + self.width**2 / 2 * ((U.T * self.weights) @ U)
        return (H + H.T) / 2

    @cached_property
    def constant(self) -> float:
        """a."""
        return float(self.sample.values[0] + self.level**2 * np.sum(self.weights))

    def change(self, s: Vector) -> float:
        """m(s) - m(0)."""
        return float(self.gradient @ s + s @ self.hessian @ s / 2)

    def changes(self, S: Matrix) -> Vector:
        """The same for the rows of S."""
        out: Vector = S @ self.gradient + np.sum((S @ self.hessian) * S, axis=1) / 2
        return out

    # How certain it is

    @cached_property
    def factor(self) -> Matrix:
        """L^-1 D: K^-1 is its square."""
        out: Matrix = solve_triangular(self.cholesky, np.diag(self.scale), lower=True, check_finite=False)
        return out

    def deviation(self, s: Vector) -> float:
        """The standard deviation of m(s) - m(0)."""
        inner = self.sample.u @ s
        size = float(s @ s)
        cross = self.factor @ (self.level**2 * inner + self.width**2 / 4 * inner**2)
        return math.sqrt(max(self.level**2 * size + self.width**2 / 4 * size**2 - float(cross @ cross), 0.0))

    @cached_property
    def gradient_covariance(self) -> Matrix:
        """That of g."""
        half = self.factor @ self.sample.u * self.level**2
        cov: Matrix = self.level**2 * np.eye(half.shape[1]) - half.T @ half
        return cov

    @cached_property
    def signal(self) -> float:
        """What the model shows of the change of f over the region, the part that may be error taken off."""
        d = self.sample.u.shape[1]
        known = float(np.sum((self.factor @ self.sample.squares) * self.factor)) * (self.width**2 / 2) ** 2
        unsure = max(self.width**2 / 2 * d * (d + 1) - known, 0.0)
        slope = float(self.gradient @ self.gradient) - max(float(np.trace(self.gradient_covariance)), 0.0)
        bend = float(np.sum(self.hessian**2)) - unsure
        return math.sqrt(max(slope, 0.0)) + 0.5 * math.sqrt(max(bend, 0.0))

    @cached_property
    def smoothed(self) -> Vector:
        """The values of f at the points of the sample without their noise, as the model and their own values tell; no
        further from these than noise may be, however wrong the model is."""
        values, noise = self.sample.values, self.guess.noise * self.sample.noise
        model = self.constant + self.changes(self.sample.u)
        own = (self.guess.third * self.sample.distance**3) ** 2
        other = noise**2 + (REGRESSION.jitter / 10 * self.sample.spread) ** 2
        out: Vector = model + own / (own + other) * (values - model)
        return np.clip(out, values - REGRESSION.deviations * noise, values + REGRESSION.deviations * noise)

    @property
    def noise(self) -> float:
        """The standard deviation of the error of the value at the centre."""
        return self.guess.noise * float(self.sample.noise[0])

    @property
    def third(self) -> float:
        """T, of the variables themselves."""
        return self.guess.third / self.frame.radius**3

    @property
    def hessian_outside(self) -> Matrix:
        """The Hessian in the variables themselves."""
        H: Matrix = self.frame.inverse @ self.hessian @ self.frame.inverse / self.frame.radius**2
        return H

    def step(self, radius: float = 1.0) -> Vector:
        """The lowest point of the model within |u| <= radius."""
        return lowest_within(self.gradient, self.hessian, radius)


def _lower(K: Matrix) -> Matrix:
    """A Cholesky factor, of a matrix a little larger if need be."""
    lift = 0.0
    while True:
        try:
            L: Matrix = cholesky(K + lift * np.eye(len(K)), lower=True, check_finite=False)
            return L
        except LinAlgError:
            lift = max(10 * lift, REGRESSION.lift)


def lowest_within(g: Vector, H: Matrix, radius: float) -> Vector:
    """The minimiser of g's + s'Hs / 2 over |s| <= radius (Moré and Sorensen, 1983), by eigenvectors."""
    if not (np.isfinite(H).all() and np.isfinite(g).all()):
        return np.zeros(len(g))
    values, vectors = np.linalg.eigh(H)
    b = vectors.T @ g
    if values[0] > 0:
        s = -b / values
        if float(np.linalg.norm(s)) <= radius:
            out: Vector = vectors @ s
            return out
    size = float(np.linalg.norm(b))
    floor = REGRESSION.hard * (size / radius + float(np.max(np.abs(values)))) + 1e-150
    low = max(0.0, -float(values[0]))
    high = low + size / radius + 1e-300
    for _ in range(REGRESSION.halvings):
        shift = (low + high) / 2
        long = not float(np.linalg.norm(b / np.maximum(values + shift, floor))) <= radius
        low, high = (shift, high) if long else (low, shift)
    s = -b / np.maximum(values + high, floor)
    s *= min(1.0, radius / max(float(np.linalg.norm(s)), 1e-300))
    if values[0] < 0:  # the hard case ends inside: along the lowest direction it goes on falling
        s[0] = math.copysign(math.sqrt(max(radius**2 - float(s[1:] @ s[1:]), 0.0)), s[0])
    return np.asarray(vectors @ s)
