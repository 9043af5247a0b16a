# SPDX-License-Identifier: Apache-2.0
"""Carrier groups run callables on permanent threads that keep related work together.

Spec: ``specs/sched/Group.tla``, ``Task.tla``, ``Search.tla``.  Source: ``kernel/sched/group.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar, overload
from weakref import WeakSet

from wakeproof import counts, trace
from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import future as _future
from wakeproof._runtime import group_registry, held
from wakeproof._runtime import process as _process
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.jobs import ANYWHERE, Unfinished, hand_back, submit, threads, unfinished
from wakeproof._runtime.native_group import native
from wakeproof._runtime.noncopyable import Unique
from wakeproof.carrier import Carrier
from wakeproof.config import Placement, Queue, settle
from wakeproof.errors import ForkedError, error_for
from wakeproof.topology import Seats

if TYPE_CHECKING:
    from wakeproof._native.ffi import CGroup
    from wakeproof._runtime.descriptor import Descriptor
    from wakeproof.counts import DomainStatistics, SpareCarrierCounts
    from wakeproof.factory import ThreadFactory
    from wakeproof.topology import Scope, Topology
    from wakeproof.trace import Event
    from wakeproof.vthread import VirtualThread

P = ParamSpec("P")
T = TypeVar("T")


class CarrierGroup(Unique):
    """Carriers: permanent threads, each with its own run queue.

    ``with CarrierGroup(2) as group: group.submit(fn).result()``.  A task runs on its home carrier:
    the one it was submitted to, or that runs the task that submits it.

    Args:
        carriers: how many, 1 to 1,024; default: the smaller of allowed CPUs and cgroup quota.
        work_stealing: idle carriers take what is queued at their siblings; default False.
        yield_us: how long a carrier runs its queue before it looks up, 1 to 1,000,000; default 50.
        steal_scope: whom they help: "global", all; "cluster", those of their own cluster.  Default:
            what an object given as `topology` says, else "global".
        topology: "linux": one carrier per CPU, see `LinuxTopology`; or a `Topology` of your own;
            default: carriers float, in one cluster.
        idle_spins: looks in vain before a poller of `wakeproof.io` blocks, at most 1,000,000; 0.
        placement: where a task or thread starts that is given no carrier: "home", see `submit`; or
            by load, what is queued and what runs: "two_choices", the lesser of two that are drawn;
            "least_loaded", the least; "cluster_two_choices", the lesser of two in that of two
            clusters with less per carrier.  Default "home".
        place_at_resume: a thread that was parked is placed anew where it goes on, by load, unless
            it is pinned, or runs a callable, which stays where it began; default False.
        monitor_ms: a carrier that something waits for is as one in `blocking` once a step takes
            longer, at the latest after twice as long, until it ends; 0, the default: never.
        spare_carriers: carriers, at most, that stand in for such, each in a domain of its own; 0.
        queue: "bounded": what a carrier queues for itself is in a ring of 256; a sibling steals
            half at once, and half of a full one goes to its run queue; default "unbounded".
        trace_events: how many events to keep of each carrier, rounded up to a power of two, at
            most 1,048,576; 0: none, until `trace_on`, which costs nothing; None: 0, unless
            ``wakeproof trace`` or `wakeproof.trace.switch_on` asks.

    What is not given is taken from the environment: WAKEPROOF_CARRIERS and so on.

    Threads: all methods may be called from any thread; `close` not from its own carriers.
    After a fork the child may not use the group: every method raises ForkedError.  A child that a
    task forks ends where the task returns, with what it says to `sys.exit`, 1 after any other
    exception, else 0; exit handlers do not run.

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
        idle_spins: int | None = None,
        placement: Placement | None = None,
        place_at_resume: bool | None = None,
        monitor_ms: int | None = None,
        spare_carriers: int | None = None,
        queue: Queue | None = None,
        trace_events: int | None = None,
    ) -> None:
        chosen = settle(
            carriers, work_stealing, yield_us, steal_scope, topology, idle_spins, placement,
            monitor_ms, place_at_resume, spare_carriers, queue,
        )  # fmt: skip
        count, self.work_stealing, more = (
            chosen.carriers,
            chosen.work_stealing,
            chosen.spare_carriers,
        )
        self._seats = Seats(chosen.topology, count, stealing=self.work_stealing,
                            scope=chosen.steal_scope, more=more)  # fmt: skip
        self._pid, asked = _process.pid, trace.size(trace_events)
        self._closed, self._life = False, [True]  # until it is freed
        self._descriptors: WeakSet[Descriptor] = WeakSet()  # open ones, and
        self._has_pollers, self._idle_spins = False, chosen.idle_spins  # for them
        self._native = native(chosen, self._seats, asked)
        self._all = tuple(Carrier(self, index) for index in range(count + more))
        self._carriers = self._all[:count]
        self._anywhere, self._is_placed = Carrier(self, ANYWHERE), bool(chosen.placement)
        group_registry.groups.add(self)
        try:
            self._seats.wait()
        except BaseException:  # a warning that is an error, or Ctrl-C
            self.close(0, cancel=True)
            raise

    def __repr__(self) -> str:
        return f"<CarrierGroup of {len(self)} carriers{', closed' * self._closed}>"

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
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            try:
                self.close(cancel=kind is not None)
            except KeyboardInterrupt:
                self._end()
                raise
        else:
            self._end()

    def _end(self) -> None:
        """Close it after Ctrl-C; another one leaves it to the interpreter's end.

        Parked threads are interrupted, and have a second to clean up.
        """
        for thread in self._threads():
            thread.interrupt()
        while True:
            left = self.close(held.EACH_S)
            if self not in group_registry.groups:
                return
            held.tell("the close of a group", self._threads() or left)

    def _threads(self) -> list[VirtualThread]:
        return [thread for thread in list(threads.values()) if thread._group is self]

    @property
    def domains(self) -> tuple[tuple[Carrier, ...], ...]:
        """Which carriers may steal from one another; alone without work stealing."""
        return tuple(tuple(self[index] for index in domain) for domain in self._seats.domains)

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return self._closed

    def running(self) -> Carrier | None:
        """Return the carrier that runs the calling task; None: the caller is none of this group."""
        return self._carrier(lib.wp_group_running)

    def home(self) -> Carrier | None:
        """Return the carrier that the calling task was submitted to; None as in `running`.

        Another one than `running`: the task is stolen; `running` is home to what it submits.
        """
        return self._carrier(lib.wp_group_home)

    def statistics(self) -> tuple[DomainStatistics, ...]:
        """Return what searches, steals and wakes came to, for each of `domains`."""
        self._check_process()
        return tuple(counts.statistics(self._native, domain) for domain in self._seats.domains)

    def spare_carriers(self) -> SpareCarrierCounts:
        """Return how many carriers stand in for marked ones, and what that took."""
        self._check_process()
        return counts.spare_carriers(self._native)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn(*args, **kwargs)``; result or exception come through the future.

        On the caller's carrier; from outside on one after the other; or as `placement` says.
        It is a task, not a virtual thread: what waits in it blocks its carrier (see `factory`).

        Raises:
            ClosedError: the group is closed, or being closed.
            ForkedError: this process is a child of the one that made the group.
        """
        return self._anywhere.submit(fn, *args, **kwargs)

    def factory(self, *, name: str | None = None, pinned: bool = False) -> ThreadFactory:
        """Return what makes virtual threads, placed where and when each starts.

        Arguments and errors as of `Carrier.factory`.
        """
        from wakeproof.factory import ThreadFactory  # which needs this module

        return ThreadFactory(self, name=name, pinned=pinned)

    @property
    def tracing(self) -> int:
        """How many events are kept of each carrier; 0: none are, now."""
        return lib.wp_group_tracing(self._native)

    def trace_on(self, events: int | None = None) -> None:
        """Keep events from now on: so many of each carrier, or as many as before, if that is more.

        What is under way has no event; nor has it its name, if nobody gave it one.

        Args:
            events: rounded up to a power of two, 1 to 1,048,576; None: as before, at first 65,536.

        Raises:
            UsageError: another number.
            SystemCallError: there is no memory for so many.
        """
        self._check_process()
        trace.on(self._native, events)

    def trace_off(self) -> None:
        """Keep no more events; those that are there stay, until a larger number is asked for."""
        self._check_process()
        lib.wp_group_trace_off(self._native)

    def events(self) -> list[Event]:
        """Return the events that were kept, in the order of their beginnings (`trace_on`)."""
        self._check_process()
        return trace.events(self._native, [one.name for one in self._all])

    def close(self, timeout_s: float | None = None, *, cancel: bool = False) -> list[Unfinished]:
        """Accept nothing any more, wait until all tasks have ended, stop the carriers.

        Args:
            timeout_s: wait at most so long; then cancel what has not begun.
            cancel: do not wait at all for what has not begun.

        Returns what had not ended; its futures are cancelled.  Once `timeout_s` is over, tasks that
        run are given 0.1 s.  If one still runs then, all that is unfinished is returned and stays
        so until a second `close`, which waits for those and cancels the others.

        Raises:
            WrongThreadError: the caller is one of the group's own carriers.
            ForkedError: as in `submit`.
        """
        self._check_process()
        until, self._closed = deadline_ns(timeout_s), True
        back, code = ffi.new("wp_task **"), lib.WP_INTERRUPTED
        while code == lib.WP_INTERRUPTED:  # a signal handler has run: if it raised, we are out
            code = lib.wp__group_close(self._native, until, cancel, back)
        if code == lib.WP_FORBIDDEN:
            raise error_for(code, "a carrier cannot close its own group: it would wait for itself")
        if code == lib.WP_OK:
            if self in group_registry.groups:
                trace.save(self.events())
            for descriptor in list(self._descriptors):
                descriptor.close()  # nobody would tell who waits
            group_registry.release(self, self._native)
            return hand_back(back[0])
        return unfinished(self)

    def _check_process(self) -> None:
        if self._pid != _process.pid:
            raise ForkedError(f"this group belongs to process {self._pid}: make one of your own")

    def _carrier(self, asked: Callable[[CGroup], int]) -> Carrier | None:
        self._check_process()
        index = asked(self._native)
        return self._all[index] if index >= 0 else None

    def _start(self, index: int, call: Callable[[], T], name: str) -> Future[T]:
        return submit(self, index, call, name, _future.Future())
