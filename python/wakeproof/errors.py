# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, one class per cause; the command line makes it one line and an exit code.

Source: ``kernel/base/error.h`` (the codes).
"""

from __future__ import annotations

EXIT_HOLDS = 0  # every claim that was judged holds
EXIT_VIOLATED = 1  # a claim is violated, a twin was missed, or a recorded number changed
EXIT_USAGE = 2  # the request makes no sense: unknown name, bad value, broken input file
EXIT_ENVIRONMENT = 3  # the machine lacks something; the message names what provides it
EXIT_INTERRUPTED = 130  # Ctrl-C, as shells report it


class WakeproofError(Exception):
    """Base of every error that wakeproof raises itself."""

    exit_code = EXIT_VIOLATED


class UsageError(WakeproofError, ValueError):
    """A name, value or file that cannot be used; the message gives it and what is allowed."""

    exit_code = EXIT_USAGE


class MissingToolError(WakeproofError):
    """The environment lacks something; the message names it and the package that provides it."""

    exit_code = EXIT_ENVIRONMENT


class JudgeError(WakeproofError):
    """A judge itself failed (crashed, timed out, printed nonsense): no verdict, never a pass."""


class DeadlineError(WakeproofError, TimeoutError):
    """WP_TIMEOUT: the deadline passed.  Waits that take a timeout return False instead."""


class ClosedError(WakeproofError, RuntimeError):
    """WP_CLOSED: the object is closed; a RuntimeError, as executors of Python raise one."""


class PollerClosedError(ClosedError):
    """The group of the calling poller is being closed: let it out of the body, which it ends."""


class InterruptedWaitError(WakeproofError, InterruptedError):
    """WP_INTERRUPTED: a signal handler ran while the thread waited."""


class ThreadInterruptedError(WakeproofError, InterruptedError):
    """A virtual thread was interrupted while it waited, or before; its flag is clear again."""


class StateError(WakeproofError, RuntimeError):
    """WP_MISUSED: too late or too early: a thread that was started, a scope that is not joined."""


class StructureError(WakeproofError, RuntimeError):
    """Scopes or bindings do not nest: closed out of order, or forked under other bindings."""


class SubtaskError(WakeproofError):
    """WP_FAILED: a subtask failed; its exception is the cause."""


class CancelledScopeError(WakeproofError):
    """WP_CANCELLED: it was cancelled before."""


class AbandonedError(WakeproofError, RuntimeError):
    """WP_ABANDONED: a lock's last holder ended while it had it; what it guards may be half done."""


class ChangedError(WakeproofError):
    """WP_AGAIN: the value had changed already; look again."""


class UnsupportedError(WakeproofError):
    """WP_UNSUPPORTED: the system lacks or forbids this operation."""

    exit_code = EXIT_ENVIRONMENT


class SystemCallError(WakeproofError, OSError):
    """WP_SYSTEM: a system call failed; ``errno`` says why."""


class WrongThreadError(WakeproofError, RuntimeError):
    """WP_FORBIDDEN: not from this thread; a carrier cannot wait for its own group."""


class ForkedError(WakeproofError, RuntimeError):
    """The group's carriers are threads of the parent process; a forked child has none of them."""


class TwoCopiesError(WakeproofError, RuntimeError):
    """Another loaded copy of wakeproof has made this process's default group; names both."""


class TopologyWarning(RuntimeWarning):
    """Carriers float that were to be pinned: affinity was refused, or there are too few CPUs."""


class NoFilesWarning(RuntimeWarning):
    """There is no io_uring: a pool of OS threads reads and writes files.  Once per process."""


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
"""Exception class of each negative code in ``kernel/base/error.h``."""


def error_for(code: int, what: str) -> WakeproofError:
    """Return the exception for a kernel function's negative `code`; `what` is its message."""
    return BY_CODE.get(code, WakeproofError)(what)
