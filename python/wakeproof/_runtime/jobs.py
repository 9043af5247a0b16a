# SPDX-License-Identifier: Apache-2.0
"""Submitted callables, from their submission to their end, by the number that the kernel keeps.

Spec: ``specs/thread/Task.tla``.  Source: ``_native/binding.h``.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal, NoReturn, ParamSpec, TypeVar

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import known
from wakeproof._runtime import process as _process
from wakeproof._runtime.brief import HAS_GIL
from wakeproof._runtime.here import never_freed
from wakeproof._runtime.here import tasks as tasks
from wakeproof._runtime.here import threads as threads
from wakeproof.errors import ClosedError

if TYPE_CHECKING:
    from wakeproof._native.ffi import CGroup, CPath, CTask, Null
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup
    from wakeproof.vthread import VirtualThread

P = ParamSpec("P")
T = TypeVar("T")
State = Literal["parked", "queued", "running"]


@dataclass(frozen=True)
class Unfinished:
    """A task or virtual thread that `CarrierGroup.close` returns, because it has not ended.

    Attributes:
        name: the name of the virtual thread, or the qualified name of the callable that was given
            to `CarrierGroup.submit`.
        state: "queued": it was to run next.  "parked": a virtual thread that waits.  "running": it
            could not be stopped, and may still end.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThread, park
        >>> group = CarrierGroup(1)
        >>> thread = VirtualThread(park, name="waits", group=group).start()
        >>> while thread.state != "parked":
        ...     pass
        >>> group.close(timeout_s=0)
        [Unfinished(name='waits', state='parked')]
    """

    name: str
    state: State


@dataclass
class Work:
    """A callable from its submission until it has run."""

    group: CarrierGroup
    name: str
    call: Callable[[], object]
    future: Future[Any]
    runs: bool = False
    text: CPath | Null | None = None  # its name in events, which is copied before it runs


ANYWHERE = -1  # lets the group choose the carrier
# By number.  Without the GIL the threads that submit have several dicts, so that they seldom wait
# for one another; the numbers in a dict have one remainder.
PARTS = 1 if HAS_GIL else 31
works: tuple[dict[int, Work], ...] = tuple({} for _ in range(PARTS))
numbers = itertools.count(1)  # of virtual threads
_numbers = tuple(itertools.count(PARTS + part, PARTS) for part in range(PARTS))
# the task that each carrier runs, with its number and its begin, by the carrier's OS thread
running: dict[int, tuple[int, float, Work]] = {}
LONG_S = 0.1  # a step that takes longer is counted in `CarrierCounts.long_steps`


def by_number(number: int) -> VirtualThread | None:
    """Return the virtual thread with that number, if it was started and has not ended."""
    return next((one for one in list(threads.values()) if one._number == number), None)


def _step(job: CTask) -> int:
    """Run the callable of `job`; the kernel calls this on a carrier."""
    _in_parent(_run, lib.wp__job_number(job))
    return lib.WP_STEP_DONE


def _run(number: int) -> None:
    work = works[number % PARTS][number]
    work.runs = True
    me = get_ident()
    if known.groups.get(me) is not work.group:
        known.know(work.group)
    began = time.monotonic()
    running[me] = number, began, work
    try:
        if work.future.set_running_or_notify_cancel():
            try:
                result = _in_parent(work.call)
            except BaseException as error:
                work.future.set_exception(error)
            else:
                work.future.set_result(result)
    finally:  # a callback of the future may raise SystemExit
        del works[number % PARTS][number]
        running.pop(me, None)
        if time.monotonic() - began > LONG_S:
            work.group._count_long()


def _in_parent(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Make the call; if it has forked, end the child process here, as `multiprocessing` does.

    The child process has the queues of this carrier but no other thread, so a thread that does not
    exist there may hold the lock of a future.
    """
    parent = _process.pid
    try:
        return call(*args, **kwargs)
    finally:
        if _process.pid != parent:
            _end(sys.exception())
        del args, kwargs  # the error's traceback refers to this frame


def _end(error: BaseException | None) -> NoReturn:
    """End the process with the exit code of `error`, if there is one; exit handlers do not run."""
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
for _each in (  # what all threads that submit use
    works, *works, _numbers, *_numbers, STEP, lib, ffi, ffi.NULL, Work, _process.pid,
    lib.wp__job_new, lib.wp_group_start, lib.wp_group_submit, lib.wp_group_tracing,
):  # fmt: skip
    never_freed(_each)


def start(group: CGroup, index: int, work: Work, text: CPath | Null) -> bool:
    """Submit `work` to a carrier; return False if the group is closed.

    Args:
        group: the kernel's group.
        index: the carrier, or ANYWHERE.
        work: the callable.
        text: its name in events.

    Raises:
        MemoryError: there is no memory; the work was not submitted.
    """
    part = get_ident() % PARTS
    number = next(_numbers[part])
    works[part][number] = work
    job = lib.wp__job_new(STEP, number, False, text)
    if job:
        of_group = index == ANYWHERE
        code = (
            lib.wp_group_submit(group, job) if of_group else lib.wp_group_start(group, index, job)
        )
        if code == lib.WP_OK:
            return True
    del works[part][number]
    if not job:
        raise MemoryError(f"submit {work.name}: no memory")
    lib.wp__job_free(job)
    return False


def submit(carrier: Carrier, call: Callable[[], T], name: str, future: Future[T]) -> Future[T]:
    """Submit a callable to a carrier; return the future, which gets the outcome of the call.

    Raises:
        ClosedError, ForkedError: as `CarrierGroup.submit`.
    """
    group, native = carrier._owner(), carrier._native
    if group is None:
        raise ReferenceError("submit: the group of this carrier is gone")
    if carrier._pid != _process.pid:
        group._check_process()
    work = Work(group, name, call, future)
    text: CPath | Null = ffi.NULL
    if lib.wp_group_tracing(native):
        text = work.text = ffi.new("char[]", name.encode(errors="replace"))
    if not start(native, carrier.index, work, text):
        raise ClosedError(f"submit {name}: the group is closed")
    return future


def unfinished(group: object) -> list[Unfinished]:
    """Return the tasks and threads that have not ended when a close runs out of time."""
    here = [work for part in works for work in list(part.values()) if work.group is group]
    tasks = [Unfinished(work.name, "running" if work.runs else "queued") for work in here]
    alive = [thread for thread in list(threads.values()) if thread._group is group]
    return tasks + [Unfinished(thread.name, thread._told()) for thread in alive]


def hand_back(job: CTask) -> list[Unfinished]:
    """Free and cancel what a close hands back unfinished; return it in the order of the close."""
    found: list[Unfinished] = []
    with ExitStack() as each:  # runs all callbacks, the last one first, also after exceptions
        while job:
            number = lib.wp__job_number(job)
            state: State = "parked" if lib.wp__job_was_parked(job) else "queued"
            if lib.wp__job_is_virtual(job):
                thread = threads.pop(number)
                found.append(Unfinished(thread.name, state))
                each.callback(thread._hand_back)
            else:
                work = works[number % PARTS].pop(number)
                found.append(Unfinished(work.name, state))
                each.callback(work.future.set_running_or_notify_cancel)
                each.callback(work.future.cancel)
            done, job = job, lib.wp__job_next(job)
            lib.wp__job_free(done)
    return found[::-1]
