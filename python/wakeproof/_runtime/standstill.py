# SPDX-License-Identifier: Apache-2.0
"""Find carriers that stand still, and say in which place, why, and what to call instead.

A look takes the steps that run now.  The C side keeps them in a list anyway, each with its number
and its begin, so a program pays nothing for the looks but the time of the watchdog itself.  The
instruction and the CPU time of a step that takes long are compared in two looks:

  the step                  CPU time   instruction
  waits in one call         little     the same in both
  computes                  much, or   another one

A call that computes and keeps the GIL stops the watchdog as well.  The first look after it finds a
step that has taken long and was not there before, and the CPU time of its carrier since then.
While the system runs other programs instead of the carrier, its step stands still for no fault of
its own: that time, which the system counts, is subtracted.

Source: this file; ``_native/own.c``.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wakeproof._runtime import advice, known, stacks
from wakeproof._runtime.deadline import NS_PER_S
from wakeproof._runtime.dump_tree import lines
from wakeproof._runtime.here import steps
from wakeproof._runtime.jobs import running as running_tasks
from wakeproof._runtime.jobs import threads
from wakeproof.parking import announced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


BUSY = 0.2  # the share of CPU time from which a step computes
PLACES = 1000  # the most places that are reported
_Place = tuple[int, int]  # an identity of a code object, and an instruction in it


@dataclass(frozen=True, slots=True)
class _Usage:
    """What an OS thread has had so far, and when that was read."""

    at: float
    cpu_s: float
    delay_s: float  # it was ready, but the system ran others


@dataclass(slots=True)
class _Seen:
    """A step that was seen, from its first look on."""

    begin: _Usage
    place: _Place | None = None
    is_over: bool = False  # it was reported, or need not be


class _Meter:
    """Reads the usage of OS threads, whose files in /proc stay open."""

    def __init__(self) -> None:
        self._files: dict[int, int] = {}  # descriptors, by the system's number of the OS thread

    def read(self) -> dict[int, _Usage]:
        """Return the usage of all carriers, by the numbers of their OS threads."""
        found = {}
        carriers = known.carriers()
        for ident, tid in carriers:
            usage = self._one(tid)
            if usage is not None:
                found[ident] = usage
        for tid in set(self._files) - {tid for _, tid in carriers}:
            os.close(self._files.pop(tid))
        return found

    def _one(self, tid: int) -> _Usage | None:
        """Return the usage of one OS thread; None: it has ended, or the system does not tell."""
        try:
            if tid not in self._files:
                path = f"/proc/self/task/{tid}/schedstat"
                self._files[tid] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            cpu_ns, delay_ns, _ = os.pread(self._files[tid], 100, 0).split()
        except (OSError, ValueError):
            return None
        return _Usage(time.monotonic(), int(cpu_ns) / NS_PER_S, int(delay_ns) / NS_PER_S)

    def close(self) -> None:
        """Close the files."""
        while self._files:
            os.close(self._files.popitem()[1])


class Looks:
    """One look after the other."""

    def __init__(self, limit_s: float, report: Callable[[str], object]) -> None:
        self._limit_s, self._report = limit_s, report
        self._seen: dict[int, _Seen] = {}
        self._places: set[object] = set()
        self._meter = _Meter()
        self._usage = self._meter.read()

    def look(self) -> None:
        """Report the steps that have run for the limit."""
        before, self._usage = self._usage, self._meter.read()
        seen, self._seen = self._seen, {}
        for ident, number, took, runs in _now():
            usage = self._usage.get(ident)
            if usage is None:  # the step has begun after the read
                continue
            one = self._seen[number] = seen.get(number) or _Seen(usage)
            if one.is_over or took < self._limit_s / 2:
                continue
            with stacks.uncollected():
                # None: a C function is all that runs
                frame = stacks.of_os_threads(ident).get(ident)
            last = before.get(ident)
            if number in seen:
                why = self._why(one, frame, usage, took)
            else:
                why = "" if last is None else self._keeps_gil(last, usage, took)
            if why:
                one.is_over = True
                self._tell(ident, runs, frame, took, why)

    def _why(self, seen: _Seen, frame: FrameType | None, usage: _Usage, took: float) -> str:
        """Return why a step that was seen before takes so long; "": it does not."""
        place = (0, 0) if frame is None else (id(frame.f_code), frame.f_lasti)
        has_moved, seen.place = seen.place not in (None, place), place
        delay_s = usage.delay_s - seen.begin.delay_s
        if took - delay_s < self._limit_s:
            return ""
        passed = usage.at - seen.begin.at - delay_s
        is_busy = usage.cpu_s - seen.begin.cpu_s >= BUSY * passed
        return "computes" if is_busy or has_moved else "waits"

    def _keeps_gil(self, last: _Usage, usage: _Usage, took: float) -> str:
        """Return "gil" if a step that the last look did not see has computed ever since it began.

        Of the CPU time since the last look, that before the step is at most the time before it.
        """
        before_s = max(0.0, usage.at - last.at - took)
        computed_s = usage.cpu_s - last.cpu_s - before_s
        had_s = took - (usage.delay_s - last.delay_s)
        return "gil" if had_s >= self._limit_s and computed_s >= had_s / 2 else ""

    def _tell(self, ident: int, runs: Any, frame: FrameType | None, took: float, why: str) -> None:
        key = advice.dotted_of_user(runs._call) if frame is None else _key(frame)
        if is_announced(ident, runs) or key in self._places or len(self._places) >= PLACES:
            return
        self._places.add(key)
        self._report(_text(ident, runs, frame, took, why))

    def close(self) -> None:
        """Look no more."""
        self._meter.close()


def _now() -> Iterator[tuple[int, int, float, Any]]:
    """Yield what carriers run: OS thread, number and age of the step, virtual thread or task."""
    for ident, step, age_ms, number in steps():
        thread = threads.get(number)
        # of a poller: it blocks only when its carrier has nothing else to run
        if thread is not None and not thread._is_poller:
            yield ident, step, age_ms / 1000, thread
    now = time.monotonic()
    for ident, (number, began, work) in list(running_tasks.items()):
        yield ident, -number, now - began, work


def is_announced(ident: int, runs: Any) -> bool:
    """Return whether the step is in `wakeproof.blocking`."""
    return getattr(runs, "_number", -ident) in announced


def _key(frame: FrameType) -> object:
    """Return what makes a place: the innermost frame, and the innermost one of the user."""
    outer: FrameType | None = frame
    while outer is not None and advice.is_library(outer) and outer.f_back is not None:
        outer = outer.f_back
    assert outer is not None
    return frame.f_code, frame.f_lasti, outer.f_code, outer.f_lasti


def _text(ident: int, runs: Any, frame: FrameType | None, took: float, why: str) -> str:
    carrier = known.carrier_name(ident) or f"the OS thread {ident}"
    is_task = not hasattr(runs, "_number")
    what = f"the task {runs.name}" if is_task else f"virtual thread {runs.name!r}"
    if not is_task and runs.state == "pinned":
        does, instead = "is parked, but keeps its carrier", advice.PINNED
    elif why == "computes":
        does, instead = "computes", advice.COMPUTES
    else:
        name, instead = advice.advise(frame, runs.call if is_task else runs._call)
        does = f"waits in {name or 'a C function'}"
        if why == "gil":
            does = f"is in {name or 'a C function'}, and nothing ran meanwhile"
            instead = advice.GIL
    said = f"wakeproof: {carrier} has stood still for {took:.2f} s: {what} {does}\n"
    said += "".join(f"    {line}\n" for line in lines(stacks.of_frames(frame)))
    return said + f"  instead: {instead}\n"
