"""
A cluster that leaves its symmetry
==================================

Seven atoms in a plane, six around one: by symmetry no atom is pushed out of the plane, and a solver that follows forces
stays in it for ever. The hexagon is a saddle of the energy in space.
"""

import matplotlib.pyplot as plt
import numpy as np

import escapade
from escapade.problems import LennardJones

energy = LennardJones(atoms=7)
angles = np.arange(6) * np.pi / 3
ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(6)], axis=1)
flat = 1.12 * np.concatenate([np.zeros((1, 3)), ring]).ravel()

# %%
# The energy does not change when the cluster moves or turns; ``invariances`` says so, and the certificate speaks of
# everything else.

rigid = escapade.rigid_motions(7)
result = escapade.minimize(energy, flat, invariances=rigid, rng=0)
print(f"{energy(flat):.3f} flat, {result.fun:.3f} after {result.nfev} queries")
print(result.certificate)

# %%

fig = plt.figure(figsize=(8, 4), layout="constrained")
for k, (title, x) in enumerate({"the flat hexagon": flat, "a certified minimum": result.x}.items()):
    ax = fig.add_subplot(1, 2, k + 1, projection="3d")
    atoms = np.asarray(x).reshape(-1, 3)
    for i in range(7):
        for j in range(i):
            if np.linalg.norm(atoms[i] - atoms[j]) < 1.3:
                ax.plot(*np.stack([atoms[i], atoms[j]], axis=1), color="grey", lw=1)
    ax.scatter(*atoms.T, s=250, edgecolor="black")
    ax.set_title(f"{title}, energy {energy(x):.2f}")
    ax.set_axis_off()
    ax.set_box_aspect((1, 1, 1))
plt.show()
