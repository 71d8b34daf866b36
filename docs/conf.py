"""Sphinx configuration of the documentation. ``make docs`` builds it; no part of it needs a network."""

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import mock

import dale

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

sys.modules["dale.plot"] = dale.plot  # an attribute that is imported on first use; autodoc imports modules by name
for module, libraries in {"botorch": ["botorch", "gpytorch", "linear_operator", "torch"], "ray": ["ray"]}.items():
    # These libraries take gigabytes. Where they are missing, their names are replaced for the import, and only for it:
    # SciPy looks for a loaded torch.
    with mock([library for library in libraries if find_spec(library) is None]):
        importlib.import_module(f"dale.integrations.{module}")

project = "dale"
author = "The dale developers"
copyright = author  # noqa: A001 (Sphinx's name)
version = release = dale.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "myst_nb",
    "mathml",
    "repository_pages",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery", "**/*.ipynb", "**.ipynb_checkpoints"]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}
nitpicky = True
# Types in annotations: of other libraries, whose documentation is elsewhere, and of parts that are not public.
nitpick_ignore_regex = [
    (r"py:(class|data|obj)", r"(collections|concurrent|enum|os|pathlib|types|typing)\..*"),
    (r"py:(class|data|obj)", r"(numpy|np|scipy|matplotlib|optuna|sklearn|ray|torch|botorch|gpytorch)\..*"),
    (r"py:(class|data|obj)", r"(distributed|gest_api)\..*"),
    (r"py:class", r"(Client|Figure|FrozenTrial|Path|VOCS)"),
    (r"py:class", r"dale(\.[a-z_]+){2,}\.[A-Z]\w*"),
    (r"py:class", r"dale\._views\.\w+"),
]

# Markdown and notebooks
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4  # as code hosts give to headings
html_math_renderer = "mathml"
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
nb_ipywidgets_js = {}  # from another host; no tutorial shows a widget
nb_kernel_rgx_aliases = {".*": "python3"}

# API reference
autosummary_generate = True
autosummary_filename_map = {"dale.methods.IMGPO": "dale.methods.IMGPO-class"}  # beside imgpo where case is ignored
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"plot_",
    "subsection_order": "gallery.section_key",
    "within_subsection_order": "gallery.InReadingOrder",
    "image_scrapers": ("gallery.figure_scraper",),
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"dale\.view\.notebook_figure",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("dale",),
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "thumbnail_size": (480, 320),
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "copyfile_regex": r".*\.toml",
}

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "dale"
html_static_path = ["_static"]
html_css_files = ["dale.css"]
html_favicon = "_static/favicon.svg"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options: dict[str, Any] = {
    "logo": {"text": "dale", "image_light": "images/logo-light.svg", "image_dark": "images/logo-dark.svg"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_nav_level": 1,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars: dict[str, list[str]] = {"quickstart": [], "changelog": [], "repository/**": []}


def keep_colons(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep napoleon from reading the words before a colon as a type: here types are in annotations only."""
    if what in ("attribute", "property", "data"):
        lines[:0] = ["..", ""]  # an empty comment, which has no colon


def setup(app: Sphinx) -> None:
    """Connect to the events of a build."""
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # before napoleon
