# SPDX-License-Identifier: Apache-2.0
"""The default group: one per process, made when somebody first asks for it.

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
    """What this copy of the package has made."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    group: CarrierGroup | None = None


_this = _Default()


def default_group() -> CarrierGroup:
    """Return the default group of this process; the first call makes it.

    It is what ``CarrierGroup(work_stealing=True)`` makes of the WAKEPROOF_* variables, of which
    WAKEPROOF_WORK_STEALING has the last word: many have it in common that do not know each other,
    so what one of them blocks holds up nothing that has not begun.  It is closed when the
    interpreter ends; who closes it earlier closes it for all.  A forked child has none: its first
    call makes one of its own.

    Raises:
        TwoCopiesError: another copy of wakeproof that this process has loaded makes it.
        UsageError, SystemCallError: as `CarrierGroup`; the next call tries again.
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
    """Begin anew, in a forked child: the group and whoever held the lock are the parent's."""
    _this.lock, _this.group = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)
