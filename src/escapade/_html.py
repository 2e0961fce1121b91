"""Results as HTML, for notebooks: a coloured heading, and a table of the lines that print shows."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

GOOD, BAD, OPEN = "#2da44e", "#e5534b", "#c69026"
"""Shown, shown to be otherwise, and not shown: the bar beside a heading."""

STYLE = (
    "<style>.escapade{font-size:13px;line-height:1.45;max-width:72em}"
    ".escapade .head{border-left:5px solid;padding:2px 0 2px 9px;margin:2px 0 6px;font-weight:600}"
    ".escapade table{border-collapse:collapse;margin:0;color:inherit;font-size:inherit}"
    ".escapade td,.escapade th{text-align:left!important;padding:1px 14px 1px 0;vertical-align:top;"
    "border:0;background:none}"
    ".escapade th{font-weight:400;opacity:.65;white-space:nowrap}"
    ".escapade td{overflow-wrap:anywhere}"
    ".escapade summary{cursor:pointer;opacity:.65;margin-top:5px}</style>"
)


def page(heading: str, colour: str, *parts: str) -> str:
    """A heading beside a coloured bar, and what stands below it."""
    head = f'<div class="head" style="border-color:{colour}">{escape(heading)}</div>'
    return f'{STYLE}<div class="escapade">{head}{"".join(parts)}</div>'


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and what is said of each."""
    lines = (f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows)
    return f"<table>{''.join(lines)}</table>"


def grid(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table with heads."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def folded(summary: str, part: str, *, unfolded: bool = False) -> str:
    """A part that can be folded away."""
    return f"<details{' open' if unfolded else ''}><summary>{escape(summary)}</summary>{part}</details>"
