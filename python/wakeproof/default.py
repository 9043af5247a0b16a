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
    """Return the default `CarrierGroup` of this process; the first call makes it.

    The group is made as ``CarrierGroup(work_stealing=True)`` makes it, with the WAKEPROOF_*
    variables of the environment; WAKEPROOF_WORK_STEALING can turn stealing off.  Carriers steal
    because libraries that do not know one another share this group: if a task of one library blocks
    its carrier, other carriers take the tasks that are queued there.

    The interpreter closes the group when it exits.  An earlier `CarrierGroup.close` closes it for
    all its users.  After `os.fork` the child process has no default group, and the first call there
    makes a new one.

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
    """Forget the parent's group and lock in a forked child, where the lock's holder is missing."""
    _this.lock, _this.group = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)
