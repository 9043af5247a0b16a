# SPDX-License-Identifier: Apache-2.0
"""Under `install` a virtual thread has an identity of its own, and a Thread may be virtual.

Serves ``_runtime/stdlib/names.py``, ``_runtime/stdlib/threads.py``.
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import current_thread as current_thread_before
from threading import get_ident as ident_before
from typing import Any

import pytest
from tests.support.holding import run
from tests.support.virtual import until

import wakeproof
from wakeproof import (
    CarrierGroup,
    StateError,
    VirtualThread,
    coroutine,
    current,
    default_group,
    install,
    sleep,
    uninstall,
    yield_now,
)
from wakeproof._runtime.line import IS_OWN
from wakeproof._runtime.os_threads import os_threads

CARRIERS = 1  # of `group`
PATIENCE_S = 60
pytestmark = pytest.mark.skipif(not IS_OWN, reason="built without Python.h")


@pytest.fixture(autouse=True)
def uninstalled() -> Iterator[None]:
    active = set(threading.enumerate())
    yield
    uninstall()
    stay = ("carrier-", "wakeproof-offload")  # of the default group, and of `io.offload`
    left = {one for one in threading.enumerate() if not one.name.startswith(stay)}
    assert left <= active


# ---- identity ----


def test_each_virtual_thread_has_a_number_and_a_thread_of_its_own(group: CarrierGroup) -> None:
    install()

    def body() -> tuple[Any, ...]:
        first = threading.get_ident(), threading.current_thread()
        yield_now()
        assert (ident_before(), current_thread_before()) == first
        me = first[1]
        assert me in threading.enumerate()
        assert me.is_alive()
        assert not me.daemon
        assert me.ident == first[0]
        assert me.native_id == threading.get_native_id()
        with pytest.raises(RuntimeError, match="cannot join current thread"):
            me.join()
        return *first, me.name

    threads = [VirtualThread(body, name=f"number {n}", group=group).start() for n in range(3)]
    found = [one.result(PATIENCE_S) for one in threads]
    assert len({ident for ident, _, _ in found}) == 3
    assert [name for _, _, name in found] == ["number 0", "number 1", "number 2"]
    for _, known, _ in found:
        assert not known.is_alive()
        known.join()
        assert known not in threading.enumerate()


def test_without_install_virtual_threads_have_their_carriers_number(group: CarrierGroup) -> None:
    threads = [VirtualThread(threading.get_ident, group=group).start() for _ in range(3)]
    assert len({one.result(PATIENCE_S) for one in threads}) == 1


def test_a_name_that_is_set_is_that_of_the_virtual_thread(group: CarrierGroup) -> None:
    install()

    def body() -> str:
        threading.current_thread().name = "new"
        me = current()
        assert me is not None
        return me.name

    assert VirtualThread(body, group=group).start().result(PATIENCE_S) == "new"


def test_a_coroutine_keeps_its_number_on_each_carrier() -> None:
    install()

    async def body() -> set[tuple[int, threading.Thread]]:
        seen = set()
        for _ in range(50):
            seen.add((threading.get_ident(), threading.current_thread()))
            await coroutine.yield_now()
        return seen

    with CarrierGroup(2, work_stealing=True) as group:
        threads = [VirtualThread(body, group=group).start() for _ in range(20)]
        assert all(len(one.result(PATIENCE_S)) == 1 for one in threads)


def test_functions_that_take_an_os_threads_number_take_a_virtual_threads(
    group: CarrierGroup,
) -> None:
    install()
    assert group.submit(int).result(PATIENCE_S) == 0  # so that the carrier is known

    def body() -> bool:
        signal.pthread_kill(threading.get_ident(), 0)
        assert sys._current_frames()[threading.get_ident()] is sys._getframe()
        return time.clock_gettime(time.pthread_getcpuclockid(threading.get_ident())) > 0

    assert VirtualThread(body, group=group).start().result(PATIENCE_S) is True
    other = VirtualThread(lambda: sleep(0.2), group=group).start()
    signal.pthread_kill(2 * other._number + 1, 0)
    other.result(PATIENCE_S)
    with pytest.raises(ProcessLookupError, match="no virtual thread with the number 3000001 runs"):
        signal.pthread_kill(3_000_001, 0)


def test_a_log_line_names_its_virtual_thread(group: CarrierGroup) -> None:
    install()
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(threadName)s %(thread)d %(message)s"))
    logger = logging.Logger("test")
    logger.addHandler(handler)

    def body() -> int:
        logger.warning("said")
        return threading.get_ident()

    idents = [
        VirtualThread(body, name=f"v{n}", group=group).start().result(PATIENCE_S) for n in range(2)
    ]
    assert text.getvalue() == f"v0 {idents[0]} said\nv1 {idents[1]} said\n"


def test_loggings_lock_keeps_virtual_threads_apart_across_a_park(group: CarrierGroup) -> None:
    install()
    inside: list[int] = []

    class Slow(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002
            inside.append(1)
            assert len(inside) == 1
            sleep(0.002)
            inside.pop()

    logger = logging.Logger("slow")
    logger.addHandler(Slow())
    threads = [VirtualThread(logger.warning, "said", group=group).start() for _ in range(5)]
    for one in threads:
        one.result(PATIENCE_S)


def test_an_import_that_parks_is_waited_for(
    group: CarrierGroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By the carrier's number the second one would take itself for the first, and see half of it.
    (tmp_path / "slow_to_import.py").write_text(
        "import time\ntime.sleep(0.05)\nwhole = True\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    install()

    def body() -> bool:
        return bool(importlib.import_module("slow_to_import").whole)

    threads = [VirtualThread(body, group=group).start() for _ in range(3)]
    try:
        assert [one.result(PATIENCE_S) for one in threads] == [True] * 3
    finally:
        sys.modules.pop("slow_to_import", None)


def test_event_loops_of_virtual_threads_of_one_carrier_do_not_meet(group: CarrierGroup) -> None:
    install()

    def body(number: int) -> int:
        async def main() -> int:
            await asyncio.sleep(0.01)
            return number

        return asyncio.run(main())

    threads = [VirtualThread(body, n, group=group).start() for n in range(5)]
    assert [one.result(PATIENCE_S) for one in threads] == list(range(5))


def test_a_fork_in_a_virtual_thread_keeps_its_identity(group: CarrierGroup) -> None:
    install()

    def body() -> int:
        me, ident = threading.current_thread(), threading.get_ident()
        child = os.fork()
        if child == 0:
            lock = threading.Lock()
            is_so = (
                threading.get_ident() == ident
                and threading.current_thread() is threading.main_thread() is me
                and lock.acquire(timeout=1)
                and not lock.acquire(timeout=0.01)
            )
            os._exit(0 if is_so else 1)
        return os.waitpid(child, 0)[1]

    assert VirtualThread(body, group=group).start().result(PATIENCE_S) == 0


# ---- join of OS threads ----


def test_many_virtual_threads_join_many_os_threads(group: CarrierGroup) -> None:
    install()
    gate = threading.Event()
    os_threads = [threading.Thread(target=gate.wait) for _ in range(5)]
    for one in os_threads:
        one.start()

    def joins() -> bool:
        for one in os_threads:
            one.join()
        return not any(one.is_alive() for one in os_threads)

    threads = [VirtualThread(joins, group=group).start() for _ in range(40)]
    late = VirtualThread(os_threads[0].join, 0.02, group=group).start()
    late.result(PATIENCE_S)
    assert os_threads[0].is_alive()
    until(lambda: {one.state for one in threads} == {"parked"})
    gate.set()
    assert [one.result(PATIENCE_S) for one in threads] == [True] * 40


def test_join_refuses_what_it_did(group: CarrierGroup) -> None:
    install()
    never = threading.Thread()
    with pytest.raises(RuntimeError, match="cannot join thread before it is started"):
        VirtualThread(never.join, group=group).start().result(PATIENCE_S)


# ---- Threads that are virtual ----


def test_a_thread_is_virtual_and_all_that_threading_knows_of_it_is_right() -> None:
    install(threads="virtual")
    seen: list[Any] = []
    word = contextvars.ContextVar("word", default="none")
    word.set("main's")
    values = threading.local()
    values.x = "main's"

    def body() -> None:
        seen.extend([threading.current_thread(), current(), threading.get_ident()])
        seen.extend([getattr(values, "x", None), word.get()])
        sleep(0.01)

    thread = threading.Thread(target=body, name="worker")
    assert not thread.is_alive()
    thread.start()
    assert thread.is_alive()
    assert thread in threading.enumerate()
    assert not thread.daemon
    with pytest.raises(RuntimeError, match="threads can only be started once"):
        thread.start()
    thread.join()
    assert not thread.is_alive()
    assert thread not in threading.enumerate()
    assert seen[0] is thread
    assert isinstance(seen[1], VirtualThread)
    assert seen[1].name == "worker"
    assert seen[2] == thread.ident
    assert seen[3:] == [None, "none"]
    thread.join()


def test_threads_wait_side_by_side_and_not_one_after_the_other() -> None:
    install(threads="virtual")
    begin = time.monotonic()
    threads = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(200)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE_S)
    assert not any(one.is_alive() for one in threads)
    assert time.monotonic() - begin < 5  # one after the other: 40 s


def test_by_default_a_thread_is_an_os_thread() -> None:
    install()
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(current()))
    thread.start()
    thread.join()
    assert seen == [None]


def test_a_thread_that_must_be_an_os_thread_is_one() -> None:
    install(threads="virtual")
    seen: list[Any] = []
    with os_threads():
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
    thread.join()
    assert seen == [None]
    assert VirtualThread(wakeproof.io.offload, current).start().result(PATIENCE_S) is None


def test_an_exception_goes_to_the_excepthook_with_its_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(threads="virtual")
    said: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: said.append(args))

    def fails() -> None:
        raise KeyError("as it was meant to")

    thread = threading.Thread(target=fails)
    thread.start()
    thread.join()
    assert [(one.exc_type, one.thread) for one in said] == [(KeyError, thread)]


def test_a_pool_and_a_timer_run_on_virtual_threads() -> None:
    install(threads="virtual")
    called = threading.Event()
    timer = threading.Timer(0.02, called.set)
    timer.start()
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda n: (current() is not None, time.sleep(0.05), n), range(40)))
    assert found == [(True, None, n) for n in range(40)]
    assert called.wait(PATIENCE_S)
    timer.join(PATIENCE_S)
    assert not timer.is_alive()


def test_a_join_has_its_timeout_from_either_kind_of_thread() -> None:
    install(threads="virtual")
    gate = threading.Event()
    thread = threading.Thread(target=gate.wait)
    thread.start()
    thread.join(0.02)
    assert thread.is_alive()
    joiner = VirtualThread(thread.join).start()
    gate.set()
    joiner.result(PATIENCE_S)
    assert not thread.is_alive()


def test_a_start_from_a_coroutine_does_not_wait_for_its_own_carrier() -> None:
    install(threads="virtual")
    seen: list[int] = []

    async def body() -> threading.Thread:
        thread = threading.Thread(target=lambda: seen.append(1))
        thread.start()
        return thread

    VirtualThread(body, group=default_group()).start().result(PATIENCE_S).join(PATIENCE_S)
    assert seen == [1]


def test_uninstall_waits_for_no_thread_and_says_so() -> None:
    install(threads="virtual")
    gate = threading.Event()
    thread = threading.Thread(target=gate.wait, name="worker")
    thread.start()
    with pytest.raises(StateError, match="worker runs as a virtual thread; join it first"):
        uninstall()
    gate.set()
    thread.join()
    uninstall()


def test_the_interpreter_waits_for_threads_and_not_for_daemons() -> None:
    program = """if True:
        import threading, time, wakeproof
        wakeproof.install(threads="virtual")
        def late():
            time.sleep(0.2)
            print("late", flush=True)
            threading.Thread(target=lambda: (time.sleep(0.1), print("later", flush=True))).start()
        threading.Thread(target=late).start()
        threading.Thread(target=lambda: (time.sleep(50), print("never")), daemon=True).start()
    """
    begin = time.monotonic()
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                         check=True)  # fmt: skip
    assert (ran.stdout, ran.stderr) == ("late\nlater\n", "")
    assert time.monotonic() - begin < 40


def test_a_fork_in_a_virtual_thread_leaves_the_other_threads_behind() -> None:
    install(threads="virtual")
    gate, said = threading.Event(), list[int]()
    other = threading.Thread(target=gate.wait)
    other.start()

    def body() -> None:
        child = os.fork()
        if child == 0:
            me = threading.current_thread()
            is_so = me is threading.main_thread() and not other.is_alive() and me.is_alive()
            other.join()
            os._exit(0 if is_so and threading.enumerate() == [me] else 1)
        said.append(os.waitpid(child, 0)[1])

    thread = threading.Thread(target=body)
    thread.start()
    thread.join(PATIENCE_S)
    gate.set()
    other.join(PATIENCE_S)
    assert said == [0]


def test_a_fork_in_a_virtual_thread_that_threading_did_not_start_makes_it_the_main_thread() -> None:
    install()

    def body() -> int:
        before = threading.current_thread()
        child = os.fork()
        if child == 0:
            me = threading.current_thread()
            is_alive = ThreadPoolExecutor(1).submit(me.is_alive).result()
            is_so = before is me is threading.main_thread() and is_alive
            os._exit(0 if is_so and not other.is_alive() else 1)
        return os.waitpid(child, 0)[1]

    gate = threading.Event()
    other = threading.Thread(target=gate.wait)
    other.start()
    with CarrierGroup(1) as group:
        assert VirtualThread(body, group=group).start().result(PATIENCE_S) == 0
    gate.set()
    other.join()


def test_a_signal_handler_of_the_main_thread_uses_locks_as_an_os_thread() -> None:
    install(threads="virtual")
    lock, seen = threading.Lock(), list[str]()

    def handler(*_: object) -> None:
        with lock:  # a virtual thread has it, and releases it meanwhile
            seen.append("handler")

    def holds() -> None:
        with lock:
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.05)
            seen.append("holder")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        thread = threading.Thread(target=holds)
        thread.start()
        until(lambda: len(seen) == 2)
        thread.join(PATIENCE_S)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == ["holder", "handler"]


@pytest.mark.slow
def test_a_pool_of_processes_ends() -> None:
    # Its end takes a lock of processes while a thread of the pool has to run.
    assert (
        run("""
        import multiprocessing, threading, wakeproof
        wakeproof.install(threads="virtual")
        def works():
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(abs, [-1, 2]))
        thread = threading.Thread(target=works)
        thread.start()
        thread.join()
    """)
        == "[1, 2]\n"
    )
