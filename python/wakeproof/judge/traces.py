# SPDX-License-Identifier: Apache-2.0
"""The judge `conform --traces`: what real threads did on real cores is a behaviour of the spec.

The scenario that `conform` compares is recorded round by round (``kernel/events.h``); TLC judges
all rounds of a concept in one run, a few tampered ones among them. The replay over TLC's graph must
give the same verdict on each.
Source: DESIGN section 6, TOOLCHAIN 3.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from wakeproof import paths
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import conform_code, conform_spec, explore_labels, trace_batch, trace_events
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.names import finder
from wakeproof.judge.process import Children
from wakeproof.judge.trace_batch import Trace
from wakeproof.judge.trace_concept import TraceConcept
from wakeproof.judge.trace_events import Round
from wakeproof.judge.trace_maps import TRACED
from wakeproof.judge.trace_replay import Coverage, Replay
from wakeproof.judge.trace_tamper import tampered, trace_of

TAMPERED = 30
MAY_PASS = 0.2
"""Share of tampered traces that may be behaviours all the same; seen: 1 in 240."""
JOBS = 2  # concepts at once
RECORD_TIMEOUT_S = 300.0
TWIN_ROUNDS = 100
BATCH = 5000  # traces of one run of TLC


@dataclass(frozen=True)
class TraceResult:
    """The runs of one concept, or of its twin, whose runs must be rejected."""

    table: TraceConcept
    twin: str
    traces: int
    aside: int  # rounds that were not judged; see the table
    events: int
    rejected: tuple[int, ...]  # rounds
    stuck: tuple[str, ...]  # the first of them, in lines
    lies: int  # tampered traces, and of these:
    found: int  # rejected, by both judges
    coverage: Coverage
    seconds: float

    @property
    def problem(self) -> str:
        """Return what is wrong, or ""."""
        missed = self.lies - self.found
        if not self.traces:
            wrong = "no run can be judged"
        elif self.twin:
            wrong = "" if self.rejected else f"no run of the twin {self.twin} is rejected"
        elif self.rejected:
            wrong = f"{len(self.rejected)} of {self.traces} runs are no behaviours of the spec"
        else:
            wrong = f"{missed} of {self.lies} lies pass" if missed > self.lies * MAY_PASS else ""
        return f"{self.table.name}: {wrong}" if wrong else ""

    @property
    def holds(self) -> bool:
        """Say whether it came out as it must."""
        return not self.problem


@dataclass(frozen=True)
class TraceReport:
    """All concepts of a job."""

    results: tuple[TraceResult, ...]
    seed: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Say whether all came out as they must."""
        return all(result.holds for result in self.results)

    @property
    def text(self) -> str:
        """Return the report in a sentence or two."""
        told = [result for result in self.results if not result.twin]
        rejected = sum(len(result.rejected) for result in told)
        return (
            f"{sum(r.traces for r in told):,} runs of {len(told)} scenarios on real cores, "
            f"{sum(r.events for r in told):,} events; {rejected} are no behaviour of their spec. "
            f"Of {sum(r.lies for r in told)} tampered ones {sum(r.found for r in told)} are "
            f"rejected, and of each of {len(self.results) - len(told)} twins at least one. They "
            f"cover {sum(r.coverage.edges for r in told):,} of "
            f"{sum(r.coverage.of_edges for r in told):,} edges of the specs' graphs."
        )


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
        work = [pool.submit(judge.table, t, count, progress, twins=twins) for t in chosen]
        try:
            results = [result for done in work for result in done.result()]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.kill_all()
            raise
    return TraceReport(tuple(results), seed, time.monotonic() - begin)


class _Judge:
    """Records, and asks both judges."""

    def __init__(self, children: Children, seed: int) -> None:
        self.children = children
        self.seed = seed
        self.sources = paths.sources()
        self.builder = Builder(children)
        self.labels = explore_labels.read(self.sources)

    def table(
        self, table: TraceConcept, count: int, progress: Progress | None, *, twins: bool
    ) -> list[TraceResult]:
        """Judge a concept, and its twins."""
        specs = self.sources / "specs"
        replay = Replay(table, *conform_spec.graph(table.concept, specs, self.children))
        results = []
        for twin in ("", *table.twins) if twins else ("",):
            result = self.judge(table, replay, twin, TWIN_ROUNDS if twin else count)
            results.append(result)
            if progress:
                progress(result)
        return results

    def judge(self, table: TraceConcept, replay: Replay, twin: str, count: int) -> TraceResult:
        """Record `count` rounds and judge them, and tampered ones unless it is a twin."""
        begin = time.monotonic()
        every = self.record(table, twin, count)
        rounds = [one for one in every if table.judged(one)]
        told = [trace_of(table, one) for one in rounds]
        lies = [] if twin else tampered(table, rounds, TAMPERED, self.seed)
        good = self.accepted(table, [*told, *lies])
        covered: set[int] = set()
        rejected: list[int] = []
        stuck: list[str] = []
        found = 0
        for index, trace in enumerate([*told, *lies]):
            explained = replay.explain(trace)
            if explained.accepted != (index in good):
                raise JudgeError(f"{table.name}: {_differ(trace, index in good)}")
            if trace.tampered:
                found += not explained.accepted
            elif explained.accepted:
                covered |= {move.edge for move in explained.moves if move.edge >= 0}
            else:
                rejected.append(trace.number)
                stuck = stuck or replay.stuck(trace, explained)
        return TraceResult(
            table, twin, len(told), len(every) - len(told),
            sum(len(events) for one in rounds for events in one.threads),
            tuple(rejected), tuple(stuck), len(lies), found,
            replay.coverage(covered), time.monotonic() - begin,
        )  # fmt: skip

    def accepted(self, table: TraceConcept, every: list[Trace]) -> set[int]:
        """Return the indices of the traces that TLC accepts."""
        specs = self.sources / "specs"
        good: set[int] = set()
        for first in range(0, len(every), BATCH):
            batch = every[first : first + BATCH]
            good |= {first + n for n in trace_batch.accepted(table, batch, specs, self.children)}
        return good

    def record(self, table: TraceConcept, twin: str, count: int) -> list[Round]:
        """Run the scenario; a twin's sites without a label are no events."""
        concept = table.concept
        scenario = self.sources / "stress" / "conform" / f"conform_{concept.scenario}.c"
        program = self.builder.program(scenario, Build(kind="recorded", twin=twin or None))
        names = conform_code.site_names(self.labels, self.sources / "kernel", scenario)
        command = [str(program), "--test", concept.test, "--rounds", str(count), "--limit",
                   str(table.limit), "--ring", "256", "--seed", str(self.seed)]  # fmt: skip
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
