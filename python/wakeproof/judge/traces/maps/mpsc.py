# SPDX-License-Identifier: Apache-2.0
"""Mpsc on real cores: every cell that is read or written is compared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from wakeproof.judge.conform.maps.mpsc import BASE, MPSC, NAMES, NODES, THREADS, USED
from wakeproof.judge.traces.concept import NOTHING, Cell, Step, TraceConcept
from wakeproof.judge.traces.events import Event
from wakeproof.judge.traces.maps.own import disagrees


def explain(thread: int, events: Sequence[Event]) -> list[Cell]:
    """Return a step per event; an event that no other thread can see is no step."""
    found = []
    node = ""
    for event in events:
        if event.site == "mpsc.5":
            node = NAMES[BASE + event.place]
        step = _step(THREADS[thread], event, node)
        if step:
            found.append(Cell(event, (step,)))
    return found


def _step(who: str, event: Event, node: str) -> Step | None:
    if event.site in ("Node", "mpsc.1"):
        return None
    if event.site in ("Own", "GiveAway"):
        free = {f"where.n{1 + (event.place - USED) // 8}": "free"}
        if event.site == "GiveAway":
            return Step("GiveAway", (), {}, free)
        return Step(NOTHING, (), free) if event.happened else None
    read, written = NAMES[event.result], NAMES[event.operand]
    match event.site:
        case "mpsc.2":
            return Step("Reserve", (who, written), {"tail": read}, {"tail": written})
        case "mpsc.3":
            return Step("Publish", (who,), {}, {f"cell.{NAMES[BASE + event.place]}": written})
        case "mpsc.15":
            return Step("Pop" if event.result else NOTHING, (), {"head": read})
        case "mpsc.4":
            return Step("Pop" if event.result else NOTHING, (), {"cell.first": read})
        case "mpsc.13":
            return Step("Adopt", (), {}, {"head": written})
        case "mpsc.8":
            return Step("Open", (), {}, {"cell.first": written})
        case "mpsc.5":
            return Step("Look", (), {f"cell.{node}": read})
        case "mpsc.16":
            return Step(NOTHING if read == node else "Unlink", (), {"tail": read})
        case "mpsc.7":
            return Step("Unlink", (), {"tail": read}, {"tail": written if event.happened else read})
        case "mpsc.6":
            return Step("Advance", (), {}, {"head": written})
        case "mpsc.9":
            return Step("AskFirst", (who,), {"cell.first": read})
        case "mpsc.11":
            return Step("AskSecond", (who,), {"head": read})
        case "mpsc.12":
            return Step("AskTail", (who,), {"tail": read})
    raise KeyError(event.site)


def chosen(events: Sequence[Event]) -> tuple[int, str] | None:
    """Return the event in which a producer takes or pushes a node that it did not choose."""
    for index, (last, event) in enumerate(pairwise(events), start=1):
        takes = event.site == "Own" and event.place == USED + 8 * last.result
        if last.site == "Node" and not takes:
            return index, f"no step: [{event.site}] is not node {last.result + 1}"
        pushes = event.site == "mpsc.1" and event.place == NODES + last.place - USED
        if last.site == "Own" and pushes != last.happened:
            return index, f"no step: [{event.site}] after the node was taken, or was not"
    return None


def both_disagree(events: Sequence[Event]) -> tuple[int, str] | None:
    """Return the event that differs from the choice, or contradicts the thread's earlier events."""
    return min((bad for bad in (chosen(events), disagrees(events)) if bad), default=None)


MPSC_TRACES = TraceConcept(
    concept=MPSC,
    explain=explain,
    at_end=lambda _thread: (Step(),),  # they go on for ever
    disagrees=both_disagree,
    twins=("mpsc_ignores_hostage",),
)
