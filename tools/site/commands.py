# SPDX-License-Identifier: Apache-2.0
"""Sphinx's directive `command-help`: the reference of the command line, from its help texts."""

from __future__ import annotations

import inspect
import re

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.parsing import nested_parse_to_nodes

from wakeproof import cli
from wakeproof.cli import app as line


def _escaped(text: str) -> str:
    return re.sub(r"([\\*`_|])", r"\\\1", " ".join(text.split()))


def reference() -> str:
    """Return all commands as reStructuredText."""
    line.add(cli.COMMANDS)
    group = typer.main.get_command(line.app)
    parts = []
    for name in cli.COMMANDS:
        command = group.commands[name]  # type: ignore[attr-defined]
        context = group.context_class(command, info_name=f"wakeproof {name}")  # type: ignore
        title = f"wakeproof {name}"
        usage = " ".join(command.collect_usage_pieces(context))
        parts.append(f"{title}\n{'-' * len(title)}\n")
        parts.append(f"::\n\n   {title} {usage}\n")
        said, _, examples = inspect.cleandoc(command.help or "").partition("Examples:")
        parts.extend(_escaped(part) + "\n" for part in said.split("\n\n") if part.strip())
        if lines := [each.strip() for each in examples.splitlines() if each.strip()]:
            parts.append("::\n\n" + "".join(f"   {each}\n" for each in lines))
        shown = ""
        for each in (each for each in command.params if each.name != "help"):
            panel = getattr(each, "rich_help_panel", None) or ""
            if panel not in ("", shown):
                parts.append(f"**{_escaped(panel)}**\n")
            shown = panel
            spelled, meaning = each.get_help_record(context)
            parts.append(f"``{spelled}``\n   {_escaped(meaning) or 'no more is said'}\n")
    return "\n".join(parts)


class CommandHelp(SphinxDirective):
    """`.. command-help::`."""

    def run(self) -> list[nodes.Node]:
        """Return the sections, one for each command."""
        for name in cli.COMMANDS:
            self.env.note_dependency(str(cli.place(name)[2]))
        return nested_parse_to_nodes(self.state, reference(), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive with Sphinx."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True}
