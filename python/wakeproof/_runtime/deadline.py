# SPDX-License-Identifier: Apache-2.0
"""Convert a user's seconds (float, from now) to the kernel's nanoseconds (absolute).

No other module does this.
"""

from __future__ import annotations

import math

from wakeproof._native.ffi import lib
from wakeproof.errors import UsageError

NS_PER_S = 1_000_000_000


def deadline_ns(timeout_s: float | None) -> int:
    """Return the CLOCK_MONOTONIC nanosecond at which `timeout_s` seconds from now end.

    None and times beyond the clock's range give WP_FOREVER.  0 gives 0, which is in the past: do
    not sleep.

    Raises:
        UsageError: `timeout_s` is negative or not a number (a ValueError as well).
    """
    if timeout_s is None:
        return lib.WP_FOREVER
    if not _is_time(timeout_s):
        raise UsageError(f"timeout_s is {timeout_s!r}; allowed: 0 or more seconds, None: no limit")
    return _from_now_ns(timeout_s)


def sleep_ns(seconds: float) -> int:
    """Return the end of a sleep of `seconds`, as `deadline_ns` does; None is not allowed.

    Raises:
        UsageError: `seconds` is negative or not a number.
    """
    if not _is_time(seconds):
        raise UsageError(f"seconds is {seconds!r}; allowed: 0 or more")
    # a sleep without an end keeps its timer: only a wait for other threads has none (deadlock.py)
    return min(_from_now_ns(seconds), lib.WP_FOREVER - 1)


def _is_time(seconds: float) -> bool:
    """Return whether a value is a number of seconds; a bool is not, as in ``Lock.acquire``."""
    try:
        return seconds >= 0 and not isinstance(seconds, bool)
    except TypeError:
        return False


def _from_now_ns(timeout_s: float) -> int:
    if timeout_s == 0:
        return 0
    if timeout_s >= lib.WP_FOREVER / NS_PER_S:
        return lib.WP_FOREVER
    return min(lib.wp_clock_ns() + math.ceil(timeout_s * NS_PER_S), lib.WP_FOREVER)
