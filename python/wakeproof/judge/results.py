# SPDX-License-Identifier: Apache-2.0
"""The results of a job, and whether each of them is as expected."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Result(Protocol):
    """One check, comparison or run."""

    @property
    def holds(self) -> bool:
        """Return whether the result is as expected."""


Of = TypeVar("Of", bound=Result)


@dataclass(frozen=True)
class Results(Generic[Of]):
    """All results of a job."""

    results: tuple[Of, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Return whether all results are as expected."""
        return all(result.holds for result in self.results)

    @property
    def verdict(self) -> str:
        """Return the verdict of a report: how many results are wrong."""
        wrong = sum(not result.holds for result in self.results)
        return f"{wrong} WRONG" if wrong else "all as expected"


def gathered(
    results: Iterable[Of], progress: Callable[[Of], None] | None
) -> tuple[tuple[Of, ...], float]:
    """Call `progress` for each result; return the results and the seconds that they took."""
    begin = time.monotonic()
    found = []
    for result in results:
        found.append(result)
        if progress:
            progress(result)
    return tuple(found), time.monotonic() - begin
