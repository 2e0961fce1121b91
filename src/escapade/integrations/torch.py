"""PyTorch: the parameters of a module as a point, and a loss of many perturbed sets of them in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class ModuleLoss:
    """A loss of a module as a function of its parameters, each with one more axis in front: one value for each set.

    For `minimize(f, f.start, vectorized=True)`, `certify`, `multistart`. No gradients are computed.
    """

    module: torch.nn.Module
    loss: Callable[..., Any]
    inputs: tuple[Any, ...] = ()
    at_once: int | None = None
    """Sets of parameters evaluated at once, where memory is short; None: all of a block."""

    @property
    def start(self) -> dict[str, Any]:
        """The parameters as they are now, those that require a gradient."""
        own = self.module.named_parameters()
        return {name: p.detach().clone() for name, p in own if p.requires_grad}

    def __call__(self, parameters: Mapping[str, Any]) -> Any:
        def one(own: Mapping[str, Any]) -> Any:
            return self.loss(torch.func.functional_call(self.module, dict(own), self.inputs))

        with torch.no_grad():
            return torch.func.vmap(one, chunk_size=self.at_once)(dict(parameters))

    def load(self, parameters: Mapping[str, Any]) -> None:
        """Write parameters, such as `result.x`, into the module."""
        self.module.load_state_dict(dict(parameters), strict=False)


def module_loss(
    module: torch.nn.Module, loss: Callable[..., Any], *inputs: Any, at_once: int | None = None
) -> ModuleLoss:
    """`loss(module(*inputs))` as a function of the module's parameters: see `ModuleLoss`."""
    return ModuleLoss(module, loss, inputs, at_once)
