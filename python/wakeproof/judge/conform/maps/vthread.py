# SPDX-License-Identifier: Apache-2.0
"""VThread: every access of the word and the flag, the timer, the futex of a pinned park.

The queue is a count, as in the spec, so its reservation (one half of a push) is no step.  Many
reads have the site [vthread.10]; the thread's next step tells which read it was.  A read before a
compare-and-swap or an exchange is hidden, because that operation decides.  Of the spec's ghosts,
`told` is compared: it distinguishes a park that ended by its deadline from one that was unparked.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from wakeproof.judge.conform.code import At, Step, lies
from wakeproof.judge.conform.concept import HIDDEN, WAIT, Concept, Ghost

THREADS = ("c1", "c2", "u1", "interrupter", "timer", "canceller")
TIMER = THREADS.index("timer")
WORD, FLAG = 8, 64  # bytes: of the thread; all asserted in the scenario
CELLS, ARMED, JOINED, SAYS = 256, 260, 264, 268
STATES = {0: "PARKED", 1: "BUSY", 2: "DONE", 3: "CANCELLED", 9: "PINNED"}
STATE, NUMBER = 11, 32
BITS = ((4, "unpark"), (16, "timer"))
LOCKED, PARK = 1, 2  # of `timer`
PARKS, YIELDS = 1, 1

NAMES = {
    "Publish": "Publish", "vthread.1": "Unpark", "vthread.2": "Begin", "vthread.3": "Park",
    "vthread.6": "Pin", "vthread.11": "End", "vthread.13": "LookFlag", "Latch": "Latch",
    "futex_wake": "Wake",
}  # fmt: skip
LOOKS = {"vthread.3": "BeginPark", "vthread.11": "Sleep", "Act": "Begin", "CancelTimer": "Begin"}
"""The next step -> the kind of a carrier's look."""
ACTS = {"vthread.4": "LookPermit", "vthread.13": "LookPermit", "Publish": "Yield", "Latch": "Done"}
ENDS = ("vthread.2", "vthread.4", "vthread.11")
"""The end of a park."""
HOWS = {"vthread.3": "BeginPark", "vthread.6": "BeginPin", "vthread.10": "Arm"}


class Memory(NamedTuple):
    """The parks and yields that are left, which the scenario counts as well, and the ghost."""

    parks: int = PARKS
    yields: int = YIELDS
    told: bool = False


def code_label(step: Step) -> str:
    """Return the label of the spec's step that corresponds to a step of the code."""
    thread = THREADS[step.thread]
    if step.ends_sleep:
        return f"TimesOut {thread}"
    if thread == "timer" and step.site in ("vthread.10", "vthread.5"):
        return HIDDEN if step.post.pending(TIMER).site == "vthread.5" else "Fire"
    name = _carrier(step) if thread in ("c1", "c2") else _other(step, thread)
    if step.site in ENDS and step.post.word(SAYS):
        return f"{name} {thread} unparked"
    return f"{name} {thread}" if name in NAMED else name


def _carrier(step: Step) -> str:
    then = step.post.pending(step.thread).site
    match step.site:
        case "Act":
            return ACTS[then]
        case "How":
            return HOWS[then]
        case "vthread.10":
            return LOOKS.get(then, HIDDEN)
        case "vthread.4":
            return "Refused" if then == "Publish" else "End"
        case "Pop":
            return "Pop" if step.pre.word(CELLS) > step.post.word(CELLS) else WAIT
        case "CancelTimer":
            return "CancelTimer" if step.pre.word(ARMED) and not step.post.word(ARMED) else WAIT
        case "futex_wait":
            return "Sleep" if step.post.is_asleep(step.thread) else HIDDEN
    return NAMES[step.site]


def _other(step: Step, thread: str) -> str:
    match step.site:
        case "vthread.1" if thread == "interrupter":
            return "InterruptNotifies"
        case "vthread.12":
            return "Interrupt"
        case "Armed" | "vthread.10":
            return WAIT
        case "IsDue":
            return "IsDue" if step.pre.word(ARMED) != step.post.word(ARMED) else WAIT
        case "Fired":
            return HIDDEN
        case "vthread.9":
            return "Lies" if lies(step, "Gave", truth=state_of(step.pre) == "DONE") else HIDDEN
        case "Gave":
            return HIDDEN
        case "vthread.8":
            return "Cancel" if step.pre.word(WORD) != step.post.word(WORD) else WAIT
    return NAMES[step.site]


def spec_label(
    action: str, arguments: tuple[str, ...], pre: Mapping[str, Any], _post: Mapping[str, Any]
) -> str:
    """Return the step; hide a reservation, and the end of a timer that has fired."""
    if action == "Reserve" or (action == "CancelTimer" and not pre["timer"]):
        return HIDDEN
    ends = action in ("End", "Refused") or (action == "Begin" and pre["state"] == "PARKED")
    says = ("unparked",) if ends and "unpark" in pre["permit"] else ()
    return " ".join((action, *arguments, *says))


def after(memory: Memory, step: Step, label: str) -> Memory:
    """Count parks and yields, and remember the threads that were told."""
    name = label.partition(" ")[0]
    told = memory.told
    if step.site == "vthread.1":
        told = told or state_of(step.pre) in ("PARKED", "BUSY", "PINNED")
    elif step.site in ENDS:
        told = told and not step.post.word(SAYS)
    parks = max(memory.parks - (name == "LookPermit"), 0)
    return Memory(parks, max(memory.yields - (name == "Yield"), 0), told)


def state_of(at: At) -> str:
    """Return the state in the word; a twin has states of its own."""
    state = at.word(WORD) & STATE
    return STATES.get(state, str(state))


def code_seen(at: At, memory: Memory) -> Hashable:
    """Return the whole state without program counters, and of the ghosts only `told`."""
    word = at.word(WORD)
    has_fired = at.pending(TIMER).site == "Fired"
    return (
        state_of(at), frozenset(name for bit, name in BITS if word & bit), word // NUMBER,
        bool(at.word(FLAG)), at.word(CELLS), 0 if has_fired else at.word(ARMED) // PARK,
        at.is_asleep(0) or at.is_asleep(1), bool(at.word(JOINED)), *memory,
    )  # fmt: skip


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    return (
        state["state"], state["permit"], state["number"], state["interrupted"], state["cells"],
        state["timer"], state["asleep"], state["pc"]["joiner"] == "done",
        state["left"]["parks"], state["left"]["yields"], state["told"],
    )  # fmt: skip


ALL = 'Carriers+Unparkers+{"interrupter","timer"}'
OF_CARRIERS = (
    "Pop", "Begin", "CancelTimer", "LookPermit", "LookFlag", "Arm", "BeginPark", "Park", "Refused",
    "Yield", "BeginPin", "Pin", "Sleep", "TimesOut", "End", "Done", "Latch",
)  # fmt: skip
NAMED = {*OF_CARRIERS, "Publish", "Unpark", "Wake"}
"""Actions with the thread as their argument."""
VTHREAD = Concept(
    name="vthread",
    module="VThread",
    bounds="2 carriers, an unparker, an interrupter, a timer, a canceller, a park, a yield",
    threads=THREADS,
    constants={
        "Carriers": '{"c1", "c2"}', "Unparkers": '{"u1"}', "Unparks": "1", "Parks": str(PARKS),
        "Yields": str(YIELDS),
    },
    plain=("Interrupt", "InterruptNotifies", "IsDue", "Fire", "Cancel"),
    arguments={
        **dict.fromkeys(OF_CARRIERS, "Carriers"),
        **dict.fromkeys(("Reserve", "Publish", "Wake"), ALL),
        "Unpark": "Unparkers",
    },
    spec_label=spec_label,
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    ghost=Ghost(Memory(), after),
    flags=("--timeouts",),
    joins=(
        ("Act", "vthread.7"), ("Act", "vthread.10"), ("How", "vthread.10"), ("vthread.10", "Arm"),
        ("vthread.10", "Told"), ("vthread.2", "Told"), ("vthread.4", "Told"),
        ("vthread.11", "Told"),
    ),
    joined="what the thread chooses to do with its first step; the end of a park with what it says",
    spec_twin="yield_takes",
    code_twins=("vthread_timer_stale", "vthread_pinned_unwoken", "conform_done_lies"),
)  # fmt: skip
