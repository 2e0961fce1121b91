"""Methods: frozen settings and one generator each, and the presets that configure them by name."""

from .agd_ncf import ZOAGDNCF
from .auto import Auto
from .base import Method, uses_gradients
from .boosted import Boosted
from .check import GradientCheck
from .composed import Escaping
from .constants import Goal
from .gd_ncf import ZOGDNCF
from .neon2_gd import Neon2GD
from .pagd import PAGD
from .perturbed_agd import ZOPerturbedAGD
from .presets import PRESETS
from .rspi import RSPI
from .scipy_descent import SciPyDescent
from .scrn import ZOSCRN
from .scsg import ZOSCSG
from .scsg_ncf import ZOSCSGNCF
from .sgd import ZOSGD
from .sgd_ncf import ZOSGDNCF
from .spider import ZOSPIDER
from .spider_ncf import ZOSPIDERNCF
from .two_point import ZOTwoPoint
from .zpsgd import ZPSGD

__all__ = [
    "PAGD",
    "PRESETS",
    "RSPI",
    "ZOAGDNCF",
    "ZOGDNCF",
    "ZOSCRN",
    "ZOSCSG",
    "ZOSCSGNCF",
    "ZOSGD",
    "ZOSGDNCF",
    "ZOSPIDER",
    "ZOSPIDERNCF",
    "ZPSGD",
    "Auto",
    "Boosted",
    "Escaping",
    "Goal",
    "GradientCheck",
    "Method",
    "Neon2GD",
    "SciPyDescent",
    "ZOPerturbedAGD",
    "ZOTwoPoint",
    "uses_gradients",
]
