# SPDX-License-Identifier: Apache-2.0
"""The results of a job, of which each says whether it came out as it must."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Result(Protocol):
    """One check, comparison or run."""

    @property
    def holds(self) -> bool:
        """Say whether it came out as it must."""


Of = TypeVar("Of", bound=Result)


@dataclass(frozen=True)
class Results(Generic[Of]):
    """All results of a job."""

    results: tuple[Of, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Say whether all came out as they must."""
        return all(result.holds for result in self.results)

    @property
    def verdict(self) -> str:
        """Return the last words of a report: how many did not."""
        wrong = sum(not result.holds for result in self.results)
        return f"{wrong} WRONG" if wrong else "all as expected"


def gathered(
    results: Iterable[Of], progress: Callable[[Of], None] | None
) -> tuple[tuple[Of, ...], float]:
    """Return the results, each of which `progress` is shown, and the seconds that they took."""
    begin = time.monotonic()
    found = []
    for result in results:
        found.append(result)
        if progress:
            progress(result)
    return tuple(found), time.monotonic() - begin
