# SPDX-License-Identifier: Apache-2.0
"""Exceptions, one class for each cause; the command line prints one line and an exit code.

Source: ``kernel/base/error.h`` (the codes).

Example:
    >>> from wakeproof import Parker, UsageError
    >>> try:
    ...     Parker().park(timeout_s=-1)
    ... except UsageError as error:
    ...     print(error)
    timeout_s is -1; allowed: 0 or more seconds, None: no limit
"""

from __future__ import annotations

from typing import Any

EXIT_HOLDS = 0  # every claim that was judged holds
EXIT_VIOLATED = 1  # a claim is violated, a twin was missed, or a recorded number changed
EXIT_USAGE = 2  # the request makes no sense: unknown name, bad value, broken input file
EXIT_ENVIRONMENT = 3  # the machine lacks something; the message names what provides it
EXIT_INTERRUPTED = 130  # Ctrl-C, as shells report it


class WakeproofError(Exception):
    """Base of every error that wakeproof raises itself."""

    exit_code = EXIT_VIOLATED


class UsageError(WakeproofError, ValueError):
    """A name, value or file cannot be used; the message gives it and what is allowed."""

    exit_code = EXIT_USAGE


class MissingToolError(WakeproofError):
    """The environment lacks something; the message names it and the package that provides it."""

    exit_code = EXIT_ENVIRONMENT


class JudgeError(WakeproofError):
    """A judge itself failed (it crashed, timed out or printed nonsense), so there is no verdict."""


class DeadlineError(WakeproofError, TimeoutError):
    """WP_TIMEOUT: the deadline passed.  Waits that return a bool return False instead."""


class ClosedError(WakeproofError, RuntimeError):
    """WP_CLOSED: the object is closed; also a RuntimeError, as Python's executors raise it."""


class PollerClosedError(ClosedError):
    """The group of the calling `Poller` is being closed: let this error leave the poller's body."""


class InterruptedWaitError(WakeproofError, InterruptedError):
    """WP_INTERRUPTED: a signal handler ran while the OS thread waited."""


class ThreadInterruptedError(WakeproofError, InterruptedError):
    """A virtual thread was interrupted, in a wait or before it; its interrupt flag is cleared."""


class StateError(WakeproofError, RuntimeError):
    """WP_MISUSED: the call came too early or too late, such as a second start of a thread."""


class StructureError(WakeproofError, RuntimeError):
    """Scopes or bindings do not nest: they ended out of order, or a fork had other bindings."""


class SubtaskError(WakeproofError):
    """WP_FAILED: a subtask failed; its exception is the cause."""


class CancelledScopeError(WakeproofError):
    """WP_CANCELLED: the scope was cancelled before the call."""


class AbandonedError(WakeproofError, RuntimeError):
    """WP_ABANDONED: a thread ended while it held the lock; the data may be inconsistent."""


class ChangedError(WakeproofError):
    """WP_AGAIN: the value had already changed; check it again."""


class UnsupportedError(WakeproofError):
    """WP_UNSUPPORTED: the system lacks or forbids this operation."""

    exit_code = EXIT_ENVIRONMENT


class SystemCallError(WakeproofError, OSError):
    """WP_SYSTEM: a system call failed; ``errno`` says why."""


class WrongThreadError(WakeproofError, RuntimeError):
    """WP_FORBIDDEN: the calling thread must not make this call, such as a carrier its close."""


class ForkedError(WakeproofError, RuntimeError):
    """The group's carriers are threads of the parent process; a forked child has none of them."""


class TwoCopiesError(WakeproofError, RuntimeError):
    """Another loaded copy of wakeproof has made the default group of this process.

    The message names both copies.
    """


class DeadlockError(WakeproofError, RuntimeError):
    """Every virtual thread waits for another, and nothing is left that could wake one."""


class TopologyWarning(RuntimeWarning):
    """Carriers are not pinned to CPUs: the system refused it, or there are too few CPUs."""


class NoFilesWarning(RuntimeWarning):
    """There is no io_uring, so a pool of OS threads reads and writes files; once per process."""


class PartlyInstalledWarning(RuntimeWarning):
    """`install` could not replace some names in this build or Python; the message lists them."""


BY_CODE: dict[int, type[WakeproofError]] = {
    -1: DeadlineError,
    -2: ClosedError,
    -3: InterruptedWaitError,
    -4: ChangedError,
    -5: UnsupportedError,
    -6: SystemCallError,
    -7: WrongThreadError,
    -8: StateError,
    -9: SubtaskError,
    -10: CancelledScopeError,
    -11: AbandonedError,
}
"""The exception class of each negative code in ``kernel/base/error.h``."""


def error_for(code: int, what: str) -> WakeproofError:
    """Return the exception for a kernel function's negative `code`; `what` is its message."""
    return BY_CODE.get(code, WakeproofError)(what)


class NotExhaustiveWarning(RuntimeWarning):
    """`schedules` has run a part of a test's schedules; none of them failed."""


class ScheduleError(WakeproofError, AssertionError):
    """A schedule of a test fails: its `verdict`, and the `token` that replays it.

    `failure` is the ``Failure`` of `wakeproof.judge.schedules`, which has both.
    """

    def __init__(self, said: str, failure: Any) -> None:
        super().__init__(said)
        self.failure = failure
        self.verdict = failure.verdict
        self.token = failure.token
