# SPDX-License-Identifier: Apache-2.0
"""SC, x86-TSO and RC11: each decides whether it allows a candidate execution.

Sources: Owens, Sarkar and Sewell (x86-TSO, TPHOLs 2009); Lahav et al. (RC11, PLDI 2017), with scb
as GenMC 0.10 has it unless `Switches.paper_scb`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from wakeproof.judge.explore.options import Model
from wakeproof.judge.oracle.graph import FULL_FENCES, SC_FENCES, Event, Frame, Graph
from wakeproof.judge.oracle.relations import Relation, identity

Axioms = Callable[[Graph], bool]
"""Returns whether the model allows a candidate execution."""


def sc(graph: Graph) -> bool:
    """Sequential consistency: one order explains everything."""
    frame = graph.frame
    order = frame.po | frame.rf | graph.mo | graph.fr
    return graph.is_coherent and order.is_acyclic


def tso(graph: Graph, *, fences: bool = True) -> bool:
    """x86-TSO; `fences=False` ignores whatever keeps a store before a later load (for tests).

    A seq_cst store is a store and a full fence, an update is a locked instruction, and weaker
    orders are plain instructions.
    """
    if not graph.is_coherent:
        return False
    frame = graph.frame
    order = _preserved(frame, fences) | (frame.rf & frame.external) | graph.mo | graph.fr
    return can_drain(order, drains(frame) if fences else [])


@lru_cache(maxsize=4)  # the same for every mo of a frame
def _preserved(frame: Frame, fences: bool) -> Relation:
    """Program order without store-to-load pairs, and without fences that x86 does not need."""
    locked = ["read", "write"] + ["failed"] * frame.switches.failed_cas_is_locked

    def is_lost(a: Event, b: Event) -> bool:
        if not fences:
            return a.writes and not b.writes
        if any(e.location < 0 and e.order not in FULL_FENCES for e in (a, b)):
            return True
        stays = a.update in locked or b.update in locked or a.order == "seq_cst"
        return a.writes and b.reads and not stays

    return frame.po - frame.pairs(is_lost)


def drains(frame: Frame) -> list[tuple[int, list[int]]]:
    """Return each heavy fence with the events of each thread that has its buffer emptied."""
    numbers: dict[int, list[int]] = {}
    for n, event in enumerate(frame.events):
        numbers.setdefault(event.identity[0], []).append(n)
    heavy = [n for n, event in enumerate(frame.events) if event.order == "heavy"]
    return [
        (fence, events)
        for fence in heavy
        for thread, events in numbers.items()
        if thread not in (-1, frame.events[fence].identity[0])
    ]


def can_drain(order: Relation, drains: list[tuple[int, list[int]]]) -> bool:
    """Return whether heavy fences fit into the order: each has events before and after it."""
    if not order.is_acyclic or not drains:
        return order.is_acyclic
    (fence, events), *rest = drains
    later, size = order.closure.rows, len(events)
    least = max((k + 1 for k in range(size) if later[events[k]] >> fence & 1), default=0)
    most = min((k for k in range(size) if later[fence] >> events[k] & 1), default=size)
    return any(
        can_drain(order | _divided(len(later), fence, events, k), rest)
        for k in range(least, most + 1)
    )


def _divided(size: int, fence: int, events: list[int], cut: int) -> Relation:
    rows = [0] * size
    for event in events[:cut]:
        rows[event] |= 1 << fence
    for event in events[cut:]:
        rows[fence] |= 1 << event
    return Relation(rows)


def rc11(graph: Graph) -> bool:
    """RC11: coherence with hb, updates in one step, no value out of thin air, psc acyclic."""
    return rc11_without_psc(graph) and psc(graph).is_acyclic


def rc11_without_psc(graph: Graph) -> bool:
    """RC11 as if seq_cst were no more than acq_rel (for tests)."""
    frame = graph.frame
    return (
        graph.is_coherent
        and (frame.hb @ graph.eco.maybe).is_irreflexive
        and (frame.po | frame.rf).is_acyclic
    )


def psc(graph: Graph) -> Relation:
    """Partial SC order: what must hold between seq_cst operations, less light to light."""
    frame = graph.frame
    hb, same = frame.hb, identity(len(frame.events))
    fences = frame.where(lambda e: e.location < 0 and e.order in SC_FENCES)
    light = frame.where(lambda e: e.order == "light")
    accesses = frame.where(lambda e: e.location >= 0 and e.order == "seq_cst")
    outer = frame.po - frame.same_location if frame.switches.paper_scb else frame.po
    scb = frame.po | outer @ hb @ outer | (hb & frame.same_location) | graph.mo | graph.fr
    everything = frame.everything
    before = same.restricted(accesses, accesses) | hb.maybe.restricted(fences, everything)
    after = same.restricted(accesses, accesses) | hb.maybe.restricted(everything, fences)
    base = before @ scb @ after
    between_fences = (hb | hb @ graph.eco @ hb).restricted(fences, fences)
    order = base | between_fences
    return order - order.restricted(light, light)


AXIOMS: dict[Model, Axioms] = {Model.SC: sc, Model.TSO: tso, Model.RC11: rc11}
