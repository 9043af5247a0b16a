# SPDX-License-Identifier: Apache-2.0
"""Carrier groups: schedulers that run tasks and virtual threads on a few OS threads.

Spec: ``specs/sched/Group.tla``, ``Task.tla``, ``Search.tla``.  Source: ``kernel/sched/group.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar, overload
from weakref import WeakSet

from wakeproof import counts, trace, watchdog
from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import group_registry, held
from wakeproof._runtime import process as _process
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.jobs import ANYWHERE, Unfinished, hand_back, threads, unfinished
from wakeproof._runtime.native_group import native
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.waiting import without_limit
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
    from wakeproof.scheduler import NativeScheduler, Scheduler
    from wakeproof.topology import Topology
    from wakeproof.trace import Event
    from wakeproof.vthread import VirtualThread

P = ParamSpec("P")
T = TypeVar("T")


class CarrierGroup(Unique):
    """A scheduler: a group of carriers, which run tasks and virtual threads.

    A *carrier* is a permanent OS thread of the group, with its own run queue.  A *task*, in this
    class, is a callable that was given to `submit`.  It cannot park: if it waits, its carrier is
    *blocked*, and runs nothing else.  If a *virtual thread* (`VirtualThread`) waits, it *parks*,
    and its carrier runs other work until the wait is over.

    A task is queued first at one carrier, its *home*.  A task that is given to `Carrier.submit` has
    that carrier as its home; `submit` describes the home of other tasks.  A task runs at its home,
    with two exceptions.  With work stealing, a carrier that has nothing to run is *idle*, and may
    take a queued task from a *sibling*, another carrier of its group.  If the home is blocked,
    other carriers may take its queued tasks (`Compensation`).

    As a context manager the group calls `close` at the end of the block, with ``cancel=True`` if
    the block raised an exception.  After Ctrl-C it interrupts its virtual threads, and waits for at
    most one second until all have ended.  Then it waits only for what is running, and cancels the
    rest.

    Args:
        carriers: the number of carriers, 1 to 1,024; default: the number of CPUs that this process
            may use or the CPU quota of its cgroup, whichever is smaller.
        work_stealing: whether idle carriers take queued tasks from their siblings; default False.
        topology: "linux" pins each carrier to a CPU of its own, see `LinuxTopology`; an object is
            your own `Topology`; default: no carrier is pinned to a CPU, and the group assumes
            that all carriers share one cache.
        stealing: which siblings an idle carrier steals from, see `Stealing`.
        placement: where tasks and virtual threads start, see `Placement`.
        compensation: what the group does about blocked carriers, see `Compensation`.
        tracing: how many events the group records, see `Tracing`.
        tuning: settings for measurements and tests only, see `wakeproof.config.Tuning`.

    An argument that is not given is taken from the environment, if its variable is set: `carriers`
    from WAKEPROOF_CARRIERS, and `Compensation.monitor_ms` from WAKEPROOF_COMPENSATION_MONITOR_MS.
    The other variables are named in the same way, with one exception: the variable for `Tracing` is
    WAKEPROOF_TRACE, a folder for traces, and the command ``wakeproof trace`` sets it.

    Threads: any thread may call all methods, except that a carrier must not close its own group.
    After `os.fork` the child process must not use the group: a method that needs the carriers
    raises ForkedError there.  If a task calls `os.fork`, the child process ends where the task
    returns, and runs no exit handlers.  If the task called `sys.exit`, its argument is the exit
    code of the child; after any other exception the code is 1, and otherwise 0.

    Raises:
        UsageError: a value is out of range (a ValueError as well).
        SystemCallError: the system refused a thread, or the topology cannot be read.

    Warns:
        TopologyWarning: the carriers were to be pinned to CPUs, and at least one of them is not;
            at most once for each group.

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
        watchdog.begin()
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
        self._closed = False
        self._descriptors: WeakSet[Descriptor] = WeakSet()  # the open descriptors of this group
        # Whether this group has made its pollers, which wait for events of those descriptors, and
        # how often a poller looks for events in vain before it blocks.
        self._has_pollers, self._idle_spins = False, chosen.idle_spins
        self._native = native(chosen, self._seats)
        self._address = int(ffi.cast("uintptr_t", self._native))
        self._all = tuple(Carrier(self, index) for index in range(count + more))
        self._carriers = self._all[:count]
        self._long_steps = [0] * len(self._all)  # each is written by its carrier alone
        self._anywhere, self._is_placed = Carrier(self, ANYWHERE), bool(chosen.policy)
        # For its threads, which outlive it: True until it is freed.  The others never change.
        self._life = [True, self._address, self._pid, self._is_placed]
        group_registry.groups.add(self)
        try:
            self._seats.wait()
        except BaseException:  # Python may turn the warning into an error, or Ctrl-C came
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
        """Close the group after Ctrl-C.

        The virtual threads are interrupted, and the close waits for at most one second until all
        have ended.  Then it waits only for what is running, and cancels the rest.  A line each
        second names what the close waits for.  If Ctrl-C is pressed again, this function stops
        waiting, and the group is closed when the interpreter exits.
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
        """The steal domains: the carriers of one domain may steal from one another.

        Without work stealing each carrier has a domain of its own.
        """
        return tuple(tuple(self[index] for index in domain) for domain in self._seats.domains)

    @property
    def closed(self) -> bool:
        """Whether `close` has been called, even if that call did not complete the close."""
        return self._closed

    def running(self) -> Carrier | None:
        """Return the carrier that runs the caller; None if this group does not run the caller."""
        return self._carrier(lib.wp_group_running)

    def home(self) -> Carrier | None:
        """Return the home of the caller; None if this group does not run the caller.

        A task keeps its home when another carrier takes it; `running` then returns that carrier.
        If such a task submits a new task, the home of the new task is that carrier.  A virtual
        thread has a home from its start, but another carrier may take it before its function
        begins.  If it runs a plain function, the carrier that begins the function is its home from
        then on.
        """
        return self._carrier(lib.wp_group_home)

    def statistics(self) -> tuple[DomainStatistics, ...]:
        """Return the numbers of searches, steals and wakes for each of `domains`."""
        self._check_process()
        return tuple(counts.statistics(self._native, domain) for domain in self._seats.domains)

    def spare_carriers(self) -> SpareCarrierCounts:
        """Return how many spare carriers replace blocked carriers now, and how many were started.

        See `Compensation`.
        """
        self._check_process()
        return counts.spare_carriers(self._native)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn(*args, **kwargs)`` as a task, and return its future.

        The home of the task is the carrier that runs the caller.  If no carrier of this group runs
        the caller, the home is the next carrier in turn.  If the `Placement` of the group compares
        loads, it chooses the home instead.  A task that waits blocks its carrier; use `factory` for
        calls that wait.

        Raises:
            ClosedError: the group is closed, or being closed.
            ForkedError: this process was forked after the group was made.

        Example:
            >>> from wakeproof import CarrierGroup
            >>> with CarrierGroup(1) as group:
            ...     group.submit(sorted, "cab", reverse=True).result()
            ['c', 'b', 'a']
        """
        return self._anywhere.submit(fn, *args, **kwargs)

    def factory(
        self,
        *,
        name: str | None = None,
        pinned: bool = False,
        scheduler: Scheduler | NativeScheduler | None = None,
        thread_locals: bool = True,
    ) -> ThreadFactory:
        """Return a `ThreadFactory`, which makes virtual threads of this group.

        The home of each virtual thread is chosen when the thread starts, as `submit` chooses it.
        Arguments and errors are those of `Carrier.factory`.
        """
        from wakeproof.factory import ThreadFactory  # imported late: it imports this module

        return ThreadFactory(
            self, name=name, pinned=pinned, scheduler=scheduler, thread_locals=thread_locals
        )

    @property
    def tracing(self) -> int:
        """How many of its newest events each carrier keeps; 0 while none are recorded."""
        return lib.wp_group_tracing(self._native)

    def trace_on(self, events: int | None = None) -> None:
        """Record events from now on, and keep the newest ones of each carrier.

        Steps and waits that have begun before this call are not recorded.  A *step* is what a
        carrier runs at one go: a whole task, or a virtual thread until it parks, yields or ends.  A
        virtual thread that was made while tracing was off has no name in events, unless you gave it
        a name.

        Args:
            events: how many events of each carrier are kept, 1 to 1,048,576, rounded up to a power
                of two.  A smaller number than before changes nothing; a larger one drops all events
                that were recorded before.  None: as many as before, at first 65,536.

        Raises:
            UsageError: `events` is out of range.
            SystemCallError: there is not enough memory for this number of events.
        """
        self._check_process()
        trace.on(self._native, events)

    def trace_off(self) -> None:
        """Record no more events; `events` still returns those that are there.

        A later `trace_on` with a larger number drops them.  With any other number, recording
        continues, and new events overwrite the oldest ones.
        """
        self._check_process()
        lib.wp_group_trace_off(self._native)

    def events(self) -> list[Event]:
        """Return the recorded events that are still there, in the order in which they began.

        Each carrier keeps only its newest events, as many as `trace_on` or `Tracing` requested.
        """
        self._check_process()
        return trace.events(self._native, [one.name for one in self._all])

    def close(self, timeout_s: float | None = None, *, cancel: bool = False) -> list[Unfinished]:
        """Accept no more tasks, wait until all tasks and virtual threads have ended, then stop.

        Args:
            timeout_s: how many seconds to wait, 0 or more; default None: wait without a limit.
            cancel: True: wait only until each carrier has ended its current task, or until its
                current virtual thread has ended, parked or yielded.  Default False.

        When `timeout_s` is over, what is running has 0.1 s more.  There are two outcomes:

        - If nothing runs after the wait, the close is complete.  Tasks that are still queued and
          virtual threads that have not ended do not run any more: the futures of the tasks are
          cancelled, and `VirtualThread.result` raises ClosedError.
        - If something still runs, the close is not complete, and nothing has been cancelled yet.
          Call `close` again: from now on each call waits as with ``cancel=True``, and cancels the
          rest when nothing runs any more.

        Returns what has not ended, as `Unfinished`.  An empty list means that everything has ended.

        Raises:
            WrongThreadError: the caller is one of the group's own carriers.
            ForkedError: this process was forked after the group was made.
        """
        self._check_process()
        until = deadline_ns(timeout_s)
        self._closed = True
        back, code = ffi.new("wp_task **"), lib.WP_INTERRUPTED
        has_no_limit = timeout_s is None and not cancel and self.running() is None
        with without_limit(lambda: not self._threads()) if has_no_limit else nullcontext():
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
            lib.wp__watch_end(self._native)
            group_registry.release(self, self._native)
            return hand_back(back[0])
        return unfinished(self)

    def _count_long(self) -> None:
        """Count a step of more than 100 ms that the calling carrier has ended."""
        index = lib.wp_group_running(self._native)
        if index >= 0:
            self._long_steps[index] += 1

    def _check_process(self) -> None:
        if self._pid != _process.pid:
            raise ForkedError(f"this group belongs to process {self._pid}: make one of your own")

    def _carrier(self, asked: Callable[[CGroup], int]) -> Carrier | None:
        self._check_process()
        index = asked(self._native)
        return self._all[index] if index >= 0 else None
