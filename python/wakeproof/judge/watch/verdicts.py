# SPDX-License-Identifier: Apache-2.0
"""Verdicts on the threads of a running process, by looking at it several times.

A value that is gone proves no missed wakeup: the woken thread may not have run yet, and some
libraries wake others late on purpose.  So the *quiet rule* holds before a thread is called missed
or suspect: in two sweeps, half a second apart, each thread of the process sleeps, and the sign is
still there when it is read again after each sweep.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from wakeproof.judge.watch import recorded
from wakeproof.judge.watch.calibration import Calibration, calibrate
from wakeproof.judge.watch.primitives import Primitives, Wait
from wakeproof.judge.watch.process import GoneError, Process, Sleep, Thread
from wakeproof.judge.watch.recorded import Hint
from wakeproof.judge.watch.runtime import Group, Runtime

QUIET_S: Final = 0.5
"""How far apart the sweeps of the quiet rule are."""
LASTING_S: Final = 1.0
"""How long a sign must last before a wakeup counts as missed, and a process as stuck."""


class Verdict(StrEnum):
    """What is said of a thread, the worst first."""

    DEADLOCK = "deadlock"
    MISSED = "missed"
    STUCK = "stuck"
    SUSPECT = "suspect"
    STOPPED = "stopped"
    STARVED = "starved"
    UNKNOWN = "unknown"
    WAITS = "waits"
    RUNS = "runs"


ORDER: Final = list(Verdict)
BAD: Final = (Verdict.DEADLOCK, Verdict.MISSED)
"""The verdicts for which the command exits with 1."""


@dataclass(frozen=True)
class Judged:
    """A thread: where it sleeps, what for, and the verdict."""

    tid: int
    name: str
    verdict: Verdict
    why: str
    waits_for: str = ""  # the primitive
    object: str = ""
    owner: int | None = None
    called_by: str = ""
    since_s: float | None = None  # at least
    is_timed: bool = False
    kernel: str = ""  # the function of the kernel in which it sleeps


@dataclass(frozen=True)
class Report:
    """A process, looked at for some time."""

    pid: int
    command: str
    seconds: float
    sweeps: int
    quiet_sweeps: int  # in which each thread slept
    verdict: Verdict  # the worst of its threads
    threads: tuple[Judged, ...]
    groups: tuple[Group, ...] = ()  # of our own runtime
    unknown: tuple[str, ...] = ()  # what could not be known, why, and how to learn more
    evidence: dict[str, str] = field(default_factory=dict)  # by tool: what it says of the process
    hints: tuple[Hint, ...] = ()  # of the recorder: no verdicts

    @property
    def holds(self) -> bool:
        """Return whether no thread is in a deadlock or has missed its wakeup."""
        return self.verdict not in BAD


@dataclass
class _Seen:
    """What was seen of one stay of a thread in one system call."""

    first: float
    looks: int = 0
    sign_since: float | None = None
    quiet: list[float] = field(default_factory=list)  # sweeps that confirmed its sign

    def lasts_s(self, now: float) -> float:
        """Return for how long its sign has been there."""
        return 0.0 if self.sign_since is None else now - self.sign_since

    @property
    def is_calm(self) -> bool:
        """Return whether the quiet rule holds."""
        return len(self.quiet) > 1 and self.quiet[-1] - self.quiet[0] >= QUIET_S


class Watch:
    """Looks at a process; `sweep` again and again, then `report`."""

    def __init__(self, process: Process, calibration: Calibration | None = None) -> None:
        self._process = process
        self._calibration = calibrate() if calibration is None else calibration
        self.primitives = Primitives(process, self._calibration)
        self._runtime = Runtime(process, self.primitives.symbols)
        self._began = time.monotonic()
        self._now = self._began
        self._seen: dict[tuple[int, Sleep], _Seen] = {}
        self._threads: list[Thread] = []
        self._waits: dict[int, Wait] = {}
        self._used: dict[int, tuple[str, ...]] = {}  # CPU time of runnable threads
        self._starved: set[int] = set()
        self._sweeps = self._quiet_sweeps = 0

    def sweep(self) -> None:
        """Look at each thread once.

        Raises:
            GoneError: the process has ended.
        """
        known = {one.tid for one in self._threads}
        self._threads = [one for one in self._process.threads() if one.state not in "ZX"]
        if not self._threads:
            raise GoneError
        if known != {one.tid for one in self._threads}:
            self.primitives.renew()
        self._now = time.monotonic()
        self._sweeps += 1
        self._waits = dict(self._looks())
        is_quiet = len(self._waits) == len(self._threads) and all(
            one.state == "S" for one in self._threads
        )
        self._quiet_sweeps += is_quiet
        before, self._seen = self._seen, {}
        for tid, wait in self._waits.items():
            seen = before.get((tid, wait.sleep)) or _Seen(self._now)
            self._seen[tid, wait.sleep] = seen
            seen.looks += 1
            if wait.sign is None:
                seen.sign_since, seen.quiet = None, []
            elif seen.sign_since is None:
                seen.sign_since = self._now
        self._look_again(is_quiet=is_quiet)
        self._find_starved()

    def _looks(self) -> Iterator[tuple[int, Wait]]:
        found = {}
        for thread in self._threads:
            wait = self.primitives.look(thread.tid)
            if wait is not None:
                found[thread.tid] = wait
        yield from self._runtime.explain(found).items()

    def _look_again(self, *, is_quiet: bool) -> None:
        """Confirm the signs, now that each thread was seen asleep; drop those that are gone."""
        if not any(wait.sign for wait in self._waits.values()):
            return
        again = dict(self._looks())
        is_quiet &= len(again) == len(self._waits)
        for tid, wait in self._waits.items():
            if wait.sign is None:
                continue
            then = again.get(tid)
            if then is None or then.sleep != wait.sleep or then.sign is None:
                self._waits[tid] = replace(wait, sign=None)
            elif is_quiet:
                self._seen[tid, wait.sleep].quiet.append(self._now)

    def _find_starved(self) -> None:
        """Find threads that could run and got no CPU since the last sweep."""
        used = {}
        for thread in self._threads:
            if thread.state == "R":
                used[thread.tid] = self._process.cpu(thread.tid)
        self._starved = {tid for tid, its in used.items() if its and self._used.get(tid) == its}
        self._used = used

    def report(self, evidence: dict[str, str] | None = None) -> Report:
        """Return the verdicts as of the last sweep."""
        is_frozen = self._process.is_frozen()
        judged = {thread.tid: self._judge(thread, is_frozen=is_frozen) for thread in self._threads}
        if not is_frozen:
            self._find_deadlocks(judged)
            self._find_stuck(judged)
        rows = sorted(judged.values(), key=lambda one: (ORDER.index(one.verdict), one.tid))
        return Report(
            self._process.pid, self._process.command, round(time.monotonic() - self._began, 3),
            self._sweeps, self._quiet_sweeps, rows[0].verdict, tuple(rows),
            tuple(self._runtime.groups), tuple(self._unknown()), evidence or {},
            self._hints(judged),
        )  # fmt: skip

    def _hints(self, judged: dict[int, Judged]) -> tuple[Hint, ...]:
        """Return what the recorder, if there is one, says of those that have slept for a while."""
        calm = [tid for tid, wait in self._waits.items()
                if self._now - self._seen[tid, wait.sleep].first >= LASTING_S]  # fmt: skip
        stuck = [tid for tid in calm if judged[tid].verdict is Verdict.STUCK]
        names = {tid: one.name for tid, one in judged.items()}
        return recorded.hints(
            self._process, self.primitives.symbols, calm, stuck, names, self._runtime.task
        )

    def _judge(self, thread: Thread, *, is_frozen: bool) -> Judged:
        wait = self._waits.get(thread.tid)
        if wait is None:
            return self._awake(thread, is_frozen=is_frozen)
        seen = self._seen[thread.tid, wait.sleep]
        slept_s = self._process.asleep_s(thread.tid)
        verdict, why = self._of_wait(wait, seen)
        if is_frozen:
            verdict, why = Verdict.STOPPED, "its control group is frozen"
        elif thread.state in "Tt":
            verdict, why = Verdict.STOPPED, _STOPPED[thread.state]
        return Judged(
            thread.tid, thread.name, verdict, why, wait.primitive, wait.object, wait.owner,
            wait.caller, round(max(slept_s or 0.0, self._now - seen.first), 3), wait.is_timed,
            self._process.kernel_function(thread.tid),
        )  # fmt: skip

    def _awake(self, thread: Thread, *, is_frozen: bool) -> Judged:
        verdict, why = Verdict.RUNS, ""
        if is_frozen:
            verdict, why = Verdict.STOPPED, "its control group is frozen"
        elif thread.state in "Tt":
            verdict, why = Verdict.STOPPED, _STOPPED[thread.state]
        elif thread.tid in self._starved:
            verdict = Verdict.STARVED
            why = "it could run and gets no CPU: a quota, its priority, or others use all"
        elif thread.state == "D":
            stack = self._process.kernel_stack(thread.tid)
            verdict, why = Verdict.UNKNOWN, f"the kernel works for it: {' '.join(stack[:3])}"
        return Judged(thread.tid, thread.name, verdict, why)

    def _of_wait(self, wait: Wait, seen: _Seen) -> tuple[Verdict, str]:
        sign = wait.sign
        if sign is not None and sign.strength != "note" and seen.is_calm:
            lasting = seen.lasts_s(self._now) >= LASTING_S
            if sign.strength == "go" and lasting:
                return Verdict.MISSED, f"{sign.why}, and it sleeps on"
            return Verdict.SUSPECT, sign.why
        why = sign.why if sign is not None else ""
        if wait.kind == "futex" and not wait.is_timed:
            return Verdict.UNKNOWN, why or "what its word means is not known here"
        return Verdict.WAITS, why

    def _find_deadlocks(self, judged: dict[int, Judged]) -> None:
        """Follow owners: a cycle of them, or one that has ended, is a deadlock."""
        held = {tid: wait for tid, wait in self._waits.items() if self._is_held(tid, wait)}
        for tid, wait in held.items():
            path, owner = [tid], wait.owner
            while owner in held and owner not in path:
                path.append(owner)
                owner = held[owner].owner
            if owner == tid:
                way = " -> ".join(map(str, [*path, tid]))
                judged[tid] = replace(judged[tid], verdict=Verdict.DEADLOCK,
                                      why=f"each waits for the next: {way}" if len(path) > 1
                                      else "it waits for itself")  # fmt: skip
            elif owner in path:
                judged[tid] = replace(judged[tid], verdict=Verdict.STUCK,
                                      why=f"thread {owner} is in a deadlock")  # fmt: skip
            elif len(path) == 1 and owner is not None and self._is_gone(owner, wait):
                judged[tid] = replace(judged[tid], verdict=Verdict.DEADLOCK,
                                      why=f"its owner, thread {owner}, has ended")  # fmt: skip

    def _is_held(self, tid: int, wait: Wait) -> bool:
        seen = self._seen[tid, wait.sleep]
        return (wait.owner is not None and not wait.is_timed and seen.looks > 1
                and self._now - seen.first >= QUIET_S)  # fmt: skip

    def _is_gone(self, owner: int, wait: Wait) -> bool:
        return (wait.kind in ("mutex", "rwlock") and wait.is_inside
                and all(one.tid != owner for one in self._threads))  # fmt: skip

    def _find_stuck(self, judged: dict[int, Judged]) -> None:
        """Nothing but a signal helps if each thread waits without limit for this process."""
        for tid in judged:
            wait = self._waits.get(tid)
            if wait is None or wait.is_timed or not wait.is_inside:
                return
            if self._now - self._seen[tid, wait.sleep].first < LASTING_S:
                return
        if self._process.has_timers():
            return
        for tid, one in judged.items():
            if one.verdict is Verdict.SUSPECT:
                judged[tid] = replace(one, verdict=Verdict.MISSED,
                                      why=f"{one.why}; no thread is left to wake it")  # fmt: skip
            elif one.verdict in (Verdict.WAITS, Verdict.UNKNOWN):
                judged[tid] = replace(one, verdict=Verdict.STUCK, why="each thread waits, without "
                                      "limit, for this process: only a signal helps")  # fmt: skip

    def _unknown(self) -> Iterator[str]:
        if self._calibration.missing:
            yield f"calls of the C library are known by name alone: {self._calibration.missing}"
        elif any(wait.kind == "futex" for wait in self._waits.values()) and not any(
            wait.is_known for wait in self._waits.values()
        ):
            yield "no thread sleeps in a call of this machine's C library"
        if self._quiet_sweeps < 2 and any(wait.sign for wait in self._waits.values()):
            yield "no verdict on missed wakeups: some thread ran in all sweeps but " + str(
                self._quiet_sweeps
            )
        yield from self._runtime.unknown


_STOPPED: Final = {"T": "a signal has stopped it: SIGCONT continues it", "t": "a debugger holds it"}


def watch(process: Process, seconds: float = 2.0, every_s: float = QUIET_S) -> Report:
    """Look at a process for some seconds, and return the verdicts.

    The time begins with the end of the first sweep, which reads symbols and the layout of our
    runtime.

    Raises:
        GoneError: the process has ended.
    """
    one = Watch(process)
    one.sweep()
    end = time.monotonic() + seconds
    while time.monotonic() + every_s <= end:
        time.sleep(every_s)
        one.sweep()
    return one.report()
