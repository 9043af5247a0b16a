# SPDX-License-Identifier: Apache-2.0
"""Results of explorations as plain data, without their example executions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wakeproof.judge.explore.options import Model
from wakeproof.judge.explore.results import Found, Result

_NUMBERS = (
    "threads", "executions", "blocked", "bounded", "duplicates", "states", "edges", "depth",
    "preemptions", "state_size",
)  # fmt: skip
_NONE = Result(
    "", Model.SC, "", 0, (), 0, 0, 0, 0, 0, 0, 0, exhaustive=False, stopped="", error="",
    seconds=0.0, bytes=0,
)  # fmt: skip


def to_plain(results: Sequence[Result]) -> tuple[list[Any], list[Any]]:
    """Return the results as two lists, one of them empty.

    They are in the first list if a new run gives the same results, else in the second.
    """
    plain = [
        [
            result.model.value, result.engine, result.exhaustive, result.stopped,
            [getattr(result, name) for name in _NUMBERS],
            [[found.text, found.verdict, found.count] for found in result.outcomes],
        ]
        for result in results
    ]  # fmt: skip
    return ([], plain) if any(is_cut(result) for result in results) else (plain, [])


def of_plain(program: str, exact: list[Any], others: list[Any]) -> list[Result]:
    """Return the results of `program` that `to_plain` has made plain."""
    return [_result(program, *one) for one in exact or others]


def is_cut(result: Result) -> bool:
    """Return whether a limit of time or memory ended the run, so that another run may see more."""
    return result.stopped.startswith("max_")


def _result(
    program: str,
    model: str,
    engine: str,
    exhaustive: bool,
    stopped: str,
    numbers: list[int],
    outcomes: list[tuple[str, str, int]],
) -> Result:
    named: dict[str, Any] = dict(zip(_NUMBERS, numbers, strict=True))
    return replace(
        _NONE, program=program, model=Model(model), engine=engine, exhaustive=exhaustive,
        stopped=stopped, outcomes=tuple(Found(*found, example=()) for found in outcomes),
        **named,
    )  # fmt: skip
