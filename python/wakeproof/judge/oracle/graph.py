# SPDX-License-Identifier: Apache-2.0
"""Execution graphs: events, program order, reads-from, modification order, C11's happens-before.

It is written as in the papers, slow and simple on purpose.  Source: Lahav et al., Repairing
sequential consistency in C/C++11 (PLDI 2017); release sequences as in C++20 unless `Switches` says
otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

from wakeproof.judge.oracle.relations import Relation, identity

RELEASES = ("release", "acq_rel", "seq_cst", "heavy")
ACQUIRES = ("acquire", "acq_rel", "seq_cst", "heavy")
FULL_FENCES = ("seq_cst", "heavy")
SC_FENCES = ("seq_cst", "heavy", "light")

Identity = tuple[int, int]
"""Identifies an event: its thread and its place there; (-1, location) for an initial value."""


@dataclass(frozen=True)
class Dependencies:
    """The earlier reads that an operation needs, as its instructions have them."""

    address: frozenset[Identity] = frozenset()
    data: frozenset[Identity] = frozenset()
    control: frozenset[Identity] = frozenset()


NONE = Dependencies()


@dataclass(frozen=True)
class Event:
    """The effect of one operation; an update that took place is two events, a read and a write."""

    identity: Identity
    order: str
    location: int = -1  # of a fence
    source: Identity | None = None  # the write that it read
    written: int | None = None
    update: str = ""  # "read", "write": half of an update; "failed": an update that only read
    other_order: str = ""  # of a compare-and-swap: that of the other ending, failure or success
    needs: Dependencies = NONE

    @property
    def reads(self) -> bool:
        """Return whether the event reads."""
        return self.source is not None

    @property
    def writes(self) -> bool:
        """Return whether the event writes."""
        return self.written is not None


@dataclass(frozen=True)
class Switches:
    """Choices in which publications differ; the defaults are those of the explorer."""

    c11_release_sequence: bool = False  # a later write by the same thread continues it
    paper_scb: bool = False  # po;hb;po only through other locations
    failed_cas_is_locked: bool = True  # TSO: a failed compare-and-swap is a full fence too


class Frame:
    """Events (initial values first, then by thread and place) and what does not depend on mo."""

    def __init__(self, events: tuple[Event, ...], switches: Switches) -> None:
        self.events = events
        self.switches = switches
        self.kept: dict[Hashable, Relation] = {}
        """Other relations of these events, which a model keeps here."""

    def where(self, test: Callable[[Event], bool]) -> int:
        """Return the set of events that pass a test, as bits."""
        return sum([1 << n for n, event in enumerate(self.events) if test(event)])

    def pairs(self, test: Callable[[Event, Event], bool]) -> Relation:
        """Return the pairs of events that pass a test."""
        numbered = list(enumerate(self.events))
        return Relation(
            [sum([1 << b for b, other in numbered if test(event, other)]) for event in self.events]
        )

    @cached_property
    def everything(self) -> int:
        """All events."""
        return (1 << len(self.events)) - 1

    @cached_property
    def po(self) -> Relation:
        """Program order; initial values come before everything."""
        return self.pairs(
            lambda a, b: (
                (a.identity[0] < 0 <= b.identity[0])
                or (a.identity[0] == b.identity[0] >= 0 and a.identity < b.identity)
            )
        )

    @cached_property
    def same_location(self) -> Relation:
        """Pairs of accesses to one location."""
        return self.pairs(lambda a, b: a.location == b.location >= 0)

    @cached_property
    def external(self) -> Relation:
        """Pairs of different threads."""
        return self.pairs(lambda a, b: a.identity[0] != b.identity[0])

    @cached_property
    def rf(self) -> Relation:
        """From each write to its readers."""
        return self.pairs(lambda a, b: a.identity == b.source)

    @cached_property
    def rmw(self) -> Relation:
        """From the read of each update to its write."""
        return self.pairs(
            lambda a, b: (
                (a.update, b.update) == ("read", "write")
                and b.identity == (a.identity[0], a.identity[1] + 1)
            )
        )

    @cached_property
    def local(self) -> Relation:
        """What coherence needs: program order at one location, and reads-from."""
        return (self.po & self.same_location) | self.rf

    @cached_property
    def sw(self) -> Relation:
        """Synchronises-with.  Light fences take no part in it."""
        writes = self.where(lambda e: e.writes and e.identity[0] >= 0 and e.order != "plain")
        reads = self.where(lambda e: e.reads and e.order != "plain")
        fences = self.where(lambda e: e.location < 0)
        releases = self.where(lambda e: (e.writes or e.location < 0) and e.order in RELEASES)
        acquires = self.where(lambda e: (e.reads or e.location < 0) and e.order in ACQUIRES)
        head = identity(len(self.events)).restricted(writes, writes)
        if self.switches.c11_release_sequence:
            head |= (self.po & self.same_location).restricted(writes, writes)
        sequence = head @ (self.rf @ self.rmw).closure.maybe
        before = identity(len(self.events)) | self.po.restricted(fences, writes)
        after = identity(len(self.events)) | self.po.restricted(reads, fences)
        read = self.rf.restricted(self.everything, reads)
        return (before @ sequence @ read @ after).restricted(releases, acquires)

    @cached_property
    def hb(self) -> Relation:
        """Happens-before."""
        return (self.po | self.sw).closure

    @cached_property
    def races(self) -> Relation:
        """Conflicting accesses, one of them plain, that hb does not order."""
        conflicts = (
            self.same_location
            & self.external
            & self.pairs(lambda a, b: (a.writes or b.writes) and "plain" in (a.order, b.order))
        )
        return conflicts - self.hb - self.hb.inverse

    @property
    def has_race(self) -> bool:
        """Return whether there is a race."""
        return any(self.races.rows)


class Graph:
    """A candidate execution: a frame with the modification order of each location."""

    def __init__(self, frame: Frame, orders: Iterable[tuple[int, ...]]) -> None:
        rows = [0] * len(frame.events)
        for order in orders:
            for a, b in itertools.combinations(order, 2):
                rows[a] |= 1 << b
        self.frame = frame
        self.mo = Relation(rows)

    @cached_property
    def fr(self) -> Relation:
        """From each read to the writes after the one that it read."""
        return self.frame.rf.inverse @ self.mo

    @cached_property
    def eco(self) -> Relation:
        """Extended coherence order."""
        return (self.frame.rf | self.mo | self.fr).closure

    @cached_property
    def is_coherent(self) -> bool:
        """Return whether each location alone is sequentially consistent, updates in one step."""
        order = self.frame.local | self.mo | self.fr
        return order.is_acyclic and not any((self.frame.rmw & (self.fr @ self.mo)).rows)
