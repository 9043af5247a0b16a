# SPDX-License-Identifier: Apache-2.0
"""IdleSet on real cores: the bits of the members in a word are compared."""

from __future__ import annotations

from wakeproof.judge.conform.maps.idle_set import IDLE_SET, PARKED, PER_WORD, THREADS
from wakeproof.judge.traces.concept import NOTHING, Part, Step, TraceConcept, each, has, lacks
from wakeproof.judge.traces.events import Event

COUNT = 3
IDLE = 3
"""IdleSet!Idle: two words, and one past Nobody."""
Steps = tuple[Step, ...]


def part(place: int, word: int) -> Part:
    """Return which members the word at `place` has."""
    first = place // 8 * PER_WORD
    members = range(first, min(first + PER_WORD, COUNT))
    return Part(frozenset(members), frozenset(m for m in members if word >> (m - first) & 1))


def explain(thread: int, event: Event) -> tuple[Steps, ...]:
    """Return the steps of the spec that may explain one event."""
    who = THREADS[thread]
    if who == "s1":
        return searched(event)
    member = f"member.{who}"
    match event.site:
        case "idle_set.1":
            now = event.result | event.operand
            step = Step("Add", (who,), {"bits": part(event.place, event.result)},
                        {"bits": part(event.place, now)})  # fmt: skip
        case "idle_set.2":
            now = event.result & event.operand
            step = Step("Remove", (who,), {"bits": part(event.place, event.result)},
                        {"bits": part(event.place, now)})  # fmt: skip
        case "Recheck":
            step = Step("Recheck", (who,), {}, {member: "sleep" if event.result else "remove"})
        case "Woken":
            sleeps = bool(event.result)
            step = Step(NOTHING if sleeps else "Woken", () if sleeps else (who,),
                        {"parked": has(thread) if sleeps else lacks(thread)})  # fmt: skip
        case "Advertise":
            step = Step("Advertise", (who,), {}, {"parked": has(thread)})
        case "Exit":
            step = Step("Exit", (who,), {}, {"parked": lacks(thread)})
        case _:
            raise KeyError(event.site)
    return ((step,),)


def searched(event: Event) -> tuple[Steps, ...]:
    """Return the steps of the spec that may explain one event of the searcher."""
    match event.site:
        case "Begin":
            return ((Step("Begin", ("s1",)),),)
        case "idle_set.3":
            seen = part(event.place, event.result)
            return ((Step("Read", ("s1",), {"bits": seen}, {"found.s1": seen.members}),),)
        case "Pick":
            return ()
        case "Try":
            member = (event.place - PARKED) // 8
            before = {"found.s1": has(member)}
            if event.happened:
                return ((Step("Try", ("s1",), {**before, "parked": has(member)},
                              {"searcher.s1": IDLE, "parked": lacks(member)}),),)  # fmt: skip
            return ((Step("Try", ("s1",), {**before, "parked": lacks(member)},
                          {"found.s1": lacks(member)}),),)  # fmt: skip
    raise KeyError(event.site)


IDLE_SET_TRACES = TraceConcept(
    concept=IDLE_SET,
    explain=each(explain),
    at_end=lambda _thread: (Step(),),  # they go on for ever
    hidden=(("End", ("s1",)),),
    limit=24,
    twins=("idle_set_plain_set",),
)
