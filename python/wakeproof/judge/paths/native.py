# SPDX-License-Identifier: Apache-2.0
"""Runs a compiled scenario along schedules: each step is one real operation of the code.

Source: ``stress/harness/follower/follow.c`` (the format).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from wakeproof.errors import JudgeError
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.explore import explored
from wakeproof.judge.process import Children

TIMEOUT_S = 300.0
_JOIN = re.compile(r"([^=:]+):(\d+)=([^=:]+):(\d+)$")


class Order(NamedTuple):
    """The order to take one step of a thread."""

    thread: int
    value: int  # what a choice gives; how a sleeper wakes by itself
    woken: int  # a bit per sleeper that a wake chooses


@dataclass(frozen=True)
class Done:
    """A step that was taken: its site, its result, the sleepers, and the touched places."""

    file: str
    line: int
    value: int
    asleep: int
    places: dict[int, int]  # offset in the state -> value


Run = list[Done | str]
"""The steps of a schedule; a text at the end tells why the next step cannot be taken."""


class FollowBuilder(Builder):
    """Builds programs that follow schedules, from the same objects that the explorer runs."""

    def follower(self, scenario: Path, twin: str | None) -> Path:
        """Return the program of `scenario`, compiled now if it does not exist.

        Raises:
            UsageError: it does not compile, or nothing in it depends on `twin`.
        """
        harness, build = self._sources.harness, Build(twin=twin, kind="explored")
        explorer = self._sources.stress / "explorer"
        own = [*sorted((harness / "follower").glob("*.c")), explorer / "coroutine.c",
               explorer / "compiled_hooks.c", explorer / "compiled_system.c",
               harness / "engine" / "registry.c", harness / "engine" / "json.c",
               harness / "engine" / "tally.c"]  # fmt: skip
        jobs = [(path, Build(kind="explorer")) for path in own]
        jobs += [(path, build) for path in sorted(self._sources.kernel.rglob("*.c"))
                 if self._sources.is_explored(path)]  # fmt: skip
        jobs.append((scenario, build))
        named = scenario.with_name(f"follow_{scenario.name}")
        return self._program(named, jobs, build, explored.LINKED)


def run(
    children: Children,
    program: Path,
    test: str,
    options: Sequence[str],
    schedules: Sequence[Sequence[Order]],
) -> list[Run]:
    """Follow each schedule from the initial state.

    `options`: the explorer's options, of which ``--join`` and ``--wrap`` are used.

    Raises:
        JudgeError: the program failed.
    """
    lines = []
    for option, text in pairwise(options):
        if option == "--join" and (join := _JOIN.match(text)):
            lines.append(f"j {' '.join(join.groups())}")
        if option == "--wrap":
            lines.append(f"w {text.replace('=', ' ')}")
    for schedule in schedules:
        lines.append("p")
        lines += [f"s {order.thread} {order.value} {order.woken}" for order in schedule]
    with tempfile.TemporaryDirectory(prefix="wakeproof-paths-") as folder:
        file = Path(folder) / "schedules"
        file.write_text("\n".join([*lines, ""]), encoding="utf-8")
        ended = children.run([str(program), test, str(file)], timeout_s=TIMEOUT_S)
    if ended.code or ended.timed_out:
        raise JudgeError(f"following {test}: {ended.output.strip()[-400:]}")
    return _read(ended.output.splitlines())


def _read(lines: Iterable[str]) -> list[Run]:
    runs: list[Run] = []
    for line in lines:
        mark, _, rest = line.partition(" ")
        if mark == "p":
            runs.append([])
        elif mark == "x":
            runs[-1].append(rest)
        else:
            file, *numbers = rest.split()
            at, value, asleep, *places = map(int, numbers)
            touched = dict(zip(places[::2], places[1::2], strict=True))
            runs[-1].append(Done(file, at, value, asleep, touched))
    return runs
