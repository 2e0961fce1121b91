"""
A variance on its bound
=======================

Eight schools, one treatment. Do its effects differ between schools, or is what differs within the errors of
measurement? The likelihood of a mixed model decides, and its variance must not be negative. Where data show no
difference the best variance is zero: on the bound.
"""

import matplotlib.pyplot as plt
import numpy as np

import escapade

effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def negative_log_likelihood(p):
    mean, variance = p
    total = errors**2 + variance
    return float(np.sum((effects - mean) ** 2 / total + np.log(total)) / 2)


result = escapade.minimize(negative_log_likelihood, [0.0, 50.0], bounds=[(None, None), (0, None)], rng=0)
print(result)

# %%
# The variance is on its bound, and the certificate says so: it is *strongly active*, the likelihood falls when it
# grows, by the interval that ``multipliers`` shows. The mean is free, and a minimum in it is certified.

print("on its bound:", result.certificate.active.strong, "slope inward:", result.certificate.active.multipliers)

# %%

variances = np.linspace(0, 150, 200)
best = [min(negative_log_likelihood([m, v]) for m in np.linspace(0, 15, 61)) for v in variances]
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.plot(variances, best)
ax.plot(result.x[1], result.fun, "o", clip_on=False, label="the certified minimum")
ax.set_xlabel("variance between schools")
ax.set_ylabel("negative log likelihood, best mean")
ax.legend(frameon=False)
plt.show()
