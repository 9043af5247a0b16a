# SPDX-License-Identifier: Apache-2.0
"""Random programs that an oracle can enumerate: without loops and futex calls.

A value names its store where possible, so outcomes distinguish executions. Every register and every
location is observed.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from tests.support.litmus import observed
from tests.support.shapes import LOADS, SKELETONS, STORES, Orders

from wakeproof.judge.explore.litmus_program import (
    Assert,
    Assume,
    Cas,
    Fence,
    If,
    Label,
    Load,
    Operation,
    Program,
    Store,
    Thread,
    Update,
)

UPDATES = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
FENCES = ("acquire", "release", "acq_rel", "seq_cst", "seq_cst")
CANDIDATES = 3000
"""Bound on the choices of reads-from and modification order, before any axiom."""
MIXTURES = (
    Orders(("relaxed",), ("relaxed",), ("relaxed",)),
    Orders(("acquire", "acquire", "relaxed"), ("release", "release", "relaxed"), UPDATES[:4]),
    Orders(("seq_cst", "seq_cst", "acquire"), ("seq_cst", "seq_cst", "release"), UPDATES[3:]),
    Orders(LOADS, STORES, UPDATES),
)


@dataclass(frozen=True)
class Kinds:
    """The features that random programs may have."""

    plain: bool = True
    fences: tuple[str, ...] = FENCES
    assume: bool = False
    asserts: bool = False
    most: int = 4  # operations of a thread without a skeleton
    candidates: int = CANDIDATES


def small(kinds: Kinds | None = None) -> st.SearchStrategy[Program]:
    """Draw programs that an oracle can enumerate."""
    kinds = kinds or Kinds()
    return _programs(kinds).filter(lambda program: candidates(program) <= kinds.candidates)


@st.composite
def _programs(draw: st.DrawFn, kinds: Kinds) -> Program:
    """Draw up to four threads of up to four operations on up to three locations."""
    each = _Draw(draw, kinds)
    if each.one(True, True, False):
        skeleton = [thread.split() for thread in each.one(*SKELETONS).split("|")]
    else:
        plan = st.lists(st.sampled_from(["Wx", "Wy", "Wz", "Rx", "Ry", "Rz", "Ux", "Uy"]),
                        min_size=1, max_size=kinds.most)  # fmt: skip
        skeleton = draw(st.lists(plan, min_size=2, max_size=3))
    threads = tuple(each.thread(number, plan) for number, plan in enumerate(skeleton))
    initial = {"x": 1} if each.one(*[False] * 7, True) else {}
    return observed(Program("random", threads, initial=initial))


class _Draw:
    def __init__(self, draw: st.DrawFn, kinds: Kinds) -> None:
        self._draw, self._kinds = draw, kinds
        self._orders = self.one(*MIXTURES)
        self._plain = ("plain",) * (kinds.plain and self.one(False, False, True))
        self._is_fenced = self.one(False, True)
        self._reads_by_cas = self.one(False, False, False, True)

    def one(self, *among: Any) -> Any:
        return self._draw(st.sampled_from(among))

    def thread(self, number: int, plan: list[str]) -> Thread:
        operations: list[Operation] = []
        registers: list[str] = []
        for at, (kind, place) in enumerate(plan):
            if at and self._is_fenced and self.one(True, True, False):
                operations.append(Fence(self.one(*self._kinds.fences)))
            before, after = self._condition(registers, f"after{at}") if registers else ([], [])
            operation = self._operation(kind, place, 4 * number + at + 1, registers)
            operations += [*before, operation, *after]
        return Thread(tuple(operations))

    def _condition(
        self, registers: list[str], label: str
    ) -> tuple[list[Operation], list[Operation]]:
        condition = (self.one(*registers), self.one("==", "!=", "<"), self._number())
        frame = self.one(*["none"] * 9, "if", "if", "assume", "assert")
        if frame == "if":
            return [If(*condition, label)], [Label(label)]
        if frame == "assume" and self._kinds.assume:
            return [Assume(*condition)], []
        if frame == "assert" and self._kinds.asserts:
            return [Assert(*condition)], []
        return [], []

    def _number(self) -> int:
        return self.one(0, 0, 1, 2, 5)

    def _operation(self, kind: str, place: str, value: int, registers: list[str]) -> Operation:
        stored = self.one(*[value] * 5, *registers[-1:])
        if kind == "W" and self.one(*[True] * 5, False):
            return Store(place, stored, self.one(*self._orders.stores, *self._plain))
        into = f"r{len(registers)}"
        registers.append(into)
        if kind == "R" and not self._reads_by_cas:
            return Load(into, place, self.one(*self._orders.loads, *self._plain))
        order = self.one(*self._orders.updates)
        if kind != "R" and self.one(True, True, False):
            return Update(
                self.one("exchange", "add", "add", "or", "and"), place, stored, order, into
            )
        is_weak, fail_order = self.one(False, False, False, True), self.one(*self._orders.loads)
        return Cas(place, self._number(), stored, order, fail_order, into, is_weak)


def candidates(program: Program) -> int:
    """Return roughly the number of ways to choose sources of reads and places of writes."""
    reads, writes = Counter[str](), Counter[str]()
    updates = Counter[str]()
    for thread in program.threads:
        for operation in thread.operations:
            place = getattr(operation, "place", "")
            reads[place] += isinstance(operation, Load)
            writes[place] += isinstance(operation, Store)
            updates[place] += isinstance(operation, Update | Cas)
    choices = 1
    for place in {*reads, *writes, *updates} - {""}:
        every = writes[place] + updates[place]
        choices *= math.factorial(every) * (1 + every) ** reads[place]
    return choices
