"""Draw docs/pictures/architecture.svg: the rooms, and what passes between them in one `minimize` and one `certify`.

python docs/developers/architecture.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

WIDTH, HEIGHT = 1040, 900
USER, ROOM, DOOR = "#e8eef7", "#f7f3e8", "#e9f3ea"
RUN, CHECK, BOTH = "#1f4e9c", "#a33c2a", "#444444"
"""Colours of the two walks, and of what they share."""

MARKERS = {RUN: "run", CHECK: "check", BOTH: "both"}

BOXES = [
    # left, top, width, height, colour, title, lines
    (40, 40, 320, 64, USER, "minimize(fun, x0)", ["minimize.py: checks arguments, builds the oracle"]),
    (700, 40, 300, 64, USER, "certify(fun, x)", ["certify.py: checks arguments, builds the oracle"]),
    (40, 150, 300, 84, ROOM, "Run.go",
     ["run.py: the one driver; trace, limits, ending,", "budget set aside for the certificate"]),
    (40, 290, 300, 104, ROOM, "method.iterates(f, x, rng)",
     ["methods/: one generator a method", "methods/auto/: START, DESCEND, PROBE,", "POLL, ESCAPE, REFINE, CERTIFY"]),
    (400, 150, 600, 104, ROOM, "Certifier: Evidence to Certificate",
     ["certificate/certifier.py: what is measured, and in which order",
      "certificate/rules.py: what each verdict needs",
      "certificate/certificate.py: the answer: two intervals, a verdict, what is trusted"]),
    (560, 330, 440, 124, ROOM, "finder.at(local, rng): Finding",
     ["curvature/cheapest.py chooses between lanczos.py",
      "(products, preconditioned, random starts) and dense.py",
      "(all second differences); deterministic.py, online.py,",
      "power.py, neon2.py: the paper's finders and baselines"]),
    (40, 500, 960, 148, ROOM, "derivatives/: what the values around one point tell",
     ["measure.py: measure(f, x) gives a LocalModel, from: steps.py (every step length), noise.py (every noise",
      "estimate), stencil.py (rows and pairs of values, each paid for once), estimates.py (gradient, diagonal,",
      "Hessian: Estimates), consistency.py (does f look the same on much shorter steps?);",
      "products.py: HessianProducts(local, P, source): from values, or from gradients (gradient_source.py);",
      "preconditioner.py: P; product_errors.py: how wrong a product is; sampling.py: averages over samples"]),
    (40, 702, 960, 84, DOOR, "Oracle: the only door to values",
     ["oracle/oracle.py: f(stencil) gives float64 values; refuses what passes maxfev or maxtime; ledger.py: counts",
      "oracle/failures.py: values that cannot be had; oracle/journal/: values kept in a file"]),
    (40, 830, 960, 56, DOOR, "executors/: where fun is evaluated",
     ["this process, worker processes, Dask, Ray, MPI, lockstep, ask and tell"]),
]

ARROWS = [
    # from x, y, to x, y, colour, label, where the label stands (x, y)
    (160, 104, 160, 148, RUN, "1", (140, 131)),
    (110, 234, 110, 288, RUN, "2", (92, 266)),
    (150, 288, 150, 236, RUN, "3  Iterate ..., Ending with Evidence", (160, 266)),
    (340, 190, 398, 190, RUN, "4", (362, 183)),
    (110, 394, 110, 498, RUN, "values of steps, differences", (120, 440)),
    (340, 345, 558, 345, RUN, "searches of its own", (350, 337)),
    (850, 104, 850, 148, CHECK, "a", (832, 131)),
    (500, 254, 500, 498, CHECK, "b  measure, unless", (372, 410)),
    (780, 254, 780, 328, CHECK, "c  search, unless one is known", (790, 296)),
    (780, 454, 780, 498, CHECK, "d  products, second differences", (572, 481)),
    (520, 648, 520, 700, BOTH, "stencils down, values up", (532, 680)),
    (520, 786, 520, 828, BOTH, "points down, values up", (532, 812)),
]

NOTES = [(372, 427, CHECK, "    evidence has a"), (372, 444, CHECK, "    LocalModel")]


def text(x: float, y: float, words: str, *, size: int = 13, weight: str = "normal", colour: str = "#222") -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{colour}" '
        f'xml:space="preserve">{escape(words)}</text>'
    )


def box(left: float, top: float, width: float, height: float, colour: str, title: str, lines: list[str]) -> str:
    parts = [
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="6" fill="{colour}" stroke="#777"/>',
        text(left + 12, top + 23, title, size=15, weight="bold"),
    ]
    parts += [text(left + 12, top + 45 + 20 * k, line) for k, line in enumerate(lines)]
    return "\n".join(parts)


def arrow(x: float, y: float, to_x: float, to_y: float, colour: str, label: str, at: tuple[float, float]) -> str:
    line = (
        f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{colour}" stroke-width="2" '
        f'marker-end="url(#{MARKERS[colour]})"/>'
    )
    return line + "\n" + text(*at, label, weight="bold", colour=colour)


def head(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L10 5 L0 10 z" fill="{colour}"/></marker>'
    )


def picture() -> str:
    """The whole picture, as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        "<defs>" + "".join(head(name, colour) for colour, name in MARKERS.items()) + "</defs>",
        *(box(*one) for one in BOXES),
        *(arrow(*one) for one in ARROWS),
        *(text(x, y, words, weight="bold", colour=colour) for x, y, colour, words in NOTES),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    target = Path(__file__).parents[1] / "pictures" / "architecture.svg"
    target.write_text(picture(), encoding="utf-8")
