# SPDX-License-Identifier: Apache-2.0
"""Schedules of Python tests that fail, in the form of a report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wakeproof.judge.page import render
from wakeproof.judge.page.data import Counterexample, Step
from wakeproof.judge.page.excerpts import Excerpts
from wakeproof.judge.schedules.explore import Failure


def converted(test: str, failure: Failure) -> Counterexample:
    """Return a schedule of a test; `test` is its name for pytest."""
    excerpts = Excerpts()
    steps = []
    for row in failure.rows:
        file, _, line = row.where.rpartition(":")
        folders = (Path(row.file).parent,)
        key = excerpts.of_line(file, int(line), folders) if row.file else ""
        did = ", ".join(dict.fromkeys(row.did))
        steps.append(Step(
            lane=failure.names.index(row.name), text=row.source or did,
            got=did if row.source else "", sources=(key,) if key else (),
        ))  # fmt: skip
    return excerpts.with_sources(Counterexample(
        name=test, judge="schedules", title=f"{test}: {failure.verdict}", lanes=failure.names,
        steps=tuple(steps), ending=failure.said,
        command=f"python -m pytest --wakeproof-replay {failure.token} '{test}'",
    ))  # fmt: skip


def write(file: Path, failures: Iterable[tuple[str, Failure]]) -> None:
    """Write a page with the viewer."""
    found = list(failures)
    render.write(
        file,
        "Schedules that fail",
        lambda screen: screen.print(
            "\n\n".join(f"{test}\n{failure}" for test, failure in found), markup=False
        ),
        [converted(*one) for one in found],
    )
