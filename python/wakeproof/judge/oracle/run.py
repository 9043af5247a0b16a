# SPDX-License-Identifier: Apache-2.0
"""The oracle: all executions of a small loop-free program, directly from the axioms.

Independent of the explorer that it judges: its own parser, its own enumeration (no revisits: reads
take any write that is there, in every order in which threads can read), its own axioms.  Every
choice of reads-from and modification order is made and then asked whether the model has it.

With *load buffering* a read may also guess a value that another thread writes later.  A guess is
needed where program order and reads-from form a cycle, and only there: the threads go on without
one as long as any of them can.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import Model
from wakeproof.judge.oracle.graph import Event, Frame, Graph, Identity, Switches
from wakeproof.judge.oracle.machine import READS, Machine, Step, Text
from wakeproof.judge.oracle.models import AXIOMS, Axioms
from wakeproof.judge.oracle.program import CASES, Program, parse

GUESSED = -2
"""The thread of a source that is not known yet; its place is the guessed value."""
MOST_STEPS = 24
MOST_STATES = 200_000
MOST_PLACES = 20_000


class OutsideError(UsageError):
    """An enumeration cannot take this program: it is too large, or has what the search has not."""


@dataclass
class Result:
    """The complete executions that one model allows, each (rf, mo) once, and their outcomes."""

    executions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)  # of complete executions
    racy: int = 0  # complete executions with a race
    is_racy: bool = False  # one of them, or one that an assertion ended, has a race
    fails: bool = False  # an assertion can fail


def explore(
    program: str | Program,
    models: Mapping[Model, Axioms] = AXIOMS,
    switches: Switches | None = None,
    *,
    buffering: bool = False,
) -> dict[Model, Result]:
    """Return the result of each model.  With `buffering`, models may have load buffering.

    Raises:
        UsageError: the program is wrong, has loops, or uses what the oracle does not have.
        OutsideError: it is too large.
    """
    machine = Text(parse(program) if isinstance(program, str) else program)
    results = {model: Result() for model in models}
    for execution in executions(machine, switches, buffering=buffering):
        for model, has in models.items():
            if has(execution.graph):
                _add(results[model], machine, execution)
    return results


@dataclass(frozen=True)
class Execution:
    """One way in which the threads can read from each other and overwrite each other."""

    state: State
    graph: Graph
    has_failed: bool  # an assertion ended it

    def outcome(self, machine: Machine) -> str:
        """Return what is observed at the end."""
        memory = list(machine.initial)
        for n, event in enumerate(self.graph.frame.events):
            if event.written is not None and not self.graph.mo.rows[n]:
                memory[event.location] = event.written
        return machine.outcome(self.state.places, memory)


def executions(
    machine: Machine, switches: Switches | None = None, *, buffering: bool = False
) -> Iterator[Execution]:
    """Yield every coherent execution, each once.

    Raises:
        OutsideError: the machine is too large for this.
    """
    for state in _finals(machine, _Futures(machine) if buffering else None):
        frame = Frame(_events(machine, state), switches or Switches())
        failed = any(step is not None and step.what == "assert" for step in state.steps(machine))
        for graph in _graphs(machine, frame):
            yield Execution(state, graph, failed)


def _add(result: Result, machine: Machine, execution: Execution) -> None:
    has_race = execution.graph.frame.has_race
    result.is_racy |= has_race
    if execution.has_failed:
        result.fails = True
        return
    result.executions += 1
    result.racy += has_race
    result.outcomes[execution.outcome(machine)] += 1


@dataclass(frozen=True)
class State:
    """Threads in the middle of a run; the events with their values determine the rest."""

    places: tuple[Hashable, ...]
    events: tuple[tuple[Event, ...], ...]

    def steps(self, machine: Machine) -> list[Step | None]:
        """Return the next step of each thread; None: it has ended."""
        return [machine.step(thread, place) for thread, place in enumerate(self.places)]

    def after(self, thread: int, done: tuple[Event, ...], place: Hashable) -> State:
        """Return the state in which the thread has `done` these events and is at `place`."""
        if len(self.events[thread]) >= MOST_STEPS:
            raise OutsideError(
                f"thread {thread} takes more than {MOST_STEPS} steps: it loops, or is too large "
                "for an enumeration"
            )
        places, events = list(self.places), list(self.events)
        places[thread] = place
        events[thread] += done
        return State(tuple(places), tuple(events))

    def guesses(self) -> list[Event]:
        """Return the reads whose source has not come yet."""
        return [e for events in self.events for e in events if e.source and e.source[0] == GUESSED]

    def resolved(self, guess: Event, source: Identity) -> State:
        """Return the state in which the guess reads from `source`."""
        thread, place = guess.identity
        mine = list(self.events[thread])
        mine[place] = replace(guess, source=source)
        return replace(
            self, events=(*self.events[:thread], tuple(mine), *self.events[thread + 1 :])
        )


def _finals(machine: Machine, futures: _Futures | None) -> Iterator[State]:
    """Yield every choice of reads-from with which the threads can end, each once."""
    threads = range(machine.threads)
    start = State(tuple(machine.start(thread) for thread in threads), ((),) * machine.threads)
    seen, waiting = {start.events}, [start]
    while waiting:
        state = waiting.pop()
        steps = state.steps(machine)
        if any(step is not None and step.what == "assume" for step in steps):
            continue
        has_failed = any(step is not None and step.what == "assert" for step in steps)
        if (has_failed or not any(steps)) and not state.guesses():
            yield state
            continue
        for following in _following(machine, state, steps, futures):
            if following.events not in seen:
                seen.add(following.events)
                waiting.append(following)
        if len(seen) > MOST_STATES:
            raise OutsideError(
                f"more than {MOST_STATES:,} ways to read: too large for an enumeration"
            )


def _following(
    machine: Machine, state: State, steps: list[Step | None], futures: _Futures | None
) -> Iterator[State]:
    # An operation that does not read has no choice, so it comes first: then reads see its writes.
    for thread, step in enumerate(steps):
        if step is not None and step.what in ("store", "fence"):
            yield from _without_reading(machine, state, thread, step)
            return
    reading = [(thread, step) for thread, step in enumerate(steps) if step and step.what in READS]
    for thread, step in reading:
        yield from _reading(machine, state, thread, step, _sources(machine, state, step))
    for thread, step in reading if futures else ():
        # Any thread of a cycle may guess.  One that writes nothing else later is in none.
        if futures and futures.may_guess(thread, state.places[thread], step):
            values = {
                value
                for other, place in enumerate(state.places)
                if other != thread
                for location, value in futures.written(other, place)
                if location == step.location
            }
            guesses = [((GUESSED, value), value) for value in sorted(values)]
            yield from _reading(machine, state, thread, step, guesses)
            return


def _without_reading(machine: Machine, state: State, thread: int, step: Step) -> Iterator[State]:
    identity = (thread, len(state.events[thread]))
    written = step.a if step.what == "store" else None
    event = Event(identity, step.order, step.location, written=written, needs=step.needs)
    place = machine.after(thread, state.places[thread], 1, True, identity)
    yield from _answered(state, state.after(thread, (event,), place), event)


def _sources(machine: Machine, state: State, step: Step) -> list[tuple[Identity, int]]:
    done = [e for events in state.events for e in events if e.location == step.location]
    found = [((-1, step.location), machine.initial[step.location])]
    return found + [(e.identity, e.written) for e in done if e.written is not None]


def _reading(
    machine: Machine,
    state: State,
    thread: int,
    step: Step,
    sources: list[tuple[Identity, int]],
) -> Iterator[State]:
    identity = (thread, len(state.events[thread]))
    taken = {e.source for events in state.events for e in events if e.update == "read"
             and e.location == step.location}  # fmt: skip
    for source, value in sources:
        for written in step.written(value):
            if written is not None and source in taken and source[0] != GUESSED:
                continue
            took = written is not None
            place = machine.after(thread, state.places[thread], value, took, identity)
            done = _done(step, identity, source, written)
            yield from _answered(state, state.after(thread, done, place), done[-1])


def _done(
    step: Step, identity: Identity, source: Identity, written: int | None
) -> tuple[Event, ...]:
    place, needs = step.location, step.needs
    if step.what == "load":
        return (Event(identity, step.order, place, source, needs=needs),)
    other = step.fail_order if step.what in CASES else ""
    if written is None:
        return (Event(identity, step.fail_order, place, source, None, "failed", step.order, needs),)
    following = (identity[0], identity[1] + 1)
    return (
        Event(identity, step.order, place, source, None, "read", other, needs),
        Event(following, step.order, place, None, written, "write", other, needs),
    )


def _answered(before: State, after: State, event: Event) -> Iterator[State]:
    """Yield the state after `event`, with each set of earlier guesses that may have meant it."""
    thread, written = event.identity[0], event.written
    means = [
        guess
        for guess in before.guesses()
        if guess.identity[0] != thread
        and (guess.location, guess.source) == (event.location, (GUESSED, written))
    ]
    for size in range(len(means) + 1):
        for chosen in itertools.combinations(means, size):
            if sum(guess.update == "read" for guess in chosen) > 1:
                continue  # two updates of one value
            state = after
            for guess in chosen:
                state = state.resolved(guess, event.identity)
            yield state


Places = dict[Hashable, tuple[Step | None, set[Hashable]]]
"""The places that a thread may come to: its step there, and the places that follow."""


class _Futures:
    """What threads may write from a place on, whatever they read: more than what they can."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._values: list[set[int]] = []  # that each location may have
        self._new: set[tuple[int, int]] = set()
        self._places: list[Places] = []
        self._found: dict[tuple[int, Hashable], frozenset[tuple[int, int]]] = {}
        turn = 0
        while not turn or (self._new and turn <= sum(map(self._writes, range(machine.threads)))):
            for location, value in self._new:  # a value passes each write at most once
                self._at(location).add(value)
            self._new.clear()
            self._places = [self._walk(thread) for thread in range(machine.threads)]
            turn += 1

    def _walk(self, thread: int) -> Places:
        found: Places = {}
        waiting = [self._machine.start(thread)]
        while waiting:
            place = waiting.pop()
            if place in found:
                continue
            if len(found) > MOST_PLACES:
                raise OutsideError(
                    f"thread {thread} has more than {MOST_PLACES:,} places: too large for an "
                    "enumeration"
                )
            step = self._machine.step(thread, place)
            found[place] = (step, set(self._after(thread, place, step)) if step else set())
            waiting += found[place][1]
        return found

    def _after(self, thread: int, place: Hashable, step: Step) -> Iterator[Hashable]:
        if step.what in ("assume", "assert"):
            return
        for value, written in self._effects(step):
            if written is not None and written not in self._at(step.location):
                self._new.add((step.location, written))
            yield self._machine.after(thread, place, value, written is not None, (thread, 0))

    def _effects(self, step: Step) -> Iterator[tuple[int, int | None]]:
        """Yield what the step may read, with what it writes then."""
        if step.what not in READS:
            yield 1, step.a if step.what == "store" else None
            return
        for value in self._at(step.location):
            for written in step.written(value):
                yield value, written

    def _at(self, location: int) -> set[int]:
        while len(self._values) <= location:  # compiled code finds its locations as it runs
            self._values.append({self._machine.initial[len(self._values)]})
        return self._values[location]

    def _writes(self, thread: int) -> int:
        """Return how often the thread writes at most."""
        places = self._places[thread]
        most = {self._machine.start(thread): 0}
        for _ in range(MOST_STEPS):
            following: dict[Hashable, int] = {}
            for place, count in most.items():
                step, after = places[place]
                more = count + (step is not None and step.what not in ("load", "fence"))
                following |= {to: max(more, following.get(to, 0)) for to in after}
            if not following:
                break
            most = following
        return max(most.values()) + 1

    def written(self, thread: int, place: Hashable) -> frozenset[tuple[int, int]]:
        """Return the values that the thread may write, with their locations, from there on."""
        key = (thread, place)
        if key not in self._found:
            found, seen, waiting = set[tuple[int, int]](), {place}, [place]
            while waiting:
                step, following = self._places[thread].get(waiting.pop(), (None, set()))
                effects = self._effects(step) if step else ()
                found |= {(step.location, to) for _, to in effects if step and to is not None}
                waiting += following - seen
                seen |= following
            self._found[key] = frozenset(found)
        return self._found[key]

    def may_guess(self, thread: int, place: Hashable, step: Step) -> bool:
        """Return whether a cycle may pass from this read to a later write elsewhere."""
        return any(location != step.location for location, _ in self.written(thread, place))


def _events(machine: Machine, state: State) -> tuple[Event, ...]:
    initial = [
        Event((-1, place), "plain", place, written=value)
        for place, value in enumerate(machine.initial)
    ]
    return (*initial, *itertools.chain.from_iterable(state.events))


def _graphs(machine: Machine, frame: Frame) -> Iterator[Graph]:
    """Yield the frame with each coherent modification order of its locations."""
    choices = []
    for place in range(len(machine.initial)):
        writes = [n for n, e in enumerate(frame.events) if e.writes and e.location == place]
        orders = _orders(frame, writes[:1], writes[1:])
        choices.append([order for order in orders if Graph(frame, [order]).is_coherent])
    for chosen in itertools.product(*choices):
        yield Graph(frame, chosen)


def _orders(frame: Frame, done: list[int], left: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield the orders of `left` after `done` that respect po and keep each update atomic."""
    if not left:
        yield tuple(done)
    updates = [n for n in left if frame.events[n].update]
    beside = [n for n in updates if frame.events[n - 1].source == frame.events[done[-1]].identity]
    for n in beside or left:
        is_early = any(frame.po.rows[other] >> n & 1 for other in left)
        if not is_early and (beside or n not in updates):
            yield from _orders(frame, [*done, n], [other for other in left if other != n])
