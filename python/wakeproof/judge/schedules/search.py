# SPDX-License-Identifier: Apache-2.0
"""Which schedules of a program are run: all that could differ, each once or a few times.

Depth first: a run repeats the choices of the run before up to one place, chooses another thread
there, and goes on as the threads come.  Where another choice is needed is found by races: two
operations of different threads that do not commute, and that nothing else keeps in order.  (Dynamic
partial order reduction: Flanagan and Godefroid, POPL 2005; with sleep sets: Godefroid, 1996.)

With a bound on preemptions, choices over the bound are left out, and each place that a race asks
for gets a second one, where the thread that runs there was switched to; there are no sleep sets
then.  (Coons, Musuvathi and McKinley, OOPSLA 2013.)  If nothing was left out, the search was
exhaustive.

A loop that sleeps or times out until another thread has done something has endless schedules, in
which that thread is passed over for ever.  They are not run: a thread that could go on is passed
over during a few pauses of others, and then not any more.  (Musuvathi and Qadeer, PLDI 2008.)
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from wakeproof.judge.schedules.execution import NOBODY, Run, Task
from wakeproof.judge.schedules.operation import (
    CHOOSE,
    NAMES,
    PASSING,
    PAUSES,
    SLEEP,
    WAITS,
    WRITE,
    Access,
    commute,
    excludes,
)

WAY = 1 << 32
"""Above a choice: the way in which the thread goes on."""

FAIR = 50
"""Steps that a thread makes in a row, if nothing else is wanted, while others could go on."""

PAUSED = 3
"""Pauses of others during which a thread that could go on may be passed over."""


@dataclass(slots=True)
class Step:
    """One step of the run, and what else could have been chosen there."""

    number: int  # of the thread that was asked for the turn; -1: one that has ended
    pending: dict[int, tuple[Access, ...]]  # choices
    tasks: int  # how many threads there were
    cost: int  # preemptions before
    choice: int = NOBODY
    kind: int = 0
    object: int = 0
    clock: list[int] = field(default_factory=list)
    wanted: set[int] = field(default_factory=set)  # choices
    done: dict[int, tuple[Access, ...]] = field(default_factory=dict)  # or asleep
    begins: int = 0  # the step at which the thread that was asked got its turn
    row: int = 0  # the steps that it has made since
    passed: dict[int, int] = field(default_factory=dict)  # threads, and pauses of others meanwhile
    pauses: bool = False  # the thread that was asked for the turn lets others go first
    ways: int = 1  # in which the thread itself can go on, and which it is
    way: int = 0


class Search:
    """The schedules of one program; a scheduler for each of its runs, one after the other."""

    begins_late = False

    def __init__(self, bound: int | None = None, limit: int = 5000) -> None:
        self.bound = bound
        self.limit = limit
        self.was_cut = False  # by the bound
        self.was_unfair = False  # a choice was left out, because it passes over another for ever
        self.was_deep = False  # a run was left because of its length
        self.differs = ""
        self.why = ""  # this run does not go on: "": it has come to its end
        self._stack: list[Step] = []
        # Accesses to an object.
        self._seen: defaultdict[int, list[tuple[int, int, int, bool]]] = defaultdict(list)
        self._replayed = 0  # steps of the stack, of which the last is a new choice
        self._at = 0
        self._clocks: list[list[int]] = []
        self._run: Run

    # ---- the scheduler ----

    def begin(self, run: Run) -> None:
        """Start at the beginning."""
        self._run, self._at, self.why = run, 0, ""

    @property
    def choices(self) -> list[int]:
        """The choices of the run."""
        return [step.choice + WAY * step.way for step in self._stack[: self._at]]

    def pick(self, me: Task | None) -> int:
        """Return the next choice; NOBODY: see `why`."""
        at = self._at
        run = self._run
        if at < self._replayed - 1:
            step = self._stack[at]
            task = run.tasks[step.choice >> 1] if step.tasks == len(run.tasks) else None
            if task is None or task.kind != step.kind or task.object != step.object:
                self._differs(f"{NAMES[step.kind]} (object {step.object})", task)
                return NOBODY
            self._at = at + 1
            return step.choice
        pending = pending_of(run)
        if at < self._replayed:
            step = self._stack[at]
            if pending != step.pending or step.tasks != len(run.tasks):
                self._differs(f"{len(step.pending)} choices", None)
                return NOBODY
            self._restore(at)
        else:
            if not pending:
                self.why = "stuck"
                return NOBODY
            if at >= self.limit:
                is_fair = at - self._replayed >= self.limit // 2
                self.why, self.was_deep = ("endless", self.was_deep) if is_fair else ("deep", True)
                return NOBODY
            made = self._new(me, pending)
            if made is None:
                self.why = "asleep"
                return NOBODY
            step = made
        self._at = at + 1
        self._take(at, step)
        return step.choice

    def choose(self, me: Task, count: int) -> int:
        """Return which of so many ways the thread goes; they are tried one after the other."""
        at = self._at
        if at >= self.limit:
            return 0
        if at < self._replayed:
            step = self._stack[at]
            if step.kind != CHOOSE or step.number != me.number or step.object != count:
                self._differs(f"{NAMES[step.kind]} (object {step.object})", None)
                return NOBODY
            if at == self._replayed - 1:
                self._restore(at)
        else:
            step = self._after(me, {2 * me.number: ()})
            step.choice, step.kind, step.object, step.ways = 2 * me.number, CHOOSE, count, count
            if self.bound is not None and step.cost >= self.bound:
                step.ways, self.was_cut = 1, True
            self._stack.append(step)
        if at >= self._replayed - 1:
            self._tick(at, step, list(self._clocks_before(at, step)[me.number]))
        self._at = at + 1
        return step.way

    def _differs(self, before: str, task: Task | None) -> None:
        now = "other choices" if task is None else f"{NAMES[task.kind]} (object {task.object})"
        self.why, self.differs = "differs", f"it was {before}, and is {now}"

    def _restore(self, at: int) -> None:
        """Compute the clocks of the threads before that step."""
        clocks = self._clocks
        clocks.clear()
        before: list[int] = []
        for step in self._stack[:at]:
            while len(clocks) < step.tasks:
                clocks.append(before)
            before = step.clock
            clocks[step.choice >> 1] = before

    def _after(self, me: Task | None, pending: dict[int, tuple[Access, ...]]) -> Step:
        """Return a step that follows those of the stack."""
        number = -1 if me is None else me.number
        step = Step(number, pending, len(self._run.tasks), 0)
        step.pauses = me is not None and me.kind in PAUSES
        if self._at:
            last = self._stack[-1]
            passes, is_same = _passes(last, last.choice), last.choice >> 1 == last.number
            step.cost = last.cost
            if self.bound is not None and (passes or last.way or not is_same):
                step.cost += self._costs(last, last.choice)
            if is_same:
                step.row, step.begins = last.row + 1, last.begins
            else:
                step.row, step.begins = 1, self._at - 1
            if last.passed or passes:
                step.passed = _passed(last)
            if self.bound is None and last.done:
                taken = last.pending[last.choice]
                step.done = {
                    choice: accesses
                    for choice, accesses in last.done.items()
                    if commute(accesses, taken)
                }
        return step

    def _new(self, me: Task | None, pending: dict[int, tuple[Access, ...]]) -> Step | None:
        step = self._after(me, pending)
        if step.done:
            asleep = step.done.items()
            step.done = {choice: accesses for choice, accesses in asleep if choice in pending}
        choice = usual(self._run, me, pending, step.done, step.row)
        if choice == NOBODY:
            return None
        step.choice = choice
        step.wanted.add(choice)
        self._stack.append(step)
        return step

    def _costs(self, step: Step, choice: int) -> int:
        """Return how many preemptions the choice is; a way that is not the usual one is one."""
        cost = 1 if step.way else 0
        me = 2 * step.number
        if (
            choice >> 1 != step.number
            and me in step.pending
            and not step.pauses
            and step.row < FAIR
        ):
            cost = 1
        if _passes(step, choice) and not all(_passes(step, one) for one in step.pending):
            cost += 1
        return cost

    # ---- races ----

    def _take(self, at: int, step: Step) -> None:
        """Make the step: find its races, and note its accesses."""
        clocks = self._clocks_before(at, step)
        choice = step.choice
        number = choice >> 1
        task = self._run.tasks[number]
        step.kind, step.object = task.kind, task.object
        mine = clocks[number]
        clock = mine.copy()
        accesses = step.pending[choice]
        self._races(task, accesses, mine, may_wait=not choice & 1 and task.kind in WAITS)
        if not choice & 1 and task.until is not None:
            self._races(task, task.late, mine, may_wait=False)
        shuts = bool(choice & 1) or task.makes_wait()
        for what, way in accesses:
            seen = self._seen[what]
            for index, _, how, _ in reversed(seen):
                if excludes(way, how):
                    join(clock, self._stack[index].clock)
                    if how == WRITE:
                        break
            seen.append((at, number, way, shuts))
        self._tick(at, step, clock)

    def _clocks_before(self, at: int, step: Step) -> list[list[int]]:
        """Return the clocks of the threads before the step, also of those that are new."""
        clocks = self._clocks
        while len(clocks) < step.tasks:
            clocks.append(self._stack[at - 1].clock if at else [])
        return clocks

    def _tick(self, at: int, step: Step, clock: list[int]) -> None:
        """Let that be the clock of the thread that makes the step, and the step the last in it."""
        number = step.choice >> 1
        while len(clock) <= number:
            clock.append(-1)
        clock[number] = at
        step.clock = self._clocks[number] = clock

    def _races(
        self, task: Task, accesses: tuple[Access, ...], mine: list[int], *, may_wait: bool
    ) -> None:
        """Want the task's next operation earlier, wherever it races with a step before."""
        number = task.number
        for what, way in accesses:
            for index, other, how, shuts in reversed(self._seen.get(what, ())):
                if other != number and excludes(way, how):
                    if other < len(mine) and mine[other] >= index:
                        pass  # it comes before anyway
                    elif shuts and may_wait:
                        continue
                    else:
                        self._want(index, number, mine)
                if how == WRITE:
                    break

    def _want(self, index: int, number: int, mine: list[int]) -> None:
        """Want that thread, or one without which it does not get there, at that step instead."""
        step = self._stack[index]
        self._want_at(step, number, mine, index)
        if self.bound is not None and step.choice >> 1 == step.number:
            self._want_at(self._stack[step.begins], number, mine, step.begins)

    def _want_at(self, step: Step, number: int, mine: list[int], index: int) -> None:
        if step.kind == CHOOSE:
            return
        pending = step.pending
        first = [choice for choice in (2 * number, 2 * number + 1) if choice in pending]
        if not first:
            leads = {p for p, last in enumerate(mine) if last > index}
            first = [choice for choice in pending if choice >> 1 in leads]
            if self.bound is None and first:
                if any(choice in step.wanted for choice in first):
                    return
                first = first[:1]
        for choice in first or pending:
            if _is_unfair(step, choice):
                self.was_unfair = True
                continue
            if self.bound is not None and step.cost + self._costs(step, choice) > self.bound:
                self.was_cut = True
            else:
                step.wanted.add(choice)

    # ---- the next run ----

    def advance(self) -> bool:
        """Choose what the next run does otherwise; return False if there is nothing left."""
        if self.why in ("", "stuck"):
            self._finish()
        stack = self._stack
        del stack[self._at :]
        while stack:
            step = stack[-1]
            at = len(stack) - 1
            if step.kind == CHOOSE:
                if step.way + 1 < step.ways:
                    step.way += 1
                    self._replayed = len(stack)
                    return True
            elif step.choice in step.pending:
                for what, _ in step.pending[step.choice]:
                    seen = self._seen[what]
                    while seen and seen[-1][0] >= at:
                        seen.pop()
                step.done[step.choice] = step.pending[step.choice]
            if step.kind != CHOOSE and (left := step.wanted.difference(step.done)):
                step.choice = min(left)
                self._replayed = len(stack)
                return True
            stack.pop()
        return False

    def _finish(self) -> None:
        """Find the races of operations that the run has not come to."""
        clocks = self._clocks
        while len(clocks) < len(self._run.tasks):
            clocks.append(self._stack[-1].clock if self._stack else [])
        for task in self._run.alive:
            mine = clocks[task.number]
            self._races(task, task.accesses, mine, may_wait=task.kind in WAITS)
            if task.until is not None:
                self._races(task, task.late, mine, may_wait=False)


def _passes(step: Step, choice: int) -> bool:
    """Return whether time passes with the choice: its wait times out, or it has slept."""
    return bool(choice & 1) or step.pending[choice] == PASSING


def _passed(last: Step) -> dict[int, int]:
    """Return how many pauses each thread has been passed over by, since it made a step."""
    passed = {choice: count for choice, count in last.passed.items() if choice != last.choice}
    if _passes(last, last.choice):
        for choice in last.pending:
            if not _passes(last, choice):
                passed[choice] = passed.get(choice, 0) + 1
    return passed


def _is_unfair(step: Step, choice: int) -> bool:
    """Return whether the choice lets a thread pause while another has been passed over often."""
    return _passes(step, choice) and any(
        count >= PAUSED and one in step.pending and not _passes(step, one)
        for one, count in step.passed.items()
    )


def pending_of(run: Run) -> dict[int, tuple[Access, ...]]:
    """Return the choices, with their accesses."""
    pending = {}
    for task in run.alive:
        if task.test is not None and task.test(task.what):  # `waits`, without a call for each task
            if task.until is not None:
                pending[2 * task.number + 1] = task.late
        elif task.kind == SLEEP and task.accesses == PASSING and (task.until or 0.0) <= run.now_s:
            pending[2 * task.number] = ()
        else:
            pending[2 * task.number] = task.accesses
    return pending


def usual(
    run: Run,
    me: Task | None,
    pending: dict[int, tuple[Access, ...]],
    asleep: dict[int, tuple[Access, ...]],
    row: int,
) -> int:
    """Return what comes next if nothing else is wanted: the same thread, as long as it can."""
    if me is not None and me.kind not in PAUSES and row < FAIR:
        choice = 2 * me.number
        if choice in pending and choice not in asleep:
            return choice
    number = -1 if me is None else me.number
    found, rank = NOBODY, None
    for choice in pending:
        if choice in asleep:
            continue
        task = run.tasks[choice >> 1]
        passes = choice & 1 or task.kind == SLEEP
        mine = (
            (task.until or 0.0) if passes else -1.0,
            task.number == number,
            task.number < number,
            task.number,
        )
        if rank is None or mine < rank:
            found, rank = choice, mine
    return found


def join(clock: list[int], other: list[int]) -> None:
    """Let the clock be at least the other."""
    if len(clock) < len(other):
        clock += other[len(clock) :]
    for at, last in enumerate(other):
        if clock[at] < last:
            clock[at] = last
