# SPDX-License-Identifier: Apache-2.0
"""The kernel's reaction where the system refuses a call: refused.c, and ring.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold, loses
from tests.support.ringed import needs_uring

pytestmark = COMPILES
CASES = {
    "stacks": "a pool of stacks without addresses is none, and gives back what it had",
    "guard": "the mappings of a guard page that was refused are another's",
    "pool": "a pool that gets no second thread ends the first, and says why",
    "zero": "a poller whose event is descriptor 0 closes it",
    "fence": "a fence that the system refuses is none",
    "descriptors": "what is read of a machine is closed again",
    "items": "items that come back while there is no memory wait until there is some",
}
RING_CASES = ("full", "ended", "lacks")
WRAPPED = [
    f"-Wl,--wrap={name}"
    for name in ("eventfd", "malloc", "mmap", "mprotect", "munmap", "pthread_create",
                 "pthread_join", "wp_fence_heavy")
]  # fmt: skip
RING_WRAPPED = [
    f"-Wl,--wrap={name}"
    for name in (
        "aligned_alloc",
        "free",
        "io_uring_queue_exit",
        "io_uring_queue_init",
        "io_uring_submit",
    )
]
TWINS = {  # file, the old text, and the new text
    "stacks": ("stack.c", "reserve_some(pool, config)) {\n\t\tfree(pool);\n\t\treturn WP_SYSTEM;",
               "reserve_some(pool, config)) {\n\t\tfree(pool);\n\t\treturn WP_OK;"),
    "guard": ("stack.c", "\twp__stack_guard_return(1);\n", ""),
    "pool": ("pool_new.c", "\terrno = code;\n", ""),
    "zero": ("descriptor_poller.c", "poller->event >= 0)\n\t\twp",
             "poller->event > 0)\n\t\twp"),
    "fence": ("guard.c", "return wp_fence_heavy() ? WP_OK : WP_UNSUPPORTED;",
              "return wp_fence_heavy() ? WP_OK : WP_OK;"),
    "descriptors": ("topology.c", "\tclose(descriptor);\n", ""),
    "items": ("channel.c", "\tif (one == NULL)\n\t\treturn false;",
              "\tif (one == NULL)\n\t\treturn true;"),
}  # fmt: skip
RING_TWINS = {
    "lacks": ("file.c", "\t\tif (poller->files == NULL)",
              "\t\tif (index == 0 && poller->files == NULL)"),
    "full": ("driver_uring.c", "\t\t\tbreak; /* the system", "\t\t\tcontinue; /* the system"),
    "ended": ("driver_uring.c", "\tio_uring_queue_exit(queue->system);\n\tfree(queue->system);",
              "\tfree(queue->system);\n\tio_uring_queue_exit(queue->system);"),
}  # fmt: skip


@EACH_BUILD
def test_a_call_that_is_refused_leaves_nothing_behind(build: str, compiled: Compiled) -> None:
    hold(compiled("refused", build, *WRAPPED), CASES)


@needs_uring
@EACH_BUILD
def test_a_ring_is_asked_again_and_ends_before_its_memory(build: str, compiled: Compiled) -> None:
    hold(compiled("driver_uring", build, *RING_WRAPPED), RING_CASES)


@pytest.mark.parametrize("case", TWINS)
def test_what_is_left_behind_is_seen(case: str, tmp_path: Path) -> None:
    loses(compiling.broken(tmp_path, "refused", "plain", *TWINS[case], *WRAPPED), case)


@needs_uring
@pytest.mark.parametrize("case", RING_TWINS)
def test_each_twin_of_a_ring_is_seen(case: str, tmp_path: Path) -> None:
    loses(
        compiling.broken(tmp_path, "driver_uring", "plain", *RING_TWINS[case], *RING_WRAPPED), case
    )
