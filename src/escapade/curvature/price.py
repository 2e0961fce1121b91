"""What each way to decide costs, in queries: known before anything is bought, and capped.

Rows cost 3d + 34. All second differences cost sigma d(d-1)/2 on sigma sides, and 3d + 92 for what measures their
error. k Hessian-vector products cost k sigma (d+1), and the second differences of their complement complete them: both
together cost about (1 + (k/d)^2) times all second differences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..derivatives.product_errors import many_variables
from ..oracle import Oracle
from .settings import DENSE, FINDER, PRICE


def rows(d: int) -> int:
    """The rows of a local model, and the looks around them."""
    return 3 * d + 34


def checks(d: int, *, again: bool = False) -> int:
    """What measures the error of second differences, at most: a direction, the softest on shorter steps, products on
    much shorter ones, one on far steps; and random directions, which are not asked for again."""
    few = 8 + 8 * min(FINDER.softest, d) + DENSE.products * (16 if many_variables(d) else 8)
    return few + 2 * d + 2 + (0 if again else d + 2 * min(DENSE.forms, 2 * d))


def second_differences(d: int, sides: int = 2) -> int:
    """All of them, and what measures their error."""
    return sides * d * (d - 1) // 2 + 3 * d + 92


def products(d: int, k: int, sides: int = 2) -> int:
    """k products."""
    return k * sides * (d + 1)


def complement(d: int, k: int, sides: int = 2) -> int:
    """The second differences of what k directions leave over, and what measures the error of all."""
    m = d - k
    return 2 * m + sides * m * (m - 1) // 2 + checks(d)


def deciding(d: int) -> int:
    """The price of a certificate: rows, and all second differences on both sides."""
    return rows(d) + second_differences(d)


def cap(d: int, room: float = PRICE.room) -> int:
    """What a certificate may cost unless told otherwise, the ladder of lengths apart."""
    return int(min(room * deciding(d), PRICE.most * (d + 1)))


def cap_of_run(d: int, spent: int) -> int:
    """The same at the end of a run, which has cost so much: to end it undecided would save little and waste it all."""
    return max(cap(d, PRICE.room_of_run), spent)


def most_products(d: int) -> int:
    """After so many products the second differences of their complement are next, if these can be afforded."""
    return max(int(PRICE.products * d), PRICE.fewest)


@dataclass(frozen=True)
class Allowance:
    """What a search may spend from the moment it began: queries of f on its batch."""

    f: Oracle
    most: float
    began: int
    """What the oracle had counted."""

    @classmethod
    def of(cls, f: Oracle, most: float) -> Allowance:
        """From this moment on."""
        return cls(f, most, f.ledger.queries)

    @property
    def spent(self) -> int:
        """So far."""
        weight = 1 if self.f.batch is None else self.f.batch.weight
        return (self.f.ledger.queries - self.began) // max(weight, 1)

    def affords(self, queries: float) -> bool:
        """Whether so many more are allowed, and in the budget."""
        weight = 1 if self.f.batch is None else self.f.batch.weight
        return self.allows(queries) and weight * queries <= self.f.remaining

    def allows(self, queries: float) -> bool:
        """Whether so many more are allowed."""
        return self.spent + queries <= self.most

    def total(self, queries: float, d: int) -> int:
        """What a certificate would cost in all that could spend so many more."""
        return math.ceil(PRICE.named * (rows(d) + self.spent + queries))
