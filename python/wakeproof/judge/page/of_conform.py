# SPDX-License-Identifier: Apache-2.0
"""Differences between spec and code in the form of a report."""

from __future__ import annotations

from wakeproof.judge.conform.run import ConformResult
from wakeproof.judge.page.data import Counterexample, Step


def converted(result: ConformResult) -> Counterexample:
    """Return a difference between spec and code: the way of each to the states that differ."""
    difference = result.difference
    assert difference is not None
    sides = (difference.spec_path, difference.spec_state), (
        difference.code_path, difference.code_state,
    )  # fmt: skip
    steps = [
        Step(lane=lane, text=text, values={name: state} if at == len(path) else {})
        for lane, ((path, state), name) in enumerate(
            zip(sides, ("the spec's state", "the code's state"), strict=True)
        )
        for at, text in enumerate((*path, "(here they differ)"))
    ]  # fmt: skip
    concept = result.concept
    twin = f" ({result.twin})" if result.twin else ""
    return Counterexample(
        name=f"conform-{concept.name}{f'-{result.twin}' * bool(result.twin)}".replace(" ", "_"),
        judge="conform", title=f"{concept.name}{twin}: spec and code differ",
        notes=(difference.what,), lanes=("spec", "code"), steps=tuple(steps),
        ending=difference.what, command=f"wakeproof conform -t '^{concept.name}$'",
    )  # fmt: skip
