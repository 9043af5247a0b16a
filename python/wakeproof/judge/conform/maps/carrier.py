# SPDX-License-Identifier: Apache-2.0
"""Carrier: the steps of word, eventfd, futex and system calls.  A push or a pop is one step.

The spec leaves out the token, the idle set and the siblings' queues, so accesses of these are
hidden.  Only *carrier hit* has siblings with work.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform.code import At, Step
from wakeproof.judge.conform.concept import DROPPED, HIDDEN, WAIT, Concept, labels_of

THREADS = ("owner", "searcher", "s1", "s2")
BASE, LINE = 0x100000000000, 128
WORD, TAIL, FIRST, HEAD = 0, LINE, 2 * LINE, 2 * LINE + 8  # of carrier 0, its queue
INBOX = 2 * LINE  # added to a place in the queue: the same place in the inbox
CARRIER = 8 * LINE
TASKS, EVENT = 3 * CARRIER, (1 << 20) - 4096
WORDS = ("RUNNING", "PARKED_FUTEX", "PARKED_POLLER", "WAKING", "v0", "v1", "v2")
HIDDEN_SITES = {
    "carrier.7", "carrier.6", "search.7", "idle_set.1", "idle_set.2", "idle_set.3", "search.6",
    "run_queues.1", "search.4", "mpsc.4", "mpsc.7", "mpsc.10", "mpsc.11", "mpsc.12", "mpsc.14",
    "mpsc.15", "mpsc.16", "poller.1", "biased_lock.3", "biased_lock.4", "biased_lock.5",
}  # fmt: skip


LABELS = dict.fromkeys(HIDDEN_SITES, HIDDEN) | {
    "mpsc.1": "Push {}", "carrier.4": "LoadWord {}", "LoadWord": "LoadWord {}",
    "carrier.3": "Signal {}", "Victim": "Signal {}", "event_signal": "Call {}",
    "futex_wake": "Call {}", "carrier.5": "Test", "futex_wait": "Wait", "event_take": "Drain",
    "carrier.2": "Leave", "End": "End", "Readable": "Readable",
}  # fmt: skip


def code_label(step: Step) -> str:
    """Return the spec's step; accesses of queues of other carriers are hidden."""
    match step.site:
        case "mpsc.9":
            if step.thread or step.what.offset != FIRST:
                return HIDDEN
            return "Recheck" if step.pre.word(WORD) else "Poll"
        case "search.5":
            if step.thread != 1:
                return HIDDEN
            return "Search" if step.value == 0 else WAIT
        case "Place":
            return f"Advertise {WORDS[1 + (step.post.word(WORD) == 2)]}"
        case "Select":
            return ("Select", "Deschedule")[step.value]
        case "Selecting":
            if not step.moves:
                return DROPPED
            return "Readable" if step.post.pending(0).site == "event_take" else "Ready"
    return LABELS[step.site].format(THREADS[step.thread])


def hit_label(step: Step) -> str:
    """Return the spec's step; a check of all queues is one step, which tells whether it hit."""
    if step.site == "Has":
        return WAIT
    if step.site == "mpsc.15" and step.what.offset == INBOX + HEAD:
        return "Poll"
    label = code_label(step)
    if label == "Poll":
        return HIDDEN  # its queue is empty: the task is pinned
    gives_up = step.post.pending(0).site == "idle_set.2"
    return "SiblingHit" if label == "Recheck" and gives_up and not _work(step.pre, INBOX) else label


def _work(at: At, which: int = 0) -> int:
    """Count the nodes in the carrier's queue (`which`: INBOX, in its inbox)."""
    node = at.word(which + HEAD) or at.word(which + FIRST)
    count = 0
    while node and count < 9:
        count += 1
        node = at.word(node - BASE)
    return count


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return the word, the tasks, the eventfd, and whether the carrier sleeps in the futex."""
    return WORDS[at.word(WORD)], _work(at), at.word(EVENT) > 0, at.is_asleep(0)


def hit_seen(at: At, _ghost: object) -> Hashable:
    """Return the same observations, with the tasks of the inbox."""
    return WORDS[at.word(WORD)], _work(at, INBOX), at.word(EVENT) > 0, at.is_asleep(0)


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    asleep = state["pc"]["owner"] == "queued"
    return state["word"], state["work"], state["eventfd"], asleep


def keeps(
    action: str, _arguments: tuple[str, ...], _pre: Mapping[str, Any], _post: Mapping[str, Any]
) -> bool:
    """Keep the states in which no sibling has work."""
    return action != "SiblingHit"


PUSH = (("mpsc.1", "mpsc.2"), ("mpsc.2", "mpsc.3"))
POP = (
    ("mpsc.9", "mpsc.11"), ("mpsc.9", "biased_lock.1"), ("mpsc.11", "biased_lock.1"),
    ("biased_lock.1", "biased_lock.2"), ("biased_lock.2", "mpsc.15"), ("mpsc.15", "mpsc.4"),
    ("mpsc.15", "mpsc.5"), ("mpsc.4", "mpsc.13"), ("mpsc.13", "mpsc.8"), ("mpsc.8", "mpsc.5"),
    ("mpsc.5", "mpsc.16"), ("mpsc.5", "mpsc.6"), ("mpsc.16", "mpsc.7"), ("mpsc.7", "mpsc.6"),
    ("mpsc.6", "biased_lock.5"),
)  # fmt: skip
SEARCH = (
    ("mpsc.9", "mpsc.14"), ("mpsc.11", "mpsc.14"), ("mpsc.14", "mpsc.10"),
    ("idle_set.3", "search.5"), ("search.5", "idle_set.3"), ("idle_set.3", "search.6"),
    ("search.6", "search.7"), ("search.7", "idle_set.3"), ("idle_set.3", "idle_set.3"),
    ("idle_set.3", "search.4"), ("search.4", "idle_set.3"),
)  # fmt: skip
CARRIER_TWO = Concept(
    name="carrier two",
    bounds="2 submitters, no searcher; no sibling has work",
    threads=THREADS,
    constants={
        "Submitters": '{"s1", "s2"}', "Victims": '{"v1"}', "Searches": "0", "Delaying": "FALSE",
    },
    plain=(
        "Search", "End", "Poll", "Recheck", "SiblingHit", "Test", "Wait", "Select", "Deschedule",
        "Readable", "Ready", "Drain", "Leave",
    ),
    arguments={
        "Push": "Submitters",
        **dict.fromkeys(("LoadWord", "Signal", "Call"), 'Submitters+{"searcher"}'),
        "Advertise": '{"PARKED_FUTEX","PARKED_POLLER"}',
    },
    spec_label=labels_of({}),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    joins=(*PUSH, *POP, *SEARCH, ("Victim", "Signal"), ("Place", "carrier.1"), ("Selecting",
    "Readable")),
    joined="a push; a look at queues with the pop that follows; a fruitless search; choices with "
    "what they decide",
    keeps=keeps,
    is_quick=False,
)  # fmt: skip
CARRIER_ONE = replace(
    CARRIER_TWO,
    name="carrier",
    test="conform_carrier",
    bounds="a submitter, a searcher twice, 2 victims; no sibling has work",
    constants={
        **CARRIER_TWO.constants, "Submitters": '{"s1"}', "Victims": '{"v1", "v2"}', "Searches": "2",
    },
    spec_twin="runs_parked",
    code_twins=("carrier_wake_forgotten",),
    is_quick=True,
)  # fmt: skip
CARRIER_HIT = replace(
    CARRIER_ONE,
    name="carrier hit",
    test="conform_carrier_hit",
    bounds="a submitter whose task is pinned, a sibling that has work or not at any time",
    constants={**CARRIER_TWO.constants, "Submitters": '{"s1"}'},
    code_label=hit_label,
    code_seen=hit_seen,
    joins=(
        *CARRIER_TWO.joins,
        ("mpsc.11", "mpsc.9"),
        ("mpsc.11", "mpsc.12"),
        ("mpsc.9", "mpsc.12"),
    ),
    flags=("--wrap", "ticket->next=2", "--wrap", "ticket->serving=2"),
    keeps=None,
    spec_twin="no_recheck",
    code_twins=("search_no_recheck_park",),
)
