# SPDX-License-Identifier: Apache-2.0
"""Programs of known shapes: the classics in which models differ, and every smallest one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.support.litmus import observed

from wakeproof.judge.explore.litmus_program import (
    Fence,
    Load,
    Operation,
    Program,
    Store,
    Thread,
    Update,
)

LOADS = ("relaxed", "acquire", "seq_cst")
STORES = ("relaxed", "release", "seq_cst")
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
    """The orders to draw from. Each program mixes few, or it would rarely show anything."""

    loads: tuple[str, ...]
    stores: tuple[str, ...]
    updates: tuple[str, ...]


def smallest(*, updates: bool = False, fences: bool = False) -> Iterator[Program]:
    """Yield all programs of two threads with two operations on x and y, except symmetric ones.

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
        operations: list[Operation] = []
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
    """Return true if the two threads conflict; otherwise each runs as if alone."""
    return any(
        a[2] == b[2] and (a[0], b[0]) != ("load", "load") for a in pair[0][:2] for b in pair[1][:2]
    )


def _smallest(pair: tuple[tuple, ...]) -> Program:
    threads = []
    for number, (first, second, fence) in enumerate(pair):
        operations: list[Operation] = []
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
