# SPDX-License-Identifier: Apache-2.0
"""Explores released libraries with programs of ours: ``make wild``, ``make wild T=ck``.

A run is wrong if it shows another verdict than its ``wild.toml`` says.  A package that cannot be
had is named, and its runs are left out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from tests.wild import crates, declared, fetch
from tests.wild.declared import NOT_EXPLORED, VERDICTS, Case, Library, Release, Run
from tests.wild.fetch import NoAnswerError

from wakeproof import errors
from wakeproof.cli.progress import StressProgress
from wakeproof.errors import UsageError, WakeproofError
from wakeproof.judge import report
from wakeproof.judge.explore.explorer import Tick
from wakeproof.judge.explore.results import Result
from wakeproof.judge.explore.tasks import size_of
from wakeproof.judge.own import run as own
from wakeproof.judge.own.build import Builder
from wakeproof.judge.own.program import Program
from wakeproof.judge.own.runtime import Runtime
from wakeproof.judge.process import Children


@dataclass(frozen=True)
class Job:
    """A run of a case of a library."""

    library: Library
    case: Case
    run: Run

    @property
    def release(self) -> Release:
        """Return the release that is explored."""
        return self.library.releases[self.run.release]

    @property
    def name(self) -> str:
        """Return ``ck/ring_spsc 0.7.1 -DBUG``."""
        case = f"{self.library.folder.name}/{self.case.name}"
        return f"{case} {self.run.release} {self.run.differs}".rstrip()


@dataclass(frozen=True)
class Done:
    """What a run has shown.  `said`: it was refused.  `lacks`: its package cannot be had."""

    job: Job
    results: tuple[Result, ...]
    seconds: float
    said: str = ""
    lacks: str = ""

    @property
    def problems(self) -> list[str]:
        """Return what is not as the wild.toml says."""
        run = self.job.run
        if self.lacks:
            return []
        if run.refused:
            is_said = run.refused in self.said
            return [] if is_said else [f"it is not refused with {run.refused!r}: {self.said}"]
        if self.said:
            return [f"it is refused: {self.said}"]
        found = []
        for result in self.results:
            shown, expected = worst(result), run.expected[result.model]
            if shown == NOT_EXPLORED:
                found.append(f"{result.model.label}: no execution was explored to its end")
            elif shown != expected:
                found.append(f"{result.model.label} shows {shown}, expected is {expected}")
            elif shown == "ended" and not result.exhaustive and not self.job.case.bounded:
                found.append(f"{result.model.label} was not explored whole: {result.coverage}")
        return found


def worst(result: Result) -> str:
    """Return the worst verdict of a result; a lost wakeup is a sleep for ever."""
    found = {"asleep" if one == "lost_wakeup" else one for one in result.verdicts}
    return min(found, key=VERDICTS.index, default=NOT_EXPLORED)


def jobs(libraries: Sequence[Library], *, quick: bool = False) -> list[Job]:
    """Return all runs, or only the quick ones."""
    return [
        Job(library, case, run)
        for library in libraries for case in library.cases for run in case.runs
        if run.quick or not quick
    ]  # fmt: skip


def program(job: Job) -> Program:
    """Return the program of a run; its packages are fetched.

    Raises:
        NoAnswerError: a registry does not answer.
        WrongHashError: a file is another one than was declared.
    """
    ours = tuple(job.library.folder / name for name in job.case.files)
    if job.release.crates:
        name = f"{job.library.folder.name}-{job.run.release}"
        given = crates.prepared(ours[0].parent, job.release, name)
        return Program(
            (given,), test=job.run.test or job.case.test, may_leak=job.case.may_leak
        )  # fmt: skip
    debian = fetch.Debian()
    folders = {package.name: debian.unpacked(package) for package in job.release.debian}
    folders["here"] = job.library.folder

    def placed(text: str) -> str:
        for name, folder in folders.items():
            text = text.replace("{" + name + "}", str(folder))
        return text

    return Program(
        (*ours, *(Path(placed(source)) for source in job.case.sources)),
        tuple(placed(flag) for flag in (*job.case.flags, *job.run.flags)),
        volatile_is_relaxed=job.case.volatile_is_relaxed, may_leak=job.case.may_leak,
        called=job.case.name,
    )  # fmt: skip


def explore(job: Job, tick: Tick | None = None) -> Done:
    """Explore a run.

    Raises:
        WrongHashError: a file is another one than was declared.
    """
    started = time.monotonic()
    try:
        given = program(job)
    except NoAnswerError as error:
        return Done(job, (), 0.0, lacks=str(error))
    with Children() as children, tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        try:
            built = Builder(children, Runtime(children), Path(folder)).program(given)
            found = own.explore(children, built, given, job.case.options(job.run), tick)
        except UsageError as error:
            return Done(job, (), time.monotonic() - started, said=str(error))
    return Done(job, tuple(found), time.monotonic() - started)


def executions(result: Result) -> int:
    """Return how many executions ended, well or not."""
    return sum(found.count for found in result.outcomes)


def _rows(done: Done) -> Iterator[list[object]]:
    """Return a row for each model; the first one says what was explored."""
    job = done.job
    first = [job.library.library, job.run.release, job.library.language, job.case.explored,
             job.run.differs]  # fmt: skip
    if done.lacks or done.said:
        what = done.lacks or f"refused: {job.run.refused or done.said}"
        yield [*first, "", report.verdict(what, good=not done.problems), "", "", ""]
    for result in done.results:
        is_right = worst(result) == job.run.expected[result.model]
        bounds = "whole" if result.exhaustive else result.coverage
        yield [
            *first, result.model.label, report.verdict(worst(result), good=is_right),
            f"{executions(result):,}", bounds, f"{result.seconds:.1f}",
        ]  # fmt: skip
        first = [""] * len(first)


COLUMNS = ("library", "version", "language", "explored", "with", "model", "verdict",
           ">executions", "bounds", ">seconds")  # fmt: skip


def _print(screen: Console, found: Sequence[Done], seconds: float) -> bool:
    """Print the table, and return whether everything is as declared."""
    screen.print(report.table("", COLUMNS, (row for one in found for row in _rows(one))))
    bad = [one for one in found if one.problems]
    for one in bad:
        for problem in one.problems:
            screen.print(f"{one.job.name}: {problem}", style="bold red", markup=False)
    lacking = sorted({one.lacks for one in found if one.lacks})
    for lack in lacking:
        screen.print(f"left out: {lack}", style="bold yellow", markup=False)
    judged = [one for one in found if not one.lacks]
    libraries = {one.job.library.library for one in judged}
    is_good = bool(judged) and not bad
    screen.print(
        f"\n{len(libraries)} libraries, {len(judged)} runs, {len(judged) - len(bad)} as they say, "
        f"in {seconds:.0f} s; {len(found) - len(judged)} runs left out",
        style="green" if is_good else "bold red",
    )  # fmt: skip
    return is_good


def main(words: Sequence[str]) -> int:
    """Explore what is named, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="make wild")
    parser.add_argument("name", nargs="?", default="", help="a library, or LIBRARY/CASE")
    parser.add_argument("--quick", action="store_true", help="only what the tests explore")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    given = parser.parse_args(words)
    screen = report.console()
    try:
        every = declared.read()
        chosen = jobs(declared.named(given.name, every) if given.name else every, quick=given.quick)
        if given.list:
            rows = [(job.name, job.run.shows or "refused", job.run.why) for job in chosen]
            screen.print(report.table("", ("run", "SC TSO RC11", "why"), rows))
            return errors.EXIT_HOLDS
        started = time.monotonic()
        found: list[Done] = []
        with StressProgress(screen) as progress:
            for at, job in enumerate(chosen):

                def tick(now: dict[str, float], job: Job = job, at: int = at) -> None:
                    progress.show(f"{job.name}: {size_of(now)}", at, len(chosen))

                progress.show(job.name, at, len(chosen))
                found.append(explore(job, tick))
                for problem in found[-1].problems:
                    progress.announce(f"{job.name}: {problem}")
    except WakeproofError as error:
        screen.print(f"wild: {error}", style="bold red", markup=False, soft_wrap=True)
        return error.exit_code
    holds = _print(screen, found, time.monotonic() - started)
    return errors.EXIT_HOLDS if holds else errors.EXIT_VIOLATED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
