# SPDX-License-Identifier: Apache-2.0
"""One run of the native engine's program: the command, the JSON, the sum over places."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wakeproof.errors import JudgeError
from wakeproof.judge.builds import Build
from wakeproof.judge.declarations import ENDLESS
from wakeproof.judge.process import Children
from wakeproof.judge.stress.grading import Run

TOOL_S = 60.0
_CODE = re.compile(r"\bin \+([0-9a-f]+)$", re.MULTILINE)


def measure(children: Children, command: Sequence[str], timeout_s: float) -> dict[str, object]:
    """Run the engine once and return what it printed, or a `failure`."""
    ended = children.run(list(command), timeout_s=timeout_s)
    if ended.timed_out:
        return {"failure": f"did not end within {timeout_s:.0f} s: an actor loops, or sleeps "
                "in a scenario that is not .blocking"}  # fmt: skip
    if ended.code != 0:
        ending = f"signal {-ended.code}" if ended.code < 0 else f"exit {ended.code}"
        said = _with_line(children, command, ended.output.strip()[-2000:])
        return {"failure": f"crashed ({ending}): {said or 'it said nothing'}"}
    try:
        found: dict[str, object] = json.loads(ended.output)
    except ValueError as error:
        raise JudgeError(f"{command[0]} printed no JSON: {ended.output[:200]}") from error
    return found


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


def is_spent(parts: Sequence[dict[str, object]], budget: float) -> bool:
    """Return whether another place would exceed the budget, because actors loop or sleep for ever.

    To stop such an actor takes longer than the time of one place, and any place shows the actor.
    """
    ends = {entry["outcome"] for part in parts for entry in _outcomes(part)}
    took = [float(str(part["seconds"])) for part in parts if "failure" not in part]
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


def _outcomes(part: dict[str, object]) -> list[dict[str, Any]]:
    found = part.get("outcomes", [])
    assert isinstance(found, list)
    return found


def add_up(build: Build, parts: Sequence[dict[str, object]]) -> Run:
    """Add up the places of one build."""
    histogram: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    cpus: set[int] = set()
    seconds = 0.0
    failures = [str(part["failure"]) for part in parts if "failure" in part]
    good = [part for part in parts if "failure" not in part]
    for part in good:
        ran = part["cpus"]
        assert isinstance(ran, list)
        for entry in _outcomes(part):
            histogram[entry["outcome"]] += entry["samples"]
        for key in ("samples", "asleep", "asleep_changed", "uncounted"):
            totals[key] += int(str(part[key]))
        cpus.update(ran)
        seconds += float(str(part["seconds"]))
    if totals["uncounted"]:
        failures.append(f"{totals['uncounted']} samples had more outcomes than the engine counts")
    return Run(
        build.name, build.judge, totals["samples"], seconds, totals["asleep"],
        totals["asleep_changed"], tuple(sorted(cpus)),
        tuple(int(str(part["seed"])) for part in good),
        str(good[0]["watch"]) if good else "none", dict(histogram),
        "; ".join(failures) or None,
    )  # fmt: skip
