# SPDX-License-Identifier: Apache-2.0
"""The model ARMv8: every execution of a small program or scenario, by enumeration.

The explorer's engines do not have this model, because they only visit executions in which program
order and reads-from form no cycle.  So the explorer runs the code here, one step at a question
(``stress/explorer/dialog.c``), and ``oracle/run.py`` searches.  That is for litmus tests: a few
threads with a few accesses each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.explore.options import ENUMERATED, ORDERS, ExploreOptions, Model
from wakeproof.judge.explore.results import (
    INITIAL,
    NO_READ,
    Event,
    Found,
    Result,
    Site,
    event_of,
)
from wakeproof.judge.oracle import run as oracle
from wakeproof.judge.oracle.armv8 import armv8_any, mapping_of
from wakeproof.judge.oracle.graph import Graph, Identity
from wakeproof.judge.oracle.machine import Step
from wakeproof.judge.oracle.relations import Relation
from wakeproof.judge.process import Children

_KINDS = {"plain_load": "load", "plain_store": "store", "light_fence": "fence",
          "heavy_fence": "fence", "fail": "assert", "abandon": "assume"}  # fmt: skip
_OUTSIDE = {"wait": "sleeps in a futex", "wake": "wakes a futex's sleepers",
            "choose": "lets the system choose"}  # fmt: skip


class _AgainError(Exception):
    """The explorer has learned something that makes all earlier answers void."""


def explore(
    children: Children, command: Sequence[str], name: str, options: ExploreOptions
) -> Result:
    """Enumerate the executions of the program that `command` explores.

    A program that is too large, or has what this search does not know, is not explored: its result
    has no outcomes, and the reason.
    """
    started = time.monotonic()
    plain = replace(options, models=(Model.SC,), engine="auto")
    child = children.start(
        [*command, *plain.arguments(), "--dialog", "--progress", "none"], asked=True
    )
    try:
        machine = Compiled(child.stdin, child.stdout)
        while True:
            search = _Search(machine, options, name)
            try:
                return search.result(time.monotonic() - started)
            except _AgainError:
                machine.forget()
    except oracle.OutsideError as error:
        return replace(
            _none(name, "", time.monotonic() - started), threads=1, exhaustive=False,
            stopped=str(error),
        )  # fmt: skip
    except (UsageError, JudgeError) as error:
        return _none(name, str(error), time.monotonic() - started)
    finally:
        children.forget(child)


@dataclass(frozen=True)
class _Position:
    """A position and its step, as the explorer shows it."""

    number: int
    step: Step | None
    event: Event
    is_bounded: bool


class Compiled:
    """A machine whose threads the explorer runs."""

    def __init__(self, questions: Any, answers: Any) -> None:
        self._questions, self._answers = questions, answers
        first = self._read()
        self.threads: int = first["threads"]
        self.actors = tuple(first["actors"])
        self.state_size: int = first["state_size"]
        self.initial: list[int] = []
        self.sites: dict[Site, None] = {}  # that a thread came to
        self._failed: Event | None = None
        self._known: dict[str, _Position] = {}
        self._places: dict[tuple[int, int], _Position] = {}

    def forget(self) -> None:
        """Forget all answers."""
        self.initial.clear()
        self._known.clear()
        self._places.clear()

    def start(self, thread: int) -> int:
        """Return where the thread begins."""
        return self._position(f"start {thread}", thread)

    def step(self, thread: int, place: int) -> Step | None:
        """Return what the thread does there; None: it has ended."""
        return self._places[thread, place].step

    def after(self, thread: int, place: int, value: int, took: bool, _by: Identity) -> int:
        """Return where it goes on after that step read `value`."""
        step = self.step(thread, place)
        failed = int(step is not None and step.what == "cas_weak" and not took and value == step.b)
        return self._position(f"next {thread} {place} {value} {failed}", thread)

    def outcome(self, ends: Sequence[int], memory: Sequence[int]) -> str:
        """Return what is observed at the end; "" if the arbiter's assertion fails."""
        answer = self._ask(f"outcome {len(memory)} {' '.join(map(str, (*memory, *ends)))}")
        self._failed = event_of(answer["failed"][0]) if answer["failed"] else None
        return str(answer["text"])

    def arbitrated(self, execution: oracle.Execution) -> tuple[str, Event | None]:
        """Return the outcome, and the arbiter's assertion that fails."""
        return execution.outcome(self), self._failed

    def shown(self, thread: int, place: Hashable) -> Event:
        """Return the step there as the explorer shows it."""
        assert isinstance(place, int)
        return self._places[thread, place].event

    def _position(self, question: str, thread: int) -> int:
        found = self._known.get(question)
        if found is None:
            found = self._known[question] = self._read_position(self._ask(question))
            while found.event.kind == "local":  # touches no memory
                found = self._read_position(self._ask(f"next {thread} {found.number} 0 0"))
            self._known[question] = self._places[thread, found.number] = found
        return found.number

    def _read_position(self, answer: dict[str, Any]) -> _Position:
        event = event_of(answer["step"][0])
        if event.site:
            self.sites[event.site] = None
        if event.kind in _OUTSIDE:
            where = f" ({event.site.file}:{event.site.line})" if event.site else ""
            raise oracle.OutsideError(
                f"thread {event.thread} {_OUTSIDE[event.kind]}{where}: ARMv8 is for litmus tests, "
                "of loads, stores, updates and fences"
            )
        if event.place >= 0:
            self.initial += [0] * (event.place + 1 - len(self.initial))
            self.initial[event.place] = answer["initial"]
        return _Position(answer["position"], _step(event, answer), event, answer["bounded"])

    def _ask(self, question: str) -> dict[str, Any]:
        self._questions.write(question + "\n")
        self._questions.flush()
        answer = self._read()
        if answer.get("again"):
            raise _AgainError
        if answer.get("error"):
            raise UsageError(answer["error"])
        return answer

    def _read(self) -> dict[str, Any]:
        line = self._answers.readline()
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError as error:
            said = line.strip() or "nothing"
            raise JudgeError(f"the explorer answered {said[:200]}") from error
        return answer


def _step(event: Event, answer: dict[str, Any]) -> Step | None:
    if event.kind == "end":
        return None
    what = _KINDS.get(event.kind, event.kind)
    if what == "cas" and answer["weak"]:
        what = "cas_weak"
    order = "plain" if event.kind.startswith("plain") else event.order
    if event.kind.endswith("_fence"):
        order = event.kind.removesuffix("_fence")
    return Step(
        what, order, ORDERS[answer["fail_order"]], event.place, event.operand, event.expected,
        8 * event.size,
    )  # fmt: skip


class _Search:
    """One enumeration, with the smallest execution of each outcome."""

    def __init__(self, machine: Compiled, options: ExploreOptions, name: str) -> None:
        self._machine, self._options, self._name = machine, options, name
        self._mappings = mapping_of(options.mapping)
        self._counts: dict[tuple[str, str], int] = {}
        self._shown: dict[tuple[str, str], oracle.Execution] = {}
        self._executions = 0

    def result(self, spent_s: float) -> Result:
        """Return what the enumeration finds within the limits."""
        started, stopped = time.monotonic() - spent_s, ""
        for execution in oracle.executions(self._machine, buffering=True):
            if armv8_any(execution.graph, self._mappings):
                self._count(execution)
            if 0 < self._options.max_executions <= self._executions:
                stopped = "max_executions"
            if 0 < self._options.seconds < time.monotonic() - started:
                stopped = "max_seconds"
            if stopped:
                break
        seconds = time.monotonic() - started
        found = tuple(self._found(*key) for key in sorted(self._counts))
        return replace(
            _none(self._name, "", seconds), threads=self._machine.threads, outcomes=found,
            executions=self._executions, exhaustive=not stopped, stopped=stopped,
            actors=self._machine.actors, state_size=self._machine.state_size,
            sites=tuple(self._machine.sites),
        )  # fmt: skip

    def _count(self, execution: oracle.Execution) -> None:
        verdict, text = "ended", ""
        if execution.graph.frame.has_race:
            verdict = "race"
        elif execution.has_failed:
            verdict = _failure(self._last(execution))
        else:
            text, failed = self._machine.arbitrated(execution)
            verdict = _failure(failed) if failed else verdict
        self._executions += verdict == "ended"
        key = (text if verdict == "ended" else verdict, verdict)
        self._counts[key] = self._counts.get(key, 0) + 1
        known = self._shown.get(key)
        size = len(execution.graph.frame.events)
        if known is None or size < len(known.graph.frame.events):
            self._shown[key] = execution

    def _last(self, execution: oracle.Execution) -> Event:
        """Return the step of the assertion that fails."""
        return next(
            self._machine.shown(thread, place)
            for thread, (place, step) in enumerate(
                zip(execution.state.places, execution.state.steps(self._machine), strict=True)
            )
            if step is not None and step.what == "assert"
        )

    def _found(self, text: str, verdict: str) -> Found:
        execution = self._shown[text, verdict]
        events = _events(self._machine, execution, marks_race=verdict == "race")
        if execution.has_failed and verdict != "race":
            events = (*events, self._last(execution))
        return Found(text, verdict, self._counts[text, verdict], events)


def _failure(event: Event) -> str:
    return "crash" if event.crash else "assertion"


def _events(
    machine: Compiled, execution: oracle.Execution, *, marks_race: bool
) -> tuple[Event, ...]:
    """Return an execution as the explorer shows one, a row per operation."""
    graph = execution.graph
    every = graph.frame.events
    number = {event.identity: n for n, event in enumerate(every)}
    shown: dict[int, Event] = {}  # by the number of the operation's first event
    row_of: dict[int, int] = {}  # of each event: the number of its operation's first
    for thread, events in enumerate(execution.state.events):
        place = machine.start(thread)
        at = 0
        while at < len(events):
            first, event = number[events[at].identity], events[at]
            last = events[at + 1] if event.update == "read" else event
            source = None if event.source is None else every[number[event.source]]
            read = source.written if source is not None and source.written is not None else 1
            shown[first] = replace(
                machine.shown(thread, place), value=read, written=last.written,
                read_from=NO_READ if source is None else number[source.identity],
            )  # fmt: skip
            row_of[first] = row_of[number[last.identity]] = first
            took = last.written is not None
            place = machine.after(thread, place, read, took, event.identity)
            at += 1 + (last is not event)
    rows = [n for n in _order(graph) if n in shown]
    racing = _racing(graph) if marks_race else ()
    return tuple(
        replace(
            shown[n], racing=n in racing,
            read_from=rows.index(row_of[shown[n].read_from])
            if shown[n].read_from in row_of else INITIAL if shown[n].read_from >= 0 else NO_READ,
        )
        for n in rows
    )  # fmt: skip


def _order(graph: Graph) -> list[int]:
    """Return the events in program order, and as far as it can be in that of memory."""
    frame = graph.frame
    order = frame.po
    for wanted in (frame.rf, graph.mo, graph.fr):
        for a, b in wanted.pairs:
            single = Relation([1 << b if n == a else 0 for n in range(len(frame.events))])
            if (order | single).is_acyclic:
                order |= single
    before = order.closure.inverse.rows
    return sorted(range(len(frame.events)), key=lambda n: (before[n].bit_count(), n))


def _racing(graph: Graph) -> tuple[int, int]:
    """Return two accesses that race."""
    return graph.frame.races.pairs[0]


def _none(name: str, error: str, seconds: float) -> Result:
    """Return a result without outcomes."""
    return Result(
        name, Model.ARMV8, ENUMERATED, 0, (), 0, 0, 0, 0, 0, 0, 0, exhaustive=not error,
        stopped="", error=error, seconds=seconds, bytes=0, cpu_seconds=seconds,
    )  # fmt: skip
