"""Draws pictures/start.png: the example of start.md. `python docs/pictures/start.py`"""

import re
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
text = (HERE.parent / "start.md").read_text(encoding="utf-8")
seen: dict = {}
exec("\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)), seen)
answer, result, inputs = seen["answer"], seen["result"], seen["inputs"]


def network(w, x):
    return w[0] + w[2] * np.tanh(w[1] * x) + w[4] * np.tanh(w[3] * x)


fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
result.plot(left)
left.plot(answer.nfev, answer.fun, "kX", markersize=9)
shown = {"textcoords": "offset points", "arrowprops": {"arrowstyle": "-", "lw": 0.5}}
left.annotate("SciPy's answer: a saddle", (answer.nfev, answer.fun), (80, 2), **shown)
left.set_yscale("log")
x = np.linspace(-2, 2, 200)
right.plot(inputs, seen["targets"], "k.", label="data")
right.plot(x, np.array([network(answer.x, one) for one in x]), color="grey", label="SciPy's answer")
right.plot(x, network(result.x, x), label="Escapade's")
right.set_title("the fit")
right.legend(frameon=False)
fig.savefig(HERE / "start.png", dpi=90)
