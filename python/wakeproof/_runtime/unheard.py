# SPDX-License-Identifier: Apache-2.0
"""Report errors that no caller has received: each is printed once, as Python prints such errors.

A virtual thread keeps its error for `VirtualThread.result`.  If `result` was not called when the
last reference to the thread goes, or when the interpreter ends, ``threading.excepthook`` gets the
error.

Source: this file.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from wakeproof.errors import ThreadInterruptedError

if TYPE_CHECKING:
    from wakeproof._runtime.vthread_base import Handle

_waiting: WeakSet[Handle] = WeakSet()  # threads with an error that no caller has received yet
_QUIET = (SystemExit, ThreadInterruptedError)  # these end a thread, and are no failures


def _args_type() -> Any:
    """Return the type of the argument of ``sys.unraisablehook``, which has no name in Python."""
    for kind in tuple.__subclasses__():
        if kind.__name__ == "UnraisableHookArgs":
            return kind
    return lambda args: SimpleNamespace(
        exc_type=args[0], exc_value=args[1], exc_traceback=args[2], err_msg=args[3], object=args[4]
    )


def unraisable(error: BaseException, message: str, about: object) -> None:
    """Give an error to ``sys.unraisablehook``."""
    args = _args_type()((type(error), error, error.__traceback__, message, about))
    try:
        sys.unraisablehook(args)
    except BaseException as another:
        _with(another, error)


def _with(another: BaseException, error: BaseException) -> None:
    """Print what a hook has raised, as `threading` does, and the error that the hook was given."""
    if another.__context__ is None and another is not error:
        another.__context__ = error
    sys.excepthook(type(another), another, another.__traceback__)


def keep(thread: Handle) -> None:
    """Remember a thread that an exception has ended, until a caller receives the exception."""
    if not isinstance(thread._error, _QUIET):
        _waiting.add(thread)


def report(thread: Handle) -> None:
    """Print the error of a thread, unless a caller has received it."""
    error = thread._error
    if error is None or thread._is_heard or isinstance(error, _QUIET):
        return
    thread._is_heard = True
    args = threading.ExceptHookArgs((type(error), error, error.__traceback__, thread))
    try:
        threading.excepthook(args)
    except BaseException as another:
        _with(another, error)


def _report_all() -> None:
    for thread in list(_waiting):
        report(thread)


atexit.register(_report_all)
os.register_at_fork(after_in_child=_waiting.clear)
