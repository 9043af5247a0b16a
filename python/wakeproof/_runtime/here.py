# SPDX-License-Identifier: Apache-2.0
"""The calling virtual thread, and what Python keeps for each virtual thread.

``_native/own.c`` is built if the headers of a CPython that it knows are installed.  With it each
step begins with `mount` and ends with `unmount`; between them ``threading.local`` has the virtual
thread's own values.  Without it all virtual threads of a carrier share the values of the carrier's
OS thread (`ARE_OWN` is False); so it is if ``WAKEPROOF_PLAIN`` is set when wakeproof is imported.

`threads` has the virtual threads by `id`, from their start to their end; `tasks` has the threads of
a run of `judge.schedules`, which are none of wakeproof's.

Source: ``_native/own.c``.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from threading import get_ident
from typing import TYPE_CHECKING

from wakeproof._runtime.brief import HAS_GIL
from wakeproof.errors import StateError

if TYPE_CHECKING:
    from wakeproof._native.own import count_long as count_long
    from wakeproof._native.own import direct as direct
    from wakeproof._native.own import drop_at_end as drop_at_end
    from wakeproof._native.own import here as here
    from wakeproof._native.own import mount as mount
    from wakeproof._native.own import never_freed as never_freed
    from wakeproof._native.own import own_dict as own_dict
    from wakeproof._native.own import steps as steps
    from wakeproof._native.own import tasks as tasks
    from wakeproof._native.own import threads as threads
    from wakeproof._native.own import unmount as unmount
    from wakeproof._runtime.plain_core import Pool

    ARE_OWN: bool
else:
    threads, tasks = {}, {}
    try:
        if os.environ.get("WAKEPROOF_PLAIN"):
            raise ImportError
        from wakeproof._native.own import (
            count_long,
            direct,
            drop_at_end,
            forbid_locals,
            here,
            mount,
            never_freed,
            own_dict,
            steps,
            unmount,
        )

        forbid_locals(StateError)
        from wakeproof._native.own import tasks as tasks

        ARE_OWN = True
        from wakeproof._native.own import threads as threads
    except ImportError:
        ARE_OWN = False

        class Here(threading.local):
            """The state of the calling OS thread."""

            thread = None

        here = Here()
        _mounts = itertools.count(1)
        _mounted = {}

        def mount(thread, number, values, /):  # noqa: ARG001 - as that of _native/own.c
            here.thread = thread
            me = get_ident()
            _mounted[me] = (me, next(_mounts), time.monotonic(), id(thread))

        def unmount():
            here.thread = None
            del _mounted[get_ident()]

        def steps():
            now = time.monotonic()
            return [
                (me, step, int(1000 * (now - since)), number)
                for me, step, since, number in list(_mounted.values())
            ]

        def count_long(_):
            """Do nothing: only ``_native/own.c`` takes the time of each step."""

        try:
            if HAS_GIL:
                raise ImportError
            from wakeproof._native.own import drop_at_end, never_freed
        except ImportError:

            def drop_at_end():
                """Do nothing: another thread drops the thread state of the calling OS thread."""

            def never_freed(each):
                return each

        def direct(cls):
            """Do nothing: there is no base in C."""
            return cls

        def own_dict():
            return here.__dict__


GIVER = "wakeproof.giver"
"""Where `own_dict` has the virtual thread in which a scheduler's `submit` is called."""


def pool_here(make: type[Pool]) -> Pool:
    """Return the greenlets of the calling OS thread."""
    own = own_dict()
    pool: Pool | None = own.get("wakeproof.pool")
    if pool is None:
        pool = own["wakeproof.pool"] = make()
    return pool
