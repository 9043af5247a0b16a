# SPDX-License-Identifier: Apache-2.0
"""The decorator that runs a test under every schedule."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ParamSpec, overload

from wakeproof.errors import NotExhaustiveWarning, ScheduleError, StateError, UsageError
from wakeproof.judge.schedules.explore import HOLDS, Found, Options, explore

P = ParamSpec("P")
REPLAY = "WAKEPROOF_REPLAY"


@overload
def schedules(test: Callable[P, object], /) -> Callable[P, None]: ...
@overload
def schedules(
    *,
    preemptions: int | None = ...,
    most: int = ...,
    seconds: float = ...,
    random: int = ...,
    seed: int = ...,
    steps: int = ...,
    data: bool = ...,
    cancels: int = ...,
    any_order: bool = ...,
    replay: str = ...,
) -> Callable[[Callable[P, object]], Callable[P, None]]: ...
def schedules(test: Callable[..., object] | None = None, /, **options: Any) -> Any:  # noqa: D417
    """Make a test run under every schedule of the threads that it starts.

    The test is ordinary code: ``threading``, ``queue``, ``concurrent.futures``, ``asyncio``,
    ``time.sleep``.  It is called once for each schedule, with threads that take turns at their
    synchronisation points; what must be the same each time it has to make itself.  No call waits:
    time is virtual, and a timeout is a choice.  A coroutine function runs by `asyncio.run`.

    Args:
        test: the test.
        preemptions: explore schedules with at most so many preemptions (a thread loses its turn
            although it could go on).  None: with none, then one, then two, then all.
        most: stop after so many schedules.
        seconds: stop after this time; 0: never.
        random: if that was not enough, so many schedules by lot.
        seed: of the lot.
        steps: operations of one schedule, after which it counts as a livelock.
        cancels: so many tasks of asyncio are cancelled, at any of their awaits; the main one, and
            what `asyncio.shield` protects, are not.  If what was cancelled makes the test raise
            CancelledError, that is no failure.
        any_order: callbacks of asyncio that are ready run in any order; not only in that of
            `call_soon`, which asyncio promises.
        data: threads also take turns at reads and writes of attributes, globals, closures, items.
        replay: the token of a schedule, as a failure prints it: run this one alone.  The
            environment variable WAKEPROOF_REPLAY does the same.

    Raises:
        UsageError: an option has a value that is not allowed, or the test is a generator.

    The test raises:
        ScheduleError: a schedule fails; its cause is what the test has raised in it, if anything.
        UnsupportedError: it calls what is not modelled, such as a socket.
        JudgeError: it is not deterministic, or a thread does not come to a synchronisation point.
        StateError: `install` is in effect.

    The test warns:
        NotExhaustiveWarning: none of the schedules has failed, but not all were run.

    Example:
        >>> import threading
        >>> from wakeproof import ScheduleError, schedules
        >>> @schedules
        ... def test_two_locks():
        ...     a, b = threading.Lock(), threading.Lock()
        ...     def take(first, second):
        ...         with first, second:
        ...             pass
        ...     threads = [threading.Thread(target=take, args=pair) for pair in ((a, b), (b, a))]
        ...     for thread in threads:
        ...         thread.start()
        ...     for thread in threads:
        ...         thread.join()
        >>> try:
        ...     test_two_locks()
        ... except ScheduleError as error:
        ...     print(error.verdict)
        deadlock
    """
    chosen = Options(**options)

    def made(test: Callable[..., object]) -> Callable[..., None]:
        if inspect.isgeneratorfunction(test) or inspect.isasyncgenfunction(test):
            raise UsageError(
                f"schedules: {test.__name__} has a yield, so a call of it runs nothing"
            )

        @functools.wraps(test)
        def under_every_schedule(*args: Any, **named: Any) -> None:
            call: Callable[[], Any] = functools.partial(test, *args, **named)
            is_async = inspect.iscoroutinefunction(test)
            judge((lambda: asyncio.run(call())) if is_async else call, chosen)

        vars(under_every_schedule)["under_every_schedule"] = True
        return under_every_schedule

    return made if test is None else made(test)


def judge(test: Callable[[], object], options: Options) -> Found:
    """Explore the schedules of a test; raise if one fails, and warn if not all were run."""
    from wakeproof.standard import is_installed

    if is_installed():
        raise StateError("schedules: wakeproof.install() is in effect; call uninstall() first")
    replay = os.environ.get(REPLAY, "")
    found = explore(test, replace(options, replay=replay) if replay else options)
    if found.failure is not None:
        failure = found.failure
        raise ScheduleError(str(found), failure) from failure.error
    if found.verdict != HOLDS:
        warnings.warn(str(found), NotExhaustiveWarning, stacklevel=3)
    return found
