# SPDX-License-Identifier: Apache-2.0
"""Search: two carriers, one of them in a task that never ends, and two submitters.

What a site means depends on why the code is there: the thread's own last steps (a ghost) say so.
Whoever steals takes no ticket for an empty queue, the spec does and takes nothing: both hidden.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform_code import At, Step
from wakeproof.judge.conform_concept import DROPPED, HIDDEN, WAIT, Concept, Ghost

CARRIER = 7 * 128  # bytes; of the places below: in a carrier
WORD, TAIL, FIRST, HEAD = 0, 128, 256, 264
DOMAIN = 2 * CARRIER + 128
TOKEN, IDLE = DOMAIN, DOMAIN + 128
BASE = 0x100000000000
WORDS = ("RUNNING", "PARKED", "PARKED", "WAKING", "c1", "c2")
WHY = {
    "C4": "alone", "N1": "snapshot", "N2": "stop", "R": "recheck", "P": "own", "C2": "left",
    "LookOwn": "look", "Snapshot": "recruit",
}  # fmt: skip
"""What a thread is at after a step at that site, or with that label."""


def queue_of(step: Step) -> int:
    """Return whose stealable queue the place belongs to, -1 if it is none's."""
    carrier, place = divmod(step.what.offset, CARRIER)
    return carrier if place in (FIRST, HEAD, TAIL) and carrier < 2 else -1


def front(at: At, carrier: int) -> int:
    """Return the published front of the queue, 0 if there is none."""
    return at.word(carrier * CARRIER + HEAD) or at.word(carrier * CARRIER + FIRST)


def label_as(threads: tuple[str, ...], step: Step) -> str:
    """Give the step of the spec."""
    thread = threads[step.thread]
    own = int(thread[1]) - 1 if thread[0] == "c" else -1
    why = step.memory[step.thread]
    match step.site:
        case "To":
            to = next(c for c in (0, 1) if step.pre.word(c * CARRIER + TAIL)
                      != step.post.word(c * CARRIER + TAIL))  # fmt: skip
            return f"Submit {thread} c{to + 1}"
        case "Q9":
            return _front(step, thread, own, why)
        case "I3":
            name = {"snapshot": "Snapshot", "recheck": "Recheck"}.get(why, "IsIdle")
            return HIDDEN if why.startswith("scan") else f"{name} {thread}"
        case "T2":
            if not step.moves:
                return WAIT
            return f"PollQueue {thread}" if front(step.pre, own) else f"PollNothing {thread}"
        case "Q15":
            carrier, place = divmod(step.what.offset, CARRIER)
            is_own = carrier == own
            if place != HEAD:
                return HIDDEN  # the inbox
            took = front(step.pre, carrier) != front(step.post, carrier)
            return f"Pop {thread}" if took or (is_own and why != "nothing") else HIDDEN
        case "Sleep":
            if not step.moves:
                return DROPPED
            return f"{'Rise' if step.pre.word(own * CARRIER) == 1 else 'Awake'} {thread}"
        case "T4":
            return HIDDEN if step.post.pending(step.thread).site == "Q15" else WAIT
        case "T3":
            return WAIT
    name = SITES[step.site]
    return f"{name} {thread}" if name else HIDDEN


SITES = {
    "Q3": "Publish", "C4": "LoadWord", "C3": "Wake", "N1": "Start", "N2": "Stop", "C7": "Recruit",
    "C9": "LoadParked", "Q12": "LoadTail", "C8": "LoadWaking", "C1": "Advertise", "I1": "SetIdle",
    "I2": "ClearIdle", "C2": "Leave", "End": "End", "S": "", "P": "", "R": "", "Q10": "",
    "Q4": "", "Q11": "", "T5": "",
}  # fmt: skip


def _front(step: Step, thread: str, own: int, why: str) -> str:
    """Tell the looks at a queue's front apart."""
    carrier = queue_of(step)
    if why == "alone":
        return f"IsAlone {thread}"
    if carrier < 0:
        return HIDDEN  # an inbox: nobody submits there
    if why == "own" and carrier == own:
        return f"LookOwn {thread}"
    if why.startswith("scan"):
        return f"IsHit {thread}"
    if why == "look" and carrier != own:
        return f"IsHit {thread}"
    if carrier != own:
        return WAIT  # a steal, until it has the ticket
    then = step.post.pending(step.thread)
    if then.site == "Q15" and then.offset == own * CARRIER + HEAD:
        return f"PollQueue {thread}"
    return HIDDEN if then.site == "T2" else f"PollNothing {thread}"


def after(memory: tuple[str, ...], step: Step, label: str) -> tuple[str, ...]:
    """Remember what each thread is at."""
    name = label.partition(" ")[0]
    before = memory[step.thread]
    now = WHY.get(name) or WHY.get(step.site)
    if name in ("IsAlone", "PollQueue", "PollNothing", "Recruit", "Awake", "Rise"):
        now = "nothing" if name == "PollNothing" and step.site == "T2" else ""
    elif name == "Recheck":
        now = f"scan {step.value} 0" if step.value else ""
    elif now is None and before.startswith("scan"):
        now = _scan(before, step)
    if now is None:
        return memory
    return (*memory[: step.thread], now, *memory[step.thread + 1 :])


def _scan(before: str, step: Step) -> str | None:
    """Follow a re-check: bits whose words are still to be read, then queues still to be asked."""
    bits, seen = map(int, before.split()[1:])
    if step.site == "C9":
        bit = bits & -bits
        bits -= bit
        seen |= bit if step.value in (1, 2) else 0
        if bits:
            return f"scan {bits} {seen}"
        # One idle carrier is not sent to itself; -1 marks that queues are asked now.
        return f"scan -1 {3 if seen == 3 else 3 - seen}" if seen else ""
    is_miss = (step.site == "Q9" and not step.value) or (step.site == "C8" and step.value == 3)
    if bits < 0 and is_miss:
        seen &= seen - 1
        return f"scan -1 {seen}" if seen else ""
    return None


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return words, idle set, token, which queues are published, which are empty."""
    words = tuple(WORDS[at.word(c * CARRIER)] for c in (0, 1))
    idle = frozenset(f"c{c + 1}" for c in (0, 1) if at.word(IDLE) >> c & 1)
    published = tuple(front(at, c) != 0 for c in (0, 1))
    empty = tuple(
        at.word(c * CARRIER + TAIL, BASE + c * CARRIER + FIRST) == BASE + c * CARRIER + FIRST
        for c in (0, 1)
    )
    return words, idle, at.word(TOKEN), published, empty


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same of the spec."""
    names = ("c1", "c2")
    queues = [state["queue"][c] for c in names]
    holes = {t for t, where in state["at"].items() if where["pc"] == "publish"}
    words = tuple(state["word"][c] for c in names)
    published = tuple(bool(q) and q[0] not in holes for q in queues)
    return words, state["idle"], state["token"], published, tuple(not q for q in queues)


def spec_label(
    action: str, arguments: tuple[str, ...], pre: Mapping[str, Any], post: Mapping[str, Any]
) -> str:
    """Hide the ticket of a steal, and the steal that takes nothing."""
    steals = action == "Pop" and pre["at"][arguments[0]]["pc"] != "pop"
    if action == "TryAcquire" or (steals and pre["queue"] == post["queue"]):
        return HIDDEN
    return " ".join((action, *arguments))


def keeps(
    action: str, arguments: tuple[str, ...], pre: Mapping[str, Any], post: Mapping[str, Any]
) -> bool:
    """Take carriers in the code's order where the spec takes them in any."""
    if action not in ("LoadParked", "IsHit"):
        return True
    before, now = pre["at"][arguments[0]], post["at"][arguments[0]]
    taken = before["todo"] - now["todo"] if now["arg"] == "none" else {now["arg"]}
    return len(before["todo"]) == 1 or min(before["todo"]) in taken


POP = (
    ("Q15", "Q4"), ("Q15", "Q5"), ("Q4", "Q13"), ("Q13", "Q8"), ("Q8", "Q5"), ("Q5", "Q16"),
    ("Q5", "Q6"), ("Q16", "Q7"), ("Q7", "Q6"), ("Q6", "T5"), ("Q16", "T5"), ("Q4", "T5"),
)  # fmt: skip
LOOKS = (
    ("Q9", "Q11"), ("Q9", "T1"), ("Q11", "T1"), ("T1", "T2"), ("Q9", "Q14"), ("Q11", "Q14"),
    ("Q14", "Q10"),
)  # fmt: skip
OTHERS = (
    ("To", "Q1"), ("Q1", "Q2"), ("C7", "C5"), ("C5", "futex_wake"), ("C3", "futex_wake"),
    ("Sleep", "Word"),
)  # fmt: skip
SUBMITTER = (('"s1"',), ('"s2"',))
CARRIERS = (('"c1"',), ('"c2"',))
ANY = (
    "Publish", "IsAlone", "IsIdle", "Start", "Snapshot", "Recruit", "Stop", "Chain", "Recheck",
    "LoadParked", "IsHit", "LoadTail", "LoadInbox", "LoadWaking",
)  # fmt: skip
OWN = (
    "PollQueue", "PollInbox", "PollNothing", "Probe", "Advertise", "SetIdle", "LookOwn",
    "LookInbox", "Awake", "ClearIdle", "Leave", "TryAcquire", "Pop", "SubmitInternal", "Reenqueue",
    "End", "Rise",
)  # fmt: skip
LONG_THREADS = ("c1", "s1", "s2")
SEARCH_LONG = Concept(
    name="search long",
    scenario="search",
    test="conform_search_long",
    module="Search",
    bounds="2 carriers, one in a long task, 2 submitters",
    threads=LONG_THREADS,
    constants={
        "Carriers": '{"c1", "c2"}', "Submitters": '{"s1", "s2"}', "Endless": '{"c2"}',
        "Backlog": "0", "Spawns": "0", "Yields": "0", "Pinners": "{}", "Twin": '"none"',
    },
    plain=(),
    arguments={
        **dict.fromkeys(ANY, (*CARRIERS, *SUBMITTER)),
        **dict.fromkeys(OWN, CARRIERS),
        **dict.fromkeys(("LoadWord", "Wake", "IsQuiescent"), SUBMITTER),
        **dict.fromkeys(
            ("Submit", "SubmitPinned"), tuple((*s, *c) for s in SUBMITTER for c in CARRIERS)
        ),
    },
    spec_label=spec_label,
    spec_seen=spec_seen,
    code_label=lambda step: label_as(LONG_THREADS, step),
    code_seen=code_seen,
    ghost=Ghost(("",) * 3, after),
    flags=("--wrap", "ticket->next=2", "--wrap", "ticket->serving=2"),
    joins=(*POP, *LOOKS, *OTHERS),
    keeps=keeps,
    joined="a pop; both reads of a front; the test for alone; a wake with its system call",
    spec_twin={"Twin": '"no_recheck_release"'},
    code_twins=("search_no_recheck_release",),
    is_quick=False,
)  # fmt: skip
TWO_THREADS = ("c1", "c2", "s1")
SEARCH = replace(
    SEARCH_LONG,
    name="search",
    test="conform_search",
    bounds="2 carriers, a submitter",
    threads=TWO_THREADS,
    constants={**SEARCH_LONG.constants, "Submitters": '{"s1"}', "Endless": "{}"},
    arguments={
        **dict.fromkeys(ANY, (*CARRIERS, SUBMITTER[0])),
        **dict.fromkeys(OWN, CARRIERS),
        **dict.fromkeys(("LoadWord", "Wake", "IsQuiescent"), SUBMITTER[:1]),
        **dict.fromkeys(("Submit", "SubmitPinned"), tuple((*SUBMITTER[0], *c) for c in CARRIERS)),
    },
    code_label=lambda step: label_as(TWO_THREADS, step),
    starts="Start",
)
