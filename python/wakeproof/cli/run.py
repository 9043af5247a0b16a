# SPDX-License-Identifier: Apache-2.0
"""`wakeproof run`: run a Python program in whose virtual threads blocking calls park."""

from __future__ import annotations

from typing import Annotated

import typer

from wakeproof.cli.program import Program


def run(
    program: Annotated[
        list[str] | None, typer.Argument(help=Program.WHAT, show_default=False)
    ] = None,
    is_module: Annotated[
        bool, typer.Option("-m", help="Run a module by its name, as `python -m` does.")
    ] = False,
    threads: Annotated[
        str, typer.Option(help=Program.THREADS, show_default=False, metavar="KIND")
    ] = "os",
) -> Program:
    """Run a Python program as `python` would, after wakeproof.install().

    Examples:

      wakeproof run app.py --its-own option       a script

      wakeproof run -m package.module             a module

      wakeproof run --threads virtual app.py      threading.Thread starts virtual threads
    """
    return Program.of(program or [], threads, is_module=is_module)


run.settings = {"allow_interspersed_args": False}  # type: ignore[attr-defined]
