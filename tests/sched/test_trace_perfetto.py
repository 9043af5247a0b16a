# SPDX-License-Identifier: Apache-2.0
"""A trace in Perfetto's own format, read again by its library, says what the events say."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE_S, Command

from wakeproof import CarrierGroup, Tracing, VirtualThread, park
from wakeproof.cli import perfetto_trace
from wakeproof.errors import MissingToolError
from wakeproof.trace import Event

perfetto = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
Trace, TrackEvent = perfetto.Trace, perfetto.TrackEvent

MS = 1_000_000


@dataclass
class Read:
    """What a file says: slices and instants of each track, arrows, counters."""

    tracks: dict[int, str] = field(default_factory=dict)
    parents: dict[int, str] = field(default_factory=dict)
    slices: dict[str, list[tuple[str, int, int]]] = field(default_factory=lambda: defaultdict(list))
    starts: dict[int, tuple[str, str, int]] = field(default_factory=dict)
    ends: dict[int, tuple[str, str, int]] = field(default_factory=dict)
    counters: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def arrows(self) -> set[tuple[tuple[str, str, int], tuple[str, str, int]]]:
        assert self.starts.keys() == self.ends.keys()
        return {(self.starts[number], self.ends[number]) for number in self.starts}


def read(text: bytes) -> Read:
    """Read a file as the trace processor does: each end closes what began last on its track."""
    trace, found = Trace(), Read()
    trace.ParseFromString(text)
    open_: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            of = packet.track_descriptor
            found.tracks[of.uuid] = of.name or of.process.process_name
            found.parents[of.uuid] = found.tracks.get(of.parent_uuid, "")
            continue
        event, when = packet.track_event, packet.timestamp
        name = found.tracks[event.track_uuid]
        if event.type == TrackEvent.TYPE_COUNTER:
            found.counters[name].append((when, event.counter_value))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            said, begin = open_[event.track_uuid].pop()
            found.slices[name].append((said, begin, when - begin))
        else:
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                open_[event.track_uuid].append((event.name, when))
            else:
                found.slices[name].append((event.name, when, 0))
            for number in event.flow_ids:
                found.starts[number] = name, event.name, when
            for number in event.terminating_flow_ids:
                found.ends[number] = name, event.name, when
    assert not any(open_.values())
    return found


def expected(events: Sequence[Event]) -> dict[str, list[tuple[str, int, int]]]:
    """Return the slices of carriers, from the events alone."""
    found = defaultdict(list)
    for event in events:
        if event.name != "ThreadWait":
            lasts = event.duration_ns if event.name in perfetto_trace.SPANS else 0
            found[event.carrier_name].append((event.name, event.begin_ns, lasts))
    return {name: sorted(slices) for name, slices in found.items()}


def recorded() -> list[Event]:
    """Record two carriers, a steal or two, and a thread that parks and is unparked."""
    begun = threading.Event()

    def body() -> None:
        begun.set()
        park()

    with CarrierGroup(2, work_stealing=True, tracing=Tracing(events=1024)) as group:
        thread = VirtualThread(body, group=group, name="parks").start()
        for future in [group.submit(int) for _ in range(20)]:
            future.result(PATIENCE_S)
        assert begun.wait(PATIENCE_S)
        thread.unpark()
        thread.join(PATIENCE_S)
    return group.events()


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return recorded()


def test_each_carrier_has_its_events_on_a_track(events: list[Event]) -> None:
    found = read(perfetto_trace.trace([events]))
    assert {name: sorted(found.slices[name]) for name in expected(events)} == expected(events)
    carriers = {uuid for uuid, name in found.tracks.items() if name in expected(events)}
    assert {found.parents[uuid] for uuid in carriers} == {"carrier group 0"}


def test_a_thread_that_waited_has_a_track_with_its_waits_and_runs(events: list[Event]) -> None:
    found = read(perfetto_trace.trace([events]))
    names = [name for name, _, _ in sorted(found.slices["parks"], key=lambda one: one[1])]
    assert names[0].startswith("runs on carrier-")
    assert "waits: park" in names


def arrows(events: Sequence[Event]) -> Iterator[tuple[tuple[str, str, int], tuple[str, str, int]]]:
    """Return each arrow by looking forward from each submission."""
    for at, event in enumerate(events):
        if event.name != "TaskSubmit" or not event.task:
            continue
        before = [one for one in events[:at] if one.task == event.task
                  and one.name in ("TaskSubmit", "TaskRun")]  # fmt: skip
        if before and before[-1].name == "TaskSubmit":
            continue
        runs = [one for one in events[at:] if (one.name, one.task) == ("TaskRun", event.task)]
        if runs:
            yield (
                (event.carrier_name, "TaskSubmit", event.begin_ns),
                (runs[0].carrier_name, "TaskRun", runs[0].begin_ns),
            )


def test_an_arrow_leads_from_each_wakeup_to_the_run_that_follows(events: list[Event]) -> None:
    found = read(perfetto_trace.trace([events]))
    assert found.arrows() == {*arrows(events)}
    unparked = {event.begin_ns for event in events if event.action == "Unpark"}
    assert unparked & {when for _, _, when in found.starts.values()}


def test_the_depth_of_a_queue_is_a_counter(events: list[Event]) -> None:
    found = read(perfetto_trace.trace([events]))
    for event in events:
        if event.name == "TaskRuns":
            points = found.counters[f"queue of {event.carrier_name}"]
            assert (event.begin_ns, event.details["depth_before"]) in points
            end = event.begin_ns + event.duration_ns
            assert (end, event.details["depth_after"]) in points
    assert all([*points] == sorted(points, key=lambda one: one[0])
               for points in found.counters.values())  # fmt: skip


def span(name: str, begin: int, duration: int, task: int = 0) -> Event:
    details = {"executed": 1, "depth_before": 1, "depth_after": 0} if name == "TaskRuns" else {}
    return Event(name, "Pop", 0, begin, duration, task, dict(details), "", "carrier-0")


def test_events_that_touch_or_hold_one_another_keep_their_ends() -> None:
    events = [
        span("TaskRuns", 0, 10), span("TaskRun", 0, 4, 1), span("TaskRun", 4, 6, 2),
        span("Park", 10, 5), span("TaskRuns", 15, 0), span("Park", 15, 3),
    ]  # fmt: skip
    found = read(perfetto_trace.trace([events]))
    assert sorted(found.slices["carrier-0"]) == expected(events)["carrier-0"]


class Swapped(perfetto_trace._Flows):
    """A twin: arrows that lead to another run than the one that followed."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        ends = [key for key, (_, is_end) in self.items() if is_end]
        numbers = [self[key][0] for key in ends]
        self |= {key: (number, True) for key, number in zip(ends, numbers[::-1], strict=True)}


def test_a_writer_that_swaps_arrows_is_seen(
    events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perfetto_trace, "_Flows", Swapped)
    with pytest.raises(AssertionError):
        test_an_arrow_leads_from_each_wakeup_to_the_run_that_follows(events)


def test_a_writer_that_miscounts_a_queue_is_seen(
    events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = perfetto_trace._Writer._depths

    def wrong(self: Any, process: int, found: Sequence[Event], carriers: Any) -> None:
        last = max(at for at, event in enumerate(found) if event.name == "TaskRuns")
        more = {**found[last].details, "depth_after": int(found[last].details["depth_after"]) + 1}
        right(self, process, [*found[:last], replace(found[last], details=more)], carriers)

    monkeypatch.setattr(perfetto_trace._Writer, "_depths", wrong)
    with pytest.raises(AssertionError):
        test_the_depth_of_a_queue_is_a_counter(events)


@pytest.mark.slow
def test_the_command_writes_it_for_a_file_with_its_ending(
    wakeproof: Command, tmp_path: Path
) -> None:
    out = tmp_path / "run.pftrace"
    ended = wakeproof("trace", "-o", str(out))
    assert ended.returncode == 0, ended.stderr
    found = read(out.read_bytes())
    runs = [one for slices in found.slices.values() for one in slices if one[0] == "TaskRun"]
    assert len(runs) == 36
    assert [*tmp_path.iterdir()] == [out]


def test_without_the_library_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "perfetto.trace_builder.proto_builder", None)
    with pytest.raises(MissingToolError, match=r"wakeproof\[trace\]"):
        perfetto_trace.require()
