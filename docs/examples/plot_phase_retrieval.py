"""
A signal from intensities
=========================

A detector sees how strong the projections of a signal are, never their signs. The misfit of such intensities is an
average over thousands of measurements; the signal and its negative are its minima, and zero, where one would start
who knows nothing, is a saddle. ``samples=`` says that the loss is an average: batches lead most of the way, and a
whole gradient is paid for only near the end.
"""

import matplotlib.pyplot as plt
import numpy as np

import escapade

rng = np.random.default_rng(3)
place = np.linspace(0, 1, 12)
signal = np.sin(2 * np.pi * place) + 0.5 * np.exp(-(((place - 0.3) / 0.1) ** 2))
measurements = rng.standard_normal((20_000, 12))
intensities = (measurements @ signal) ** 2


def loss(x, ids):
    """The misfit, averaged over the measurements in ids."""
    return float(np.mean(((measurements[ids] @ x) ** 2 - intensities[ids]) ** 2) / 4)


# %%
# Zero is a saddle, which the certificate says after some samples; ``minimize`` starts there all the same.

zero = np.zeros(12)
print(escapade.certify(loss, zero, samples=20_000, gtol=1e-2, curvtol=0.1, rng=0).verdict)
result = escapade.minimize(loss, zero, samples=20_000, gtol=1e-2, rng=0)
print(result.message)
print(f"{result.nfev:,} values of single measurements: {result.nfev / 20_000 / 13:.1f} gradients of the whole average")

# %%
# The sign is lost for good: the answer may be the negative of the signal, which is as good a minimum.

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.plot(place, signal, "k", lw=4, alpha=0.3, label="the signal")
ax.plot(place, result.x, "o", label="found from intensities")
ax.plot(place, -result.x, "o", mfc="none", label="its negative")
ax.set_xlabel("place")
ax.set_ylim(-1.7, 2.2)
ax.legend(frameon=False, ncols=3, loc="upper center")
plt.show()
