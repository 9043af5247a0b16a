# SPDX-License-Identifier: Apache-2.0
"""Cases of carriers that specs/README.md lists: token, idle set, turns, wakes."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import IN_CHECKOUT, Compiled
from tests.support.running import run

from wakeproof import CarrierGroup

PATIENCE_S = 60
BY_HAND = """\
tokens 100 1 0
idle 1 1 2 2 3 3 4 4 5 5 4 4 3 3 2 2 1 1 0 0
150 is sent to 3, brings its task 1, token 0
64 is sent to 150, brings its task 1, token 0
0 is sent to 199, brings its task 1, token 0
put off 1 0, brings the first task 1, searches 2, without an idle one 1, tokens 0
turns 1 disorder 0
"""


@pytest.mark.slow
@IN_CHECKOUT
def test_token_idle_set_search_and_turns_by_hand(compiled: Compiled) -> None:
    # Half as many tokens as carriers; a bit is set or not; the idle one of 200 carriers is found;
    # no queue starves.
    command = compiled("by_hand", "plain", "-O0")
    ended = run(command)
    assert (ended.stdout, ended.stderr, ended.returncode) == (BY_HAND, "", 0)


@pytest.mark.slow
@IN_CHECKOUT
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("wp_search_stop(carrier->domain);", ""),
        ("wp__count_shared(&carrier->domain->counts.no_idle)", "(void)0"),
        ("carrier->put_off != WP_NOBODY ||", ""),
    ],
    ids=["keeps_a_token", "counts_no_search", "puts_off_twice"],
)
def test_a_second_victim_that_is_forgotten_is_seen(old: str, new: str, tmp_path: Path) -> None:
    command = compiling.broken(tmp_path, "by_hand", "plain", "carrier.c", old, new, "-O0")
    assert run(command).stdout not in ("", BY_HAND)


def test_tasks_that_a_task_submits_to_its_own_carrier_wake_nobody() -> None:
    def wakes() -> list[int]:
        return [carrier.counts.wakes for carrier in group]

    def parent() -> tuple[list[int], list[Future[int]]]:
        return wakes(), [group.submit(int) for _ in range(100)]

    with CarrierGroup(2) as group:
        before, children = group[0].submit(parent).result(PATIENCE_S)
        assert [child.result(PATIENCE_S) for child in children] == [0] * 100
        assert wakes() == before


def test_a_task_that_puts_itself_back_for_ever_keeps_nobody_waiting() -> None:
    stop = threading.Event()
    with CarrierGroup(1) as group:

        def again() -> None:
            if not stop.is_set():
                group.submit(again)

        group.submit(again)
        outside = [group.submit(int) for _ in range(50)]
        assert [one.result(PATIENCE_S) for one in outside] == [0] * 50
        stop.set()


def test_whoever_wakes_the_thread_of_an_idle_carrier_changes_nothing() -> None:
    # Carrier!RunsOnlyWhenRunning, twin woken_unlisted: a diagnostic signals a sleeper.
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    handler = signal.signal(signal.SIGUSR1, lambda *_: None)
    told = signal.set_wakeup_fd(writer)
    try:
        with CarrierGroup(1) as group:
            thread = group.submit(threading.get_ident).result(PATIENCE_S)
            parks = group[0].counts.parks
            for _ in range(1000):
                signal.pthread_kill(thread, signal.SIGUSR1)
                assert os.read(reader, 1)  # it has come; the next is one of its own
            assert group.submit(int).result(PATIENCE_S) == 0
            assert group[0].counts.parks - parks <= 2  # before and after that task
    finally:
        signal.set_wakeup_fd(told)
        signal.signal(signal.SIGUSR1, handler)
        os.close(reader)
        os.close(writer)
