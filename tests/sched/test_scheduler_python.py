# SPDX-License-Identifier: Apache-2.0
"""Schedulers of one's own: `Scheduler`, `VirtualThread.run_step`, and `submit_and_yield`."""

from __future__ import annotations

import contextlib
import ctypes
import heapq
import itertools
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.support.virtual import PATIENCE_S, until

from wakeproof import (
    CarrierGroup,
    ClosedError,
    Mutex,
    NativeScheduler,
    Scheduler,
    StateError,
    ThreadInterruptedError,
    UsageError,
    VirtualThread,
    WrongThreadError,
    coroutine,
    current,
    dump,
    io,
    park,
    sleep,
    submit_and_yield,
    yield_now,
)
from wakeproof._native import build
from wakeproof.config import Tuning

ROUNDS = 6


class InTurn:
    """Runs threads on an OS thread of its own, in the order in which they come."""

    def __init__(self) -> None:
        self.waiting: queue.SimpleQueue[VirtualThread[Any] | None] = queue.SimpleQueue()
        self.given = 0

    def submit(self, thread: VirtualThread[Any]) -> None:
        assert current() is None  # whoever calls
        self.given += 1
        self.waiting.put(thread)

    def run(self) -> None:
        while (thread := self.waiting.get()) is not None:
            assert thread.run_step()


@contextlib.contextmanager
def running(scheduler: InTurn, runners: int = 1) -> Iterator[CarrierGroup]:
    """Run the scheduler on OS threads until the group of this block is closed."""
    threads = [threading.Thread(target=scheduler.run) for _ in range(runners)]
    for thread in threads:
        thread.start()
    try:
        with CarrierGroup(1) as group:
            yield group
    finally:
        for _ in threads:
            scheduler.waiting.put(None)
        for thread in threads:
            thread.join()


class ByName:
    """Runs the thread with the least name first, when it is told to."""

    def __init__(self) -> None:
        self.heap: list[tuple[object, int, VirtualThread[Any]]] = []
        self.numbers = itertools.count()

    def key(self, thread: VirtualThread[Any]) -> object:
        return thread.name

    def submit(self, thread: VirtualThread[Any]) -> None:
        heapq.heappush(self.heap, (self.key(thread), next(self.numbers), thread))

    def run(self) -> None:
        while self.heap:
            heapq.heappop(self.heap)[2].run_step()


class Forgets(ByName):
    """A twin: it does not look at names."""

    def key(self, _: VirtualThread[Any]) -> object:
        return 0


def order_of(scheduler: ByName) -> list[str]:
    ran: list[str] = []

    def body(name: str) -> None:
        ran.append(name)
        yield_now()
        ran.append(name.upper())

    with CarrierGroup(1) as group:
        for name in "cabd":
            group.factory(name=name, scheduler=scheduler)(body, name)
        scheduler.run()
    return ran


def test_a_scheduler_decides_the_order_and_one_that_does_not_is_seen() -> None:
    assert order_of(ByName()) == ["a", "A", "b", "B", "c", "C", "d", "D"]
    assert order_of(Forgets()) == ["c", "a", "b", "d", "C", "A", "B", "D"]


def test_threads_of_a_scheduler_wait_as_all_others() -> None:
    scheduler = InTurn()
    with running(scheduler) as group:
        start = group.factory(scheduler=scheduler)
        mutex = Mutex()
        mutex.acquire()
        waits = start(mutex.acquire)
        others = [start(sleep, 0.001) for _ in range(20)]
        assert all(thread.join(PATIENCE_S) for thread in others)
        assert waits.is_alive()
        mutex.release()
        assert waits.result(PATIENCE_S) is True
        assert start(park, 0.001).result(PATIENCE_S) is False
        parks = start(park)
        parks.unpark()
        assert parks.result(PATIENCE_S) is True
        stopped = start(park)
        stopped.interrupt()
        with pytest.raises(ThreadInterruptedError):
            stopped.result(PATIENCE_S)
        one, other = io.socketpair(group=group)
        reads = start(one.recv, 1)
        assert start(lambda: other.send(b"x")).result(PATIENCE_S) == 1
        assert reads.result(PATIENCE_S) == b"x"
        assert start(lambda: VirtualThread(len, "abc").start().result()).result(PATIENCE_S) == 3
        with pytest.raises(ZeroDivisionError):
            start(divmod, 1, 0).result(PATIENCE_S)
    assert scheduler.given > 30
    assert isinstance(scheduler, Scheduler)


def test_steps_of_a_coroutine_are_run_by_several_os_threads() -> None:
    scheduler = InTurn()
    seen: set[int] = set()

    async def body() -> int:
        for _ in range(50):
            seen.add(threading.get_ident())
            await coroutine.yield_now()
            await coroutine.sleep(0.0001)
        return 50

    with running(scheduler, runners=3) as group:
        start = group.factory(scheduler=scheduler)
        assert [one.result(PATIENCE_S) for one in [start(body) for _ in range(20)]] == [50] * 20
    assert len(seen) > 1


def test_only_its_threads_are_given_to_a_scheduler() -> None:
    scheduler = InTurn()
    with running(scheduler) as group:
        assert VirtualThread(len, "abc", group=group).start().result(PATIENCE_S) == 3
        assert group.submit(len, "abc").result(PATIENCE_S) == 3
    assert scheduler.given == 0


def test_a_callable_stays_on_the_os_thread_that_began_it() -> None:
    scheduler = ByName()
    with CarrierGroup(1) as group:
        thread = group.factory(name="own", scheduler=scheduler)(yield_now)
        assert thread.run_step()
        errors: list[Exception] = []

        def elsewhere() -> None:
            try:
                thread.run_step()
            except WrongThreadError as error:
                errors.append(error)

        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()
        assert f"run own: its stack belongs to OS thread {threading.get_ident()}" in str(errors[0])
        assert thread.run_step()  # nothing is lost
        assert thread.result(PATIENCE_S) is None


def test_a_turn_is_run_once() -> None:
    scheduler = ByName()
    with CarrierGroup(1) as group:
        thread = group.factory(scheduler=scheduler)(park)
        assert thread.state == "queued"
        assert thread.run_step()
        assert not thread.run_step()
        assert thread.state == "parked"
        thread.unpark()
        assert thread.run_step()
        assert not thread.run_step()
        assert thread.result(PATIENCE_S) is True


def test_refused() -> None:
    with CarrierGroup(1) as group:
        plain = VirtualThread(park, group=group)
        with pytest.raises(StateError, match="a factory with a scheduler"):
            plain.run_step()
        with pytest.raises(UsageError, match=r"submit\(thread\)"):
            group.factory(scheduler=object())  # type: ignore[arg-type]
        scheduler = ByName()
        thread = group.factory(scheduler=scheduler)(len, "abc")
        inside = VirtualThread(thread.run_step, group=group, name="inside").start()
        with pytest.raises(WrongThreadError, match="inside runs here"):
            inside.result(PATIENCE_S)
        assert group.submit(thread.run_step).result(PATIENCE_S)  # a task is no virtual thread
        assert thread.result(PATIENCE_S) == 3


def test_a_step_inside_a_submit_is_refused_if_a_virtual_thread_submits() -> None:
    errors: list[WrongThreadError] = []

    class AtOnce(ByName):
        def submit(self, thread: VirtualThread[Any]) -> None:
            super().submit(thread)
            try:
                thread.run_step()
            except WrongThreadError as error:
                errors.append(error)

    scheduler = AtOnce()
    with CarrierGroup(1) as group:
        make = group.factory(name="given", scheduler=scheduler)
        maker = VirtualThread(make, len, "abc", group=group, name="maker").start()
        thread = maker.result(PATIENCE_S)
        assert [str(error) for error in errors] == [
            "run given: maker runs here; call it in an OS thread or a task"
        ]
        assert thread.run_step()  # nothing is lost
        assert thread.result(PATIENCE_S) == 3
        assert make(len, "ab").result(PATIENCE_S) == 2  # an OS thread may run it at once


def test_a_close_waits_for_what_a_scheduler_has() -> None:
    scheduler = ByName()
    group = CarrierGroup(1)
    thread = group.factory(name="held", scheduler=scheduler)(len, "abc")
    assert [(one.name, one.state) for one in group.close(0.01)] == [("held", "queued")]
    said = StringIO()
    dump(said)
    assert '"held" virtual, queued' in said.getvalue()
    scheduler.run()
    assert group.close(PATIENCE_S) == []
    assert thread.result() == 3


def test_a_thread_that_is_parked_when_its_group_is_closed_is_gone() -> None:
    scheduler = ByName()
    group = CarrierGroup(1)
    thread = group.factory(scheduler=scheduler)(park)
    scheduler.run()
    assert [one.state for one in group.close(cancel=True)] == ["parked"]
    assert not thread.run_step()
    thread.unpark()
    assert not scheduler.heap
    with pytest.raises(ClosedError):
        thread.result()


IN_C = """
#include <pthread.h>
#include <stddef.h>

static int (*run)(void *thread);
static void *waiting[256];
static int count, is_over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t come = PTHREAD_COND_INITIALIZER;
static pthread_t runner;
int given;

/* The last one first. */
static void submit(void *arg, void *thread)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	waiting[count++] = thread;
	given++;
	pthread_cond_signal(&come);
	pthread_mutex_unlock(&lock);
}

static void *runs(void *nothing)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		void *thread;

		while (count == 0 && !is_over)
			pthread_cond_wait(&come, &lock);
		if (count == 0)
			break;
		thread = waiting[--count];
		pthread_mutex_unlock(&lock);
		run(thread);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return nothing;
}

struct { void (*submit)(void *, void *); void *arg; } last_first = {submit, NULL};

void begin(int (*with)(void *))
{
	run = with;
	pthread_create(&runner, NULL, runs, NULL);
}

void end(void)
{
	pthread_mutex_lock(&lock);
	is_over = 1;
	pthread_cond_signal(&come);
	pthread_mutex_unlock(&lock);
	pthread_join(runner, NULL);
}
"""


@pytest.fixture
def in_c(tmp_path: Path) -> ctypes.CDLL:
    source, library = tmp_path / "last_first.c", tmp_path / "last_first.so"
    source.write_text(IN_C)
    command = [*build.compiler(), "-shared", "-fPIC", "-pthread", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def test_a_scheduler_in_c_runs_threads(in_c: ctypes.CDLL) -> None:
    place = ctypes.addressof(ctypes.c_void_p.in_dll(in_c, "last_first"))
    scheduler = NativeScheduler(place, keeps=in_c)
    ran: list[int] = []

    def body(number: int) -> int:
        ran.append(number)
        sleep(0.001)
        return number

    async def awaits() -> str:
        await coroutine.sleep(0.001)
        return "a coroutine"

    with CarrierGroup(1) as group:
        start = group.factory(scheduler=scheduler)
        threads = [start(body, number) for number in range(10)]
        in_c.begin(ctypes.c_void_p(scheduler.run_address))
        assert [thread.result(PATIENCE_S) for thread in threads] == list(range(10))
        assert ran == list(range(10))[::-1]
        assert start(awaits).result(PATIENCE_S) == "a coroutine"
        with pytest.raises(ZeroDivisionError):
            start(divmod, 1, 0).result(PATIENCE_S)
    in_c.end()
    assert ctypes.c_int.in_dll(in_c, "given").value >= 10 + 2  # each start
    with pytest.raises(UsageError, match="address is 0"):
        NativeScheduler(0)


class Fails(ByName):
    """Fails some calls, or loses all threads as a twin."""

    def __init__(self, failures: int, error: type[BaseException] = ValueError) -> None:
        super().__init__()
        self.failures, self.error = failures, error

    def submit(self, thread: VirtualThread[Any]) -> None:
        self.failures -= 1
        if self.failures >= 0:
            raise self.error("no memory, say")
        super().submit(thread)


def test_a_submit_that_fails_is_made_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[sys.UnraisableHookArgs] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    with CarrierGroup(1) as group:
        scheduler = Fails(1)
        thread = group.factory(name="again", scheduler=scheduler)(len, "abc")
        scheduler.run()
        assert thread.result(PATIENCE_S) == 3
        assert "in the scheduler of again" in str(getattr(said[0].exc_value, "__notes__", ""))
        lost = group.factory(scheduler=Fails(2))(len, "abc")
        assert not lost.join(0.01)
        assert lost.run_step()
        assert lost.result(PATIENCE_S) == 3


class RunsAndFails(ByName):
    """Fails each call after the thread has run to its end."""

    calls = 0

    def submit(self, thread: VirtualThread[Any]) -> None:
        self.calls += 1
        super().submit(thread)
        self.run()
        raise ValueError("too late")


def test_a_submit_that_fails_after_the_thread_has_ended_is_not_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[sys.UnraisableHookArgs] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    with CarrierGroup(1) as group:
        scheduler = RunsAndFails()
        thread = group.factory(scheduler=scheduler)(len, "abc")
        assert thread.result(PATIENCE_S) == 3
    assert scheduler.calls == 1
    assert {(type(hook.exc_value), str(hook.exc_value)) for hook in said} == {
        (ValueError, "too late")
    }


def test_ctrl_c_in_a_submit_loses_no_thread() -> None:
    with CarrierGroup(1) as group:
        scheduler = Fails(1, KeyboardInterrupt)
        thread = group.factory(scheduler=scheduler).unstarted(len, "abc")

        def start() -> None:
            thread.start()
            until(lambda: False)  # Ctrl-C comes after the call that gave

        with pytest.raises(KeyboardInterrupt):
            start()
        scheduler.run()
        assert thread.result(PATIENCE_S) == 3


def order_after(hand: Callable[[VirtualThread[Any]], object]) -> str:
    """Hand over to "b" again and again, while many "c" were queued from elsewhere before."""
    ran: list[str] = []
    begun, go = threading.Event(), threading.Event()

    def hands_over() -> None:
        begun.set()
        assert go.wait(PATIENCE_S)
        for _ in range(ROUNDS):
            ran.append("a")
            hand(VirtualThread(ran.append, "b"))

    with CarrierGroup(1, work_stealing=True, tuning=Tuning(queue="bounded")) as group:
        first = VirtualThread(hands_over, group=group).start()
        assert begun.wait(PATIENCE_S)
        for _ in range(2 * ROUNDS):
            VirtualThread(ran.append, "c", group=group).start()
        go.set()
        first.result(PATIENCE_S)
    assert sorted(ran) == sorted("abcc" * ROUNDS)
    return "".join(ran)


def starts(thread: VirtualThread[Any]) -> None:
    """Hand over as the twin of `submit_and_yield`, which queues the thread behind others."""
    thread.start()
    yield_now()


def test_what_is_submitted_before_a_yield_runs_next() -> None:
    assert order_after(submit_and_yield).count("ab") == ROUNDS
    assert order_after(starts).count("ab") < ROUNDS


def test_submit_and_yield_starts_or_unparks(either_group: CarrierGroup) -> None:
    ran: list[str] = []

    def other() -> None:
        park()
        ran.append("other")

    async def awaits(thread: VirtualThread[Any]) -> None:
        await coroutine.submit_and_yield(thread)

    def caller() -> None:
        thread = VirtualThread(other, group=either_group[0])
        submit_and_yield(thread)
        submit_and_yield(thread)
        thread.join()
        ran.append("caller")

    VirtualThread(caller, group=either_group[0]).start().result(PATIENCE_S)
    assert ran == ["other", "caller"]
    thread = VirtualThread(other, group=either_group)
    submit_and_yield(thread)  # of an OS thread
    VirtualThread(awaits, thread, group=either_group).start().result(PATIENCE_S)
    thread.result(PATIENCE_S)
    late = VirtualThread(other, group=either_group)
    either_group.close()
    with pytest.raises(ClosedError):
        submit_and_yield(late)
