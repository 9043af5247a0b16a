# SPDX-License-Identifier: Apache-2.0
"""Tasks by their numbers, and what threads share without counting references (``jobs.py``)."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from wakeproof import CarrierGroup
from wakeproof._runtime import jobs
from wakeproof._runtime.brief import HAS_GIL
from wakeproof._runtime.here import ARE_OWN, never_freed

THREADS, CALLS = 8, 5
IS_COUNTED = HAS_GIL or not ARE_OWN


def in_threads(call: Callable[[int], object]) -> None:
    """Make the call in several OS threads, which are all alive at once."""
    are_alive = threading.Barrier(THREADS)

    def body(number: int) -> None:
        are_alive.wait()
        call(number)
        are_alive.wait()

    threads = [threading.Thread(target=body, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def submitted(group: CarrierGroup) -> Iterator[None]:
    """Calls of several threads, which wait behind one that occupies the carrier."""
    go_on = threading.Event()
    group.submit(go_on.wait)

    def named(number: int) -> Callable[[], None]:
        def call() -> None: ...

        call.__qualname__ = f"of-{number}"
        return call

    in_threads(lambda number: [group.submit(named(number)) for _ in range(CALLS)])
    try:
        yield
    finally:
        go_on.set()


def test_each_call_is_in_the_dict_of_its_number_until_it_has_run() -> None:
    with CarrierGroup(1) as group, submitted(group):
        parts = [{number % jobs.PARTS for number in part} for part in jobs.works]
        assert all(found <= {at} for at, found in enumerate(parts))
        assert sum(map(len, jobs.works)) == THREADS * CALLS + 1
        if not HAS_GIL:
            assert len(list(filter(None, parts))) > 1  # not all in one
    assert not any(jobs.works)


def test_a_close_lists_what_each_thread_has_submitted() -> None:
    group = CarrierGroup(1)
    with submitted(group):
        names = [one.name for one in group.close(0.01)]
    group.close()
    assert sorted(names) == sorted(["Event.wait", *CALLS * [f"of-{n}" for n in range(THREADS)]])


@pytest.mark.parametrize("make", [dict, list, lambda: "".join(["not", " interned"])])
def test_only_with_the_gil_are_references_to_what_is_never_freed_counted(
    make: Callable[[], object],
) -> None:
    one = make()
    assert never_freed(one) is one
    before = sys.getrefcount(one)
    more = [one] * 100
    assert sys.getrefcount(one) - before == (len(more) if IS_COUNTED else 0)


def test_what_is_never_freed_survives_a_collection() -> None:
    class One:
        me: object

    one = One()
    one.me = never_freed(one)
    seen = weakref.ref(one)
    del one
    gc.collect()
    assert (seen() is None) == IS_COUNTED
