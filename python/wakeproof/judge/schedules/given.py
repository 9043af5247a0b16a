# SPDX-License-Identifier: Apache-2.0
"""Schedulers that do not search: of a schedule that is known, and of one that is drawn by lot."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import groupby

from wakeproof.errors import UsageError
from wakeproof.judge.schedules.execution import NOBODY, Run, Task
from wakeproof.judge.schedules.operation import PAUSES, Access
from wakeproof.judge.schedules.search import FAIR, WAY, pending_of, usual

_PART = re.compile(r"(\d{1,18})(t?)(?::(\d{1,18}))?(?:x(\d{1,18}))?", re.ASCII)
_LATE = "late"
MOST_CHOICES = 10_000_000
"""A token of another may name a schedule longer than any memory."""


def to_token(choices: Sequence[int], *, begins_late: bool = False) -> str:
    """Return a schedule as text.

    ``0x3.1.0t.0:2`` is thread 0 three times, 1 once, a timeout of 0, and 0 on its third way.
    ``late.`` comes before one whose threads wait for their turn to begin.
    """
    parts = [_LATE] if begins_late else []
    for choice, group in groupby(choices):
        count, way = len(list(group)), choice // WAY
        part = f"{number_of(choice)}{'t' if choice & 1 else ''}{f':{way}' if way else ''}"
        parts.append(f"{part}{f'x{count}' if count > 1 else ''}")
    return ".".join(parts) or "0x0"


def of_token(token: str) -> tuple[list[int], bool]:
    """Return the choices of a schedule, and whether its threads begin late.

    Raises:
        UsageError: the text is not what `to_token` returns.
    """
    choices: list[int] = []
    first, *others = parts = token.split(".")
    begins_late = first == _LATE
    for part in others if begins_late else parts:
        found = _PART.fullmatch(part)
        if found is None:
            raise UsageError(f"replay: {part!r} of {token!r}; allowed: such as 0x3.1.0t")
        if len(choices) + int(found[4] or 1) > MOST_CHOICES:
            raise UsageError(f"replay: {token[:40]!r} has more than {MOST_CHOICES:,} choices")
        choice = 2 * int(found[1]) + bool(found[2]) + WAY * int(found[3] or 0)
        choices += [choice] * int(found[4] or 1)
    return choices, begins_late


def number_of(choice: int) -> int:
    """Return the number of the thread that a choice is for."""
    return choice % WAY >> 1


class Plain:
    """The order in which the threads come: each as long as it can."""

    def __init__(self, limit: int, *, begins_late: bool = False) -> None:
        self.limit, self.begins_late = limit, begins_late
        self.why = ""
        self.choices: list[int] = []
        self._row = 0
        self._run: Run

    def begin(self, run: Run) -> None:
        """Start at the beginning."""
        self._run = run
        self.why, self.choices, self._row = "", [], 0

    def pick(self, me: Task | None) -> int:
        """Return the next choice."""
        pending = pending_of(self._run)
        if not pending:
            self.why = "stuck"
            return NOBODY
        if len(self.choices) >= self.limit:
            self.why = "endless"
            return NOBODY
        choice = self._choose(me, pending)
        last = number_of(self.choices[-1]) if self.choices else NOBODY
        self._row = self._row + 1 if last == choice >> 1 else 1
        self.choices.append(choice)
        return choice

    def choose(self, me: Task, count: int) -> int:
        """Return which of so many ways the thread goes."""
        if len(self.choices) >= self.limit:
            return 0
        way = self._way(me.number, count)
        self.choices.append(2 * me.number + WAY * way)
        return way

    def _way(self, _number: int, _count: int) -> int:
        return 0

    def _choose(self, me: Task | None, pending: dict[int, tuple[Access, ...]]) -> int:
        return usual(self._run, me, pending, {}, self._row)


class Given(Plain):
    """A schedule that is known; where it does not fit, and after it, the usual order."""

    def __init__(self, choices: Sequence[int], limit: int, *, begins_late: bool = False) -> None:
        super().__init__(limit, begins_late=begins_late)
        self._given = choices
        self.fits = True

    def _choose(self, me: Task | None, pending: dict[int, tuple[Access, ...]]) -> int:
        at = len(self.choices)
        if at < len(self._given):
            if self._given[at] in pending:
                return self._given[at]
            self.fits = False
        return super()._choose(me, pending)

    def _way(self, number: int, count: int) -> int:
        at = len(self.choices)
        if at < len(self._given):
            way = self._given[at] // WAY
            if number_of(self._given[at]) == number and way < count:
                return way
            self.fits = False
        return 0


class Lot(Plain):
    """Each choice by lot, or (`changes` above 0) by priorities that change so often: PCT.

    Source: Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010.
    """

    def __init__(self, seed: int, limit: int, changes: int = 0, length: int = 100) -> None:
        self._lot = random.Random(seed)  # noqa: S311
        super().__init__(limit, begins_late=self._lot.random() < 0.5)
        self._changes = {self._lot.randrange(length) for _ in range(changes)}
        self._by_rank = changes > 0
        self._ranks: dict[int, float] = {}

    def _choose(self, me: Task | None, pending: dict[int, tuple[Access, ...]]) -> int:
        if not self._by_rank:
            return self._lot.choice(list(pending))
        last = number_of(self.choices[-1]) if self.choices else 0
        if len(self.choices) in self._changes or self._row >= FAIR or (me and me.kind in PAUSES):
            self._ranks[last] = -len(self.choices)
        for choice in pending:
            self._ranks.setdefault(choice >> 1, self._lot.random())
        return max(pending, key=lambda choice: (not choice & 1, self._ranks[choice >> 1]))

    def _way(self, _number: int, count: int) -> int:
        return self._lot.randrange(count)
