"""Curvature of a sum of squares from random second differences of its residuals: two queries each, whatever d is.

Let H be the Hessian of the cost, A0 >= 0 any fixed matrix (the Gauss-Newton matrix as it was measured) and
P = (A0 + delta)^(-1/2). If H has an eigenvalue at or below -delta, then A = P(H - A0)P = P(H + delta)P - 1 has one at
or below -1. For a Gaussian g independent of A,

    g'Ag = -a z^2 + R,    a >= 1,  z standard normal and independent of R,

and the density of z^2 decreases, so that P(|g'Ag| <= tau) <= P(z^2 <= 2 tau) = erf(sqrt(tau)). Hence m independent
forms that are all at most tau less their errors come about with a probability of erf(sqrt(tau))^m at most. The same
for A / t shows that no eigenvalue of A lies below -t = -max |g'Ag| / tau, and then H >= (1 - t) A0 - t delta.

No error of the Jacobian enters, since A0 is what was measured, whatever it was measured of: along v = P g the values
of r at x ± h v show v'Hv itself, |D|^2 from first differences D and w r . (second difference) from second ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfinv

from .._array import Matrix, Vector, norm2
from ..derivatives.residual_model import LocalResiduals
from ..derivatives.settings import CONSISTENCY, NOISE, STEPS
from .settings import FORMS


@dataclass(frozen=True)
class FormsOutcome:
    """What random forms showed."""

    lower: float
    """A lower bound on the smallest eigenvalue of the Hessian; -infinity if none was shown."""
    upper: float
    """An upper bound: the least Rayleigh quotient of H that was seen, with its error."""
    count: int
    """Forms taken."""
    third: float
    """The largest third derivative of the cost along one of their directions."""
    shortest: float
    """The shortest length, in y, over which they looked."""
    soft: Vector
    """The direction of the smallest eigenvalue of A0."""
    least: tuple[float, Vector]
    """The least curvature seen along one of their directions, and that unit vector."""


def tolerance(count: int, failure: float) -> float:
    """The tau with erf(sqrt(tau))^count = failure."""
    return float(erfinv(failure ** (1 / count)) ** 2)


def gauss_newton(local: LocalResiduals) -> Matrix:
    """J'diag(v)J, less what the loss makes negative of it."""
    v = local.loss.weights(local.r)[1]
    M = (local.J.T * v) @ local.J
    if np.all(v >= 0):
        return np.asarray(M)
    values, vectors = np.linalg.eigh(M)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def second_differences(local: LocalResiduals, lengths: Vector) -> Matrix:
    """J'diag(v)J + S, from second differences of the residuals along all coordinates and pairs of them.

    Queries: d*(d + 3)/2
    """
    d, (w, v) = local.d, local.loss.weights(local.r)
    h = _against_noise(local, FORMS.dense_step, FORMS.dense_noise * float(np.median(np.abs(local.second)))) * lengths
    i, j = np.triu_indices(d, k=1)
    pairs = np.zeros((len(i), d))
    pairs[np.arange(len(i)), i], pairs[np.arange(len(i)), j] = h[i], h[j]
    R = local.residuals(np.concatenate([np.diag(h), -np.diag(h), pairs]), "curvature")
    up, down, both = R[:d], R[d : 2 * d], R[2 * d :]
    S = np.zeros((d, d))
    S[i, j] = S[j, i] = (both - up[i] - up[j] + local.r) @ (w * local.r) / (h[i] * h[j])
    S[np.arange(d), np.arange(d)] = (up + down - 2 * local.r) @ (w * local.r) / h**2
    return np.asarray((local.J.T * v) @ local.J + S)


def _against_noise(local: LocalResiduals, step: float, target: float) -> float:
    """A step, in lengths, of a second difference of the residuals: longer where noise would reach the target."""
    w = local.loss.weights(local.r)[0]
    against = math.sqrt(4 * local.residual_noise.norm(1) * norm2(w * local.r) / max(target, 1e-300))
    return float(np.clip(against, step, STEPS.longest))


def take_forms(
    local: LocalResiduals,
    lengths: Vector,
    A0: Matrix,
    delta: float,
    failure: float,
    rng: np.random.Generator,
    most: float = math.inf,
) -> FormsOutcome:
    """Look at 2, 3, 6, 10 and 20 forms, each with its share of the failure probability, until they certify -delta; with
    a few more than needed where these would show that the curvature is positive, and with no more than would cost
    `most`.

    A0 + delta must be positive definite.

    Queries: 2 for each form, and 2 more at each look
    """
    values, vectors = np.linalg.eigh(A0)
    P = (vectors / np.sqrt(values + delta)) @ vectors.T
    walk = _Forms(local, A0, lengths, delta, failure)
    lower, taken = -math.inf, 0
    share = failure / len(FORMS.looks)
    bent = local.second - np.diag(A0)  # of the residuals alone
    expected = float(np.sum(np.abs(bent) / (np.diag(A0) + delta)))
    few = expected <= FORMS.slight * tolerance(FORMS.looks[0], share)
    for look in FORMS.looks if few else FORMS.looks[1:]:
        if taken and 2 * (look - taken) > most:
            break
        walk.take(P @ rng.standard_normal((local.d, look - taken)))
        taken = look
        bound = walk.bound()
        t = bound / tolerance(look, share)
        if t < 1:
            lower = max(lower, (1 - t) * float(values[0]) - t * delta)
        hopeless = bound > tolerance(FORMS.looks[-1], share)
        positive = lower > 0 or values[0] <= FORMS.soft * delta
        if hopeless or (lower >= -delta and positive):
            break
    upper = float(values[0]) + (bound / tolerance(taken, share)) * (float(values[0]) + delta)
    return FormsOutcome(lower, min(upper, walk.upper), taken, walk.third, walk.shortest, vectors[:, 0], walk.least)


def confirmed(local: LocalResiduals, lengths: Vector, v: Vector, delta: float) -> tuple[bool, float]:
    """Whether raw second differences of the cost along the unit vector v, on a step and on half of it, show a curvature
    of at most -delta/2; and the curvature seen, at most.

    Queries: 4
    """
    h = FORMS.step / float(np.max(np.abs(v) / lengths))
    ends = np.array([1.0, -1.0, 0.5, -0.5])[:, None] * h * v
    costs = local.loss.cost(local.residuals(ends, "curvature"))
    raw = np.array([costs[0] + costs[1], costs[2] + costs[3]]) - 2 * local.f0
    raw /= np.array([h, h / 2]) ** 2
    noise = 4 * local.cost_noise(h).norm(1) / np.array([h, h / 2]) ** 2
    upper = float(raw[1] + abs(raw[0] - raw[1]) + noise[1])
    return bool(np.all(raw < -noise)) and upper <= -delta / 2, upper


@dataclass
class _Forms:
    """The forms taken so far, with their errors."""

    local: LocalResiduals
    A0: Matrix
    lengths: Vector
    delta: float
    failure: float

    def __post_init__(self) -> None:
        self.sizes: list[float] = []
        self.noises: list[float] = []
        self.powers: list[float] = []
        self.ways: list[tuple[Vector, float]] = []
        self.truncation, self.third, self.shortest = 0.0, 0.0, math.inf
        self.curvatures: list[tuple[float, float]] = []
        self.least: tuple[float, Vector] = math.inf, np.zeros(self.local.d)

    def take(self, ways: Matrix) -> None:
        """The forms along these columns, and the one that turned out largest on a step of half the length.

        Queries: 2 for each of them, and 2
        """
        reaches = np.array([self._reach(v) for v in ways.T])
        for v, reach, (form, third, second_r) in zip(ways.T, reaches, self._forms(ways, reaches), strict=True):
            length = norm2(v)
            self.sizes.append(abs(form))
            self.noises.append(self._noise(v, float(reach), second_r))
            self.powers.append((float(reach) * length) ** 2 * length**2)
            self.ways.append((v, float(reach)))
            curvature = (form + float(v @ self.A0 @ v)) / length**2
            self.curvatures.append((curvature, length**2))
            if curvature < self.least[0]:
                self.least = curvature, v / length
            self.third = max(self.third, abs(third) / length**3)
            self.shortest = min(self.shortest, float(reach) * length / 2)
        largest = int(np.argmax(self.sizes))
        v, reach = self.ways[largest]
        ((closer, _, second_r),) = self._forms(v[:, None], np.array([reach * FORMS.closer]))
        noise = self._noise(v, reach * FORMS.closer, second_r)
        moved = max(abs(abs(closer) - self.sizes[largest]), 0.0)
        change = max(moved - noise - self.noises[largest], 0.0)
        self.truncation = max(self.truncation, change / max(self.powers[largest], 1e-300))
        if moved > noise + self.noises[largest] + FORMS.apart * max(self.sizes[largest], 1.0):
            self.truncation = math.inf  # another function there

    def bound(self) -> float:
        """The largest form, with its error."""
        return max(size + error for size, error in zip(self.sizes, self.errors, strict=True))

    @property
    def errors(self) -> list[float]:
        """Of each form: noise and truncation."""
        safety = CONSISTENCY.safety / (1 - FORMS.closer**2) * self.truncation
        return [noise + safety * power for noise, power in zip(self.noises, self.powers, strict=True)]

    @property
    def upper(self) -> float:
        """The least curvature along one of the directions, with its error."""
        each = zip(self.curvatures, self.errors, strict=True)
        return min((curvature + error / square for (curvature, square), error in each), default=math.inf)

    def _reach(self, v: Vector) -> float:
        """The h of h v: a share of the lengths of the variables, longer where noise asks for it."""
        longest = float(np.max(np.abs(v) / self.lengths))
        target = FORMS.noise_share * tolerance(FORMS.looks[2], self.failure / len(FORMS.looks))
        return _against_noise(self.local, FORMS.step, target / longest**2) / longest

    def _noise(self, v: Vector, h: float, second_r: float) -> float:
        """What noise does to a form: to its second difference, to the residuals that weigh it, and to the square of its
        first one."""
        local, noise = self.local, self.local.residual_noise
        w, weight = local.loss.weights(local.r)
        wr, m = w * local.r, len(local.r)
        Jv = np.abs(weight * (local.J @ v))
        if noise.bounded:
            second, first = 4 * noise.level * float(np.sum(np.abs(wr))), noise.level * float(np.sum(Jv))
        else:
            second = NOISE.deviations * math.sqrt(6) * noise.level * norm2(wr)
            first = NOISE.deviations * noise.level * norm2(Jv) / math.sqrt(2)
        return second / h**2 + 2 * first / h + m * (noise.level / h) ** 2 + noise.norm(m) * second_r

    def _forms(self, ways: Matrix, reaches: Vector) -> list[tuple[float, float, float]]:
        """v'(H - A0)v, the third derivative of the cost, and the size of the second one of r, along each of these
        columns v.

        Queries: 2 for each of them
        """
        local = self.local
        r, (w, weight) = local.r, local.loss.weights(local.r)
        ends = (ways * reaches).T
        plus, minus = local.residuals(np.concatenate([ends, -ends]), "curvature").reshape(2, len(reaches), -1)
        found = []
        for v, h, up, down in zip(ways.T, reaches, plus, minus, strict=True):
            D, second_r = (up - down) / (2 * h), (up + down - 2 * r) / h**2
            form = float((w * r) @ second_r) + float(weight @ D**2) - float(v @ self.A0 @ v)
            sixth = (D - local.J @ v) / h**2  # r''' / 6
            third = 3 * float((weight * D) @ second_r) + 6 * float((w * r) @ sixth)
            found.append((form, third, norm2(w * second_r)))
        return found
