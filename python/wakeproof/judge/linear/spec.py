# SPDX-License-Identifier: Apache-2.0
"""Sequential specifications, and the automaton of all histories that one of them allows.

An operation happens at one *point* between its call and its return (Herlihy and Wing 1990), or at
several, in order (a queue's push reserves and publishes; Scherer and Scott 2004).  Under x86-TSO
the last points may be `late`: after the return, in the thread's order, since they are stores that
still wait in its buffer (Burckhardt, Gotsman, Musuvathi and Yang 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

CALL, RETURN = "call", "return"


class Event(NamedTuple):
    """A call with its argument, or a return with its value."""

    kind: str
    thread: int
    operation: str
    number: int


class Pending(NamedTuple):
    """An operation in progress, and the number of its points that have happened."""

    operation: str
    thread: int
    argument: int
    done: int = 0
    result: int = 0


Point = Callable[[Any, Pending], Iterable[tuple[Any, int]]]
"""(state, operation) -> (state, result) for each way in which the operation can happen now."""


@dataclass(frozen=True)
class Operation:
    """The effects of an operation, point by point."""

    points: tuple[Point, ...]
    late: int = 0  # this many of the last points may come after the return
    drains: bool = False  # the operation begins after the late points of its thread


@dataclass(frozen=True)
class Spec:
    """A sequential object: its first state, and its operations."""

    start: Hashable
    operations: Mapping[str, Operation]


class _Thread(NamedTuple):
    late: tuple[Pending, ...] = ()
    now: Pending | None = None


Configuration = tuple[Hashable, tuple[_Thread, ...]]


class Automaton:
    """Reads a history event by event; the number of a state stands for all that may have happened.

    A state is a set of configurations, closed under points.  A configuration is the state of the
    object and the progress of each thread's operation.  A state is made when a history first
    reaches it.
    """

    DEAD = -1
    """No order of points explains the history."""

    def __init__(self, spec: Spec, threads: int) -> None:
        self.spec = spec
        self._sets: list[frozenset[Configuration]] = []
        self._numbers: dict[frozenset[Configuration], int] = {}
        self._below: dict[tuple[int, int], bool] = {}
        self._next: dict[tuple[int, Event], int] = {}
        self.start = self._number({(spec.start, (_Thread(),) * threads)})

    def __len__(self) -> int:
        """Return how many states have been made."""
        return len(self._sets)

    def after(self, state: int, event: Event) -> int:
        """Return the state after the event, or DEAD."""
        key = (state, event)
        if key not in self._next:
            step = self._called if event.kind == CALL else self._returned
            found = (step(shared, threads, event) for shared, threads in self._sets[state])
            self._next[key] = self._number({one for one in found if one is not None})
        return self._next[key]

    def is_new(self, state: int, known: list[int]) -> bool:
        """Return whether no state in `known` has fewer explanations; if so, add `state` to it.

        If every continuation of a state with fewer explanations can be explained, so can every
        continuation of this state.
        """
        if any(self._is_below(one, state) for one in known):
            return False
        known[:] = [one for one in known if not self._is_below(state, one)]
        known.append(state)
        return True

    def _is_below(self, a: int, b: int) -> bool:
        key = (a, b)
        if key not in self._below:
            self._below[key] = self._sets[a] <= self._sets[b]
        return self._below[key]

    def explains(self, history: Iterable[Event]) -> bool:
        """Return whether some order of points explains the history."""
        state = self.start
        for event in history:
            state = self.after(state, event)
            if state == self.DEAD:
                return False
        return True

    def _number(self, configurations: set[Configuration]) -> int:
        if not configurations:
            return self.DEAD
        pending = list(configurations)
        for configuration in pending:
            for following in self._steps(*configuration):
                if following not in configurations:
                    configurations.add(following)
                    pending.append(following)
        closed = frozenset(configurations)
        if closed not in self._numbers:
            self._numbers[closed] = len(self._sets)
            self._sets.append(closed)
        return self._numbers[closed]

    def _steps(self, shared: Hashable, threads: tuple[_Thread, ...]) -> Iterable[Configuration]:
        for number, own in enumerate(threads):
            if own.late:
                for state, moved in self._happen(shared, own.late[0]):
                    rest = own.late[1:]
                    late = rest if self._is_over(moved) else (moved, *rest)
                    yield state, _with(threads, number, own._replace(late=late))
            if own.now and not self._is_over(own.now):
                if own.late and self.spec.operations[own.now.operation].drains:
                    continue
                for state, moved in self._happen(shared, own.now):
                    yield state, _with(threads, number, own._replace(now=moved))

    def _happen(self, shared: Hashable, what: Pending) -> Iterable[tuple[Hashable, Pending]]:
        point = self.spec.operations[what.operation].points[what.done]
        for state, result in point(shared, what):
            yield state, what._replace(done=what.done + 1, result=result)

    def _is_over(self, what: Pending) -> bool:
        return what.done == len(self.spec.operations[what.operation].points)

    def _called(
        self, shared: Hashable, threads: tuple[_Thread, ...], event: Event
    ) -> Configuration | None:
        own = threads[event.thread]
        now = Pending(event.operation, event.thread, event.number)
        return None if own.now else (shared, _with(threads, event.thread, own._replace(now=now)))

    def _returned(
        self, shared: Hashable, threads: tuple[_Thread, ...], event: Event
    ) -> Configuration | None:
        own = threads[event.thread]
        now = own.now
        if now is None or now.operation != event.operation or now.result != event.number:
            return None
        operation = self.spec.operations[now.operation]
        left = len(operation.points) - now.done
        if left > operation.late:
            return None
        late = (*own.late, now) if left else own.late
        return shared, _with(threads, event.thread, _Thread(late))


def _with(threads: tuple[_Thread, ...], number: int, own: _Thread) -> tuple[_Thread, ...]:
    return (*threads[:number], own, *threads[number + 1 :])
