# SPDX-License-Identifier: Apache-2.0
"""Small programs to compare judges on: random ones, every smallest one, and changes to them.

Loop-free, without futex calls: what the oracles know.  A value names its store wherever it can, so
outcomes tell executions apart; every register and every location is observed.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from wakeproof.judge import litmus
from wakeproof.judge.litmus import Cas, Fence, Load, Program, Store, Thread, Update

LOADS = ("relaxed", "acquire", "seq_cst")
STORES = ("relaxed", "release", "seq_cst")
UPDATES = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
FENCES = ("acquire", "release", "acq_rel", "seq_cst", "seq_cst")
STRONGER: dict[type, dict[str, tuple[str, ...]]] = {
    Load: {"plain": ("relaxed",), "relaxed": ("acquire",), "acquire": ("seq_cst",)},
    Store: {"plain": ("relaxed",), "relaxed": ("release",), "release": ("seq_cst",)},
    Update: {
        "relaxed": ("acquire", "release"),
        "acquire": ("acq_rel",),
        "release": ("acq_rel",),
        "acq_rel": ("seq_cst",),
    },
    Fence: {
        "acquire": ("acq_rel",),
        "release": ("acq_rel",),
        "acq_rel": ("seq_cst",),
        "light": ("heavy",),
    },
}
STRONGER[Cas] = STRONGER[Update]
CANDIDATES = 3000
"""Bound on the choices of reads-from and modification order, before any axiom."""


def text(program: Program) -> str:
    """Return the program as text, with what is observed on lines of eight."""
    lines = [replace(program, observe=()).render().rstrip("\n")]
    seen = program.observe
    lines += ["observe " + " ".join(seen[at : at + 8]) for at in range(0, len(seen), 8)]
    return "\n".join(lines) + "\n"


def candidates(program: Program) -> int:
    """Return roughly how many ways there are to choose what is read and what is overwritten."""
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


SKELETONS = (
    "Wx Ry|Wy Rx",  # SB
    "Wx Wy|Ry Rx",  # MP
    "Rx Wy|Ry Wx",  # LB
    "Wx Wy|Ry Wx",  # S
    "Wx Wy|Wy Rx",  # R
    "Wx Wy|Wy Wx",  # 2+2W
    "Wx Wx|Rx Rx",  # CoRR
    "Wx Wy Wy|Ry Rx",  # MP with a longer release sequence
    "Wx Wy|Uy|Ry Rx",  # MP through an update
    "Wx Wy|Uy Ry|Wy Rx",  # Z6.U
    "Wx|Rx Wy|Ry Rx",  # WRC
    "Wx|Rx Ry|Wy Rx",  # RWC
    "Wx Wz|Rz Ry|Wy Rx",  # W+RWC
    "Wx Wy|Ry Wz|Rz Rx",  # ISA2
    "Wx Wy|Ry Wz|Wz Rx",  # Z6
    "Wx Ux|Ux Ux|Rx",  # updates
    "Wx|Rx Ry|Ry Rx|Wy",  # IRIW
)
"""Programs in which the models differ: kinds (write, read, update) and locations."""


@dataclass(frozen=True)
class Orders:
    """From which orders to draw: each program mixes few, or it would rarely show anything."""

    loads: tuple[str, ...]
    stores: tuple[str, ...]
    updates: tuple[str, ...]


MIXTURES = (
    Orders(("relaxed",), ("relaxed",), ("relaxed",)),
    Orders(("acquire", "acquire", "relaxed"), ("release", "release", "relaxed"), UPDATES[:4]),
    Orders(("seq_cst", "seq_cst", "acquire"), ("seq_cst", "seq_cst", "release"), UPDATES[3:]),
    Orders(LOADS, STORES, UPDATES),
)


@dataclass(frozen=True)
class Kinds:
    """What random programs may have in them."""

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
        operations: list[litmus.Operation] = []
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
    ) -> tuple[list[litmus.Operation], list[litmus.Operation]]:
        condition = (self.one(*registers), self.one("==", "!=", "<"), self._number())
        frame = self.one(*["none"] * 9, "if", "if", "assume", "assert")
        if frame == "if":
            return [litmus.If(*condition, label)], [litmus.Label(label)]
        if frame == "assume" and self._kinds.assume:
            return [litmus.Assume(*condition)], []
        if frame == "assert" and self._kinds.asserts:
            return [litmus.Assert(*condition)], []
        return [], []

    def _number(self) -> int:
        return self.one(0, 0, 1, 2, 5)

    def _operation(
        self, kind: str, place: str, value: int, registers: list[str]
    ) -> litmus.Operation:
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


def observed(program: Program) -> Program:
    """Return the program with all its registers and locations observed."""
    lines = program.render().splitlines()
    places = sorted({word for line in lines for word in line.split() if word in ("x", "y", "z")})
    registers = []
    for number, thread in enumerate(program.threads):
        into = {getattr(operation, "into", None) for operation in thread.operations}
        weak = any(getattr(operation, "weak", False) for operation in thread.operations)
        used = sorted(name for name in into if name) + ["r7"] * weak
        registers += [f"{number}:{name}" for name in used]
    return replace(program, observe=(*registers, *places))


def smallest(*, updates: bool = False, fences: bool = False) -> Iterator[Program]:
    """Yield all programs of two threads with two operations on x and y, but for symmetric ones.

    Loads and stores of each order; on request exchanges, and a seq_cst fence in between.
    """
    kinds = [("load", order) for order in LOADS] + [("store", order) for order in STORES]
    kinds += [("exchange", order) for order in ("relaxed", "acq_rel", "seq_cst")] * updates
    operations = [(kind, order, place) for kind, order in kinds for place in "xy"]
    halves = [
        (first, second, fence)
        for first, second in itertools.product(operations, repeat=2)
        for fence in range(1 + fences)
    ]
    seen = set()
    for pair in itertools.combinations_with_replacement(halves, 2):
        if not _can_differ(pair):
            continue
        swapped = tuple(
            tuple((k, o, "yx"["xy".index(p)]) for k, o, p in half[:2]) + half[2:] for half in pair
        )
        key = min(tuple(sorted(pair)), tuple(sorted(swapped)))
        if key not in seen:
            seen.add(key)
            yield _smallest(pair)


def classics(skeletons: Sequence[str] = SKELETONS) -> Iterator[Program]:
    """Yield skeletons with each choice between neighbouring orders for each operation."""
    for mixture in (
        Orders(LOADS[:2], STORES[:2], ("relaxed", "acq_rel")),
        Orders(LOADS[1:], STORES[1:], ("acq_rel", "seq_cst")),
    ):
        choices = {"R": mixture.loads, "W": mixture.stores, "U": mixture.updates}
        for skeleton in skeletons:
            plans = [thread.split() for thread in skeleton.split("|")]
            kinds = [kind for plan in plans for kind, _ in plan]
            for orders in itertools.product(*(choices[kind] for kind in kinds)):
                yield _classic(plans, iter(orders))


def _classic(plans: list[list[str]], orders: Iterator[str]) -> Program:
    threads = []
    for number, plan in enumerate(plans):
        operations: list[litmus.Operation] = []
        for at, (kind, place) in enumerate(plan):
            value, into = 4 * number + at + 1, f"r{at}"
            if kind == "R":
                operations.append(Load(into, place, next(orders)))
            elif kind == "W":
                operations.append(Store(place, value, next(orders)))
            else:
                operations.append(Update("add", place, value, next(orders), into))
        threads.append(Thread(tuple(operations)))
    return observed(Program("classic", tuple(threads)))


def _can_differ(pair: tuple[tuple, ...]) -> bool:
    """Say whether the two threads have a conflict; else each runs as if alone."""
    return any(
        a[2] == b[2] and (a[0], b[0]) != ("load", "load") for a in pair[0][:2] for b in pair[1][:2]
    )


def _smallest(pair: tuple[tuple, ...]) -> Program:
    threads = []
    for number, (first, second, fence) in enumerate(pair):
        operations: list[litmus.Operation] = []
        for at, (kind, order, place) in enumerate((first, second)):
            operations += [Fence("seq_cst")] * (at == 1 and fence)
            value = 2 * number + at + 1
            if kind == "load":
                operations.append(Load(f"r{at}", place, order))
            elif kind == "store":
                operations.append(Store(place, value, order))
            else:
                operations.append(Update("exchange", place, value, order, f"r{at}"))
        threads.append(Thread(tuple(operations)))
    return observed(Program("smallest", tuple(threads)))


def stronger(program: Program) -> Iterator[Program]:
    """Yield the program with one memory order one step stronger, for each way to do so."""
    for number, thread in enumerate(program.threads):
        for at, operation in enumerate(thread.operations):
            order = getattr(operation, "order", "")
            for more in STRONGER.get(type(operation), {}).get(order, ()):
                changed = list(thread.operations)
                changed[at] = replace(operation, order=more)
                threads = list(program.threads)
                threads[number] = Thread(tuple(changed))
                yield replace(program, threads=tuple(threads))


def permuted(program: Program, order: tuple[int, ...]) -> Program:
    """Return the program with its threads in another order; its outcomes read the same."""
    threads = tuple(program.threads[number] for number in order)
    names = {f"{number}": f"{order.index(number)}" for number in order}
    seen = [
        f"{names[word.split(':')[0]]}:{word.split(':')[1]}" if ":" in word else word
        for word in program.observe
    ]
    return replace(program, threads=threads, observe=tuple(seen))
