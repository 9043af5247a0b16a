# SPDX-License-Identifier: Apache-2.0
"""The hot path of virtual threads: in C, or the same in Python where C was not built (`IN_C`).

`running_threads` returns the virtual thread that each OS thread runs, by its ident.

Source: ``_native/core.c``; ``plain_core.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wakeproof._runtime.here import ARE_OWN, steps, threads

if TYPE_CHECKING:
    from wakeproof._native.own import Core as Core
    from wakeproof._native.own import Signal as Signal
    from wakeproof._native.own import bind_core as bind_core
    from wakeproof._native.own import first_of_call as first_of_call
    from wakeproof._native.own import first_of_coroutine as first_of_coroutine
    from wakeproof._native.own import first_step as first_step
    from wakeproof._native.own import forget as forget
    from wakeproof._native.own import greenlets_here as greenlets_here
    from wakeproof._native.own import in_c as in_c
    from wakeproof._native.own import is_waiter as is_waiter
    from wakeproof._native.own import joining as joining
    from wakeproof._native.own import leave as leave
    from wakeproof._native.own import park as park
    from wakeproof._native.own import parking as parking
    from wakeproof._native.own import permit as permit
    from wakeproof._native.own import running
    from wakeproof._native.own import yield_here as yield_here
    from wakeproof._native.own import yielding as yielding

    running_threads = running
    IN_C: bool
else:
    try:
        if not ARE_OWN:
            raise ImportError
        from wakeproof._native.own import Core as Core
        from wakeproof._native.own import Signal as Signal
        from wakeproof._native.own import bind_core as bind_core
        from wakeproof._native.own import first_of_call as first_of_call
        from wakeproof._native.own import first_of_coroutine as first_of_coroutine
        from wakeproof._native.own import first_step as first_step
        from wakeproof._native.own import forget as forget
        from wakeproof._native.own import greenlets_here as greenlets_here
        from wakeproof._native.own import in_c as in_c
        from wakeproof._native.own import is_waiter as is_waiter
        from wakeproof._native.own import joining as joining
        from wakeproof._native.own import leave as leave
        from wakeproof._native.own import park as park
        from wakeproof._native.own import parking as parking
        from wakeproof._native.own import permit as permit
        from wakeproof._native.own import yield_here as yield_here
        from wakeproof._native.own import yielding as yielding

        IN_C = True
    except ImportError:
        IN_C = False
        from wakeproof._runtime.plain_core import Core as Core
        from wakeproof._runtime.plain_core import Signal as Signal
        from wakeproof._runtime.plain_core import bind_core as bind_core
        from wakeproof._runtime.plain_core import first_of_call as first_of_call
        from wakeproof._runtime.plain_core import first_of_coroutine as first_of_coroutine
        from wakeproof._runtime.plain_core import first_step as first_step
        from wakeproof._runtime.plain_core import forget as forget
        from wakeproof._runtime.plain_core import greenlets_here as greenlets_here
        from wakeproof._runtime.plain_core import in_c as in_c
        from wakeproof._runtime.plain_core import is_waiter as is_waiter
        from wakeproof._runtime.plain_core import joining as joining
        from wakeproof._runtime.plain_core import leave as leave
        from wakeproof._runtime.plain_core import park as park
        from wakeproof._runtime.plain_core import parking as parking
        from wakeproof._runtime.plain_core import permit as permit
        from wakeproof._runtime.plain_core import yield_here as yield_here
        from wakeproof._runtime.plain_core import yielding as yielding

    try:
        from wakeproof._native.own import running as running_threads
    except ImportError:  # without the GIL no list has all carriers

        def running_threads():
            found = ((ident, threads.get(number)) for ident, _, _, number in steps())
            return {ident: thread for ident, thread in found if thread is not None}
