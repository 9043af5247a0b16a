# SPDX-License-Identifier: Apache-2.0
"""A user's own object against a sequential model in Python: ``wakeproof linear mine.c``.

The program marks the calls and returns of operations (``stress/own/include/linear.h``).  Every
execution gives a history, in which an operation comes before another one if its return happens
before the other's call; under SC, if it returns earlier.  The object is linearizable if each
history has an order of its operations that keeps this one and that the model explains.
Source: Herlihy and Wing 1990; for weak models, Golovin, Kokologiannakis and Vafeiadis, POPL 2025.
"""

from __future__ import annotations

import copy
import importlib.util
import pickle
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.explore.explorer import Tick
from wakeproof.judge.explore.grading import judge_program
from wakeproof.judge.explore.kept import Counterexample, Keeper
from wakeproof.judge.explore.options import ExploreOptions
from wakeproof.judge.explore.report import Judged, Outcome, ScenarioReport
from wakeproof.judge.explore.tasks import Progress, size_of
from wakeproof.judge.own.build import Builder
from wakeproof.judge.own.program import Program
from wakeproof.judge.own.run import explore, sources_hash
from wakeproof.judge.own.runtime import Runtime
from wakeproof.judge.process import Children
from wakeproof.judge.stress.grading import VIOLATED

UNEXPLAINED: Final = "no order of the operations explains its history"
_THREAD = re.compile(r"(\d+)\|([^|]*)\|")
_CALL = re.compile(r"(\w+) (-?\d+)((?: \d+:\d+)*)(?: = (-?\d+);)?")


@dataclass(frozen=True)
class Operation:
    """A call and its return."""

    thread: int
    name: str
    argument: int
    result: int | None  # None: it has not returned
    after: tuple[tuple[int, int], ...]  # (thread, n): its first n operations came before

    def __str__(self) -> str:
        """Return ``push(1) = 0``."""
        result = "no return" if self.result is None else str(self.result)
        return f"{self.name}({self.argument}) = {result}"


@dataclass(frozen=True)
class History:
    """The operations of an execution, by thread, in program order."""

    threads: tuple[tuple[Operation, ...], ...]

    @property
    def lines(self) -> list[str]:
        """Return a line for each thread, with what came before each operation."""
        lines = []
        for number, operations in enumerate(self.threads):
            shown = []
            for one in operations:
                known = [
                    f"{count} of thread {thread}" if count > 1 else
                    f"{self.threads[thread][0]} of thread {thread}"
                    for thread, count in one.after
                ]  # fmt: skip
                shown.append(f"{one}" + (f" [after {', '.join(known)}]" if known else ""))
            lines += [f"thread {number}: {', '.join(shown)}"] * bool(shown)
        return lines


@dataclass(frozen=True)
class LinearModel:
    """A sequential model: a class in Python whose methods are the operations."""

    file: Path
    make: type[Any]

    def start(self) -> Any:
        """Return the first state.

        Raises:
            UsageError: the class cannot be made without arguments, or has a state that Python
                cannot copy.
        """
        try:
            state = self.make()
            pickle.dumps(copy.deepcopy(state))
        except Exception as error:
            raise UsageError(
                f"{self.file}: a new {self.make.__name__} raises {type(error).__name__}: {error}"
            ) from error
        return state

    def after(self, state: Any, operation: Operation) -> Any:
        """Return the state after the operation; None: it cannot happen now, with this result.

        Raises:
            UsageError: the model has no such operation, or it fails.
        """
        then = copy.deepcopy(state)
        method = getattr(then, operation.name, None)
        if method is None:
            raise UsageError(f"{self.file}: {type(state).__name__} has no method {operation.name}, "
                             "which the program calls")  # fmt: skip
        try:
            result = method(operation.argument)
        except Exception as error:
            raise UsageError(
                f"{self.file}: {operation.name}({operation.argument}) raises "
                f"{type(error).__name__}: {error}"
            ) from error
        if result is NotImplemented:
            return None
        if not isinstance(result, int | None):
            raise UsageError(
                f"{self.file}: {operation.name}({operation.argument}) returns {result!r}: allowed "
                "are a number, None for 0, and NotImplemented if it cannot happen now"
            )
        is_same = operation.result is None or (result or 0) == operation.result
        return then if is_same else None

    def explains(self, history: History) -> bool:
        """Return whether an order of the operations gives their results."""
        start = (0,) * len(history.threads)
        seen: set[tuple[tuple[int, ...], bytes]] = set()
        todo = [(start, self.start())]
        while todo:
            counts, state = todo.pop()
            if all(one.result is None
                   for number, of in enumerate(history.threads)
                   for one in of[counts[number]:]):  # fmt: skip
                return True
            key = (counts, pickle.dumps(state))
            if key in seen:
                continue
            seen.add(key)
            for number, operations in enumerate(history.threads):
                done = counts[number]
                if done == len(operations):
                    continue
                one = operations[done]
                if any(counts[thread] < count for thread, count in one.after):
                    continue
                then = self.after(state, one)
                if then is not None:
                    todo.append((
                        (*counts[:number], done + 1, *counts[number + 1 :]), then
                    ))  # fmt: skip
        return False


def model_of(file: Path) -> LinearModel:
    """Return the model in a file: its class `Model`, or its only class.

    Raises:
        UsageError: there is no such file, it does not run, or it is not clear which class is meant.
    """
    if not file.is_file():
        raise UsageError(f"--against {file}: there is no such file")
    spec = importlib.util.spec_from_file_location(f"wakeproof_model_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise UsageError(f"--against {file}: no file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickle look it up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"--against {file}: {type(error).__name__}: {error}") from error
    classes = {name: of for name, of in vars(module).items()
               if isinstance(of, type) and of.__module__ == spec.name}  # fmt: skip
    chosen = classes.get("Model") or (next(iter(classes.values())) if len(classes) == 1 else None)
    if chosen is None:
        listed = ", ".join(classes) or "none"
        raise UsageError(f"--against {file}: needs a class Model; there is {listed}")
    return LinearModel(file, chosen)


def histories(text: str) -> dict[str, History]:
    """Return the histories that a program has written, by the text of their outcome."""
    found = {}
    for line in text.splitlines():
        number, _, rest = line.partition(" ")
        threads = {int(thread): calls for thread, calls in _THREAD.findall(rest)}
        found[f"history {number}"] = History(tuple(
            tuple(_operations(thread, threads.get(thread, "")))
            for thread in range(max(threads, default=-1) + 1)
        ))  # fmt: skip
    return found


def _operations(thread: int, text: str) -> Iterator[Operation]:
    for name, argument, after, result in _CALL.findall(text):
        pairs = [pair.split(":") for pair in after.split()]
        yield Operation(
            thread, name, int(argument), int(result) if result else None,
            tuple((int(of), int(count)) for of, count in pairs),
        )  # fmt: skip


@dataclass(frozen=True)
class OwnLinearReport:
    """A program against a model."""

    program: ScenarioReport
    histories: dict[str, int]  # by memory model
    unexplained: dict[str, tuple[tuple[History, int], ...]]  # and in how many executions
    returned: dict[str, int]  # "pop 0" -> histories of all memory models with that return
    counterexamples: tuple[Counterexample, ...]
    options: ExploreOptions
    seconds: float
    warnings: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Return whether every history has an explanation, and every execution ends."""
        return self.program.status != VIOLATED


def linear(
    program: Program,
    against: Path,
    options: ExploreOptions | None = None,
    *,
    save: Path | None = None,
    progress: Progress | None = None,
) -> OwnLinearReport:
    """Explore a program, and check its histories against the model in the file `against`.

    Raises:
        UsageError: the program does not compile, does what is not explored, or marks no operation;
            the model is none.
    """
    chosen = (options or ExploreOptions()).checked()
    model = model_of(against)
    started = time.monotonic()
    shows = progress or (lambda _next, _done, _total: None)
    marked = replace(program, flags=(
        *program.flags, "-DWAKEPROOF_LINEAR",
        f"-I{locations.sources() / 'stress' / 'own' / 'include'}",
    ))  # fmt: skip

    def tick(now: dict[str, float]) -> None:
        shows(f"{program.name}: {size_of(now)}", 0, 1)

    with Children() as children, tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        shows("compiling", 0, 1)
        runtime = Runtime(children)
        builder = Builder(children, runtime, Path(folder))
        written = Path(folder) / "histories"
        results = _explored(children, builder.program(marked), marked, chosen, written, tick)
        found = histories(written.read_text("utf-8") if written.exists() else "")
        if not found and any(result.outcomes for result in results):
            raise UsageError(f"{program.files[0]}: no execution ends with an operation that was "
                             "marked; use linear_call and linear_return of linear.h")  # fmt: skip
        explained = {name: model.explains(history) for name, history in found.items()}
        report = judge_program(str(program.files[0]), program.name, results)
        judged = tuple(_with_histories(one, explained) for one in report.judged)
        is_bad = any(one.status == VIOLATED for one in judged)
        report = replace(report, judged=judged, status=VIOLATED if is_bad else report.status)
        keeper = Keeper(chosen, save, lambda *_: [])
        keeper.keep(program.files[0], report, None, sources_hash(runtime, marked), marked.text)
    return OwnLinearReport(
        report,
        {one.model.label: len({o.found.text for o in one.outcomes if o.found.text in found})
         for one in judged},
        {one.model.label: tuple((found[o.found.text], o.found.count) for o in one.outcomes
                                if explained.get(o.found.text) is False)
         for one in judged},
        dict(sorted(Counter(
            f"{one.name} {one.result}" for history in found.values() for of in history.threads
            for one in of if one.result is not None
        ).items())),
        tuple(keeper.found), chosen, time.monotonic() - started, tuple(builder.warnings),
    )  # fmt: skip


def _explored(
    children: Children,
    built: Path,
    program: Program,
    options: ExploreOptions,
    written: Path,
    tick: Tick,
) -> Sequence[Any]:
    return explore(
        children, built, program, options, tick, variables=[f"WAKEPROOF_HISTORIES={written}"]
    )


def _with_histories(judged: Judged, explained: dict[str, bool]) -> Judged:
    """Return the judgement in which an execution without an explanation is a violation."""
    outcomes = tuple(
        replace(one, grade="FORBIDDEN", reason=UNEXPLAINED)
        if explained.get(one.found.text) is False else one
        for one in judged.outcomes
    )  # fmt: skip
    fresh = [one for one in outcomes if one.reason == UNEXPLAINED]
    if not fresh:
        return judged
    messages = (*judged.messages, *(_message(judged, one) for one in fresh[:1]))
    return replace(judged, outcomes=outcomes, status=VIOLATED, messages=messages)


def _message(judged: Judged, outcome: Outcome) -> str:
    return f"{outcome.found.text} ({judged.result.how_often(outcome.found)}): {UNEXPLAINED}"
