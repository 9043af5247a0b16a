# SPDX-License-Identifier: Apache-2.0
"""Puts the loop that is judged in the place of others; Python imports this when it starts.

A lane has this folder in the ``PYTHONPATH`` of its tests, so that the processes that a test starts
have the same loop.  ``WAKEPROOF_LOOP`` is ``asyncio`` (nothing is replaced), ``aio`` (each selector
loop is ours) or ``mute`` (a defect: one whose wakeups write nothing).  With ``WAKEPROOF_UVLOOP``
the loop of uvloop is asyncio's selector loop, as replaced: ``replaced``, or uvloop is not there:
``missing``.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def _replace_loop(is_mute: bool) -> None:
    import asyncio
    from asyncio import unix_events

    import wakeproof
    from wakeproof import aio

    # Else pytest warns that its plugin was imported before it; some tests make that an error.
    wakeproof.__doc__ = "PYTEST_DONT_REWRITE"
    theirs = asyncio.SelectorEventLoop
    named: dict[str, Any] = {
        "__module__": theirs.__module__
    }  # tests look for the names of asyncio's
    if is_mute:
        named["_send"] = lambda _: None
    loop: Any = type(theirs.__name__, (aio.EventLoop,), named)
    asyncio.SelectorEventLoop = unix_events.SelectorEventLoop = loop  # type: ignore[misc]
    unix_events._UnixDefaultEventLoopPolicy._loop_factory = loop  # type: ignore[attr-defined]


def _replace_uvloop() -> None:
    import asyncio

    import uvloop
    from uvloop import _testbase

    uvloop.Loop = asyncio.SelectorEventLoop
    uvloop.new_event_loop = asyncio.new_event_loop
    uvloop.EventLoopPolicy = asyncio.DefaultEventLoopPolicy
    _testbase.UVTestCase.implementation = "asyncio"  # what the suite expects of its loop


if (_loop := os.environ.get("WAKEPROOF_LOOP", "asyncio")) != "asyncio":
    _replace_loop(is_mute=_loop == "mute")
if (_uvloop := os.environ.get("WAKEPROOF_UVLOOP")) == "missing":
    sys.modules["uvloop"] = None  # type: ignore[assignment]
elif _uvloop == "replaced":
    _replace_uvloop()
