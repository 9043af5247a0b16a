# SPDX-License-Identifier: Apache-2.0
"""The cheap judges, the lines that each executes, and the verdict of each on a defect.

A judge is a scenario under a memory model, a case of a native test program, or the quick tests of
a file in Python, which use the kernel as a library.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.mutants.building import BUILDS, NATIVE, ExplorerBuilder, NativeBuilder, Overlay

from wakeproof import locations
from wakeproof._native import build as _build
from wakeproof.errors import JudgeError, MissingToolError, UsageError
from wakeproof.judge import scenarios
from wakeproof.judge.builds import Build
from wakeproof.judge.explore import explorer
from wakeproof.judge.explore import grading as explore_grading
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.labels import Labels
from wakeproof.judge.process import Children
from wakeproof.judge.scenarios import Scenario
from wakeproof.judge.source_texts import digest
from wakeproof.judge.stress.grading import VIOLATED

SECONDS, BYTES = 4.0, 1 << 30  # of an exploration
PATIENCE_S = 10  # the limit of a program that waits for something which a defect may lose
USUAL = 5  # a program hangs after this many times its usual time, and LEAST_S
LEAST_S, STALL_S = 15.0, 5.0
SLOWER = {"plain": 1, "address": 3, "thread": 6}
MOST_S, MOST_PYTHON_S = 4.0, 20.0  # a program that takes longer is no cheap judge
GCOV_S = 60.0
HANGS = "hangs"
_ENGINES = {Model.SC: "states", Model.TSO: "states", Model.RC11: "graphs"}
_CASES = re.compile(r"\bcases\[\] = \{(.*?)\};", re.DOTALL)
_CASE = re.compile(r"\{\s*(?:\.name = )?\"(\w+)\",")
_WRAPPED = re.compile(r"\b__wrap_(\w+)")

ARGUMENTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "by_hand": ((),),
    "counts": ((),),
    "handed_back": ((),),
    "help": (("1", "1", "10"),),
    "http_fuzz": (),
    "inbox": ((),),
    "wait_queue_leave_soak": (("0.5", "1"),),
    "mixed": (("1", "1", "10", "stealing"), ("1", "1", "10", "private")),
    "near": ((),),
    "no_threads": ((),),
    "overflow": (),
    "group_placement_storm": tuple(
        (*form, stealing, carriers, "40", "1")
        for form in (("1", "0", "0"), ("2", "1", "1"), ("2", "0", "1"))
        for stealing, carriers in (("0", "1"), ("1", "3"))
    ),
    "placement": (("cycles", "2", "0", "3", "2000", "1"), ("cycles", "2", "1", "3", "2000", "1")),
    "placement_clusters": (("1",),),
    "soak": (("1", "1", "10"),),
    "sync": (("0.3", "1"),),
    "timer": ((),),
    "timer_group": ((),),
    "vsoak": (("1", "1", "10", "100", "stealing"), ("1", "1", "10", "100", "private")),
}
"""What programs without a table of cases take; for others, what they take beside their cases."""


_DUMPS = (
    "each_state_is_shown",
    "text_says_the_same",
    "they_are_grouped_by_stack_and_listed_up_to_a_limit",
    "a_carrier_runs_what_its_spare_runs",
    "stacks_beyond_the_table_are_counted_together",
    "names_are_escaped_and_what_is_no_text_is_replaced",
)
_SMALL = "-DWP_LOCAL_CAPACITY=4"
TESTS = {
    "by_hand": ((), "sched.test_carrier", ("test_token_idle_set_search_and_turns_by_hand",)),
    "counts": ((), "base.test_counters", ("each_end_moves_its_count",)),
    "dump": (("-rdynamic",), "inspect.test_dump", _DUMPS),
    "local_queue": (
        (_SMALL,),
        "queue.test_local_queue",
        ("test_each_step_gives_what_the_model_gives",),
    ),
    "near": ((), "sched.test_search_distance", ("distance_decides",)),
    "no_threads": (
        (),
        "sched.test_group_faults",
        ("test_a_start_that_is_refused_a_thread_leaves_nothing_running",),
    ),
    "passed": (
        (),
        "sched.test_vthread_stackful",
        ("test_a_broken_canary_is_reported_when_its_thread_yields_to_another",),
    ),
    "spare_threads": (
        (),
        "sched.compensation.test_spare_thread",
        ("test_an_overflow_on_a_spare_is_reported",),
    ),
    "vthreads_end": (
        (),
        "sched.test_vthread_stackful",
        ("test_an_overflow_is_reported_with_the_name_of_its_thread",),
    ),
}
"""Programs with an output that a test reads: flags, the test's module, functions of the program."""

PYTHON = (
    "base/topology",
    "base/topology_input",
    "io/descriptor_ends",
    "io/descriptor_python",
    "pool/queued_pool",
    "pool/strategy_python",
    "python/executor",
    "python/virtual_pool",
    "sched/carrier_tasks",
    "sched/compensation/spare_carrier_python",
    "sched/group",
    "sched/local_queue_carrier_python",
    "sched/placement/group_placement_python",
    "sched/poller_python",
    "sched/vthread_park",
    "scope/joiner",
    "scope/scope",
    "sync/channel",
    "sync/condition",
    "sync/mutex",
    "sync/semaphore",
    "thread/vthread",
    "thread/wakers_python",
    "wakeup/parker",
)
"""Files of Python tests that compile nothing: their quick tests run on the kernel as a library."""

_TEST = """
import inspect, sys
from importlib import import_module
module, function, program = sys.argv[1:]
test = getattr(import_module(f"tests.{module}"), function)
given = {"build": "plain", "command": [program], "compiled": lambda *_: [program]}
test(**{name: given[name] for name in inspect.signature(test).parameters})
"""
_PYTEST = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist",
           "-m", "not slow and not alone")  # fmt: skip


@dataclass(frozen=True)
class Judge:
    """A scenario under a model, a program with arguments, or a file of Python tests."""

    name: str
    source: Path
    scenario: Scenario | None = None
    model: Model | None = None
    arguments: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    build: str = "plain"
    test: tuple[str, str] | None = None  # module and function that read what it prints

    def others(self) -> tuple[Judge, ...]:
        """Return the judges of the same lines: under weaker models, or built with sanitizers."""
        name = self.name.removesuffix(":sc")
        if self.test or self.is_python:
            return ()
        if self.scenario:
            models = (Model.TSO, Model.RC11)
            return tuple(replace(self, name=f"{name}:{m.value}", model=m) for m in models)
        builds = ("address", "thread")
        return tuple(replace(self, name=f"{name} {build}", build=build) for build in builds)

    @property
    def is_python(self) -> bool:
        """Return whether the judge is a file of Python tests."""
        return self.source.suffix == ".py"

    def is_of(self, stem: str) -> bool:
        """Return whether the judge has the name of a concept."""
        return stem in self.name.replace(":", "_").split("_") or self.source.stem == stem


@dataclass(frozen=True)
class Verdict:
    """The verdict of a judge: whether it saw something wrong, and what."""

    killed: bool
    said: str
    seconds: float


@dataclass(frozen=True)
class Baseline:
    """A judge on the kernel as it is, where it must hold, and the lines that it executes."""

    holds: bool
    said: str
    seconds: float
    lines: dict[str, frozenset[int]]  # by the name of a kernel file


def scenario_judges(builder: ExplorerBuilder, children: Children,
                    files: Sequence[Path] | None = None) -> list[Judge]:  # fmt: skip
    """Return the scenarios of the project, or of these files, under SC."""
    build, found = Build(kind="explored"), []
    for file in scenarios.find(files):
        declared, _ = scenarios.declared(file, builder, children, build)
        found += [Judge(f"{file.stem}:{one.name}:sc", file, one, Model.SC) for one in declared]
    return found


def native_judges(programs: Path, builder: NativeBuilder) -> list[Judge]:
    """Return every case of the C programs in a folder."""
    found = []
    for source in sorted(programs.rglob("*.c")):
        whole = "".join(builder.sources.closure(source).values())
        flags = [f"-Wl,--wrap={name}" for name in sorted({*_WRAPPED.findall(source.read_text())})]
        flags += [f"-DPATIENCE_S={PATIENCE_S}"] if "#ifndef PATIENCE_S" in whole else []
        tables = _CASES.findall(source.read_text())
        cases = [(name,) for table in tables for name in _CASE.findall(table)]
        for arguments in (*cases, *ARGUMENTS.get(source.stem, ())):
            name = ":".join((source.stem, *arguments))
            found.append(Judge(name, source, arguments=arguments, flags=tuple(flags)))
        if source.stem in TESTS:
            more, module, functions = TESTS[source.stem]
            found += [Judge(f"{source.stem}:{function}", source, flags=(*flags, *more),
                            test=(module, function)) for function in functions]  # fmt: skip
    return found


def python_judges(root: Path) -> list[Judge]:
    """Return the files of Python tests that a project has."""
    paths = [Path(name) for name in PYTHON]
    files = [root / "tests" / path.parent / f"test_{path.name}.py" for path in paths]
    return [Judge(f"python:{file.stem.removeprefix('test_')}", file)
            for file in files if file.exists()]  # fmt: skip


class Bench:
    """Runs judges, one at a time; each thread has a bench of its own."""

    def __init__(self, children: Children, folder: Path, root: Path, *,
                 counting: bool = False) -> None:  # fmt: skip
        self._children, self._folder = children, folder
        self.explorer = ExplorerBuilder(children, folder, counting=counting)
        self.native = NativeBuilder(children, folder, root, counting=counting)
        self._counting, self._kernel = counting, root / "kernel"
        self.overlay: Overlay | None = None
        self._texts: dict[Path, dict[str, str]] = {}

    def lay(self, overlay: Overlay | None) -> None:
        """Judge this defect from now on; None: the kernel as it is."""
        self.overlay = overlay
        self.explorer.lay(overlay)
        self.native.lay(overlay)

    def texts(self, judge: Judge) -> dict[str, str]:
        """Return the texts of all files that are compiled into a judge, by path."""
        if judge.source in self._texts:  # no file changes while the tool runs
            return dict(self._texts[judge.source])
        if judge.is_python:
            found = self.native.library_texts()
            folder = self._kernel.parent / "tests"
            tests = [judge.source, folder / "conftest.py", *(folder / "support").glob("*.py")]
            package = _build.PACKAGE.parent
            ours = [path for folder in (".", "_native", "_runtime")
                    for path in (package / folder).glob("*.py")]  # fmt: skip
            for path in (*tests, *ours):
                found[str(path)] = path.read_text(encoding="utf-8")
            self._texts[judge.source] = found
            return dict(found)
        found = dict(self.native.sources.closure(judge.source))
        kernel = (self.explorer.sources.kernel_of(judge.source) if judge.scenario
                  else self.native.kernel)  # fmt: skip
        for path in kernel:
            found |= self.native.sources.closure(path)
        self._texts[judge.source] = found
        return dict(found)

    def key(self, judge: Judge, overlay: Overlay | None = None) -> str:
        """Return a hash of all inputs of a verdict."""
        texts = self.texts(judge)
        if overlay and str(overlay.file) in texts:
            texts[str(overlay.file)] = overlay.text
        model = judge.model.value if judge.model else ""
        how = (
            *NATIVE,
            *BUILDS[judge.build],
            model,
            str(SECONDS),
            str(PATIENCE_S),
            *judge.arguments,
            *judge.flags,
        )
        named = sorted(f"{Path(path).name}\0{text}" for path, text in texts.items())
        return digest(judge.name, *how, *named)

    def ask(self, judge: Judge, usual_s: float | None = None,
            counts: Path | None = None) -> Verdict:  # fmt: skip
        """Run a judge.  `usual_s`: its time on the kernel as it is; None: this run measures it.

        Raises:
            UsageError: the defect does not compile.
        """
        if judge.scenario:
            return self._explore(judge, counts)
        slower = SLOWER[judge.build]
        limit_s = LEAST_S + USUAL * (LEAST_S if usual_s is None else usual_s * slower)
        stall_s = STALL_S + 2 * slower * usual_s if usual_s is not None else None
        env = {**os.environ, "GCOV_PREFIX": str(counts)} if counts else dict(os.environ)
        env |= {"TSAN_OPTIONS": "atexit_sleep_ms=0", "PYTHONPATH": str(self._kernel.parent)}
        command = ["setarch", "-R"] if judge.build == "thread" and shutil.which("setarch") else []
        if judge.is_python:
            env["WAKEPROOF_LIBRARY"] = str(self.native.library())
            command = [sys.executable, *_PYTEST, str(judge.source)]
        else:
            program = str(self.native.program(judge.source, judge.flags, judge.build))
            if judge.test:
                command = [sys.executable, "-c", _TEST, *judge.test]
            command += [program, *judge.arguments]
        started = os.times().elapsed
        with tempfile.TemporaryDirectory() as cwd:  # a defect may write files anywhere
            if judge.is_python:
                command += [f"--basetemp={cwd}/tests", f"--rootdir={self._kernel.parent}"]
            ended = self._children.run(command, cwd=Path(cwd),
                                       timeout_s=limit_s, stall_s=stall_s, env=env)  # fmt: skip
        took = os.times().elapsed - started
        if ended.timed_out:
            return Verdict(True, f"{HANGS}: not done after {took:.0f} s", took)
        if ended.code:
            how = f"signal {-ended.code}" if ended.code < 0 else f"exit {ended.code}"
            return Verdict(True, " ".join(f"{how}: {ended.output[-200:]}".split()), took)
        return Verdict(False, "", took)

    def _explore(self, judge: Judge, counts: Path | None) -> Verdict:
        assert judge.scenario
        assert judge.model
        program = self.explorer.program(judge.source, Build(kind="explored"))
        options = ExploreOptions(models=(judge.model,), engine=_ENGINES[judge.model],
                                 seconds=SECONDS, max_bytes=BYTES)  # fmt: skip
        started = os.times().elapsed
        before = os.environ.get("GCOV_PREFIX")
        try:
            if counts:
                os.environ["GCOV_PREFIX"] = str(counts)
            [result] = explorer.run_test(
                self._children, program, judge.scenario.name, options, bounded=True
            )
        except JudgeError as error:
            return Verdict(True, " ".join(str(error).split())[-200:], os.times().elapsed - started)
        finally:
            if counts:
                os.environ.pop("GCOV_PREFIX")
                os.environ.update({"GCOV_PREFIX": before} if before else {})
        took = os.times().elapsed - started
        if result.error:
            return Verdict(True, result.error[:200], took)
        if not result.exhaustive:  # a wish that only a whole search refuses is none here
            result = replace(result, exhaustive=False)
        [judged] = explore_grading.judge_scenario(judge.scenario, [result], Labels()).judged
        return Verdict(judged.status == VIOLATED, "; ".join(judged.messages)[:200], took)

    def lines(self, counts: Path) -> dict[str, frozenset[int]]:
        """Return the lines of the kernel that a run has counted."""
        found: dict[str, set[int]] = {}
        notes = {path.name: path for path in (self._folder / "objects").glob("**/*.gcno")}
        data = sorted(counts.glob("**/*.gcda"))
        with tempfile.TemporaryDirectory(dir=counts) as folder:
            for file in data:
                note = file.with_suffix(".gcno").name
                if note in notes:
                    plain = file.name.lstrip(".").replace(".part", "")
                    shutil.copy(file, Path(folder) / plain)
                    (Path(folder) / Path(plain).with_suffix(".gcno")).symlink_to(notes[note])
            names = sorted(path.name for path in Path(folder).glob("*.gcda"))
            if not names:
                return {}
            ended = subprocess.run(
                [_gcov(), "--json-format", "--stdout", *names], cwd=folder, timeout=GCOV_S,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
            )  # fmt: skip
        for line in ended.stdout.splitlines():
            if line.startswith("{"):
                for name, number in _counted(json.loads(line), self._kernel):
                    found.setdefault(name, set()).add(number)
        return {name: frozenset(numbers) for name, numbers in found.items()}


def _gcov() -> str:
    found = shutil.which("gcov")
    if not found:
        raise MissingToolError("no gcov: install gcc, which has it")
    return found


def _counted(report: dict[str, object], kernel: Path) -> Iterator[tuple[str, int]]:
    files = report["files"]
    assert isinstance(files, list)
    for file in files:
        if kernel in Path(file["file"]).parents:
            for line in file["lines"]:
                if line["count"]:
                    yield str(Path(file["file"]).relative_to(kernel)), line["line_number"]


class Baselines:
    """The verdicts of judges on the kernel as it is, kept in a folder by a hash of the inputs."""

    def __init__(self, children: Children, folder: Path, root: Path) -> None:
        self._folder = folder / "lines"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._plain = Bench(children, folder, root)
        self._counting = Bench(children, folder, root, counting=True)

    def find(self, judge: Judge) -> Baseline:
        """Return the judge's baseline; run the judge now if there is no kept one."""
        kept = self._folder / f"{self._plain.key(judge)}.json"
        if not kept.exists():
            locations.write_atomically(kept, json.dumps(self._run(judge)))
        found = json.loads(kept.read_text(encoding="utf-8"))
        lines = {name: frozenset(numbers) for name, numbers in found.pop("lines").items()}
        return Baseline(lines=lines, **found)

    def _run(self, judge: Judge) -> dict[str, object]:
        lines: dict[str, list[int]] = {}
        try:
            verdict = self._plain.ask(judge)
            most_s = MOST_PYTHON_S if judge.is_python else MOST_S
            if not judge.scenario and verdict.seconds > most_s and not verdict.killed:
                verdict = Verdict(True, f"takes {verdict.seconds:.1f} s", verdict.seconds)
            if not verdict.killed:
                with tempfile.TemporaryDirectory(dir=self._folder) as counts:
                    self._counting.ask(judge, counts=Path(counts))
                    counted = self._counting.lines(Path(counts))
                lines = {name: sorted(numbers) for name, numbers in counted.items()}
        except UsageError as error:
            verdict = Verdict(True, f"does not compile: {str(error)[:200]}", 0.0)
        return {"holds": not verdict.killed, "said": verdict.said, "seconds": verdict.seconds,
                "lines": lines}  # fmt: skip
