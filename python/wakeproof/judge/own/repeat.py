# SPDX-License-Identifier: Apache-2.0
"""A program of a user, repeated on real cores: ``wakeproof stress program.c``."""

from __future__ import annotations

import json
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from wakeproof import locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.builds import Build
from wakeproof.judge.own.program import CXX, LINKED, RUST, Program
from wakeproof.judge.own.runtime import COMPILE_S, TOOL_S, Runtime
from wakeproof.judge.process import Children
from wakeproof.judge.stress.grading import HELD, NOT_JUDGED, VIOLATED
from wakeproof.judge.stress.options import StressOptions

LEAST: Final = 10
"""Runs of each build, however short the time is."""
LIMIT_S: Final = 10.0
"""A run that takes longer is ended."""
_DELAYED: Final = (
    "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait", "pthread_cond_signal",
    "pthread_cond_broadcast", "pthread_join", "sem_wait", "sem_post", "syscall",
)  # fmt: skip
"""Functions whose calls are delayed."""
_SYMBOL = re.compile(r"^([0-9a-f]+) ([0-9a-f]+) [BbDd] (.+)$", re.MULTILINE)
A_THREAD: Final = "the end of another thread"
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class End:
    """How runs of one build have ended, and how many."""

    kind: str  # exited, killed, asleep, unfinished
    code: int  # exit code, or the signal
    printed: str
    runs: int
    first: int  # the number of the first such run
    sleeps_on: tuple[str, ...] = ()  # for each thread

    @property
    def is_bad(self) -> bool:
        """Return whether a program that is right does not end so."""
        return self.kind != "exited" or self.code != 0

    @property
    def words(self) -> str:
        """Return how it has ended."""
        if self.kind == "exited":
            return f"exits with {self.code}" if self.code else "ends"
        if self.kind == "killed":
            return f"killed by signal {self.code}"
        if self.kind == "asleep":
            return f"asleep for ever: {len(self.sleeps_on)} threads, on {_listed(self.sleeps_on)}"
        return f"does not end in {LIMIT_S:g} s"


@dataclass(frozen=True)
class Runs:
    """All runs of one build."""

    build: str
    runs: int
    seconds: float
    ends: tuple[End, ...]
    others: int  # runs that ended in more ways than are listed


@dataclass(frozen=True)
class ProgramReport:
    """A program on real cores."""

    name: str
    file: str
    status: str
    builds: tuple[Runs, ...]

    @property
    def runs(self) -> int:
        """Return how many runs there were."""
        return sum(of.runs for of in self.builds)

    @property
    def messages(self) -> tuple[str, ...]:
        """Return what was bad, with its build and how often it was seen."""
        return tuple(
            f"{of.build}: {end.words} ({end.runs:,} of {of.runs:,} runs, run {end.first:,} first)"
            + (f": {end.printed}" if end.printed else "")
            for of in self.builds for end in of.ends if end.is_bad
        )  # fmt: skip


@dataclass(frozen=True)
class RepeatReport:
    """All programs of one job."""

    programs: tuple[ProgramReport, ...]
    seed: int
    compiler: str
    machine: str
    seconds: float
    warnings: tuple[str, ...] = ()

    @property
    def violated(self) -> bool:
        """Return whether a program has a bad end."""
        return any(one.status == VIOLATED for one in self.programs)

    def ok(self) -> bool:
        """Return whether no run of any program ended badly."""
        return not self.violated


def repeat(
    programs: Sequence[Program],
    options: StressOptions,
    seed: int,
    progress: Progress | None = None,
) -> RepeatReport:
    """Run each program again and again, in each build of the options.

    The time of the options is that of each build.  A thread that sleeps for ever is proven to: no
    thread of the process is left that could wake it.

    Raises:
        UsageError: a program is no C or C++, or does not compile.
        MissingToolError: no compiler.
    """
    shows = progress or (lambda _next, _done, _total: None)
    started = time.monotonic()
    reports = []
    with Children() as children, tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        job = Repeater(children, Path(folder), options.budget_s(), seed)
        builds = options.builds()
        for at, program in enumerate(programs):
            found = []
            for number, build in enumerate(builds):
                shows(f"{program.name} {build.name}", at * len(builds) + number,
                      len(programs) * len(builds))  # fmt: skip
                found.append(job.runs(program, build))
            bad = any(end.is_bad for runs in found for end in runs.ends)
            status = VIOLATED if bad else HELD if found else NOT_JUDGED
            reports.append(ProgramReport(
                program.name, str(program.files[0]), status, tuple(found)
            ))  # fmt: skip
        return RepeatReport(
            tuple(reports), seed, job.compiler, platform.machine(), time.monotonic() - started,
            tuple(job.warnings),
        )  # fmt: skip


class Repeater:
    """Compiles programs, and runs each for `seconds`; a run that takes longer than a limit ends."""

    def __init__(
        self,
        children: Children,
        folder: Path,
        seconds: float,
        seed: int,
        limit_s: float | None = None,
    ) -> None:
        self._children, self._folder, self._seconds = children, folder, seconds
        self._seed, self._limit_s = seed, LIMIT_S if limit_s is None else limit_s
        self._runtime = Runtime(children)
        self._source = locations.sources() / "stress"
        self._made: dict[str, Path] = {}
        self.warnings: list[str] = []

    @property
    def compiler(self) -> str:
        """Return what the compiler says of itself, in a line."""
        return self._runtime.version.partition("\n")[0]

    def runs(self, program: Program, build: Build) -> Runs:
        """Run a build of a program again and again, at least a few times.

        Raises:
            UsageError: the program is no C or C++, or does not compile.
            MissingToolError: no compiler.
        """
        built = self._built(program, build)
        limit_s = self._seconds + COMPILE_S + 10 * self._limit_s
        command = [
            str(built), f"{self._seconds}", str(LEAST), str(self._seed), f"{self._limit_s}", "--"
        ]  # fmt: skip
        # A run that ThreadSanitizer has found a race in ends at once, with its own exit code.
        env = {"TSAN_OPTIONS": "halt_on_error=1", **os.environ} if build.sanitizer else None
        ended = self._children.run([*command, *program.arguments], timeout_s=limit_s, env=env)
        if ended.code or ended.timed_out:
            raise JudgeError(f"{program.name}, {build.name}: {ended.output.strip()[-300:]}")
        found: dict[str, Any] = json.loads(ended.output)
        named = self._symbols(built)
        ends = tuple(
            End(end["kind"], end["code"], end["printed"], end["runs"], end["first"],
                tuple(A_THREAD if joins else named(word) for word, joins in end["sleepers"]))
            for end in found["ends"]
        )  # fmt: skip
        ends = tuple(sorted(ends, key=lambda end: (end.is_bad, end.runs), reverse=True))
        return Runs(build.name, found["runs"], found["seconds"], ends, found["others"])

    def _built(self, program: Program, build: Build) -> Path:
        place = self._folder / f"{program.name}-{build.name.replace(' ', '-')}"
        place.mkdir()
        objects = [self._object(program, at, file, build, place)
                   for at, file in enumerate(program.files)]  # fmt: skip
        redefine = "--redefine-sym=main=own__main"
        for made in objects:
            self._run(["objcopy", redefine, str(made)], program.files[0])
        is_cxx = any(file.suffix in CXX for file in program.files)
        target = place / "repeated"
        wrapped = [f"-Wl,--wrap={name}" for name in _DELAYED] if build.delayed else []
        self._run([
            *(self._runtime.cxx() if is_cxx else self._runtime.compiler), "-no-pie", "-pthread",
            *_sanitized(build), *map(str, objects), *self._ours(build), *wrapped, "-lm", "-o",
            str(target),
        ], program.files[0])  # fmt: skip
        return target

    def _object(self, program: Program, at: int, file: Path, build: Build, place: Path) -> Path:
        if file.suffix == RUST or program.test:
            raise UsageError(f"{file}: stress repeats programs in C and C++; for Rust, run cargo "
                             "test, or explore it")  # fmt: skip
        if file.suffix in LINKED:
            raise UsageError(f"{file}: stress compiles the program itself: give its sources")
        target = place / f"{at}.o"
        command = self._runtime.cxx() if file.suffix in CXX else self._runtime.compiler
        flags = ["-g", f"-{build.opt}", "-pthread", "-fno-pie", *_sanitized(build)]
        if build.delayed:
            flags += self._runtime.hooked
        said = self._run(
            [*command, *flags, *program.flags, "-c", str(file), "-o", str(target)], file
        )
        text = f"{file} compiles with warnings:\n{said}"
        if said and text not in self.warnings:
            self.warnings.append(text)
        return target

    def _ours(self, build: Build) -> list[str]:
        names = ["own/repeat.c", "own/repeat_watch.c", "harness/engine/json.c"]
        names += ["own/repeat_delays.c"] * build.delayed
        made = []
        for name in names:
            target = self._folder / f"{Path(name).stem}.o"
            if name not in self._made:
                self._run([
                    *self._runtime.compiler, "-std=gnu11", "-O2", "-g1", "-fno-pie", "-pthread",
                    "-D_GNU_SOURCE", f"-I{self._source}", f"-I{self._source / 'explorer'}", "-c",
                    str(self._source / name), "-o", str(target),
                ], self._source / name)  # fmt: skip
                self._made[name] = target
            made.append(str(self._made[name]))
        return made

    def _run(self, command: list[str], file: Path) -> str:
        ended = self._children.run(command, timeout_s=COMPILE_S)
        if ended.code or ended.timed_out:
            raise UsageError(f"{file} does not compile:\n{ended.output.strip()}")
        return ended.output.strip()

    def _symbols(self, built: Path) -> Callable[[int], str]:
        """Return what names an address in the program's data."""
        listed = self._children.output(["nm", "-C", "-S", str(built)], timeout_s=TOOL_S)
        found = [(int(at, 16), int(size, 16), name) for at, size, name in _SYMBOL.findall(listed)]

        def named(word: int) -> str:
            name: str
            for at, size, name in found:
                if at <= word < at + size:
                    return name
            return "memory that it allocated"

        return named


def _sanitized(build: Build) -> list[str]:
    return [f"-fsanitize={build.sanitizer}"] if build.sanitizer and not build.delayed else []


def _listed(names: Sequence[str]) -> str:
    """Return each name once: ``has_work, memory of its own``."""
    return ", ".join(dict.fromkeys(names))
