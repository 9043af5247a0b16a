# SPDX-License-Identifier: Apache-2.0
"""Runs the rows: sides take turns in slices of milliseconds, pinned to CPUs if that is allowed."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wakeproof import locations
from wakeproof.bench import peers, placement, python, versions
from wakeproof.bench import program as building
from wakeproof.bench.grading import MET, SHORT, TIE, Result, Samples, grade
from wakeproof.bench.program import Program
from wakeproof.bench.rows import Row
from wakeproof.bench.table import ROWS
from wakeproof.errors import JudgeError, MissingToolError, UsageError
from wakeproof.judge import report
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.explore import explorer
from wakeproof.judge.explore import results as explore_results
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.names import finder
from wakeproof.judge.own.build import Builder as OwnBuilder
from wakeproof.judge.own.program import Program as OwnProgram
from wakeproof.judge.own.run import explore as explore_own
from wakeproof.judge.own.runtime import Runtime
from wakeproof.judge.process import Children

Progress = Callable[[str], None]

ROUNDS_LEAST, ROUNDS_MOST = 8, 96  # the program goes through 8 code placements (bench/task.h)
SIDES, TRIES = 4, 8  # of a row, for the number of rounds; of a preempted slice
SLICE_MS = {  # blocking: a round trip takes microseconds; many tasks at once
    "parker": 10.0, "pingpong_asleep": 10.0, "group_tasks": 60.0, "group_unpark": 10.0,
    "memory": 160.0, "balanced": 5.0, "hot_carrier": 100.0, "stack_made": 20.0, "dump": 50.0,
    "vthread_many": 100.0, "vthread_memory": 500.0, "scale_yield": 200.0, "scale_turn": 400.0,
    **{f"strategy_{of}": 20.0 for of in ("told", "never", "some", "always", "soon", "soon_told")},
    **placement.SLICE_MS,
}  # fmt: skip
SLICE_MS_ELSE = 2.0
PEERS_SLICE_MS, PEERS_ROUNDS = 20.0, 4  # of ours; the others do peers.OPERATIONS
HARNESS_SLICE_S = 0.05  # a process per sample; preempted as often as the loop beside it
EXPLORE_LEAST, EXPLORE_SLICE_S, ADDS_AGAIN = 3, 0.15, 8
OWN_PROGRAMS = {
    "adds": ("adds.c", "100k", 100_000), "cxx": ("condition.cpp", "10k", 10_000),
    "rust": ("condition.rs", "10k, Rust", 10_000),
}  # fmt: skip
"""By side: the file in bench/own, the side of the goal, and the goal in executions a second."""
LONG = "program long\n" + ("thread\n" + "  add x 1 relaxed\n" * 3) * 4  # 369,600
ADDS = "program adds\n" + "thread\n  r0 = add x 1 seq_cst\n" * 7 + "observe x\n"  # 5,040
TIMEOUT_S = 600.0


@dataclass(frozen=True)
class BenchReport:
    """Every line of the table, the machine that measured it, and the peers' versions."""

    results: tuple[Result, ...]
    machine: str
    compiler: str
    cpus: tuple[int, ...]
    peers: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[Result, ...]:
        """Return the rows of which a side has failed."""
        return tuple(result for result in self.results if result.has_failed)

    def count(self, verdict: str) -> int:
        """Return how many goals have this `verdict`."""
        return sum(result.verdict == verdict for result in self.results)

    @property
    def summary(self) -> str:
        """Return the last line of the table."""
        judged = self.count(MET) + self.count(TIE) + self.count(SHORT)
        skipped = sum(bool(result.not_run) for result in self.results)
        tail = f"; {skipped} rows not run" if skipped else ""
        tail += f", {len(self.failed)} of them failed" if self.failed else ""
        return (
            f"{judged} goals: {self.count(MET)} met, {self.count(TIE)} tie (the goal lies within "
            f"the quartiles), {self.count(SHORT)} short{tail}"
        )


def bench(
    regex: str | None = None, seconds: float = 0.5, progress: Progress = lambda _: None
) -> BenchReport:
    """Measure the rows that `select` finds, for about `seconds` each, and store the results.

    If a side fails its own check (a queue lost a task) or ends with an error, the rows of its
    program say so, and the others are measured all the same.

    Raises:
        UsageError: no row has such a name, or `seconds` is not positive.
        MissingToolError: no C compiler, or no bench sources.
        JudgeError: the bench does not compile.
    """
    rows = select(regex)
    if not 0 < seconds <= 3600:
        raise UsageError(f"--seconds {seconds:g}: must be more than 0 and at most 3600")
    cpus = tuple(sorted(os.sched_getaffinity(0)))[:8]
    folder = locations.cache() / "bench"
    with Children() as children:
        progress("building")
        program = building.build(children)
        compiler = Builder(children).compiler_name
        results: list[Result] = []
        for name in dict.fromkeys(row.program for row in rows):
            progress(name)
            own = [row for row in rows if row.program == name]
            try:
                samples = _measure(children, program, name, seconds, cpus)
            except JudgeError as error:
                results += [Result(row, f"failed: {error}", has_failed=True) for row in own]
                continue
            found = [judge(row, samples) for row in own]
            locations.write_atomically(folder / f"{name}.json", report.to_json([samples, found]))
            results += found
        asked = [f"{one.row.name}, {one.row.against}" for one in results if not one.not_run]
        said = versions.of(children, asked)
    ended = BenchReport(tuple(results), platform.machine(), compiler, cpus, said)
    locations.write_atomically(folder / "bench.json", report.to_json(ended))
    return ended


def select(regex: str | None) -> list[Row]:
    """Return the rows in which `regex` matches the name, program, peer or concept.

    Raises:
        UsageError: not a regular expression, or no such row.
    """
    rows = [*filter(matcher(regex), ROWS)]
    if not rows:
        known = ", ".join(dict.fromkeys(row.program for row in ROWS))
        raise UsageError(f"no row matches {regex!r}; there are {known}")
    return rows


def matcher(regex: str | None) -> Callable[[Row], bool]:
    """Return whether `regex` matches the name, program, peer or concept of a row.

    Raises:
        UsageError: not a regular expression.
    """
    is_named = finder(regex)
    return lambda row: any(map(is_named, (row.name, row.program, row.against, row.concept)))


def judge(row: Row, samples: Samples) -> Result:
    """Return the grade of a row, or the reason why it was not run."""
    if row.peer not in samples.ns and row.needs:
        return Result(row, not_run=samples.missing.get(row.peer, f"not run: install {row.needs}"))
    return grade(row, samples)


def _measure(
    children: Children, program: Program, name: str, seconds: float, cpus: tuple[int, ...]
) -> Samples:
    if name == "harness":
        return _measure_harness(children, program, seconds, cpus)
    if name == "explore":
        return _measure_explore(children, seconds)
    if name == "own":
        return _measure_own(children, seconds)
    if name in peers.OPERATIONS:
        return _measure_peers(children, program, name, cpus)
    if name in python.OPERATIONS:
        return _measure_python(children, name)
    slice_ms = SLICE_MS.get(name, SLICE_MS_ELSE)
    rounds = _rounds(seconds * 1e3 / slice_ms / SIDES)
    samples = _run(children, program.path, name, rounds, slice_ms, TRIES, cpus)
    return replace(samples, missing=program.missing)


def _rounds(wanted: float) -> int:
    """Return a multiple of ROUNDS_LEAST."""
    return min(max(int(wanted), ROUNDS_LEAST), ROUNDS_MOST) // ROUNDS_LEAST * ROUNDS_LEAST


def _run(
    children: Children, program: Path, name: str, rounds: int, slice_ms: float, tries: int,
    cpus: tuple[int, ...],
) -> Samples:  # fmt: skip
    numbers = [str(n) for n in (rounds, slice_ms, tries, *cpus)]
    found = _json(children, [str(program), name, *numbers])
    return Samples(found["samples"], found["counts"], found["disturbed"])


def _measure_harness(
    children: Children, program: Program, seconds: float, cpus: tuple[int, ...]
) -> Samples:
    """Let the engine's program and the bare loop take turns, a process each."""
    engine = Builder(children).program(building.folder() / building.SCENARIO, Build("O2"))
    command = [str(engine), "--run", "store_buffering", "--seconds", str(HARNESS_SLICE_S)]
    if len(cpus) > 1:
        command += ["--cpus", f"{cpus[0]},{cpus[1]}"]
    ns: dict[str, list[float]] = {"engine": [], "sweep": [], "block": []}
    for _ in range(_rounds(seconds / HARNESS_SLICE_S)):
        found = _json(children, command)
        ns["engine"].append(found["seconds"] * 1e9 / found["samples"])
        bare = _run(children, program.path, "bare", 1, HARNESS_SLICE_S * 1e3, 1, cpus[:2])
        for side in ("sweep", "block"):
            ns[side] += bare.ns[side]
    return Samples(ns)


def _measure_peers(
    children: Children, program: Program, name: str, cpus: tuple[int, ...]
) -> Samples:
    """Let our program's row and the other schedulers take turns, a process each."""
    built, missing = peers.build(children, {row.peer for row in ROWS if row.program == name})
    slice_ms, ops = SLICE_MS.get(name, PEERS_SLICE_MS), str(peers.OPERATIONS[name])
    ns: dict[str, list[float]] = {}
    counts: dict[str, dict[str, list[float]]] = {}
    for _ in range(PEERS_ROUNDS):
        ours = _run(children, program.path, name, 1, slice_ms, TRIES, cpus)
        _extend(ns, ours.ns)
        for count, of in ours.counts.items():
            _extend(counts.setdefault(count, {}), of)
        for side, command in built.items():
            said = _json(children, [*command, name, ops, *map(str, cpus)])
            _sort(said, side, ns, counts)
    return Samples(ns, counts, missing=missing)


def _sort(
    said: Any, side: str, ns: dict[str, list[float]], counts: dict[str, dict[str, list[float]]]
) -> None:
    """Add what the program of a side has printed: nanoseconds, alone or beside counts."""
    own = dict(said) if isinstance(said, dict) else {"ns": said}
    ns.setdefault(side, []).append(float(own.pop("ns")))
    for count, value in own.items():
        counts.setdefault(count, {}).setdefault(side, []).append(float(value))


def _extend(samples: dict[str, list[float]], found: dict[str, list[float]]) -> None:
    for side, more in found.items():
        samples.setdefault(side, []).extend(more)


def _measure_python(children: Children, name: str) -> Samples:
    """Let the ways to have many threads in Python take turns, a process each."""
    sides, missing = python.sides(name)
    ns: dict[str, list[float]] = {}
    counts: dict[str, dict[str, list[float]]] = {}
    for _ in range(PEERS_ROUNDS):
        for side in sides:
            _sort(_json(children, python.command(name, side)), side, ns, counts)
    return Samples(ns, counts, missing=missing)


def _measure_explore(children: Children, seconds: float) -> Samples:
    """Let the explorer's programs take turns, a process each; goals are constants.

    The measure is processor time; for two processes, the longer time, as it would be on quiet CPUs.
    """
    builder = Builder(children)
    adds, queue = builder.explorer(), builder.explorer(building.folder() / building.EXPLORED)
    options = ExploreOptions(models=(Model.RC11,), engine="graphs", loop_bound=0)
    ns: dict[str, list[float]] = {s: [] for s in ("adds", "500k", "queue", "20k", "one", "two")}

    def run(texts: list[str], jobs: int = 1) -> list[explore_results.Result]:
        chosen = replace(options, jobs=jobs)
        return explorer.run_programs(children, adds, texts, chosen, examples=False)

    for _ in range(max(EXPLORE_LEAST, int(seconds / EXPLORE_SLICE_S))):
        found = {
            "adds": run([ADDS] * ADDS_AGAIN),
            "queue": explorer.run_test(children, queue, "explored", options),
            "one": run([LONG]),
            "two": run([LONG], jobs=2),
        }
        for side, results in found.items():
            for result in results:
                if not result.exhaustive:
                    raise JudgeError(f"explore {side}: {result.error or result.stopped}")
            every = sum(result.executions for result in results)
            ns[side].append(sum(result.cpu_seconds for result in results) * 1e9 / every)
        ns["500k"].append(1e9 / 500_000)
        ns["20k"].append(1e9 / 20_000)
    return Samples(ns)


def _measure_own(children: Children, seconds: float) -> Samples:
    """Let the explorer run programs in C, C++ and Rust as they are; goals are constants.

    The measure is processor time under SC, with the first run of each program.
    """
    options = ExploreOptions(models=(Model.SC,))
    ns: dict[str, list[float]] = {}
    missing = {}
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        builder = OwnBuilder(children, Runtime(children), Path(folder))
        for side, (name, peer, goal) in OWN_PROGRAMS.items():
            program = OwnProgram((building.folder() / "own" / name,))
            try:
                built = builder.program(program)
            except MissingToolError as error:
                missing[peer] = f"not run: {error}"
                continue
            for _ in range(max(EXPLORE_LEAST, int(seconds / EXPLORE_SLICE_S))):
                (found,) = explore_own(children, built, program, options)
                if found.verdicts != {"ended"} or not found.exhaustive:
                    raise JudgeError(f"explore {name}: {found.stopped or found.verdicts}")
                ns.setdefault(side, []).append(found.cpu_seconds * 1e9 / found.executions)
                ns.setdefault(peer, []).append(1e9 / goal)
    return Samples(ns, missing=missing)


def _json(children: Children, command: list[str]) -> Any:
    ended = children.run(command, timeout_s=TIMEOUT_S)
    if ended.code != 0 or ended.timed_out:
        raise JudgeError(f"{Path(command[0]).name} {command[1]} failed ({ended.code}): "
                         f"{ended.output.strip()[-500:]}")  # fmt: skip
    return json.loads(ended.output)
