"""Sphinx on the pages that site_build.py puts together: build/site-source -> build/site."""

import re

import judgestats

project = "judgestats"
author = "The judgestats developers"
copyright = "the judgestats developers, BSD-3-Clause"
release = version = judgestats.__version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_nb", "sphinx_copybutton"]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext", ".ipynb": "myst-nb"}
root_doc = "index"
exclude_patterns = ["conf.py"]

myst_heading_anchors = 4
nb_execution_mode = "off"  # site_build.py runs the notebooks, in kernels in which a warning is an error
suppress_warnings = ["misc.highlighting_failure"]  # R's output, with its quotation marks
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
maximum_signature_line_length = 88
add_module_names = False
python_display_short_literal_types = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"judgestats {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_extra"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "github_url": "https://github.com/judgestats/judgestats",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {page: [] for page in ("index", "choose", "gallery/index", "notebooks/*")}  # wide tables and pictures
html_context = {"default_mode": "auto"}


def bars(app, what, name, obj, options, lines):
    """A bar in a docstring stands for a magnitude, and for no substitution."""
    example = False
    for i, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example:
            pieces = re.split(r"(``.*?``)", line)
            lines[i] = "".join(p if k % 2 else re.sub(r"(?<!\\)\|", r"\\|", p) for k, p in enumerate(pieces))


def setup(app):
    """Before numpydoc sees a docstring."""
    app.connect("autodoc-process-docstring", bars, priority=400)
