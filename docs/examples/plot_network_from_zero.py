"""
A network trained from zero weights
===================================

With all weights at zero the hidden units of a network are the same, and slopes treat them the same: no method that
follows slopes ever tells them apart. Zero is a saddle. Curvature shows the way.
"""

import matplotlib.pyplot as plt
import numpy as np

import escapade

inputs = np.linspace(-3, 3, 40)
targets = np.sin(2 * inputs) * np.exp(-(inputs**2) / 4)
HIDDEN = 6


def predicted(w, x):
    a, b, c = w[:HIDDEN], w[HIDDEN : 2 * HIDDEN], w[2 * HIDDEN : 3 * HIDDEN]
    return np.tanh(np.outer(x, a) + b) @ c


def loss(w):
    return float(np.mean((predicted(w, inputs) - targets) ** 2) + 1e-4 * np.sum(w**2))


zero = np.zeros(3 * HIDDEN)
print(escapade.certify(loss, zero, rng=0))

# %%
# The certificate of zero names a direction down. ``minimize`` finds and takes it by itself.

result = escapade.minimize(loss, zero, rng=0, maxfev=20_000)
print(result.message)
print(f"loss {loss(zero):.4f} at zero, {result.fun:.4f} after {result.nfev} queries")

# %%

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
result.plot(left)
fine = np.linspace(-3, 3, 300)
right.plot(inputs, targets, "k.", label="data")
right.plot(fine, predicted(zero, fine), color="grey", label="zero weights, where slopes vanish")
right.plot(fine, predicted(result.x, fine), label="trained")
right.set_ylim(-1.6, 1.0)
right.legend(frameon=False, loc="lower right")
plt.show()
