"""
What did the solver return?
===========================

Four solvers start at the same point of the same function, and all of them report success. Which of their answers are
minima? The function is the octopus of the literature on saddle points, in ten variables and turned: a chain of saddles,
with minima at its end.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import escapade
from escapade.problems import Octopus, Transformed, random_rotation

fun = Transformed(problem=Octopus(d=10), rotation=random_rotation(10, np.random.default_rng(0)))
x0 = np.zeros(10)

# %%
# Ask four of SciPy's solvers, and then ask what their answers are. ``certify`` needs nothing but the function and a
# point; it looks at slopes and at curvature, by values alone.

answers = {name: minimize(fun, x0, method=name) for name in ("BFGS", "L-BFGS-B", "Nelder-Mead", "Powell")}
for name, answer in answers.items():
    certificate = escapade.certify(fun, answer.x, gtol=1e-4, rng=0)
    print(f"{name:12} success {answer.success}, f = {answer.fun:6.3f}: {certificate.verdict}")

# %%
# None is a minimum. A small slope, or no lower value near by, is all that these solvers ask for. Escapade goes on.

result = escapade.minimize(fun, x0, gtol=1e-4, rng=0)
print(result.message, f"f = {result.fun:.3f} after {result.nfev} queries")

# %%
# Every plateau of the curve is a saddle that it met and left.

axes = result.plot(fun=fun)
for answer, marker in zip(answers.values(), "osv^", strict=True):
    axes.plot(answer.nfev, answer.fun, marker, color="black", markersize=6)
axes.set_title("where four solvers stopped, and where Escapade did")
plt.show()
