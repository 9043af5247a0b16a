# SPDX-License-Identifier: Apache-2.0
"""Strategies over pools, against specs/pool/Strategy.tla: producers, runners, notifications."""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, cast

import pytest
from tests.support.holding import whole
from tests.support.producing import KINDS, MODES, POOLS, Task, Tasks
from tests.support.virtual import PATIENCE_S, until

from wakeproof import (
    CarrierGroup,
    ExecutionStrategy,
    QueuedThreadPool,
    VirtualThreadPool,
    combine_kinds,
    invoke_non_blocking,
    is_non_blocking,
)
from wakeproof.errors import UsageError
from wakeproof.strategy import Kind, Mode


@pytest.fixture(params=POOLS)
def pool(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with POOLS[request.param]() as pool:
        yield pool


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
def test_each_task_is_run_once_in_each_mode(mode: Mode, kind: Kind, pool: Executor) -> None:
    tasks = Tasks(200)
    strategy = ExecutionStrategy(mode, tasks.produce, pool, kind=kind, failed=tasks.told)
    strategy.dispatch()
    strategy.produce()
    until(lambda: len(tasks.ran) == 200 and strategy.is_idle and len(tasks.failed) == 13)
    assert set(tasks.ran.values()) == {1}
    assert {error.args[0] for _, error in tasks.failed} == set(range(0, 200, 16))
    told = strategy.statistics()
    counts = (told.consumed, told.consumed_tagged, told.executed, told.handed_over)
    assert sum(counts) == 200
    if mode == "produce-consume" or kind == "non-blocking":
        assert counts == (200, 0, 0, 0)
    elif mode == "produce-execute-consume":
        assert counts == (0, 0, 200, 0)
    else:
        assert told.consumed == 0


@pytest.mark.parametrize("mode", MODES)
def test_what_comes_one_by_one_is_run(mode: Mode, pool: Executor) -> None:
    # The producer blocks, and must not be in the way of a task: so the calls come from outside.
    given: queue.SimpleQueue[int] = queue.SimpleQueue()
    tasks = Tasks()

    def produce() -> Task | None:
        try:
            return Task(tasks, given.get_nowait())
        except queue.Empty:
            return None

    strategy = ExecutionStrategy(mode, produce, pool, failed=tasks.told)
    for number in range(100):
        given.put(number)
        strategy.dispatch()
    until(lambda: len(tasks.ran) == 100 and strategy.is_idle)
    assert set(tasks.ran.values()) == {1}


@pytest.mark.parametrize("mode", MODES)
def test_a_produce_that_raises_is_as_none(mode: Mode, pool: Executor) -> None:
    tasks = Tasks(10)
    failures = [KeyError("lost"), SystemExit(3)]

    def produce() -> Callable[[], None] | None:
        if failures:
            raise failures.pop()
        return tasks.produce()

    strategy = ExecutionStrategy(mode, produce, pool, kind="non-blocking", failed=tasks.told)
    for _ in range(2):
        strategy.produce()
        assert strategy.is_idle
    assert [type(error) for task, error in tasks.failed if task is None] == [SystemExit, KeyError]
    strategy.produce()
    assert len(tasks.ran) == 10


def test_a_task_that_fails_leaves_the_role_as_it_is(pool: Executor) -> None:
    # Jetty's: the task asks for more, waits until another thread produces, then fails.
    asked, inside, gate = threading.Event(), threading.Event(), threading.Event()
    tasks = Tasks()
    given: list[Callable[[], None]] = []

    def produce() -> Callable[[], None] | None:
        if tasks.produce() is None and given:
            return given.pop()
        if asked.is_set():
            with tasks.alone:
                inside.set()
                gate.wait(PATIENCE_S)
        return None

    def fails() -> None:
        asked.set()
        strategy.dispatch()
        assert inside.wait(PATIENCE_S)
        raise KeyError("lost")

    given.append(fails)
    strategy = ExecutionStrategy("execute-produce-consume", produce, pool, failed=tasks.told)
    first = threading.Thread(target=strategy.produce)
    first.start()
    until(lambda: tasks.failed)
    assert not strategy.is_idle
    gate.set()
    until(lambda: strategy.is_idle)
    first.join(PATIENCE_S)
    assert [type(error) for _, error in tasks.failed] == [KeyError]  # no other thread produced


@pytest.mark.parametrize("kind", ["blocking", "either"])
def test_what_may_block_goes_to_the_executor_of_virtual_threads(
    kind: Kind, group: CarrierGroup
) -> None:
    # It then has no reserved thread, so no thread leaves production for a task.
    tasks = Tasks(50)
    with (
        VirtualThreadPool(4, group=group) as virtual,
        QueuedThreadPool(4, min_threads=2, virtual_threads_executor=virtual) as pool,
    ):
        strategy = ExecutionStrategy("adaptive", tasks.produce, pool, kind=kind, failed=tasks.told)
        strategy.dispatch()
        until(lambda: len(tasks.ran) == 50 and strategy.is_idle)
        told = strategy.statistics()
        count = told.executed if kind == "blocking" else told.consumed_tagged
        assert (told.handed_over, count) == (0, 50)
        assert virtual.statistics().submitted == told.executed
        assert pool.statistics().max_leased == 0


def test_a_kind_is_asked_of_each_task(pool: Executor) -> None:
    tasks = Tasks(30)

    def kind(task: Any) -> Any:
        said: Any = ("non-blocking", "blocking", "unknown")[task.number % 3]
        return said if task.number < 28 else 1 // 0

    strategy = ExecutionStrategy(
        "produce-execute-consume", tasks.produce, pool, kind=kind, failed=tasks.told
    )
    strategy.produce()
    until(lambda: len(tasks.ran) == 30)
    assert strategy.statistics().consumed == 10
    kinds = Counter(type(error) for task, error in tasks.failed if task is None)
    assert kinds == {UsageError: 9, ZeroDivisionError: 2}


def test_ctrl_c_in_a_task_ends_the_produce_of_the_main_thread() -> None:
    given = [lambda: None, lambda: os.kill(os.getpid(), signal.SIGINT), lambda: None]

    def produce() -> Callable[[], object] | None:
        return given.pop() if given else None

    with ThreadPoolExecutor(1) as pool:
        strategy = ExecutionStrategy("produce-consume", produce, pool)
        with pytest.raises(KeyboardInterrupt):
            strategy.produce()
        assert strategy.is_idle
        strategy.produce()
    assert not given


def test_failures_go_to_the_hook_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", told.append)
    tasks = Tasks(1)
    with ThreadPoolExecutor(1) as pool:
        ExecutionStrategy("produce-consume", tasks.produce, pool).produce()
    (only,) = told
    assert only.exc_type is KeyError
    assert "task of a strategy" in only.err_msg


@pytest.mark.slow
def test_the_default_hook_prints_a_failure_of_produce_and_of_a_task_once_each() -> None:
    made = whole("""
        import wakeproof
        def task():
            return 1 / 0
        given = [task]
        def produce():
            return given.pop() if given else {}["nothing"]
        with wakeproof.QueuedThreadPool() as pool:
            wakeproof.ExecutionStrategy("produce-consume", produce, pool).produce()
        print("after")
    """)
    assert (made.returncode, made.stdout) == (0, "after\n")
    assert made.stderr.count("Exception ignored in a task of a strategy: <function task") == 1
    assert made.stderr.count("ZeroDivisionError") == 1
    assert made.stderr.count("Exception ignored in the produce of an ExecutionStrategy") == 1
    assert made.stderr.count("KeyError: 'nothing'") == 1
    assert made.stderr.count("Traceback") == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_produce_that_returns_no_task_fails_once_and_is_not_asked_for_ever(
    mode: Mode, pool: Executor
) -> None:
    tasks, asked = Tasks(), []

    def produce() -> Any:
        asked.append(mode)
        return 5

    strategy = ExecutionStrategy(mode, produce, pool, failed=tasks.told)
    strategy.produce()
    assert strategy.is_idle
    ((task, error),) = tasks.failed
    assert task is None
    assert isinstance(error, UsageError)
    assert "produce returned 5; allowed: a callable, or None" in str(error)
    assert len(asked) == 1


def test_a_thread_is_tagged_for_a_call(group: CarrierGroup) -> None:
    def tags() -> list[bool]:
        said = [is_non_blocking()]
        invoke_non_blocking(lambda: said.append(is_non_blocking()))
        with pytest.raises(KeyError):
            invoke_non_blocking(lambda: {}["none"])
        assert invoke_non_blocking(max, 1, 2) == 2
        return [*said, is_non_blocking()]

    assert tags() == [False, True, False]
    assert invoke_non_blocking(tags) == [True, True, True]
    with VirtualThreadPool(group=group) as pool:
        assert pool.submit(tags).result(PATIENCE_S) == [False, False, False]


def test_a_tagged_thread_runs_nothing_that_may_block(pool: Executor) -> None:
    tasks = Tasks(20)
    strategy = ExecutionStrategy("adaptive", tasks.produce, pool, failed=tasks.told)
    invoke_non_blocking(strategy.produce)
    until(lambda: len(tasks.ran) == 20)
    assert strategy.statistics().executed == 20


@pytest.mark.parametrize(
    "given", [{"mode": "best"}, {"kind": "slow"}, {"pool": 3}, {"produce": None}]
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    right: dict[str, Any] = {
        "mode": "adaptive",
        "produce": lambda: None,
        "pool": ThreadPoolExecutor(1),
    }
    with pytest.raises(UsageError, match=f"^{next(iter(given))} is .*; allowed: "):
        ExecutionStrategy(**right | given)


def test_a_task_that_does_what_others_do_has_the_kind_that_all_allow() -> None:
    assert combine_kinds("non-blocking") == "non-blocking"
    assert combine_kinds("either", "non-blocking", "either") == "either"
    assert combine_kinds("non-blocking", "either", "blocking") == "blocking"
    with pytest.raises(UsageError, match="kind is 'never'; allowed: blocking, non-blocking, ei"):
        combine_kinds("either", cast(Kind, "never"))
