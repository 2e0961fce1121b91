"""
A fit with a differential equation inside
=========================================

Rates of a predator and its prey, fitted to counts. Every value of the loss solves a differential equation, to a
tolerance that somebody chose. How fine must it be?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import escapade

times = np.linspace(0, 6, 21)
truth = np.array([1.5, 1.0, 1.0, 3.0])


def populations(rates, tolerance):
    def field(t, u):
        return [rates[0] * u[0] - rates[1] * u[0] * u[1], rates[2] * u[0] * u[1] - rates[3] * u[1]]

    solved = solve_ivp(field, (0, 6), [1.0, 1.0], "RK45", times, rtol=tolerance, atol=tolerance)
    return solved.y if solved.success else np.full((2, len(times)), np.nan)


counted = populations(truth, 1e-10) * (1 + 0.02 * np.random.default_rng(0).standard_normal((2, len(times))))


def loss(rates, tolerance):
    return float(np.mean((populations(rates, tolerance) - counted) ** 2))


# %%
# A coarse solver makes the loss jump where it takes another number of steps. Along a line from the truth this is what
# an optimiser sees:

lengths = np.linspace(0, 0.03, 101)
fig, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained", sharey=True)
for ax, tolerance in zip(axes, (1e-3, 1e-8), strict=True):
    ax.plot(lengths, [loss(truth * (1 + t), tolerance) for t in lengths], lw=1)
    ax.set_title(f"tolerance {tolerance:g}")
    ax.set_xlabel("all rates, relative change")
axes[0].set_ylabel("loss")
plt.show()

# %%
# ``check_fun`` says so beforehand, in words:

print(escapade.check_fun(lambda rates: loss(rates, 1e-3), truth * 1.1, rng=0))

# %%
# With a tight tolerance the fit is found and certified.

start = truth * [1.1, 0.9, 1.05, 0.95]
result = escapade.minimize(lambda rates: loss(rates, 1e-8), start, rng=0)
print(result.message, np.round(result.x, 3))
assert result.success
