# SPDX-License-Identifier: Apache-2.0
"""What carriers and the searches of a steal domain came to, in numbers.

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
    """What one carrier has done since its group was made; read while it goes on.

    Attributes:
        runs: steps of tasks.
        directed: of these stolen: it was woken to help a sibling.
        probed: of these stolen: from the longer of two siblings' queues.
        recheck: of these stolen: found before it slept.
        fruitless: times it was woken to help a sibling that had nothing left.
        drains: turns of its loop that ran something.
        parks: times it went to sleep, or was about to.
        wakes: times another thread ended its sleep, or was about to.
        useless_wakes: of these: there was nothing to run.
        pinned: parks of virtual threads that it slept through.
        runnable: tasks queued here now, about.
        load: by which it is chosen (`Placement`): these, and what runs; 0 where nobody counts.
        spilled: tasks that left its full ring for its run queue; 0 without rings
            (`wakeproof.config.Tuning`).
        looted: tasks that came into its ring together with one that it stole; as well.
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

    @property
    def stolen(self) -> int:
        """Steps of stolen tasks, of all three kinds."""
        return self.directed + self.probed + self.recheck


@dataclass(frozen=True)
class DomainStatistics:
    """Searches, steals and wakes of one steal domain since its group was made.

    A submission that finds somebody idle, and its own carrier awake, searches for a helper; one
    search at a time.  All are counts of events; read while the carriers go on, they may be a few
    events apart.  When nothing goes on, ``searches == no_idle + directed + fruitless``.

    Attributes:
        carriers: the indices of its carriers.
        searches: searches that were started.
        denied: searches that were not, for another one was in flight.
        denied_other: of these: that one was for another victim.
        no_idle: searches that found nobody idle to wake.
        fruitless: searches whose helper came, and found nothing left to steal.
        directed, probed, recheck: tasks stolen by helpers that a search woke; by carriers with
            nothing to do, from the longer of two siblings' queues; by carriers about to sleep.
        lost_tickets: attempts to steal from a queue that another carrier was polling.
        wakes: sleeps that another thread ended.
        useless_wakes: of these: the carrier found nothing to run.
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
    """What placement has decided about one carrier since its group was made.

    All are 0 in a group that counts no loads: one with the policy "home" whose carriers
    nobody watches.
    When nothing goes on, what all carriers have `moved` is what they have `taken`.

    Attributes:
        home: starts for which it was chosen, and which were to be here: it ran who started them,
            or was the next in turn.  With `Placement.at_resume`, threads that go on, too.
        other: those for which it was chosen instead of another one.
        nowhere: those that were to be here while each carrier was marked; they are moved.
        marks: times a task said that it blocks (`wakeproof.blocking`).
        suspects: marks that the monitor made (`Compensation.monitor_ms`).
        moved: tasks queued here that went to the group's queue, since it was marked.
        taken: tasks of that queue that it has run.
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
    """What came of a group's spare carriers; the last three only grow.

    Attributes:
        most: how many there may be.
        active: how many stand in now; the others sleep, or have no thread yet.
        started: threads that were started.
        reused: times one that had a thread stood in again.
        refused: threads that the system did not start.
    """

    most: int
    active: int
    started: int
    reused: int
    refused: int


@dataclass(frozen=True)
class PollerStatistics:
    """What one carrier's poller for descriptors has done since its group was made.

    When nothing goes on, ``wakeups <= sleeps``: a poller that is awake is sent none.

    Attributes:
        looks: system calls that asked for events, whether they blocked or not.
        events: of descriptors, that they brought.
        sleeps: times it parked its carrier to block.
        wakeups: of these ended by another thread, by a write to an eventfd.
    """

    looks: int
    events: int
    sleeps: int
    wakeups: int


def counts(group: CGroup, index: int) -> CarrierCounts:
    """Return what the kernel has counted of one carrier."""
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
    """Return what the kernel has counted of what placement decides about one carrier."""
    raw = lib.wp_group_placement_counts(group, index)
    return PlacementStatistics(
        raw.home, raw.other, raw.nowhere, raw.marks, raw.suspects, raw.moved, raw.taken
    )


def spare_carriers(group: CGroup) -> SpareCarrierCounts:
    """Return what the kernel has counted of the group's spare carriers."""
    raw = lib.wp_group_spare_carriers(group)
    return SpareCarrierCounts(raw.most, raw.active, raw.started, raw.reused, raw.refused)


def poller(group: CGroup, index: int) -> PollerStatistics:
    """Return what the kernel has counted of one carrier's poller."""
    raw = lib.wp_io_counts(group, index)
    return PollerStatistics(raw.looks, raw.events, raw.sleeps, raw.wakeups)
