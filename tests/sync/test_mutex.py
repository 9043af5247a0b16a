# SPDX-License-Identifier: Apache-2.0
"""Python's mutex against specs/sync/Mutex.tla; and the parts shared with its relatives."""

from __future__ import annotations

import signal
import threading

import pytest
from tests.support.syncing import KINDS, Worker
from tests.support.virtual import PATIENCE_S, parked

import wakeproof
from wakeproof import (
    CarrierGroup,
    Condition,
    Mutex,
    Semaphore,
    ThreadInterruptedError,
    VirtualThread,
    coroutine,
)
from wakeproof.errors import StateError, UsageError, WrongThreadError


def test_many_of_all_kinds_exclude_one_another(group: CarrierGroup) -> None:
    # MutualExclusion, NoLostSignal: an increment that a yield splits is not lost.
    mutex, found = Mutex(), [0]

    def add() -> None:
        for _ in range(200):
            with mutex:
                value = found[0]
                wakeproof.yield_now()
                found[0] = value + 1

    async def await_add() -> None:
        for _ in range(200):
            assert await coroutine.lock(mutex)
            value = found[0]
            await coroutine.yield_now()
            found[0] = value + 1
            mutex.release()

    workers = [Worker(group, kind, await_add if kind == "coroutine" else add) for kind in KINDS * 3]
    for worker in workers:
        worker.end()
    assert found[0] == 9 * 200
    assert not mutex.locked()


def test_a_wait_for_a_mutex_leaves_the_carrier_and_times_out() -> None:
    with CarrierGroup(1) as one:
        mutex = Mutex()
        assert mutex.acquire()
        waiter = parked(VirtualThread(mutex.acquire, group=one).start())
        late = VirtualThread(mutex.acquire, 0.01, group=one).start()
        assert late.result(PATIENCE_S) is False
        assert not VirtualThread(mutex.acquire, 0, group=one).start().result(PATIENCE_S)
        mutex.release()
        assert waiter.result(PATIENCE_S) is True
        assert one[0].counts.pinned == 0


def test_the_line_is_served_in_order(group: CarrierGroup) -> None:
    mutex, order = Mutex(), list[int]()
    mutex.acquire()

    def take(index: int) -> None:
        with mutex:
            order.append(index)

    threads = [parked(VirtualThread(take, n, group=group).start()) for n in range(8)]
    mutex.release()
    for thread in threads:
        thread.result(PATIENCE_S)
    assert order == list(range(8))


def test_a_mutex_is_its_holders_and_not_reentrant(group: CarrierGroup) -> None:
    mutex = Mutex()
    with pytest.raises(WrongThreadError, match="nobody does"):
        mutex.release()
    with mutex:
        with pytest.raises(StateError, match="reentrant"):
            mutex.acquire()
        thief = VirtualThread(mutex.release, group=group, name="thief").start()
        with pytest.raises(WrongThreadError, match="does not hold"):
            thief.result(PATIENCE_S)
    with pytest.raises(UsageError, match="timeout_s is -1"):
        mutex.acquire(-1)
    assert not mutex.locked()


def test_what_a_lock_prints_is_who_has_it_or_how_many(group: CarrierGroup) -> None:
    mutex, semaphore = Mutex(), Semaphore(3)
    assert repr(Condition(mutex)) == "<Condition of <Mutex of nobody>>"
    with mutex, semaphore:
        assert repr(mutex) == f"<Mutex of OS thread {threading.get_ident()}>"
        assert repr(semaphore) == "<Semaphore with 2 permits free>"

    def shown() -> str:
        with mutex:
            return repr(mutex)

    thread = VirtualThread(shown, group=group, name="taker").start()
    assert thread.result(PATIENCE_S) == "<Mutex of taker>"


@pytest.mark.parametrize("what", ["mutex", "semaphore", "condition"])
def test_an_interrupt_ends_a_wait(group: CarrierGroup, what: str) -> None:
    mutex, semaphore, condition = Mutex(), Semaphore(0), Condition()
    calls = {"mutex": mutex.acquire, "semaphore": semaphore.acquire, "condition": condition.wait}
    mutex.acquire()

    def wait() -> str:
        with condition, pytest.raises(ThreadInterruptedError):
            calls[what]()
        return "out"

    waiter = parked(VirtualThread(wait, group=group).start())
    waiter.interrupt()
    assert waiter.result(PATIENCE_S) == "out"
    mutex.release()
    assert mutex.acquire(0)
    semaphore.release()
    assert semaphore.permits == 1


def test_a_signal_handler_runs_while_the_main_thread_waits() -> None:
    # An exception that it raises ends the wait: Ctrl-C does.
    mutex, semaphore, condition = Mutex(), Semaphore(0), Condition()
    threading.Thread(target=mutex.acquire).start()
    while not mutex.locked():
        pass

    def raises(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, raises)
    try:
        with condition:
            for wait in (mutex.acquire, semaphore.acquire, condition.wait):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                with pytest.raises(KeyboardInterrupt):
                    wait()
    finally:
        signal.signal(signal.SIGALRM, before)
    semaphore.release()
    assert semaphore.permits == 1


def test_a_close_takes_its_threads_out_of_line() -> None:
    # Otherwise the things that others give would go to a thread that never runs again.
    mutex, semaphore, condition = Mutex(), Semaphore(0), Condition()
    mutex.acquire()
    group = CarrierGroup(1)

    def wait() -> None:
        with condition:
            condition.wait()

    async def await_permits() -> None:
        await coroutine.acquire(semaphore, 2)

    calls = (mutex.acquire, semaphore.acquire, await_permits, wait)
    threads = [parked(VirtualThread(call, group=group).start()) for call in calls]
    assert len(group.close(10, cancel=True)) == len(threads)
    del threads
    mutex.release()
    assert mutex.acquire(0)
    semaphore.release()
    assert semaphore.acquire(timeout_s=0)
    with condition:
        condition.notify_all()
    assert condition.mutex.acquire(0)
