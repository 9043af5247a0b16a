# SPDX-License-Identifier: Apache-2.0
"""The search leaves no outcome out: it is compared with all orders, of programs drawn by lot.

A program's outcome is what each of its threads has seen, who waits at its end, and what was raised.
"""

from __future__ import annotations

import asyncio
import queue
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from wakeproof.judge.schedules import data, modelled, search
from wakeproof.judge.schedules.execution import NOBODY, Run, Task
from wakeproof.judge.schedules.explore import HOLDS, Options, alike, explore, one
from wakeproof.judge.schedules.operation import READ, READ_PART, WRITE
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

    limit, begins_late = 5000, False

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
        return self._next(choices)

    def choose(self, _: Task, count: int) -> int:
        return self._next(list(range(count)))

    def _next(self, choices: list[int]) -> int:
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
    program: Callable[[list[Any]], None],
    scheduler: EachOrder | Search,
    options: Options | None = None,
) -> tuple[Outcomes, int]:
    found, runs = set(), 0
    tracing = data.traced() if options and options.data else nullcontext()
    with modelled.exchanged(), alike(), tracing:
        while runs <= MOST:
            seen: list[Any] = []
            run = one(lambda seen=seen: program(seen), scheduler, None, options)  # type: ignore[misc]
            if scheduler.why != "asleep":
                runs += 1
                assert scheduler.why in ("", "stuck")
                waiting = tuple(task.number for task in run.alive if run.error is None)
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


def of_asyncio(seed: int) -> tuple[Callable[[list[Any]], None], Options]:
    """Return a program of tasks, and perhaps a thread, and the options with which it is judged."""
    lot = random.Random(seed)
    has_thread = lot.random() < 0.5
    kinds = lot.choice((("sleep", "set", "wait"), ("lock", "set", "wait"), ("sleep", "lock")))
    plans = [
        [(lot.choice(kinds), lot.randrange(2)) for _ in range(lot.randint(1, 2))]
        for _ in range(2 if has_thread else lot.choice((2, 3)))
    ]
    options = Options(cancels=int(lot.random() < 0.4), any_order=lot.random() < 0.3)

    async def main(seen: list[Any]) -> None:
        loop = asyncio.get_running_loop()
        events = [asyncio.Event() for _ in range(2)]
        locks = [asyncio.Lock() for _ in range(2)]

        async def do(kind: str, of: int) -> None:
            if kind == "sleep":
                await asyncio.sleep(1 + of)
            elif kind == "set":
                events[of].set()
            elif kind == "lock":
                async with locks[of]:
                    await asyncio.sleep(0)
            else:
                async with asyncio.timeout(1):
                    await events[of].wait()

        async def task(me: int) -> None:
            for kind, of in plans[me]:
                try:
                    await do(kind, of)
                    order.append((me, kind))
                except (TimeoutError, asyncio.CancelledError) as error:
                    order.append((me, type(error).__name__))

        def come() -> None:
            events[0].set()
            order.append("called")

        order: list[Any] = []
        tasks = [loop.create_task(task(me)) for me in range(len(plans))]
        thread = threading.Thread(target=lambda: loop.call_soon_threadsafe(come))
        if has_thread:
            thread.start()
        await asyncio.wait(tasks)
        seen.append(tuple(order))

    def program(seen: list[Any]) -> None:
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main(seen))
        loop.close()

    return program, options


STATEMENTS = (
    "s.a = {n}", "s.b = s.a", "s.a += 1", "x = s.b", "l.append({n})", "l[0] = {n}", "x = l[-1]",
    "if s.a: s.b = {n}", "if l: s.a = len(l)", "s.a, s.b = s.b, s.a", "d['k'] = {n}",
    "x = d.get('k')", "d.pop('k', None)", "if 'k' in d: x = d['k']", "l += [{n}]",
    "s.p.a = {n}", "x = s.p.a", "s.p, s.q = s.q, s.p", "d[{n}] = s.p.a", "x = list(d.values())",
    "s.c[s.i] = {n}", "s.c, s.e = s.e, s.c", "x = s.c[0], s.e[0]",
)  # fmt: skip
OF_ITERATORS = (
    "x = next(s.n, None)", "for x in s.n: break", "x = next(s.g, None)", "x = [i for i in l]",
    "x = sum(i for i in l)", "l.append({n})", "with s.lock: s.a = {n}",
    "with s.lock: l.append(s.a)", "with s.lock: x = next(s.g, None)",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _only_programs_have_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the code here, which makes and starts the threads."""
    monkeypatch.setattr(data, "is_of_user", lambda code: code.co_filename.startswith("<program"))


@pytest.fixture(autouse=True)
def _twins_leave_nothing() -> Iterator[None]:
    """Forget what instructions touch, which a twin has changed, or is to change."""
    data.touches.cache_clear()
    yield
    data.touches.cache_clear()


def of_iterators(seed: int) -> tuple[Callable[[list[Any]], None], Options]:
    """Return such a program with iterators and generators, and a lock."""
    return of_data(seed, OF_ITERATORS)


def of_data(
    seed: int, statements: tuple[str, ...] = STATEMENTS
) -> tuple[Callable[[list[Any]], None], Options]:
    """Return a program of two threads that share an object, a list and a dict."""
    lot = random.Random(seed)
    lines = ["def numbers():", "    yield 1", "    yield 2"]
    for me in range(2):
        lines += [f"def body{me}(s, l, d):", "    x = None"]
        for _ in range(lot.randint(1, 2)):
            lines.append("    " + lot.choice(statements).format(n=lot.randrange(3) + 10 * me))
        lines.append("    return x")
    bodies: dict[str, Any] = {}
    exec(compile("\n".join(lines), f"<program {seed}>", "exec"), bodies)

    def program(seen: list[Any]) -> None:
        p, q = SimpleNamespace(a="p"), SimpleNamespace(a="q")
        shared = SimpleNamespace(a=0, b=0, p=p, q=q, c=[0], e=[0], i=0)
        items, by_name = [0], {}
        used = {"n": iter([1, 2]), "g": bodies["numbers"](), "lock": threading.Lock()}
        vars(shared).update(used)

        def run(me: int) -> None:
            try:
                seen.append((me, repr(bodies[f"body{me}"](shared, items, by_name))))
            except ValueError as error:  # the generator runs already
                seen.append((me, str(error)))

        threads = [threading.Thread(target=run, args=(me,)) for me in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name in used:
            delattr(shared, name)
        seen.append((2, repr((vars(shared), items, by_name, list(used["n"])))))

    return program, Options(data=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("family", [of_data, of_iterators])
def test_no_outcome_of_data_is_left_out(family: Any, seed: int) -> None:
    no_outcome_is_left_out(*family(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_left_out_because_objects_are_told_apart(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, options = of_data(seed)
    found, runs = outcomes(program, Search(), options)
    monkeypatch.setattr(data._Stop, "value", lambda *_: data._UNKNOWN)
    by_names, more = outcomes(program, Search(), options)
    if more <= MOST:
        assert found == by_names
        assert runs <= more


def test_equal_functions_of_two_files_both_stop() -> None:
    both = []
    for name in "ab":
        made: dict[str, Any] = {}
        exec(compile("def adds(s):\n    s.a += 1", f"<program {name}>", "exec"), made)
        both.append(made["adds"])
    assert both[0].__code__ == both[1].__code__

    def program(seen: list[Any]) -> None:
        shared = SimpleNamespace(a=0)
        threads = [threading.Thread(target=adds, args=(shared,)) for adds in both]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seen.append((0, 0, shared.a))

    found, _ = outcomes(program, Search(), Options(data=True))
    assert {seen[0][2] for seen, *_ in found} == {1, 2}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_no_outcome_of_asyncio_is_left_out(seed: int) -> None:
    no_outcome_is_left_out(*of_asyncio(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_no_outcome_is_left_out(seed: int) -> None:
    no_outcome_is_left_out(program_of(seed), Options())


def no_outcome_is_left_out(program: Callable[[list[Any]], None], options: Options) -> None:
    expected, orders = outcomes(program, EachOrder(), options)
    found, runs = outcomes(program, Search(), options)
    if orders <= MOST:
        assert runs <= orders
        assert found == expected
        bounded = Search(bound=2)
        some, _ = outcomes(program, bounded, options)
        assert some <= expected
        assert bounded.was_cut or some == expected
    elif runs <= MOST:
        assert found >= expected


_value = data._Stop.value


def _at_its_use(stop: data._Stop, origin: Any) -> Any:
    """Return the operand, and what another thread has put there since it was loaded."""
    if origin is None or origin[0] != "loaded":
        return _value(stop, origin)
    return stop._loads(data.touches(stop._frame.f_code)[origin[1]])


TWINS = {
    "all commute": (search, "commute", lambda *_: True),
    "nothing excludes": (search, "excludes", lambda *_: False),
    "ways are not tried": (Search, "choose", lambda *_: 0),
    "what changes in place is read": (data, "WRITE", READ),
    "what was loaded is looked at when it is used": (data._Stop, "value", _at_its_use),
    "parts are only read": (data, "_PART", {READ: READ_PART, WRITE: READ_PART}),
    "who takes an item from an iterator reads": (data, "_is_iterator", lambda _: False),
}
FAMILIES = {
    "threads": lambda seed: (program_of(seed), Options()), "asyncio": of_asyncio, "data": of_data,
    "iterators": of_iterators,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("twin", "family"),
    [
        *(("all commute", family) for family in FAMILIES),
        *(("nothing excludes", family) for family in FAMILIES),
        ("ways are not tried", "asyncio"), ("what changes in place is read", "data"),
        ("what was loaded is looked at when it is used", "data"),
        ("parts are only read", "data"),
        ("who takes an item from an iterator reads", "iterators"),
    ],
)  # fmt: skip
def test_a_broken_search_leaves_outcomes_out(
    twin: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*TWINS[twin])
    for seed in range(200):
        program, options = FAMILIES[family](seed)
        expected, orders = outcomes(program, EachOrder(), options)
        if orders <= MOST and outcomes(program, Search(), options)[0] != expected:
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


def test_what_a_run_has_made_is_freed_when_the_next_one_ends() -> None:
    made: list[weakref.ref[threading.Thread]] = []
    dangling = vars(threading)["_dangling"]

    def program() -> None:
        assert sum(ref() is not None for ref in made) <= 3  # those of the run before
        lock = threading.Lock()
        threads = [
            threading.Thread(target=lambda: lock.acquire() and lock.release()) for _ in "abc"
        ]
        made.extend(map(weakref.ref, threads))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    found = explore(program)
    assert (found.verdict, found.preemptions) == (HOLDS, None)
    assert found.schedules > 3
    assert vars(threading)["_dangling"] is dangling
