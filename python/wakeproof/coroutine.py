# SPDX-License-Identifier: Apache-2.0
"""What a coroutine function awaits when it runs as a virtual thread.

``async def`` functions given to `VirtualThread` park without a stack, so each step may run on
another carrier.  They await what is here and each other, nothing of asyncio.

Spec: ``specs/VThread.tla``.  Source: ``kernel/vthreads.h``.
"""

from __future__ import annotations

import types
from collections.abc import Generator
from typing import TYPE_CHECKING

from wakeproof import _mount
from wakeproof._deadline import deadline_ns
from wakeproof._ffi import lib
from wakeproof._signal import interrupted
from wakeproof.errors import WrongThreadError

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread


@types.coroutine
def _leave(said: int) -> Generator[int, None, None]:
    yield said


def _caller(what: str) -> VirtualThread:
    thread = _mount.caller(what)
    if not thread._is_coroutine:
        raise WrongThreadError(f"await {what}: {thread.name} is no coroutine function")
    return thread


async def _park(thread: VirtualThread, deadline: int) -> int:
    if thread._pins:
        return lib.wp_vthread_park_until(deadline)
    code = lib.wp__vthread_park_begin(deadline)
    if code == lib.WP_AGAIN:
        await _leave(_mount.PARK)
        code = lib.wp__vthread_park_end()
    return code


async def park(timeout_s: float | None = None) -> bool:
    """As `wakeproof.park`."""
    thread = _caller("park")
    code = await _park(thread, deadline_ns(timeout_s))
    if code == lib.WP_INTERRUPTED:
        raise interrupted(thread)
    return code == lib.WP_OK


async def sleep(seconds: float) -> None:
    """As `wakeproof.sleep`."""
    thread = _caller("sleep")
    deadline = deadline_ns(seconds)
    had_permit = False
    while (code := await _park(thread, deadline)) == lib.WP_OK:
        had_permit = True
    if had_permit:
        thread._tell(lib.wp_vthread_unpark)
    if code == lib.WP_INTERRUPTED:
        raise interrupted(thread)


async def yield_now() -> None:
    """As `wakeproof.yield_now`."""
    if not _caller("yield_now")._pins:
        await _leave(_mount.YIELD)


async def join(other: VirtualThread, timeout_s: float | None = None) -> bool:
    """As `VirtualThread.join`."""
    thread = _caller("join")
    deadline = deadline_ns(timeout_s)
    other._check_join()
    if deadline == 0:
        return other._joined(other._done.is_set)
    turns = other._done.turns(thread)
    code = None
    while True:
        try:
            turns.send(code)
        except StopIteration as stop:
            return other._joined(bool(stop.value))
        code = await _park(thread, deadline)
