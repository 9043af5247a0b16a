# SPDX-License-Identifier: Apache-2.0
"""Compiles the programs of an audit before any of its judges runs.

A program that does not compile ends the audit in its first minutes, and not when TLC is done.
The judges find these programs by their hashes later, so nothing is compiled twice.  A program that
no row needs now is not compiled at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed

from wakeproof.judge import scenarios
from wakeproof.judge.builds import Build, Builder, Program
from wakeproof.judge.conform import run as conform
from wakeproof.judge.linear import run as linear
from wakeproof.judge.process import Children
from wakeproof.judge.stress import run as native
from wakeproof.judge.stress.run import StressOptions
from wakeproof.judge.traces import run as traces
from wakeproof.judge.verdicts import Rows

AT_ONCE = 4  # programs; the builder limits compilers
LISTED = Build(kind="explored")
"""The build that lists the declarations of a scenario."""


def compile_for(rows: Rows, stress: StressOptions, runs: int) -> None:
    """Compile the programs of the rows that are judged now; `runs`: the recorded runs per concept.

    Raises:
        UsageError: one does not compile, or its twin changes nothing; the message names the file.
        MissingToolError: no C compiler.
    """
    with Children() as children:
        builder = Builder(children)
        compile_all(programs(rows, builder, runs), builder, children)
        compile_all(native.programs(stress, rows, builder, LISTED), builder, children)


def programs(rows: Rows, builder: Builder, runs: int) -> list[Program]:
    """Return the programs of an audit's judges, except those that stress runs.

    The explored twins of scenarios are compiled by `explore`, if it judges them now.
    """
    found = [
        *conform.programs(rows, builder, slow_twins=False),
        *linear.programs(rows, builder, slow=False),
        *traces.programs(rows, builder, runs), *((file, LISTED) for file in scenarios.find()),
    ]  # fmt: skip
    return list(dict.fromkeys(found))


def compile_all(wanted: Iterable[Program], builder: Builder, children: Children) -> None:
    """Compile all programs; the first failure stops the others."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = [pool.submit(builder.program, *program) for program in dict.fromkeys(wanted)]
        try:
            for future in as_completed(made):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.kill_all()
            raise
