# SPDX-License-Identifier: Apache-2.0
"""Waits for child processes park: by a pidfd, or with naps where any of several may end."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import lib
from wakeproof._runtime import watch
from wakeproof._runtime.child import pidfd
from wakeproof._runtime.descriptor import READ
from wakeproof._runtime.offload import offload
from wakeproof._runtime.stdlib.replacement import Function, Replacement, original
from wakeproof.errors import UnsupportedError

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

Made = Callable[..., Any]
_NOT_THE_END = os.WUNTRACED | os.WCONTINUED  # a pidfd tells only of the end
_plain_waitpid = original(os.waitpid)


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    yield Function(os, "waitpid", _waitpid)
    yield Function(os, "wait4", _waitpid)
    yield Function(os, "wait3", _wait3)
    yield Function(os, "wait", _wait)
    yield Function(os, "waitid", _waitid)
    yield Function(os, "system", _system)
    yield Function(subprocess.Popen, "_wait", _popen_wait)


def _until(thread: VirtualThread, child: int | None, attempt: Callable[[], Any]) -> Any:
    """Call `attempt` until it returns a value, at once and when the child has ended."""
    found = attempt()
    if found is None and child is not None:
        with suppress(ProcessLookupError, UnsupportedError), pidfd(child) as fd:
            while (found := attempt()) is None:
                watch.wait(thread, fd, READ, lib.WP_FOREVER)
    return watch.repeated(attempt) if found is None else found


def _caller(options: Any) -> VirtualThread | None:
    """Return the calling virtual thread, if a wait with these options may park it."""
    return None if not isinstance(options, int) or options & os.WNOHANG else watch.caller()


def _first(result: Any) -> Any:
    """Return a result of ``waitpid`` and its kind; None: no child has changed."""
    return result if result[0] else None


def _waitpid(original: Made) -> Made:
    def waitpid(pid: Any, options: Any) -> Any:
        thread = _caller(options)
        if thread is None or not isinstance(pid, int):
            return original(pid, options)
        child = pid if pid > 0 and not options & _NOT_THE_END else None
        return _until(thread, child, lambda: _first(original(pid, options | os.WNOHANG)))

    return waitpid


def _wait3(original: Made) -> Made:
    def wait3(options: Any) -> Any:
        thread = _caller(options)
        if thread is None:
            return original(options)
        return _until(thread, None, lambda: _first(original(options | os.WNOHANG)))

    return wait3


def _wait(original: Made) -> Made:
    def wait() -> Any:
        thread = watch.caller()
        if thread is None:
            return original()
        return _until(thread, None, lambda: _first(_plain_waitpid(-1, os.WNOHANG)))

    return wait


def _waitid(original: Made) -> Made:
    def waitid(kind: Any, number: Any, options: Any, /) -> Any:
        thread = _caller(options)
        if thread is None:
            return original(kind, number, options)

        def attempt() -> Any:
            return original(kind, number, options | os.WNOHANG)

        is_end = not options & (os.WSTOPPED | os.WCONTINUED)
        if kind == os.P_PIDFD and is_end:
            while (found := attempt()) is None:
                watch.wait(thread, number, READ, lib.WP_FOREVER)
            return found
        return _until(thread, number if kind == os.P_PID and is_end else None, attempt)

    return waitid


def _system(original: Made) -> Made:
    def system(command: Any) -> Any:
        return offload(original, command) if watch.caller() else original(command)

    return system


def _popen_wait(original: Made) -> Made:
    """With a timeout the standard library looks every 50 ms; without, it calls ``os.waitpid``."""

    def wait(self: Any, timeout: float | None) -> Any:
        thread = None if timeout is None or self.returncode is not None else watch.caller()
        if thread is None or timeout is None or timeout <= 0:
            return original(self, timeout)
        with suppress(ProcessLookupError, UnsupportedError), pidfd(self.pid) as fd:
            if not watch.wait(thread, fd, READ, watch.until_of(timeout)) and self.poll() is None:
                raise subprocess.TimeoutExpired(self.args, timeout)
        return original(self, timeout)

    return wait
