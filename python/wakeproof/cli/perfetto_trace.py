# SPDX-License-Identifier: Apache-2.0
"""Events in Perfetto's own format: tracks, flows from a wakeup to the run, depths of queues.

Chrome's JSON (`trace.chrome`) needs no further package; this format needs `perfetto`, from the
extra "trace", and has what JSON has not: an arrow from each submission and each unpark to the step
that follows it, and the depth of each carrier's queue as a counter.
"""

from __future__ import annotations

import importlib
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wakeproof.errors import MissingToolError
from wakeproof.trace import SPANS

if TYPE_CHECKING:
    from wakeproof.trace import Event

SUFFIXES = (".pftrace", ".perfetto-trace")
"""The endings of files that are written in this format."""
_SEQUENCE = 1


def require() -> None:
    """Raise unless the library is installed.

    Raises:
        MissingToolError: it is not.
    """
    try:
        importlib.import_module("perfetto.trace_builder.proto_builder")
    except ImportError:
        raise MissingToolError(
            f"the format of {' and '.join(SUFFIXES)} needs perfetto: pip install "
            "'wakeproof[trace]', or write -o trace.json"
        ) from None


def trace(groups: Sequence[Sequence[Event]]) -> bytes:
    """Return a trace: a process for each group, a track for each carrier and virtual thread.

    Args:
        groups: the events of each group, in the order of their beginnings.

    Raises:
        MissingToolError: the library is not installed.
    """
    require()
    writer = _Writer()
    for number, found in enumerate(groups):
        writer.group(f"carrier group {number}", found)
    return writer.bytes()


class _Writer:
    def __init__(self) -> None:
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent  # type: ignore[import-untyped]
        from perfetto.trace_builder.proto_builder import TraceProtoBuilder  # type: ignore[import-untyped]

        self._kinds = TrackEvent
        self._builder = TraceProtoBuilder()
        self._tracks = itertools.count(1)
        self._flows = itertools.count(1)
        self._processes = itertools.count(1)

    def bytes(self) -> bytes:
        return bytes(self._builder.serialize())

    def group(self, name: str, found: Sequence[Event]) -> None:
        process = self._process(name)
        carriers = {event.carrier: event.carrier_name for event in found}
        order = sorted(carriers, key=lambda carrier: -1 if carrier is None else carrier)
        tracks = {carrier: self._track(carriers[carrier], process) for carrier in order}
        flows = _Flows(self._flows, found)
        by_track: defaultdict[int, list[tuple[Event, str]]] = defaultdict(list)
        for event in found:
            if event.name != "ThreadWait":
                by_track[tracks[event.carrier]].append((event, event.name))
        for track, events in by_track.items():
            self._events(track, events, flows)
        self._depths(process, found, carriers)
        self._threads(name, found)

    def _threads(self, group: str, found: Sequence[Event]) -> None:
        """Write a track for each virtual thread that waited: its waits, and where it ran."""
        waited = {event.task for event in found if event.name == "ThreadWait"}
        by_task: defaultdict[int, list[tuple[Event, str]]] = defaultdict(list)
        for event in found:
            if event.task in waited and event.name in ("ThreadWait", "TaskRun"):
                by_task[event.task].append((event, _of_thread(event)))
        process = self._process(f"virtual threads of {group}") if waited else 0
        for task, events in by_task.items():
            name = next((event.task_name for event, _ in events if event.task_name), f"#{task}")
            self._events(self._track(name, process), events, {})

    def _depths(
        self, process: int, found: Sequence[Event], carriers: Mapping[int | None, str]
    ) -> None:
        """Write how many tasks each carrier's queue held, at the moments at which it is known."""
        known: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for event in found:
            if event.name == "TaskRuns" and event.carrier is not None:
                end = event.begin_ns + event.duration_ns
                known[event.carrier] += [
                    (event.begin_ns, int(event.details["depth_before"])),
                    (end, int(event.details["depth_after"])),
                ]
        for carrier, points in sorted(known.items()):
            track = self._track(f"queue of {carriers[carrier]}", process, is_counter=True)
            for when, depth in sorted(points, key=lambda point: point[0]):
                packet = self._event(track, when, self._kinds.TYPE_COUNTER)
                packet.track_event.counter_value = depth

    def _events(
        self, track: int, events: Iterable[tuple[Event, str]],
        flows: Mapping[int, tuple[int, bool]],
    ) -> None:  # fmt: skip
        """Write the events of one track; one that lasts ends before the next begins, or holds it.

        Args:
            track: its number.
            events: each with the name that is shown.
            flows: by the event's identity, the number of an arrow, and whether it ends there.
        """
        open_: list[int] = []
        for event, name in sorted(events, key=_nested):
            while open_ and open_[-1] <= event.begin_ns:
                self._event(track, open_.pop(), self._kinds.TYPE_SLICE_END)
            lasts = event.name in SPANS
            kind = self._kinds.TYPE_SLICE_BEGIN if lasts else self._kinds.TYPE_INSTANT
            packet = self._event(track, event.begin_ns, kind)
            packet.track_event.name = name
            packet.track_event.categories.append(event.action)
            if id(event) in flows:
                number, ends = flows[id(event)]
                of = packet.track_event
                (of.terminating_flow_ids if ends else of.flow_ids).append(number)
            for key, value in _values(event):
                self._annotate(packet, key, value)
            if lasts:
                end = event.begin_ns + event.duration_ns
                open_.append(min(end, open_[-1]) if open_ else end)
        while open_:
            self._event(track, open_.pop(), self._kinds.TYPE_SLICE_END)

    def _annotate(self, packet: Any, key: str, value: int | str | bool) -> None:
        one = packet.track_event.debug_annotations.add()
        one.name = key
        if isinstance(value, bool):
            one.bool_value = value
        elif isinstance(value, int):
            one.int_value = value
        else:
            one.string_value = value

    def _process(self, name: str) -> int:
        packet = self._builder.add_packet()
        packet.track_descriptor.uuid = next(self._tracks)
        packet.track_descriptor.process.pid = next(self._processes)
        packet.track_descriptor.process.process_name = name
        return int(packet.track_descriptor.uuid)

    def _track(self, name: str, process: int, *, is_counter: bool = False) -> int:
        packet = self._builder.add_packet()
        packet.track_descriptor.uuid = next(self._tracks)
        packet.track_descriptor.parent_uuid = process
        packet.track_descriptor.name = name
        if is_counter:
            packet.track_descriptor.counter.unit_name = "tasks"
        return int(packet.track_descriptor.uuid)

    def _event(self, track: int, when: int, kind: int) -> Any:
        packet = self._builder.add_packet()
        packet.timestamp = when
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.track_event.track_uuid = track
        packet.track_event.type = kind
        return packet


class _Flows(dict[int, tuple[int, bool]]):
    """Arrows by the identity of their events: from a submission or unpark to the task's next run.

    A second wakeup before the run has none: the task ran once for both.
    """

    def __init__(self, numbers: Iterator[int], found: Sequence[Event]) -> None:
        super().__init__()
        begun: dict[int, Event] = {}
        for event in found:
            if event.name == "TaskSubmit" and event.task:
                begun.setdefault(event.task, event)
            elif event.name == "TaskRun" and event.task in begun:
                number = next(numbers)
                self[id(begun.pop(event.task))] = number, False
                self[id(event)] = number, True


def _nested(one: tuple[Event, str]) -> tuple[int, int]:
    """Return the order of events of a track: what holds another comes before it."""
    event, _ = one
    return event.begin_ns, -event.duration_ns


def _of_thread(event: Event) -> str:
    if event.name == "TaskRun":
        return f"runs on {event.carrier_name}"
    descriptor = event.details.get("descriptor")
    return f"waits: {event.details['reason']}{'' if descriptor is None else f' {descriptor}'}"


def _values(event: Event) -> Iterator[tuple[str, int | str | bool]]:
    yield "task", f"{event.task:#x}"
    if event.task_name:
        yield "task_name", event.task_name
    yield from event.details.items()
