# SPDX-License-Identifier: Apache-2.0
"""Which groups are open: closed when the interpreter ends, freed when nobody has them any more.

Spec: ``specs/sched/Group.tla``.  Source: ``kernel/sched/group.h``.
"""

from __future__ import annotations

import atexit
import os
import weakref
from typing import TYPE_CHECKING

from wakeproof._native.ffi import lib
from wakeproof._runtime import known

if TYPE_CHECKING:
    from wakeproof._native.ffi import CGroup
    from wakeproof.group import CarrierGroup

groups: set[CarrierGroup] = set()


def release(group: CarrierGroup, native: CGroup) -> None:
    """Have a closed group freed once nobody can be inside a call, for that takes the group."""
    try:
        groups.remove(group)  # one close alone finds it
    except KeyError:
        return
    known.forget(group)
    weakref.finalize(group, _free, native, os.getpid(), group._life).atexit = False


def _free(native: CGroup, pid: int, life: list[bool]) -> None:
    if pid == os.getpid():  # a forked child's thread may be one of its carriers
        life[0] = False  # virtual threads that go with it, in one cycle, go after it
        lib.wp_group_free(native)


def _close_all() -> None:
    """Close what is open before the interpreter ends; what runs on is left behind."""
    for group in list(groups):
        if group._pid == os.getpid() and group.running() is None:
            group.close(0, cancel=True)


atexit.register(_close_all)
