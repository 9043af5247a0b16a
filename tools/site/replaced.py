# SPDX-License-Identifier: Apache-2.0
"""Sphinx's directive `replaced`: what parks under `wakeproof.install`, a table from the code."""

from __future__ import annotations

import inspect

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.parsing import nested_parse_to_nodes

from wakeproof._runtime import stdlib
from wakeproof._runtime.stdlib.replacement import Replacement

HEAD = """.. list-table::
   :header-rows: 1
   :widths: 40 60

   * - what is so in virtual threads
     - names
"""


def name_of(one: Replacement) -> str:
    """Return the name as a program writes it: ``socket.socket.recv``."""
    owner = one.owner
    if isinstance(owner, type):
        name = f"{owner.__module__}.{owner.__qualname__}"
    else:
        name = getattr(owner, "__name__", str(owner))
    return f"{name.removeprefix('_').removeprefix('builtins.')}.{one.name}"


def table() -> str:
    """Return the table as reStructuredText, with a row for each area."""
    rows = [HEAD]
    for area in stdlib.areas():
        said = inspect.cleandoc(area.__doc__ or "").partition("\n\n")[0]
        names = ", ".join(f"``{name_of(one)}``" for one in area.replacements())
        rows.append(f"   * - {' '.join(said.split())}\n     - {names}\n")
    return "".join(rows)


class Replaced(SphinxDirective):
    """`.. replaced::`."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        for area in stdlib.areas():
            assert area.__file__ is not None
            self.env.note_dependency(area.__file__)
        return nested_parse_to_nodes(self.state, table())


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive with Sphinx."""
    app.add_directive("replaced", Replaced)
    return {"parallel_read_safe": True}
