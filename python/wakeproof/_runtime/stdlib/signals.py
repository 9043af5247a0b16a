# SPDX-License-Identifier: Apache-2.0
"""Waits for signals and for locks of files and of processes park, with naps: no event tells."""

from __future__ import annotations

import fcntl
import signal
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

from wakeproof._native.ffi import lib
from wakeproof._runtime import watch
from wakeproof._runtime.stdlib.replacement import Function, Replacement, original

Made = Callable[..., Any]
_plain_sigtimedwait = original(signal.sigtimedwait)
_process_lock: Any = vars(import_module("_multiprocessing"))["SemLock"]  # `multiprocessing` uses it
_plain_acquire = original(_process_lock.acquire)


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    _signal = signal._signal  # type: ignore[attr-defined]
    yield Function(_signal, "sigwait", _sigwait)
    yield Function(signal, "sigwaitinfo", _sigwaitinfo)
    yield Function(signal, "sigtimedwait", _sigtimedwait)
    yield Function(fcntl, "flock", _lock)
    yield Function(fcntl, "lockf", _lock)
    yield Function(_process_lock, "acquire", _acquire)
    yield Function(_process_lock, "__enter__", _acquire)


def _came(signals: Any, until: int = lib.WP_FOREVER) -> Any:
    return watch.repeated(partial(_plain_sigtimedwait, signals, 0), until)


def _sigwait(original: Made) -> Made:
    def sigwait(signals: Any, /) -> Any:
        return _came(signals).si_signo if watch.caller() else original(signals)

    return sigwait


def _sigwaitinfo(original: Made) -> Made:
    def sigwaitinfo(signals: Any, /) -> Any:
        return _came(signals) if watch.caller() else original(signals)

    return sigwaitinfo


def _sigtimedwait(original: Made) -> Made:
    def sigtimedwait(signals: Any, timeout: Any, /) -> Any:
        if not isinstance(timeout, (int, float)) or timeout <= 0 or not watch.caller():
            return original(signals, timeout)
        return _came(signals, watch.until_of(timeout))

    return sigtimedwait


def _lock(original: Made) -> Made:
    """``flock`` and ``lockf``."""

    def lock(file: Any, operation: Any, *rest: Any) -> Any:
        is_wait = isinstance(operation, int) and not operation & (fcntl.LOCK_NB | fcntl.LOCK_UN)
        if not is_wait or not watch.caller():
            return original(file, operation, *rest)

        def attempt() -> bool | None:
            try:
                original(file, operation | fcntl.LOCK_NB, *rest)
            except (BlockingIOError, PermissionError):  # lockf: EAGAIN or EACCES
                return None
            return True

        watch.repeated(attempt)
        return None

    return lock


def _acquire(original: Made) -> Made:
    """Return ``acquire`` of a lock of processes, or its ``__enter__``, which takes no arguments."""

    def acquire(self: Any, *args: Any, **named: Any) -> Any:
        block, timeout = _given(*args, **named)
        if not block or not watch.caller():
            return original(self, *args, **named)
        until = watch.until_of(None if timeout is None else max(timeout, 0))
        return watch.repeated(lambda: _plain_acquire(self, False) or None, until) is not None

    return acquire


def _given(block: Any = True, timeout: Any = None) -> tuple[Any, Any]:
    return block, timeout
