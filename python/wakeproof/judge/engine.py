# SPDX-License-Identifier: Apache-2.0
"""One run of the native engine's program: the command, the JSON, the sum over places."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from wakeproof.errors import JudgeError
from wakeproof.judge.builds import Build
from wakeproof.judge.grading import Run
from wakeproof.judge.process import Children


def measure(children: Children, command: Sequence[str], timeout_s: float) -> dict[str, object]:
    """Run the engine once and return what it printed, or a `failure`."""
    ended = children.run(list(command), timeout_s=timeout_s)
    if ended.timed_out:
        return {"failure": f"did not end within {timeout_s:.0f} s: an actor loops, or sleeps "
                "in a scenario that is not .blocking"}  # fmt: skip
    if ended.code != 0:
        ending = f"signal {-ended.code}" if ended.code < 0 else f"exit {ended.code}"
        return {"failure": f"crashed ({ending}): {ended.output.strip()[-2000:]}"}
    try:
        found: dict[str, object] = json.loads(ended.output)
    except ValueError as error:
        raise JudgeError(f"{command[0]} printed no JSON: {ended.output[:200]}") from error
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
        outcomes, ran = part["outcomes"], part["cpus"]
        assert isinstance(outcomes, list)
        assert isinstance(ran, list)
        for entry in outcomes:
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
