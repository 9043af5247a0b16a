# SPDX-License-Identifier: Apache-2.0
"""A schedule as a strategy of hypothesis: it draws, and shrinks, data and schedule together.

A drawn schedule is the usual order with a few changes: after some places where another choice was
possible, another one is made.  So the smallest schedule that fails has the fewest changes.  In half
of them each thread waits for its turn to begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

from wakeproof.errors import ScheduleError
from wakeproof.judge.schedules.execution import Task
from wakeproof.judge.schedules.explore import Options, run_by
from wakeproof.judge.schedules.given import Plain
from wakeproof.judge.schedules.operation import Access

Change: TypeAlias = tuple[int, int]
"""How many places stay as usual, and which of the others is chosen then."""


class Changed(Plain):
    """The usual order, with changes."""

    def __init__(self, changes: Sequence[Change], limit: int, *, begins_late: bool) -> None:
        super().__init__(limit, begins_late=begins_late)
        self._changes: Iterator[Change] = iter(changes)
        self._left, self._other = next(self._changes, (limit, 0))

    def _choose(self, me: Task | None, pending: dict[int, tuple[Access, ...]]) -> int:
        usual = super()._choose(me, pending)
        others = [choice for choice in pending if choice != usual]
        return self._changed([usual, *others])

    def _way(self, _number: int, count: int) -> int:
        return self._changed(range(count))

    def _changed(self, choices: Sequence[int]) -> int:
        if len(choices) == 1:
            return choices[0]
        if self._left:
            self._left -= 1
            return choices[0]
        choice = choices[1 + self._other % (len(choices) - 1)]
        self._left, self._other = next(self._changes, (self.limit, 0))
        return choice


class Schedule:
    """A schedule that was drawn."""

    def __init__(self, changes: Sequence[Change], options: Options, *, late: bool) -> None:
        self._changes, self._options, self._late = changes, options, late

    def __repr__(self) -> str:
        """Return its changes, and whether its threads wait for their turn to begin."""
        return f"Schedule({self._changes}{', late' if self._late else ''})"

    def run(self, call: Callable[[], object]) -> None:
        """Call a function, with threads that take turns in this order.

        Raises:
            ScheduleError: it fails.
            UnsupportedError: it calls what is not modelled, such as a socket.
            JudgeError: it does not come to a synchronisation point for some seconds.
        """
        options = self._options
        scheduler = Changed(self._changes, options.steps, begins_late=self._late)
        failure = run_by(call, scheduler, options)
        if failure is not None:
            raise ScheduleError(str(failure), failure) from failure.error


def schedules(*, most_changes: int = 8, **options: Any) -> st.SearchStrategy[Schedule]:
    """Return the strategy.

    Args:
        most_changes: a schedule has at most so many.
        options: `steps`, `data`, `cancels` and `any_order`, as for `wakeproof.schedules`.

    Raises:
        UsageError: an option has a value that is not allowed.
    """
    chosen = Options(**options)
    change = st.tuples(st.integers(0, 4) | st.integers(0, 40), st.integers(0, 3))
    changes = st.lists(change, max_size=most_changes)
    return st.builds(lambda late, drawn: Schedule(drawn, chosen, late=late), st.booleans(), changes)
