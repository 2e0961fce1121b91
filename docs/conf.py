"""How the site is built: `sphinx-build -W docs site`, offline."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math import latex2mathml

import escapade

project = "Escapade"
author = "The Escapade developers"
project_copyright = "The Escapade developers"
version = release = escapade.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_gallery.gen_gallery"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "examples"]

myst_heading_anchors = 3

default_role = "code"
autosummary_generate = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["jax", "optimagic", "torch"]  # documented whether they are installed or not
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_title = "Escapade"
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "show_toc_level": 1,
    "header_links_before_dropdown": 6,
}
html_sidebars = {"index": [], "start": []}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]

FROM_ROOT = {"developers/contributing": "CONTRIBUTING.md", "developers/benchmarks": "benchmarks/README.md"}
"""Pages of the site that are files beside `docs`."""

LINKS = {
    "docs/developers/": "",
    "docs/": "../",
    "../docs/": "../",
    "benchmarks/README.md": "benchmarks.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""How links of those files begin, and how they begin on the site."""


def prepare(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Norms and absolute values in docstrings are no substitutions, and pages they name are links."""
    del app, what, name, obj, options
    text = "\n".join(lines) if any(".. math::" in line for line in lines) else "\n".join(lines).replace("|", "\\|")
    lines[:] = re.sub(r"\bdocs/(\w+)\.md", r":doc:`/\1`", text).split("\n")


def read_from_root(app: Any, name: str, source: list[str]) -> None:
    """The text of a page that is kept beside `docs`."""
    if name in FROM_ROOT:
        text = (Path(app.srcdir).parent / FROM_ROOT[name]).read_text(encoding="utf-8")
        for start, instead in LINKS.items():
            text = text.replace(f"]({start}", f"]({instead}")
        source[0] = text


def mathml(block: bool) -> Any:
    """Formulas as MathML, which browsers draw without a network; its parser does not know a few shorthands."""

    def visit(self: Any, node: Any) -> None:
        tex = re.sub(r"\\t?frac(\d)(\w)", r"\\frac{\1}{\2}", node.astext()).replace(r"\tfrac", r"\frac")
        tex = re.sub(r"\\\|(.+?)\\\|", r"{\\lVert \1\\rVert}", tex)
        tex = re.sub(r"\\langle.+?\\rangle", r"{\g<0>}", tex)
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}" if r"\\" in tex else tex
        self.body.append(latex2mathml.tex2mathml(tex, as_block=block))
        raise SkipNode

    return visit, None


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", prepare)
    app.connect("source-read", read_from_root)
    app.add_html_math_renderer("mathml", mathml(block=False), mathml(block=True))
