# SPDX-License-Identifier: Apache-2.0
"""A counterexample as people read it: a row per step, a column per thread.

Each row has the operation of the thread, the label of its site, the value that it got, and the row
that wrote this value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wakeproof.judge.explore import classes as explore_classes
from wakeproof.judge.explore.names import MACRO
from wakeproof.judge.explore.options import Model
from wakeproof.judge.explore.results import INITIAL, NO_READ, Event, Found
from wakeproof.judge.labels import Labels

WOKEN = {0: "woken", 1: "word has changed", 2: "timed out"}
ADDRESSES = 1 << 32
ASLEEP = ("asleep", "lost_wakeup")
_ONE_STEP = frozenset((
    "lock", "trylock", "unlock", "wrlock", "trywrlock", "malloc", "free",
))  # fmt: skip
_SEVERAL_STEPS = frozenset((
    "wait", "signal", "broadcast", "sem_wait", "sem_post", "barrier_wait", "once", "rdlock",
    "tryrdlock", "membarrier",
))  # fmt: skip
"""What the runtime of ``stress/own`` calls the steps of a lock, by the function of the user."""
_UPDATES = {"exchange": "exchange", "add": "fetch_add", "or": "fetch_or", "and": "fetch_and"}


@dataclass(frozen=True)
class Row:
    """One step.  `cells` has a text per thread, empty for all but one."""

    number: int
    thread: int
    label: str
    place: str  # "guard.h:120"
    cells: tuple[str, ...]
    value: str
    read_from: str
    is_stale: bool


def rows(found: Found, labels: Labels, model: Model) -> list[Row]:
    """Return a row per event of an execution; numbers start at 1."""
    events = found.example
    threads = max(1 + max((event.thread for event in events), default=0), len(found.actors))
    stale = _stale(events, model)
    ends = {event.thread: at for at, event in enumerate(events) if not event.drain}
    table = []
    for at, event in enumerate(events):
        site = event.site
        label = labels.of(site.file, site.line) if site else ""
        source = _source(event, at in stale, model)
        if event.read_from > at and not event.drain:
            source = f"#{event.read_from + 1}, which comes later: load buffering"
        cells = [""] * threads
        cells[event.thread] = " ".join(filter(None, (label, operation(event))))
        sleeps = found.verdict in ASLEEP and event.kind == "wait" and ends[event.thread] == at
        table.append(Row(
            at + 1, event.thread, label, f"{site.file}:{site.line}" if site else "", tuple(cells),
            "sleeps for ever" if sleeps else _value(event), source, at in stale,
        ))  # fmt: skip
    return table


def operation(event: Event) -> str:
    """Return the event's operation: ``x = 1 release``, ``load y acquire``, ``lock m``."""
    place = MACRO.sub("", event.location or "")
    called = event.site.what if event.site else ""
    if called in _ONE_STEP and event.kind != "fail":
        is_taken = event.kind == "cas" and event.written is None
        return f"{called} {place}{', which is taken' * is_taken}"
    of = f"{called}: " if called in _SEVERAL_STEPS and event.kind != "fail" else ""
    return of + _operation(event, place)


def _operation(event: Event, place: str) -> str:
    match event.kind:
        case _ if event.drain:
            return f"({place} = {number(event.written or 0)} reaches memory)"
        case "store":
            return f"{place} = {number(event.operand)} {event.order}"
        case "plain_store":
            return f"{place} = {number(event.operand)} (plain)"
        case "load":
            return f"load {place} {event.order}"
        case "plain_load":
            return f"load {place} (plain)"
        case "exchange" | "add" | "or" | "and":
            return f"{_UPDATES[event.kind]} {place} {number(event.operand)} {event.order}"
        case "cas":
            values = f"{number(event.expected)} -> {number(event.operand)}"
            return f"cas {place} {values} {event.order}"
        case "fence":
            return f"fence {event.order}"
        case "wait":
            return f"futex wait {place} while {event.expected}"
        case "wake":
            return f"futex wake {place} {event.operand}"
        case "choose":
            return _choice(event)
        case "fail":
            said = event.text or (event.site.what if event.site else "")
            if event.racing:
                return f"races: {said}"
            return f"crashes: {said}" if event.crash else f"assertion fails: {said}"
        case "create" | "join":
            return f"{event.kind} thread {event.operand}"
        case _:
            return event.kind.replace("_", " ")


def _choice(event: Event) -> str:
    what = event.site.what if event.site else ""
    if what.endswith("HEAVY_FENCE"):
        return "heavy fence fails" if event.value else "heavy fence works"
    if what == "futex_wait":
        return "a signal comes" if event.value else "no signal comes"
    return f"choose {event.value} of {event.operand}"


def number(value: int) -> str:
    """Return the number; an address in hexadecimal."""
    return str(value) if value < ADDRESSES else f"{value:#x}"


def broken_at(found: Found, labels: Labels, model: Model) -> str:
    """Return the site that best shows where a claim broke: ``[S3]``, or file and line.

    It is the last stale read with a label, else the last step with a label.  For a race it is both
    lines, and for a failed assertion or a crash its own line.
    """
    every = rows(found, labels, model)
    if found.verdict == "race":
        pair = [every[at] for at in explore_classes.racing(found.example)]
        return " and ".join(dict.fromkeys(row.label or row.place for row in pair))
    if found.verdict in ("assertion", "crash") and every and every[-1].place:
        return every[-1].place
    table = [row for row in every if row.place]
    ranked = sorted(table, key=lambda row: (bool(row.label), row.is_stale, row.number))
    return (ranked[-1].label or ranked[-1].place) if ranked else ""


def _value(event: Event) -> str:
    if event.drain or (event.read_from == NO_READ and event.kind not in ("wait", "wake")):
        return ""
    if event.kind == "wait":
        return WOKEN.get(event.value, str(event.value))
    if event.kind == "wake":
        return f"{event.value} woken"
    if event.kind == "cas" and event.written is None:
        return f"{number(event.value)}, fails"
    return number(event.value)


def _source(event: Event, is_stale: bool, model: Model) -> str:
    if event.read_from == NO_READ or event.drain:
        return ""
    source = "initial value" if event.read_from == INITIAL else f"#{event.read_from + 1}"
    if not is_stale:
        return source
    allowed = "the newer one is in a store buffer" if model is Model.TSO else "nothing orders it"
    return f"{source}, old: {allowed}"


def _stale(events: Sequence[Event], model: Model) -> set[int]:
    """Return the events that do not read the latest write to their location above them."""
    latest: dict[int, int] = {}
    found = set()
    for at, event in enumerate(events):
        place = event.place
        if place < 0 or event.drain:
            continue
        if event.read_from != NO_READ and event.read_from != latest.get(place, INITIAL):
            found.add(at)
        if event.written is not None:
            latest[place] = at
    return found if model is not Model.SC else set()
