# SPDX-License-Identifier: Apache-2.0
"""The owners of events, the reasons of waits, and the switch: specs/sched/Trace.tla."""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.virtual import held, until

import wakeproof as w
from wakeproof import CarrierGroup, Tracing, VirtualThread, coroutine, io, trace
from wakeproof.trace import Event, chrome, summary

PATIENCE_S = 60
NAMES = ("ALPHA", "BETA", "GAMMA", "DELTA")


def waits(group: CarrierGroup, name: str) -> list[Event]:
    return [
        event for event in group.events() if event.name == "ThreadWait" and event.task_name == name
    ]


def reasons(group: CarrierGroup, name: str) -> list[str]:
    return [str(event.details["reason"]) for event in waits(group, name)]


def run(group: CarrierGroup, body: Callable[[], object], name: str = "one") -> None:
    VirtualThread(body, group=group, name=name).start().result(PATIENCE_S)


def test_events_of_threads_that_had_the_same_memory_keep_their_names_and_numbers() -> None:
    # NameIsItsOwn, NumberIsItsOwn: one after the other, each in the memory of the last one.
    with CarrierGroup(1, tracing=Tracing(events=1000)) as group:
        for name in NAMES:
            run(group, lambda: w.sleep(0.001), name)
    for kind in ("TaskSubmit", "TaskRun", "ThreadWait"):
        named = [(one.task_name, one.task) for one in group.events() if one.name == kind]
        assert list(dict.fromkeys(name for name, _ in named)) == list(NAMES)
        assert len(set(named)) == len({number for _, number in named}) == 4


def test_a_name_that_is_too_long_is_cut_between_letters() -> None:
    with CarrierGroup(1, tracing=Tracing(events=64)) as group:
        group.submit(int).result(PATIENCE_S)
        long_named = functools.partial(int)
        long_named.__qualname__ = "\u00e9" * 100
        group[0].submit(long_named).result(PATIENCE_S)
    told = [one.task_name for one in group.events() if one.name == "TaskRun"]
    assert told == ["int", "\u00e9" * 23]


def test_a_steal_by_a_poller_is_not_from_the_loop() -> None:
    stop, begun, go_on = threading.Event(), threading.Event(), threading.Event()

    def spin(poller: w.Poller) -> None:
        while not stop.is_set():
            poller.maybe_yield(False)

    with CarrierGroup(2, work_stealing=True, tracing=Tracing(events=4096)) as group:
        thread = group[1].register_poller(lambda: None, spin)
        group[0].submit(lambda: (begun.set(), go_on.wait(PATIENCE_S)))
        assert begun.wait(PATIENCE_S)
        group[0].submit(int).result(PATIENCE_S)  # the other one has it
        go_on.set()
        stop.set()
        thread.join(PATIENCE_S)
    mine = [one.details for one in group.events() if one.name == "WorkSteal" and one.carrier == 1]
    assert mine
    assert not any(one["from_loop"] for one in mine)


def test_a_steal_by_the_loop_is_from_the_loop() -> None:
    traced = CarrierGroup(2, work_stealing=True, tracing=Tracing(events=256))
    with traced as group, held(group[0]):
        group[0].submit(int).result(PATIENCE_S)
    assert {one.details["from_loop"] for one in group.events() if one.name == "WorkSteal"} == {True}


def wait_for_all(group: CarrierGroup) -> tuple[list[str], int]:
    """Have a thread "waiter" wait for one thing after the other; return the reasons."""
    mutex, semaphore = w.Mutex(), w.Semaphore(0)
    condition, channel = w.Condition(), w.Channel[int](1)
    left, right = io.socketpair(group=group)
    server = io.create_server(("127.0.0.1", 0), group=group)
    one_more = VirtualThread(lambda: w.sleep(0.01), group=group, name="other")

    def waiter() -> None:
        w.park(0.001)
        w.sleep(0.001)
        one_more.start().join(PATIENCE_S)
        with mutex:
            pass
        with condition:
            condition.wait(PATIENCE_S)
        semaphore.acquire(2)
        channel.receive()
        channel.send(1)
        channel.send(2)
        left.recv(1)
        server.accept()[0].close()

    thread = VirtualThread(waiter, group=group, name="waiter")

    def is_parked(times: int) -> None:
        until(lambda: thread.state == "parked" and len(reasons(group, "waiter")) == times)

    with mutex:
        thread.start()
        is_parked(3)
    is_parked(4)
    with condition:
        condition.notify()
    is_parked(5)
    semaphore.release(2)
    is_parked(6)
    channel.send(0)
    is_parked(7)
    assert channel.receive() == 1
    is_parked(8)
    right.sendall(b"x")
    is_parked(9)
    io.create_connection(server.getsockname(), group=group).close()
    thread.join(PATIENCE_S)
    descriptor = left.fileno()
    for one in (left, right, server):
        one.close()
    return reasons(group, "waiter"), descriptor


def test_each_wait_of_a_thread_is_a_span_with_its_reason() -> None:
    with CarrierGroup(2, tracing=Tracing(events=1 << 12)) as group:
        told, descriptor = wait_for_all(group)
        spans, events = waits(group, "waiter"), group.events()
    assert told == [
        "park", "sleep", "join", "mutex", "condition", "semaphore", "receive", "send", "read",
        "accept",
    ]  # fmt: skip
    assert [one.details["ended"] for one in spans] == ["timeout"] * 2 + ["done"] * 8
    assert spans[5].details["permits"] == 2
    assert spans[8].details["descriptor"] == descriptor
    assert all(one.duration_ns > 0 for one in spans)
    runs = [one for one in events if one.name == "TaskRun" and one.task == spans[0].task]
    for span in spans:  # it does not run meanwhile
        for ran in runs:
            begun, ended = ran.begin_ns, ran.begin_ns + ran.duration_ns
            assert ended >= span.begin_ns or begun <= span.begin_ns
            assert not span.begin_ns < begun < ended < span.begin_ns + span.duration_ns


def test_coroutines_have_the_same_spans() -> None:
    mutex, semaphore = w.Mutex(), w.Semaphore(0)

    async def body() -> None:
        await coroutine.sleep(0.001)
        await coroutine.lock(mutex, 0.001)
        await coroutine.acquire(semaphore, 3, 0.001)
        await coroutine.park(0.001)

    with CarrierGroup(1, tracing=Tracing(events=256)) as group, mutex:
        VirtualThread(body, group=group, name="one").start().result(PATIENCE_S)
    assert reasons(group, "one") == ["sleep", "mutex", "semaphore", "park"]


def test_an_interrupted_wait_says_so() -> None:
    with CarrierGroup(1, tracing=Tracing(events=256)) as group:
        thread = VirtualThread(lambda: w.sleep(PATIENCE_S), group=group, name="one").start()
        while thread.state != "parked":
            time.sleep(0.0005)
        thread.interrupt()
        with pytest.raises(w.ThreadInterruptedError):
            thread.result(PATIENCE_S)
    (span,) = waits(group, "one")
    assert span.details == {"reason": "sleep", "ended": "interrupted"}


def test_tracing_is_switched_on_and_off_while_the_group_runs() -> None:
    with CarrierGroup(1) as group:
        run(group, int, "before")
        assert (group.tracing, group.events()) == (0, [])
        group.trace_on(100)
        assert group.tracing == 128
        run(group, int, "meanwhile")
        group.trace_off()
        assert group.tracing == 0
        run(group, int, "after")
        assert {one.task_name for one in group.events() if one.task} == {"meanwhile"}
        group.trace_on()
        run(group, int, "again")
        assert group.tracing == 128
    assert {one.task_name for one in group.events() if one.task} == {"meanwhile", "again"}


def test_a_span_that_began_while_it_was_off_is_not_told() -> None:
    go_on = threading.Event()
    with CarrierGroup(1) as group:
        begun = threading.Event()
        running = group.submit(lambda: (begun.set(), go_on.wait(PATIENCE_S)))
        parked = VirtualThread(w.park, group=group, name="parked").start()
        assert begun.wait(PATIENCE_S)
        group.trace_on(64)
        go_on.set()
        running.result(PATIENCE_S)
        parked.unpark()
        parked.join(PATIENCE_S)
    assert all(one.begin_ns > 0 and one.duration_ns < 1e11 for one in group.events())
    assert all(one.task_name != "parked" or one.duration_ns < 1e9 for one in group.events())


def test_larger_rings_forget_what_was_there_and_go_on() -> None:
    with CarrierGroup(1, tracing=Tracing(events=16)) as group:
        for number in range(30):
            run(group, int, f"first-{number}")
        run(group, lambda: group.trace_on(256), "first")
        for number in range(30):
            run(group, int, f"then-{number}")
        group.trace_on(16)  # fewer than before: as many
        assert group.tracing == 256
    told = [one.task_name for one in group.events() if one.name == "TaskRun"]
    assert told == ["first", *(f"then-{number}" for number in range(30))]


@pytest.mark.parametrize("bad", [0, -1, (1 << 20) + 1, True, 1.5])
def test_a_bad_number_of_events_is_named(bad: object) -> None:
    with CarrierGroup(1) as group:
        for switch in (group.trace_on, trace.switch_on):
            with pytest.raises(w.UsageError, match=r"events is .*; allowed: 1 to 1,048,576"):
                switch(bad)  # type: ignore[operator]


def test_one_switch_is_for_all_groups_and_for_those_to_come() -> None:
    with CarrierGroup(1) as first:
        trace.switch_on(64)
        try:
            with CarrierGroup(1) as second, CarrierGroup(1, tracing=Tracing(events=0)) as third:
                assert [one.tracing for one in (first, second, third)] == [64, 64, 0]
                trace.switch_off()
                assert [one.tracing for one in (first, second, third)] == [0, 0, 0]
        finally:
            trace.switch_off()
        with CarrierGroup(1) as fourth:
            assert fourth.tracing == 0


@pytest.mark.slow
def test_the_switch_may_be_turned_while_carriers_write() -> None:
    # RingsAreThere: larger rings, while the earlier ones are written.
    with CarrierGroup(2, work_stealing=True) as group:
        stop = threading.Event()

        def busy() -> None:
            while not stop.is_set():
                group.submit(int).result(PATIENCE_S)

        workers = [threading.Thread(target=busy) for _ in range(2)]
        for one in workers:
            one.start()
        for size in range(1, 14):
            group.trace_on(1 << size)
            group.events()
            group.trace_off()
            group.trace_on()
        stop.set()
        for one in workers:
            one.join(PATIENCE_S)
    assert {one.task_name for one in group.events()} <= {"int", ""}


def test_the_picture_has_a_track_for_each_thread_that_waited() -> None:
    with CarrierGroup(1, tracing=Tracing(events=256)) as group:
        run(group, lambda: w.sleep(0.001), "sleeper")
        run(group, int, "never waits")
    shown = chrome([group.events()])["traceEvents"]
    names = {one["args"]["name"] for one in shown if one["name"] == "thread_name"}
    assert names == {"outside", "carrier-0", "sleeper"}
    track = [(one["name"], one["ph"]) for one in shown if one["pid"] == 1 and one["ph"] != "M"]
    assert track == [
        ("runs on carrier-0", "X"), ("waits: sleep", "X"), ("runs on carrier-0", "X")
    ]  # fmt: skip
    json.dumps(shown)


def test_the_summary_has_waits_by_reason() -> None:
    def wait(reason: str, ms: int) -> Event:
        return Event("ThreadWait", "Park", 0, 1, ms * 1_000_000, 1, {"reason": reason})

    found = summary([wait("read", 10), wait("mutex", 3), wait("read", 20)])
    assert found.waits == {"mutex": 1, "read": 2}
    assert found.waited_s == {"mutex": 0.003, "read": 0.03}


@pytest.mark.slow
def test_wakeproof_trace_says_what_threads_waited_for(
    wakeproof: Callable[..., object], tmp_path: Path
) -> None:
    script, out = tmp_path / "waits.py", tmp_path / "trace.json"
    script.write_text(
        "import wakeproof as w\n"
        "with w.CarrierGroup(1) as group:\n"
        "    w.VirtualThread(lambda: w.sleep(.01), group=group, name='s').start().join()\n"
    )
    ended = wakeproof("trace", "-o", str(out), str(script), COLUMNS="120")
    assert ended.returncode == 0, ended.stderr  # type: ignore[attr-defined]
    assert "waits of threads: sleep" in ended.stdout  # type: ignore[attr-defined]
    assert "waits: sleep" in {one["name"] for one in json.loads(out.read_text())["traceEvents"]}


def polls(group: CarrierGroup) -> list[Event]:
    return [one for one in group.events() if one.name == "Poll"]


def test_polls_that_found_or_awaited_descriptors_are_spans_of_their_carrier() -> None:
    with CarrierGroup(1, tracing=Tracing(events=1 << 12)) as group:
        left, right = io.socketpair(group=group)
        reader = VirtualThread(left.recv, 1, group=group, name="reader").start()
        until(lambda: reader.state == "parked" and io.statistics(group)[0].sleeps > 0)
        right.sendall(b"x")
        assert reader.result(PATIENCE_S) == b"x"

        def busy() -> None:
            before = io.statistics(group)[0].events
            right.sendall(b"y")
            while io.statistics(group)[0].events == before:
                w.yield_now()  # so that the poller, with something to run, does not block

        run(group, busy)
        left.close()
        right.close()
    counted = io.statistics(group)[0]
    assert sum(int(one.details["ready"]) for one in polls(group)) == counted.events
    assert 0 < sum(bool(one.details["blocked"]) for one in polls(group)) <= counted.sleeps
    assert {one.carrier for one in polls(group)} == {0}
    (read,) = waits(group, "reader")
    found = [one for one in polls(group) if one.details["ready"]]
    assert {one.details["blocked"] for one in found} == {False, True}
    # The poll that found the reader's descriptor woke the reader, which then ran.
    assert any(one.begin_ns < read.begin_ns + read.duration_ns for one in found)
