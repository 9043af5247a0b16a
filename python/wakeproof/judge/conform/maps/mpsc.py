# SPDX-License-Identifier: Apache-2.0
"""Mpsc: every access is a step of the spec, and all link cells are compared."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform.code import At, Step
from wakeproof.judge.conform.concept import DROPPED, HIDDEN, WAIT, Concept, labels_of

THREADS = ("consumer", "s1", "p1", "p2", "p3")
BASE = 0x100000000000
TAIL, FIRST, HEAD, NODES, USED = 0, 128, 136, 256, 384  # bytes
COUNT = 3
NAMES = {
    0: "NoNode", BASE + FIRST: "first", **{BASE + NODES + 8 * n: f"n{n + 1}" for n in range(COUNT)}
}  # fmt: skip


LABELS = {
    "mpsc.3": "Publish {}", "mpsc.13": "Adopt", "mpsc.8": "Open", "mpsc.5": "Look",
    "mpsc.7": "Unlink", "mpsc.6": "Advance", "mpsc.9": "AskFirst {}", "mpsc.11": "AskSecond {}",
    "mpsc.12": "AskTail {}", "GiveAway": "GiveAway",
}  # fmt: skip


def code_label(step: Step) -> str:
    """Return the spec's step for an access; a pop that finds nothing published is no step."""
    thread = THREADS[step.thread]
    match step.site:
        case "Node":
            if not step.moves:
                return DROPPED
            node = next(n for n in range(COUNT) if step.pre.word(USED + 8 * n) == 0
                        and step.post.word(USED + 8 * n) == 1)  # fmt: skip
            return f"Reserve {thread} n{node + 1}"
        case "mpsc.15" | "mpsc.4":
            return "Pop" if step.value else WAIT
        case "mpsc.16":
            return HIDDEN if step.post.pending(step.thread).site == "mpsc.7" else "Unlink"
    return LABELS[step.site].format(thread)


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return tail, head, every link cell, and the free nodes."""
    cells = tuple(
        NAMES[at.word(offset)] for offset in (FIRST, *(NODES + 8 * n for n in range(COUNT)))
    )
    free = tuple(not at.word(USED + 8 * n) for n in range(COUNT))
    return NAMES[at.word(TAIL, BASE + FIRST)], NAMES[at.word(HEAD)], cells, free


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    nodes = [f"n{n + 1}" for n in range(COUNT)]
    cells = tuple(state["cell"][name] for name in ("first", *nodes))
    return state["tail"], state["head"], cells, tuple(state["where"][n] == "free" for n in nodes)


MPSC_THREE = Concept(
    name="mpsc three",
    test="conform_mpsc",
    bounds="3 producers, 3 nodes, a sibling",
    threads=THREADS,
    constants={
        "Producers": '{"p1", "p2", "p3"}', "Siblings": '{"s1"}', "Nodes": '{"n1", "n2", "n3"}',
        "NoNode": '"NoNode"', "TakesMany": "FALSE",
    },
    plain=("Pop", "Adopt", "Open", "Look", "Advance", "Unlink", "GiveAway"),
    arguments={
        "Reserve": "Producers Nodes",
        "Publish": "Producers",
        **dict.fromkeys(("AskFirst", "AskSecond", "AskTail"), "Siblings"),
    },
    spec_label=labels_of({}),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    joins=(("Node", "Own"), ("Own", "mpsc.1"), ("mpsc.1", "mpsc.2")),
    joined="the choice of a free node, and mpsc.1, which writes what nobody else has, with mpsc.2",
    is_quick=False,
)  # fmt: skip
MPSC = replace(
    MPSC_THREE,
    name="mpsc",
    test="conform_mpsc_two",
    bounds="2 producers, 3 nodes, a sibling",
    constants={**MPSC_THREE.constants, "Producers": '{"p1", "p2"}'},
    spec_twin="clear_first",
    code_twins=("mpsc_ignores_hostage",),
    is_quick=True,
)  # fmt: skip
