# SPDX-License-Identifier: Apache-2.0
"""`wakeproof cc` and `wakeproof c++`: the compiler of a build whose programs are to be explored."""

from __future__ import annotations

from typing import Annotated

import typer

from wakeproof.judge.own import driver

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="ARGUMENT", help="Pass this to the compiler.", show_default=False),
]
TAKES_ALL = {"ignore_unknown_options": True, "allow_extra_args": True}


def cc(arguments: Words = None) -> None:
    """Compile or link as the C compiler does, so that `wakeproof explore` takes the program.

    Examples:

      make CC="wakeproof cc"        then: wakeproof explore ./test

      wakeproof cc -c queue.c       then: wakeproof explore test.c queue.o
    """
    raise typer.Exit(driver.run(arguments or [], is_cxx=False))


def cxx(arguments: Words = None) -> None:
    """Compile or link as the C++ compiler does, so that `wakeproof explore` takes the program.

    Examples:

      make CXX="wakeproof c++"      then: wakeproof explore ./test
    """
    raise typer.Exit(driver.run(arguments or [], is_cxx=True))


cc.settings = cxx.settings = TAKES_ALL  # type: ignore[attr-defined]
