"""
A cluster that leaves its symmetry
==================================

Seven copper atoms in a plane, six around one: by symmetry no atom is pushed out of the plane, and an optimizer that
follows forces stays in it for ever. Forces vanish, it says "converged", and yet the flat hexagon is a saddle of the
energy in space. Energies and forces are those of ASE's effective medium theory (EMT).
"""

import matplotlib.pyplot as plt
import numpy as np
from ase import Atoms
from ase.calculators.emt import EMT
from ase.optimize import BFGS

from escapade.integrations.ase import Escapade, certify_atoms

angles = np.arange(6) * np.pi / 3
ring = 2.5 * np.stack([np.cos(angles), np.sin(angles), np.zeros(6)], axis=1)
atoms = Atoms("Cu7", positions=np.concatenate([np.zeros((1, 3)), ring]))
atoms.calc = EMT()

BFGS(atoms, logfile=None).run(fmax=1e-4)
flat, before = atoms.positions.copy(), atoms.get_potential_energy()
certificate = certify_atoms(atoms, fmax=1e-3, rng=0)
print(f"BFGS: largest force {np.abs(atoms.get_forces()).max():.0e} eV/Å, and yet a {certificate.verdict}")

# %%
# The direction of the certificate shows how the atoms want to move. Translations and rotations, along which the energy
# never changes, are left out by themselves.

print(certificate.direction.reshape(-1, 3).round(2))

# %%
# Escapade is an optimizer of ASE too. It leaves the plane, and stops at a structure that it can certify.

optimizer = Escapade(atoms, logfile=None, options={"rng": 0})
optimizer.run(fmax=1e-4)
after = atoms.get_potential_energy()
print(f"{before:.3f} eV flat, {after:.3f} eV after {optimizer.result.njev} force calls")
print(optimizer.result.certificate)

# %%

fig = plt.figure(figsize=(8, 4), layout="constrained")
shown = {f"flat: a saddle, {before:.2f} eV": flat, f"a certified minimum, {after:.2f} eV": atoms.positions}
for k, (title, positions) in enumerate(shown.items()):
    positions = positions - positions.mean(axis=0)
    ax = fig.add_subplot(1, 2, k + 1, projection="3d")
    for i in range(7):
        for j in range(i):
            if np.linalg.norm(positions[i] - positions[j]) < 3.0:
                ax.plot(*np.stack([positions[i], positions[j]], axis=1), color="grey", lw=1)
    ax.scatter(*positions.T, s=250, edgecolor="black")
    ax.set_title(title)
    ax.set_axis_off()
    ax.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), zlim=(-2.5, 2.5), box_aspect=(1, 1, 1))
    ax.view_init(25, -60)
plt.show()
