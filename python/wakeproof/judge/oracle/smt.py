# SPDX-License-Identifier: Apache-2.0
"""The second oracle: outcomes of a small program by constraints, solved by z3.

It shares only the parser with the first oracle: programs run symbolically, nothing is enumerated,
and the models have another form.  SC is an interleaving.  TSO is a memory order in which a load
reads the latest store among those in memory and those of its own thread (SPARC's axioms).  RC11, in
``oracle/smt_rc11.py``, compares positions in modification order.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from typing import Any

from wakeproof.judge.explore.options import Model
from wakeproof.judge.oracle.graph import FULL_FENCES
from wakeproof.judge.oracle.program import Program, parse
from wakeproof.judge.oracle.smt_rc11 import rc11
from wakeproof.judge.oracle.symbolic import BITS, Happening, Symbolic, z3


def outcomes(program: str | Program, model: Model) -> frozenset[str]:
    """Return the outcomes that the model allows.

    Raises:
        UsageError: the program is wrong, or has loops, assertions or computed locations.
    """
    runs = _constrained(program, model)
    found = set()
    while runs.solver.check() == z3.sat:
        solution = runs.solver.model()
        values = [solution.eval(value, model_completion=True) for value in runs.observed]
        found.add(",".join(str(value.as_signed_long()) for value in values))
        runs.add(z3.Or(*(a != b for a, b in zip(runs.observed, values, strict=True))))
    return frozenset(found)


def is_reachable(program: str | Program, model: Model, outcome: str) -> bool:
    """Return whether the model allows the outcome, given as the explorer writes it."""
    runs = _constrained(program, model)
    wanted = [z3.BitVecVal(int(word), BITS) for word in outcome.split(",") if word]
    runs.add(*(value == want for value, want in zip(runs.observed, wanted, strict=True)))
    return bool(runs.solver.check() == z3.sat)


def _constrained(program: str | Program, model: Model) -> Symbolic:
    runs = Symbolic(parse(program) if isinstance(program, str) else program)
    {Model.SC: _sc, Model.TSO: _tso, Model.RC11: rc11}[model](runs)
    return runs


def _times(runs: Symbolic, is_kept: Callable[[Happening, Happening], bool]) -> dict[Happening, Any]:
    """Give each event a time (for a write, when other threads see it) and keep a part of po."""
    times = {event: runs.mo.get(event, runs.integer()) for event in runs.events}
    runs.add(*(time > 0 for time in times.values()))
    for a, b in permutations(runs.events, 2):
        if a.is_before(b) and is_kept(a, b):
            runs.add(z3.Implies(z3.And(a.guard, b.guard), times[a] < times[b]))
    return times


def _sc(runs: Symbolic) -> None:
    times = _times(runs, lambda *_: True)
    for read, sources in runs.rf.items():
        for source, chosen in sources.items():
            runs.add(z3.Implies(chosen, runs.mo[source] < times[read]))
            for other in runs.writes(read.location):
                late = z3.Or(runs.mo[other] <= runs.mo[source], runs.mo[other] > times[read])
                runs.add(z3.Implies(z3.And(chosen, other.guard), late))


def _tso(runs: Symbolic) -> None:
    def is_kept(a: Happening, b: Happening) -> bool:
        if a.location < 0 or b.location < 0:
            return all(e.location >= 0 or e.order in FULL_FENCES for e in (a, b))
        if a.read is not None or b.written is not None or a.is_update or b.is_update:
            return True
        return a.order == "seq_cst"

    times = _times(runs, is_kept)
    for read, sources in runs.rf.items():
        seen = {
            write: z3.And(write.guard, z3.Or(runs.mo[write] < times[read], write.is_before(read)))
            for write in sources
        }
        for source, chosen in sources.items():
            latest = [z3.Implies(seen[o], runs.mo[o] <= runs.mo[source]) for o in sources]
            runs.add(z3.Implies(chosen, z3.And(seen[source], *latest)))
    for fence, read in product(runs.events, runs.rf):
        if fence.order != "heavy":
            continue
        for write in runs.events:  # a write in a buffer when all buffers are emptied
            if write.written is not None and write.is_before(read) and read.thread != fence.thread:
                kept = z3.And(times[read] < times[fence], times[fence] < times[write])
                there = z3.And(fence.guard, write.guard, read.guard)
                runs.add(z3.Implies(there, z3.Not(kept)))
