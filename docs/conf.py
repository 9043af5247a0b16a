# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings: `make docs` builds the site into build/docs."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["WAKEPROOF_PLAIN"] = "1"  # the reference shows methods as Python has them, not C

project = "wakeproof"
html_title = "wakeproof"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["wakeproof.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
highlight_language = "none"
smartquotes = False  # two hyphens begin an option
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "tools.site.commands",
    "tools.site.headers",
    "tools.site.replaced",
]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

# Docstrings set a name in single backticks: a link where it is one of ours, else code.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_custom_sections = ["Threads"]
nitpicky = True
# What the reference does not describe: the standard library, aliases of types, a docstring's own
# words.  Every other cross-reference must lead somewhere.
nitpick_ignore_regex = [("py:.*", ".*"), ("c:.*", "(u?int.*_t|s?size_t|sockaddr|socklen_t|mode_t)")]

TITLED = re.compile(r'^(```)(\w+) title="([^"]+)"$', re.MULTILINE)


class English(SearchEnglish):
    """The index drops "others" for its stem, a stop word, and a query that has it finds nothing."""

    stopwords = frozenset(SearchEnglish.stopwords) - {"other"}


def _caption(_app: Sphinx, _name: str, source: list[str]) -> None:
    """Show the name of the file that a block of code is."""
    source[0] = TITLED.sub(r"\1{code-block} \2\n:caption: \3", source[0])


def setup(app: Sphinx) -> None:
    """Tell Sphinx what is here."""
    app.connect("source-read", _caption)
    app.add_lexer("tla", TextLexer)
    app.add_lexer("console", TextLexer)  # or a table whose head begins with "#" is a command
    app.add_search_language(English)
