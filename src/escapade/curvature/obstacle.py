"""Why a finder's attempt failed, and which differences may pass where others failed."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from ..derivatives.products import HessianProducts


class Obstacle(Enum):
    """Why an attempt failed."""

    NONE = ""
    NOISE = "noise"
    TRUNCATION = "truncation"
    SCALE = "structure of f below the difference steps"
    SLOW = "slow products"
    PRICE = "a price beyond what is allowed"
    ELL = "an ell that is too small"


def after(products: HessianProducts, obstacle: Obstacle) -> HessianProducts:
    """Longer steps against noise; the next order and then shorter steps against truncation."""
    if obstacle is Obstacle.NOISE:
        return replace(products, order=4, factor=4 * products.factor)
    if products.order == 4:
        return replace(products, factor=products.factor / 4)
    return replace(products, order=2 if products.order == 1 else 4)
