# SPDX-License-Identifier: Apache-2.0
"""What a command does with its counterexamples: tables for people, a page, or diagrams in text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from wakeproof.errors import UsageError
from wakeproof.judge.page import mermaid, render
from wakeproof.judge.page.data import Counterexample, StateGraph

TEXT, MERMAID = "text", "mermaid"


@dataclass(frozen=True)
class Output:
    """The options ``--html`` and ``--format`` of a command."""

    html: Path | None
    form: str

    def given(
        self,
        screen: Console,
        title: str,
        show: Callable[[Console], None],
        counterexamples: Callable[[], Iterable[Counterexample]],
        graphs: Callable[[], Sequence[StateGraph]] = tuple,
    ) -> Callable[[], None]:
        """Write the page, if one is wanted, and return what prints the report."""
        if self.html is not None:
            render.write(self.html, title, show, counterexamples(), graphs())
        if self.form == TEXT:
            return lambda: show(screen)
        return lambda: _print(screen, counterexamples())


def checked(html: Path | None, form: str, *, as_json: bool) -> Output:
    """Return the options of a command, before it begins.

    Raises:
        UsageError: an unknown format, --json and another format, or a page that cannot be written.
    """
    render.check_folder("--html", html)
    if form not in (TEXT, MERMAID):
        raise UsageError(f"--format is {form!r}; allowed: {TEXT}, {MERMAID}")
    if as_json and form != TEXT:
        raise UsageError("--json and --format exclude each other: give one of them")
    return Output(html, form)


def _print(screen: Console, found: Iterable[Counterexample]) -> None:
    diagrams = [mermaid.diagram(one) for one in found]
    screen.print("\n".join(diagrams) or "%% no counterexample\n", markup=False, soft_wrap=True,
                 end="")  # fmt: skip
