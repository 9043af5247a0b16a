# SPDX-License-Identifier: Apache-2.0
"""Task on real cores: every change of the word is compared, with the value before the change.

A pop is one step, taken by its last access [mpsc.6]: no other thread pops until the ticket is given
back.  The contents of queue, ticket and node are compared with the thread's own earlier events
(``own``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform.maps.task import FIRST, HEAD, NOTIFIED, TASK, THREADS, WORDS
from wakeproof.judge.traces.concept import NOTHING, Cell, Step, TraceConcept
from wakeproof.judge.traces.events import Event
from wakeproof.judge.traces.maps.own import disagrees

TAIL = FIRST - 128
INBOX = (FIRST + 256, HEAD + 256)
SAYS = {"task.4": 0, "mpsc.1": 1, "task.3": 2}
"""The site that follows a step -> the answer of the step."""
UNSEEN = {
    "carrier.4", "idle_set.3", "lock.1", "lock.3", "mpsc.1", "mpsc.4", "mpsc.5", "mpsc.7", "mpsc.8",
    "mpsc.9", "mpsc.10", "mpsc.11", "mpsc.13", "mpsc.14", "mpsc.15", "mpsc.16", "carrier.7", "Step",
    "biased_lock.1", "biased_lock.2", "biased_lock.3", "biased_lock.4", "biased_lock.5",
}  # fmt: skip


def explain(thread: int, events: Sequence[Event]) -> list[Cell]:
    """Return the steps of a thread's events; a step that returns "yield" is a step of the spec."""
    found = []
    said = -1  # -1: what follows is no answer to a step
    for event in events:
        if event.site in SAYS and said >= 0:
            if SAYS[event.site] != said:
                raise KeyError(f"[{event.site}] after a step that said {said}")
            said = -1
        elif event.site == "Step":
            said = event.result
        step = _step(THREADS[thread], event)
        if step:
            found.append(Cell(event, (step,)))
    return found


def _step(who: str, event: Event) -> Step | None:
    match event.site:
        case "task.1":
            return Step("Unpark", (who,), word(event.result), word(event.result | event.operand))
        case "task.2":
            return Step("Begin", (who,), word(event.result), word(event.operand))
        case "task.3":
            return Step("Park", (who,), word(event.result), _after(event))
        case "task.4":
            return Step("Done", (who,), {}, word(event.operand))
        case "task.5":
            return Step(NOTHING, (), word(event.result))
        case "task.6":
            return Step("Cancel" if event.happened else NOTHING, (), word(event.result),
                        _after(event))  # fmt: skip
        case "mpsc.2" if event.place == TAIL:
            return Step("Reserve", (who,))
        case "mpsc.3":
            return Step("Publish", (who,), {}, {"cells": 1})
        case "mpsc.6":
            return Step("Pop", (who,), {"cells": 1}, {"cells": 0})
        case "Step" if event.result == SAYS["mpsc.1"]:
            return Step("Yield", (who,))
        case "mpsc.4" | "mpsc.15" if event.place in INBOX and event.result:
            raise KeyError(f"[{event.site}]: nobody submits to the inbox")
        case "carrier.4" | "idle_set.3" if event.result:
            raise KeyError(f"[{event.site}]: nobody sleeps")
    if event.site in UNSEEN:
        return None
    raise KeyError(event.site)


def word(value: int) -> dict[str, Any]:
    """Return the condition that the word has this value."""
    return {"word": WORDS[value % NOTIFIED], "notified": value >= NOTIFIED}


def _after(event: Event) -> dict[str, Any]:
    return word(event.operand if event.happened else event.result)


def at_end(thread: int) -> tuple[Step, ...]:
    """Return the ends: an unparker owes nothing, the canceller has cancelled; carriers go on."""
    who = THREADS[thread]
    if who == "canceller":
        return (Step(NOTHING, (), {"pc.canceller": "done"}),)
    return (Step(NOTHING, (), {f"pc.{who}": "idle", f"left.{who}": 0}),)


TASK_TRACES = TraceConcept(
    concept=replace(
        TASK,
        constants={**TASK.constants, "Unparks": "2", "Yields": "4"},
        bounds="an owner, a thief, 2 unparkers twice, a canceller, 4 yields",
    ),
    explain=explain,
    at_end=at_end,
    disagrees=disagrees,
    limit=45,  # a run takes 17 or more: no carrier yields more than twice
    twins=("task_notified_kept", "task_cancel_notified"),
)
