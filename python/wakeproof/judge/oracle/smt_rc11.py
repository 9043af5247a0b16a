# SPDX-License-Identifier: Apache-2.0
"""RC11 as constraints: every read and write has a position in its location's modification order.

A relation is a set of unknown truth values, and the rules put pairs into it.  A larger relation
only forbids more, so the smallest one, which the model means, is always among the solver's choices.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

from wakeproof.judge.oracle.graph import ACQUIRES, RELEASES, SC_FENCES
from wakeproof.judge.oracle.symbolic import Happening, Symbolic, z3


def rc11(runs: Symbolic) -> None:
    """Constrain the runs to those of RC11."""
    _not_out_of_thin_air(runs)
    positions = _positions(runs)
    hb = _happens_before(runs)
    for a, b in permutations(runs.events, 2):
        if a.location == b.location >= 0:
            at, then = positions[a], positions[b]
            in_order = at <= then if b.read is not None else at < then
            runs.add(z3.Implies(hb[a, b], in_order))
    _seq_cst(runs, hb, positions)


class _Relation:
    def __init__(self, runs: Symbolic) -> None:
        self._runs = runs
        self._pairs: dict[tuple[Happening, Happening], Any] = {}

    def __getitem__(self, pair: tuple[Happening, Happening]) -> Any:
        if pair not in self._pairs:
            self._pairs[pair] = self._runs.boolean()
        return self._pairs[pair]

    def put(self, a: Happening, b: Happening, *conditions: Any) -> None:
        """Add the pair to the relation if all conditions hold."""
        self._runs.add(z3.Implies(z3.And(*conditions), self[a, b]))


def _not_out_of_thin_air(runs: Symbolic) -> None:
    times = {event: runs.integer() for event in runs.events}
    for a, b in permutations(runs.events, 2):
        if a.is_before(b):
            runs.add(times[a] < times[b])
    for read, sources in runs.rf.items():
        for source, chosen in sources.items():
            if source.thread >= 0:
                runs.add(z3.Implies(chosen, times[source] < times[read]))


def _positions(runs: Symbolic) -> dict[Happening, Any]:
    """Return the position in modification order of the value that each event reads or writes."""
    positions = dict(runs.mo)
    for read, sources in runs.rf.items():
        positions[read] = runs.integer()
        for source, chosen in sources.items():
            runs.add(z3.Implies(chosen, positions[read] == runs.mo[source]))
    return positions


def _happens_before(runs: Symbolic) -> _Relation:
    hb, events = _Relation(runs), runs.events
    for a, b in permutations(events, 2):
        if a.is_before(b):
            hb.put(a, b, a.guard, b.guard)
        runs.add(z3.Not(z3.And(hb[a, b], hb[b, a])))
    for a, b, c in permutations(events, 3):
        hb.put(a, c, hb[a, b], hb[b, c])
    sequence = _release_sequences(runs)
    for read, sources in runs.rf.items():
        if read.order == "plain":
            continue
        for last, chosen in sources.items():
            for head in runs.writes(read.location):
                if "plain" not in (head.order, last.order):
                    for a in _releasing(events, head):
                        for b in _acquiring(events, read):
                            conditions = (sequence[head, last], chosen, a.guard, b.guard)
                            if a is not b and a.thread != b.thread:
                                hb.put(a, b, *conditions)
    return hb


def _release_sequences(runs: Symbolic) -> _Relation:
    sequence = _Relation(runs)
    for head in runs.writes():
        sequence.put(head, head, head.guard)
        for read, sources in runs.rf.items():
            for source, chosen in sources.items():
                if read.pair is not None and source.location == head.location:
                    sequence.put(head, read.pair, sequence[head, source], chosen)
    return sequence


def _releasing(events: list[Happening], head: Happening) -> list[Happening]:
    fences = [e for e in events if e.location < 0 and e.order in RELEASES and e.is_before(head)]
    return fences + [head] * (head.order in RELEASES)


def _acquiring(events: list[Happening], read: Happening) -> list[Happening]:
    fences = [e for e in events if e.location < 0 and e.order in ACQUIRES and read.is_before(e)]
    return fences + [read] * (read.order in ACQUIRES)


def _seq_cst(runs: Symbolic, hb: _Relation, positions: dict[Happening, Any]) -> None:
    """Give the seq_cst operations numbers, so that every pair of psc goes to a larger number."""
    events = runs.events
    fences = [e for e in events if e.location < 0 and e.order in SC_FENCES]
    nodes = fences + [e for e in events if e.location >= 0 and e.order == "seq_cst"]
    ranks = {node: runs.integer() for node in nodes}
    scb = _scb(runs, hb, positions)
    base, between = _Relation(runs), _Relation(runs)  # from a node to any event
    for node in nodes:
        for a in events if node in fences else [node]:
            reached = node.guard if a is node else hb[node, a]
            for b in events:
                base.put(node, b, reached, scb[a, b])
                if node in fences and a is not b and a is not node:
                    between.put(node, b, reached, _eco(positions, a, b))
    for x in nodes:
        for y in nodes:
            steps = [base[x, y]]
            if y in fences:
                steps += [z3.And(base[x, b], hb[b, y]) for b in events if b is not y]
            if x in fences and y in fences:
                steps += [z3.And(between[x, b], hb[b, y]) for b in events if b is not y]
                steps += [hb[x, y]] if x is not y else []
            if (x.order, y.order) != ("light", "light"):
                runs.add(z3.Implies(z3.Or(*steps), ranks[x] < ranks[y]))


def _scb(runs: Symbolic, hb: _Relation, positions: dict[Happening, Any]) -> _Relation:
    scb, leading, events = _Relation(runs), _Relation(runs), runs.events
    for a in events:
        for c, d in permutations(events, 2):
            if a.is_before(c):
                leading.put(a, d, a.guard, hb[c, d])
        for d in events:
            for b in events:
                if d.is_before(b):
                    scb.put(a, b, leading[a, d], b.guard)
    for a, b in permutations(events, 2):
        there = z3.And(a.guard, b.guard)
        if a.is_before(b):
            scb.put(a, b, there)
        if a.location == b.location >= 0:
            scb.put(a, b, hb[a, b])
            if b.written is not None:  # mo or fr
                scb.put(a, b, there, positions[a] < positions[b])
    return scb


def _eco(positions: dict[Happening, Any], a: Happening, b: Happening) -> Any:
    if a.location != b.location or a.location < 0:
        return z3.BoolVal(False)
    there = z3.And(a.guard, b.guard)
    if a.written is not None and b.read is not None:
        return z3.And(there, positions[a] <= positions[b])
    return z3.And(there, positions[a] < positions[b])
