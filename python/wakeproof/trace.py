# SPDX-License-Identifier: Apache-2.0
"""Events: what carriers did and what virtual threads waited for, with a summary and a picture.

``wakeproof trace SCRIPT`` sets WAKEPROOF_TRACE to a folder; every group of the script then keeps
events, and saves them there when it is closed.  A running process switches tracing by itself:
`CarrierGroup.trace_on` and `trace_off` for one group, `switch_on` and `switch_off` for all.

Threads: any thread may call all functions.
Spec: ``EventRing.tla``, ``Trace.tla``.  Source: ``kernel/sched/trace.h``, ``ring.h``, ``waits.h``.

Example:
    >>> from wakeproof import CarrierGroup, Tracing, trace
    >>> with CarrierGroup(1, tracing=Tracing(events=64)) as group:
    ...     value = group.submit(len, "abc").result()
    ...     left = group.close()
    ...     trace.summary(group.events()).submits
    1
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import group_registry
from wakeproof._runtime import process as _process
from wakeproof._runtime.atomic import write_atomically
from wakeproof.errors import SystemCallError, UsageError

if TYPE_CHECKING:
    from wakeproof._native.ffi import CGroup, CTraceEvent
    from wakeproof.group import CarrierGroup

FOLDER = "WAKEPROOF_TRACE"
ASKED_FOR = lib.WP_TRACE_USUAL  # the number of events of each carrier under `wakeproof trace`
MOST = lib.WP_TRACE_MOST
OUTSIDE = "outside"
_saved = itertools.count(1)
_wanted: list[int] = []  # the number for groups that are made later, by `switch_on`
STEALS = {
    lib.WP_STEAL_DIRECTED: "directed",
    lib.WP_STEAL_PROBED: "probed",
    lib.WP_STEAL_RECHECK: "recheck",
}
NAMES = {
    lib.WP_TRACE_SUBMIT: "TaskSubmit",
    lib.WP_TRACE_RUN: "TaskRun",
    lib.WP_TRACE_RUNS: "TaskRuns",
    lib.WP_TRACE_STEAL: "WorkSteal",
    lib.WP_TRACE_PARK: "Park",
    lib.WP_TRACE_WAKE: "Wake",
    lib.WP_TRACE_PINNED: "PinnedPark",
    lib.WP_TRACE_WAIT: "ThreadWait",
    lib.WP_TRACE_POLL: "Poll",
}
SPANS = ("TaskRun", "TaskRuns", "Park", "PinnedPark", "ThreadWait", "Poll")
"""The events that last for some time; the others are instants."""
REASONS = {
    lib.WP_WAIT_PARK: "park",
    lib.WP_WAIT_SLEEP: "sleep",
    lib.WP_WAIT_JOIN: "join",
    lib.WP_WAIT_MUTEX: "mutex",
    lib.WP_WAIT_CONDITION: "condition",
    lib.WP_WAIT_SEMAPHORE: "semaphore",
    lib.WP_WAIT_SEND: "send",
    lib.WP_WAIT_RECEIVE: "receive",
    lib.WP_WAIT_LATCH: "latch",
    lib.WP_WAIT_READ: "read",
    lib.WP_WAIT_WRITE: "write",
    lib.WP_WAIT_ACCEPT: "accept",
    lib.WP_WAIT_CONNECT: "connect",
    lib.WP_WAIT_FILE: "file",
}
"""The reasons for which a virtual thread waits; "send" and "receive" are those of a channel."""
ENDS = {-lib.WP_OK: "done", -lib.WP_TIMEOUT: "timeout", -lib.WP_INTERRUPTED: "interrupted"}
ACTIONS = {
    "TaskSubmit": ("Start", "Unpark"),
    "TaskRun": ("Begin",),
    "TaskRuns": ("Pop",),
    "WorkSteal": ("Pop",),
    "Park": ("Advertise",),
    "Wake": ("Leave",),
    "PinnedPark": ("Sleep",),
    "ThreadWait": ("Park",),
    "Poll": ("Take",),
}
"""The actions of the specs to which an event corresponds.

Most are in ``GroupCore.tla``; Park and Wake in ``Carrier.tla``; PinnedPark and ThreadWait in
``VThreadCore.tla``; Poll in ``Descriptor.tla``.
"""


@dataclass(frozen=True)
class Event:
    """One event of a `CarrierGroup`: what a carrier did, or what a virtual thread waited for.

    A carrier is an OS thread of the group.  `CarrierGroup.events` returns events.

    Attributes:
        name: "TaskSubmit", "TaskRun", "TaskRuns", "WorkSteal", "Park", "Wake", "PinnedPark" or
            "Poll"; or "ThreadWait", which lasts from a virtual thread's park until the thread runs
            again.
        action: the action of the specs to which the event corresponds.
        carrier: the index of the carrier that acted; None: a thread outside the group.
        begin_ns: the nanosecond of CLOCK_MONOTONIC at which it began.
        duration_ns: nanoseconds; 0 for an instant.
        task: the number of the task.  A virtual thread's number is unique in its group; the number
            of a call given to `submit` is reused when the call has ended.  0: no task.
        details: further values, see ``docs/guide/events.md``.  A ThreadWait has `reason`, one of
            `REASONS`, with `descriptor` or `permits`, and `ended`: "done", "timeout" or
            "interrupted".
        task_name: the name of the task, cut to 47 bytes, or of the virtual thread, cut to 31 bytes;
            "": no name.
        carrier_name: the full name of the carrier; "outside": a thread outside the group.

    Threads: any thread may use it; it is immutable.
    """

    name: str
    action: str
    carrier: int | None
    begin_ns: int
    duration_ns: int
    task: int
    details: dict[str, int | str | bool] = field(default_factory=dict)
    task_name: str = ""
    carrier_name: str = OUTSIDE


@dataclass(frozen=True)
class Summary:
    """What `summary` counts in the events of one `CarrierGroup`.

    Attributes:
        seconds: from the beginning of the first event to the end of the last one.
        submits: tasks that were submitted or unparked.
        runs: steps that were run.
        drains: iterations of a carrier's loop that ran something.
        batch: steps in such an iteration, on average.
        depth: tasks that were queued when such an iteration began, on average.
        depth_p99: the 99th percentile of the number of queued tasks at such moments.
        steals: steps of stolen tasks, by kind: directed, probed, recheck.
        parks: sleeps of carriers.
        wakes_per_s: sleeps that another thread ended, per second.
        useless_wakes: sleeps after which there was nothing to do.
        pinned_parks: parks of virtual threads that blocked their carrier.
        pinned_s: the seconds that `pinned_parks` took in all.
        waits: waits of virtual threads, by reason.
        waited_s: the seconds that `waits` took in all.
        overhead_ns: the nanoseconds that it costs to record as many events on this machine, as
            measured by `summary` with events of its own.

    Threads: any thread may use it; it is immutable.
    """

    seconds: float
    submits: int
    runs: int
    drains: int
    batch: float
    depth: float
    depth_p99: int
    steals: dict[str, int]
    parks: int
    wakes_per_s: float
    useless_wakes: int
    pinned_parks: int
    pinned_s: float
    waits: dict[str, int]
    waited_s: dict[str, float]
    overhead_ns: int


def size(asked: int | None) -> int:
    """Return the number of events that a ring keeps: a power of two, or 0.

    Raises:
        UsageError: `asked` is not from 0 to 1,048,576.
    """
    if asked is None:
        return _wanted[-1] if _wanted else ASKED_FOR if os.environ.get(FOLDER) else 0
    return _power("tracing.events", asked, 0)


def _power(name: str, asked: int, least: int) -> int:
    if not isinstance(asked, int) or isinstance(asked, bool) or not least <= asked <= MOST:
        raise UsageError(f"{name} is {asked!r}; allowed: {least} to {MOST:,}")
    return 1 << (asked - 1).bit_length() if asked else 0


def on(group: CGroup, asked: int | None) -> None:
    """Record the events of one group; see `CarrierGroup.trace_on`.

    Raises:
        UsageError, SystemCallError: as `CarrierGroup.trace_on`.
    """
    count = 0 if asked is None else _power("events", asked, 1)
    if lib.wp_group_trace_on(group, count) != lib.WP_OK:
        raise SystemCallError(f"events: {os.strerror(ffi.errno)} (memory)")


def switch_on(events: int | None = None) -> None:
    """Record the events of all groups, also of groups that are made later.

    Args:
        events: how many events of each carrier are kept, as in `CarrierGroup.trace_on`.

    Raises:
        UsageError: `events` is not from 1 to 1,048,576.
        SystemCallError: there is not enough memory for this number of events.
    """
    _wanted[:] = [ASKED_FOR if events is None else _power("events", events, 1)]
    for group in _own():
        group.trace_on(events)


def switch_off() -> None:
    """Record no more events, in all groups."""
    _wanted.clear()
    for group in _own():
        group.trace_off()


def _own() -> list[CarrierGroup]:
    """Return the open groups of this process, without those of the process it was forked from."""
    return [group for group in list(group_registry.groups) if group._pid == _process.pid]


def events(group: CGroup, carriers: Sequence[str]) -> list[Event]:
    """Return the events of a group; `carriers` are the full names of its carriers."""
    kept = lib.wp_group_traced(group)
    room = ffi.new("wp_trace_event[]", kept)
    found = []
    for ring, name in enumerate([*carriers, OUTSIDE] if kept else []):
        number = lib.wp_group_trace(group, ring, ffi.new("uint64_t *", 0), room, kept)
        carrier = ring if ring < len(carriers) else None
        found += [_event(carrier, name, room[index]) for index in range(number)]
    return sorted(found, key=lambda event: event.begin_ns)


def _event(carrier: int | None, carrier_name: str, raw: CTraceEvent) -> Event:
    name = NAMES[raw.kind]
    details: dict[str, int | str | bool] = {}
    action = ACTIONS[name][0]
    if name == "TaskSubmit":
        details = {"home": raw.a, "depth": raw.b}
        action = ACTIONS[name][raw.c]
    elif name in ("TaskRun", "PinnedPark"):
        details = {"home": raw.a}
    elif name == "TaskRuns":
        details = {"executed": raw.a, "depth_before": raw.b, "depth_after": raw.c}
    elif name == "WorkSteal":
        by_poller = raw.c & lib.WP_STEAL_BY_POLLER
        details = {"source": raw.a, "stealer": carrier or 0, "source_depth": raw.b,
                   "from_loop": not by_poller, "kind": STEALS[raw.c ^ by_poller]}  # fmt: skip
    elif name == "Wake":
        details = {"useful": bool(raw.a)}
    elif name == "Poll":
        details = {"ready": raw.a, "blocked": bool(raw.b)}
    elif name == "ThreadWait":
        details = {"reason": REASONS[raw.a], "ended": ENDS[raw.c]}
        if raw.a == lib.WP_WAIT_SEMAPHORE:
            details["permits"] = raw.b
        elif raw.a >= lib.WP_WAIT_READ:
            details["descriptor"] = raw.b
    return Event(
        name, action, carrier, raw.begin_ns, raw.duration_ns, raw.task, details,
        # a name that was cut may end inside a character
        ffi.string(raw.name).decode(errors="ignore"), carrier_name,
    )  # fmt: skip


def save(found: Sequence[Event]) -> None:
    """Save the events in the folder that ``wakeproof trace`` has set, completely or not at all."""
    folder = os.environ.get(FOLDER)
    if not folder or not found:
        return
    file = Path(folder, f"{os.getpid()}-{next(_saved)}.json")
    write_atomically(file, json.dumps([asdict(event) for event in found]))


def load(folder: Path) -> list[list[Event]]:
    """Return what groups have saved in `folder`, one list for each group."""
    files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
    return [[Event(**one) for one in json.loads(file.read_text())] for file in files]


def summary(found: Iterable[Event]) -> Summary:
    """Return the counts of these events, as a `Summary`.

    Raises:
        UsageError: there are no events.
    """
    every = list(found)
    if not every:
        raise UsageError("no events: no group was closed, or nothing was submitted to it")
    of = {name: [event for event in every if event.name == name] for name in ACTIONS}
    steals = dict.fromkeys(STEALS.values(), 0)
    for steal in of["WorkSteal"]:
        steals[str(steal.details["kind"])] += 1
    waits = [(str(event.details["reason"]), event.duration_ns) for event in of["ThreadWait"]]
    waited_ns = dict.fromkeys(sorted({reason for reason, _ in waits}), 0)
    for reason, ns in waits:
        waited_ns[reason] += ns
    depths = sorted(int(event.details["depth_before"]) for event in of["TaskRuns"]) or [0]
    steps = sum(int(event.details["executed"]) for event in of["TaskRuns"])
    first = min(event.begin_ns for event in every)
    seconds = (max(event.begin_ns + event.duration_ns for event in every) - first) / 1e9
    return Summary(
        seconds=seconds, submits=len(of["TaskSubmit"]), runs=len(of["TaskRun"]),
        drains=len(of["TaskRuns"]), batch=steps / max(1, len(of["TaskRuns"])),
        depth=sum(depths) / len(depths), depth_p99=depths[int(len(depths) * 0.99)],
        steals=steals, parks=len(of["Park"]),
        wakes_per_s=len(of["Wake"]) / seconds if seconds else 0.0,
        useless_wakes=sum(not event.details["useful"] for event in of["Wake"]),
        pinned_parks=len(of["PinnedPark"]),
        pinned_s=sum(event.duration_ns for event in of["PinnedPark"]) / 1e9,
        waits={reason: sum(one == reason for one, _ in waits) for reason in waited_ns},
        waited_s={reason: ns / 1e9 for reason, ns in waited_ns.items()},
        overhead_ns=lib.wp_trace_cost_ns(len(every)),
    )  # fmt: skip


def chrome(groups: Sequence[Sequence[Event]]) -> dict[str, Any]:
    """Return the events in Chrome's trace format: a process per group, a thread per carrier.

    A second process for each group has a track for each virtual thread that waited, which shows
    when the thread ran and what it waited for.  A WorkSteal lasts as long as the step that was
    stolen.
    """
    shown: list[dict[str, Any]] = []
    for number, found in enumerate(groups):
        names = {event.carrier: event.carrier_name for event in found if event.carrier is not None}
        named: dict[int | None, tuple[int, str]] = {None: (0, OUTSIDE)}
        named |= {carrier: (carrier + 1, name) for carrier, name in sorted(names.items())}
        shown.append({"ph": "M", "pid": number, "name": "process_name",
                      "args": {"name": f"carrier group {number}"}})  # fmt: skip
        for tid, name in named.values():
            shown.append({"ph": "M", "pid": number, "tid": tid, "name": "thread_name",
                          "args": {"name": name}})  # fmt: skip
        steals: dict[int | None, dict[str, Any]] = {}
        for event in found:
            one = _shown(event)
            if event.name == "ThreadWait":
                continue
            shown.append({"pid": number, "tid": named[event.carrier][0], **one})
            if event.name == "WorkSteal":
                steals[event.carrier] = shown[-1]
            elif event.name == "TaskRun" and event.carrier in steals:
                steal = steals.pop(event.carrier)
                steal |= {"ph": "X", "dur": one["ts"] + one["dur"] - steal["ts"]}
        shown += _threads(len(groups) + number, number, found)
    return {"traceEvents": shown, "displayTimeUnit": "ns"}


def _threads(pid: int, group: int, found: Sequence[Event]) -> list[dict[str, Any]]:
    """Return the tracks of the virtual threads that waited."""
    tracks: dict[int, int] = {}
    for event in found:
        if event.name == "ThreadWait":
            tracks.setdefault(event.task, len(tracks) + 1)
    shown: list[dict[str, Any]] = []
    if tracks:
        shown.append({"ph": "M", "pid": pid, "name": "process_name",
                      "args": {"name": f"virtual threads of carrier group {group}"}})  # fmt: skip
    told: set[int] = set()
    for event in found:
        if event.task not in tracks or event.name not in ("ThreadWait", "TaskRun"):
            continue
        where = {"pid": pid, "tid": tracks[event.task]}
        if event.task not in told:
            told.add(event.task)
            name = event.task_name or f"#{event.task}"
            shown.append({"ph": "M", "name": "thread_name", "args": {"name": name}, **where})
        one = _shown(event)
        if event.name == "ThreadWait":
            descriptor = event.details.get("descriptor")
            on = "" if descriptor is None else f" {descriptor}"
            one["name"] = f"waits: {event.details['reason']}{on}"
        else:
            one["name"] = f"runs on {event.carrier_name}"
        shown.append({**one, **where})
    return shown


def _shown(event: Event) -> dict[str, Any]:
    """Return an event in Chrome's format, without its track."""
    lasts = {"ph": "X", "dur": event.duration_ns / 1000}
    when = lasts if event.name in SPANS else {"ph": "i", "s": "t"}
    what = {"action": event.action, "task": f"{event.task:#x}", "task_name": event.task_name}
    return {
        "ts": event.begin_ns / 1000, "name": event.name, "cat": event.action,
        "args": {**what, **event.details}, **when,
    }  # fmt: skip
