"""How curves look: colours that colour-blind readers can tell apart (Okabe & Ito), and a dash for each as well."""

from __future__ import annotations

from dataclasses import dataclass

from .evidence import AS_PRINTED, AUTHORS, ONLINE


@dataclass(frozen=True)
class Look:
    """A colour, a dash (matplotlib's and plotly's name for it), a width, and whether the mark at the end is hollow."""

    colour: str
    dash: str = "-"
    width: float = 1.8
    hollow: bool = False

    @property
    def plotly(self) -> str:
        """The dash as plotly calls it."""
        return {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}[self.dash]

    def fill(self, alpha: float = 0.15) -> str:
        """The colour of the band."""
        r, g, b = (int(self.colour[i : i + 2], 16) for i in (1, 3, 5))
        return f"rgba({r},{g},{b},{alpha})"


LOOKS = {
    "ZO-GD-NCF": Look("#0072B2"),
    "ZPSGD": Look("#E69F00", "--"),
    "PAGD": Look("#009E73", "-."),
    "RSPI": Look("#CC79A7", "--"),
    "Neon2+GD": Look("#D55E00", "--"),
    "auto": Look("#000000", "-", 2.4),
    "Powell (SciPy)": Look("#D55E00", "--"),
    "BFGS (SciPy)": Look("#56B4E9", "-."),
    "ZO-SGD-NCF": Look("#0072B2"),
    "ZO-SCSG-NCF I": Look("#E69F00", "--"),
    "ZO-SCSG-NCF II": Look("#D55E00", "-."),
    "ZO-SPIDER-NCF": Look("#009E73"),
    "ZO-Perturbed-AGD": Look("#CC79A7", "-."),
    "ZO-AGD-NCF": Look("#D55E00"),
    "ZO-Two-Point": Look("#56B4E9", "--"),
}


def look_of(label: str) -> Look:
    """A curve as printed has its method's colour, dotted, with a hollow mark at its end; one in its authors' form, or
    with ZO-NCF-Online, its method's colour, thin and dashed otherwise."""
    name = label.removesuffix(AS_PRINTED)
    plain = LOOKS.get(name.removesuffix(ONLINE).removesuffix(AUTHORS), Look("#555555"))
    if label.endswith(AS_PRINTED):
        return Look(plain.colour, ":", 2.2 if ONLINE in name else 1.4, hollow=True)
    if name.endswith((ONLINE, AUTHORS)):
        return Look(plain.colour, "-." if plain.dash != "-." else "-", 1.0)
    return plain


def axis_title(axis: str) -> str:
    """What the horizontal axis says."""
    return {"queries": "function queries", "free": "function queries but the check's", "iterations": "iterations"}[axis]
