# SPDX-License-Identifier: Apache-2.0
"""The OS threads that wait for a virtual thread without a limit, and so can wake none.

Each looks for a deadlock now and then, for `deadlock` counts the OS threads that are in here.
Source: this file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident

from wakeproof.errors import DeadlockError

HOPELESS = (
    "deadlock: each virtual thread waits for another, and nothing is left that could wake one; "
    "a dump of them is on stderr"
)
EACH_S = 0.5  # between two looks
# The OS threads in a join, a result or a close, each with a function that tells whether the wait
# is over, so that the thread is about to continue.
waiting: dict[int, Callable[[], bool]] = {}
harmless: set[int] = set()  # OS threads of wakeproof that wake no virtual thread


@contextmanager
def without_limit(is_over: Callable[[], bool]) -> Iterator[None]:
    """Note that the calling OS thread does nothing in this block but wait until `is_over`."""
    me = get_ident()
    outer = waiting.get(me)  # a signal handler may wait as well
    waiting[me] = is_over
    try:
        yield
    finally:
        if outer is None:
            del waiting[me]
        else:
            waiting[me] = outer


def wait_or_raise(wait: Callable[[float], object], is_over: Callable[[], bool]) -> None:
    """Call `wait`, with a number of seconds, until it returns a true value.

    `is_over` is true before another thread ends that wait.

    Raises:
        DeadlockError: each virtual thread waits for another, and nothing could wake one.
    """
    with without_limit(is_over):
        if wait(EACH_S):
            return
        from wakeproof._runtime import deadlock  # imported late: it imports all others

        search = deadlock.Search()
        while not wait(EACH_S):
            if search.look():
                raise DeadlockError(HOPELESS)


os.register_at_fork(after_in_child=waiting.clear)
os.register_at_fork(after_in_child=harmless.clear)
