"""What each way to decide costs, in queries: known before anything is bought, and capped.

Every purchase of a certificate asks an `Allowance` first: measuring and units, the search, a sharper gradient, a Newton
step, another certificate above roughness. What does not fit is not bought.

Rows cost 3d + 34. All second differences cost sigma d(d-1)/2 on sigma sides, and 3d + 92 for what measures their
error. k Hessian-vector products cost k sigma (d+1), and the second differences of their complement complete them: both
together cost about (1 + (k/d)^2) times all second differences.
"""

from __future__ import annotations

import math

from ..derivatives.measure import Allowance
from ..derivatives.product_errors import many_variables, price_of_look
from ..derivatives.settings import PRODUCTS
from .settings import DENSE, FINDER, PRICE


def rows(d: int) -> int:
    """The rows of a local model, and the looks around them."""
    return 3 * d + 34


def checks(d: int, *, again: bool = False, looks: int = DENSE.products) -> int:
    """What measures the error of second differences, at most, a far row apart: a direction, the softest on shorter
    steps, products on much shorter ones, one on far steps; and random directions, which are not asked for again."""
    few = 8 + 8 * min(FINDER.softest, d) + looks * price_of_look(d)
    return few + 2 * d + 2 + (0 if again else 2 * min(DENSE.forms, 2 * d))


def second_differences(d: int, sides: int = 2) -> int:
    """All of them, and what measures their error."""
    return sides * d * (d - 1) // 2 + d + checks(d)


def products(d: int, k: int, sides: int = 2) -> int:
    """k products."""
    return k * sides * (d + 1)


def error_of_products(d: int, order: int) -> int:
    """What `product_errors.measured` costs at most, noise apart."""
    along = 8 * PRODUCTS.components if many_variables(d) else 2 * d + price_of_look(d)
    return (0 if many_variables(d) else products(d, 1, order)) + along * (2 if order == 4 else 1)


def checks_of_products(d: int, order: int) -> int:
    """What comes after products before they decide: looks along the softest directions, at the lowest, and the error of
    one."""
    return 8 * min(FINDER.softest, d) + 8 + error_of_products(d, order)


def complement(d: int, k: int, sides: int = 2) -> int:
    """The second differences of what k directions leave over, and what measures the error of all."""
    m = d - k
    return 2 * m + sides * m * (m - 1) // 2 + d + checks(d)


def few_products(d: int) -> int:
    """Products that may decide in many variables."""
    return products(d, PRICE.fewest, 1) + checks_of_products(d, 1)


def deciding(d: int, sides: int = 2) -> int:
    """The price of a certificate: rows, all second differences on both sides, and 3d + 92 for their checks."""
    return rows(d) + sides * d * (d - 1) // 2 + 3 * d + 92


def cap(d: int, room: float = PRICE.room) -> int:
    """What a certificate may cost unless told otherwise: so many times its price and that of the ladder of lengths,
    which it pays for apart."""
    return int(min(room * (deciding(d) + PRICE.ladder) - PRICE.ladder, PRICE.most * (d + 1)))


def cap_of_run(d: int, spent: int) -> int:
    """The same at the end of a run, which has cost so much: to end it undecided would save little and waste it all."""
    return max(cap(d, PRICE.room_of_run), spent)


def most_products(d: int) -> int:
    """After so many products the second differences of their complement are next, if these can be afforded."""
    return max(int(PRICE.products * d), PRICE.fewest)


def total(allowance: Allowance, queries: float) -> int:
    """What a certificate would cost in all that could spend so many more than it has."""
    return math.ceil(PRICE.named * (allowance.spent + queries))
