# SPDX-License-Identifier: Apache-2.0
"""Callables as tasks, from submission to end, by the kernel's number; and what is told of them.

Spec: ``specs/Task.tla``.  Source: ``_binding.h``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from wakeproof._ffi import ffi, lib

if TYPE_CHECKING:
    from wakeproof._ffi import CGroup, CPath, CTask, Null

State = Literal["parked", "queued", "running"]


@dataclass(frozen=True)
class Unfinished:
    """A task that had not ended when its group was closed.

    Attributes:
        name: what `factory` was given, or the callable's qualified name.
        state: "queued", "parked"; "running": it could not be stopped, and may still end.
    """

    name: str
    state: State


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
    number = lib.wp__job_number(job)
    work = works[number]
    work.runs = True
    try:
        if work.future.set_running_or_notify_cancel():
            try:
                result = work.call()
            except BaseException as error:
                work.future.set_exception(error)
            else:
                work.future.set_result(result)
    finally:  # a callback of the future may raise SystemExit
        del works[number]
    return lib.WP_STEP_DONE


STEP = ffi.callback("int(wp_task *)", _step)


def start(group: CGroup, index: int, work: Work, text: CPath | Null, *, pinned: bool) -> bool:
    """Submit `work` to that carrier; False: the group is closed.  `text`: its name, in events.

    Raises:
        MemoryError: there is none; the work was not submitted.
    """
    number = next(numbers)
    works[number] = work
    job = lib.wp__job_new(STEP, number, pinned, text)
    if job and lib.wp_group_start(group, index, job) == lib.WP_OK:
        return True
    del works[number]
    if not job:
        raise MemoryError(f"submit {work.name}: no memory")
    lib.wp__job_free(job)
    return False


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
