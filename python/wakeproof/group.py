# SPDX-License-Identifier: Apache-2.0
"""Carrier groups: permanent threads that run callables and keep related work together.

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
from wakeproof.config import settle
from wakeproof.errors import ForkedError, error_for
from wakeproof.topology import Seats

if TYPE_CHECKING:
    from wakeproof._native.ffi import CGroup
    from wakeproof._runtime.descriptor import Descriptor
    from wakeproof.config import Compensation, Placement, Stealing, Tracing, Tuning
    from wakeproof.counts import DomainStatistics, SpareCarrierCounts
    from wakeproof.factory import ThreadFactory
    from wakeproof.topology import Topology
    from wakeproof.trace import Event
    from wakeproof.vthread import VirtualThread

P = ParamSpec("P")
T = TypeVar("T")


class CarrierGroup(Unique):
    """A group of carriers: permanent OS threads, each with its own run queue.

    A task runs on its home carrier: the carrier that it was submitted to, or else the carrier that
    runs the task that submits it.  With work stealing an idle carrier may take a queued task from a
    busy sibling.  As a context manager the group closes at the end of the block, and waits for all
    tasks first.

    Args:
        carriers: the number of carriers, 1 to 1,024; default: the number of allowed CPUs or the
            cgroup's CPU quota, whichever is smaller.
        work_stealing: whether idle carriers take what is queued at their siblings; default False.
        topology: "linux" places one carrier on each CPU, see `LinuxTopology`; an object is your own
            `Topology`; default: carriers float between CPUs, in one cluster.
        stealing: which siblings idle carriers steal from, see `Stealing`.
        placement: where tasks and threads start, see `Placement`.
        compensation: what the group does about blocked carriers, see `Compensation`.
        tracing: which events the group keeps, see `Tracing`.
        tuning: settings for measurements and tests only, see `wakeproof.config.Tuning`.

    An argument that is not given is taken from the environment, if its variable is set: `carriers`
    from WAKEPROOF_CARRIERS, `Compensation.monitor_ms` from WAKEPROOF_COMPENSATION_MONITOR_MS, and
    the others likewise.

    Threads: any thread may call all methods, except that a carrier must not close its own group.
    After a fork the child must not use the group: every method raises ForkedError there.  A child
    that a task forks ends where the task returns, and runs no exit handlers.  Its exit code is the
    argument of `sys.exit`, 1 after any other exception, and 0 otherwise.

    Raises:
        UsageError: a value is out of range (a ValueError as well).
        SystemCallError: the system refused a thread, or the topology cannot be read.

    Warns:
        TopologyWarning: carriers float that were to be pinned; at most once per group.

    Example:
        >>> from wakeproof import CarrierGroup
        >>> with CarrierGroup(2) as group:
        ...     len(group), group.submit(pow, 2, 10).result()
        (2, 1024)
    """

    def __init__(
        self,
        carriers: int | None = None,
        *,
        work_stealing: bool | None = None,
        topology: Topology | Literal["linux"] | None = None,
        stealing: Stealing | None = None,
        placement: Placement | None = None,
        compensation: Compensation | None = None,
        tracing: Tracing | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        chosen = settle(
            carriers, work_stealing=work_stealing, topology=topology, stealing=stealing,
            placement=placement, compensation=compensation, tracing=tracing, tuning=tuning,
        )  # fmt: skip
        count, self.work_stealing, more = (
            chosen.carriers,
            chosen.work_stealing,
            chosen.spare_carriers,
        )
        self._seats = Seats(chosen.topology, count, stealing=self.work_stealing,
                            scope=chosen.scope, spares=more)  # fmt: skip
        self._pid = _process.pid
        self._closed, self._life = False, [True]  # [True] until the group is freed
        self._descriptors: WeakSet[Descriptor] = WeakSet()  # the open descriptors of this group
        # the pollers of those descriptors
        self._has_pollers, self._idle_spins = False, chosen.idle_spins
        self._native = native(chosen, self._seats)
        self._all = tuple(Carrier(self, index) for index in range(count + more))
        self._carriers = self._all[:count]
        self._anywhere, self._is_placed = Carrier(self, ANYWHERE), bool(chosen.policy)
        group_registry.groups.add(self)
        try:
            self._seats.wait()
        except BaseException:  # a warning may be an error, or Ctrl-C came
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
        """Close the group after Ctrl-C; a second Ctrl-C leaves it to the interpreter's end.

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
        """The steal domains: carriers in one domain may steal from one another.

        Without work stealing each carrier has a domain of its own.
        """
        return tuple(tuple(self[index] for index in domain) for domain in self._seats.domains)

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return self._closed

    def running(self) -> Carrier | None:
        """Return the carrier that runs the calling task, or None outside of this group's tasks."""
        return self._carrier(lib.wp_group_running)

    def home(self) -> Carrier | None:
        """Return the carrier that the calling task was submitted to, or None as in `running`.

        If it differs from `running`, the task was stolen.  What a stolen task submits has its home
        on the carrier that `running` returns.
        """
        return self._carrier(lib.wp_group_home)

    def statistics(self) -> tuple[DomainStatistics, ...]:
        """Return the numbers of searches, steals and wakes for each of `domains`."""
        self._check_process()
        return tuple(counts.statistics(self._native, domain) for domain in self._seats.domains)

    def spare_carriers(self) -> SpareCarrierCounts:
        """Return how many spare carriers stand in for blocked ones, and how many were started."""
        self._check_process()
        return counts.spare_carriers(self._native)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn(*args, **kwargs)`` as a task, and return its future.

        The task runs on the caller's carrier.  If the caller is not a carrier of this group, the
        carriers take turns.  A `Placement` by load overrides both.  A task is not a virtual thread:
        if it waits, it blocks its carrier; use `factory` for calls that wait.

        Raises:
            ClosedError: the group is closed, or being closed.
            ForkedError: this process is a child of the one that made the group.

        Example:
            >>> from wakeproof import CarrierGroup
            >>> with CarrierGroup(1) as group:
            ...     group.submit(sorted, "cab", reverse=True).result()
            ['c', 'b', 'a']
        """
        return self._anywhere.submit(fn, *args, **kwargs)

    def factory(self, *, name: str | None = None, pinned: bool = False) -> ThreadFactory:
        """Return a `ThreadFactory`; the carrier of each virtual thread is chosen when it starts.

        Arguments and errors are those of `Carrier.factory`.
        """
        from wakeproof.factory import ThreadFactory  # imported late: it imports this module

        return ThreadFactory(self, name=name, pinned=pinned)

    @property
    def tracing(self) -> int:
        """The number of events that are kept of each carrier; 0 while none are kept."""
        return lib.wp_group_tracing(self._native)

    def trace_on(self, events: int | None = None) -> None:
        """Keep events of each carrier from now on.

        Work that is under way has no event.  It also has no name, unless a name was given to it.

        Args:
            events: the number of events of each carrier, 1 to 1,048,576, rounded up to a power of
                two.  A smaller number than before changes nothing.  None: as many as before, at
                first 65,536.

        Raises:
            UsageError: `events` is out of range.
            SystemCallError: there is not enough memory for so many events.
        """
        self._check_process()
        trace.on(self._native, events)

    def trace_off(self) -> None:
        """Stop keeping events; `events` still returns those that were kept.

        They are lost only when `trace_on` requests a larger number.
        """
        self._check_process()
        lib.wp_group_trace_off(self._native)

    def events(self) -> list[Event]:
        """Return the events that were kept, in the order in which they began (`trace_on`)."""
        self._check_process()
        return trace.events(self._native, [one.name for one in self._all])

    def close(self, timeout_s: float | None = None, *, cancel: bool = False) -> list[Unfinished]:
        """Accept no more tasks, wait until all have ended, and stop the carriers.

        Args:
            timeout_s: how many seconds to wait, 0 or more, before the tasks that have not begun are
                cancelled; default None: wait without a limit.
            cancel: whether to cancel the tasks that have not begun at once; default False.

        Returns what had not ended, as `Unfinished`; the futures of these tasks are cancelled.  Once
        `timeout_s` is over, running tasks have 0.1 s to end.  If one still runs after that, all
        that is unfinished is returned and stays as it is until a second `close`, which waits for
        the running tasks and cancels the others.

        Raises:
            WrongThreadError: the caller is one of the group's own carriers.
            ForkedError: this process is a child of the one that made the group.
        """
        self._check_process()
        until, self._closed = deadline_ns(timeout_s), True
        back, code = ffi.new("wp_task **"), lib.WP_INTERRUPTED
        while code == lib.WP_INTERRUPTED:  # a signal handler has run, and has not raised
            code = lib.wp__group_close(self._native, until, cancel, back)
        if code == lib.WP_FORBIDDEN:
            raise error_for(
                code, "close: a carrier would wait for itself; close its group from outside"
            )
        if code == lib.WP_OK:
            if self in group_registry.groups:
                trace.save(self.events())
            for descriptor in list(self._descriptors):
                descriptor.close()  # no poller is left to wake its waiters
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
