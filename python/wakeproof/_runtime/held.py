# SPDX-License-Identifier: Apache-2.0
"""Reports after Ctrl-C about a block that cannot end yet: a line each second says what it awaits.

After Ctrl-C parked threads are interrupted immediately.  A thread that is in a system call, or
computes, cannot be interrupted before it parks, and a block never ends before the threads that it
has started.  The lines tell the user why nothing seems to happen.

Source: this file; `stacks`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakeproof._runtime import stacks
from wakeproof._runtime.call import Told
from wakeproof._runtime.jobs import Unfinished

if TYPE_CHECKING:
    from wakeproof._runtime.vthread_base import Handle

EACH_S = 1.0
_PACKAGE = str(Path(__file__).parent.parent)


def naming(what: str, wait: Callable[[float], bool], alive: Callable[[], Iterable[Handle]]) -> None:
    """Call `wait` until it returns true; write each second which threads are alive."""
    while not wait(EACH_S):
        tell(what, alive())


def tell(what: str, alive: Iterable[Handle | Unfinished]) -> None:
    """Write a line about the threads that are alive, and first about one that runs."""
    threads = sorted(alive, key=lambda thread: thread.state != "running")
    if threads:
        more = f", and for {len(threads) - 1} more" if len(threads) > 1 else ""
        said = f"wakeproof: {what} was interrupted, and waits for {_about(threads[0])}{more}\n"
        sys.stderr.write(said)
        sys.stderr.flush()


def _about(thread: Handle | Unfinished) -> str:
    state = thread.state
    if isinstance(thread, Unfinished):
        return f"{thread.name!r}, {state}"
    stack = stacks.running().get(thread._number) if state == "running" else None
    if state == "parked":
        stack = stacks.parked(thread)  # type: ignore[arg-type]
    for code, line in stack or ():
        if not code.co_filename.startswith(_PACKAGE):
            where = f"in {code.co_qualname} ({code.co_filename}:{line})"
            break
    else:
        where = f"in {_name(thread._call)}"
    return f"{thread.name!r}, {state} {where}"


def _name(call: Any) -> str:
    """Return the name of the callable that the user gave to a thread, without our wrappers."""
    while True:
        owner: Any = getattr(call, "__self__", None)
        is_ours = type(owner).__module__.startswith("wakeproof.")
        if isinstance(call, partial):
            call = call.func
        elif is_ours and hasattr(owner, "inner"):
            call = owner.inner
        elif isinstance(call, Told):
            call = call.inner
        else:
            break
    module = getattr(call, "__module__", None)
    name = str(getattr(call, "__qualname__", type(call).__qualname__))
    return name if module in (None, "builtins", "__main__") else f"{module}.{name}"
