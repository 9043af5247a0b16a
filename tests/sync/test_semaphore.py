# SPDX-License-Identifier: Apache-2.0
"""Python's semaphore against specs/sync/Semaphore.tla, virtual and OS threads in one queue."""

from __future__ import annotations

import threading

import pytest
from tests.support.syncing import KINDS, Worker
from tests.support.virtual import PATIENCE_S, parked

import wakeproof
from wakeproof import CarrierGroup, Semaphore, VirtualThread, coroutine
from wakeproof._native.ffi import lib
from wakeproof._runtime import trampoline, wait
from wakeproof.errors import StateError, UsageError
from wakeproof.semaphore import MOST


def test_permits_are_balanced_and_served_in_order(group: CarrierGroup) -> None:
    semaphore, inside, most = Semaphore(3), [0], [0]
    guard = threading.Lock()

    def work() -> None:
        for _ in range(50):
            with semaphore:
                with guard:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                wakeproof.yield_now()
                with guard:
                    inside[0] -= 1

    async def await_work() -> None:
        for _ in range(50):
            assert await coroutine.acquire(semaphore)
            with guard:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            await coroutine.yield_now()
            with guard:
                inside[0] -= 1
            semaphore.release()

    workers = [
        Worker(group, kind, await_work if kind == "coroutine" else work) for kind in KINDS * 4
    ]
    for worker in workers:
        worker.end()
    assert most[0] <= 3
    assert semaphore.permits == 3
    many = parked(VirtualThread(semaphore.acquire, 4, group=group).start())
    few = parked(VirtualThread(semaphore.acquire, 1, group=group).start())
    semaphore.release()
    assert many.result(PATIENCE_S) is True
    semaphore.release()
    assert few.result(PATIENCE_S) is True
    assert not semaphore.acquire(timeout_s=0.001)


@pytest.mark.parametrize("bad", [-1, MOST + 1, "2"])
def test_permits_that_make_no_sense_are_refused(bad: int) -> None:
    with pytest.raises(UsageError, match="permits is"):
        Semaphore(bad)
    with pytest.raises(UsageError, match="permits is"):
        Semaphore(1).acquire(bad)
    with pytest.raises(StateError, match="at most"):
        Semaphore(MOST).release()


def test_a_grant_that_comes_with_the_timeout_is_taken(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    # PermitBalance: otherwise the permit is lost.  The twin returns the result of the park.
    semaphore = Semaphore(0)

    def late(*_: object) -> int:
        semaphore.release()
        return lib.WP_TIMEOUT

    def acquire() -> bool:
        return VirtualThread(semaphore.acquire, 1, 3600, group=group).start().result(PATIENCE_S)

    monkeypatch.setattr(trampoline, "park", late)
    assert acquire() is True
    monkeypatch.setattr(wait.Wait, "granted", lambda _: lib.WP_TIMEOUT)
    assert acquire() is False
    assert semaphore.permits == 0
