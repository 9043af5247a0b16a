# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests of ThreadPoolExecutor, over ours; from the installed interpreter.

If the interpreter has no tests: `apt-get install libpython3.11-testsuite` (its version), or name
the folder of a `test` package of that version in WAKEPROOF_STDLIB_TESTS.  `make test-stdlib` runs
all that apply; `make test` leaves out tests that take seconds, or that depend on the clock.
"""

from __future__ import annotations

import importlib
import os
import sys
import unittest
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

import pytest

from wakeproof import CarrierGroup, QueuedThreadPool, VirtualThreadExecutor, VirtualThreadPool

CARRIERS = 8  # more than a test blocks
FOLDERS = (
    os.environ.get("WAKEPROOF_STDLIB_TESTS", ""),
    f"/usr/lib/python{sys.version_info[0]}.{sys.version_info[1]}/test",
)
HOMES = {  # where newer versions have them
    "ThreadPoolExecutorTest": "test_thread_pool",
    "ThreadPoolShutdownTest": "test_shutdown",
    "ThreadPoolWaitTests": "test_wait",
    "ThreadPoolAsCompletedTest": "test_as_completed",
}

_THREADS = "looks at ThreadPoolExecutor._threads"
_PROGRAM = (
    "is a program that imports it by name; ours: test_virtual_pool_ends.py, test_queued_pool.py"
)
NOT_OURS = {
    "test_threads_terminate": _THREADS,
    "test_context_manager_shutdown": _THREADS,
    "test_del_shutdown": _THREADS,
    "test_shutdown_no_wait": _THREADS,
    "test_thread_names_assigned": _THREADS,
    "test_thread_names_default": _THREADS,
    "test_saturation": _THREADS,
    "test_idle_thread_reuse": _THREADS,
    "test_default_workers": "our default is another one",
    "test_interpreter_shutdown": _PROGRAM,
    "test_submit_after_interpreter_shutdown": _PROGRAM,
    "test_hang_gh83386": _PROGRAM,
    "test_hang_issue83386": _PROGRAM,
    "test_cancel_futures_wait_false": _PROGRAM,
    "test_hang_global_shutdown_lock": "a lock of theirs in a forked child; ours: as _PROGRAM",
}
UNBOUNDED = {
    "test_max_workers_negative": "there is no bound",
    "test_cancel_futures": "nothing is pending",
    "test_executor_map_current_future_cancel": "nothing is pending",
}
_LONG = "takes seconds"
_CLOCK = "a busy machine fails it"
TIMED = {
    "test_20369": _LONG,
    "test_duplicate_futures": _LONG,
    "test_free_reference": _LONG,
    "test_free_reference_yielded_future": _LONG,
    "test_cancel_futures": _CLOCK,
    "test_first_completed": _CLOCK,
    "test_first_completed_some_already_completed": _CLOCK,
    "test_first_exception": _CLOCK,
    "test_first_exception_some_already_complete": _CLOCK,
    "test_first_exception_one_already_failed": _CLOCK,
    "test_timeout": _CLOCK,
    "test_map_timeout": _CLOCK,
    "test_zero_timeout": _CLOCK,
}
_groups: list[CarrierGroup] = []


@pytest.fixture(scope="module", autouse=True)
def _carriers() -> Iterator[None]:
    with CarrierGroup(CARRIERS, work_stealing=True) as group:
        _groups.append(group)
        yield
        _groups.clear()


def virtual(max_workers: int = 5) -> Executor:
    return VirtualThreadPool(max_workers, group=_groups[0])


def queued(max_workers: int = 5) -> Executor:
    return QueuedThreadPool(max_workers, min_threads=0)


def thread_per_task(max_workers: int = 5) -> Executor:  # noqa: ARG001 - it has no bound
    return VirtualThreadExecutor(_groups[0])


def found(name: str) -> Any:
    """Return their class of that name; None: there is none."""
    try:
        import test
    except ImportError:
        return None
    test.__path__ += [folder for folder in FOLDERS if folder and folder not in test.__path__]
    for module in ("test.test_concurrent_futures", f"test.test_concurrent_futures.{HOMES[name]}"):
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, unittest.SkipTest):
            continue
    return None


def adopted(theirs: Any, make: Any, without: set[str]) -> type[unittest.TestCase]:
    """Return `theirs` over the result of `make`."""
    members: dict[str, Any] = {"executor_type": staticmethod(make), "__module__": __name__}
    members |= dict.fromkeys(without, None)  # no test
    return type(f"{make.__name__}_{theirs.__name__}", (theirs,), members)


def left_out(*more: dict[str, str]) -> set[str]:
    timed = {} if "WAKEPROOF_TIMED" in os.environ else TIMED
    return {name for reasons in (NOT_OURS, timed, *more) for name in reasons}


MISSING = [name for name in HOMES if found(name) is None]
for name in [name for name in HOMES if name not in MISSING]:
    for make, more in ((virtual, {}), (queued, {}), (thread_per_task, UNBOUNDED)):
        made = adopted(found(name), make, left_out(more))
        globals()[made.__name__] = made
        del made


@pytest.mark.skipif(bool(MISSING), reason="lacks test.test_concurrent_futures: see the docstring")
def test_each_of_their_tests_is_adopted_or_named() -> None:
    has = {test for name in HOMES for test in dir(found(name)) if test.startswith("test_")}
    assert len(has) > 30
    lacks = (NOT_OURS.keys() | TIMED.keys() | UNBOUNDED.keys()) - has
    by_version = {"test_hang_gh83386", "test_hang_issue83386", "test_zero_timeout"}
    assert lacks <= by_version
