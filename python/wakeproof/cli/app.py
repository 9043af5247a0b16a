# SPDX-License-Identifier: Apache-2.0
"""The command line with all commands, for an installation with the extra `judge`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer
from typer.exceptions import TyperException

import wakeproof
from wakeproof import cli, errors
from wakeproof.cli.program import Program

app = typer.Typer(
    name="wakeproof",
    help=cli.HELP,
    epilog=cli.EPILOG,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"wakeproof {wakeproof.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def add(names: Iterable[str]) -> None:
    """Add the commands `names` only, because the import of all takes most of a second."""
    for name in names:
        function, module, _ = cli.place(name)
        command = getattr(import_module(module), function)
        app.command(name, context_settings=getattr(command, "settings", None))(command)


def run(arguments: list[str]) -> int | Program:
    """Run a command; return its exit code, or the program that `wakeproof run` is to run.

    Raises:
        UsageError: an unknown command or option, a value of the wrong kind.
    """
    add(arguments[:1] if arguments[0] in cli.COMMANDS else cli.COMMANDS)
    try:
        said: int | Program | None = app(arguments, standalone_mode=False)
        return said or errors.EXIT_HOLDS
    except TyperException as error:
        raise errors.UsageError(_one_line(error.format_message())) from None


def _one_line(message: str) -> str:
    line = " ".join(message.split())
    if line.startswith("No such command"):
        line += f" Commands: {', '.join(sorted(cli.COMMANDS))}."
    return line
