# SPDX-License-Identifier: Apache-2.0
"""Task: every change of the word is a step of the spec; a pop is one step, a push is two.

The spec's bag of cells is the queue of the home, and no thread looks elsewhere.  The spec's ghosts
(the writer of each value, and the writes that the word carries) follow from the steps, and are not
compared.
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
"""The most cells that are counted, because a twin links a node to itself."""
NAMES = {"task.2": "Begin", "mpsc.1": "Reserve", "mpsc.3": "Publish", "task.1": "Unpark"}
HIDDEN_SITES = {"carrier.7", "carrier.4", "mpsc.14", "mpsc.10", "idle_set.3"}
"""The end of a push: the look whether a carrier is asleep."""


def code_label(step: Step) -> str:
    """Return the spec's step for a change of the word, a pop, or a half of a push."""
    thread = THREADS[step.thread]
    if step.site in NAMES:
        return f"{NAMES[step.site]} {thread}"
    if step.site in HIDDEN_SITES:
        return HIDDEN
    match step.site:
        case "mpsc.9":
            return f"Pop {thread}" if cells(step.pre) > cells(step.post) else WAIT
        case "mpsc.15":
            return WAIT  # the inbox
        case "Step":
            return f"{said(step)} {thread}"
        case "task.5":
            is_done = WORDS[step.pre.word(WORD) % NOTIFIED] == "DONE"
            return f"Lies {thread}" if lies(step, "Gave", truth=is_done) else HIDDEN
        case "Gave":
            return HIDDEN
        case "task.6":
            return "Cancel" if step.moves else WAIT
    raise KeyError(step.site)


def said(step: Step) -> str:
    """Return the result of the step, from its effect: [task.3] reads BUSY only to change it."""
    if step.value == 0 and step.post.word(WORD) == WORDS.index("DONE"):
        return "Done"
    stays = step.pre.word(WORD) == step.post.word(WORD)
    return "Yield" if stays and step.value == 1 else "Park"


def cells(at: At) -> int:
    """Count the nodes in the queue."""
    node = at.word(HEAD) or at.word(FIRST)
    count = 0
    while node and count < MOST:
        count += 1
        node = at.word(node - BASE)
    return count


def after(yields: int, _step: Step, label: str) -> int | None:
    """Count the yields that are left; with none left, a yield is refused."""
    if not label.startswith("Yield"):
        return yields
    return yields - 1 if yields else None


def code_seen(at: At, yields: int) -> Hashable:
    """Return the word, its bit, the cells and the yields that are left."""
    word = at.word(WORD)
    return WORDS[word % NOTIFIED], word >= NOTIFIED, cells(at), yields


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    return state["word"], state["notified"], state["cells"], state["left"]["yields"]


POP = (
    ("mpsc.9", "mpsc.11"), ("mpsc.9", "biased_lock.1"), ("mpsc.9", "biased_lock.3"),
    ("mpsc.11", "biased_lock.1"), ("mpsc.11", "biased_lock.3"), ("biased_lock.1", "biased_lock.2"),
    ("biased_lock.2", "mpsc.15"), ("biased_lock.3", "biased_lock.4"), ("biased_lock.4", "mpsc.15"),
    ("mpsc.15", "mpsc.4"), ("mpsc.15", "mpsc.5"), ("mpsc.4", "mpsc.13"),
    ("mpsc.4", "biased_lock.5"), ("mpsc.13", "mpsc.8"), ("mpsc.8", "mpsc.5"), ("mpsc.5", "mpsc.16"),
    ("mpsc.16", "mpsc.7"), ("mpsc.7", "mpsc.6"), ("mpsc.6", "biased_lock.5"),
)  # fmt: skip
PUSH = (("mpsc.1", "mpsc.2"),)
RUN = (("Step", "task.3"), ("Step", "lock.1"), ("lock.1", "lock.3"), ("lock.3", "task.4"))
TASK = Concept(
    name="task",
    bounds="an owner, a thief, 2 unparkers, a canceller, a yield",
    threads=THREADS,
    constants={
        "Carriers": '{"c1", "c2"}', "Unparkers": '{"u1", "u2"}', "Unparks": "1",
        "Yields": str(YIELDS),
    },
    plain=("Cancel",),
    arguments={
        **dict.fromkeys(("Pop", "Begin", "Done", "Yield", "Park"), "Carriers"),
        **dict.fromkeys(("Reserve", "Publish"), "Carriers+Unparkers"),
        "Unpark": "Unparkers",
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
    code_twins=("task_notified_kept", "carrier_tasks_forgotten", "conform_done_lies"),
)  # fmt: skip
