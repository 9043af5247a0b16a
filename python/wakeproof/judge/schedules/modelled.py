# SPDX-License-Identifier: Apache-2.0
"""What a thread of a run does when it calls the standard library.

Locks, RLocks and SimpleQueues stay those of the interpreter: a thread stops before a call of their
methods, and when it is its turn the method itself is called, which then need not wait.  So whatever
the standard library builds on them is judged as it is: Condition, Event, Semaphore, Barrier, Queue,
futures and executors.  Threads and the time are modelled.

All is exchanged in the definitions of the builtin functions, so names that were imported before,
and objects that were made before, are seen as well.

Source: ``_native/exchange.c``.
"""

from __future__ import annotations

import _multiprocessing  # type: ignore[import-not-found]
import _posixsubprocess
import _signal  # type: ignore[import-not-found]
import _thread
import asyncio
import contextlib
import inspect
import os
import queue
import select
import socket
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import _base
from typing import Any

import wakeproof
from wakeproof._runtime.stdlib.replacement import Attribute, Function, Replacement
from wakeproof.errors import StateError
from wakeproof.judge.schedules.execution import IDENTS, Run, Task, exchange, own
from wakeproof.judge.schedules.loop import Loop
from wakeproof.judge.schedules.operation import (
    ACQUIRE,
    GET,
    JOIN,
    LOOK,
    PASS,
    PUT,
    READ,
    RELEASE,
    SLEEP,
    START,
    TIME,
    TRY,
    YIELD,
)

_Lock: Any = type(threading.Lock())
_RLock: Any = type(threading.RLock())
_locked = exchange.original(_Lock.locked)
_active: dict[int, threading.Thread] = vars(threading)["_active"]
_os_ident = exchange.original(_thread.get_ident)
running: Run | None = None


def is_ours() -> bool:
    """Return whether the caller is a thread of a run; asked where it may be another."""
    return running is not None and _os_ident() == _runs_in and own.here.thread is None


_runs_in = 0


def _ident(number: int) -> int:
    return 2 * (IDENTS + number) + 1 if number else _runs_in


def forget(run: Run) -> None:
    """End a run, also for threads that have not begun."""
    global running
    running = None
    for task in run.alive:
        if task.number:
            _active.pop(_ident(task.number), None)


# ---- locks ----


def _take(run: Run, old: Callable[..., Any], test: Callable[[Any], bool], *call: Any) -> bool:
    """Take a lock that the caller does not have, by its method `old`: lock, blocking, timeout."""
    lock, blocking, timeout = call
    if not blocking or (timeout < 0 and timeout != -1):
        run.point(TRY, lock, shuts=test)
        got: bool = old(lock, blocking, timeout)  # or it refuses
    else:
        until = None if timeout < 0 else run.now_s + timeout
        if run.point(ACQUIRE, lock, test=test, until=until):
            return False
        got = old(lock, False)
        assert got
    if got:
        run.owners[id(lock)] = [run.current, 1]
    return got


def _free(run: Run, old: Callable[..., Any], shuts: Callable[[Any], bool], lock: Any) -> None:
    """Free a lock, by its method `old`."""
    run.point(RELEASE, lock, shuts=shuts)
    old(lock)
    run.owners.pop(id(lock), None)


def _acquires(old: Callable[..., Any]) -> Callable[..., Any]:
    def acquire(lock: Any, blocking: bool = True, timeout: float = -1) -> bool:
        run = running
        assert run is not None
        return run.is_unwinding or _take(run, old, _locked, lock, blocking, timeout)

    return acquire


def _releases(old: Callable[..., Any]) -> Callable[..., Any]:
    def release(lock: Any, *_: object) -> None:
        run = running
        assert run is not None
        if run.is_unwinding:
            with contextlib.suppress(RuntimeError):
                old(lock)
        else:
            _free(run, old, _locked, lock)

    return release


def _looks(shuts: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def made(old: Callable[..., Any]) -> Callable[..., Any]:
        def look(what: Any) -> Any:
            assert running is not None
            if not running.is_unwinding:
                running.point(LOOK, what, READ, shuts=shuts)
            return old(what)

        return look

    return made


def _is_anothers(lock: Any) -> bool:
    assert running is not None
    return id(lock) in running.owners


def _acquires_again(old: Callable[..., Any]) -> Callable[..., Any]:
    def acquire(lock: Any, blocking: bool = True, timeout: float = -1) -> bool:
        run = running
        assert run is not None
        if run.is_unwinding:
            return True
        mine = run.owners.get(id(lock))
        if mine is None or mine[0] is not run.current:
            return _take(run, old, _is_anothers, lock, blocking, timeout)
        got: bool = old(lock, blocking, timeout)
        mine[1] += 1
        return got

    return acquire


def _releases_once(old: Callable[..., Any]) -> Callable[..., Any]:
    def release(lock: Any, *_: object) -> None:
        run = running
        assert run is not None
        mine = run.owners.get(id(lock))
        if run.is_unwinding:
            with contextlib.suppress(RuntimeError):
                old(lock)
        elif mine is not None and mine[0] is run.current and mine[1] > 1:
            old(lock)
            mine[1] -= 1
        else:
            _free(run, old, _is_anothers, lock)

    return release


def _saves(old: Callable[..., Any]) -> Callable[..., Any]:
    def save(lock: Any) -> Any:
        run = running
        assert run is not None
        if run.is_unwinding:
            return None
        run.point(RELEASE, lock, shuts=_is_anothers)
        state = old(lock)
        _, count = run.owners.pop(id(lock))
        return state, count

    return save


def _restores(old: Callable[..., Any]) -> Callable[..., Any]:
    def restore(lock: Any, saved: Any) -> None:
        run = running
        assert run is not None
        if run.is_unwinding:
            return
        run.point(ACQUIRE, lock, test=_is_anothers)
        state, count = saved
        old(lock, state)
        run.owners[id(lock)] = [run.current, count]

    return restore


def _locks() -> Iterator[Replacement]:
    for name in "acquire", "acquire_lock", "__enter__":
        yield Function(_Lock, name, _acquires)
    for name in "release", "release_lock", "__exit__":
        yield Function(_Lock, name, _releases)
    for name in "locked", "locked_lock":
        yield Function(_Lock, name, _looks(_locked))
    for name in "acquire", "__enter__":
        yield Function(_RLock, name, _acquires_again)
    for name in "release", "__exit__":
        yield Function(_RLock, name, _releases_once)
    yield Function(_RLock, "_release_save", _saves)
    yield Function(_RLock, "_acquire_restore", _restores)
    if hasattr(_RLock, "locked"):  # 3.14
        yield Function(_RLock, "locked", _looks(_is_anothers))


# ---- SimpleQueue ----

_is_empty = exchange.original(queue.SimpleQueue.empty)


def _puts(old: Callable[..., Any]) -> Callable[..., Any]:
    def put(line: Any, item: Any, *_: object, **__: object) -> None:
        assert running is not None
        if not running.is_unwinding:
            running.point(PUT, line, shuts=_is_empty)
        old(line, item)

    return put


def _gets(old: Callable[..., Any]) -> Callable[..., Any]:
    def get(line: Any, block: bool = True, timeout: float | None = None) -> Any:
        run = running
        assert run is not None
        if run.is_unwinding or (block and timeout is not None and timeout < 0):
            return old(line, False) if run.is_unwinding else old(line, block, timeout)
        if not block:
            run.point(TRY, line, shuts=_is_empty)
        else:
            until = None if timeout is None else run.now_s + timeout
            run.point(GET, line, test=_is_empty, until=until)
        return old(line, False)

    return get


def _gets_now(old: Callable[..., Any]) -> Callable[..., Any]:
    def get_nowait(line: Any) -> Any:
        assert running is not None
        if not running.is_unwinding:
            running.point(TRY, line, shuts=_is_empty)
        return old(line)

    return get_nowait


def _queues() -> Iterator[Replacement]:
    if queue.SimpleQueue.__module__ != "_queue":
        return  # it is in Python, on a lock
    yield Function(queue.SimpleQueue, "put", _puts)
    yield Function(queue.SimpleQueue, "put_nowait", _puts)
    yield Function(queue.SimpleQueue, "get", _gets)
    yield Function(queue.SimpleQueue, "get_nowait", _gets_now)
    yield Function(queue.SimpleQueue, "empty", _looks(_is_empty))
    yield Function(queue.SimpleQueue, "qsize", _looks(_is_empty))


# ---- the time ----


def _sleeps(old: Callable[[Any], None]) -> Callable[[Any], None]:
    def sleep(seconds: Any, /) -> None:
        run = running
        assert run is not None
        if run.is_unwinding:
            return
        if not seconds >= 0:
            old(seconds)  # which refuses it
        elif seconds == 0:
            run.point(YIELD, None, PASS)
        else:
            run.point(SLEEP, None, PASS, until=run.now_s + float(seconds))

    return sleep


def _tells(factor: int) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def made(_: Callable[[], Any]) -> Callable[[], Any]:
        def tell() -> Any:
            run = running
            assert run is not None
            if not run.is_unwinding:
                run.point(TIME, None, READ)
            return run.now_s if factor == 1 else int(run.now_s * factor)

        return tell

    return made


def _clocks() -> Iterator[Replacement]:
    yield Function(time, "sleep", _sleeps)
    for name in "time", "monotonic", "perf_counter":
        yield Function(time, name, _tells(1))
        yield Function(time, f"{name}_ns", _tells(1_000_000_000))


# ---- threads ----


class _Handle:
    """What a Thread of Python 3.13 knows of its OS thread, when it has ended."""

    ident = 0

    def is_done(self) -> bool:
        return True

    def join(self, timeout: float | None = None) -> None:
        """Return: it has ended."""

    def _set_done(self) -> None:
        """Do nothing: it has ended."""


def _lives(task: Task) -> bool:
    return not task.is_done


def _task_of(thread: Any) -> Task:
    assert running is not None
    return next(task for task in running.tasks if task.thread is thread)


def _starts(old: Callable[[Any], None]) -> Callable[[Any], None]:
    def start(self: Any) -> None:
        run = running
        if run is None or not is_ours():
            return old(self)
        if not self._initialized:
            raise RuntimeError("thread.__init__() not called")
        if self._started._flag:
            raise RuntimeError("threads can only be started once")
        run.point(START, self)
        self._started._flag = True
        self._ident = ident = _ident(len(run.tasks))
        _active[ident] = self
        run.start(lambda: _runs(self), self)
        return None

    return start


def _runs(thread: Any) -> None:
    ident = thread._ident
    try:
        thread.run()
    finally:
        if _active.get(ident) is thread:
            del _active[ident]
        if sys.version_info >= (3, 13):
            thread._handle = _Handle()
        else:
            thread._is_stopped, thread._tstate_lock = True, None


def _joins(old: Callable[..., None]) -> Callable[..., None]:
    def join(self: Any, timeout: float | None = None) -> None:
        run = running
        if run is None or not is_ours():
            return old(self, timeout)
        if not self._initialized:
            raise RuntimeError("Thread.__init__() not called")
        if not self._started._flag:
            raise RuntimeError("cannot join thread before it is started")
        task = _task_of(self)
        if task is run.current:
            raise RuntimeError("cannot join current thread")
        if not run.is_unwinding:
            until = None if timeout is None else run.now_s + max(timeout, 0)
            run.point(JOIN, task, READ, test=_lives, until=until)
        return None

    return join


def _is_alive(old: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def is_alive(self: Any) -> bool:
        run = running
        if run is None or not is_ours() or not self._started._flag:
            return old(self)
        task = _task_of(self)
        if not run.is_unwinding:
            run.point(LOOK, task, READ, shuts=_lives)
        return not task.is_done

    return is_alive


def _begins(_: Callable[..., int]) -> Callable[..., int]:
    def start_new_thread(call: Any, args: Any, named: Any = None, /) -> int:
        run = running
        assert run is not None
        run.point(START, run.current)
        return _ident(run.start(lambda: call(*args, **(named or {}))).number)

    return start_new_thread


def _tells_ident(_: Callable[[], int]) -> Callable[[], int]:
    def get_ident() -> int:
        assert running is not None
        return _ident(running.current.number)

    return get_ident


def _threads() -> Iterator[Replacement]:
    yield Function(_thread, "get_ident", _tells_ident)
    yield Function(_thread, "start_new_thread", _begins)
    yield Attribute(threading.Thread, "start", _starts)
    yield Attribute(threading.Thread, "join", _joins)
    yield Attribute(threading.Thread, "is_alive", _is_alive)


# ---- sets of futures and threads, which waits go through in the order of addresses ----


def _by_number(old: Callable[[Any], int]) -> Callable[[Any], int]:
    def number(self: Any) -> int:
        run = running
        return run.number_of(self) if run is not None and is_ours() else old(self)

    return number


def _in_sets() -> Iterator[Replacement]:
    vars(_base).setdefault("id", id)
    yield Attribute(_base, "id", _by_number)
    yield Attribute(_base.Future, "__hash__", _by_number)
    yield Attribute(threading.Thread, "__hash__", _by_number)  # an executor joins its own


# ---- asyncio ----

_policies = [name for name in vars(asyncio.events) if name.endswith("BaseDefaultEventLoopPolicy")]
_policy: Any = getattr(asyncio.events, _policies[0])  # 3.14: it begins with "_"


def _makes_loop(old: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def new_event_loop(self: Any) -> Any:
        run = running
        return Loop(run) if run is not None and is_ours() else old(self)

    return new_event_loop


def _ignores_factory(old: Callable[..., None]) -> Callable[..., None]:
    def begins(self: Any, *, debug: bool | None = None, loop_factory: Any = None) -> None:
        old(self, debug=debug, loop_factory=None if is_ours() else loop_factory)

    return begins


_OF_ONE_THREAD: tuple[tuple[type, tuple[str, ...]], ...] = (
    (asyncio.Condition, ("notify",)),
    (asyncio.Event, ("clear", "is_set", "set")),
    (asyncio.Lock, ("locked", "release")),
    (asyncio.Queue, ("empty", "full", "get_nowait", "put_nowait", "qsize", "task_done")),
    (asyncio.Semaphore, ("locked", "release")),
)
"""What only the thread of their loop may call, and others call all the same."""


def _enters(old: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **named: Any) -> Any:
        run = running
        if run is not None and run.loops and is_ours():
            mine = self._loop  # None: nobody has waited yet
            runs_one = any(loop.thread is run.current for loop in run.loops)
            for loop in run.loops:
                if loop is mine or (mine is None and not runs_one):
                    loop.enters()
        return old(self, *args, **named)

    return call


def _in_order(_: type) -> Callable[..., Any]:
    def made(items: Iterable[Any] = ()) -> Any:
        some = list(items)
        return dict.fromkeys(some) if any(map(asyncio.iscoroutine, some)) else set(some)

    return made


def _asyncio() -> Iterator[Replacement]:
    yield Attribute(_policy, "new_event_loop", _makes_loop)
    yield Attribute(asyncio.Runner, "__init__", _ignores_factory)
    for of, names in _OF_ONE_THREAD:
        for name in names:
            yield Attribute(of, name, _enters)
    vars(asyncio.tasks).setdefault("set", set)
    yield Attribute(asyncio.tasks, "set", _in_order)  # `as_completed` goes through one


# ---- what is not modelled ----


def _refuses(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def made(_: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> Any:
            assert running is not None
            running.refuse(what)

        return refuse

    return made


OWN = (
    "Channel", "CarrierGroup", "Condition", "Latch", "MpscQueue", "Mutex", "Parker",
    "RendezvousGuard", "Semaphore", "VirtualThread", "WakeupGuard",
)  # fmt: skip
"""What waits by the kernel of wakeproof."""


def _refuses_ours(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    refuse = _refuses(f"wakeproof.{name} waits by a kernel of its own")(print)

    def made(old: Callable[..., Any]) -> Callable[..., Any]:
        def begins(self: Any, *args: Any, **named: Any) -> Any:
            return refuse() if is_ours() else old(self, *args, **named)

        return begins

    return made


_OF_SOCKETS = (
    "_accept", "connect", "recv", "recv_into", "recvfrom", "recvfrom_into", "recvmsg",
    "recvmsg_into", "send", "sendall", "sendmsg", "sendto",
)  # fmt: skip


def _refused() -> Iterator[Replacement]:
    for name in OWN:
        of = getattr(wakeproof, name)
        for method in dir(of):
            is_public = not method.startswith("_") or method in ("__init__", "__enter__")
            kind = type(inspect.getattr_static(of, method))
            if is_public and kind in (types.FunctionType, types.MethodDescriptorType):
                yield Attribute(of, method, _refuses_ours(name))
    for name in "fork", "forkpty", "posix_spawn", "posix_spawnp", "system":
        yield Function(os, name, _refuses(f"os.{name} starts a process"))
    yield Function(_posixsubprocess, "fork_exec", _refuses("subprocess starts a process"))
    for name in "acquire", "__enter__":
        what = "a lock, semaphore or queue of multiprocessing waits for a process"
        yield Function(_multiprocessing.SemLock, name, _refuses(what))
    for name in "waitpid", "wait", "wait3", "wait4", "waitid":
        yield Function(os, name, _refuses(f"os.{name} waits for a process"))
    of_socket: Any = socket.socket.__base__
    for name in _OF_SOCKETS:
        yield Function(of_socket, name, _refuses(f"socket.{name.strip('_')} waits for a peer"))
    yield Function(select, "select", _refuses("select.select waits for descriptors"))
    for poller in type(select.poll()), getattr(select, "epoll", None):
        if poller is not None:
            what = f"select.{poller.__name__} waits for descriptors, as a selector of asyncio does"
            yield Function(poller, "poll", _refuses(what))
    for name in "sigwait", "sigwaitinfo", "sigtimedwait", "pause":
        yield Function(_signal, name, _refuses(f"signal.{name} waits for a signal"))


_one = threading.Lock()
AREAS: tuple[Callable[[], Iterator[Replacement]], ...] = (
    _locks, _queues, _clocks, _threads, _in_sets, _asyncio, _refused,
)  # fmt: skip


@contextlib.contextmanager
def exchanged() -> Iterator[None]:
    """Let threads of runs call what is above.

    Raises:
        StateError: another exploration is under way in this process, or the caller is a virtual
            thread.
    """
    global _runs_in
    if own.here.thread is not None:
        raise StateError("schedules: the caller is a virtual thread; call it from an OS thread")
    if not _one.acquire(blocking=False):
        raise StateError("schedules: an exploration is under way in this process; one at a time")
    _runs_in = _os_ident()
    for name in OWN:
        getattr(wakeproof, name)  # an import that exchanges methods of RLock comes first
    done: list[Replacement] = []
    try:
        for area in AREAS:
            for one in area():
                one.install()
                done.append(one)
        yield
    finally:
        while done:
            done.pop().uninstall()
        _one.release()
