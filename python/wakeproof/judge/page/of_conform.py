# SPDX-License-Identifier: Apache-2.0
"""Differences between spec and code in the form of a report."""

from __future__ import annotations

from wakeproof.judge.conform.run import ConformResult
from wakeproof.judge.page.data import Counterexample, Step, Value
from wakeproof.judge.page.of_check import state_of


def converted(result: ConformResult) -> Counterexample:
    """Return a difference between spec and code: the way of each to the states that differ."""
    difference = result.difference
    assert difference is not None
    ends: tuple[dict[str, Value], ...] = (
        state_of(difference.spec_state), {"the code's state": difference.code_state},
    )  # fmt: skip
    steps = [
        Step(lane=lane, text=text, values=end if at == len(path) else {})
        for lane, (path, end) in enumerate(
            zip((difference.spec_path, difference.code_path), ends, strict=True)
        )
        for at, text in enumerate((*path, "(here they differ)"))
    ]
    concept = result.concept
    twin = f" ({result.twin})" if result.twin else ""
    return Counterexample(
        name=f"conform-{concept.name}{f'-{result.twin}' * bool(result.twin)}".replace(" ", "_"),
        judge="conform", title=f"{concept.name}{twin}: spec and code differ",
        notes=(difference.what,), lanes=("spec", "code"), steps=tuple(steps),
        ending=difference.what, command=f"wakeproof conform -t '^{concept.name}$'",
    )  # fmt: skip
