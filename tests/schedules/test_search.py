# SPDX-License-Identifier: Apache-2.0
"""The search leaves no outcome out: it is compared with all orders, of programs drawn by lot.

A program's outcome is what each of its threads has seen, who waits at its end, and what was raised.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from wakeproof.judge.schedules import modelled, search
from wakeproof.judge.schedules.execution import NOBODY, Run, Task
from wakeproof.judge.schedules.explore import alike, one
from wakeproof.judge.schedules.search import Search, pending_of

MOST = 1500  # orders of a program that is compared
KINDS = (
    ("lock",), ("lock", "try"), ("lock", "try", "put"), ("lock", "again"), ("lock", "timed"),
    ("lock", "try", "timed", "look", "sleep"), ("put", "get", "get now"), ("lock", "join", "alive"),
    ("put", "get", "empty"), ("set", "wait", "lock"),
)  # fmt: skip

Outcomes = set[Any]


class EachOrder:
    """All choices at each step."""

    limit = 5000

    def __init__(self) -> None:
        self._stack: list[list[int]] = []
        self.why = ""

    def begin(self, run: Run) -> None:
        self._run, self._at, self.why = run, 0, ""

    def pick(self, _: Task | None) -> int:
        choices = sorted(pending_of(self._run))
        if not choices:
            self.why = "stuck"
            return NOBODY
        if self._at == len(self._stack):
            self._stack.append(choices)
        self._at += 1
        return self._stack[self._at - 1][0]

    def advance(self) -> bool:
        while self._stack:
            self._stack[-1].pop(0)
            if self._stack[-1]:
                return True
            self._stack.pop()
        return False


def outcomes(
    program: Callable[[list[Any]], None], scheduler: EachOrder | Search
) -> tuple[Outcomes, int]:
    found, runs = set(), 0
    with modelled.exchanged(), alike():
        while runs <= MOST:
            seen: list[Any] = []
            run = one(lambda seen=seen: program(seen), scheduler)  # type: ignore[misc]
            if scheduler.why != "asleep":
                runs += 1
                assert scheduler.why in ("", "stuck")
                waiting = tuple(task.number for task in run.alive)
                by_thread = tuple(sorted(seen, key=lambda one: one[:2]))
                found.add((by_thread, waiting, type(run.error)))
            if not scheduler.advance():
                break
    return found, runs


def program_of(seed: int) -> Callable[[list[Any]], None]:
    lot = random.Random(seed)
    threads, kinds = lot.choice((2, 2, 3)), lot.choice(KINDS)
    plans = [
        [(lot.choice(kinds), lot.randrange(2)) for _ in range(lot.randint(1, 5 - threads))]
        for _ in range(threads)
    ]

    def program(seen: list[Any]) -> None:
        locks = [threading.Lock() for _ in range(2)]
        again = [threading.RLock() for _ in range(2)]
        lines: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in range(2)]
        events = [threading.Event() for _ in range(2)]
        started: list[threading.Thread] = []

        def get(line: Any, *how: Any) -> Any:
            try:
                return line.get(*how)
            except queue.Empty:
                return "none"

        def take(lock: Any, *how: Any) -> bool:
            if got := lock.acquire(*how):
                lock.release()
            return bool(got)

        def twice(of: int) -> bool:
            with again[of], again[of]:
                return take(locks[1 - of])

        does: dict[str, Callable[[int, int], Any]] = {
            "lock": lambda of, _: take(locks[of]),
            "try": lambda of, _: take(locks[of], False),
            "timed": lambda of, _: take(locks[of], True, 1),
            "look": lambda of, _: locks[of].locked(),
            "again": lambda of, _: twice(of),
            "sleep": lambda _, me: time.sleep(0.5 + me),
            "put": lambda of, me: lines[of].put(me),
            "get": lambda of, _: get(lines[of], True, 1),
            "get now": lambda of, _: get(lines[of], False),
            "empty": lambda of, _: lines[of].empty(),
            "set": lambda of, _: events[of].set(),
            "wait": lambda of, _: events[of].wait(1),
            "join": lambda _, me: me != 1 and len(started) > 1 and started[1].join(),
            "alive": lambda *_: started[-1].is_alive(),
        }

        def run(me: int) -> None:
            for at, (kind, of) in enumerate(plans[me]):
                seen.append((me, at, does[kind](of, me)))

        started += [threading.Thread(target=run, args=(me,)) for me in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()

    return program


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_no_outcome_is_left_out(seed: int) -> None:
    program = program_of(seed)
    expected, orders = outcomes(program, EachOrder())
    found, runs = outcomes(program, Search())
    assert runs <= orders
    if orders <= MOST:
        assert found == expected
        bounded = Search(bound=2)
        some, _ = outcomes(program, bounded)
        assert some <= expected
        assert bounded.was_cut or some == expected
    else:
        assert found >= expected


TWINS = {
    "all commute": ("commute", lambda *_: True),
    "nothing excludes": ("excludes", lambda *_: False),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_broken_search_leaves_outcomes_out(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, *TWINS[twin])
    for seed in range(40):
        program = program_of(seed)
        expected, orders = outcomes(program, EachOrder())
        if orders <= MOST and outcomes(program, Search())[0] != expected:
            return
    pytest.fail("the broken search finds as much")


def test_three_threads_of_two_critical_sections_have_ninety_orders() -> None:
    """6! / (2! 2! 2!): the reduction runs each of them once."""
    seen = set()

    def program(_: list[Any]) -> None:
        lock, order = threading.Lock(), []

        def enter(me: int) -> None:
            for _ in range(2):
                with lock:
                    order.append(me)

        threads = [threading.Thread(target=enter, args=(me,)) for me in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seen.add(tuple(order))

    _, runs = outcomes(program, Search())
    assert (runs, len(seen)) == (90, 90)


def test_preemptions_grow() -> None:
    """Two threads of two critical sections each; those with one thread after the other: none."""
    counts = []
    for bound in range(4):

        def program(_: list[Any]) -> None:
            lock = threading.Lock()

            def enter() -> None:
                for _ in range(2):
                    with lock:
                        pass

            threads = [threading.Thread(target=enter) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        bounded = Search(bound)
        counts.append((outcomes(program, bounded)[1], bounded.was_cut))
    assert counts == [(2, True), (4, True), (6, False), (6, False)]
