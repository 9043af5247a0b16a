# SPDX-License-Identifier: Apache-2.0
"""State that Python keeps by OS thread is the virtual thread's own: threading.local, RLock.

Serves ``_native/own.c``, ``_runtime.line.py``.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import gc
import logging
import os
import subprocess
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from tests.support.virtual import until

import wakeproof
from wakeproof import (
    CarrierGroup,
    ClosedError,
    StateError,
    ThreadInterruptedError,
    VirtualThread,
    VirtualThreadPool,
    coroutine,
    park,
    sleep,
    yield_now,
)
from wakeproof._runtime.brief import HAS_GIL
from wakeproof._runtime.here import ARE_OWN, own_dict
from wakeproof._runtime.line import IS_OWN

CARRIERS = 1  # of `group`
PATIENCE_S = 60
ROUNDS = 5  # more than objects of a thread refer to each other
pytestmark = pytest.mark.skipif(not ARE_OWN, reason="built without Python.h")
made_before = threading.local()
lock_before = threading.RLock()
took_before, gave_before = lock_before.acquire, lock_before.release


class Value:
    """An object that can be referred to weakly."""


def test_this_python_has_them() -> None:
    assert IS_OWN == ARE_OWN


def test_alice_does_not_read_carols_user() -> None:
    request = threading.local()

    def handler(user: str) -> tuple[str, str]:
        request.user = made_before.user = user
        sleep(0.01)
        return request.user, made_before.user

    users = ["alice", "bob", "carol", "dave"] * 5
    with VirtualThreadPool(8) as pool:
        assert list(pool.map(handler, users)) == [(user, user) for user in users]


def test_a_coroutines_values_go_with_it_from_carrier_to_carrier() -> None:
    mine = threading.local()

    async def body() -> list[object]:
        mine.x = ran = [group.running()]
        await coroutine.park()
        ran.append(group.running())
        return [mine.x is ran, *ran]

    with CarrierGroup(2, work_stealing=True) as group:
        pinned = group[0].factory(pinned=True)
        thread = VirtualThread(body, group=group[0])
        pinned(thread.start).result(PATIENCE_S)  # usually while the other one sleeps
        until(lambda: thread.state == "parked")
        go_on = threading.Event()
        pinned(lambda: (thread.unpark(), go_on.wait(PATIENCE_S)))
        until(lambda: not thread.is_alive())
        go_on.set()
        assert thread.result(PATIENCE_S) in ([True, group[0], group[1]], [True, group[1], group[1]])
    assert not hasattr(mine, "x")


def test_an_os_threads_values_are_not_a_virtual_threads_nor_the_other_way() -> None:
    values = threading.local()
    values.x = "main"

    def task() -> object:
        found = getattr(values, "x", None)
        values.x = "carrier"
        return found

    with CarrierGroup(1) as group:
        assert group.submit(task).result(PATIENCE_S) is None
        assert VirtualThread(task, group=group).start().result(PATIENCE_S) is None
        assert group.submit(task).result(PATIENCE_S) == "carrier"
    assert values.x == "main"


def test_a_subclass_begins_anew_in_each_virtual_thread(group: CarrierGroup) -> None:
    class Counted(threading.local):
        begun: list[int] = []  # noqa: RUF012 - of all threads

        def __init__(self, start: int) -> None:
            self.at = start
            self.begun.append(start)

    counted = Counted(5)

    def count() -> int:
        for _ in range(3):
            counted.at += 1
            yield_now()
        return counted.at

    threads = [VirtualThread(count, group=group).start() for _ in range(4)]
    assert [thread.result(PATIENCE_S) for thread in threads] == [8] * 4
    assert Counted.begun == [5] * 5
    assert counted.at == 5


def test_contextvars_stay_right_beside_them() -> None:
    word = contextvars.ContextVar("word", default="none")
    values = threading.local()

    async def body(number: int) -> None:
        values.word = mine = f"{number}"
        word.set(mine)
        for _ in range(20):
            await coroutine.yield_now()
            assert (word.get(), values.word) == (mine, mine)
            other = contextvars.copy_context()
            other.run(word.set, "other")
            assert other.run(word.get) == "other"
            assert word.get() == mine

    with CarrierGroup(2, work_stealing=True) as group:
        for thread in [VirtualThread(body, n, group=group).start() for n in range(30)]:
            thread.result(PATIENCE_S)


def test_greenlets_of_a_virtual_thread_share_its_values(group: CarrierGroup) -> None:
    from greenlet import greenlet

    values = threading.local()

    def body() -> str:
        values.x = "mine"
        return str(greenlet(lambda: values.x + str(park(0.0))).switch())

    other = VirtualThread(lambda: setattr(values, "x", "other"), group=group)
    thread = VirtualThread(body, group=group).start()
    other.start()
    assert thread.result(PATIENCE_S) == "mineFalse"


def test_c_extensions_have_one_dict_each(group: CarrierGroup) -> None:
    # ctypes keeps a copy of errno in the thread state's dict.
    def body(number: int) -> int:
        ctypes.set_errno(number)
        yield_now()
        return ctypes.get_errno()

    threads = [VirtualThread(body, n, group=group).start() for n in (5, 6)]
    assert [thread.result(PATIENCE_S) for thread in threads] == [5, 6]


def keeps(values: threading.local, refs: list[Any], then: Callable[[], object]) -> None:
    values.it = Value()
    refs.append(weakref.ref(values.it))
    then()


def collected() -> None:
    """Without the GIL, let go of what ended threads have dropped.

    There an object whose last reference another thread has dropped dies when the thread that made
    it next runs, or when a collection adds up what both have counted; and then the same is so of
    what it referred to.
    """
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        for _ in range(ROUNDS):
            gc.collect()


def ends() -> None:
    """Return at once."""


def fails() -> None:
    raise KeyError("as it was meant to")


@pytest.mark.parametrize("then", [ends, yield_now, fails])
def test_an_ended_thread_lets_go_of_its_values(group: CarrierGroup, then: Any) -> None:
    values, refs = threading.local(), list[Any]()
    thread = VirtualThread(keeps, values, refs, then, group=group).start()
    if then is fails:
        with pytest.raises(KeyError):
            thread.result(PATIENCE_S)
        del thread
    else:
        thread.result(PATIENCE_S)
    until(lambda: refs[0]() is None)
    assert not hasattr(values, "it")


def test_values_of_an_ended_coroutine_are_let_go(group: CarrierGroup) -> None:
    values, refs = threading.local(), list[Any]()

    async def body() -> None:
        keeps(values, refs, ends)
        await coroutine.yield_now()

    VirtualThread(body, group=group).start().result(PATIENCE_S)
    until(lambda: refs[0]() is None)


def test_a_thread_that_a_close_hands_back_lets_go_of_them() -> None:
    values, refs = threading.local(), list[Any]()

    async def body() -> None:
        keeps(values, refs, ends)
        await coroutine.park()

    group = CarrierGroup(1)
    thread = VirtualThread(body, group=group).start()
    until(lambda: thread.state == "parked")
    assert refs[0]() is not None
    group.close(0.01)
    with pytest.raises(ClosedError):
        thread.join()
    collected()
    assert refs[0]() is None


def test_a_local_that_dies_leaves_nothing_in_parked_threads(group: CarrierGroup) -> None:
    # Until Python 3.12 a later one at the same address would find the remains, and crash.
    refs: list[Any] = []
    shared = [threading.local()]

    def body() -> int:
        keeps(shared[0], refs, ends)
        park()
        later = [threading.local() for _ in range(200)]  # usually one of them is at the old address
        found = 0
        for one in later:
            found += hasattr(one, "it")
            one.it = Value()
        return found

    threads = [VirtualThread(body, group=group).start() for _ in range(20)]
    until(lambda: {thread.state for thread in threads} == {"parked"})
    key = f"thread.local.{id(shared[0]):#x}"
    if sys.version_info < (3, 13):
        assert all(key in as_dict(thread) for thread in threads)
        shared.clear()
        assert not any(key in as_dict(thread) for thread in threads)
    shared.clear()
    collected()
    assert all(ref() is None for ref in refs)
    for thread in threads:
        thread.unpark()
    assert [thread.result(PATIENCE_S) for thread in threads] == [0] * 20


def as_dict(thread: VirtualThread) -> dict[str, object]:
    assert isinstance(thread._locals, dict)
    return thread._locals


def test_a_local_that_dies_in_a_virtual_thread_leaves_nothing_in_its_carrier(
    group: CarrierGroup,
) -> None:
    shared = [threading.local()]

    def sets() -> None:
        shared[0].it = Value()

    def drops() -> bool:
        key = f"thread.local.{id(shared[0]):#x}"
        had_it = key in own_dict()
        shared.clear()
        assert had_it == (sys.version_info < (3, 13))
        return key in own_dict()

    group.submit(sets).result(PATIENCE_S)
    assert VirtualThread(drops, group=group).start().result(PATIENCE_S) is False


def test_a_running_loop_is_its_own_threads(group: CarrierGroup) -> None:
    # asyncio remembers the last loop that was asked for, by the number of the thread state.
    async def main() -> object:
        return asyncio.get_running_loop()

    def has_loop() -> bool:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True

    def runs() -> object:
        other = VirtualThread(has_loop, group=group)

        async def inside() -> tuple[object, bool]:
            other.start()
            yield_now()
            return other.result(0), has_loop()

        return asyncio.run(inside())

    for _ in range(3):
        assert VirtualThread(runs, group=group).start().result(PATIENCE_S) == (False, True)
        assert VirtualThread(has_loop, group=group).start().result(PATIENCE_S) is False
        assert VirtualThread(lambda: asyncio.run(main()), group=group).start().result(PATIENCE_S)


def test_a_forked_child_of_a_virtual_thread_has_its_values_and_its_locks(
    group: CarrierGroup,
) -> None:
    values, lock = threading.local(), threading.RLock()

    def body() -> int:
        values.x = "mine"
        with lock:
            child = os.fork()
            if child == 0:
                lock.release()
                is_so = values.x == "mine" and lock.acquire(timeout=1) and not lock.acquire(False)
                os._exit(0 if not is_so and values.x == "mine" and lock._is_owned() else 1)
        return os.waitpid(child, 0)[1]

    assert VirtualThread(body, group=group).start().result(PATIENCE_S) == 0


# ---- RLock ----


@pytest.mark.parametrize("lock", [threading.RLock(), lock_before], ids=["new", "before"])
@pytest.mark.parametrize("carriers", [1, 3])
def test_an_rlock_keeps_virtual_threads_out(lock: Any, carriers: int) -> None:
    balance = [100]

    def withdraw() -> None:
        with lock, lock:
            seen = balance[0]
            sleep(0.001)
            balance[0] = seen - 10

    with CarrierGroup(carriers) as group:
        threads = [VirtualThread(withdraw, group=group).start() for _ in range(8)]
        assert all(thread.join(PATIENCE_S) for thread in threads)
    assert balance == [20]
    assert not lock._is_owned()


def test_methods_bound_before_wait_as_well(group: CarrierGroup) -> None:
    order: list[int] = []

    def body(number: int) -> None:
        took_before()
        order.append(number)
        yield_now()
        order.append(number)
        gave_before()

    for thread in [VirtualThread(body, n, group=group).start() for n in range(3)]:
        thread.result(PATIENCE_S)
    assert order in ([0, 0, 1, 1, 2, 2], [0, 0, 2, 2, 1, 1])


def test_whoever_waits_for_an_rlock_leaves_its_carrier(group: CarrierGroup) -> None:
    lock = threading.RLock()

    def waits() -> str:
        with lock:
            return "had it"

    with lock:
        thread = VirtualThread(waits, group=group).start()
        until(lambda: thread.state == "parked")
        assert VirtualThread(int, group=group).start().result(PATIENCE_S) == 0
    assert thread.result(PATIENCE_S) == "had it"


def test_os_threads_and_virtual_threads_share_an_rlock() -> None:
    lock, at = threading.RLock(), [0]

    def add() -> None:
        for _ in range(200):
            with lock:
                seen = at[0]
                if wakeproof.current() is not None and seen % 16 == 0:
                    yield_now()
                at[0] = seen + 1

    with CarrierGroup(2) as group:
        os_threads = [threading.Thread(target=add) for _ in range(2)]
        virtual = [VirtualThread(add, group=group).start() for _ in range(6)]
        for one in os_threads:
            one.start()
        for one in [*os_threads, *virtual]:
            one.join(PATIENCE_S)
    assert at == [8 * 200]


def test_who_does_not_have_an_rlock_cannot_release_it(group: CarrierGroup) -> None:
    lock = threading.RLock()

    def other() -> tuple[bool, bool]:
        with pytest.raises(RuntimeError, match="cannot release un-acquired lock"):
            lock.release()
        return lock._is_owned(), lock.acquire(False)  # type: ignore[attr-defined]

    def has() -> tuple[bool, bool]:
        with lock:
            return VirtualThread(other, group=group).start().result(PATIENCE_S)  # type: ignore

    assert VirtualThread(has, group=group).start().result(PATIENCE_S) == (False, False)


def test_a_coroutine_keeps_its_rlock_wherever_it_goes_on() -> None:
    lock, carriers = threading.RLock(), set[int]()

    async def body() -> None:
        lock.acquire()
        for _ in range(50):
            await coroutine.yield_now()
            carriers.add(threading.get_ident())
            assert lock._is_owned()  # type: ignore[attr-defined]
        lock.release()

    async def spin() -> None:
        for _ in range(200):
            await coroutine.yield_now()

    with CarrierGroup(2, work_stealing=True) as group:
        others = [VirtualThread(spin, group=group).start() for _ in range(20)]
        VirtualThread(body, group=group).start().result(PATIENCE_S)
        for one in others:
            one.result(PATIENCE_S)
    assert lock.acquire(False)


def test_a_condition_over_an_rlock_lets_go_of_all_of_it(group: CarrierGroup) -> None:
    condition = threading.Condition()

    def body() -> list[object]:
        with condition, condition:
            saved = condition._release_save()  # type: ignore[attr-defined]
            other = VirtualThread(takes, group=group).start()
            until_it_has = other.join(0.01)
            condition._acquire_restore(saved)  # type: ignore[attr-defined]
            return [until_it_has, other.result(PATIENCE_S), saved[0], condition._is_owned()]  # type: ignore[attr-defined]

    def takes() -> bool:
        with condition:
            sleep(0.03)
            return True

    assert VirtualThread(body, group=group).start().result(PATIENCE_S) == [False, True, 2, True]
    assert condition.acquire(False)


# ---- soak ----


@pytest.mark.slow
def test_many_threads_with_values_and_locks_leave_nothing() -> None:
    values, lock = threading.local(), threading.RLock()
    alive: weakref.WeakSet[Value] = weakref.WeakSet()
    entries = sys.getsizeof(values.__dict__)

    def body(number: int) -> int:
        own = threading.local()
        values.it = own.it = Value()
        alive.add(values.it)
        values.number = number
        with lock:
            yield_now()
        assert values.number == number
        assert own.it is values.it
        return number

    async def steps(number: int) -> int:
        values.it = Value()
        alive.add(values.it)
        values.number = number
        for _ in range(3):
            await coroutine.yield_now()
            assert values.number == number
        return number

    with CarrierGroup(2, work_stealing=True) as group:
        for _ in range(10):
            threads = [
                VirtualThread(steps if n % 2 else body, n, group=group).start() for n in range(500)
            ]
            assert [thread.result(PATIENCE_S) for thread in threads] == list(range(500))
            del threads
            gc.collect()
            collected()
            assert len(alive) == 0
    assert sys.getsizeof(values.__dict__) == entries


def test_a_woken_waiter_that_gives_up_wakes_the_next() -> None:
    # Its carrier is blocked meanwhile, so it is woken and interrupted before it goes on.
    lock, gate, blocked = threading.RLock(), threading.Event(), threading.Event()

    def takes() -> bool:
        with lock:
            return True

    with CarrierGroup(1) as group:
        with lock:
            first = VirtualThread(takes, group=group).start()
            second = VirtualThread(takes, group=group).start()
            until(lambda: (first.state, second.state) == ("parked", "parked"))
            group.submit(lambda: (blocked.set(), gate.wait(PATIENCE_S)))
            assert blocked.wait(PATIENCE_S)
            first.interrupt()
        gate.set()
        with suppress(ThreadInterruptedError):
            first.result(PATIENCE_S)
        assert second.result(PATIENCE_S) is True


def sets(values: threading.local) -> object:
    values.x = 1
    return values.x


class Filled(threading.local):
    """Sets a value at a thread's first look."""

    def __init__(self) -> None:
        self.x = 1


class Sets(threading.local):
    """Has a method between."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)


FORBIDDEN = {
    "plain": (sets, threading.local()),
    "made before": (sets, made_before),
    "filled": (lambda values: values.x, Filled()),
    "method": (sets, Sets()),
}


def is_refused(group: CarrierGroup, what: str, thread_locals: bool = False) -> bool:
    fn, values = FORBIDDEN[what]
    start = group.factory(name="mine", thread_locals=thread_locals)
    try:
        return start(fn, values).result(PATIENCE_S) != 1
    except StateError as error:
        return str(error).startswith("set 'x' of a threading.local: <VirtualThread mine")


@pytest.mark.parametrize("what", FORBIDDEN)
def test_values_are_forbidden_and_a_factory_that_allows_them_is_seen(
    group: CarrierGroup, what: str
) -> None:
    assert is_refused(group, what)
    assert not is_refused(group, what, thread_locals=True)
    assert sets(FORBIDDEN["plain"][1]) == 1  # an OS thread


def test_a_thread_without_values_reads_and_deletes_as_if_there_were_none(
    group: CarrierGroup,
) -> None:
    values = threading.local()

    async def reads() -> object:
        with pytest.raises(AttributeError):
            del values.x
        return getattr(values, "x", "none")

    start = group.factory(thread_locals=False)
    assert start(reads).result(PATIENCE_S) == "none"
    assert start(logs).result(PATIENCE_S) == "it parks"  # the library gets on without


def logs() -> str:
    logging.getLogger("mine").info("a line")
    assert Decimal(1) / 3 < 1
    with threading.Condition():
        sleep(0.001)
    return "it parks"


ENDS = """
import sys
from wakeproof import CarrierGroup, VirtualThread, park, sleep, topology
from wakeproof._runtime import known, poller, trampoline
shared = [{} for _ in range(8)]
def work(number=0):
    for at in range(200):
        for each in shared:
            each[at, number] = [at]
    for each in shared:
        each.clear()
"""
RUNS = """
for _ in range(100):
    with CarrierGroup(2) as group:
        for thread in [VirtualThread(work, n, group=group).start() for n in range(4)]:
            thread.join()
"""
SCHEDULES = """
import queue, threading
class InTurn:
    def __init__(self):
        self.waiting = queue.SimpleQueue()
    def submit(self, thread):
        if threading.current_thread() is not threading.main_thread():
            work(id(thread))
        self.waiting.put(thread)
for _ in range(100):
    scheduler = InTurn()
    with CarrierGroup(4) as group:  # all end a sleep at the same time
        threads = [group[n].factory(scheduler=scheduler)(sleep, 0.001) for n in range(4)]
        while any(thread.is_alive() for thread in threads):
            scheduler.waiting.get().run_step()
"""
POLLS = """
import ctypes
from wakeproof._native.ffi import ffi
create, join = ctypes.CDLL(None).pthread_create, ctypes.CDLL(None).pthread_join
join.argtypes = ctypes.c_void_p, ctypes.c_void_p
wakeup = ctypes.c_void_p(int(ffi.cast("uintptr_t", poller.WAKEUP)))
with CarrierGroup(1) as group:
    number = ctypes.c_void_p(id(group[0].register_poller(work, lambda _: park())))
    for _ in range(200):  # threads of C, as those of a scheduler in C
        threads = [ctypes.c_void_p() for _ in range(4)]
        for thread in threads:
            create(ctypes.byref(thread), None, wakeup, number)
        for thread in threads:
            join(thread, None)
"""
BINDS = """
class Anywhere:
    steal_scope = "global"
    def cluster(self, carrier):
        return 0
    def core(self, carrier):
        return None
    def bind(self, carrier):
        work(carrier)
for _ in range(300):
    CarrierGroup(4, topology=Anywhere()).close()
"""
GIVES = {
    "step": ("known", RUNS), "submit": ("trampoline", SCHEDULES), "wakeup": ("poller", POLLS),
    "bind": ("topology", BINDS),
}  # fmt: skip
LEAVES = """
import ctypes, sys
from wakeproof import CarrierGroup
class Now:
    def submit(self, thread):
        pass
with CarrierGroup(1) as group:
    thread = group.factory(scheduler=Now())(int)
    thread.run_step()
    getattr(ctypes, sys.argv[1])(None).exit(7)
"""


def ends_of(what: str, without: str | None = None, plain: str = "") -> subprocess.CompletedProcess:
    """Let OS threads of the kernel call Python and end; the module `without` drops no state."""
    twin = f"{without}.drop_at_end = lambda: None" if without else ""
    program = "\n".join([ENDS, twin, GIVES[what][1]])
    env = {**os.environ, "WAKEPROOF_PLAIN": plain}
    return subprocess.run([sys.executable, "-c", program], check=False, env=env)


@pytest.mark.slow
@pytest.mark.parametrize("plain", ["", "1"])
@pytest.mark.parametrize("what", GIVES)
def test_each_os_thread_of_the_kernel_drops_its_thread_state_itself(what: str, plain: str) -> None:
    assert ends_of(what, plain=plain).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(HAS_GIL, reason="with the GIL any thread may drop the state of another")
@pytest.mark.parametrize("what", GIVES)
def test_without_the_gil_what_leaves_it_to_another_thread_crashes(what: str) -> None:
    module = GIVES[what][0]
    assert any(ends_of(what, module).returncode < 0 for _ in range(10))


@pytest.mark.skipif(HAS_GIL, reason="with the GIL cffi drops them, when another thread begins")
def test_values_that_a_finaliser_leaves_die_with_their_os_thread() -> None:
    values, died = threading.local(), []

    class Leaves:
        def __init__(self, more: int) -> None:
            self.more = more

        def __del__(self) -> None:
            died.append(self.more)
            if self.more:
                values.x = Leaves(self.more - 1)

    def task() -> None:
        values.x = Leaves(2)

    with CarrierGroup(1) as group:
        group.submit(task).result(PATIENCE_S)
    until(lambda: died == [2, 1, 0])


@pytest.mark.skipif(HAS_GIL, reason="only without it an OS thread drops its thread state itself")
@pytest.mark.parametrize("library", ["PyDLL", "CDLL"])
def test_an_os_thread_of_python_that_calls_exit_ends_the_process(library: str) -> None:
    ended = subprocess.run([sys.executable, "-c", LEAVES, library], check=False)
    assert ended.returncode == 7


CHANGES = """
import threading
from threading import get_ident
from wakeproof._native import own

over, wrong, others = threading.Event(), [], []

def asks():
    me = get_ident()
    while not over.is_set():
        wrong.extend(1 for _ in range(1000) if get_ident() != me)

for _ in range(2):
    others.append(threading.Thread(target=asks))
    others[-1].start()
for _ in range(100_000):
    own.own_ident(get_ident, True)
    own.own_ident(get_ident, False)
over.set()
for other in others:
    other.join()
assert not wrong
"""


def test_os_threads_ask_for_their_number_while_it_is_exchanged() -> None:
    ended = subprocess.run([sys.executable, "-c", CHANGES], check=False)
    assert ended.returncode == 0
