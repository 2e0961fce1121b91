"""
Balancing a pole
================

A cart on rails, a pole on the cart, and four numbers that say how hard to push. The cost of a policy is what a
simulation says; nobody differentiates it.
"""

import matplotlib.pyplot as plt
import numpy as np

import escapade

STEP, LENGTH, CART, POLE, GRAVITY = 0.02, 0.5, 1.0, 0.1, 9.8


def simulated(gains, seconds=4.0, tilt=0.2):
    """Cart and pole over time, pushed by the gains times the state; the push saturates smoothly."""
    state, seen = np.array([0.0, 0.0, tilt, 0.0]), []
    for _ in range(round(seconds / STEP)):
        force = 20 * np.tanh(gains @ state / 20)
        _, speed, angle, turning = state
        sin, cos = np.sin(angle), np.cos(angle)
        pushed = (force + POLE * LENGTH * turning**2 * sin) / (CART + POLE)
        bend = (GRAVITY * sin - cos * pushed) / (LENGTH * (4 / 3 - POLE * cos**2 / (CART + POLE)))
        state = state + STEP * np.array([speed, pushed - POLE * LENGTH * bend * cos / (CART + POLE), turning, bend])
        seen.append(state)
    return np.array(seen)


def cost(gains):
    """How far from upright and from the middle, on average, and a little for strong gains."""
    seen = simulated(gains)
    return float(np.mean(1 - np.cos(seen[:, 2]) + 0.05 * np.tanh(seen[:, 0] ** 2)) + 1e-6 * np.sum(gains**2))


# %%
# A hand to begin with that looks at the pole alone: the pole stays up, and the cart rolls away.

start = np.array([0.0, 0.0, 15.0, 2.0])
result = escapade.minimize(cost, start, rng=0, maxfev=3000)
print(result.message)
print(f"cost {cost(start):.4f} at the start, {result.fun:.5f} after {result.nfev} simulations")
print("gains", np.round(result.x, 2))

# %%

fig, (upper, lower) = plt.subplots(2, 1, figsize=(8, 4.6), layout="constrained", sharex=True)
for label, gains in (("start", start), ("found", result.x)):
    seen = simulated(gains)
    time = STEP * np.arange(len(seen))
    upper.plot(time, np.degrees(np.unwrap(seen[:, 2])), label=label)
    lower.plot(time, seen[:, 0], label=label)
upper.set(ylabel="tilt of the pole, degrees")
lower.set(ylabel="place of the cart, metres", xlabel="seconds")
upper.legend(frameon=False)
plt.show()
