# SPDX-License-Identifier: Apache-2.0
"""ARMv8 (AArch64), and how C11's atomic operations become its instructions.

Sources: Pulte, Flur, Deacon, French, Sarkar and Sewell, Simplifying ARM concurrency (POPL 2018);
Arm Architecture Reference Manual (DDI 0487), section B2.3.  A read may take its value from a write
that comes later in what a thread of its own does then: load buffering.

An execution has the operations of the C program for its events.  `Mapping` says what each is on the
machine; a compiler that reorders accesses before it translates them is not in this model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from wakeproof.errors import UsageError
from wakeproof.judge.oracle.graph import ACQUIRES, RELEASES, Event, Frame, Graph
from wakeproof.judge.oracle.models import can_drain, drains
from wakeproof.judge.oracle.relations import Relation

LSE = {"exchange": "swp", "add": "ldadd", "or": "ldset", "and": "ldclr", "cas": "cas",
       "cas_weak": "cas"}  # fmt: skip
"""The instructions of ARMv8.1 that update memory by themselves.  `ldclr` takes the complement."""
FULL, READ_FENCE = "dmb ish", "dmb ishld"


@dataclass(frozen=True)
class Mapping:
    """Which instructions a compiler takes where it has a choice."""

    pair: bool = False  # updates by a load-exclusive and a store-exclusive, not by one instruction
    ldapr: bool = False  # acquire loads by LDAPR (FEAT_LRCPC), not by LDAR

    @property
    def name(self) -> str:
        """Return its name in commands and reports."""
        return f"{'pair' if self.pair else 'lse'}+{'ldapr' if self.ldapr else 'ldar'}"

    def load(self, order: str) -> str:
        """Return the instruction of an atomic load."""
        if order == "acquire":
            return "ldapr" if self.ldapr else "ldar"
        return "ldar" if order == "seq_cst" else "ldr"

    @staticmethod
    def store(order: str) -> str:
        """Return the instruction of an atomic store."""
        return "stlr" if order in RELEASES else "str"

    @staticmethod
    def fence(order: str) -> str:
        """Return the instruction of a fence; "" if it is for the compiler alone."""
        return {"light": "", "acquire": READ_FENCE}.get(order, FULL)

    def update(self, what: str, order: str, fail_order: str = "") -> tuple[str, ...]:
        """Return the instruction of an update, or the two of a pair."""
        acquires = bool({order, fail_order} & set(ACQUIRES))
        releases = order in RELEASES or fail_order == "seq_cst"
        if self.pair:
            return "ldaxr" if acquires else "ldxr", "stlxr" if releases else "stxr"
        return (LSE[what] + "a" * acquires + "l" * releases,)

    def of(self, event: Event) -> str:
        """Return the instruction that an event belongs to."""
        if event.location < 0:
            return self.fence(event.order)
        if event.update:
            # All updates by one instruction have the same suffixes: "swp" stands for each.
            pair = self.update("exchange", event.order, event.other_order)
            return pair[-1] if event.update == "write" else pair[0]
        return self.load(event.order) if event.reads else self.store(event.order)


MAPPINGS = tuple(Mapping(pair, ldapr) for pair in (False, True) for ldapr in (False, True))
"""Every choice: what the same C program may be on one machine or another."""

CLAUSES = ("dob", "aob", "bob", "successor")
"""The parts of locally-ordered-before; a test leaves one out."""


def mapping_of(text: str) -> tuple[Mapping, ...]:
    """Return the mappings that ``all`` or ``lse+ldar`` names.

    Raises:
        UsageError: it names none.
    """
    found = [mapping for mapping in MAPPINGS if text in ("all", mapping.name)]
    if not found:
        known = ", ".join(mapping.name for mapping in MAPPINGS)
        raise UsageError(f"mapping is {text!r}; allowed: {known}, all")
    return tuple(found)


def armv8(graph: Graph, mapping: Mapping, without: str = "") -> bool:
    """ARMv8's three axioms: internal, external, atomic.  `without`: one of CLAUSES (for tests).

    Internal: each location alone is sequentially consistent.  Atomic: nothing comes between the two
    halves of an update.  External: ordered-before, which is observed-by (between threads) and
    locally-ordered-before (within one), has no cycle.
    """
    frame = graph.frame
    if not graph.is_coherent:  # internal and atomic
        return False
    observed = (frame.rf | graph.mo | graph.fr) & frame.external
    return can_drain(observed | _locally(frame, mapping, without), drains(frame))


def armv8_any(graph: Graph, mappings: Iterable[Mapping] = MAPPINGS) -> bool:
    """Return whether one of the mappings allows the execution."""
    return any(armv8(graph, mapping) for mapping in mappings)


def _locally(frame: Frame, mapping: Mapping, without: str) -> Relation:
    """Locally-ordered-before: the order of one thread's accesses that other threads can rely on."""
    key = (mapping, without)
    if key not in frame.kept:
        clauses = {"dob": _dob, "aob": _aob, "bob": _bob, "successor": _successor}
        order = Relation([0] * len(frame.events))
        for name, clause in clauses.items():
            if name != without:
                order |= clause(frame, mapping)
        frame.kept[key] = order
    return frame.kept[key]


def _kinds(frame: Frame, mapping: Mapping, *instructions: str) -> int:
    """Return the events of these instructions."""
    return frame.where(lambda event: event.identity[0] >= 0 and mapping.of(event) in instructions)


@cache
def _with(*suffixes: str) -> tuple[str, ...]:
    return tuple(f"swp{suffix}" for suffix in suffixes)


def _bob(frame: Frame, mapping: Mapping) -> Relation:
    """Barrier-ordered-before.  A barrier is an event between what it orders."""
    po = frame.po
    accesses = frame.where(lambda event: event.location >= 0)
    reads = frame.where(lambda event: event.reads)
    writes = frame.where(lambda event: event.writes)
    full = _kinds(frame, mapping, FULL)
    read_fence = _kinds(frame, mapping, READ_FENCE)
    acquiring = reads & _kinds(frame, mapping, "ldar", "ldaxr", *_with("a", "al"))
    releasing = writes & _kinds(frame, mapping, "stlr", "stlxr", *_with("l", "al"))
    weakly = _kinds(frame, mapping, "ldapr")
    both = writes & _kinds(frame, mapping, *_with("al"))
    return (
        po.restricted(accesses, full)
        | po.restricted(full, accesses)
        | po.restricted(reads, read_fence)
        | po.restricted(read_fence, accesses)
        | po.restricted(acquiring | weakly, accesses)
        | po.restricted(accesses, releasing)
        | po.restricted(releasing, acquiring)
        | po.restricted(both, accesses)
    )


def _aob(frame: Frame, mapping: Mapping) -> Relation:
    """Atomic-ordered-before."""
    acquiring = _kinds(frame, mapping, "ldar", "ldapr", "ldaxr", *_with("a", "al"))
    return frame.rmw | (frame.rmw @ _next_reads(frame)).restricted(frame.everything, acquiring)


def _dob(frame: Frame, _mapping: Mapping) -> Relation:
    """Dependency-ordered-before; empty unless the machine keeps dependencies."""
    address = frame.pairs(lambda a, b: a.identity in b.needs.address)
    data = frame.pairs(lambda a, b: a.identity in b.needs.data)
    control = frame.pairs(lambda a, b: a.identity in b.needs.control)
    writes, everything = frame.where(lambda event: event.writes), frame.everything
    known = address | data
    return (
        known
        | control.restricted(everything, writes)
        | (address @ frame.po).restricted(everything, writes)
        | known @ _next_reads(frame)
    )


def _successor(frame: Frame, _mapping: Mapping) -> Relation:
    """From each access to its thread's later writes to the same location."""
    writes = frame.where(lambda event: event.writes)
    return (frame.po & frame.same_location).restricted(frame.everything, writes)


def _next_reads(frame: Frame) -> Relation:
    """From each write to its thread's reads of the same location before its next write there."""
    writes = frame.where(lambda event: event.writes)
    reads = frame.where(lambda event: event.reads)
    here = (
        frame.po
        & frame.same_location
        & frame.pairs(lambda a, b: a.identity[0] == b.identity[0] >= 0)
    )
    return here.restricted(writes, reads) - here.restricted(writes, writes) @ here
