# SPDX-License-Identifier: Apache-2.0
"""`wakeproof traces`: check that the log of a system is a behaviour of its spec."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from wakeproof.cli.panels import BOUNDS, AsJson
from wakeproof.errors import UsageError
from wakeproof.judge import report
from wakeproof.judge.check import run as specs
from wakeproof.judge.traces import own_run
from wakeproof.judge.traces.own_run import LogReport, State

SHOWN = 3
"""The last states that are printed; --json has more."""


def traces(
    module: Annotated[
        Path, typer.Argument(metavar="MODULE.tla", help="The specification.", show_default=False)
    ],
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG.ndjson", help="The log: one JSON object for each step.",
            show_default=False,
        ),
    ],
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE",
            help="Take the constants and the behaviours from this .cfg file. Default: the one of "
            "the module's name.",
        ),
    ] = None,
    stutter: Annotated[
        int,
        typer.Option(
            metavar="K",
            help="Let the spec take at most K steps before each line that the log does not tell.",
        ),
    ] = 0,
    as_json: AsJson = False,
    seconds: Annotated[
        float,
        typer.Option(help="Stop TLC after this many seconds.", rich_help_panel=BOUNDS),
    ] = 600.0,
) -> None:  # fmt: skip
    """Check that the log of your own system is a behaviour of your own spec.

    Each line of the log is a step: {"action": "Send", "args": ["p1"], "sent": 3}. The action, its
    arguments and the values of variables after the step may each be left out; TLC then finds what
    fits. The answer is "accepted", or the first line that no behaviour of the spec explains, with
    the states that the spec could be in before that line and the steps from there.

    Examples:

      wakeproof traces Mine.tla run.ndjson              Mine.cfg is beside it

      wakeproof traces Mine.tla run.ndjson --stutter 2  some steps are not logged

      wakeproof traces M.tla run.ndjson --config B.cfg  with other constants
    """
    if not 1 <= seconds <= specs.FULL_S:
        raise UsageError(f"seconds is {seconds:g}; allowed: 1 to {specs.FULL_S:.0f}")
    screen = report.console(stderr=as_json)
    with screen.status(f"TLC: {module.name}"):
        found = own_run.check_log(module, log, config, stutter=stutter, seconds=seconds)
    report.end(
        lambda: summary(found), lambda: _print(screen, found), as_json=as_json, holds=found.holds
    )


def _print(screen: Console, found: LogReport) -> None:
    if found.rejected is None:
        _say(screen, f"accepted: all {found.lines:,} lines of {found.log} are steps of a behaviour "
             f"of {found.module.name}; {_counted(found)}", style="green")  # fmt: skip
        return
    line = found.rejected
    _say(screen, f"rejected: no behaviour of {found.module.name} explains line {line.number} of "
         f"{found.log}; {_counted(found)}", style="bold red")  # fmt: skip
    _say(screen, f"  {line.text}")
    if not found.last:
        _say(screen, "  no initial state of the spec is as the line says")
    for number, state in enumerate(found.last[:SHOWN], 1):
        _print_state(screen, state, f" {number} of {found.of_last}" * (found.of_last > 1),
                     tuple(line.values))  # fmt: skip


def _print_state(screen: Console, state: State, which: str, asked: tuple[str, ...]) -> None:
    """Print a state and its steps, each with the values of the variables that the line gives."""
    _say(screen, f"\nbefore that line the spec is in this state{which}:")
    for name, value in state.values.items():
        _say(screen, f"  {name} = {value}")
    if not state.steps:
        _say(screen, "and has no step from there")
        return
    _say(screen, "and has these steps from there:")
    rows = [
        (step.name or "(no name)", ", ".join(f"{name} = {step.values[name]}" for name in asked))
        for step in state.steps
    ]
    screen.print(report.table("", ("  step", "what the line tells, after it"),
                              [("  " + name, values) for name, values in rows]))  # fmt: skip


def _counted(found: LogReport) -> str:
    internal = f", up to {found.stutter} untold steps before each line" if found.stutter else ""
    return f"{found.states:,} states{internal}, {found.seconds:.1f} s"


def _say(screen: Console, text: str, style: str = "") -> None:
    screen.print(text, markup=False, soft_wrap=True, style=style)


def summary(found: LogReport) -> dict[str, Any]:
    """Return the report as plain data."""
    line = found.rejected
    return {
        "judge": "traces", "module": found.module, "config": found.config, "log": found.log,
        "holds": found.holds, "lines": found.lines, "stutter": found.stutter,
        "rejected": None if line is None else {"line": line.number, "text": line.text},
        "last_states": found.of_last,
        "last": [
            {
                "values": dict(state.values),
                "steps": [
                    {"action": step.action, "args": step.arguments, "values": dict(step.values)}
                    for step in state.steps
                ],
            }
            for state in found.last
        ],
        "states": found.states, "seconds": round(found.seconds, 1),
    }  # fmt: skip
