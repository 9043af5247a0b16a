# SPDX-License-Identifier: Apache-2.0
"""Every interleaving of a small program, with each plain access a step of its own: does it race?

Written without a look at the state engine, which takes plain accesses together with the step before
them.  A race here is the literal definition: a state in which the next steps of two threads touch
one place, one of them writes, and one of them is plain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from wakeproof.judge.explore.litmus_program import (
    Cas,
    Fence,
    If,
    Label,
    Load,
    Operand,
    Operation,
    Program,
    Store,
    Update,
)

WORD = (1 << 64) - 1
UPDATES = {
    "exchange": lambda _old, value: value, "add": lambda old, value: old + value & WORD,
    "or": lambda old, value: old | value, "and": lambda old, value: old & value,
}  # fmt: skip
COMPARED = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b}
Places = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Thread:
    """The position of a thread, its registers, and the stores that are still in its buffer."""

    at: int = 0
    registers: Places = ()
    buffer: Places = ()


@dataclass(frozen=True)
class Moment:
    """A state of the whole program."""

    threads: tuple[Thread, ...]
    memory: Places


def races(program: Program, *, has_buffers: bool) -> bool:
    """Return true if an execution under SC (TSO: `has_buffers`) reaches a race."""
    first = Moment(tuple(Thread() for _ in program.threads), tuple(program.initial.items()))
    seen, left = {first}, [first]
    while left:
        moment = left.pop()
        if _is_race(program, moment):
            return True
        for following in _steps(program, moment, has_buffers=has_buffers):
            if following not in seen:
                seen.add(following)
                left.append(following)
    return False


def _value(thread: Thread, operand: Operand) -> int:
    return operand if isinstance(operand, int) else dict(thread.registers).get(operand, 0)


def _next(program: Program, number: int, thread: Thread) -> tuple[int, Operation] | None:
    """Return the next operation that is a step, and its place."""
    operations, at = program.threads[number].operations, thread.at
    while at < len(operations):
        operation = operations[at]
        if isinstance(operation, If):
            holds = COMPARED[operation.operator]
            if holds(_value(thread, operation.a), _value(thread, operation.b)):
                at = operations.index(Label(operation.label))
        elif not isinstance(operation, Label):
            return at, operation
        at += 1
    return None


def _look(moment: Moment, thread: Thread, place: str) -> int:
    return dict((*moment.memory, *thread.buffer)).get(place, 0)


def _must_drain(operation: Operation) -> bool:
    is_strong = getattr(operation, "order", "") == "seq_cst"
    return isinstance(operation, Update | Cas) or (
        is_strong and isinstance(operation, Store | Fence)
    )


def _access(moment: Moment, thread: Thread, operation: Operation) -> tuple[str, bool, bool] | None:
    """Return the place, whether it is written, and whether the access is plain."""
    if isinstance(operation, Fence) or (_must_drain(operation) and thread.buffer):
        return None
    writes = not isinstance(operation, Load)
    if isinstance(operation, Cas):
        old = _look(moment, thread, operation.place)
        writes = old == _value(thread, operation.expected)
    assert isinstance(operation, Load | Store | Update | Cas)
    is_plain = isinstance(operation, Load | Store) and operation.order == "plain"
    return operation.place, writes, is_plain


def _is_race(program: Program, moment: Moment) -> bool:
    found = []
    for number, thread in enumerate(moment.threads):
        following = _next(program, number, thread)
        access = _access(moment, thread, following[1]) if following else None
        for other in found:
            if access and access[0] == other[0] and access[1] | other[1] and access[2] | other[2]:
                return True
        found += [access] if access else []
    return False


def _steps(program: Program, moment: Moment, *, has_buffers: bool) -> Iterator[Moment]:
    for number, thread in enumerate(moment.threads):
        if thread.buffer:
            drained = replace(thread, buffer=thread.buffer[1:])
            yield _with(moment, number, drained, *thread.buffer[:1])
        following = _next(program, number, thread)
        if following and not (_must_drain(following[1]) and thread.buffer):
            gone = replace(thread, at=following[0] + 1)
            yield from _taken(moment, number, gone, following[1], has_buffers=has_buffers)


def _taken(
    moment: Moment, number: int, thread: Thread, operation: Operation, *, has_buffers: bool
) -> Iterator[Moment]:
    if isinstance(operation, Fence):
        yield _with(moment, number, thread)
        return
    assert isinstance(operation, Load | Store | Update | Cas)
    place = operation.place
    if isinstance(operation, Store):
        written = (place, _value(thread, operation.value))
        if has_buffers and operation.order != "seq_cst":
            yield _with(moment, number, replace(thread, buffer=(*thread.buffer, written)))
        else:
            yield _with(moment, number, thread, written)
        return
    old = _look(moment, thread, place)
    read = _set(thread, operation.into, old)
    if isinstance(operation, Load):
        yield _with(moment, number, read)
    elif isinstance(operation, Update):
        value = UPDATES[operation.what](old, _value(thread, operation.value))
        yield _with(moment, number, read, (place, value))
    else:
        failed = _set(read, "r7", 0) if operation.weak else read
        took = _set(read, "r7", 1) if operation.weak else read
        is_equal = old == _value(thread, operation.expected)
        if operation.weak or not is_equal:
            yield _with(moment, number, failed)
        if is_equal:
            yield _with(moment, number, took, (place, _value(thread, operation.desired)))


def _set(thread: Thread, register: str | None, value: int) -> Thread:
    if register is None:
        return thread
    return replace(thread, registers=_sorted({**dict(thread.registers), register: value}))


def _with(moment: Moment, number: int, thread: Thread, *written: tuple[str, int]) -> Moment:
    threads = (*moment.threads[:number], thread, *moment.threads[number + 1 :])
    return Moment(threads, _sorted({**dict(moment.memory), **dict(written)}))


def _sorted(places: dict[str, int]) -> Places:
    return tuple(sorted(places.items()))
