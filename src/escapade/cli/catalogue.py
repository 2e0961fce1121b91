"""One line for every method that can be named."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """What a method is, what it needs, and its row in the tables of query complexities."""

    line: str
    needs: str
    queries: str
    """Those of one iterate, besides set-up, searches and the certificate."""
    row: str | None = None


PLAIN, SAMPLED = "plain", "samples"

CATALOGUE: dict[str, Entry] = {
    "auto": Entry("the default: no constants; ZO-SCSG-NCF where there are samples", "any", "d + 1"),
    "zo-gd-ncf": Entry("gradient descent and negative curvature (Zhang, Xiong & Gu 2022)", PLAIN, "2d", "ZO-GD-NCF"),
    "zo-gd-ncf-ii": Entry("the same, steps along one random direction", PLAIN, "2d + 2", "ZO-GD-NCF"),
    "zo-sgd-ncf": Entry("its form for averages over samples, the simplest", SAMPLED, "2d a sample", "ZO-SGD-NCF"),
    "zo-sgd-ncf-ii": Entry("the same, steps along one random direction", SAMPLED, "2 a sample", "ZO-SGD-NCF"),
    "zo-scsg-ncf": Entry("epochs of reduced variance", SAMPLED, "6d a sample", "ZO-SCSG-NCF"),
    "zo-scsg-ncf-ii": Entry("the same, steps along random directions", SAMPLED, "6d a sample", "ZO-SCSG-NCF"),
    "zo-spider-ncf": Entry(
        "a recursive gradient estimate, for small tolerances", SAMPLED, "4d a sample", "ZO-SPIDER-NCF"
    ),
    "zo-spider": Entry("that estimate alone: first-order, leaves no saddle", SAMPLED, "4d a sample"),
    "zo-scsg": Entry("those epochs alone: first-order, leaves no saddle", SAMPLED, "6d a sample"),
    "zo-sgd": Entry("steps on minibatches alone: first-order, leaves no saddle", SAMPLED, "2d a sample"),
    "zpsgd": Entry("baseline: noise in every step (Jin et al. 2018)", PLAIN, "d + 1", "ZPSGD"),
    "pagd": Entry("baseline: noise at small gradients (Vlatakis-Gkaragkounis et al. 2019)", PLAIN, "d + 1", "PAGD"),
    "rspi": Entry("baseline: random search and power iterations (Lucchi et al. 2021)", PLAIN, "2, or 80d + 2", "RSPI"),
    "zo-perturbed-agd": Entry(
        "since then: momentum, noise at small gradients (Zhang & Gu 2023)", PLAIN, "4d + 2", "ZO-Perturbed-AGD"
    ),
    "zo-agd-ncf": Entry(
        "since then: momentum, also in the search for curvature (Zhang & Gu 2023)", PLAIN, "4d + 2", "ZO-AGD-NCF"
    ),
    "zo-two-point": Entry(
        "since then: few directions, noise in every step (Ren, Tang & Li 2023)", PLAIN, "d / 2", "ZO-Two-Point"
    ),
    "neon2-gd": Entry("first-order baseline (Allen-Zhu & Li 2018)", "gradients", "none"),
    "zo-scrn": Entry("cubic Newton (Balasubramanian & Ghadimi 2022), small d", "any", "204 d^2 + 2", "ZO-SCRN"),
    **{
        f"escaping-{solver.lower()}": Entry(f"SciPy's {solver}, made to leave saddles", PLAIN, "the solver's")
        for solver in ("Nelder-Mead", "Powell", "COBYQA", "BFGS", "L-BFGS-B")
    },
}
