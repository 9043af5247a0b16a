# SPDX-License-Identifier: Apache-2.0
"""The judge `linear`: each operation of the compiled code takes effect between call and return.

The threads of a scenario mark their calls and returns, and the explorer gives every state and every
step.  The sequential spec must allow each history in that graph, of any length.  A broken twin, and
a spec that promises more than the code does, must have a history that the spec does not allow.
Source: Herlihy and Wing 1990; ``stress/linear``.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import labels, scenarios, store
from wakeproof.judge.builds import Build, Builder, Program
from wakeproof.judge.conform import code as conform_code
from wakeproof.judge.conform.code import Dump
from wakeproof.judge.explore.results import why_no_graph
from wakeproof.judge.linear.cases import CASES, Case
from wakeproof.judge.linear.check import Row, check
from wakeproof.judge.names import finder
from wakeproof.judge.process import Children
from wakeproof.judge.results import Results, gathered
from wakeproof.judge.verdicts import Rows

TIMEOUT_S = 900.0
_COUNTS = ("states", "edges", "pairs", "sets", "returned")
_MARK = re.compile(r"\blitmus_(call|return)\((\w+)")


@dataclass(frozen=True)
class LinearResult:
    """One check; it must fail if it has a twin, or a spec that promises too much."""

    case: Case
    states: int  # of the code
    edges: int
    pairs: int  # of states of the code and of the spec's automaton
    sets: int  # states of the automaton
    returned: dict[str, int]  # "pop 0" -> edges with that return
    counterexample: tuple[Row, ...]  # the shortest; empty: every history is explained
    missing: tuple[str, ...]  # returns that had to occur, so that the check says something
    seconds: float

    @property
    def holds(self) -> bool:
        """Return whether the result is as it must be."""
        return not self.missing and bool(self.counterexample) == self.case.must_fail


class LinearReport(Results[LinearResult]):
    """All checks of a job."""

    @property
    def problems(self) -> tuple[str, ...]:
        """The results that are not as they must be, a line each."""
        return tuple(f"linear: {r.case.title}" for r in self.results if not r.holds)


Progress = Callable[[LinearResult], None]


def linear(
    pattern: str | None = None,
    *,
    slow: bool = True,
    progress: Progress | None = None,
    rows: Rows | None = None,
) -> LinearReport:
    """Check the cases of scenarios with a name that matches `pattern` (None: all).

    `slow`: also check the cases that take a minute.  `rows`: cases with a row there are not checked
    again, and the others get one.

    Raises:
        UsageError: nothing matches, or a scenario does not compile.
        JudgeError: the explorer gave no graph.
        MissingToolError: no C compiler.
    """
    is_named = finder(pattern)
    chosen = [c for c in CASES if is_named(c.test)]
    if not chosen:
        names = dict.fromkeys(c.test for c in CASES)
        raise UsageError(f"-t {pattern!r} matches no scenario; there are {', '.join(names)}")
    with Children() as children:
        judge = _Judge(children, rows)
        results = (judge.judge(case) for case in chosen if case.is_quick or slow)
        return LinearReport(*gathered(results, progress))


def programs(rows: Rows, builder: Builder, *, slow: bool = True) -> list[Program]:
    """Return the programs that `linear` with this `slow` and these `rows` compiles."""
    return [
        _program(case)
        for case in CASES
        if (case.is_quick or slow) and rows.lacks("linear", case.title, inputs_of(builder, case))
    ]


def _program(case: Case) -> Program:
    scenario = scenarios.of_concept("linear", case.name)
    return scenario, Build(twin=case.twin or None, kind="explored")


def inputs_of(builder: Builder, case: Case) -> dict[str, str]:
    """Return the inputs of the verdict on a case."""
    return {
        "program": builder.identity(*_program(case)),
        "case": f"{case.title} {case.must_fail} {case.shows}",
        "code": store.code_hash("linear/run.py"),
    }


class _Judge:
    """Explores each program once under each model."""

    def __init__(self, children: Children, rows: Rows | None) -> None:
        self.children = children
        self.rows = rows
        self.sources = locations.sources()
        self.builder = Builder(children)
        self.labels = labels.read(self.sources)
        self._last: tuple[tuple[str, str, str], Dump] | None = None

    def judge(self, case: Case) -> LinearResult:
        """Check one case, or return the kept result."""
        if self.rows is None:
            return self._judge(case)
        inputs = inputs_of(self.builder, case)
        row = self.rows.find("linear", case.title, inputs)
        if row is not None:
            steps = tuple(Row(*step) for step in row.detail)
            known = LinearResult(
                case, **row.counts, counterexample=steps, missing=(), seconds=0.0
            )  # fmt: skip
            if known.holds:
                return known
        result = self._judge(case)
        exact = {name: getattr(result, name) for name in _COUNTS}
        shown = tuple(astuple(step) for step in result.counterexample)
        verdict = "a history that nothing explains" if shown else "linearizable"
        self.rows.judged(
            "linear", case.title, inputs, verdict, exact, shown, holds=result.holds
        )  # fmt: skip
        return result

    def _judge(self, case: Case) -> LinearResult:
        begin = time.monotonic()
        key = (case.test, case.model, case.twin)
        if self._last is None or self._last[0] != key:
            self._last = None  # only one graph at a time is in memory
            self._last = key, self._explore(case)
        dump = self._last[1]
        found = check(dump, case.spec)
        missing = () if case.must_fail else tuple(r for r in case.shows if r not in found.returned)
        return LinearResult(
            case, len(dump.states), len(dump.source), found.pairs, found.sets, found.returned,
            found.counterexample, missing, time.monotonic() - begin,
        )  # fmt: skip

    def _explore(self, case: Case) -> Dump:
        scenario, build = _program(case)
        program = self.builder.program(scenario, build)
        names = conform_code.site_names(
            self.labels, self.sources / "kernel", scenario, case.twin or None
        )
        names |= marks(scenario)
        with tempfile.TemporaryDirectory(prefix="wakeproof-linear-") as folder:
            file = Path(folder) / "dump"
            command = [str(program), "--test", case.test, "--model", case.model,
                       "--engine", "states", "--no-examples", "--progress", "none",
                       "--dump", str(file)]  # fmt: skip
            ended = self.children.run(command, timeout_s=TIMEOUT_S)
            if ended.code or ended.timed_out or not file.exists():
                raise JudgeError(f"the explorer on {case.test}: {why_no_graph(ended.output)}")
            with file.open(encoding="utf-8") as stream:
                try:
                    return conform_code.read(stream, names)
                except (JudgeError, ValueError):
                    raise JudgeError(
                        f"{case.test} under {case.model.upper()}: {why_no_graph(ended.output)}"
                    ) from None


def marks(scenario: Path) -> dict[tuple[str, int], str]:
    """Return "call push" and "return push" by (file, line)."""
    lines = enumerate(scenario.read_text(encoding="utf-8").splitlines(), start=1)
    found = ((number, _MARK.search(line)) for number, line in lines)
    return {(scenario.name, n): f"{mark[1]} {mark[2]}" for n, mark in found if mark}
