# SPDX-License-Identifier: Apache-2.0
"""The contents of a trace table: the steps of a spec that explain an event and its values.

An event becomes one or more cells; any one of a cell's steps explains the cell. A step is an action
of the spec with its arguments (or no action: the spec does nothing), and conditions on the spec's
variables before and after it. A step has two forms: TLA+ for TLC, and a test of a state of TLC's
dump for the replay, which checks this judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wakeproof.judge.conform.concept import Concept
from wakeproof.judge.traces.events import Event, Round

NOTHING = ""
"""The action of a step that the spec does not have."""


@dataclass(frozen=True)
class Is:
    """The condition that a value is one of some values."""

    values: tuple[Any, ...]

    def tla(self, place: str) -> str:
        """Return the test in TLA+."""
        return f"{place} \\in {{{', '.join(map(tla, self.values))}}}"

    def holds(self, value: Any) -> bool:
        """Return the test's answer."""
        return value in self.values


@dataclass(frozen=True)
class Not:
    """The condition that a value differs from another value."""

    value: Any

    def tla(self, place: str) -> str:
        """Return the test in TLA+."""
        return f"{place} # {tla(self.value)}"

    def holds(self, value: Any) -> bool:
        """Return the test's answer."""
        return bool(value != self.value)


@dataclass(frozen=True)
class Part:
    """The condition that exactly `members` are the elements of `among` that a set has."""

    among: frozenset[Any]
    members: frozenset[Any]

    def tla(self, place: str) -> str:
        """Return the test in TLA+."""
        return f"{place} \\cap {tla(self.among)} = {tla(self.members)}"

    def holds(self, value: Any) -> bool:
        """Return the test's answer."""
        return bool(value & self.among == self.members)


def has(*members: Any) -> Part:
    """Return the condition that a set has these elements."""
    return Part(frozenset(members), frozenset(members))


def lacks(*members: Any) -> Part:
    """Return the condition that a set has none of these elements."""
    return Part(frozenset(members), frozenset())


Condition = Mapping[str, Any]
"""A place ("word", "thread.u1", "sibling.s1.at") -> Is, Not or Part, or the value itself."""


@dataclass(frozen=True)
class Step:
    """One way to explain a cell."""

    action: str = NOTHING
    arguments: tuple[str, ...] = ()  # without quotes, as conform_spec names them
    before: Condition = field(default_factory=dict)
    after: Condition = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.action, self.arguments, *self.before.items(), *self.after.items()))

    @property
    def name(self) -> str:
        """The action in words."""
        arguments = f"({', '.join(self.arguments)})" if self.arguments else ""
        return f"{self.action}{arguments}" if self.action else "(no step)"

    @property
    def tests(self) -> tuple[str, ...]:
        """The conditions of the step, in TLA+."""
        before = [_test(where, what, "") for where, what in self.before.items()]
        return (*before, *(_test(where, what, "'") for where, what in self.after.items()))

    def tla(self, calls: Mapping[tuple[str, tuple[str, ...]], str]) -> str:
        """Return the step as an action; `calls` has the text of each of the spec's actions."""
        parts = [_test(where, what, "") for where, what in self.before.items()]
        own = calls.get((self.action, self.arguments), "FALSE")
        parts.append(own if self.action else "UNCHANGED vars")
        parts += [_test(where, what, "'") for where, what in self.after.items()]
        return " /\\ ".join(parts)

    def fits(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
        """Return whether the step leads from the state `before` to the state `after`."""
        return all(_holds(what, at(before, where)) for where, what in self.before.items()) and all(
            _holds(what, at(after, where)) for where, what in self.after.items()
        )


@dataclass(frozen=True)
class Cell:
    """An event, or a part of it, with the steps that may explain it."""

    event: Event | None  # None: the thread's end
    steps: tuple[Step, ...]


Explain = Callable[[int, Sequence[Event]], list[Cell]]
Disagrees = Callable[[Sequence[Event]], tuple[int, str] | None]
"""Returns the first event of a thread that cannot follow its earlier ones, and why, or None."""


@dataclass(frozen=True)
class TraceConcept:
    """One table: a scenario on real cores, and the spec that must allow its runs."""

    concept: Concept  # its spec, constants, actions, scenario
    explain: Explain  # thread, its events -> cells
    at_end: Callable[[int], tuple[Step, ...]]  # thread -> what holds when it has returned
    hidden: tuple[tuple[str, tuple[str, ...]], ...] = ()  # steps that no event shows
    disagrees: Disagrees = lambda _: None  # the first event at odds with its thread's earlier ones
    wrong: Callable[[Round], str] = lambda _: ""  # why a round is wrong, whatever the spec says
    judged: Callable[[Round], bool] = lambda _: True  # False: the round is set aside
    limit: int = 48  # events per thread and round, at the most
    twins: tuple[str, ...] = ()  # of the code: their runs must be rejected

    @property
    def name(self) -> str:
        """The name of the concept."""
        return self.concept.name


def cells(table: TraceConcept, thread: int, events: Sequence[Event], *, ends: bool) -> list[Cell]:
    """Return the cells of a thread, with its end if the thread has ended.

    The first event that the table does not know, or that contradicts the thread's earlier events,
    becomes a cell that no step explains, so the run is rejected.
    """
    bad = table.disagrees(events)
    last, why = bad or (len(events), "")
    try:
        found = table.explain(thread, events[:last])
    except LookupError:
        found, last, why = _known(table, thread, events)
    found += [unexplained(events[last], why)] if why else []
    return [*found, Cell(None, table.at_end(thread))] if ends else found


def _known(
    table: TraceConcept, thread: int, events: Sequence[Event]
) -> tuple[list[Cell], int, str]:
    """Return the cells before the first event that the table does not know, its index and why."""
    found: list[Cell] = []
    for index in range(len(events)):
        try:
            found = table.explain(thread, events[: index + 1])
        except LookupError as error:
            return found, index, f"no step: judge/trace_maps does not know {error}"
    raise AssertionError("the table knows each beginning, and not the whole")


def unexplained(event: Event, why: str) -> Cell:
    """Return a cell that no step explains."""
    return Cell(event, (Step(why),))


def each(explain: Callable[[int, Event], Sequence[tuple[Step, ...]]]) -> Explain:
    """Return an `explain` for a table that explains each event by itself, as steps per cell."""

    def explained(thread: int, events: Sequence[Event]) -> list[Cell]:
        return [Cell(event, steps) for event in events for steps in explain(thread, event)]

    return explained


def at(state: Mapping[str, Any], where: str) -> Any:
    """Return the value at a place of a state."""
    value: Any = state
    for key in where.split("."):
        if isinstance(value, tuple):
            value = value[int(key) - 1]
        else:
            value = value[int(key) if key.isdigit() else key]
    return value


def tla(value: Any) -> str:
    """Write a value as TLA+."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(tla, value))) + "}"
    return f'"{value}"'


def _test(where: str, what: Any, prime: str) -> str:
    variable, *keys = where.split(".")
    place = variable + prime + "".join(f"[{k}]" if k.isdigit() else f'["{k}"]' for k in keys)
    return str(what.tla(place)) if isinstance(what, Is | Not | Part) else f"{place} = {tla(what)}"


def _holds(what: Any, value: Any) -> bool:
    return what.holds(value) if isinstance(what, Is | Not | Part) else bool(what == value)
