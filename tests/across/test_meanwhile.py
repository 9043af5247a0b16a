# SPDX-License-Identifier: Apache-2.0
"""The actions of another thread between two steps of one: programs/across/meanwhile.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold, loses

pytestmark = COMPILES
CASES = {
    "waited": "what a pool's lock guards is changed under that lock alone",
    "suspected": "who ends while the monitor looks is not suspected",
    "late": "a permit that comes to one that is late ends no park of its own",
    "handed": "who was handed a mutex stands in no line",
    "over": "whose wait is over stands in no line",
    "told": "whoever is told who goes on finds the channel's lock free",
    "quiet": "a permit for a parker at which nobody sleeps takes no system call",
    "interrupted": "an interrupt that comes while a waiter waits for the mutex is not lost",
    "moved": "a poller that may not park after all leaves its carrier running",
}
WRAPPED = [
    f"-Wl,--wrap={name}"
    for name in (
        "wp__group_placement_rest",
        "wp__pool_wait",
        "wp__vthread_park_for",
        "wp_futex_wake",
        "wp_placement_suspect",
    )
]
TWINS = {  # file, the old text, and the new text
    "handed": (
        "mutex.c",
        "is_granted(waiter)) {\n\t\twp__mutex_has(mutex, waiter);\n",
        "is_granted(waiter)) {\n",
    ),
    "late": (
        "wait_queue.c",
        "\t\tif (rc != WP_OK)\n\t\t\twp__waiter_refused",
        "\t\tif (rc != WP_OK && !waiter->thread)\n\t\t\twp__waiter_refused",
    ),
    "over": (
        "semaphore.c",
        "\t\twp__waiter_over(waiter);\n\t\tserve(",
        "\t\tserve(",
    ),
    "waited": ("pool_threads.c", "\twp_lock_acquire(&pool->lock);\n\tgone =", "\tgone ="),
    "suspected": (
        "monitor.c",
        "\tif (wp_placement_suspect(&placed->placement, one->index, &one->progress, step)) {\n",
        "\tif (!wp_placement_suspect(&placed->placement, one->index, &one->progress, step)) {\n"
        "\t\twp__count_shared(&placed->placement.slots[one->index].tally.suspects);\n"
        "\t} else {\n",
    ),
    "told": (
        "channel.c",
        "\twp_short_lock_release(&channel->lock);\n\twp__waiter_grant_all(senders);\n",
        "\twp__waiter_grant_all(senders);\n\twp_short_lock_release(&channel->lock);\n",
    ),
    "quiet": ("parker.c", "(old & WP_PARKER_PARKED) && !(old", "!(old"),
    "interrupted": (
        "condition.c",
        "\twp__waiter_interrupt_again(waiter, was_interrupted);",
        "\t(void)was_interrupted;",
    ),
    "moved": ("poller.c", "return WP_OK;\n\t\twp__poller_unpark(mine);", "return WP_OK;"),
}


@EACH_BUILD
def test_who_comes_between_two_steps_changes_nothing(build: str, compiled: Compiled) -> None:
    hold(compiled("meanwhile", build, *WRAPPED), CASES)


@pytest.mark.parametrize("case", TWINS)
def test_each_twin_is_seen(case: str, tmp_path: Path) -> None:
    loses(compiling.broken(tmp_path, "meanwhile", "plain", *TWINS[case], *WRAPPED), case)
