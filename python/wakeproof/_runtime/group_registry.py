# SPDX-License-Identifier: Apache-2.0
"""The open groups: closed when the interpreter exits, freed when no reference to them is left.

Spec: ``specs/sched/Group.tla``.  Source: ``kernel/sched/group.h``.
"""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from wakeproof._native.ffi import lib
from wakeproof._runtime import known

if TYPE_CHECKING:
    from wakeproof._native.ffi import CGroup
    from wakeproof.group import CarrierGroup

groups: set[CarrierGroup] = set()


def release(group: CarrierGroup, native: CGroup) -> None:
    """Free a closed group once no thread is inside one of its calls.

    Each call has a reference to the group, so the finaliser of the group runs after the last call.
    """
    try:
        groups.remove(group)  # only one close finds it here
    except KeyError:
        return
    known.forget(group)
    weakref.finalize(group, _free, native, os.getpid(), group._life).atexit = False


def _free(
    native: CGroup,
    pid: int,
    life: list[int],
    _now: Callable[[], int] = os.getpid,  # a group may end after the names of this module
    _free: Callable[[CGroup], None] = lib.wp__group_free,
) -> None:
    if pid == _now():  # in a forked child this thread may be a carrier of the group
        life[0] = False  # virtual threads in the same cycle of references are freed after it
        _free(native)


def _close_all() -> None:
    """Close the open groups before the interpreter exits, without a wait for running tasks."""
    for group in list(groups):
        if group._pid == os.getpid() and group.running() is None:
            group.close(0, cancel=True)


atexit.register(_close_all)
