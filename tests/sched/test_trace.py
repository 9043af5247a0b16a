# SPDX-License-Identifier: Apache-2.0
"""Events of carriers against specs/base/EventRing.tla, NoInventedEvent; and their summary."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.support.topologies import Halves, nowhere
from tests.support.virtual import held

from wakeproof import CarrierGroup, Tracing, VirtualThread, park, pinned
from wakeproof.trace import ACTIONS, Event, chrome, size, summary

PATIENCE_S = 60
Command = Callable[..., "CompletedProcess[str]"]


def run(group: CarrierGroup, tasks: int) -> None:
    for future in [group[n % len(group)].submit(int) for n in range(tasks)]:
        future.result(PATIENCE_S)


def named(events: list[Event], name: str) -> list[Event]:
    return [event for event in events if event.name == name]


def test_without_being_asked_a_group_keeps_no_events() -> None:
    with CarrierGroup(1) as group:
        run(group, 10)
    assert group.events() == []


def test_every_submission_and_every_step_is_one_event() -> None:
    # NoInventedEvent: as many as the carriers have counted.
    with CarrierGroup(2, work_stealing=True, tracing=Tracing(events=1 << 12)) as group:
        run(group, 300)
    events = group.events()
    assert len(named(events, "TaskSubmit")) == 300
    assert all(event.carrier is None for event in named(events, "TaskSubmit"))
    assert len(named(events, "TaskRun")) == 300 == sum(c.counts.runs for c in group)
    stolen = sum(c.counts.stolen for c in group)
    assert len(named(events, "WorkSteal")) == stolen
    executed = sum(int(event.details["executed"]) for event in named(events, "TaskRuns"))
    assert executed + stolen == 300
    assert events == sorted(events, key=lambda event: event.begin_ns)


def test_a_drain_that_reads_the_stop_is_an_event_too() -> None:
    begun = threading.Event()

    def task() -> None:
        begun.set()
        time.sleep(0.3)  # the stop comes behind it meanwhile

    group = CarrierGroup(1, tracing=Tracing(events=64))
    group.submit(task)
    assert begun.wait(PATIENCE_S)
    group.close(cancel=True)
    (drained,) = named(group.events(), "TaskRuns")
    assert drained.details["executed"] == 1 == group[0].counts.drains


def test_a_steal_names_home_thief_and_kind() -> None:
    go_on, begun = threading.Event(), threading.Event()
    with CarrierGroup(2, work_stealing=True, tracing=Tracing(events=256)) as group:
        group[0].submit(lambda: (begun.set(), go_on.wait(PATIENCE_S)))
        assert begun.wait(PATIENCE_S)
        group[0].submit(int).result(PATIENCE_S)
        group[1].submit(int).result(PATIENCE_S)
        go_on.set()
    steals = named(group.events(), "WorkSteal")
    assert steals
    for steal in steals:
        assert steal.carrier == steal.details["stealer"] == 1 - int(steal.details["source"])
        assert steal.details["kind"] in ("directed", "probed", "recheck")


def test_events_may_be_read_while_carriers_write_and_have_known_names_and_times() -> None:
    # A ring of 16 is overwritten all the time. scenarios/base/event_ring.c shows that none is torn.
    with CarrierGroup(1, tracing=Tracing(events=16)) as group:
        seen: list[Event] = []
        while len(seen) < 500:
            group.submit(int)
            seen += group.events()
    assert {event.name for event in seen} <= set(ACTIONS)
    assert all(0 <= event.duration_ns < PATIENCE_S * 1e9 for event in seen)


def test_events_name_their_task_and_their_carrier_in_full() -> None:
    with CarrierGroup(1, topology=Halves(bind=nowhere), tracing=Tracing(events=256)) as group:
        threads = [group[0].factory(name="load \u00e9")(int), group.factory(name="again")(int)]
        assert [thread.result(PATIENCE_S) for thread in threads] == [0, 0]
        group.submit(str).result(PATIENCE_S)
    for name, carrier in (("TaskSubmit", "outside"), ("TaskRun", "carrier-0-cluster7-core100")):
        found = named(group.events(), name)
        assert [event.task_name for event in found] == ["load \u00e9", "again", "str"]
        assert {event.carrier_name for event in found} == {carrier}
    shown = chrome([group.events()])["traceEvents"]
    tracks = {one["args"]["name"] for one in shown if one["name"] == "thread_name"}
    assert tracks == {"outside", "carrier-0-cluster7-core100"}
    told = [one["args"]["task_name"] for one in shown if one["name"] == "TaskRun"]
    assert told == ["load \u00e9", "again", "str"]


def test_a_stolen_task_has_its_name_where_it_was_stolen() -> None:
    traced = CarrierGroup(2, work_stealing=True, tracing=Tracing(events=256))
    with traced as group, held(group[0]):
        group[0].factory(name="stolen")(int).result(PATIENCE_S)
    (steal,) = named(group.events(), "WorkSteal")
    assert (steal.task_name, steal.carrier_name) == ("stolen", "carrier-1")
    shown = chrome([group.events()])["traceEvents"]
    (span,) = [one for one in shown if one["name"] == "WorkSteal"]
    (ran,) = [one for one in shown if one["name"] == "TaskRun" and one["tid"] == span["tid"]]
    assert (span["ph"], span["tid"]) == ("X", 2)
    assert span["ts"] <= ran["ts"]
    assert span["ts"] + span["dur"] == pytest.approx(ran["ts"] + ran["dur"])


def test_a_ring_keeps_the_newest_events() -> None:
    with CarrierGroup(1, tracing=Tracing(events=16)) as group:
        run(group, 200)
    mine = [event for event in group.events() if event.carrier == 0]
    assert len(mine) == 16
    submitted = [event for event in group.events() if event.carrier is None]
    assert len(submitted) == 16


def test_every_action_of_an_event_is_one_of_the_specs() -> None:
    specs = Path(__file__).parents[2] / "specs"
    text = "".join(
        next(specs.rglob(f"{name}.tla")).read_text()
        for name in ("GroupCore", "Carrier", "VThreadCore", "Descriptor")
    )
    for actions in ACTIONS.values():
        for action in actions:
            assert f"\n{action}(" in text or f"\n{action} ==" in text, action


@pytest.mark.parametrize(("asked", "kept"), [(0, 0), (1, 1), (3, 4), (1 << 20, 1 << 20)])
def test_a_ring_is_rounded_up_to_a_power_of_two(asked: int, kept: int) -> None:
    assert size(asked) == kept


@pytest.mark.parametrize("bad", [-1, (1 << 20) + 1, True, 1.5])
def test_a_bad_number_of_events_is_named(bad: object) -> None:
    with pytest.raises(ValueError, match=r"tracing\.events is .*; allowed: 0 to 1,048,576"):
        size(bad)  # type: ignore[arg-type]


def test_the_summary_counts_what_the_events_say() -> None:
    def event(name: str, begin: int, **details: int | str | bool) -> Event:
        return Event(name, ACTIONS[name][0], 0, begin, 100, 1, details)

    found = summary(
        [
            event("TaskSubmit", 0),
            event("TaskRuns", 10, executed=3, depth_before=4, depth_after=1),
            event("TaskRuns", 20, executed=1, depth_before=0, depth_after=0),
            event("WorkSteal", 30, kind="probed"),
            event("Park", 40),
            event("Wake", 50, useful=False),
            event("PinnedPark", 60),
            event("Wake", 1_000_000_000 - 100, useful=True),
        ]
    )
    assert (found.seconds, found.submits, found.drains, found.batch) == (1.0, 1, 2, 2.0)
    assert (found.depth, found.depth_p99) == (2.0, 4)
    assert found.steals == {"directed": 0, "probed": 1, "recheck": 0}
    assert (found.wakes_per_s, found.useless_wakes, found.parks) == (2.0, 1, 1)
    assert (found.pinned_parks, found.pinned_s) == (1, 100e-9)
    assert found.overhead_ns > 0


def test_a_park_that_blocks_its_carrier_is_an_event() -> None:
    def body() -> None:
        for section in (pinned(), nullcontext()):
            with section:
                park(0.01)

    with CarrierGroup(1, tracing=Tracing(events=256)) as group:
        VirtualThread(body, group=group, name="stays").start().join()
    (event,) = named(group.events(), "PinnedPark")
    assert (event.task_name, event.carrier, event.details) == ("stays", 0, {"home": 0})
    assert event.duration_ns >= 10_000_000


def test_the_file_for_perfetto_has_a_track_for_each_carrier() -> None:
    with CarrierGroup(2, tracing=Tracing(events=256)) as group:
        run(group, 20)
    shown = chrome([group.events()])["traceEvents"]
    tracks = {one["args"]["name"] for one in shown if one["name"] == "thread_name"}
    assert tracks == {"outside", "carrier-0", "carrier-1"}
    kinds = Counter(one["ph"] for one in shown if one["name"] == "TaskRun")
    assert kinds == {"X": 20}
    assert all("action" in one["args"] for one in shown if one["ph"] != "M")


@pytest.mark.slow
def test_wakeproof_trace_shows_a_script_and_its_steals(wakeproof: Command, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    ended = wakeproof("trace", "-o", str(out), "--json")
    assert ended.returncode == 0, ended.stderr
    (group,) = json.loads(ended.stdout)["groups"]
    assert group["runs"] == 36
    assert sum(group["steals"].values()) > 0
    assert json.loads(out.read_text())["traceEvents"]
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.slow
def test_a_folder_that_is_not_there_is_said_before_the_script_runs(
    wakeproof: Command, tmp_path: Path
) -> None:
    script, ran = tmp_path / "runs.py", tmp_path / "ran"
    script.write_text(f"open({str(ran)!r}, 'w')")
    ended = wakeproof("trace", "-o", str(tmp_path / "no" / "x.json"), str(script))
    assert (ended.returncode, ran.exists()) == (2, False)
    assert f"there is no folder {tmp_path}/no" in ended.stderr


@pytest.mark.slow
def test_a_script_that_fails_leaves_its_trace(wakeproof: Command, tmp_path: Path) -> None:
    script, out = tmp_path / "fails.py", tmp_path / "trace.json"
    script.write_text(
        "from wakeproof import CarrierGroup\n"
        "group = CarrierGroup(1)\n"
        "group.factory(name='last words')(int).result(60)\n"
        "raise SystemExit(7)"
    )
    ended = wakeproof("trace", "-o", str(out), "--json", str(script))
    assert ended.returncode == 2
    assert "fails.py ended with exit code 7" in ended.stderr
    assert json.loads(ended.stdout)["groups"][0]["runs"] == 1
    shown = json.loads(out.read_text())["traceEvents"]
    assert {"last words"} <= {one["args"].get("task_name") for one in shown}
    assert sorted(tmp_path.iterdir()) == [script, out]


@pytest.mark.slow
def test_a_script_that_fails_or_has_no_group_is_said_so(wakeproof: Command, tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("raise SystemExit(7)")
    ended = wakeproof("trace", "-o", str(tmp_path / "x"), str(tmp_path / "fails.py"))
    assert ended.returncode == 2
    assert "fails.py ended with exit code 7" in ended.stderr
    assert not (tmp_path / "x").exists()
    (tmp_path / "empty.py").write_text("")
    ended = wakeproof("trace", "-o", str(tmp_path / "x"), str(tmp_path / "empty.py"))
    assert ended.returncode == 2
    assert "no carrier group was closed" in ended.stderr
    assert not (tmp_path / "x").exists()
