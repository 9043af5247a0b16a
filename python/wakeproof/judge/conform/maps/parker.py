# SPDX-License-Identifier: Apache-2.0
"""Parker: every access of the word, and every system call, is a step of the spec.

The spec remembers which data each thread has seen.  The code has no such state, so it is a ghost:
the table computes it from the memory orders of the compiled accesses, and compares it.  So the
whole state of the spec is compared, except for program counters.  The result of an unpark or a park
is in the label of its last step.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from wakeproof.judge.conform.code import STORE, At, Step
from wakeproof.judge.conform.concept import HIDDEN, Concept, Ghost

THREADS = ("owner", "u1", "u2", "closer")
WORD, DATA = 0, 64  # bytes
BITS = ((1, "permit"), (2, "parked"), (4, "closed"))
RESULTS = ("ok", "timeout", "closed")
BEGINS = ("end", "try", "peek")
ROUNDS = 2
MOST = 9
"""The most credit that is counted, because a twin may give or take more and more."""


class Memory(NamedTuple):
    """The spec's ghosts, each per unparker where that makes sense."""

    seen: tuple[int, int] = (0, 0)
    carried: tuple[int, int] = (0, 0)
    due: tuple[int, int] = (0, 0)
    credit: int = 0
    is_stale: bool = False


def word_of(at: At) -> frozenset[str]:
    """Return the bits of the word."""
    word = at.word(WORD)
    return frozenset(name for bit, name in BITS if word & bit)


def code_label(step: Step) -> str:
    """Return the label of the spec's step that corresponds to a step of the code."""
    thread = THREADS[step.thread]
    if step.ends_sleep:
        return f"EndWait {str(step.ends_sleep == 'late').upper()}"
    match step.site:
        case "Begin":
            return f"Begin {BEGINS[step.value]}"
        case "Told" | "Gave":
            return HIDDEN  # the last step of the park or unpark has the result
        case "parker.1":
            return f"Take {_told(step)}".strip()
        case "parker.2":
            return "Arm"
        case "parker.3":
            return f"Leave {_told(step)}".strip()
        case "parker.4":
            return f"Unpark {thread} {_gave(step)}".strip()
        case "parker.5":
            return "Close"
        case "Write":
            return f"Write {thread}"
        case "futex_wait":
            return "Wait"
        case "futex_wake":
            return f"Wake {thread} {_gave(step)}".strip()
    raise KeyError(step.site)


def _told(step: Step) -> str:
    """Return the result of the park that returns with this step; "": it has not returned."""
    result = step.tells("Told")
    return "" if result is None else RESULTS[result]


def _gave(step: Step) -> str:
    """Return the result of the unpark that returns with this step; "": it has not returned."""
    gave = step.tells("Gave")
    return "" if gave is None else str(bool(gave)).upper()


def spec_label(
    action: str, arguments: tuple[str, ...], pre: Mapping[str, Any], post: Mapping[str, Any]
) -> str:
    """Return the label of a step: Begin with what begins, a last step with the result.

    Try and Peek have the same label.
    """
    if action == "Begin":
        return f"Begin {post['owner']}"
    said: tuple[str, ...] = ()
    if action in ("Try", "Peek", "Leave") and pre["result"] != post["result"]:
        said = (post["result"],)
    if action in ("Unpark", "Wake") and "closer" not in arguments:
        [who] = arguments
        said = () if post["thread"][who] == "wake" else (str(post["gave"][who]).upper(),)
    return " ".join(("Take" if action in ("Try", "Peek") else action, *arguments, *said))


def visible(memory: Memory, step: Step) -> Memory:
    """Return the ghost after the step, by the step's kind and memory order in the code.

    The word carries writes.  An acquire makes these writes visible to its thread.  A store ends the
    release sequence, and a read-modify-write continues it.  If the store or the read-modify-write
    releases, the word then also carries all writes that its thread has seen.
    """
    if step.what.offset != WORD or not step.what.order or step.site.startswith("futex"):
        return memory
    carried = memory.carried
    if step.thread == 0 and step.what.kind != STORE and step.acquires:
        memory = memory._replace(seen=_joined(memory.seen, carried))
    if step.what.kind == STORE:
        carried = (0, 0)
    if step.releases and step.thread == 0:
        carried = _joined(carried, memory.seen)
    if step.releases and step.thread in (1, 2):
        which = step.thread - 1
        carried = _with(carried, which, step.pre.word(DATA + 8 * which))
    return memory._replace(carried=carried)


def after(memory: Memory, step: Step, label: str) -> Memory | None:
    """Follow the ghosts of Parker.tla: Acquire, Took, Effect, Give."""
    pre = word_of(step.pre)
    what, _, who = label.partition(" ")
    memory = visible(memory, step)
    if what == "Begin":
        has_all = memory.seen == (ROUNDS, ROUNDS)
        return memory if has_all == (who == "end") else None
    if what in ("Take", "Leave"):
        takes = "permit" in pre if what == "Leave" else pre == {"permit"}
        if not takes and what == "Take":
            return memory
        stale = memory.is_stale or (
            takes and any(d > s for d, s in zip(memory.due, memory.seen, strict=True))
        )
        return memory._replace(is_stale=stale, credit=max(memory.credit - takes, -MOST))
    if what == "Unpark":
        which = step.thread - 1
        data = step.pre.word(DATA + 8 * which)
        return memory._replace(
            due=_with(memory.due, which, data),
            credit=min(memory.credit + ("permit" not in pre), MOST),
        )
    return memory


def _joined(ours: tuple[int, int], theirs: tuple[int, int]) -> tuple[int, int]:
    return (max(ours[0], theirs[0]), max(ours[1], theirs[1]))


def _with(values: tuple[int, int], which: int, value: int) -> tuple[int, int]:
    return (value, values[1]) if which == 0 else (values[0], value)


def code_seen(at: At, memory: Memory) -> Hashable:
    """Return the word, whether the owner sleeps, the data and the ghosts."""
    return (word_of(at), at.is_asleep(0), (at.word(DATA), at.word(DATA + 8)), *memory)


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    each = [(state[name]["u1"], state[name]["u2"]) for name in ("seen", "carried", "due")]
    data = (state["data"]["u1"], state["data"]["u2"])
    return (state["word"], state["owner"] == "asleep", data, *each, state["credit"], state["stale"])


PARKER = Concept(
    name="parker",
    bounds="2 unparkers x 2 rounds, a closer",
    threads=THREADS,
    constants={
        "Unparkers": '{"u1", "u2"}', "Rounds": str(ROUNDS), "MayClose": "TRUE",
    },
    plain=("Begin", "Try", "Peek", "Arm", "Wait", "Leave", "Close"),
    arguments={
        "EndWait": "{TRUE,FALSE}", "Write": "Unparkers", "Unpark": "Unparkers",
        "Wake": 'Unparkers+{"closer"}',
    },
    spec_label=spec_label,
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    ghost=Ghost(Memory(), after),
    flags=("--timeouts", "--any-spurious"),
    spec_twin="past_hides_close",
    code_twins=(
        "conform_second_wake_forgotten", "parker_lost_permit_on_timeout", "conform_unpark_lies",
        "conform_timeout_is_ok", "parker.1=relaxed", "parker.4=relaxed",
    ),
)  # fmt: skip
