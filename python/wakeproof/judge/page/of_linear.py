# SPDX-License-Identifier: Apache-2.0
"""Histories that no sequential spec allows in the form of a report."""

from __future__ import annotations

from wakeproof.judge.linear.run import LinearResult
from wakeproof.judge.page.data import Counterexample, Step


def converted(result: LinearResult) -> Counterexample:
    """Return a history that the sequential specification does not allow."""
    case = result.case
    threads = 1 + max(row.thread for row in result.counterexample)
    title = f"{case.title}: the last return has no explanation"
    return Counterexample(
        name=f"linear-{case.title}".replace(" ", "_"), judge="linear", title=title,
        lanes=tuple(f"thread {number}" for number in range(threads)),
        steps=tuple(Step(lane=row.thread, text=row.text) for row in result.counterexample),
        ending="The last return has no explanation.",
        command=f"wakeproof linear -t '^{case.name}$'",
    )  # fmt: skip
