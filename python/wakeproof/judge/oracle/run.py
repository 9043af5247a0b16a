# SPDX-License-Identifier: Apache-2.0
"""The oracle: all executions of a small loop-free program, directly from the axioms.

The oracle is independent of the explorer that it judges: it has its own parser, its own enumeration
(without revisits: a read takes any write that is there, in every order in which threads can read)
and its own axioms.  It makes every choice of reads-from and modification order, and then checks
whether the model allows the choice.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import Model
from wakeproof.judge.oracle.graph import Event, Frame, Graph, Identity, Switches
from wakeproof.judge.oracle.models import AXIOMS, Axioms
from wakeproof.judge.oracle.program import CASES, Line, Local, Program, parse, settle

READS = ("load", "exchange", "add", "or", "and", *CASES)


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
) -> dict[Model, Result]:
    """Return the result of each model.

    Raises:
        UsageError: the program is wrong, has loops, or has an operation without support here.
    """
    if isinstance(program, str):
        program = parse(program)
    results = {model: Result() for model in models}
    for state in _finals(program):
        frame = Frame(_events(program, state), switches or Switches())
        for graph in _graphs(program, frame):
            for model, has in models.items():
                if has(graph):
                    _add(results[model], program, state, graph)
    return results


def _add(result: Result, program: Program, state: _State, graph: Graph) -> None:
    result.is_racy |= graph.frame.has_race
    if state.has_failed(program):
        result.fails = True
        return
    memory = list(program.initial)
    for n, event in enumerate(graph.frame.events):
        if event.written is not None and not graph.mo.rows[n]:
            memory[event.location] = event.written
    result.executions += 1
    result.racy += graph.frame.has_race
    result.outcomes[program.outcome([local.registers for local in state.locals], memory)] += 1


@dataclass(frozen=True)
class _State:
    """Threads in the middle of a run; the events with their values determine the rest."""

    locals: tuple[Local, ...]
    events: tuple[tuple[Event, ...], ...]

    def line(self, program: Program, thread: int) -> Line | None:
        """Return the next line of the thread; None: it has ended."""
        at = self.locals[thread].at
        return program.threads[thread][at] if at < len(program.threads[thread]) else None

    def has_failed(self, program: Program) -> bool:
        """Return whether a thread stands at an assertion that does not hold."""
        lines = (self.line(program, thread) for thread in range(len(self.locals)))
        return any(line is not None and line.what == "assert" for line in lines)

    def after(self, program: Program, thread: int, done: tuple[Event, ...], local: Local) -> _State:
        """Return the state in which the thread has `done` these events and is at `local`."""
        local = settle(program.threads[thread], local.jump(local.at + 1))
        locals_, events = list(self.locals), list(self.events)
        locals_[thread] = local
        events[thread] += done
        return _State(tuple(locals_), tuple(events))


def _finals(program: Program) -> Iterator[_State]:
    """Yield every choice of reads-from with which the threads can end, each once."""
    start = _State(
        tuple(settle(thread, Local()) for thread in program.threads), ((),) * len(program.threads)
    )
    seen, waiting = {start.events}, [start]
    while waiting:
        state = waiting.pop()
        lines = [state.line(program, thread) for thread in range(len(program.threads))]
        if any(line is not None and line.what == "assume" for line in lines):
            continue
        if all(line is None for line in lines) or state.has_failed(program):
            yield state
            continue
        for following in _following(program, state, lines):
            if following.events not in seen:
                seen.add(following.events)
                waiting.append(following)


def _following(program: Program, state: _State, lines: list[Line | None]) -> Iterator[_State]:
    # An operation that does not read has no choice, so it comes first: then reads see its writes.
    for thread, line in enumerate(lines):
        if line is not None and line.what not in READS:
            yield _without_reading(program, state, thread, line)
            return
    for thread, line in enumerate(lines):
        if line is not None:
            yield from _reading(program, state, thread, line)


def _without_reading(program: Program, state: _State, thread: int, line: Line) -> _State:
    local, identity = state.locals[thread], (thread, len(state.events[thread]))
    if line.what == "fence":
        return state.after(program, thread, (Event(identity, line.order),), local)
    place, value = _place(program, local, line), line.a.of(local.registers)
    event = Event(identity, line.order, place, written=value)
    return state.after(program, thread, (event,), local)


def _reading(program: Program, state: _State, thread: int, line: Line) -> Iterator[_State]:
    local, identity = state.locals[thread], (thread, len(state.events[thread]))
    place = _place(program, local, line)
    done = [event for events in state.events for event in events if event.location == place]
    taken = {event.source for event in done if event.update == "read"}
    sources = [((-1, place), program.initial[place])]
    sources += [(event.identity, event.written) for event in done if event.written is not None]
    for source, value in sources:
        for written in _written(line, local, value):
            if written is not None and source in taken:
                continue
            after = local.set(line.into, value)
            if line.what == "cas_weak":
                after = after.set(7, int(written is not None))
            yield state.after(program, thread, _done(line, identity, place, source, written), after)


def _done(
    line: Line, identity: Identity, place: int, source: Identity, written: int | None
) -> tuple[Event, ...]:
    if line.what == "load":
        return (Event(identity, line.order, place, source),)
    if written is None:
        return (Event(identity, line.fail_order, place, source, update="failed"),)
    following = (identity[0], identity[1] + 1)
    return (
        Event(identity, line.order, place, source, update="read"),
        Event(following, line.order, place, written=written, update="write"),
    )


def _written(line: Line, local: Local, old: int) -> list[int | None]:
    """Return the value that the operation writes over `old`; None: it writes nothing."""
    operand = line.a.of(local.registers)
    match line.what:
        case "load":
            return [None]
        case "exchange":
            return [operand]
        case "add":
            return [(old + operand) % 2**64]
        case "or":
            return [old | operand]
        case "and":
            return [old & operand]
    if old != line.b.of(local.registers):
        return [None]
    return [operand, None] if line.what == "cas_weak" else [operand]


def _place(program: Program, local: Local, line: Line) -> int:
    place = line.location + line.index.of(local.registers)
    if place >= len(program.locations):
        raise UsageError(f"line {line.number}: an index beyond the last location")
    return place


def _events(program: Program, state: _State) -> tuple[Event, ...]:
    initial = [
        Event((-1, place), "plain", place, written=value)
        for place, value in enumerate(program.initial)
    ]
    return (*initial, *itertools.chain.from_iterable(state.events))


def _graphs(program: Program, frame: Frame) -> Iterator[Graph]:
    """Yield the frame with each coherent modification order of its locations."""
    choices = []
    for place in range(len(program.locations)):
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
