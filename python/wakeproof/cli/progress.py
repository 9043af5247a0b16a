# SPDX-License-Identifier: Apache-2.0
"""The progress of long commands: lines for `check`, a bar for `stress`, a row for `bench`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from wakeproof.judge.check.run import ConfigResult
from wakeproof.judge.tlc.distributed import State

QUIET_S = 15.0
"""Without a terminal, a line replaces the bar: at most one line in this many seconds."""


class ConfigProgress:
    """Prints one line per finished configuration of `check`."""

    def __init__(self, screen: Console) -> None:
        self._screen = screen
        self._command = ""
        self._printed = time.monotonic()

    def watch(self, name: str, state: State) -> None:
        """Print now and then how far a distributed run is, and once how other machines join it."""
        if state.command != self._command:
            self._command = state.command
            self._screen.print(
                "on another machine, with the same tla2tools.jar:\n  " + state.command,
                markup=False, soft_wrap=True,
            )  # fmt: skip
        if time.monotonic() - self._printed < QUIET_S:
            return
        self._printed = time.monotonic()
        line = f"{name:<42} {state.workers:>3} workers {state.found:>13,} states"
        line += f" {state.queued:>11,} queued {state.rate:>9,.0f} a second"
        line += f", {state.taken_up:,} from the checkpoint" if state.taken_up else ""
        line += f", {state.lost} workers lost: their states are explored again" * bool(state.lost)
        self._screen.print(line, markup=False, style="dim", soft_wrap=True)

    def show(self, result: ConfigResult, done: int, total: int) -> None:
        """Print the line of `result`, the `done`-th of `total`."""
        count = f"[{done:>{len(str(total))}}/{total}]"
        line = f"{count} {result.entry.name:<34} {result.got:<42}"
        line += f" {result.tlc.states:>10,} states {result.tlc.seconds:7.1f} s"
        line += f"  of {result.since}" if result.since else ""
        if result.wrong:
            line += f"  WRONG: {result.wrong}"
        if result.runner:
            line += "  (run again alone)"
        style = "" if result.holds else "bold red"
        self._screen.print(line, markup=False, style=style, soft_wrap=True)


class StressProgress:
    """Shows a bar over the runs of a job; announced lines scroll above the bar."""

    def __init__(self, screen: Console) -> None:
        self._screen = screen
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=screen,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._printed = time.monotonic()

    def __enter__(self) -> StressProgress:
        if self._screen.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._screen.is_terminal:
            self._bar.stop()

    def announce(self, text: str) -> None:
        """Print a line that stays on the screen."""
        self._screen.print(text, markup=False, soft_wrap=True)

    def show(self, what: str, done: int, total: int) -> None:
        """Show `what` as the current run, and that `done` of `total` runs are over (0: unknown)."""
        self._bar.update(self._task, description=what, completed=done, total=total or None)
        if not self._screen.is_terminal and time.monotonic() - self._printed >= QUIET_S:
            self._printed = time.monotonic()
            self.announce(f"[{done}/{total}] {what}")


@contextmanager
def status(screen: Console) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the current step on a terminal until the block ends."""
    if not screen.is_terminal:
        yield lambda _: None
        return
    with screen.status("") as line:
        yield line.update
