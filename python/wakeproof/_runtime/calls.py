# SPDX-License-Identifier: Apache-2.0
"""The calls of a pool, futures, channels and sockets: in C, or the same in Python.

Calls and futures are in Python where C was not built (`IN_C`); channels and sockets also without
the GIL, on which their C relies (`CHANNELS_IN_C`).

Source: ``_native/calls.c``, ``future.c``, ``channels.c``, ``sockets.c``; ``plain_calls.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wakeproof._runtime import core

if TYPE_CHECKING:
    from wakeproof._native.own import CallCore as CallCore
    from wakeproof._native.own import ChannelCore as ChannelCore
    from wakeproof._native.own import DescriptorCore as DescriptorCore
    from wakeproof._native.own import FutureCore as FutureCore
    from wakeproof._native.own import PoolCore as PoolCore
    from wakeproof._native.own import SocketCore as SocketCore
    from wakeproof._native.own import bind_calls as bind_calls
    from wakeproof._native.own import bind_channel as bind_channel
    from wakeproof._native.own import bind_future as bind_future
    from wakeproof._native.own import bind_sockets as bind_sockets
    from wakeproof._native.own import plain_method as plain_method

    IN_C: bool
    CHANNELS_IN_C: bool
else:
    try:
        if not core.IN_C:
            raise ImportError
        from wakeproof._native.own import CallCore as CallCore
        from wakeproof._native.own import FutureCore as FutureCore
        from wakeproof._native.own import PoolCore as PoolCore
        from wakeproof._native.own import bind_calls as bind_calls
        from wakeproof._native.own import bind_future as bind_future

        IN_C = True
    except ImportError:
        from wakeproof._runtime.plain_calls import CallCore as CallCore
        from wakeproof._runtime.plain_calls import FutureCore as FutureCore
        from wakeproof._runtime.plain_calls import PoolCore as PoolCore
        from wakeproof._runtime.plain_calls import bind_calls as bind_calls
        from wakeproof._runtime.plain_calls import bind_future as bind_future

        IN_C = False
    try:
        if not IN_C:
            raise ImportError
        from wakeproof._native.own import ChannelCore as ChannelCore
        from wakeproof._native.own import DescriptorCore as DescriptorCore
        from wakeproof._native.own import SocketCore as SocketCore
        from wakeproof._native.own import bind_channel as bind_channel
        from wakeproof._native.own import bind_sockets as bind_sockets
        from wakeproof._native.own import plain_method as plain_method

        CHANNELS_IN_C = True
    except ImportError:
        from wakeproof._runtime.plain_calls import ChannelCore as ChannelCore
        from wakeproof._runtime.plain_calls import DescriptorCore as DescriptorCore
        from wakeproof._runtime.plain_calls import SocketCore as SocketCore
        from wakeproof._runtime.plain_calls import bind_channel as bind_channel
        from wakeproof._runtime.plain_calls import bind_sockets as bind_sockets
        from wakeproof._runtime.plain_calls import plain_method as plain_method

        CHANNELS_IN_C = False
