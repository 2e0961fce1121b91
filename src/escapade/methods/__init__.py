"""Methods: frozen settings and one generator each, and the presets that configure them by name.

>>> import escapade
>>> from escapade.curvature import Cheapest
>>> from escapade.methods import ZOGDNCF
>>> finder = Cheapest(delta=0.1, failure=5e-4)
>>> method = ZOGDNCF(epsilon=1e-3, delta=0.1, eta=0.2, finder=finder, mu_check=1e-5)
>>> escapade.minimize(lambda x: x @ x, [1.0, 2.0], method=method, gtol=1e-3, curvtol=0.1, rng=0).success
True
"""

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
