# SPDX-License-Identifier: Apache-2.0
"""Carrier groups run callables on permanent threads that keep related work together.

Spec: ``specs/Group.tla``, ``Task.tla``, ``Search.tla``.  Source: ``kernel/group.h``.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

from wakeproof._deadline import deadline_ns
from wakeproof._ffi import ffi, lib
from wakeproof.config import settle
from wakeproof.errors import ClosedError, ForkedError, error_for
from wakeproof.topology import Seats

if TYPE_CHECKING:
    from wakeproof._ffi import CGroup, CTask
    from wakeproof.topology import Scope, Topology

P = ParamSpec("P")
T = TypeVar("T")
State = Literal["parked", "queued", "running"]


@dataclass(frozen=True)
class Unfinished:
    """A task that had not ended when its group was closed.

    Attributes:
        name: the callable's qualified name, or what `submit` was given.
        state: "queued", "parked"; "running": it could not be stopped, and may still end.
    """

    name: str
    state: State


@dataclass(frozen=True)
class CarrierCounts:
    """What one carrier has done since its group was made; read while it goes on.

    Attributes:
        runs: steps of tasks.
        directed: steps of tasks that it was sent to steal, or found before it slept.
        probed: steps of tasks that it stole from the longer of two siblings' queues.
        drains: turns of its loop that ran something.
        parks: times it went to sleep, or was about to.
        runnable: tasks queued here now, about.
    """

    runs: int
    directed: int
    probed: int
    drains: int
    parks: int
    runnable: int


@dataclass
class _Work:
    """A callable on its way; gone when it has run."""

    group: CarrierGroup
    name: str
    call: Callable[[], object]
    future: Future[Any]
    runs: bool = False


_works: dict[int, _Work] = {}
_numbers = itertools.count(1)
_open: set[CarrierGroup] = set()


def _step(job: CTask) -> int:
    """Run the callable of `job`: the kernel calls this on a carrier."""
    number = lib.wp__job_number(job)
    work = _works[number]
    work.runs = True
    if work.future.set_running_or_notify_cancel():
        try:
            result = work.call()
        except BaseException as error:
            work.future.set_exception(error)
        else:
            work.future.set_result(result)
    del _works[number]
    return lib.WP_STEP_DONE


_STEP = ffi.callback("int(wp_task *)", _step)


class Carrier:
    """One thread of a group: what is submitted here runs here, unless a sibling steals it.

    Source: ``kernel/group.h``, ``carrier.h``.
    """

    def __init__(self, group: CarrierGroup, index: int) -> None:
        self._group = weakref.proxy(group)
        self._seats = group._seats
        self.index = index

    def __repr__(self) -> str:
        return f"<Carrier {self.name}>"

    @property
    def name(self) -> str:
        """Its full name, such as ``carrier-0-cluster0-core2``."""
        return self._seats.name(self.index)

    @property
    def cluster(self) -> int:
        """Its cluster; 0 without a topology."""
        return self._seats.clusters[self.index]

    @property
    def core(self) -> int | None:
        """Its physical core; None: it floats."""
        return self._seats.cores[self.index]

    @property
    def cpu(self) -> int | None:
        """The CPU that it is pinned to; None: it floats."""
        return self._seats.cpus[self.index]

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn(*args, **kwargs)`` on this carrier; as `CarrierGroup.submit`."""
        future: Future[T] = self._group._start(self.index, fn, args, kwargs)
        return future

    def factory(self) -> Callable[..., Future[Any]]:
        """Return a function that submits to this carrier."""
        return self.submit

    @property
    def counts(self) -> CarrierCounts:
        """What it has done so far."""
        counts: CarrierCounts = self._group._counts(self.index)
        return counts

    @property
    def runnable_count(self) -> int:
        """How many tasks are queued here now, about."""
        return self.counts.runnable


class CarrierGroup:
    """Carriers: permanent threads, each with its own run queue.

    ``with CarrierGroup(2) as group: group.submit(fn).result()``.  A task runs on its home carrier:
    the one it was submitted to, or that runs the task that submits it.  With `work_stealing` an
    idle carrier may take one that is queued elsewhere.

    Args:
        carriers: how many, 1 to 1,024; default: the smaller of allowed CPUs and cgroup quota.
        work_stealing: idle carriers help their siblings; default False.
        yield_us: how long a carrier runs its queue before it looks up, 1 to 1,000,000; default 50.
        steal_scope: whom they help: "global", all; "cluster", those of their own cluster.  Default:
            what an object given as `topology` says, else "global".
        topology: "linux": one carrier per CPU, see `LinuxTopology`; or a `Topology` of your own;
            default: carriers float, in one cluster.

    What is not given is taken from WAKEPROOF_CARRIERS, _WORK_STEALING, _YIELD_US, _STEAL_SCOPE and
    _TOPOLOGY ("none" or "linux") in the environment, if they are set there.

    Threads: all methods may be called from any thread; `close` not from its own carriers.
    After a fork the child may not use the group: every method raises ForkedError.
    Source: ``kernel/group.h``.

    Raises:
        UsageError: a value out of range (a ValueError as well).
        SystemCallError: no thread could be started; or the topology cannot be read.

    Warns:
        TopologyWarning: carriers float that were to be pinned; once per group.
    """

    def __init__(
        self,
        carriers: int | None = None,
        *,
        work_stealing: bool | None = None,
        yield_us: int | None = None,
        steal_scope: Scope | None = None,
        topology: Topology | Literal["linux"] | None = None,
    ) -> None:
        chosen = settle(carriers, work_stealing, yield_us, steal_scope, topology)
        count, stealing = chosen.carriers, chosen.work_stealing
        self._seats = Seats(chosen.topology, count, stealing=stealing, scope=chosen.steal_scope)
        self._pid = os.getpid()
        self._closed = False
        self._closing = threading.Lock()
        made = lib.wp__group_new(
            count, chosen.yield_us, stealing, *self._seats.numbers(), self._seats.callback
        )
        if not made:
            raise error_for(
                lib.WP_SYSTEM, f"{count} carriers: {os.strerror(ffi.errno)} (memory, or threads)"
            )
        self._native: CGroup = made
        self._carriers = tuple(Carrier(self, index) for index in range(count))
        self.work_stealing = stealing
        _open.add(self)
        try:
            self._seats.wait()
        except BaseException:  # a warning that is an error, or Ctrl-C
            self.close(0, cancel=True)
            raise

    def __len__(self) -> int:
        return len(self._carriers)

    def __iter__(self) -> Iterator[Carrier]:
        return iter(self._carriers)

    @overload
    def __getitem__(self, index: int) -> Carrier: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Carrier, ...]: ...
    def __getitem__(self, index: int | slice) -> Carrier | tuple[Carrier, ...]:
        return self._carriers[index]

    def __enter__(self) -> CarrierGroup:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(cancel=kind is not None)

    @property
    def domains(self) -> tuple[tuple[Carrier, ...], ...]:
        """Which carriers may steal from one another; alone without work stealing."""
        return tuple(tuple(self[index] for index in domain) for domain in self._seats.domains)

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return self._closed

    @property
    def running(self) -> Carrier | None:
        """The carrier of this group that runs the caller, or None."""
        self._check_process()
        index = lib.wp_group_running(self._native)
        return self._carriers[index] if index >= 0 else None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn(*args, **kwargs)``; result or exception come through the future.

        On the carrier that runs the caller, else on one that the calling thread always gets.

        Raises:
            ClosedError: the group is closed, or being closed.
            ForkedError: this process is a child of the one that made the group.
        """
        carrier = self.running
        index = carrier.index if carrier else hash(threading.get_ident() >> 12) % len(self)
        return self._start(index, fn, args, kwargs)

    def factory(self) -> Callable[..., Future[Any]]:
        """Return a function that submits as `submit` does, wherever it is called."""
        return self.submit

    def close(self, timeout_s: float | None = None, *, cancel: bool = False) -> list[Unfinished]:
        """Accept nothing any more, wait until all tasks have ended, stop the carriers.

        Args:
            timeout_s: wait at most so long; then cancel what has not begun.
            cancel: do not wait at all for what has not begun.

        Returns what had not ended; its futures are cancelled.  Once `timeout_s` is over, tasks
        that run are given 0.1 s more.  If one still runs then, all that is unfinished is returned
        and stays so until a second `close`, which waits for those that run and cancels the
        others.  Closing again is harmless.

        Raises:
            WrongThreadError: the caller is one of the group's own carriers.
            ForkedError: as in `submit`.
        """
        self._check_process()
        until = deadline_ns(timeout_s)
        self._closed = True
        found: list[Unfinished] = []

        def each(_: object, job: CTask, was_parked: bool) -> None:
            found.append(_hand_back(job, was_parked=was_parked))

        told = ffi.callback("void(void *, wp_task *, bool)", each)
        code = lib.WP_INTERRUPTED
        while code == lib.WP_INTERRUPTED:  # a signal handler has run: if it raised, we are out
            code = lib.wp_group_close(self._native, until, cancel, told, ffi.NULL)
        if code == lib.WP_FORBIDDEN:
            raise error_for(code, "a carrier cannot close its own group: it would wait for itself")
        if code == lib.WP_OK:
            _open.discard(self)
        else:
            here = [work for work in list(_works.values()) if work.group is self]
            found += [Unfinished(w.name, "running" if w.runs else "queued") for w in here]
        return found

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise ForkedError(
                f"this group belongs to process {self._pid}; a forked child has no carriers: make "
                "a group of its own"
            )

    def _counts(self, index: int) -> CarrierCounts:
        self._check_process()
        counts = lib.wp_group_counts(self._native, index)
        return CarrierCounts(
            counts.runs, counts.directed, counts.probed, counts.drains, counts.parks,
            counts.runnable,
        )  # fmt: skip

    def _start(
        self, index: int, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Future[T]:
        self._check_process()
        future: Future[T] = Future()
        number = next(_numbers)
        name = getattr(fn, "__qualname__", repr(fn))
        _works[number] = _Work(self, name, lambda: fn(*args, **kwargs), future)
        job = lib.wp__job_new(_STEP, number, False)
        if not job:
            del _works[number]
            raise MemoryError(f"submit {name}: no memory")
        if lib.wp_group_start(self._native, index, job) != lib.WP_OK:
            lib.wp__job_free(job)
            del _works[number]
            raise ClosedError(f"submit {name}: the group is closed")
        return future


def _hand_back(job: CTask, *, was_parked: bool) -> Unfinished:
    """Cancel and free a task that has not ended."""
    work = _works.pop(lib.wp__job_number(job))
    lib.wp__job_free(job)
    work.future.cancel()
    work.future.set_running_or_notify_cancel()
    return Unfinished(work.name, "parked" if was_parked else "queued")


def _close_all() -> None:
    """Close what is open before the interpreter ends; what runs on is left behind."""
    for group in list(_open):
        if group._pid == os.getpid() and group.running is None:
            group.close(0, cancel=True)


atexit.register(_close_all)
