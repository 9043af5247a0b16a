# SPDX-License-Identifier: Apache-2.0
"""Suites of others, run in processes that append a line of JSON to a record as they go.

A line says that a test ``begins``, or has the ``outcome`` of a ``test`` and ``why``; the last one,
``ended``, says that all tests were run.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HUNG = 70  # the exit code of a process whose test took too long
PROCESS_S = 7200
BAD = ("blocked", "failed")
Tests = dict[str, tuple[str, str]]
"""Of each test its outcome, and why."""
Results = dict[str, dict[str, Tests]]
"""Of each suite and kind."""
Run = tuple[list[dict[str, str]], int, str]
"""The lines of a process's record, its exit code and what it printed."""


@dataclass
class Outcomes:
    """What the tests of a suite have shown: for each its outcome and the reason."""

    tests: Tests = field(default_factory=dict)
    said: str = ""

    def count(self, outcome: str) -> int:
        """Return how many tests have this outcome."""
        return sum(found == outcome for found, _ in self.tests.values())

    def run(self, suite: str, names: Sequence[str], start: Callable[[Sequence[str]], Run]) -> None:
        """Run the tests in a process; after a test that ends its process, the rest in another."""
        rest = list(names)
        while rest:
            lines, code, said = start(rest)
            self.said += said
            running = ""
            for line in lines:
                running = line.get("begins", running)
                if "test" in line:
                    outcome, why = line["outcome"], line["why"]
                    if outcome == "passed" and "blocked_s" in line:
                        outcome, why = "blocked", f"its carrier stood still: {line['blocked_s']} s"
                    self.tests[line["test"]] = (outcome, why)
                    running = ""
            if any("ended" in line for line in lines):
                break
            how = "hung" if running and code in (1, HUNG) else f"its process ended with {code}"
            self.tests[running or suite] = ("failed", f"{said[-6000:]}\n{how}")
            begun = {line["begins"] for line in lines if "begins" in line}
            if not begun:
                break
            rest = [name for name in rest if name not in begun]


def run(command: Sequence[str], cwd: Path, env: Mapping[str, str], record: Path) -> Run:
    """Run one process, in a session of its own."""
    record.touch()
    made = subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = made.communicate(timeout=PROCESS_S)
    except BaseException:
        os.killpg(made.pid, 9)
        made.wait()
        raise
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return lines, made.returncode, said


def fail_what_is_missing(plain: Tests, found: Tests) -> None:
    """Count as failed what plain CPython passes, and what is skipped or not run here."""
    for name, (outcome, _) in plain.items():
        other, why = found.get(name, ("not run", ""))
        if outcome == "passed" and other in ("skipped", "not run"):
            found[name] = "failed", f"plain CPython passes it, and here it is {other}: {why}"


def by_reason(all_of: Results, outcome: str, kinds: set[str]) -> dict[str, list[str]]:
    """Return the tests that have this outcome in one of the kinds, by their reasons."""
    reasons: dict[str, list[str]] = {}
    for suite, found in all_of.items():
        for kind, tests in found.items():
            for name, (come, why) in tests.items():
                if come == outcome and kind in kinds:
                    known = reasons.setdefault(why, [])
                    if f"{suite}:{name}" not in known:
                        known.append(f"{suite}:{name}")
    return reasons


def show_counts(all_of: Results, what: str, outcomes: Sequence[str]) -> None:
    """Print a row for each suite and kind: how many tests have each outcome."""
    print(f"{'':34}{what:14}" + "".join(f"{one:>10}" for one in outcomes))
    for suite, found in all_of.items():
        for at, (kind, tests) in enumerate(found.items()):
            counts = Counter(outcome for outcome, _ in tests.values())
            row = "".join(f"{counts[one] or '-':>10}" for one in outcomes)
            print(f"{'' if at else suite:34}{kind:14}{row}")


def show_left_out(all_of: Results, kinds: set[str]) -> None:
    """Print which tests are left out, below their reasons."""
    for why, names in by_reason(all_of, "left out", kinds).items():
        print(f"\nleft out: {why}")
        for name in names:
            print(f"  {name}")


def show_skipped(all_of: Results, kinds: set[str]) -> None:
    """Print how many tests are skipped for each reason, and where."""
    for why, names in sorted(by_reason(all_of, "skipped", kinds).items()):
        suites = ", ".join(dict.fromkeys(name.partition(":")[0] for name in names))
        print(f"  {len(names):4}  {why or 'no reason is given'} ({suites})")
