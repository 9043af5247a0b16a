# SPDX-License-Identifier: Apache-2.0
"""Run a function under every schedule of its threads, and say what was found.

The schedules come in the order of their preemptions: those without, those with one, with two, and
then all.  So what fails is found with as few as possible.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.schedules import awaits, lanes, modelled, stall, waits
from wakeproof.judge.schedules.data import trace, traced
from wakeproof.judge.schedules.execution import Run, forget_greenlets, leave
from wakeproof.judge.schedules.given import Given, Lot, Plain, number_of, of_token, to_token
from wakeproof.judge.schedules.lanes import Row
from wakeproof.judge.schedules.search import Search

HOLDS, NOT_ALL = "holds", "not exhaustive"
LOST, DEADLOCK, LIVELOCK = "lost wakeup", "deadlock", "livelock"
EXCEPTION, ASSERTION = "exception", "assertion"
_Pool: Any = ThreadPoolExecutor
_COLLECT = 500  # runs between two collections of garbage
_FEW = (0, 1, 2)  # preemptions, before all
_AGAIN = 4  # runs of one schedule
_CHANCE = (
    "schedules: the program is not deterministic: in the same schedule, at step {}, {}; "
    "random numbers, values that are left from the run before, and sets of objects do that"
)


@dataclass(frozen=True)
class Options:
    """What is explored, and when it stops."""

    preemptions: int | None = None
    """At most so many; None: any number."""
    most: int = 20_000
    """Schedules."""
    seconds: float = 60.0
    random: int = 0
    """Schedules by lot, if the others are too many."""
    seed: int = 0
    steps: int = 5_000
    """Steps of one schedule, after which it counts as a livelock."""
    data: bool = False
    """Also between the reads and writes of attributes, globals, closures and items."""
    cancels: int = 0
    """So many tasks of asyncio are cancelled, at any of their awaits."""
    any_order: bool = False
    """Callbacks of asyncio that are ready run in any order, not only in that of `call_soon`."""
    replay: str = ""
    """The token of a schedule: that alone."""

    def __post_init__(self) -> None:
        for name in "most", "steps":
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; allowed: 1 or more")
        for name in "cancels", "preemptions", "random", "seconds":
            value = getattr(self, name)
            if value is not None and value < 0:
                raise UsageError(f"{name} is {value}; allowed: 0 or more")


@dataclass(frozen=True)
class Failure:
    """A schedule that fails."""

    verdict: str
    said: str
    token: str
    lanes: str
    error: BaseException | None = field(default=None, compare=False)
    names: tuple[str, ...] = ()  # of the lanes
    rows: tuple[Row, ...] = ()

    def __str__(self) -> str:
        return f"{self.verdict}: {self.said}\n\n{self.lanes}\n\nreplay: {self.token}"


@dataclass(frozen=True)
class Found:
    """What the schedules of a program have shown."""

    verdict: str
    schedules: int
    preemptions: int | None
    """All schedules with at most so many were run; None: all schedules; -1: none completely."""
    seconds: float
    is_fair: bool = False
    """Those are left out in which a thread is passed over by more than three pauses of others."""
    failure: Failure | None = None

    def __str__(self) -> str:
        if self.failure is not None:
            return f"{self.failure}\nschedules: {self.schedules}, in {self.seconds:.2f} s"
        which = "every fair schedule" if self.is_fair else "every schedule"
        if self.preemptions is not None:
            which += f" with at most {self.preemptions} preemptions"
            if self.preemptions < 0:
                which = "one schedule" if self.schedules == 1 else "some schedules"
        return f"{self.verdict}: {which}, {self.schedules:,} runs in {self.seconds:.2f} s"


def explore(call: Callable[[], object], options: Options | None = None) -> Found:
    """Return what the schedules of a function show.

    The function starts threads, and is called once for each schedule.

    Args:
        call: is called without arguments.
        options: what is explored, and when it stops.

    Raises:
        UsageError: an option has a value that is not allowed.
        UnsupportedError: the function calls what is not modelled, such as a socket.
        JudgeError: it does not do the same in the same schedule, or does not come to a
            synchronisation point for some seconds.
    """
    return _Exploration(call, options or Options()).found()


def run_by(call: Callable[[], object], scheduler: Plain, options: Options) -> Failure | None:
    """Run a function in one schedule, and return how it fails.

    Raises:
        UnsupportedError, JudgeError: as `explore`.
    """
    return _Exploration(call, options).of(scheduler)


class _Exploration:
    def __init__(self, call: Callable[[], object], options: Options) -> None:
        self._call, self._options = call, options
        self._runs = 0
        self._last: list[int] = []
        self._is_fair, self._is_first, self._has_threads = False, True, False
        self._begin = time.perf_counter()

    def found(self) -> Found:
        options = self._options
        self._begin = time.perf_counter()
        with self._exchanged():
            if options.replay:
                choices, begins_late = of_token(options.replay)
                failure = self._given(choices, begins_late=begins_late)
                return self._end(NOT_ALL, -1, failure)
            complete = -1
            for bound in self._bounds():
                search = Search(bound, options.steps)
                failure, is_whole, search = self._search(search)
                self._is_fair |= search.was_unfair
                if failure is not None:
                    return self._end(failure.verdict, complete, failure)
                if not is_whole:
                    break
                if search.was_deep:
                    break
                if bound is None or not search.was_cut:
                    self._look_for_chance()
                    return self._end(HOLDS, None, self._late())
                complete = bound
            for seed in range(options.random):
                if failure := self._drawn(options.seed + seed):
                    return self._end(failure.verdict, complete, failure)
            return self._end(NOT_ALL, complete, self._late())

    def of(self, scheduler: Plain) -> Failure | None:
        with self._exchanged(runs=1):
            run = self._one(scheduler)
            late = scheduler.begins_late
            if not _is_bad(run, scheduler.why):
                return None
            return self._given(scheduler.choices, begins_late=late)

    @contextmanager
    def _exchanged(self, runs: int | None = None) -> Iterator[None]:
        tracing = traced() if self._options.data else nullcontext()
        with modelled.exchanged(), alike(collects=runs != 1), stall.watched(), tracing:
            try:
                yield
            finally:
                forget_greenlets()

    def _bounds(self) -> Iterator[int | None]:
        most = self._options.preemptions
        if most is not None:
            yield from range(most + 1)
            return
        yield from _FEW
        yield None

    def _end(self, verdict: str, complete: int | None, failure: Failure | None = None) -> Found:
        took = time.perf_counter() - self._begin
        verdict = failure.verdict if failure else verdict
        return Found(verdict, self._runs, complete, took, self._is_fair, failure)

    def _search(self, search: Search) -> tuple[Failure | None, bool, Search]:
        options = self._options
        while True:
            if self._runs >= options.most or self._has_no_time():
                return None, False, search
            run = self._one(search)
            if search.why == "differs" and self._is_first:
                self._is_first = False  # what the first runs have imported stays
                search = Search(search.bound, options.steps)
                continue
            if search.why == "differs":
                raise JudgeError(_CHANCE.format(len(search.choices), search.differs))
            self._runs += search.why != "asleep"
            if search.why != "asleep":
                self._last = list(search.choices)
            if _is_bad(run, search.why):
                failure = self._given(search.choices)
                if failure is None:
                    raise JudgeError(
                        "schedules: the program is not deterministic: a schedule that failed does "
                        f"not fail again; replay: {to_token(search.choices)}"
                    )
                return failure, False, search
            if not search.advance():
                return None, True, search

    def _look_for_chance(self) -> None:
        """Run the last schedule a few times: the search has compared the beginnings of runs alone.

        Raises:
            JudgeError: a run differs.
        """
        again, before = Given(self._last, self._options.steps), None
        for _ in range(_AGAIN if self._runs > 1 else 0):
            if _is_bad(self._one(again), again.why):
                raise JudgeError(_CHANCE.format(len(again.choices), "it was its end, and it fails"))
            before = before or again.choices
            if again.choices != before:
                steps = zip(again.choices, before, strict=False)
                at = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], steps))
                was, now = (
                    f"of thread {number_of(choices[at])}" if at < len(choices) else "the end"
                    for choices in (before, again.choices)
                )
                raise JudgeError(_CHANCE.format(at, f"it was {was}, and is {now}"))

    def _late(self) -> Failure | None:
        """Run the usual order with threads that begin late, and return how it fails.

        In all other runs a thread runs to its first operation while it is started.  So a test that
        forgets to join it would always see what it does until then.
        """
        if not self._has_threads:
            return None
        late = Plain(self._options.steps, begins_late=True)
        run = self._one(late)
        return self._given(late.choices, begins_late=True) if _is_bad(run, late.why) else None

    def _has_no_time(self) -> bool:
        seconds = self._options.seconds
        return bool(seconds) and time.perf_counter() - self._begin > seconds

    def _one(self, scheduler: Search | Plain, look: Callable[[Run], None] | None = None) -> Run:
        if self._runs % _COLLECT == _COLLECT - 1:
            gc.collect()
        run = one(self._call, scheduler, look, self._options)
        self._has_threads |= len(run.tasks) > 1
        return run

    def _drawn(self, seed: int) -> Failure | None:
        lot = Lot(seed, self._options.steps, changes=seed % 4)
        run = self._one(lot)
        self._runs += 1
        if not _is_bad(run, lot.why):
            return None
        shrunk = self._shrunk(lot.choices, begins_late=lot.begins_late)
        return self._given(shrunk, begins_late=lot.begins_late)

    def _shrunk(self, choices: list[int], *, begins_late: bool) -> list[int]:
        """Return a schedule that fails with fewer switches, if there is one."""
        best = _segments(choices)
        at = 0
        while at < len(best):
            fewer = best[:at] + best[at + 1 :]
            trial = Given(
                [choice for part in fewer for choice in part],
                self._options.steps,
                begins_late=begins_late,
            )
            run = self._one(trial)
            if _is_bad(run, trial.why) and len(found := _segments(trial.choices)) < len(best):
                best, at = found, 0
            else:
                at += 1
        return [choice for part in best for choice in part]

    def _given(self, choices: Sequence[int], *, begins_late: bool = False) -> Failure | None:
        """Run that schedule again, and return how it fails."""
        kept: list[tuple[str, str]] = []
        names: list[str] = []
        noted = awaits.Noted()
        steps = self._options.steps
        recorder = lanes.Recorder(choices, steps, noted, begins_late=begins_late)

        def look(run: Run) -> None:
            names[:] = lanes.names_of(recorder.rows, run)
            if _is_bad(run, recorder.why):
                kept.append(_said(run, recorder, noted))

        self._runs += 1
        with noted.filled():
            run = self._one(recorder, look)
        if not kept:
            return None
        verdict, said = kept[0]
        token = to_token(recorder.choices, begins_late=begins_late)
        text = lanes.to_text(recorder.rows, names)
        return Failure(verdict, said, token, text, run.error, tuple(names), tuple(recorder.rows))


def one(
    call: Callable[[], object],
    scheduler: Any,
    look: Callable[[Run], None] | None = None,
    options: Options | None = None,
) -> Run:
    """Make one run, look at it before its threads are unwound, and return it."""
    how = options or Options()
    tracer = trace if how.data else None
    run = Run(scheduler, tracer, cancels=how.cancels, any_order=how.any_order)
    modelled.running = run
    vars(threading)["_counter"] = itertools.count(1).__next__  # of the names of threads
    _Pool._counter = itertools.count().__next__  # as well
    # All threads; those of the runs before have the same numbers, and with them the same hashes.
    vars(threading)["_dangling"] = weakref.WeakSet()
    stall.begins(run)
    try:
        run.make(call)
        if run.refused is not None:
            raise run.refused
        if isinstance(run.error, (KeyboardInterrupt, JudgeError, UsageError)):
            raise run.error
        if run.error is None and run.unhandled:
            run.error = run.unhandled[0][2]
        elif run.cancelled and isinstance(run.error, asyncio.CancelledError):
            run.error = None  # what was cancelled may be awaited
        if look is not None:
            look(run)
    finally:
        leave()  # an exception from outside, such as that of `stall`, may come at any place
        try:
            run.end()
        finally:
            leave()
            modelled.forget(run)
    return run


def _is_bad(run: Run, why: str) -> bool:
    if run.error is not None or why == "endless":
        return True
    return why == "stuck" and any(not task.is_daemon for task in run.alive)


def _said(run: Run, recorder: lanes.Recorder, noted: awaits.Noted) -> tuple[str, str]:
    """Return the verdict on a run that has failed, and what is said of it."""
    if run.error is not None:
        verdict = ASSERTION if isinstance(run.error, AssertionError) else EXCEPTION
        who, how = (run.failed.name, "") if run.failed else run.unhandled[0][:2]
        text = str(run.error)
        said = f"{type(run.error).__name__} in {who}" + (f": {text}" if text else "")
        return verdict, f"{said} ({how})" if how else said
    if recorder.why == "endless":
        where = sorted({f"{row.name} at {row.where}" for row in recorder.rows[-20:] if row.file})
        return LIVELOCK, f"no end after {len(recorder.choices):,} steps; last: {', '.join(where)}"
    stuck: list[waits.Wait] = []
    for task in run.alive:
        if not task.is_daemon:
            stuck += awaits.of(task, noted) or [waits.of(task, run, noted.nobody)]
    told = "; ".join(
        f"{one.name} waits in {one.what} at {one.where}" + (f" for {one.on}" if one.on else "")
        for one in stuck
    )
    come = [one for one in stuck if one.come]
    if come:
        return LOST, f"{told}; but what {come[0].name} waits for has come: {come[0].come}"
    if swallowed := awaits.swallowed(noted, stuck):
        return LOST, f"{told}; {swallowed}"
    if ring := waits.cycle(stuck):
        if len(ring) == 1:
            return DEADLOCK, f"{ring[0].name} waits for itself; {told}"
        order = " waits for ".join([*(one.name for one in ring), ring[0].name])
        return DEADLOCK, f"{order}; {told}"
    return DEADLOCK, f"{told}; nobody is left who could wake them"


def _segments(choices: Sequence[int]) -> list[list[int]]:
    parts: list[list[int]] = []
    for choice in choices:
        if parts and number_of(parts[-1][-1]) == number_of(choice):
            parts[-1].append(choice)
        else:
            parts.append([choice])
    return parts


@contextmanager
def alike(*, collects: bool = True) -> Iterator[None]:
    """Let nothing from outside differ in the runs: garbage is collected between them only."""
    before = {name: vars(threading)[name] for name in ("_counter", "_dangling")}
    of_pools = _Pool._counter
    was, freezes = gc.isenabled(), collects and gc.get_freeze_count() == 0
    callbacks = gc.callbacks[:]
    try:
        gc.disable()
        gc.callbacks.clear()  # they would run in threads of runs that collect
        if collects:
            gc.collect()
        if freezes:
            gc.freeze()  # what was there before is not looked at again and again
        yield
    finally:
        vars(threading).update(before)
        _Pool._counter = of_pools
        gc.callbacks[:] = callbacks
        if freezes:
            gc.unfreeze()
        if was:
            gc.enable()
