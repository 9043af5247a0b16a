# SPDX-License-Identifier: Apache-2.0
"""Carrier groups run callables on permanent threads that keep related work together.

Spec: ``specs/Group.tla``, ``Task.tla``, ``Search.tla``.  Source: ``kernel/group.h``.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

from wakeproof import trace
from wakeproof._deadline import deadline_ns
from wakeproof._ffi import ffi, lib
from wakeproof._jobs import STEP, CarrierCounts, Unfinished, Work, counts, hand_back, numbers, works
from wakeproof.carrier import Carrier
from wakeproof.config import settle
from wakeproof.errors import ClosedError, ForkedError, error_for
from wakeproof.topology import Seats

if TYPE_CHECKING:
    from wakeproof._ffi import CGroup
    from wakeproof.topology import Scope, Topology
    from wakeproof.trace import Event

P = ParamSpec("P")
T = TypeVar("T")

_open: set[CarrierGroup] = set()


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
        trace_events: how many events to keep of each carrier, rounded up to a power of two, at
            most 1,048,576; 0: none, which costs nothing; None: 0, unless ``wakeproof trace`` asks.

    What is not given is taken from WAKEPROOF_CARRIERS, _WORK_STEALING, _YIELD_US, _STEAL_SCOPE and
    _TOPOLOGY ("none" or "linux") in the environment, if they are set there.

    Threads: all methods may be called from any thread; `close` not from its own carriers.
    After a fork the child may not use the group: every method raises ForkedError.  A child that a
    task forks ends where the task returns, with what it says to `sys.exit`, 1 after any other
    exception, else 0; exit handlers do not run.
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
        trace_events: int | None = None,
    ) -> None:
        chosen = settle(carriers, work_stealing, yield_us, steal_scope, topology)
        count, stealing = chosen.carriers, chosen.work_stealing
        self._seats = Seats(chosen.topology, count, stealing=stealing, scope=chosen.steal_scope)
        self._trace_events = trace.size(trace_events)
        self._pid = os.getpid()
        self._closed = False
        self._closing = threading.Lock()
        made = lib.wp__group_new(
            count,
            chosen.yield_us,
            stealing,
            self._trace_events,
            *self._seats.numbers(),
            self._seats.callback,
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

    def events(self) -> list[Event]:
        """Return the events that are kept, in the order of their beginnings (`trace_events`)."""
        self._check_process()
        if not self._trace_events:
            return []
        return trace.events(self._native, len(self), self._trace_events)

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
        back = ffi.new("wp_task **")
        code = lib.WP_INTERRUPTED
        while code == lib.WP_INTERRUPTED:  # a signal handler has run: if it raised, we are out
            code = lib.wp__group_close(self._native, until, cancel, back)
        if code == lib.WP_FORBIDDEN:
            raise error_for(code, "a carrier cannot close its own group: it would wait for itself")
        if code == lib.WP_OK:
            if self in _open:
                trace.save(self.events())
            self._release()
            return hand_back(back[0])
        here = [work for work in list(works.values()) if work.group is self]
        return [Unfinished(work.name, "running" if work.runs else "queued") for work in here]

    def _release(self) -> None:
        """Have it freed once nobody can be inside a call any more, for that takes `self`."""
        with self._closing:
            if self in _open:
                _open.remove(self)
                weakref.finalize(self, _free, self._native, self._pid).atexit = False

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise ForkedError(f"this group belongs to process {self._pid}: make one of your own")

    def _counts(self, index: int) -> CarrierCounts:
        self._check_process()
        return counts(lib.wp_group_counts(self._native, index))

    def _start(
        self, index: int, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Future[T]:
        self._check_process()
        future: Future[T] = Future()
        number = next(numbers)
        name = getattr(fn, "__qualname__", repr(fn))
        works[number] = Work(self, name, lambda: fn(*args, **kwargs), future)
        job = lib.wp__job_new(STEP, number, False)
        if not job:
            del works[number]
            raise MemoryError(f"submit {name}: no memory")
        if lib.wp_group_start(self._native, index, job) != lib.WP_OK:
            lib.wp__job_free(job)
            del works[number]
            raise ClosedError(f"submit {name}: the group is closed")
        return future


def _free(native: CGroup, pid: int) -> None:
    if pid == os.getpid():  # a forked child's thread may be one of its carriers
        lib.wp_group_free(native)


def _close_all() -> None:
    """Close what is open before the interpreter ends; what runs on is left behind."""
    for group in list(_open):
        if group._pid == os.getpid() and group.running is None:
            group.close(0, cancel=True)


atexit.register(_close_all)
