# SPDX-License-Identifier: Apache-2.0
"""The judge of histories and a brute force that tries everything agree on any short history."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wakeproof.judge.linear.objects import FIFO, mpsc
from wakeproof.judge.linear.spec import CALL, RETURN, Automaton, Event, Spec

THREADS = 3

# Brute force: every order of the linearization points, each of them within its operation.

Op = tuple[str, int, int | None, int, int]  # operation, argument, result, call, return


def operations(events: list[Event]) -> list[Op]:
    found: list[Op] = []
    for at, event in enumerate(events):
        if event.kind == CALL:
            ends = (j for j in range(at, len(events))
                    if events[j].thread == event.thread and events[j].kind == RETURN)  # fmt: skip
            end = next(ends, None)
            result = None if end is None else events[end].number
            found.append((event.operation, event.number, result, at, end or 99))
    return found


def orders(ops: list[Op], per_push: int, done: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yield the orders of points (numbers of operations) that contain all finished operations."""
    points = [per_push if op[0] == "push" else 1 for op in ops]
    open_ = [n for n in range(len(ops)) if done.count(n) < points[n]]
    if all(ops[n][2] is None for n in open_):
        yield done
    for n in open_:
        if all(ops[n][3] < ops[m][4] for m in open_):
            yield from orders(ops, per_push, (*done, n))


def agrees(ops: list[Op], order: tuple[int, ...], per_push: int) -> bool:
    queue: list[int] = []
    published: set[int] = set()
    for at, n in enumerate(order):
        operation, argument, result, _, _ = ops[n]
        if operation == "push":
            if n not in order[:at]:
                queue.append(argument)
            if per_push == 1 or n in order[:at]:
                published.add(argument)
            continue
        can = bool(queue) and set(queue[:2]) <= published
        if result not in (None, queue[0] if can else 0):
            return False
        if can:
            published.discard(queue.pop(0))
    return True


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Draw up to five operations of three threads; every node is pushed once."""
    events: list[Event] = []
    busy: dict[int, str] = {}
    node = calls = 0
    for thread in draw(st.lists(st.integers(0, THREADS - 1), max_size=10)):
        if thread in busy:
            operation = busy.pop(thread)
            value = draw(st.integers(0, 3)) if operation == "pop" else 0
            events.append(Event(RETURN, thread, operation, value))
        elif calls < 5:
            calls += 1
            operation = busy[thread] = draw(st.sampled_from(("push", "pop")))
            node += operation == "push"
            events.append(Event(CALL, thread, operation, node if operation == "push" else 0))
    return events


@pytest.mark.parametrize(("spec", "per_push"), [(FIFO, 1), (mpsc(), 2)])
def test_the_automaton_agrees_with_brute_force(spec: Spec, per_push: int) -> None:
    verdicts = set()

    @given(histories())
    @example([Event(CALL, 0, "pop", 0), Event(RETURN, 0, "pop", 0)])
    @example([Event(CALL, 0, "pop", 0), Event(RETURN, 0, "pop", 1)])
    def agree(events: list[Event]) -> None:
        ops = operations(events)
        expected = any(agrees(ops, order, per_push) for order in orders(ops, per_push))
        assert Automaton(spec, THREADS).explains(events) is expected
        verdicts.add(expected)

    agree()
    assert verdicts == {True, False}
