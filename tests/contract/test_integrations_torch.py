"""The door of PyTorch, where it is installed."""

import numpy as np
import pytest

import escapade


def test_the_parameters_of_a_module_are_the_point():
    torch = pytest.importorskip("torch")
    from escapade.integrations.torch import module_loss

    torch.manual_seed(0)
    module = torch.nn.Linear(3, 1).double()
    X = torch.randn(20, 3).double()
    y = X @ torch.tensor([[1.0], [-2.0], [0.5]]).double() + 0.3
    f = module_loss(module, lambda output: ((output - y) ** 2).mean(), X)
    result = escapade.minimize(f, f.start, vectorized=True, rng=0)
    assert result.success
    assert isinstance(result.x["weight"], torch.Tensor)
    assert not result.x["weight"].requires_grad
    f.load(result.x)
    assert module.weight.detach().numpy() == pytest.approx(np.array([[1.0, -2.0, 0.5]]), abs=1e-4)
    assert module.bias.item() == pytest.approx(0.3, abs=1e-4)
    assert result.ncalls < result.nfev
    few = module_loss(module, lambda output: ((output - y) ** 2).mean(), X, at_once=2)
    assert few({k: torch.stack([v] * 3) for k, v in few.start.items()}).shape == (3,)
