# SPDX-License-Identifier: Apache-2.0
"""The hot path of virtual threads: in C, or the same in Python where C was not built (`IN_C`).

`running_threads` returns the virtual thread that each OS thread runs, by its ident; without C it
returns nothing.

Source: ``_native/core.c``; ``plain_core.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wakeproof._runtime.here import ARE_OWN

if TYPE_CHECKING:
    from wakeproof._native.own import CallCore as CallCore
    from wakeproof._native.own import ChannelCore as ChannelCore
    from wakeproof._native.own import Core as Core
    from wakeproof._native.own import DescriptorCore as DescriptorCore
    from wakeproof._native.own import FutureCore as FutureCore
    from wakeproof._native.own import PoolCore as PoolCore
    from wakeproof._native.own import Signal as Signal
    from wakeproof._native.own import SocketCore as SocketCore
    from wakeproof._native.own import bind_calls as bind_calls
    from wakeproof._native.own import bind_channel as bind_channel
    from wakeproof._native.own import bind_core as bind_core
    from wakeproof._native.own import bind_future as bind_future
    from wakeproof._native.own import bind_sockets as bind_sockets
    from wakeproof._native.own import first_of_call as first_of_call
    from wakeproof._native.own import first_of_coroutine as first_of_coroutine
    from wakeproof._native.own import first_step as first_step
    from wakeproof._native.own import forget as forget
    from wakeproof._native.own import greenlets_here as greenlets_here
    from wakeproof._native.own import is_waiter as is_waiter
    from wakeproof._native.own import joining as joining
    from wakeproof._native.own import leave as leave
    from wakeproof._native.own import next_of_call as next_of_call
    from wakeproof._native.own import park as park
    from wakeproof._native.own import parking as parking
    from wakeproof._native.own import running
    from wakeproof._native.own import yield_here as yield_here
    from wakeproof._native.own import yielding as yielding

    running_threads = running
    IN_C: bool
else:
    try:
        if not ARE_OWN:
            raise ImportError
        from wakeproof._native.own import CallCore as CallCore
        from wakeproof._native.own import ChannelCore as ChannelCore
        from wakeproof._native.own import Core as Core
        from wakeproof._native.own import DescriptorCore as DescriptorCore
        from wakeproof._native.own import FutureCore as FutureCore
        from wakeproof._native.own import PoolCore as PoolCore
        from wakeproof._native.own import Signal as Signal
        from wakeproof._native.own import SocketCore as SocketCore
        from wakeproof._native.own import bind_calls as bind_calls
        from wakeproof._native.own import bind_channel as bind_channel
        from wakeproof._native.own import bind_core as bind_core
        from wakeproof._native.own import bind_future as bind_future
        from wakeproof._native.own import bind_sockets as bind_sockets
        from wakeproof._native.own import first_of_call as first_of_call
        from wakeproof._native.own import first_of_coroutine as first_of_coroutine
        from wakeproof._native.own import first_step as first_step
        from wakeproof._native.own import forget as forget
        from wakeproof._native.own import greenlets_here as greenlets_here
        from wakeproof._native.own import is_waiter as is_waiter
        from wakeproof._native.own import joining as joining
        from wakeproof._native.own import leave as leave
        from wakeproof._native.own import next_of_call as next_of_call
        from wakeproof._native.own import park as park
        from wakeproof._native.own import parking as parking
        from wakeproof._native.own import running as running_threads
        from wakeproof._native.own import yield_here as yield_here
        from wakeproof._native.own import yielding as yielding

        IN_C = True
    except ImportError:
        IN_C = False
        from wakeproof._runtime.plain_core import CallCore as CallCore
        from wakeproof._runtime.plain_core import ChannelCore as ChannelCore
        from wakeproof._runtime.plain_core import Core as Core
        from wakeproof._runtime.plain_core import DescriptorCore as DescriptorCore
        from wakeproof._runtime.plain_core import FutureCore as FutureCore
        from wakeproof._runtime.plain_core import PoolCore as PoolCore
        from wakeproof._runtime.plain_core import Signal as Signal
        from wakeproof._runtime.plain_core import SocketCore as SocketCore
        from wakeproof._runtime.plain_core import bind_calls as bind_calls
        from wakeproof._runtime.plain_core import bind_channel as bind_channel
        from wakeproof._runtime.plain_core import bind_core as bind_core
        from wakeproof._runtime.plain_core import bind_future as bind_future
        from wakeproof._runtime.plain_core import bind_sockets as bind_sockets
        from wakeproof._runtime.plain_core import first_of_call as first_of_call
        from wakeproof._runtime.plain_core import first_of_coroutine as first_of_coroutine
        from wakeproof._runtime.plain_core import first_step as first_step
        from wakeproof._runtime.plain_core import forget as forget
        from wakeproof._runtime.plain_core import greenlets_here as greenlets_here
        from wakeproof._runtime.plain_core import is_waiter as is_waiter
        from wakeproof._runtime.plain_core import joining as joining
        from wakeproof._runtime.plain_core import leave as leave
        from wakeproof._runtime.plain_core import next_of_call as next_of_call
        from wakeproof._runtime.plain_core import park as park
        from wakeproof._runtime.plain_core import parking as parking
        from wakeproof._runtime.plain_core import yield_here as yield_here
        from wakeproof._runtime.plain_core import yielding as yielding

        def running_threads():
            return {}
