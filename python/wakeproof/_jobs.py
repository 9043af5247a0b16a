# SPDX-License-Identifier: Apache-2.0
"""Callables as tasks, from submission to end, by the kernel's number; and what is told of them.

Spec: ``specs/Task.tla``.  Source: ``_binding.h``.
"""

from __future__ import annotations

import itertools
import os
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, ParamSpec, TypeVar

from wakeproof._ffi import ffi, lib

if TYPE_CHECKING:
    from wakeproof._ffi import CCounts, CTask

P = ParamSpec("P")
T = TypeVar("T")
State = Literal["parked", "queued", "running"]


@dataclass(frozen=True)
class Unfinished:
    """A task that had not ended when its group was closed.

    Attributes:
        name: the callable's qualified name, or what `submit` was given.
        state: "queued", "parked"; "running": it could not be stopped, and may still end.
    """

    name: str
    state: State


@dataclass(frozen=True)
class CarrierCounts:
    """What one carrier has done since its group was made; read while it goes on.

    Attributes:
        runs: steps of tasks.
        directed: steps of tasks that it was sent to steal, or found before it slept.
        probed: steps of tasks that it stole from the longer of two siblings' queues.
        drains: turns of its loop that ran something.
        parks: times it went to sleep, or was about to.
        runnable: tasks queued here now, about.
    """

    runs: int
    directed: int
    probed: int
    drains: int
    parks: int
    runnable: int


def counts(raw: CCounts) -> CarrierCounts:
    """Return what the kernel has counted."""
    return CarrierCounts(
        raw.runs, raw.directed, raw.probed, raw.drains, raw.parks, raw.runnable
    )  # fmt: skip


@dataclass
class Work:
    """A callable on its way; gone when it has run."""

    group: object
    name: str
    call: Callable[[], object]
    future: Future[Any]
    runs: bool = False


works: dict[int, Work] = {}
numbers = itertools.count(1)


def _step(job: CTask) -> int:
    """Run the callable of `job`: the kernel calls this on a carrier."""
    _in_parent(_run, lib.wp__job_number(job))
    return lib.WP_STEP_DONE


def _run(number: int) -> None:
    work = works[number]
    work.runs = True
    try:
        if work.future.set_running_or_notify_cancel():
            try:
                result = _in_parent(work.call)
            except BaseException as error:
                work.future.set_exception(error)
            else:
                work.future.set_result(result)
    finally:  # a callback of the future may raise SystemExit
        del works[number]


def _in_parent(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call it, and end a child that it has forked, as `multiprocessing` does.

    The child has this carrier's queues, but no other thread: who locks the future may be gone.
    """
    parent = os.getpid()
    try:
        return call(*args, **kwargs)
    finally:
        if os.getpid() != parent:
            _end(sys.exception())


def _end(error: BaseException | None) -> NoReturn:
    """Leave the process with what `error` says, if there is one; exit handlers do not run."""
    code: object = None if error is None else 1
    try:
        if isinstance(error, SystemExit):
            code = error.code
        elif error is not None:
            traceback.print_exception(error)
        if code is not None and not isinstance(code, int):
            sys.stderr.write(f"{code}\n")
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code if isinstance(code, int) else 0)


STEP = ffi.callback("int(wp_task *)", _step)


def hand_back(job: CTask) -> list[Unfinished]:
    """Free and cancel what has not ended, in the order in which it was handed back."""
    found: list[tuple[Work, State]] = []
    while job:
        work = works.pop(lib.wp__job_number(job))
        found.append((work, "parked" if lib.wp__job_was_parked(job) else "queued"))
        done, job = job, lib.wp__job_next(job)
        lib.wp__job_free(done)
    with ExitStack() as each:  # the last first, and all of them, whatever their callbacks raise
        for work, _ in found:
            each.callback(work.future.set_running_or_notify_cancel)
            each.callback(work.future.cancel)
    return [Unfinished(work.name, state) for work, state in reversed(found)]
