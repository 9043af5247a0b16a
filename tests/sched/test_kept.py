# SPDX-License-Identifier: Apache-2.0
"""The memory of a group's virtual threads is kept for the groups after it (``_native/kept.h``)."""

from __future__ import annotations

import gc

from wakeproof import CarrierGroup, VirtualThread
from wakeproof._native.ffi import lib

BLOCKS = 128  # that a group gets at a time
MOST = 90 * BLOCKS


def run(count: int) -> None:
    """Have so many threads at once, in a group of their own, which is freed."""

    def start() -> None:
        threads = [VirtualThread(int).start() for _ in range(count)]
        assert [thread.result() for thread in threads] == [0] * count

    with CarrierGroup(1) as group:
        VirtualThread(start, group=group).start().result()


def kept() -> int:
    """Return for how many threads memory is kept."""
    gc.collect()  # a group that a test before has left
    return lib.wp__kept()


def test_a_group_leaves_its_memory_to_the_next_one() -> None:
    run(20 * BLOCKS)
    before = kept()
    assert 20 * BLOCKS <= before <= MOST
    with CarrierGroup(1) as group:
        VirtualThread(int, group=group).start().join()
        assert lib.wp__kept() == before - BLOCKS  # what it needs, and no more
    del group
    assert kept() == before


def test_so_much_is_kept_and_no_more() -> None:
    run(MOST + 10 * BLOCKS)
    assert kept() == MOST
    run(MOST + 10 * BLOCKS)
    assert kept() == MOST
