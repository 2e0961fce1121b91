"""How the site is built: `sphinx-build -W docs site`, offline."""

from __future__ import annotations

from typing import Any

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
html_title = "Escapade"
html_context = {"default_mode": "auto"}
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False, "show_toc_level": 2}


def escape_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Norms and absolute values in docstrings are no substitutions."""
    del app, what, name, obj, options
    lines[:] = [line.replace("|", "\\|") for line in lines]


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", escape_bars)
