"""
Fooling a classifier from outside
=================================

A small network reads handwritten digits (scikit-learn's, 8 by 8 pixels). We are allowed to ask it for probabilities,
and for nothing else: no weights, no gradients. What is a small change of an image that makes it read another digit?
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import escapade

images, labels = load_digits(return_X_y=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # sixty rounds are enough here
    network = MLPClassifier((24,), activation="tanh", solver="lbfgs", alpha=0.1, max_iter=60, random_state=0)
    network.fit(images[200:] / 16, labels[200:])
print(f"the network reads {network.score(images[:200] / 16, labels[:200]):.0%} of the digits it never saw")

# %%
# The loss adds the size of the change to how much more the network believes in the true digit than in any other,
# smoothly: a change that the network is fooled by costs only its size. 64 pixels are 64 variables; ``vectorized``
# says that one call takes a block of images.

image, truth = images[3] / 16, labels[3]
others = np.arange(10) != truth


def lead(changes):
    """How much more likely, as a logarithm, the true digit is than the most likely other."""
    logs = network.predict_log_proba(image + changes)
    return logs[:, truth] - np.log(np.sum(np.exp(4 * logs[:, others]), axis=1)) / 4


def cost(changes):
    return np.sum(changes**2, axis=1) / 2 + np.logaddexp(0.0, 4 * (lead(changes) + 0.5)) / 4


result = escapade.minimize(cost, np.zeros(64), vectorized=True, rng=0)
print(result.message)
fooled = network.predict([image + result.x])[0]
print(f"{truth} is read as {fooled} after {result.nfev} questions; the change is {np.linalg.norm(result.x):.2f} long,")
print(f"the image {np.linalg.norm(image):.2f}")

# %%

fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
shown = {f"read as {truth}": image, "the change": result.x, f"read as {fooled}": image + result.x}
for ax, (title, pixels) in zip(axes, shown.items(), strict=True):
    change = title == "the change"
    limits = {"vmin": -0.3, "vmax": 0.3, "cmap": "RdBu_r"} if change else {"vmin": 0, "vmax": 1, "cmap": "gray_r"}
    ax.imshow(pixels.reshape(8, 8), **limits)
    ax.set_title(title)
    ax.set_axis_off()
plt.show()
