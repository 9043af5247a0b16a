# SPDX-License-Identifier: Apache-2.0
"""The hot path of virtual threads in C, and the same in Python.

Serves specs/thread/Latch.tla and VThread.tla: the same tests judge both.
"""

from __future__ import annotations

import ast
import gc
import inspect
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from tests.support.replaced import methods_of_c
from tests.support.virtual import until

import wakeproof
from wakeproof import (
    CarrierGroup,
    Channel,
    Mutex,
    ScopedValue,
    Semaphore,
    VirtualThread,
    VirtualThreadPool,
    coroutine,
    current,
    locations,
    park,
    pinned,
    sleep,
    vthread,
    yield_now,
)
from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import calls, core, jobs
from wakeproof._runtime.brief import HAS_GIL
from wakeproof._runtime.here import ARE_OWN
from wakeproof._runtime.signal import Signal
from wakeproof.errors import DeadlockError, StateError, UsageError

if TYPE_CHECKING:
    from wakeproof._native.ffi import CParker

T = TypeVar("T")
PATIENCE_S = 300.0
SAME = (
    "tests/thread/test_vthread.py", "tests/python/test_trampoline.py",
    "tests/python/test_coroutine.py", "tests/sched/test_vthread_park.py",
    "tests/python/test_virtual_pool.py", "tests/python/test_core.py",
    "tests/io/test_sockets_python.py", "tests/io/test_descriptor_python.py",
)  # fmt: skip


def test_the_same_tests_hold_without_c() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    judged = subprocess.run(
        [*command, *SAME, "-k", "not hold_without_c"],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "WAKEPROOF_PLAIN": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert judged.returncode == 0, judged.stdout[-3000:]
    assert " passed" in judged.stdout


@pytest.mark.skipif(not ARE_OWN, reason="steps are Python here")
def test_threads_and_what_they_returned_are_freed() -> None:
    class Value:
        pass

    async def makes() -> Value:
        await coroutine.yield_now()
        return Value()

    def calls() -> Value:
        yield_now()
        return Value()

    with CarrierGroup(1) as group:
        for fn in (makes, calls):
            thread = VirtualThread(fn, group=group).start()
            value, gone = weakref.ref(thread.result(PATIENCE_S)), weakref.ref(thread)
            assert value() is not None
            del thread
            gc.collect()
            assert (value(), gone()) == (None, None)


def test_a_thread_that_waits_is_not_visited_by_the_collector_and_one_that_has_ended_is() -> None:
    # While it is in the list of those that run, it is no garbage.  Later it may be: here it keeps
    # itself alive by what it returned.
    def waits() -> object:
        park()
        return current()

    with CarrierGroup(1) as group:
        thread = VirtualThread(waits, group=group)
        assert gc.is_tracked(thread)
        thread.start()
        until(lambda: thread.state == "parked")
        assert gc.is_tracked(thread) is not (core.IN_C and HAS_GIL)
        assert jobs.threads.get(id(thread)) is thread
        thread.unpark()
        assert thread.result(PATIENCE_S) is thread
        assert gc.is_tracked(thread)
        assert jobs.threads.get(id(thread)) is None
        gone = weakref.ref(thread)
    thread = VirtualThread(int, group=group)
    gc.collect()
    assert gone() is None


def test_threads_that_run_are_listed_in_the_order_of_their_starts() -> None:
    go = Signal()
    with CarrierGroup(1) as group:
        threads = [VirtualThread(go.wait, group=group) for _ in range(5)]
        for thread in threads:
            thread.start()
        assert [one for one in jobs.threads.values() if one in threads] == threads
        go.set()
        for thread in threads:
            assert thread.result(PATIENCE_S)
        assert [one for one in jobs.threads.values() if one in threads] == []


VARIABLE = ContextVar("VARIABLE", default="default")


def changes() -> str:
    before = VARIABLE.get()
    VARIABLE.set("of a thread")
    return before


async def changes_as_coroutine() -> str:
    return changes()


@pytest.mark.parametrize("fn", [changes, changes_as_coroutine])
def test_each_thread_has_a_context_of_its_own_from_its_start(fn: Callable[[], str]) -> None:
    # Several that start with the same variables share a copy until their first steps.
    def starts() -> list[str]:
        threads = []
        for value in ("first", "second", "first"):
            VARIABLE.set(value)
            threads += [VirtualThread(fn).start() for _ in range(2)]
        VARIABLE.set("last")
        return [thread.result(PATIENCE_S) for thread in threads] + [VARIABLE.get()]

    with CarrierGroup(1) as group:
        seen = VirtualThread(starts, group=group).start().result(PATIENCE_S)
    assert seen == ["first", "first", "second", "second", "first", "first", "last"]
    assert VARIABLE.get() == "default"


def test_a_coroutine_that_sets_a_variable_keeps_it_and_others_do_not_see_it() -> None:
    # Until it sets one, its steps run in a context that all coroutine functions use in turn.
    async def sets(value: str) -> list[str]:
        seen = [VARIABLE.get()]
        for turn in range(3):
            token = VARIABLE.set(f"{value}{turn}")
            await coroutine.yield_now()
            seen.append(VARIABLE.get())
            VARIABLE.reset(token)  # raises ValueError in another context
            await coroutine.yield_now()
            seen.append(VARIABLE.get())
        return seen

    async def looks() -> set[str]:
        seen = {VARIABLE.get()}
        for _ in range(6):
            await coroutine.yield_now()
            seen.add(VARIABLE.get())
        return seen

    def starts() -> list[object]:
        threads: list[VirtualThread[Any]] = []
        for start in ("first", "second"):
            VARIABLE.set(start)
            threads += [VirtualThread(looks).start(), VirtualThread(sets, start).start()]
            threads += [VirtualThread(looks).start()]
        return [one.result(PATIENCE_S) for one in threads]

    with CarrierGroup(1) as group:
        found = VirtualThread(starts, group=group).start().result(PATIENCE_S)
    for start, (before, changed, after) in zip(
        ("first", "second"), (found[:3], found[3:]), strict=True
    ):
        assert before == after == {start}
        assert changed == [start, f"{start}0", start, f"{start}1", start, f"{start}2", start]


def test_a_token_of_a_coroutine_stays_valid_when_its_variables_are_as_before() -> None:
    async def resets_later() -> str:
        first = VARIABLE.set("first")
        second = VARIABLE.set("second")
        VARIABLE.reset(first)
        assert VARIABLE.get() == "default"
        await coroutine.yield_now()
        VARIABLE.reset(second)  # raises ValueError in another context
        return VARIABLE.get()

    async def sets() -> None:
        VARIABLE.set("of another")
        await coroutine.yield_now()

    def starts() -> str:
        threads = [VirtualThread(fn, group=group) for fn in (resets_later, sets)]
        for thread in threads:
            thread.start()
        return str(threads[0].result(PATIENCE_S))

    with CarrierGroup(1) as group:
        empty = VirtualThread(starts, group=group)
        assert Context().run(empty.start).result(PATIENCE_S) == "first"


@pytest.mark.skipif(not (core.IN_C and HAS_GIL), reason="each has a context from its start")
def test_coroutines_that_set_no_variable_have_one_context_for_all() -> None:
    def contexts() -> int:
        return sum(isinstance(one, Context) for one in gc.get_objects())

    with CarrierGroup(1) as group:
        before = contexts()
        threads = [VirtualThread(coroutine.park, group=group).start() for _ in range(100)]
        until(lambda: all(one.state == "parked" for one in threads))
        assert contexts() - before <= 2  # that of their start, and that of their steps
        for one in threads:
            one.unpark()
            assert one.result(PATIENCE_S)


@pytest.mark.skipif(not (core.IN_C and HAS_GIL), reason="of C, where objects have no lock")
def test_a_thread_takes_160_bytes() -> None:
    with CarrierGroup(1) as group:
        assert sys.getsizeof(VirtualThread(park, group=group)) == 160


@pytest.mark.skipif(not (core.IN_C and HAS_GIL), reason="of C, where objects have no lock")
@pytest.mark.parametrize(("before", "is_kept"), [(300, True), (12_000, False)])
@pytest.mark.parametrize("names", ["", "name='so'"])
def test_the_memory_of_threads_is_kept_for_new_ones_and_the_collector_does_not_count_them(
    names: str, before: int, is_kept: bool
) -> None:
    # In a process of its own, as nothing is kept after more threads at once than memory is kept of.
    program = f"""if True:
        import gc
        from wakeproof import CarrierGroup, VirtualThread, coroutine

        def many(number):
            return [VirtualThread(int, {names}) for _ in range(number)]

        def counted():
            started = [thread.start() for thread in many({before})]
            assert [thread.result() for thread in started] == [0] * {before}
            del started[:]
            many(300)
            gc.disable()
            before = gc.get_count()[0]
            threads = many(300)
            return gc.get_count()[0] - before

        with CarrierGroup(1) as group:
            print(VirtualThread(counted, group=group).start().result() < 100)
    """
    ended = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert ended.stdout == f"{is_kept}\n"


def identity(value: T) -> T:
    return value


def test_a_chain_of_threads_that_keep_one_another_is_freed_without_a_deep_stack() -> None:
    def after(last: object) -> VirtualThread[Any]:
        thread = VirtualThread(lambda: last).start()
        thread.join()
        return thread

    def chain() -> object:
        last: object = None
        for _ in range(300_000):
            last = after(last)  # its result
        return last

    with CarrierGroup(1) as group:
        last = VirtualThread(chain, group=group).start().result()
        seen = weakref.ref(last)
        del last
    until(lambda: seen() is None)


def test_a_call_of_the_class_with_names_or_of_a_subclass_is_a_call_of_its_init() -> None:
    class Own(VirtualThread[int]):
        def __init__(self, more: int) -> None:
            super().__init__(identity, more + 1)

    with CarrierGroup(1) as group:
        assert VirtualThread(identity, 1, group=group).start().result() == 1
        assert VirtualThread(int, group=group, name="so").name == "so"
        thread = VirtualThread(lambda: Own(1).start().result(), group=group)
        assert thread.start().result() == 2
    with pytest.raises(TypeError, match="fn is missing"):
        VirtualThread()  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="fn is 3"):
        VirtualThread(3)  # type: ignore[arg-type]


def test_a_signal_calls_in_order() -> None:
    for count in range(4):
        signal, called = Signal(), list[int]()
        for each in range(count):
            signal.call(partial(called.append, each))
        signal.call(partial(called.append, -1), is_first=True)
        signal.call(partial(called.append, count))
        signal.set()
        assert called == [-1, *range(count + 1)]
        signal.set()
        assert called == [-1, *range(count + 1)]


def test_a_wait_of_a_closed_coroutine_leaves_the_list() -> None:
    # The awaitable is dropped with the coroutine; a waiter that stayed would be woken when dead.
    group = CarrierGroup(1)
    signal = Signal()

    async def waits() -> None:
        await signal.until(thread, 2**62)

    thread = VirtualThread(waits, group=group)
    thread.start()  # not before it has its name, which `waits` looks for
    until(lambda: thread.state == "parked")
    assert len(signal._waiters) == 1
    group.close(timeout_s=0, cancel=True)
    gc.collect()
    assert signal._waiters == []
    signal.set()


def test_os_threads_and_virtual_threads_wait_for_one_signal() -> None:
    for _ in range(50):
        signal, came = Signal(), threading.Semaphore(0)

        def waits(signal: Signal = signal, came: threading.Semaphore = came) -> None:
            assert signal.wait(PATIENCE_S)
            came.release()

        with CarrierGroup(2) as group:
            others = [threading.Thread(target=waits) for _ in range(3)]
            for other in others:
                other.start()
            ours = [VirtualThread(waits, group=group).start() for _ in range(3)]
            signal.set()
            for thread in ours:
                thread.result(PATIENCE_S)
            for other in others:
                other.join(PATIENCE_S)
            assert all(came.acquire(timeout=PATIENCE_S) for _ in range(6))


def test_a_signal_calls_everybody_also_after_an_exception() -> None:
    signal, called = Signal(), list[int]()

    def fails() -> None:
        called.append(1)
        raise KeyError

    signal.call(fails)
    signal.call(lambda: called.append(2))
    with pytest.raises(KeyError):
        signal.set()
    assert (called, signal.is_set) == ([1, 2], True)


def at_collection(finalise: Callable[[], object]) -> object:
    """Let the next list that is made call `finalise`, as a finaliser of garbage may.

    Returns what the caller must keep: lists, so that CPython has none left for reuse.
    """

    class Cycle:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            gc.set_threshold(*usual)
            finalise()

    usual = gc.get_threshold()
    gc.collect()
    kept: list[list[int]] = [[] for _ in range(200)]
    Cycle()
    gc.set_threshold(1)
    return kept


AT_ALLOCATION = pytest.mark.skipif(
    not core.IN_C or sys.version_info >= (3, 12),
    reason="garbage is collected between instructions, not where C allocates",
)


@AT_ALLOCATION
@pytest.mark.parametrize("is_virtual", [False, True])
def test_an_event_that_comes_as_its_waiter_enters_the_list_is_seen(is_virtual: bool) -> None:
    # The waiter had looked before it allocated, and slept for ever.
    signal, ended = Signal(), threading.Event()
    signal.call(int)  # beside another: the first needs no list

    def waits() -> None:
        kept = at_collection(signal.set)
        signal.wait()
        del kept
        ended.set()

    with CarrierGroup(1) as group:
        if is_virtual:
            thread = VirtualThread(waits, group=group).start()
        else:
            threading.Thread(target=waits, daemon=True).start()
        seen = ended.wait(20)
        if is_virtual:
            thread.unpark()  # the group's close waits for it
        assert seen


@AT_ALLOCATION
def test_what_a_finaliser_makes_meanwhile_is_kept() -> None:
    # The list, or the signal, that the finaliser had made was lost, and its waiters with it.
    signal, called = Signal(), list[str]()
    first, second = partial(called.append, "finaliser"), partial(called.append, "caller")
    signal.call(partial(called.append, "first"))  # only the next needs a list
    kept = [at_collection(lambda: signal.call(first))]
    signal.call(second)
    signal.set()
    assert called == ["first", "finaliser", "caller"]
    with CarrierGroup(1) as group:
        thread, made = VirtualThread(int, group=group), list[object]()
        kept.append(at_collection(lambda: made.append(thread._done)))
        done = thread._done
        assert made == [done]


def test_of_several_starts_one_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    # A second start came while the first called Python; the failure of one undid the other.
    with CarrierGroup(1) as group:
        thread, refused = VirtualThread(len, "abc", group=group), list[StateError]()

        def nested() -> None:  # called by a start that drops the bindings of `ScopedValue`
            monkeypatch.undo()
            starts()

        def starts() -> None:
            try:
                thread.start()
            except StateError as error:
                refused.append(error)

        monkeypatch.setattr("wakeproof.vthread.unbind", nested)
        with ScopedValue[int]("bound").bind(1):
            starts()
        assert len(refused) == 1
        assert thread.result(PATIENCE_S) == 3


def test_who_was_woken_takes_nobody_else_off_the_list() -> None:
    # It knew its entry by the address, which the next waiter's entry had after it was freed.
    signal, entries = Signal(), list[Callable[[], object]]()

    def waits() -> bool:
        entries.clear()  # freed immediately before the next entry is made
        return signal.wait()

    with CarrierGroup(1) as group:
        woken = VirtualThread(waits, group=group).start()
        until(lambda: len(signal._waiters) == 1 and woken.state == "parked")
        entries.append(signal._waiters.pop())  # as a deadlock's end takes it off, before the wake
        stays = VirtualThread(waits, group=group).start()
        until(lambda: len(signal._waiters) == 1 and stays.state == "parked")
        woken.unpark()
        with pytest.raises(DeadlockError):
            woken.result(PATIENCE_S)
        assert len(signal._waiters) == 1
        signal.set()
        assert stays.result(PATIENCE_S)


@contextmanager
def kernel_with(name: str, instead: Callable[..., int], ctype: str) -> Iterator[None]:
    """Let core.c call `instead` where it calls that function of the kernel."""
    callback = ffi.callback(ctype, instead)
    at = vthread._CALLED.index(name)
    usual = vthread._addresses()
    changed = (*usual[:at], vthread._address(callback), *usual[at + 1 :])
    vthread.bind_core(vthread._OBJECTS, changed, vthread._CODES)
    try:
        yield
    finally:
        vthread.bind_core(vthread._OBJECTS, usual, vthread._CODES)


@pytest.mark.skipif(not core.IN_C, reason="what core.c calls")
def test_a_wake_that_finds_a_pinned_park_refused_leaves_no_permit() -> None:
    # The twin of test_vthread_park.py for C: the setter wakes a park that has not begun.
    signal = Signal()

    def refuses(*_: int) -> int:
        signal.set()
        return lib.WP_TIMEOUT

    def waits() -> tuple[bool, bool]:
        with pinned():
            was_set = signal.wait(3600)
        return was_set, park(0)

    with (
        CarrierGroup(1) as group,
        kernel_with("wp__vthread_park_for", refuses, "int(int64_t, int, uint32_t)"),
    ):
        assert VirtualThread(waits, group=group).start().result(PATIENCE_S) == (True, False)


@pytest.mark.skipif(not core.IN_C, reason="what core.c calls")
def test_a_wake_that_finds_the_time_over_leaves_an_os_thread_no_permit() -> None:
    # With that permit the next wait of the OS thread ended as if nothing could end it.
    signal, later = Signal(), Signal()

    def times_out(parker: CParker, deadline_ns: int) -> int:
        if signal.is_set:
            return lib.wp_parker_park_interruptible(parker, deadline_ns)
        signal.set()
        return lib.WP_TIMEOUT

    ctype = "int(wp_parker *, int64_t)"
    with kernel_with("wp_parker_park_interruptible", times_out, ctype):
        assert signal.wait(3600)
    with CarrierGroup(1) as group:
        VirtualThread(lambda: (sleep(0.05), later.set()), group=group).start()
        assert later.wait()


@pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout")
def test_methods_of_c_have_the_signatures_and_the_first_sentences_of_pythons() -> None:
    seen = 0
    for file, owner, name in methods_of_c():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        (kind,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == owner)
        *_, python = (n for n in kind.body if isinstance(n, ast.FunctionDef) and n.name == name)
        method = getattr(getattr(wakeproof, owner), name)
        given = python.args
        names = [one.arg for one in (*given.posonlyargs, *given.args)]
        names += [one.arg for one in (given.vararg, given.kwarg) if one is not None]
        assert list(inspect.signature(method).parameters) == names
        first = (ast.get_docstring(python) or "").split("\n\n")[0]
        assert (inspect.getdoc(method) or "").split("\n\n")[0] == first
        seen += 1
    assert seen >= 4


@pytest.mark.skipif(not calls.IN_C, reason="Python says that an attribute is missing")
def test_what_was_never_initialised_is_refused() -> None:
    channels: tuple[Callable[[], object], ...] = (
        lambda: Channel.__new__(Channel).send(1),
        lambda: Channel.__new__(Channel).receive(),
    )
    for call in (
        *(channels if HAS_GIL else ()),  # without it channels are Python
        lambda: VirtualThreadPool.__new__(VirtualThreadPool).submit(int),
        lambda: VirtualThreadPool.__new__(VirtualThreadPool).try_execute(int),
    ):
        with pytest.raises(RuntimeError, match="__init__ was not called"):
            call()


@pytest.mark.skipif(not calls.CHANNELS_IN_C, reason="methods of channels are Python")
@pytest.mark.parametrize(
    ("of", "name"),
    [(VirtualThread, "start"), (Channel, "send"), (Channel, "receive"), (Mutex, "__exit__"),
     (Semaphore, "__exit__")],
)  # fmt: skip
def test_the_methods_of_a_class_are_its_own(of: type, name: str) -> None:
    # CPython calls a method in C without making anything only on an object of its very class.
    assert inspect.getattr_static(of, name).__objclass__ is of
