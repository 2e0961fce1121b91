"""
A matrix factored from zero
===========================

The best approximation of a symmetric matrix by U U' has no bad minima, and many saddles: zero is one, and every choice
of fewer directions than one could have is another. From zero, values alone lead past all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import escapade

rng = np.random.default_rng(1)
directions, _ = np.linalg.qr(rng.standard_normal((6, 6)))
matrix = directions[:, :3] @ np.diag([4.0, 2.0, 1.0]) @ directions[:, :3].T


def misfit(u):
    U = u.reshape(6, 3)
    return float(np.sum((U @ U.T - matrix) ** 2) / 4)


result = escapade.minimize(misfit, np.zeros(18), rng=0)
print(result.message, f"misfit {result.fun:.2e}, {result.n_escapes} escapes, {result.nfev} queries")

# %%
# Any rotation of the columns of U gives the same U U': the minimum is no single point, and three curvatures are zero.
# So "second-order" is all that can be said of it, and it is: no way down.

print(result.certificate)

# %%

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
result.plot(left)
U = result.x.reshape(6, 3)
right.plot(np.linalg.eigvalsh(matrix)[::-1], "ko", mfc="none", ms=10, label="the matrix")
right.plot(np.linalg.eigvalsh(U @ U.T)[::-1], "x", label="U U'")
right.set_ylabel("eigenvalues")
right.legend(frameon=False)
plt.show()
