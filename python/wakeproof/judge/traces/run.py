# SPDX-License-Identifier: Apache-2.0
"""The judge `conform --traces`: recorded runs of real threads are behaviours of the spec.

The recorder records the scenario that `conform` compares, round by round
(``harness/recorder/access_log.h``).  TLC judges all rounds of a concept in one run, together with a
few tampered rounds.  The replay over TLC's graph must give the same verdict on each round.
Source: docs/judging/traces.md.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

from wakeproof import locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import labels, scenarios, store
from wakeproof.judge.builds import Build, Builder, Program
from wakeproof.judge.check.run import modules, tools
from wakeproof.judge.conform import code as conform_code
from wakeproof.judge.conform import spec as conform_spec
from wakeproof.judge.names import finder
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import models
from wakeproof.judge.traces import batch as trace_batch
from wakeproof.judge.traces import events as trace_events
from wakeproof.judge.traces.batch import Trace
from wakeproof.judge.traces.concept import TraceConcept
from wakeproof.judge.traces.events import Round
from wakeproof.judge.traces.maps import TRACED
from wakeproof.judge.traces.replay import Coverage, Replay
from wakeproof.judge.traces.report import TAMPERED, Grade, TraceReport, TraceResult, grades
from wakeproof.judge.traces.tamper import Lies, tampered, trace_of
from wakeproof.judge.verdicts import Rows

JOBS = 2  # concepts at once
RECORD_TIMEOUT_S = 300.0
TWIN_ROUNDS = 100
TRIES = 10  # a twin is recorded with other delays until a run is rejected; the code, until lies fit
BATCH = 5000  # traces of one run of TLC


Progress = Callable[[TraceResult], None]


def traces(
    pattern: str | None = None,
    *,
    count: int = 2000,
    seed: int = 1,
    twins: bool = True,
    progress: Progress | None = None,
    rows: Rows | None = None,
) -> TraceReport:
    """Record `count` rounds of each concept with a name that matches `pattern`, and judge them.

    `rows`: concepts and twins with a row there are not judged again, and the others get one.

    Raises:
        UsageError: nothing matches, or a scenario does not compile.
        JudgeError: recorder or TLC failed, or the two judges differ on a trace.
        MissingToolError: no Java, no TLC or no C compiler.
    """
    is_named = finder(pattern)
    chosen = [table for table in TRACED if is_named(table.name)]
    if count < 1:
        raise UsageError(f"--traces is {count}; allowed: 1 or more")
    if not chosen:
        raise UsageError(
            f"no concept matches {pattern!r}; there are {', '.join(t.name for t in TRACED)}"
        )
    begin = time.monotonic()
    with Children() as children, ThreadPoolExecutor(JOBS) as pool:
        judge = _Judge(children, seed, rows)
        try:
            work = [pool.submit(judge.table, t, count, progress, twins=twins) for t in chosen]
            results = [result for done in work for result in done.result()]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.kill_all()
            raise
    return TraceReport(tuple(results), time.monotonic() - begin, seed)


def programs(rows: Rows, builder: Builder, count: int, seed: int = 1) -> list[Program]:
    """Return the programs that `traces` with these `rows` compiles."""
    return [
        _program(table, twin)
        for table in TRACED for twin in ("", *table.twins)
        if rows.lacks("traces", _name_of(table, twin), inputs_of(builder, table, twin, count, seed))
    ]  # fmt: skip


def inputs_of(
    builder: Builder, table: TraceConcept, twin: str, count: int, seed: int
) -> dict[str, str]:
    """Return the inputs of a verdict on runs, without the machine and luck."""
    return {
        **modules(locations.sources() / "specs", table.concept.module),
        **tools(),
        "program": builder.identity(*_program(table, twin)),
        "runs": f"{_name_of(table, twin)} {TWIN_ROUNDS if twin else count} {seed}",
        "code": store.code_hash("traces/run.py"),
    }


def _name_of(table: TraceConcept, twin: str) -> str:
    """Return the name of a row."""
    return f"{table.name}; {twin or 'no twin'}"


def _program(table: TraceConcept, twin: str) -> Program:
    scenario = scenarios.of_concept("conform", table.concept.scenario)
    return scenario, Build(kind="recorded", twin=twin or None)


class _Judge:
    """Records runs, and has both judges judge them."""

    def __init__(self, children: Children, seed: int, rows: Rows | None) -> None:
        self.children = children
        self.seed = seed
        self.rows = rows
        self.sources = locations.sources()
        self.builder = Builder(children)
        self.labels = labels.read(self.sources)

    def table(
        self, table: TraceConcept, count: int, progress: Progress | None, *, twins: bool
    ) -> list[TraceResult]:
        """Judge a concept, and its twins."""
        results = []
        replay: Replay | None = None
        for twin in ("", *table.twins) if twins else ("",):
            result = self.known(table, twin, count)
            if result is None:
                replay = replay or self.replay(table)
                result = self.twin(table, replay, twin) if twin else self.code(table, replay, count)
                self.add(result, count)
            results.append(result)
            if progress:
                progress(result)
        return results

    def replay(self, table: TraceConcept) -> Replay:
        """Return the graph of a concept's spec."""
        folder = models.folder(self.sources / "specs")
        return Replay(table, *conform_spec.graph(table.concept, folder, self.children))

    def known(self, table: TraceConcept, twin: str, count: int) -> TraceResult | None:
        """Return the result of an earlier job, if it was as expected."""
        if self.rows is None:
            return None
        inputs = inputs_of(self.builder, table, twin, count, self.seed)
        row = self.rows.find("traces", _name_of(table, twin), inputs)
        result = _result_of(table, twin, row.detail) if row else None
        return result if result and result.holds else None

    def add(self, result: TraceResult, count: int) -> None:
        """Add a row without counts, because its runs are a matter of luck."""
        if self.rows is not None:
            table, twin = result.table, result.twin
            self.rows.judged(
                "traces", _name_of(table, twin),
                inputs_of(self.builder, table, twin, count, self.seed),
                "rejected" if result.rejected else "accepted", None, _plain_of(result),
                holds=result.holds,
            )  # fmt: skip

    def code(self, table: TraceConcept, replay: Replay, count: int) -> TraceResult:
        """Judge rounds; others, while threads met so rarely that too few lies can be told."""
        result = self.judge(table, replay, count)
        for more in range(1, TRIES):
            if result.wrong or not result.lacking:
                break
            result = self.judge(table, replay, count, more=more)
        return result

    def twin(self, table: TraceConcept, replay: Replay, twin: str) -> TraceResult:
        """Judge rounds of a twin until one is rejected."""
        result = self.judge(table, replay, TWIN_ROUNDS, twin)
        for more in range(1, TRIES):
            if result.rejected:
                break
            again = self.judge(table, replay, TWIN_ROUNDS, twin, more)
            result = replace(
                again, traces=result.traces + again.traces, aside=result.aside + again.aside,
                events=result.events + again.events, seconds=result.seconds + again.seconds,
            )  # fmt: skip
        return result

    def judge(
        self, table: TraceConcept, replay: Replay, count: int, twin: str = "", more: int = 0
    ) -> TraceResult:
        """Record `count` rounds and judge them; without a twin, also judge tampered rounds."""
        begin = time.monotonic()
        every = self.record(table, twin, count, self.seed + more)
        rounds = [one for one in every if table.wrong(one) or table.judged(one)]
        told = [trace_of(table, one) for one in rounds]
        lies = Lies() if twin else tampered(table, rounds, TAMPERED, self.seed)
        good = self.accepted(table, [*told, *lies.traces])
        covered: set[int] = set()
        rejected: list[int] = []
        stuck: list[str] = []
        found: Counter[str] = Counter()
        for index, trace in enumerate([*told, *lies.traces]):
            explained = replay.explain(trace)
            if explained.accepted != (index in good):
                raise JudgeError(f"{table.name}: {_differ(trace, index in good)}")
            if trace.lie:
                found[trace.lie] += not explained.accepted
            elif explained.accepted:
                covered |= {move.edge for move in explained.moves if move.edge >= 0}
            else:
                rejected.append(trace.number)
                stuck = stuck or replay.stuck(trace, explained)
        return TraceResult(
            table, twin, len(told), len(every) - len(told),
            sum(len(events) for one in rounds for events in one.threads),
            tuple(rejected), tuple(stuck), grades(lies, found),
            replay.coverage(covered), time.monotonic() - begin,
        )  # fmt: skip

    def accepted(self, table: TraceConcept, every: list[Trace]) -> set[int]:
        """Return the indices of the traces that TLC accepts."""
        specs = models.folder(self.sources / "specs")
        good: set[int] = set()
        for first in range(0, len(every), BATCH):
            batch = every[first : first + BATCH]
            good |= {first + n for n in trace_batch.accepted(table, batch, specs, self.children)}
        return good

    def record(self, table: TraceConcept, twin: str, count: int, seed: int) -> list[Round]:
        """Run the scenario; a site that only a twin has is no event."""
        concept = table.concept
        scenario, build = _program(table, twin)
        program = self.builder.program(scenario, build)
        names = conform_code.site_names(self.labels, self.sources / "kernel", scenario, twin)
        command = [str(program), "--test", concept.test, "--rounds", str(count), "--limit",
                   str(table.limit), "--ring", "256", "--seed", str(seed)]  # fmt: skip
        ended = self.children.run(command, timeout_s=RECORD_TIMEOUT_S)
        if ended.code or ended.timed_out:
            raise JudgeError(f"the recorder on {concept.test}: {ended.output.strip()[-400:]}")
        rounds = trace_events.read(ended.output.splitlines(), names)
        for one in rounds if twin else ():
            one.threads = [[e for e in events if ":" not in e.site] for events in one.threads]
        return rounds


def _plain_of(result: TraceResult) -> dict[str, Any]:
    return {
        "traces": result.traces, "aside": result.aside, "events": result.events,
        "rejected": result.rejected, "grades": [asdict(grade) for grade in result.grades],
        "coverage": asdict(result.coverage),
    }  # fmt: skip


def _result_of(table: TraceConcept, twin: str, detail: dict[str, Any]) -> TraceResult:
    cover = detail["coverage"]
    own = {
        "rejected": tuple(detail["rejected"]),
        "grades": tuple(Grade(**grade) for grade in detail["grades"]),
        "coverage": Coverage(
            **{**cover, "actions": {a: tuple(n) for a, n in cover["actions"].items()}}
        ),
    }
    return TraceResult(table, twin, **(detail | own), stuck=(), seconds=0.0)


def _differ(trace: Trace, by_tlc: bool) -> str:
    what = f"tampered ({trace.tampered})" if trace.tampered else "as recorded"
    says = "accepts it, the replay does not" if by_tlc else "rejects it, the replay does not"
    return f"the judges differ on round {trace.number}, {what}: TLC {says}"
