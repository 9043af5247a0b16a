# SPDX-License-Identifier: Apache-2.0
"""Compiles what the judges of an audit run before any of them does.

A program that does not compile ends the audit in its first minutes, and not when TLC is done.
What was compiled here is found by its hash later, so nothing is compiled twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed

from wakeproof.judge import conform, linear, scenarios, traces
from wakeproof.judge.builds import Build, Builder, Program
from wakeproof.judge.native import StressOptions
from wakeproof.judge.process import Children

AT_ONCE = 4  # programs; the builder limits compilers


def programs(stress: StressOptions) -> list[Program]:
    """Return each program of an audit's judges: scenarios as they are, the rest with their twins.

    The twins of scenarios are declared by programs; `explore` and `stress` compile them.
    """
    found = [*conform.programs(slow_twins=False), *linear.programs(slow=False), *traces.programs()]
    for file in scenarios.find():
        found += [(file, build) for build in (Build(kind="explored"), *stress.builds())]
    return list(dict.fromkeys(found))


def compile_all(wanted: Iterable[Program]) -> None:
    """Compile all; the first one that fails stops the others.

    Raises:
        UsageError: one does not compile, or its twin changes nothing; the message names the file.
        MissingToolError: no C compiler.
    """
    with Children() as children, ThreadPoolExecutor(AT_ONCE) as pool:
        builder = Builder(children)
        made = [pool.submit(builder.program, *program) for program in wanted]
        try:
            for future in as_completed(made):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.kill_all()
            raise
