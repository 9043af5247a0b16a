# SPDX-License-Identifier: Apache-2.0
"""An exception of a virtual thread that nobody asks for is printed once, as that of any thread."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest
from tests.support.holding import whole
from tests.support.virtual import PATIENCE_S, until

import wakeproof
from wakeproof import CarrierGroup, VirtualThread, VirtualThreadExecutor, VirtualThreadPool

Told = list[tuple[str, str]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    heard: Told = []

    def hook(args: threading.ExceptHookArgs) -> None:
        assert args.exc_type is type(args.exc_value)
        assert args.thread is not None
        heard.append((args.thread.name, str(args.exc_value)))

    monkeypatch.setattr(threading, "excepthook", hook)
    return heard


@pytest.fixture
def carriers() -> Iterator[CarrierGroup]:
    with CarrierGroup(1) as group:
        yield group


def fails(what: str = "lost") -> None:
    raise ValueError(what)


async def fails_later(what: str = "lost") -> None:
    await wakeproof.coroutine.yield_now()
    raise ValueError(what)


@pytest.mark.parametrize("body", [fails, fails_later])
def test_a_thread_that_nobody_has_and_that_fails_is_told(
    body: object, carriers: CarrierGroup, told: Told
) -> None:
    VirtualThread(body, name="serve", group=carriers).start()  # type: ignore[arg-type]
    until(lambda: bool(told))
    assert told == [("serve", "lost")]


def test_the_first_error_is_told_while_another_thread_of_the_carrier_lives(
    carriers: CarrierGroup, told: Told
) -> None:
    alive = VirtualThread(wakeproof.park, group=carriers).start()
    VirtualThread(fails, name="serve", group=carriers).start().join()
    VirtualThread(int, group=carriers).start().join()
    heard = list(told)
    alive.unpark()
    assert heard == [("serve", "lost")]


def test_a_thread_that_was_joined_and_not_asked_is_told_when_it_goes(
    carriers: CarrierGroup, told: Told
) -> None:
    thread = VirtualThread(fails, name="joined", group=carriers).start()
    assert thread.join(PATIENCE_S)
    assert told == []
    del thread
    gc.collect()
    assert told == [("joined", "lost")]


def test_a_thread_is_told_in_the_memory_of_one_that_the_collector_has_finalized(
    carriers: CarrierGroup, told: Told
) -> None:
    for name in "first", "second":
        error = ValueError("lost")

        def raises(error: Exception = error) -> None:
            raise error

        thread = VirtualThread(raises, name=name, group=carriers).start()
        assert thread.join(PATIENCE_S)
        if name == "first":
            error.__dict__["thread"] = thread  # only the collector frees it
        del raises, error, thread
        gc.collect()
    assert told == [("first", "lost"), ("second", "lost")]


def test_who_asks_for_the_result_is_told_alone(carriers: CarrierGroup, told: Told) -> None:
    thread = VirtualThread(fails, group=carriers).start()
    for _ in range(2):
        with pytest.raises(ValueError, match="lost"):
            thread.result(PATIENCE_S)
    del thread
    gc.collect()
    assert told == []


def test_an_executor_tells_its_future_alone(carriers: CarrierGroup, told: Told) -> None:
    with VirtualThreadExecutor(carriers) as each, VirtualThreadPool(2, group=carriers) as pool:
        futures = [each.submit(fails), pool.submit(fails), pool.submit(fails_later)]
        assert [type(future.exception(PATIENCE_S)) for future in futures] == [ValueError] * 3
    gc.collect()
    assert told == []


def test_ends_that_are_no_failures_are_not_told(carriers: CarrierGroup, told: Told) -> None:
    def leaves() -> None:
        raise SystemExit(3)

    threads = [VirtualThread(body, group=carriers).start() for body in (leaves, wakeproof.park)]
    threads[1].interrupt()
    assert all(thread.join(PATIENCE_S) for thread in threads)
    threads.clear()
    gc.collect()
    assert told == []


@pytest.mark.slow
def test_a_program_prints_each_once_also_at_its_end() -> None:
    made = whole("""
        import wakeproof
        def handler():
            return b"".upperr()  # a typo
        for name in ("dropped", "kept"):
            kept = wakeproof.VirtualThread(handler, name=name).start()
            kept.join()
        asked = wakeproof.VirtualThread(handler, name="asked").start()
        try:
            asked.result()
        except AttributeError:
            print("asked")
    """)
    assert (made.returncode, made.stdout) == (0, "asked\n")
    assert made.stderr.count("Exception in thread dropped:\nTraceback") == 1
    assert made.stderr.count("Exception in thread kept:\nTraceback") == 1
    assert made.stderr.count("AttributeError: 'bytes' object has no attribute 'upperr'") == 2


@pytest.mark.slow
def test_a_hook_that_fails_loses_neither_error() -> None:
    made = whole("""
        import threading, wakeproof
        def hook(args):
            raise KeyError("hook")
        threading.excepthook = hook
        wakeproof.VirtualThread(lambda: 1 / 0).start().join()
    """)
    assert made.returncode == 0
    assert "ZeroDivisionError" in made.stderr
    assert "KeyError: 'hook'" in made.stderr
