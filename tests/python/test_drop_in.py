# SPDX-License-Identifier: Apache-2.0
"""Our pools can stand in for `ThreadPoolExecutor`: arguments, attributes, names, libraries."""

from __future__ import annotations

import asyncio
import importlib
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.thread import BrokenThreadPool
from typing import Any

import pytest
from tests.support.virtual import PATIENCE_S, until

from wakeproof import CarrierGroup, QueuedThreadPool, VirtualThreadExecutor, VirtualThreadPool
from wakeproof.errors import UsageError
from wakeproof.semaphore import MOST


@pytest.fixture(scope="module")
def carriers() -> Iterator[CarrierGroup]:
    with CarrierGroup(2, work_stealing=True) as group:
        yield group


@pytest.fixture(params=["queued", "virtual"])
def make(request: pytest.FixtureRequest, carriers: CarrierGroup) -> Callable[..., Any]:
    """Make either pool, with the arguments of Python's own."""
    if request.param == "queued":
        return QueuedThreadPool
    return lambda *args, **kwargs: VirtualThreadPool(*args, group=carriers, **kwargs)


@pytest.fixture(params=["queued", "virtual", "thread per task"])
def pool(request: pytest.FixtureRequest, carriers: CarrierGroup) -> Iterator[Executor]:
    makes: dict[str, Callable[[], Executor]] = {
        "queued": lambda: QueuedThreadPool(4),
        "virtual": lambda: VirtualThreadPool(4, group=carriers),
        "thread per task": lambda: VirtualThreadExecutor(carriers),
    }
    with makes[request.param]() as pool:
        yield pool


def name_of_thread() -> str:
    return threading.current_thread().name


def test_the_first_argument_bounds_what_runs(make: Callable[..., Any]) -> None:
    gate = threading.Event()
    with make(2) as pool:
        futures = [pool.submit(gate.wait, PATIENCE_S) for _ in range(20)]
        until(lambda: sum(future.running() for future in futures) == 2)
        if isinstance(pool, QueuedThreadPool):
            assert pool.statistics().threads == 2
        assert sum(future.running() for future in futures) == 2
        gate.set()
        assert all(future.result(PATIENCE_S) for future in futures)


def test_arguments_have_pythons_names_and_places(make: Callable[..., Any]) -> None:
    seen: list[int] = []
    with make(2, "web", seen.append, (5,)) as pool:
        assert pool.submit(name_of_thread).result(PATIENCE_S).startswith("web_")
        assert pool._max_workers == 2
    assert set(seen) == {5}
    with make(max_workers=3, thread_name_prefix="x", initializer=None, initargs=()) as pool:
        assert pool._max_workers == 3
    assert isinstance(pool, ThreadPoolExecutor)


def test_both_names_of_an_argument_are_refused(carriers: CarrierGroup) -> None:
    with pytest.raises(UsageError, match="max_workers and max_threads are the same"):
        QueuedThreadPool(2, max_threads=2)
    with pytest.raises(UsageError, match="thread_name_prefix and name_prefix are the same"):
        VirtualThreadPool(2, "a", group=carriers, name_prefix="b")
    with QueuedThreadPool(max_threads=2) as queued:
        assert queued._max_workers == 2
    with VirtualThreadPool(max_tasks=2, group=carriers) as virtual:
        assert virtual._max_workers == 2
    with VirtualThreadPool(None, group=carriers) as unbounded:
        assert unbounded._max_workers == MOST


@pytest.mark.parametrize("given", [0, -1])
def test_a_bound_that_makes_no_sense_is_refused_in_pythons_words(
    given: int, make: Callable[..., Any]
) -> None:
    with pytest.raises(ValueError, match="max_workers must be greater than 0"):
        make(given)


def test_an_initializer_that_cannot_be_called_is_refused(make: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="initializer must be a callable"):
        make(2, initializer=3)


def test_what_an_initializer_leaves_to_its_thread_is_there_in_calls(
    make: Callable[..., Any],
) -> None:
    kept = threading.local()

    def prepare(what: str) -> None:
        kept.what = what

    with make(3, initializer=prepare, initargs=("connection",)) as pool:
        futures = [pool.submit(lambda: kept.what) for _ in range(30)]
        assert {future.result(PATIENCE_S) for future in futures} == {"connection"}


def test_an_initializer_that_fails_breaks_the_pool(
    make: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    def fails() -> None:
        raise KeyError("no connection")

    with make(2, initializer=fails) as pool:
        try:
            failure = pool.submit(int).exception(PATIENCE_S)
        except BrokenThreadPool as error:  # its first threads came before
            failure = error
        assert isinstance(failure, BrokenThreadPool)
        assert pool._broken
        with pytest.raises(BrokenThreadPool):
            pool.submit(int)
        with pytest.raises(BrokenThreadPool):
            pool.map(int, ["1"])
    assert "no connection" in caplog.text
    assert {record.name for record in caplog.records} == {"concurrent.futures"}


def test_asyncio_takes_it_as_its_default_executor(pool: Executor) -> None:
    async def main() -> object:
        asyncio.get_running_loop().set_default_executor(pool)  # type: ignore[arg-type]
        return await asyncio.gather(*(asyncio.to_thread(pow, 2, power) for power in range(9)))

    assert asyncio.run(main()) == [2**power for power in range(9)]
    with pytest.raises(RuntimeError):  # asyncio has shut it down
        pool.submit(int)


def test_threads_of_a_pool_are_known_by_name_as_long_as_they_live() -> None:
    with QueuedThreadPool(2, "known") as pool:
        assert pool.submit(name_of_thread).result(PATIENCE_S) in {"known_0", "known_1"}
        names = {"known_0", "known_1"}
        until(lambda: names <= {thread.name for thread in threading.enumerate()})
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("known")]


def test_pools_without_a_name_have_names_of_their_own() -> None:
    with QueuedThreadPool(1) as one, QueuedThreadPool(1) as other:
        names = [pool.submit(name_of_thread).result(PATIENCE_S) for pool in (one, other)]
    assert names[0] != names[1]
    assert all(name.startswith("QueuedThreadPool-") and name.endswith("_0") for name in names)


def test_threading_has_the_name_of_a_virtual_thread_and_of_a_carrier(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def says() -> str:
        logging.getLogger("wakeproof.test").warning("here")
        return name_of_thread()

    with CarrierGroup(1) as group:
        with VirtualThreadPool(1, "fetch", group=group) as pool:
            assert pool.submit(says).result(PATIENCE_S) == "fetch_0"
        with VirtualThreadExecutor(group, thread_name_prefix="each") as each:
            assert each.submit(says).result(PATIENCE_S) == "each_0"
        assert group.submit(says).result(PATIENCE_S) == "carrier-0"
        known = group.submit(threading.current_thread).result(PATIENCE_S)
        assert known in threading.enumerate()
        assert known.name == "carrier-0"
    assert [record.threadName for record in caplog.records] == ["fetch_0", "each_0", "carrier-0"]
    assert known not in threading.enumerate()


def test_who_names_the_current_thread_names_the_virtual_one() -> None:
    def renames() -> str:
        threading.current_thread().name = "other"
        return name_of_thread()

    with CarrierGroup(1) as group, VirtualThreadExecutor(group) as pool:
        assert pool.submit(renames).result(PATIENCE_S) == "other"
        assert pool.submit(name_of_thread).result(PATIENCE_S) != "other"
        assert group.submit(name_of_thread).result(PATIENCE_S) == "carrier-0"


@pytest.mark.slow
def test_dask_computes_with_it(pool: Executor) -> None:
    dask: Any = pytest.importorskip("dask", reason="dask is not installed")
    parts = [dask.delayed(abs)(-number) for number in range(50)]
    with dask.config.set(pool=pool):
        assert dask.compute(dask.delayed(sum)(parts)) == (1225,)


@pytest.mark.slow
def test_a_backend_of_joblib_runs_on_it(pool: Executor) -> None:
    joblib: Any = pytest.importorskip("joblib", reason="joblib is not installed")
    backends: Any = importlib.import_module("joblib._parallel_backends")

    class Backend(backends.ParallelBackendBase):  # type: ignore[misc]
        supports_retrieve_callback = supports_sharedmem = uses_threads = True
        default_n_jobs = 4

        def effective_n_jobs(self, n_jobs: int) -> int:
            return min(pool._max_workers, n_jobs if n_jobs > 0 else 4)  # type: ignore[attr-defined]

        def submit(self, func: Any, callback: Any) -> Any:
            future = pool.submit(func)
            future.add_done_callback(callback)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            return out.result()

    joblib.register_parallel_backend("wakeproof", Backend)
    with joblib.parallel_config(backend="wakeproof"):
        found = joblib.Parallel(n_jobs=4)(joblib.delayed(pow)(2, power) for power in range(50))
    assert found == [2**power for power in range(50)]
