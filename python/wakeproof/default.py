# SPDX-License-Identifier: Apache-2.0
"""The default group: each process has one, which is made when it is first used.

Source: ``_native/default.c``.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

from wakeproof._native.ffi import ffi, lib
from wakeproof.errors import TwoCopiesError
from wakeproof.group import CarrierGroup


@dataclass
class _Default:
    """The lock and the group of this copy of the package."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    group: CarrierGroup | None = None


_this = _Default()


def default_group() -> CarrierGroup:
    """Return the default group of this process; the first call makes it.

    It is the group that ``CarrierGroup(work_stealing=True)`` makes of the WAKEPROOF_* variables,
    except that WAKEPROOF_WORK_STEALING has precedence.  Carriers steal because libraries that do
    not know one another share this group: a task that blocks its carrier then delays no queued
    task.  The interpreter closes the group at its end; an earlier close closes it for all users.  A
    forked child has no default group, so its first call makes a new one.

    Threads: any thread may call it.

    Raises:
        TwoCopiesError: another loaded copy of wakeproof makes the group of this process.
        UsageError, SystemCallError: as `CarrierGroup`; the next call tries again.

    Example:
        >>> from wakeproof import default_group
        >>> default_group().submit(pow, 2, 10).result()
        1024
    """
    with _this.lock:
        if _this.group is None:
            _this.group = _make()
        return _this.group


def _make() -> CarrierGroup:
    here = f"{__package__} in {Path(__file__).parent}"
    other = lib.wp__default_claim(os.fsencode(here))
    if other:
        raise TwoCopiesError(
            f"{here}: the default group of this process is made by another copy, "
            f"{os.fsdecode(ffi.string(other))}: import one of them, or make a CarrierGroup"
        )
    try:
        is_said = os.environ.get("WAKEPROOF_WORK_STEALING")
        return CarrierGroup(work_stealing=None if is_said else True)
    except BaseException:
        lib.wp__default_unclaim()
        raise


def _forget() -> None:
    """Start afresh in a forked child: the group and the holder of the lock are the parent's."""
    _this.lock, _this.group = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)
