# SPDX-License-Identifier: Apache-2.0
"""Placement policies: the cost and the benefit of a choice.  Source: ``bench/policies.h``.

The rows of a group (``placement_group``) run on two carriers.  The rows of more carriers are
simulated: the kernel's own code counts loads and chooses carriers, and a program simulates the
carriers, the tasks and the clock.  So these rows are the same on every machine.
"""

from __future__ import annotations

from wakeproof.bench.rows import NS, US, Row
from wakeproof.config import POLICIES

LABELS = {name: name.replace("_", " ") for name in POLICIES}
"""By side of the program, which has one for each policy of the kernel."""
OF_LOADS = [side for side in LABELS if side != "home"]

SPREAD = "most/mean"
COSTS, STEADY, BURSTS = (2, 4, 16, 64, 256), (2, 16, 64, 256), (16, 64)  # carriers

SLICE_MS = {  # a round is a seed, or a number of bursts: 8 of them in half a second
    **{f"placement_steady_{carriers}": 20.0 for carriers in STEADY},
    **{f"placement_burst_{carriers}": 20.0 for carriers in BURSTS},
    "placement_group_off": 20.0, "placement_group_on": 20.0,
}  # fmt: skip


def _cost(carriers: int) -> list[Row]:
    program = f"placement_{carriers}"
    rows = [
        Row(f"{'' if at == 0 else '- '}{LABELS[side]} of {carriers} carriers, as data", program,
            side, "none", "no choice")
        for at, side in enumerate(reversed(LABELS))
    ]  # fmt: skip
    least = "least_loaded"
    return [*rows, Row("- least loaded, per carrier", program, least, least, "", NS,
                       at_most=10.0, count="sibling")]  # fmt: skip


def _p99(program: str, name: str, at_most: float | None = 1.0) -> list[Row]:
    """Return rows of the 99th percentile of waiting times, compared with the policy "home".

    The goal is that a policy which compares loads is not worse than "home" without stealing.
    """
    rows: list[Row] = []
    for side in OF_LOADS:
        rows += [
            Row(f"{'- the same' if rows else name}, {LABELS[side]}", program, side, "home",
                "home", US, at_most=at_most),
            Row("- load at dequeue", program, f"{side}_dequeue", side, "load at the end", US),
        ]  # fmt: skip
    return rows


def _counted(program: str, name: str, count: str, unit: str, peer: str, against: str) -> list[Row]:
    return [
        Row(f"- {name}, {LABELS[side]}", program, side, peer, against, unit, count=count)
        for side in LABELS if side != peer
    ]  # fmt: skip


def _tail(program: str) -> list[Row]:
    return [
        *_counted(program, "half of them", "p50", US, "home", "home"),
        *_counted(program, "the longest", "most", US, "home", "home"),
    ]


def _steady(carriers: int) -> list[Row]:
    program = f"placement_steady_{carriers}"
    return [
        *_p99(program, f"p99 wait of {carriers} carriers, simulated"),
        Row("- one queue for all", program, "one", "home", "home", US),
        *_counted(program, "longest queue", "queue", SPREAD, "zero", "all to one"),
    ]


def _burst(carriers: int) -> list[Row]:
    program = f"placement_burst_{carriers}"
    return [
        *_p99(program, f"p99 in bursts to {carriers} carriers, simulated"),
        Row("- one queue for all", program, "one", "home", "home", US),
        *_tail(program),
        *_counted(program, "work of a carrier", "work", SPREAD, "zero", "all to one"),
    ]


def _group(program: str, name: str, at_most: float | None = None) -> list[Row]:
    return [
        *_p99(program, name, at_most),
        *_tail(program),
        *_counted(program, "work of a carrier", "work", SPREAD, "home", "home"),
        *_counted(program, "longest queue", "queue", SPREAD, "home", "home"),
    ]


ROWS = (
    *(row for carriers in COSTS for row in _cost(carriers)),
    *_group("placement_group_off", "p99 in bursts of 64 to 2 carriers", at_most=1.0),
    *_group("placement_group_on", "p99 in bursts of 64, stealing"),
    *(row for carriers in BURSTS for row in _burst(carriers)),
    *(row for carriers in STEADY for row in _steady(carriers)),
)
