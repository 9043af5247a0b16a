# SPDX-License-Identifier: Apache-2.0
"""One run of the native engine's program: the command, the JSON, the sum over places."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wakeproof.errors import JudgeError
from wakeproof.judge import schema
from wakeproof.judge.builds import Build
from wakeproof.judge.declarations import ENDLESS
from wakeproof.judge.process import Children, check_resources
from wakeproof.judge.schema import SchemaError
from wakeproof.judge.stress.grading import Run

TOOL_S = 60.0
_CODE = re.compile(r"\bin \+([0-9a-f]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Seen:
    """How often one outcome was seen."""

    outcome: str
    samples: int


@dataclass(frozen=True)
class Measured:
    """What the engine printed of one place.  Source: ``stress/harness/engine/print.c``."""

    samples: int
    seconds: float
    seed: int
    cpus: tuple[int, ...]
    asleep: int
    asleep_changed: int
    watch: str
    uncounted: int
    outcomes: tuple[Seen, ...]


def measure(children: Children, command: Sequence[str], timeout_s: float) -> Measured | str:
    """Run the engine once and return what it printed, or why it failed.

    Raises:
        JudgeError: it ended well, and printed something else.
    """
    ended = children.run(list(command), timeout_s=timeout_s)
    if ended.timed_out:
        return (f"did not end within {timeout_s:.0f} s: an actor loops, or sleeps in a scenario "
                "that is not .blocking")  # fmt: skip
    if ended.code != 0:
        check_resources(command[0], ended.output)
        ending = f"signal {-ended.code}" if ended.code < 0 else f"exit {ended.code}"
        said = _with_line(children, command, ended.output.strip()[-2000:])
        return f"crashed ({ending}): {said or 'it said nothing'}"
    try:
        return schema.from_json(Measured, ended.output)
    except SchemaError as error:
        raise JudgeError(f"{command[0]} printed no result: {error}: {ended.output[:200]}") from None


def _with_line(children: Children, command: Sequence[str], said: str) -> str:
    """Add the source line of the instruction whose address stress/harness/engine/crash.c prints."""
    found = _CODE.search(said)
    if found is None or "--run" not in command or shutil.which("addr2line") is None:
        return said
    program = command[list(command).index("--run") - 1]
    code = f"{int(found[1], 16) - 1:x}"  # it prints the address behind the instruction
    ended = children.run(["addr2line", "-e", program, code], timeout_s=TOOL_S)
    file, _, line = ended.output.strip().rpartition(":")
    line = line.split(" ")[0]
    return _CODE.sub(f"in {Path(file).name}:{line}", said) if line.isdigit() else said


def is_spent(parts: Sequence[Measured | str], budget: float) -> bool:
    """Return whether another place would exceed the budget, because actors loop or sleep for ever.

    To stop such an actor takes longer than the time of one place, and any place shows the actor.
    """
    good = [part for part in parts if isinstance(part, Measured)]
    ends = {one.outcome for part in good for one in part.outcomes}
    took = [part.seconds for part in good]
    return not ends.isdisjoint(ENDLESS) and sum(took) + took[-1] > budget


def is_overdrawn(runs: Sequence[Run], seconds: float | None) -> bool:
    """Return whether another build would take more than the requested `seconds` (None: no limit).

    This is asked only if actors loop or sleep for ever, as in `is_spent`: on a loaded machine each
    build takes longer than its share to find that.
    """
    ends = {outcome for run in runs for outcome in run.histogram}
    if not seconds or ends.isdisjoint(ENDLESS):
        return False
    return sum(run.seconds for run in runs) + runs[-1].seconds / 2 > seconds


def add_up(build: Build, parts: Sequence[Measured | str]) -> Run:
    """Add up the places of one build."""
    failures = [part for part in parts if isinstance(part, str)]
    good = [part for part in parts if isinstance(part, Measured)]
    histogram: Counter[str] = Counter()
    for part in good:
        for one in part.outcomes:
            histogram[one.outcome] += one.samples
    if uncounted := sum(part.uncounted for part in good):
        failures.append(f"{uncounted} samples had more outcomes than the engine counts")
    return Run(
        build.name, build.judge, sum(part.samples for part in good),
        sum(part.seconds for part in good), sum(part.asleep for part in good),
        sum(part.asleep_changed for part in good),
        tuple(sorted({cpu for part in good for cpu in part.cpus})),
        tuple(part.seed for part in good), good[0].watch if good else "none", dict(histogram),
        "; ".join(failures) or None,
    )  # fmt: skip
