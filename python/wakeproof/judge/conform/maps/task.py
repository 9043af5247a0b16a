# SPDX-License-Identifier: Apache-2.0
"""Task: every change of the word is a step of the spec; a pop is one step, a push is two.

The spec's bag of cells is the home's queue: nobody looks elsewhere.  Its ghosts (who wrote what,
and whose writes the word carries) follow from the steps and are not compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from wakeproof.judge.conform.code import At, Step, lies
from wakeproof.judge.conform.concept import HIDDEN, WAIT, Concept, Ghost, labels_of

THREADS = ("c1", "c2", "u1", "u2", "canceller")
BASE = 0x100000000000
WORD, FIRST, HEAD = 8, 384, 392  # bytes: of the task, of its home's queue
WORDS = ("PARKED", "BUSY", "DONE", "CANCELLED")
NOTIFIED = 4
YIELDS = 1
MOST = 3
"""Cells that are counted: a twin links a node to itself."""
NAMES = {"K2": "Begin", "Q1": "Reserve", "Q3": "Publish", "K1": "Unpark"}
HIDDEN_SITES = {"S", "C4", "Q14", "Q10", "I3"}
"""The end of a push: is somebody asleep?"""


def code_label(step: Step) -> str:
    """Give one step of the spec for each change of the word, each pop, each half of a push."""
    thread = THREADS[step.thread]
    if step.site in NAMES:
        return f"{NAMES[step.site]} {thread}"
    if step.site in HIDDEN_SITES:
        return HIDDEN
    match step.site:
        case "Q9":
            return f"Pop {thread}" if cells(step.pre) > cells(step.post) else WAIT
        case "Q15":
            return WAIT  # the inbox
        case "Step":
            return f"{said(step)} {thread}"
        case "K5":
            is_done = WORDS[step.pre.word(WORD) % NOTIFIED] == "DONE"
            return f"Lies {thread}" if lies(step, "Gave", truth=is_done) else HIDDEN
        case "Gave":
            return HIDDEN
        case "K6":
            return "Cancel" if step.moves else WAIT
    raise KeyError(step.site)


def said(step: Step) -> str:
    """Tell what the step said by what came of it: [K3] reads BUSY only where it changes it."""
    if step.value == 0 and step.post.word(WORD) == WORDS.index("DONE"):
        return "Done"
    stays = step.pre.word(WORD) == step.post.word(WORD)
    return "Yield" if stays and step.value == 1 else "Park"


def cells(at: At) -> int:
    """Count the chain of the queue."""
    node = at.word(HEAD) or at.word(FIRST)
    count = 0
    while node and count < MOST:
        count += 1
        node = at.word(node - BASE)
    return count


def after(yields: int, _step: Step, label: str) -> int | None:
    """Count the yields that are left; no more is taken."""
    if not label.startswith("Yield"):
        return yields
    return yields - 1 if yields else None


def code_seen(at: At, yields: int) -> Hashable:
    """Return the word, its bit, the cells, the yields that are left."""
    word = at.word(WORD)
    return WORDS[word % NOTIFIED], word >= NOTIFIED, cells(at), yields


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same of the spec."""
    return state["word"], state["notified"], state["cells"], state["left"]["yields"]


POP = (
    ("Q9", "Q11"), ("Q9", "T1"), ("Q9", "T3"), ("Q11", "T1"), ("Q11", "T3"), ("T1", "T2"),
    ("T2", "Q15"), ("T3", "T4"), ("T4", "Q15"), ("Q15", "Q4"), ("Q15", "Q5"), ("Q4", "Q13"),
    ("Q4", "T5"), ("Q13", "Q8"), ("Q8", "Q5"), ("Q5", "Q16"), ("Q16", "Q7"), ("Q7", "Q6"),
    ("Q6", "T5"),
)  # fmt: skip
PUSH = (("Q1", "Q2"),)
RUN = (("Step", "K3"), ("Step", "L1"), ("L1", "L3"), ("L3", "K4"))
CARRIERS = (('"c1"',), ('"c2"',))
UNPARKERS = (('"u1"',), ('"u2"',))
TASK = Concept(
    name="task",
    scenario="task",
    test="conform_task",
    module="Task",
    bounds="an owner, a thief, 2 unparkers, a canceller, a yield",
    threads=THREADS,
    constants={
        "Carriers": '{"c1", "c2"}', "Unparkers": '{"u1", "u2"}', "Unparks": "1",
        "Yields": str(YIELDS),
    },
    plain=("Cancel",),
    arguments={
        **dict.fromkeys(("Pop", "Begin", "Done", "Yield", "Park"), CARRIERS),
        **dict.fromkeys(("Reserve", "Publish"), (*CARRIERS, *UNPARKERS)),
        "Unpark": UNPARKERS,
    },
    spec_label=labels_of({}),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    ghost=Ghost(YIELDS, after),
    flags=tuple(
        flag for name in ("ticket->next=2", "ticket->serving=2") for flag in ("--wrap", name)
    ),
    joins=(*POP, *PUSH, *RUN),
    joined="a look at the queue with the pop that follows; a place in the queue; what a step says "
    "with what becomes of the word",
    spec_twin="park_split",
    code_twins=("task_notified_kept", "home_forgotten", "conform_done_lies"),
)  # fmt: skip
