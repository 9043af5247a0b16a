# SPDX-License-Identifier: Apache-2.0
"""Search: two carriers, one of them in a task that never ends, and two submitters.

``search_steps`` reads the steps of the code.  At an empty queue, a thief in the code takes no
ticket, and a thief in the spec takes the ticket but no task.  Both are hidden.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform.code import At
from wakeproof.judge.conform.concept import HIDDEN, Concept, Ghost
from wakeproof.judge.conform.maps.search_steps import (
    CARRIER,
    FIRST,
    INBOX,
    TAIL,
    after,
    front,
    label_as,
    pinned_as,
)

BASE = 0x100000000000
TOKEN = 2 * CARRIER + 128
IDLE = TOKEN + 128
WORDS = ("RUNNING", "PARKED", "PARKED", "WAKING", "c1", "c2")


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return words, idle set, token, and the queues that are published or empty."""
    words = tuple(WORDS[at.word(c * CARRIER)] for c in (0, 1))
    idle = frozenset(f"c{c + 1}" for c in (0, 1) if at.word(IDLE) >> c & 1)
    published = tuple(front(at, c) != 0 for c in (0, 1))
    empty = tuple(
        at.word(c * CARRIER + TAIL, BASE + c * CARRIER + FIRST) == BASE + c * CARRIER + FIRST
        for c in (0, 1)
    )
    return words, idle, at.word(TOKEN), published, empty


def pinned_seen(at: At, ghost: object) -> Hashable:
    """Return the same observations, and the inboxes that are published or empty."""
    first = tuple(BASE + c * CARRIER + INBOX + FIRST for c in (0, 1))
    empty = tuple(at.word(c * CARRIER + INBOX + TAIL, first[c]) == first[c] for c in (0, 1))
    return code_seen(at, ghost), tuple(front(at, c, INBOX) != 0 for c in (0, 1)), empty


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    names = ("c1", "c2")
    queues = [state["queue"][c] for c in names]
    holes = {t for t, where in state["at"].items() if where["pc"] == "publish"}
    words = tuple(state["word"][c] for c in names)
    published = tuple(bool(q) and q[0] not in holes for q in queues)
    tokens = sum(one["who"] != "none" for one in state["token"].values())
    return words, state["idle"], tokens, published, tuple(not q for q in queues)


def spec_pinned_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    inboxes = [state["inbox"][c] for c in ("c1", "c2")]
    holes = {t for t, where in state["at"].items() if where["pc"] == "publish"}
    published = tuple(bool(q) and q[0] not in holes for q in inboxes)
    return spec_seen(state), published, tuple(not q for q in inboxes)


def spec_label(
    action: str, arguments: tuple[str, ...], pre: Mapping[str, Any], post: Mapping[str, Any]
) -> str:
    """Return the step's name; hide the ticket of a steal, and a steal that takes nothing."""
    steals = action == "Pop" and pre["at"][arguments[0]]["pc"] != "pop"
    if action == "TryAcquire" or (steals and pre["queue"] == post["queue"]):
        return HIDDEN
    return " ".join((action, *arguments))


def keeps(
    action: str, arguments: tuple[str, ...], pre: Mapping[str, Any], post: Mapping[str, Any]
) -> bool:
    """Keep the steps that take carriers in the code's order; the spec takes them in any order."""
    if action not in ("LoadParked", "IsHit"):
        return True
    before, now = pre["at"][arguments[0]], post["at"][arguments[0]]
    taken = before["todo"] - now["todo"] if now["arg"] == "none" else {now["arg"]}
    return len(before["todo"]) == 1 or min(before["todo"]) in taken


def keeps_long(
    action: str, arguments: tuple[str, ...], pre: Mapping[str, Any], post: Mapping[str, Any]
) -> bool:
    """Keep the steps that pin tasks to the carrier in the long task: the other polls in turns."""
    return arguments != ("s2", "c1") and keeps(action, arguments, pre, post)


POP = (
    ("mpsc.15", "mpsc.4"), ("mpsc.15", "mpsc.5"), ("mpsc.4", "mpsc.13"), ("mpsc.13", "mpsc.8"),
    ("mpsc.8", "mpsc.5"), ("mpsc.5", "mpsc.16"), ("mpsc.5", "mpsc.6"), ("mpsc.16", "mpsc.7"),
    ("mpsc.7", "mpsc.6"), ("mpsc.6", "biased_lock.5"), ("mpsc.16", "biased_lock.5"),
    ("mpsc.4", "biased_lock.5"),
)  # fmt: skip
LOOKS = (
    ("mpsc.9", "mpsc.11"), ("mpsc.9", "biased_lock.1"), ("mpsc.11", "biased_lock.1"),
    ("biased_lock.1", "biased_lock.2"), ("mpsc.9", "mpsc.14"), ("mpsc.11", "mpsc.14"),
    ("mpsc.14", "mpsc.10"),
)  # fmt: skip
OTHERS = (
    ("To", "mpsc.1"), ("Pin", "mpsc.1"), ("mpsc.1", "mpsc.2"), ("search.2", "search.1"),
    ("Sleep", "Word"), ("Spawn", "Left"), ("Yield", "Left"), ("Left", "mpsc.1"),
)  # fmt: skip
ANY = (
    "Publish", "IsAlone", "IsIdle", "Start", "Snapshot", "Recruit", "Stop", "Recheck",
    "LoadParked", "IsHit", "LoadTail", "LoadInbox", "LoadWaking",
)  # fmt: skip
OWN = (
    "PollQueue", "PollInbox", "PollNothing", "Advertise", "SetIdle", "LookOwn",
    "LookInbox", "Awake", "ClearIdle", "Leave", "TryAcquire", "Pop", "SubmitInternal", "Reenqueue",
    "End", "Rise",
)  # fmt: skip
LONG_THREADS = ("c1", "s1", "s2")
SEARCH_LONG = Concept(
    name="search long",
    is_long=True,
    bounds="2 carriers, one in a long task, 2 submitters",
    threads=LONG_THREADS,
    constants={
        "Carriers": '{"c1", "c2"}', "Submitters": '{"s1", "s2"}', "Endless": '{"c2"}',
        "Backlog": "0", "Delaying": "{}", "Tokens": '{"k1"}', "Spawns": "0", "Yields": "0",
        "Pinners": "{}",
    },
    arguments={
        **dict.fromkeys(ANY, "Carriers+Submitters"),
        **dict.fromkeys(OWN, "Carriers"),
        **dict.fromkeys(("LoadWord", "Wake", "IsQuiescent"), "Submitters"),
        **dict.fromkeys(("Submit", "SubmitPinned"), "Submitters Carriers"),
    },
    spec_label=spec_label,
    spec_seen=spec_seen,
    code_label=lambda step: label_as(LONG_THREADS, step),
    code_seen=code_seen,
    ghost=Ghost(("",) * 3, after),
    flags=("--wrap", "ticket->next=2", "--wrap", "ticket->serving=2"),
    joins=(*POP, *LOOKS, *OTHERS),
    keeps=keeps,
    joined="a pop; both reads of a front; the test for alone",
    spec_twin="no_recheck_release",
    code_twins=("search_no_recheck_release",),
    is_quick=False,
)  # fmt: skip
SEARCH_TWO_TOKENS = replace(
    SEARCH_LONG,
    name="search two tokens",
    test="conform_search_two_tokens",
    bounds="2 carriers, one in a long task, 2 submitters, who may both search at once",
    constants={**SEARCH_LONG.constants, "Tokens": '{"k1", "k2"}'},
    spec_twin="token_reset",
    code_twins=("search_no_recheck_release",),
)
TWO_THREADS = ("c1", "c2", "s1")
SEARCH = replace(
    SEARCH_LONG,
    name="search",
    is_long=False,
    test="conform_search",
    bounds="2 carriers, a submitter",
    threads=TWO_THREADS,
    constants={**SEARCH_LONG.constants, "Submitters": '{"s1"}', "Endless": "{}"},
    code_label=lambda step: label_as(TWO_THREADS, step),
    starts="Start",
)
SEARCH_PINNED = replace(
    SEARCH,
    name="search pinned",
    test="conform_search_pinned",
    bounds="2 carriers, a submitter whose task is pinned",
    constants={**SEARCH.constants, "Pinners": '{"s1"}'},
    spec_seen=spec_pinned_seen,
    code_label=lambda step: pinned_as(TWO_THREADS, step, alone=True),
    code_seen=pinned_seen,
    spec_twin="",
    code_twins=("conform_pin_silent",),
    is_quick=True,
)
SEARCH_PINNED_LONG = replace(
    SEARCH_LONG,
    name="search pinned long",
    test="conform_search_pinned_long",
    bounds="2 carriers, one in a long task, a submitter, another that pins a task to that one",
    constants={**SEARCH_LONG.constants, "Pinners": '{"s2"}'},
    spec_seen=spec_pinned_seen,
    code_label=lambda step: pinned_as(LONG_THREADS, step, alone=False),
    code_seen=pinned_seen,
    keeps=keeps_long,
    spec_twin="pinned_leaves",
    code_twins=("search_pinned_leaves", "conform_pin_silent"),
)
TWO_CARRIERS = ("c1", "c2")
SEARCH_SPAWN = replace(
    SEARCH,
    name="search spawn",
    test="conform_search_spawn",
    bounds="2 carriers, whose tasks may submit one more",
    threads=TWO_CARRIERS,
    constants={**SEARCH.constants, "Submitters": "{}", "Spawns": "1"},
    code_label=lambda step: label_as(TWO_CARRIERS, step),
    ghost=Ghost(("",) * 2, after),
    joined="a pop; both reads of a front; what a task does with the place in the queue",
    spec_twin="silent_internal",
    code_twins=("search_silent_internal",),
    is_quick=True,
)
SEARCH_YIELD = replace(
    SEARCH_SPAWN,
    name="search yield",
    test="conform_search_yield",
    bounds="2 carriers, whose tasks may yield once",
    constants={**SEARCH_SPAWN.constants, "Spawns": "0", "Yields": "1"},
    spec_twin="silent_reenqueue",
    code_twins=("search_silent_reenqueue", "search_yield_wakes"),
)
