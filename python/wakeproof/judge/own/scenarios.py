# SPDX-License-Identifier: Apache-2.0
"""Scenarios that need more than the explorer of scenarios has: they are explored as programs.

Such a file declares races with ``STRESS_TEST`` and has atomic operations, memory or static data of
its own, or belongs to other files.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import declarations, schema
from wakeproof.judge.builds import compiler
from wakeproof.judge.declarations import Scenario, Twin
from wakeproof.judge.explore import explored
from wakeproof.judge.explore.explored import NotModelledError
from wakeproof.judge.own.program import Program
from wakeproof.judge.process import Children
from wakeproof.judge.source_texts import Sources

COMPILE_S = 120.0
_DATA = re.compile(r"^[0-9a-f]* [bBdD] (?!stress__|__tsan)\S+$", re.MULTILINE)


def folders() -> list[str]:
    """Return the flags with which a scenario finds its headers."""
    sources = locations.sources()
    return [f"-I{sources / 'stress'}", f"-I{sources / 'kernel'}"]


def support(scenario: Path) -> list[Path]:
    """Return the files that make a program of a scenario, those of the kernel among them."""
    main = locations.sources() / "stress" / "own" / "own_stress.c"
    return [main, *sorted(Sources(locations.sources()).kernel_of(scenario))]


def needs_program(file: Path, children: Children) -> bool:
    """Return whether a scenario has what only a program may have; False if it does not compile."""
    version = children.output([*compiler(), "--version"], timeout_s=60)
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        made = Path(folder) / "scenario.o"
        flags = ["-std=c11", "-w", *explored.flags(file, version), *folders()]
        ended = children.run(
            [*compiler(), *flags, "-c", str(file), "-o", str(made)], timeout_s=COMPILE_S
        )
        if ended.code or ended.timed_out:
            return False
        explored.hook_copies(made, children)
        try:
            explored.check(file, str(made), children)
        except NotModelledError:
            return True
        listed = children.output(["nm", str(made)], timeout_s=60)
        return bool(_DATA.search(listed))


def declared_in(
    files: Sequence[Path], flags: Sequence[str], children: Children
) -> tuple[list[Scenario], list[Twin]]:
    """Return the scenarios and twins of the first file, which belongs with the others.

    Raises:
        UsageError: it does not compile, or a declaration is wrong.
    """
    engine = locations.sources() / "stress" / "harness" / "engine"
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        built = Path(folder) / "list"
        command = [
            *compiler(), "-std=gnu11", "-w", "-DOWN_LIST", *flags, *folders(), *map(str, files),
            *map(str, support(files[0])),
            *(str(engine / f"{name}.c") for name in ("registry", "json")),
            "-pthread", "-lm", "-o", str(built),
        ]  # fmt: skip
        ended = children.run(command, timeout_s=COMPILE_S)
        if ended.code or ended.timed_out:
            raise UsageError(f"{files[0]} does not compile:\n{ended.output.strip()}")
        ended = children.run([str(built)], timeout_s=60.0)
    if ended.code:
        raise UsageError(f"{files[0]}: {ended.output.strip()}")
    listing = json.loads(ended.output)
    named = {"file": files[0]}
    scenarios = [schema.from_values(Scenario, {**named, **one}) for one in listing["tests"]]
    twins = [schema.from_values(Twin, {**named, **one}) for one in listing["twins"]]
    if not scenarios:
        raise UsageError(f"{files[0]} declares no scenario: use STRESS_TEST of stress.h")
    declarations.check(scenarios, twins)
    return scenarios, twins


def check(of: Scenario) -> None:
    """Refuse what a program does not have.

    Raises:
        UsageError: fences of the scenario may fail.
    """
    if of.failing_heavy:
        raise UsageError(
            f"{of.name}: .failing_heavy is {of.failing_heavy}; in a file with atomic operations, "
            "memory or static data of its own, or with other files, it is 0"
        )


def program(of: Scenario, twin: Twin | None, declaring: Program) -> Program:
    """Return a scenario of the program `declaring`, or a twin of it.

    Raises:
        UsageError: it has what a program does not have.
    """
    check(of)
    defect = (f"-DWP_TWIN_{twin.name}=1",) if twin else ()
    name = twin.name if twin else of.name
    flags = (*declaring.flags, *defect)
    return replace(declaring, flags=flags, arguments=(of.name,), scenario=name)
