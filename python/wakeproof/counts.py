# SPDX-License-Identifier: Apache-2.0
"""Counters of carriers and of the searches in a steal domain.

Spec: ``specs/sched/Search.tla``.  Source: ``kernel/base/counters.h``, ``group.h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wakeproof._native.ffi import lib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wakeproof._native.ffi import CGroup


@dataclass(frozen=True)
class CarrierCounts:
    """What one carrier of a `CarrierGroup` has done since the group was made.

    A carrier is an OS thread that runs tasks and virtual threads, here all called tasks.  A *step*
    is what it runs of a task without a break: until the task ends, parks or yields.  A *sibling* is
    another carrier of the group.  The numbers are read while the carrier runs, so they may be a few
    events apart.

    Attributes:
        runs: steps of tasks that it ran.
        directed: steps of stolen tasks that it stole after it was woken to help a sibling.
        probed: steps of stolen tasks that it stole from the longer of two siblings' queues.
        recheck: steps of stolen tasks that it found by its last check before it slept.
        fruitless: times that it was woken to help a sibling which had nothing left to steal.
        drains: iterations of its loop that ran something.
        parks: times that it went to sleep, or was about to.
        wakes: times that another thread ended its sleep, or was about to.
        useless_wakes: wakes after which there was nothing to run.
        pinned: parks of virtual threads that blocked it (`wakeproof.vthread`).
        runnable: the approximate number of tasks that are queued here now.
        load: the load by which `Placement` compares carriers: queued tasks and the running one; 0
            in a group that counts no loads.
        spilled: tasks that overflowed from its full ring into its run queue; 0 without rings
            (`wakeproof.config.Tuning`).
        looted: tasks that came into its ring together with one that it stole; 0 without rings.
        long_steps: steps of more than 100 ms, in which it stood still (`wakeproof.watch` says
            where).  In a build without Python.h only the tasks of `CarrierGroup.submit` count.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup
        >>> with CarrierGroup(1) as group:
        ...     group[0].submit(len, "abc").result(), group[0].counts.stolen
        (3, 0)
    """

    runs: int
    directed: int
    probed: int
    recheck: int
    fruitless: int
    drains: int
    parks: int
    wakes: int
    useless_wakes: int
    pinned: int
    runnable: int
    load: int
    spilled: int
    looted: int
    long_steps: int = 0

    @property
    def stolen(self) -> int:
        """The steps of stolen tasks: `directed`, `probed` and `recheck` together."""
        return self.directed + self.probed + self.recheck


@dataclass(frozen=True)
class DomainStatistics:
    """Searches, steals and wakes of one steal domain since its `CarrierGroup` was made.

    A *steal domain* is a set of carriers (OS threads of the group) that may steal tasks from one
    another.  If a submission goes to a carrier that is awake, and another carrier seems to be idle,
    the submitter *searches* for a helper: it wakes an idle carrier of the domain, which steals.
    Only one search is in progress at a time.  All numbers count events; they may be a few events
    apart if they are read while the carriers run.  Once the group is quiet, ``searches == no_idle +
    directed + fruitless``.

    Attributes:
        carriers: the indices of its carriers.
        searches: searches that were started.
        denied: searches that were not started because enough others were in progress.
        denied_other: denied searches where the last that began was to steal from another carrier.
        no_idle: searches that found no idle carrier to wake.
        fruitless: searches that woke a helper which found nothing left to steal.
        directed: tasks stolen by helpers that a search woke.
        probed: tasks stolen by idle carriers from the longer of two siblings' queues.
        recheck: tasks stolen by carriers that were about to sleep.
        lost_tickets: attempts to steal from a queue from which another carrier was taking a task.
        wakes: sleeps that another thread ended.
        useless_wakes: wakes after which the carrier found nothing to run.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup
        >>> with CarrierGroup(2, work_stealing=True) as group:
        ...     [domain.carriers for domain in group.statistics()]
        [(0, 1)]
    """

    carriers: tuple[int, ...]
    searches: int
    denied: int
    denied_other: int
    no_idle: int
    fruitless: int
    directed: int
    probed: int
    recheck: int
    lost_tickets: int
    wakes: int
    useless_wakes: int


@dataclass(frozen=True)
class PlacementStatistics:
    """What the `Placement` of a `CarrierGroup` has decided about one carrier of the group.

    The numbers count from the moment at which the group was made.  All are 0 in a group that counts
    no loads: a group with the policy "home", without `Compensation`.  The *group's queue* has the
    tasks that left a blocked carrier; any carrier that is not blocked takes them.  Once the group
    is quiet, the sum of `moved` over all carriers equals the sum of `taken`.

    Attributes:
        home: starts of tasks for which this carrier was preferred and was chosen.  A carrier is
            preferred because the submitting task runs there, or because it is the next in turn.
            With `Placement.at_resume`, woken threads count as well.
        other: starts for which this carrier was chosen instead of the preferred one.
        nowhere: starts for which this carrier was preferred while every carrier was blocked; these
            tasks went to the group's queue.
        marks: times that a task announced that it blocks (`wakeproof.blocking`).
        suspects: times that the monitor found the carrier blocked (`Compensation.monitor_ms`).
        moved: tasks that left this carrier for the group's queue because the carrier was blocked.
        taken: tasks of the group's queue that this carrier has run.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup, Placement
        >>> with CarrierGroup(1, placement=Placement(policy="least_loaded")) as group:
        ...     group.submit(len, "abc").result(), group[0].placement.home
        (3, 1)
    """

    home: int
    other: int
    nowhere: int
    marks: int
    suspects: int
    moved: int
    taken: int


@dataclass(frozen=True)
class SpareCarrierCounts:
    """What the spare carriers of a `CarrierGroup` have done.

    A *spare carrier* is an OS thread that runs tasks while another carrier is blocked
    (`Compensation`).

    Attributes:
        most: the largest number of spare carriers.
        active: spare carriers that replace blocked carriers now; the others sleep, or have no OS
            thread yet.
        started: OS threads that were started so far.
        reused: times so far that a spare carrier which had an OS thread was used again.
        refused: OS threads that the system did not start so far.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup, Compensation
        >>> with CarrierGroup(1, compensation=Compensation(spare_carriers=2)) as group:
        ...     group.spare_carriers().most, group.spare_carriers().refused
        (2, 0)
    """

    most: int
    active: int
    started: int
    reused: int
    refused: int


@dataclass(frozen=True)
class PollerStatistics:
    """What the poller of `wakeproof.io` on one carrier has done since the group was made.

    The poller waits for the sockets of the virtual threads of its carrier (an OS thread of a
    `CarrierGroup`).  Once the group is quiet, ``wakeups <= sleeps``, because no thread sends a
    wakeup to a poller that is awake.

    Attributes:
        looks: system calls that collected events, with and without blocking.
        events: events of descriptors that these calls returned.
        sleeps: times that the poller parked its carrier in order to block.
        wakeups: sleeps that another thread ended by a write to an eventfd.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup, io
        >>> with CarrierGroup(1) as group:
        ...     io.statistics(group)[0].sleeps
        0
    """

    looks: int
    events: int
    sleeps: int
    wakeups: int


def counts(group: CGroup, index: int) -> CarrierCounts:
    """Return the kernel's counters of one carrier."""
    raw = lib.wp_group_counts(group, index)
    return CarrierCounts(
        raw.runs, raw.directed, raw.probed, raw.recheck, raw.fruitless,
        raw.drains, raw.parks, raw.wakes, raw.useless_wakes, raw.pinned, raw.runnable,
        raw.load, raw.spilled, raw.looted,
    )  # fmt: skip


def statistics(group: CGroup, carriers: Sequence[int]) -> DomainStatistics:
    """Return the statistics of the steal domain that has these carriers."""
    of = [counts(group, index) for index in carriers]
    raw = lib.wp_group_domain_counts(group, carriers[0])
    return DomainStatistics(
        carriers=tuple(carriers),
        searches=raw.started,
        denied=raw.denied,
        denied_other=raw.denied_other,
        no_idle=raw.no_idle,
        fruitless=sum(one.fruitless for one in of),
        directed=sum(one.directed for one in of),
        probed=sum(one.probed for one in of),
        recheck=sum(one.recheck for one in of),
        lost_tickets=raw.lost_tickets,
        wakes=sum(one.wakes for one in of),
        useless_wakes=sum(one.useless_wakes for one in of),
    )


def placement(group: CGroup, index: int) -> PlacementStatistics:
    """Return the kernel's counters of the placement decisions about one carrier."""
    raw = lib.wp_group_placement_counts(group, index)
    return PlacementStatistics(
        raw.home, raw.other, raw.nowhere, raw.marks, raw.suspects, raw.moved, raw.taken
    )


def spare_carriers(group: CGroup) -> SpareCarrierCounts:
    """Return the kernel's counters of the group's spare carriers."""
    raw = lib.wp_group_spare_carriers(group)
    return SpareCarrierCounts(raw.most, raw.active, raw.started, raw.reused, raw.refused)


def poller(group: CGroup, index: int) -> PollerStatistics:
    """Return the kernel's counters of one carrier's poller."""
    raw = lib.wp_io_counts(group, index)
    return PollerStatistics(raw.looks, raw.events, raw.sleeps, raw.wakeups)
