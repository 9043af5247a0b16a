# SPDX-License-Identifier: Apache-2.0
"""The end of a pool of virtual threads, as in Semaphore.tla (PermitBalance) and in Python."""

from __future__ import annotations

import os

import pytest
from tests.support.holding import holds, let_go, run
from tests.support.virtual import until

import wakeproof
from wakeproof import CarrierGroup, ClosedError, ForkedError, VirtualThreadPool


def test_a_shutdown_waits_for_all_and_refuses_what_comes_later(either_group: CarrierGroup) -> None:
    pool = VirtualThreadPool(2, group=either_group)
    futures = [pool.submit(wakeproof.sleep, 0.001) for _ in range(20)]
    pool.shutdown()
    assert all(future.done() for future in futures)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
            pool.submit(int)
        assert pool.try_execute(int) is None
        pool.shutdown()


def test_a_shutdown_that_cancels_leaves_what_runs(either_group: CarrierGroup) -> None:
    pool = VirtualThreadPool(2, group=either_group)
    held = holds(pool)
    waiting = [pool.submit(int) for _ in range(20)]
    pool.shutdown(wait=False, cancel_futures=True)
    assert all(future.cancelled() for future in waiting)
    assert all(future.running() for future in held)
    let_go(pool)
    pool.shutdown()
    assert [future.result(0) for future in held] == [True, True]


def test_a_close_of_the_group_fails_what_had_not_ended() -> None:
    group = CarrierGroup(1)
    pool = VirtualThreadPool(2, group=group)
    futures = [*holds(pool), pool.submit(int)]
    until(lambda: pool.statistics().waiting == 1)
    group.close(cancel=True)
    assert all(isinstance(future.exception(0), ClosedError) for future in futures)
    pool.shutdown()
    assert pool._permits is not None
    assert pool._permits.permits == 2
    with pytest.raises(ClosedError):
        VirtualThreadPool(group=group).submit(int)


def test_the_interpreters_end_waits_for_all_and_refuses_more() -> None:
    said = run("""
        import atexit

        @atexit.register  # called after the pool's
        def last():
            try:
                pool.submit(print, "too late")
            except RuntimeError as error:
                print(error)

        import wakeproof
        pool = wakeproof.VirtualThreadPool(1)
        for name in "abc":
            pool.submit(lambda name: (wakeproof.sleep(0.01), print(f"{name}\\n", end="")), name)
        pool.shutdown(wait=False)
        pool = wakeproof.VirtualThreadPool(1)
        pool.submit(print, "d\\n", end="")
    """)
    assert sorted(said.split("\n")[:4]) == ["a", "b", "c", "d"]
    assert said.endswith("cannot schedule new futures after interpreter shutdown\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_no_pool_to_wait_for() -> None:
    said = run("""
        import os, warnings, wakeproof
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        pool = wakeproof.VirtualThreadPool(1)
        pool.submit(int).result()  # 3.13t: a fork while CPython's second thread begins can hang
        pool.submit(wakeproof.sleep, 0.01)
        child = os.fork()
        if child == 0:
            try:
                pool.submit(print, "child")
            except wakeproof.ForkedError as error:
                print("refused", flush=True)
        else:
            assert os.waitpid(child, 0)[1] == 0
            pool.submit(print, "parent")
    """)
    assert said == "refused\nparent\n"
    assert issubclass(ForkedError, RuntimeError)
