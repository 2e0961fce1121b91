"""
A quantum circuit, one shot at a time
=====================================

A circuit of rotations and entangling gates prepares a state of four spins, and its energy is measured: so many shots in
one basis, so many in another. No value is exact, and none comes twice. The circuit is a few lines of NumPy here; on a
device only ``measured`` would change.
"""

import matplotlib.pyplot as plt
import numpy as np

import escapade

SPINS, LAYERS, FIELD, SHOTS = 4, 2, 1.0, 500
BITS = (np.arange(2**SPINS)[:, None] >> np.arange(SPINS)[::-1]) & 1
SIGNS = 1 - 2 * BITS  # of each spin, in each state of the basis
NEIGHBOURS = np.sum(SIGNS[:, :-1] * SIGNS[:, 1:], axis=1)
ENTANGLED = (-1.0) ** np.sum(BITS[:, :-1] * BITS[:, 1:], axis=1)  # controlled-Z gates between neighbours


def turned(state, angles):
    """The state after each spin was turned about Y by its angle."""
    state = state.reshape((2,) * SPINS)
    for k, half in enumerate(np.asarray(angles) / 2):
        gate = np.array([[np.cos(half), -np.sin(half)], [np.sin(half), np.cos(half)]])
        state = np.moveaxis(np.tensordot(gate, state, axes=(1, k)), 0, k)
    return state.ravel()


def state(angles):
    """What the circuit prepares from all spins up."""
    psi = np.eye(1, 2**SPINS)[0]
    for row in np.reshape(angles, (LAYERS + 1, SPINS))[:-1]:
        psi = ENTANGLED * turned(psi, row)
    return turned(psi, np.reshape(angles, (LAYERS + 1, SPINS))[-1])


def chances(angles):
    """How often each outcome is seen, in the basis of Z and in that of X."""
    psi = state(angles)
    return psi**2, turned(psi, np.full(SPINS, -np.pi / 2)) ** 2


def energy(angles):
    """Of a chain of spins in a field across it, exactly: what no laboratory sees."""
    along, across = chances(angles)
    return -along @ NEIGHBOURS - FIELD * across @ np.sum(SIGNS, axis=1)


rng = np.random.default_rng(4)


def measured(angles):
    """The same from shots."""
    along, across = (rng.multinomial(SHOTS, p / np.sum(p)) / SHOTS for p in chances(angles))
    return float(-along @ NEIGHBOURS - FIELD * across @ np.sum(SIGNS, axis=1))


# %%
# Nothing is said about the noise: the run hears it from its first values, and descends on models that are fitted to all
# of them.

start = rng.uniform(-0.5, 0.5, (LAYERS + 1) * SPINS)
result = escapade.minimize(measured, start, rng=0, maxfev=1000)
print(result.message)
print(f"measured {result.fun:.3f} +- {result.fun_error:.3f}, exactly {energy(result.x):.3f}")
print(f"the luckiest value of the run was {result.fun_best:.3f}")

# %%
# For four spins the lowest energy there is can be computed, and so can that of every iterate.

raised, spins = np.arange(2**SPINS), []
H = -np.diag(NEIGHBOURS.astype(float))
for k in range(SPINS):
    H[raised, raised ^ (1 << k)] -= FIELD
lowest = np.linalg.eigvalsh(H)[0]
print(f"lowest energy {lowest:.3f}")

fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
spent = [step.nfev for step in result.history]
ax.plot(spent, [energy(step.x) - lowest for step in result.history], label="exactly")
ax.axhline(np.std([measured(result.x) for _ in range(50)]), color="0.6", ls=":", label="noise of one value")
ax.set_yscale("log")
ax.set_xlabel("values")
ax.set_ylabel("energy above the lowest")
ax.legend(frameon=False)
plt.show()
