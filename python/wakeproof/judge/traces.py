# SPDX-License-Identifier: Apache-2.0
"""The judge `conform --traces`: what real threads did on real cores is a behaviour of the spec.

The scenario that `conform` compares is recorded round by round (``harness/recorder/access_log.h``);
TLC judges all rounds of a concept in one run, a few tampered ones among them. The replay over TLC's
graph must give the same verdict on each.
Source: docs/traces.md.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from wakeproof import locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import (
    conform_code,
    conform_spec,
    explore_labels,
    models,
    scenarios,
    trace_batch,
    trace_events,
)
from wakeproof.judge.builds import Build, Builder, Program
from wakeproof.judge.names import finder
from wakeproof.judge.process import Children
from wakeproof.judge.trace_batch import Trace
from wakeproof.judge.trace_concept import TraceConcept
from wakeproof.judge.trace_events import Round
from wakeproof.judge.trace_maps import TRACED
from wakeproof.judge.trace_replay import Replay
from wakeproof.judge.trace_reports import TAMPERED, TraceReport, TraceResult, grades
from wakeproof.judge.trace_tamper import Lies, tampered, trace_of

JOBS = 2  # concepts at once
RECORD_TIMEOUT_S = 300.0
TWIN_ROUNDS = 100
TWIN_TRIES = 10  # a twin is recorded again, with other delays, until a run is rejected
BATCH = 5000  # traces of one run of TLC


Progress = Callable[[TraceResult], None]


def traces(
    pattern: str | None = None,
    *,
    count: int = 2000,
    seed: int = 1,
    twins: bool = True,
    progress: Progress | None = None,
) -> TraceReport:
    """Record `count` rounds of each concept whose name matches `pattern`, and judge them.

    Raises:
        UsageError: nothing matches, or a scenario does not compile.
        JudgeError: recorder or TLC failed, or the two judges differ on a trace.
        MissingToolError: no Java, no TLC or no C compiler.
    """
    is_named = finder(pattern)
    chosen = [table for table in TRACED if is_named(table.name)]
    if count < 1:
        raise UsageError(f"--traces {count}: allowed: 1 or more")
    if not chosen:
        raise UsageError(
            f"no concept matches {pattern!r}; there are {', '.join(t.name for t in TRACED)}"
        )
    begin = time.monotonic()
    with Children() as children, ThreadPoolExecutor(JOBS) as pool:
        judge = _Judge(children, seed)
        try:
            work = [pool.submit(judge.table, t, count, progress, twins=twins) for t in chosen]
            results = [result for done in work for result in done.result()]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.kill_all()
            raise
    return TraceReport(tuple(results), seed, time.monotonic() - begin)


def programs() -> list[Program]:
    """Return what `traces` compiles."""
    return [_program(table, twin) for table in TRACED for twin in ("", *table.twins)]


def _program(table: TraceConcept, twin: str) -> Program:
    scenario = scenarios.of_concept("conform", table.concept.scenario)
    return scenario, Build(kind="recorded", twin=twin or None)


class _Judge:
    """Records, and asks both judges."""

    def __init__(self, children: Children, seed: int) -> None:
        self.children = children
        self.seed = seed
        self.sources = locations.sources()
        self.builder = Builder(children)
        self.labels = explore_labels.read(self.sources)

    def table(
        self, table: TraceConcept, count: int, progress: Progress | None, *, twins: bool
    ) -> list[TraceResult]:
        """Judge a concept, and its twins."""
        specs = models.folder(self.sources / "specs")
        replay = Replay(table, *conform_spec.graph(table.concept, specs, self.children))
        results = []
        for twin in ("", *table.twins) if twins else ("",):
            result = self.twin(table, replay, twin) if twin else self.judge(table, replay, count)
            results.append(result)
            if progress:
                progress(result)
        return results

    def twin(self, table: TraceConcept, replay: Replay, twin: str) -> TraceResult:
        """Judge rounds of a twin until one is rejected."""
        result = self.judge(table, replay, TWIN_ROUNDS, twin)
        for more in range(1, TWIN_TRIES):
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
        """Record `count` rounds and judge them, and tampered ones unless it is a twin."""
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
        """Run the scenario; a twin's sites that stand for none of the code's are no events."""
        concept = table.concept
        scenario, build = _program(table, twin)
        program = self.builder.program(scenario, build)
        names = conform_code.site_names(self.labels, self.sources / "kernel", scenario)
        command = [str(program), "--test", concept.test, "--rounds", str(count), "--limit",
                   str(table.limit), "--ring", "256", "--seed", str(seed)]  # fmt: skip
        ended = self.children.run(command, timeout_s=RECORD_TIMEOUT_S)
        if ended.code or ended.timed_out:
            raise JudgeError(f"the recorder on {concept.test}: {ended.output.strip()[-400:]}")
        rounds = trace_events.read(ended.output.splitlines(), names)
        for one in rounds if twin else ():
            one.threads = [[e for e in events if ":" not in e.site] for events in one.threads]
        return rounds


def _differ(trace: Trace, by_tlc: bool) -> str:
    what = f"tampered ({trace.tampered})" if trace.tampered else "as recorded"
    says = "accepts it, the replay does not" if by_tlc else "rejects it, the replay does not"
    return f"the judges differ on round {trace.number}, {what}: TLC {says}"
