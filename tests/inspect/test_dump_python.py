# SPDX-License-Identifier: Apache-2.0
"""`wakeproof.dump`: Python's virtual threads, with their Python frames, by scope.  Dump.tla."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.dumps import checked, functions, said_of
from tests.support.running import python

import wakeproof
from wakeproof import CarrierGroup, Scope, VirtualThread, coroutine
from wakeproof._runtime import core, jobs
from wakeproof._runtime.brief import HAS_GIL
from wakeproof.errors import UsageError

PATIENCE_S = 30


@pytest.fixture
def group() -> Iterator[CarrierGroup]:
    with CarrierGroup(2) as made:
        yield made


def parks(depth: int) -> None:
    if depth > 0:
        parks(depth - 1)
    else:
        wakeproof.park()


async def awaits() -> None:
    await coroutine.park()


async def awaits_more() -> None:
    await awaits()


def await_state(thread: VirtualThread, state: str) -> None:
    while thread.state != state:
        threading.Event().wait(0.001)


def parked(group: CarrierGroup, many: int = 1, **more: Any) -> list[VirtualThread]:
    threads = [VirtualThread(parks, 2, group=group, **more).start() for _ in range(many)]
    for thread in threads:
        await_state(thread, "parked")
    return threads


def end(threads: list[VirtualThread]) -> None:
    for thread in threads:
        thread.unpark()
        assert thread.join(PATIENCE_S)


def dumped(limit: int = 1000) -> dict[str, Any]:
    out = io.StringIO()
    wakeproof.dump(out, format="json", limit=limit)
    return checked(json.loads(out.getvalue()))


def test_a_parked_callable_is_shown_with_its_python_frames(group: CarrierGroup) -> None:
    threads = parked(group, name='a "b"\n')
    said = said_of(dumped(), threads[0].name)
    assert (said["state"], said["carrier"]) == ("parked", None)
    assert said["home"] == threads[0].home.name
    assert functions(said["stack"]) == ["park", "parks", "parks", "parks"]
    assert re.search(r"test_dump_python\.py:\d+\)$", said["stack"][1])
    end(threads)


def test_a_parked_coroutine_is_shown_with_what_it_awaits(group: CarrierGroup) -> None:
    thread = VirtualThread(awaits_more, group=group).start()
    await_state(thread, "parked")
    told = functions(said_of(dumped(), thread.name)["stack"])
    # In C the call of `park` makes no coroutine.
    assert told[-2:] == ["awaits", "awaits_more"]
    assert told[:-2] == [] if core.IN_C else told[-3] == "park"
    end([thread])


def test_one_that_runs_is_shown_with_its_carrier_and_its_frames(group: CarrierGroup) -> None:
    go = threading.Event()

    def works() -> None:
        while not go.is_set():
            pass

    def sticks() -> None:
        with wakeproof.pinned():
            wakeproof.park()

    busy = group[0].factory(pinned=True)(works)
    stuck = group[1].factory(pinned=True)(sticks)
    await_state(busy, "running")
    await_state(stuck, "pinned")
    dump = dumped()
    go.set()
    end([stuck, busy])
    said = said_of(dump, busy.name)
    assert (said["state"], said["carrier"]) == ("running", group[0].name)
    assert functions(said["stack"])[-1].endswith("works")
    said = said_of(dump, stuck.name)
    assert (said["state"], said["carrier"]) == ("pinned", group[1].name)
    assert functions(said["stack"])[-1].endswith("sticks")
    runs = {one["thread"]: one["carrier"] for one in dump["carriers"]}
    assert runs[str(busy._number)] == group[0].name


def test_threads_that_share_a_stack_are_one_group_and_a_limit_lists_some(
    group: CarrierGroup,
) -> None:
    threads = parked(group, 1000)
    dump = dumped(limit=3)
    same = [one for one in dump["stacks"] if one["count"] == "1000"]
    assert [one["state"] for one in same] == ["parked"]
    assert same[0]["names"] == [thread.name for thread in threads[:4]]
    assert len(dump["threadContainers"][0]["threads"]) == 3
    end(threads)
    assert dumped()["stacks"] == []


def test_stacks_beyond_the_table_are_counted_together(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wakeproof._runtime.dump_tree.STACKS", 2)
    threads = [VirtualThread(parks, depth, group=group).start() for depth in range(5)]
    for thread in threads:
        await_state(thread, "parked")
    dump = dumped()
    assert (len(dump["stacks"]), dump["others"]) == (2, "3")
    end(threads)


def test_scopes_are_a_tree_with_owners(group: CarrierGroup) -> None:
    def owns() -> None:
        with Scope(name="outer", group=group) as outer:
            outer.fork(parks, 0)
            with Scope(name="inner", group=group) as inner:
                inner.fork(parks, 0)
                inner.join()
            outer.join()

    owner = VirtualThread(owns, name="owner", group=group).start()
    await_state(owner, "parked")
    while len(dumped()["threadContainers"]) < 3:
        pass
    dump = dumped()
    root, outer, inner = dump["threadContainers"]
    assert (root["container"], root["threadCount"]) == ("<root>", "1")
    assert outer["container"].startswith("outer@")
    assert inner["container"].startswith("inner@")
    assert (outer["parent"], inner["parent"]) == ("<root>", outer["container"])
    assert outer["owner"] == inner["owner"] == str(owner._number)
    assert outer["threadCount"] == inner["threadCount"] == "1"
    while not owner.join(0):
        for thread in list(jobs.threads.values()):
            thread.unpark()


@pytest.mark.slow
def test_a_dump_while_threads_come_and_go_is_whole(group: CarrierGroup) -> None:
    over = threading.Event()

    def comes() -> None:
        while not over.is_set():
            end([VirtualThread(parks, 1, group=group).start() for _ in range(20)])

    others = [threading.Thread(target=comes) for _ in range(2)]
    for other in others:
        other.start()
    try:
        stacks = [same for _ in range(100) for same in dumped()["stacks"]]
    finally:
        over.set()
        for other in others:
            other.join()
    seen = {tuple(functions(same["stack"])) for same in stacks if same["state"] == "parked"}
    assert seen == {("park", "parks", "parks")}


def leaf() -> None: ...


def left() -> None:
    leaf()


def right() -> None:
    leaf()


def turns(over: threading.Event) -> None:
    while not over.is_set():
        left()
        right()


@pytest.mark.slow
@pytest.mark.skipif(HAS_GIL, reason="with the GIL it runs on between two frames that are read")
def test_a_stack_of_a_thread_that_runs_is_of_one_moment(group: CarrierGroup) -> None:
    over = threading.Event()
    begin = turns.__code__.co_firstlineno
    threads = [VirtualThread(turns, over, group=carrier).start() for carrier in group]
    called = set()  # what `turns` calls, and its line
    end, left_over = time.monotonic() + PATIENCE_S, 300
    try:
        while time.monotonic() < end and (left_over > 0 or len(called) < 2):
            left_over -= 1
            for same in dumped()["stacks"]:
                names = functions(same["stack"])
                at = names.index("turns") if "turns" in names else 0
                if at > 0 and names[at - 1] in ("left", "right"):
                    line = int(same["stack"][at].rpartition(":")[2].rstrip(")"))
                    called.add((names[at - 1], line - begin))
    finally:
        over.set()
    for thread in threads:
        thread.result(PATIENCE_S)
    assert called == {("left", 2), ("right", 3)}


def test_a_file_is_whole_and_not_overwritten_unless_asked(
    group: CarrierGroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = parked(group)
    path = tmp_path / "dump.txt"
    wakeproof.dump(path)
    assert "1 threads, 1 listed; by stack:" in path.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="it is there; allowed: a new path, or overwrite=True"):
        wakeproof.dump(path)
    wakeproof.dump(path, format="json", overwrite=True)
    before = path.read_text(encoding="utf-8")
    checked(json.loads(before))
    monkeypatch.setattr("wakeproof._runtime.dump.tree", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        wakeproof.dump(path, overwrite=True)
    assert path.read_text(encoding="utf-8") == before
    assert [one.name for one in tmp_path.iterdir()] == ["dump.txt"]
    end(threads)


def test_what_is_not_allowed_is_named() -> None:
    with pytest.raises(UsageError, match="format is 'xml'; allowed: 'text', 'json'"):
        wakeproof.dump(format="xml")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="limit is -1; allowed: 0 and more"):
        wakeproof.dump(limit=-1)


@pytest.mark.slow
def test_a_signal_writes_a_dump_to_stderr() -> None:
    program = (
        "import os, signal, wakeproof\n"
        "wakeproof.dump_on_signal(signal.SIGUSR1)\n"
        "thread = wakeproof.VirtualThread(wakeproof.park, name='sleeper').start()\n"
        "while thread.state != 'parked': pass\n"
        "os.kill(os.getpid(), signal.SIGUSR1)\n"
        "thread.unpark()\n"
        "assert thread.join(30)\n"
    )
    ended = python(program)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    assert re.search(r'^#\d+ "sleeper" virtual, parked, home carrier-\d', ended.stderr, re.M)
    assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL


@pytest.mark.slow
def test_a_forked_child_shows_none_of_its_parents(group: CarrierGroup) -> None:
    threads = parked(group)
    child = os.fork()
    if child == 0:
        os._exit(0 if dumped()["stacks"] == [] else 1)
    assert os.waitpid(child, 0)[1] == 0
    end(threads)
