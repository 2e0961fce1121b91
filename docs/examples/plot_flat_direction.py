"""
Two parameters that data cannot tell apart
==========================================

Decays of a sample are counted: an efficiency times an activity, falling with a rate, above a background. The maximum
of the likelihood is easily found. But counts know only the product of efficiency and activity, and a fit that reports
two numbers and a small gradient does not say so. The certificate names the direction.
"""

import matplotlib.pyplot as plt
import numpy as np

import escapade

t = np.linspace(0, 10, 60)
counts = np.random.default_rng(4).poisson(0.2 * 400 * np.exp(-0.5 * t) + 6)


def expected(p, t):
    return np.exp(p["log efficiency"] + p["log activity"] - p["rate"] * t) + np.exp(p["log background"])


def negative_log_likelihood(p):
    mean = expected(p, t)
    return float(np.sum(mean - counts * np.log(mean)))


start = {"log efficiency": -1.0, "log activity": 5.0, "rate": 1.0, "log background": 1.0}
fit = escapade.minimize(negative_log_likelihood, start, rng=0)
print(fit.message)

# %%
# It is a success, and yet no minimum: "second-order" says that no way leads down. One way leads nowhere at all, the
# first of the softest directions, each with an interval for the curvature along it:

print(fit.certificate.verdict)
print(fit.certificate.softest_table())

# %%
# The efficiency is known from a calibration: with it given, a minimum is certified, and its Hessian gives error bars.


def calibrated(p):
    return negative_log_likelihood(p | {"log efficiency": np.log(0.2)})


known = escapade.minimize(calibrated, {name: start[name] for name in start if name != "log efficiency"}, rng=0)
print(known.message)
seen = escapade.certify(calibrated, known.x, finder="dense", rng=0)
for name, deviation in zip(seen.structure.names, np.sqrt(np.diag(seen.covariance())), strict=True):
    print(f"{name} is known to {deviation:.2g}")

# %%

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
e, a = np.meshgrid(np.linspace(-8, 0, 80), np.linspace(4, 13, 80))
levels = [
    negative_log_likelihood(fit.x | {"log efficiency": u, "log activity": v})
    for u, v in zip(e.flat, a.flat, strict=True)
]
left.contour(e, a, np.reshape(levels, e.shape) - fit.fun, levels=[10, 100, 1000], colors="grey", linewidths=1)
left.plot(fit.x["log efficiency"], fit.x["log activity"], "o", label="found from values alone")
left.plot(np.log(0.2), known.x["log activity"], "s", label="with the efficiency given")
left.set(xlabel="log efficiency", ylabel="log activity", title="the likelihood has a flat valley")
left.legend(frameon=False, loc="lower left")
right.plot(t, counts, "k.", label="counts")
right.plot(t, expected(fit.x, t), label="the fit: the same all along the valley")
right.set_xlabel("time")
right.legend(frameon=False)
plt.show()
