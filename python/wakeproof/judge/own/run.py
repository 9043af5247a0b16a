# SPDX-License-Identifier: Apache-2.0
"""Explores a program under each model, and gives names to what it finds."""

from __future__ import annotations

import hashlib
import re
import tempfile
import time
from bisect import bisect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wakeproof.errors import UsageError
from wakeproof.judge.explore import explorer, grading
from wakeproof.judge.explore.explored import shown
from wakeproof.judge.explore.explorer import Tick
from wakeproof.judge.explore.kept import Keeper
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Event, Found, Result, Site
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.explore.tasks import Progress, size_of
from wakeproof.judge.explore.tokens import Token
from wakeproof.judge.own.build import Builder, Runtime, inlined
from wakeproof.judge.own.program import Program, of_text
from wakeproof.judge.process import Children
from wakeproof.judge.replay.run import same, selected
from wakeproof.judge.source_texts import digest

TOOL_S = 60.0
ARENA = 0x200000000000  # stress/own/own.h: OWN_BASE; the next ones, too
SLOT, HEAP, STACK_END, THREADS = 1 << 22, 1 << 21, 7 << 19, 16
STD_THREADS = (
    "execute_native_thread_routine", "<std::sys::thread::unix::Thread>::new::thread_start",
)  # fmt: skip
"""The function of each thread of the standard libraries of C++ and Rust."""
_SYSTEM = ("/usr/", "/rustc/")
"""Files of libraries that come compiled."""
_ADDRESS = re.compile(r"#([0-9a-f]{5,16})\b")
_THREAD = re.compile(r"\bthread (\d+)\b")
_SYMBOL = re.compile(r"^([0-9a-f]+) (?:([0-9a-f]+) )?([A-Za-z]) (.+)$", re.MULTILINE)


def explore(
    children: Children,
    built: Path,
    program: Program,
    options: ExploreOptions,
    tick: Tick | None = None,
) -> list[Result]:
    """Explore a program that was built, under each model of `options`.

    Raises:
        UsageError: the options do not fit, or the program does what is not explored.
        JudgeError: the explorer crashed, or did not keep its limits.
    """
    _check(options)
    variables = {"WAKEPROOF_VOLATILE": "relaxed"} if program.volatile_is_relaxed else {}
    command = (
        ["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []
    )
    results = explorer.run_program(
        children, [*command, str(built), "--test", program.name], built,
        replace(options, engine="graphs", jobs=1), ["--", *program.arguments], tick,
    )  # fmt: skip
    symbols = Symbols(children, built)
    symbols.find_lines(results)
    for result in results:
        if result.error:
            said = symbols.named(result.error)
            raise UsageError(f"{program.files[0]}, {result.model.label}: {said}")
    return [symbols.of_result(result) for result in results]


def report(
    programs: Sequence[Program],
    options: ExploreOptions | None = None,
    *,
    regex: str | None = None,
    save: Path | None = None,
    progress: Progress | None = None,
) -> ExploreReport:
    """Explore programs, judge what they do, and keep the counterexamples in the folder `save`.

    `regex` selects programs by name.

    Raises:
        UsageError: no program has such a name, one does not compile, or does what is not explored.
    """
    kept = selected({program.name: "" for program in programs}, regex)
    programs = [program for program in programs if program.name in kept]
    chosen = (options or ExploreOptions()).checked()
    keeper = Keeper(chosen, save, lambda *_: [])
    shows = progress or (lambda _next, _done, _total: None)
    started = time.monotonic()
    reports = []
    with Children() as children, tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        shows("compiling", 0, 0)
        runtime = Runtime(children)
        builder = Builder(children, runtime, Path(folder))
        for at, program in enumerate(programs):
            built = builder.program(program)

            def tick(now: dict[str, float], name: str = program.name, at: int = at) -> None:
                shows(f"{name}: {size_of(now)}", at, len(programs))

            shows(program.name, at, len(programs))
            results = explore(children, built, program, chosen, tick)
            judged = grading.judge_program(str(program.files[0]), program.name, results)
            keeper.keep(
                program.files[0], judged, None, sources_hash(runtime, program), program.text
            )
            reports.append(judged)
    return ExploreReport(
        tuple(reports), (), chosen, tuple(keeper.found), time.monotonic() - started,
        tuple(builder.warnings),
    )  # fmt: skip


def sources_hash(runtime: Runtime, program: Program) -> str:
    """Return a hash of everything that is compiled or read for a run."""
    texts = (f"{file.name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}"
             for file in program.files)  # fmt: skip
    return digest(runtime.identity(), program.text, *texts)


def replay(token: Token) -> Found:
    """Explore the program of a token once more, and return the token's execution.

    Raises:
        UsageError: a file is gone, or has changed since.
        JudgeError: the sources are the same, but the execution was not found identically.
    """
    program = of_text(token.path, token.program)
    for file in program.files:
        if not file.is_file():
            raise UsageError(f"the token is of {file}, which does not exist")
    with Children() as children, tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        runtime = Runtime(children)
        if sources_hash(runtime, program) != token.sources:
            raise UsageError(
                f"the token was made from other sources of {token.file} or of the explorer: "
                "explore again for a new one"
            )
        built = Builder(children, runtime, Path(folder)).program(program)
        return same(token, explore(children, built, program, token.explore_options()))


def _check(options: ExploreOptions) -> None:
    if options.engine not in ("auto", "graphs"):
        raise UsageError(
            f"engine {options.engine} does not run programs with threads of their own: leave "
            "--engine out, or give graphs"
        )
    if Model.ARMV8 in options.models:
        raise UsageError("model armv8 is of litmus tests as text; a program has sc, tso, rc11")
    if options.failing_heavy:
        raise UsageError("--failing-heavy is of scenarios: membarrier of a program always works")
    if options.orders:
        raise UsageError("--order is of scenarios; change the order in the program itself")


class Symbols:
    """The names and lines of addresses in a program that was built."""

    def __init__(self, children: Children, built: Path) -> None:
        self._children, self._built = children, built
        listed = children.run(["nm", "-n", "-S", "-C", str(built)], timeout_s=TOOL_S).output
        self._found: list[tuple[int, int, str, str]] = [
            (int(at, 16), int(size or "0", 16), kind, name)
            for at, size, kind, name in _SYMBOL.findall(listed)
        ]
        self._starts = [at for at, _, _, _ in self._found]
        self._lines: dict[int, tuple[str, int]] = {}

    def find_lines(self, results: Sequence[Result]) -> None:
        """Find the line of each address of code in the results.

        Of functions that were inlined into one another, it is the innermost one outside the
        headers of the system.
        """
        texts = [result.error for result in results]
        for event in (e for result in results for o in result.outcomes for e in o.example):
            texts += [event.text, event.site.file if event.site else ""]
        every = {int(at, 16) for at in _ADDRESS.findall(" ".join(texts))}
        calls = [at - 1 for at in sorted(every) if self._is_code(at)]  # at: the one after the call
        for at, frames in inlined(self._children, self._built, calls).items():
            known = [(file, number) for _, file, number in frames]
            own = [frame for frame in known if not frame[0].startswith(_SYSTEM)] or known
            if own:
                self._lines[at + 1] = (shown(Path(own[0][0])), own[0][1])

    def _is_code(self, at: int) -> bool:
        index = bisect(self._starts, at) - 1
        return index >= 0 and self._found[index][2] in "tTwW" and at < ARENA

    def of_address(self, at: int) -> str:
        """Return ``race.c:12``, ``head``, ``table+8``, ``heap of thread 1 + 32``; or a number."""
        if at in self._lines:
            return "{}:{}".format(*self._lines[at])
        if ARENA <= at < ARENA + THREADS * SLOT:
            thread, offset = divmod(at - ARENA, SLOT)
            if offset < HEAP:
                return f"heap of thread {thread} + {offset}"
            return f"stack of thread {thread} - {STACK_END - offset}"
        index = bisect(self._starts, at) - 1
        if index >= 0:
            start, size, _, name = self._found[index]
            if at < start + max(size, 1):
                return name.removeprefix("own__") + (f"+{at - start}" if at > start else "")
        return f"{at:#x}"

    def named(self, text: str) -> str:
        """Return a text with the names of the addresses in it."""
        return _ADDRESS.sub(lambda match: self.of_address(int(match[1], 16)), text)

    def of_result(self, result: Result) -> Result:
        """Return a result with names for lines, locations and threads."""
        actors = tuple(self.of_address(int(at[1:], 16)) for at in result.actors)
        actors = tuple(f"thread {at}" if name in STD_THREADS else name.partition("(")[0]
                       for at, name in enumerate(actors))  # fmt: skip
        actors = tuple(
            name if actors.count(name) == 1 else f"{name} ({at})" for at, name in enumerate(actors)
        )
        outcomes = tuple(self._of_found(found, actors) for found in result.outcomes)
        return replace(result, outcomes=outcomes, actors=actors)

    def _of_found(self, found: Found, actors: tuple[str, ...]) -> Found:
        def named(text: str) -> str:
            return _THREAD.sub(lambda match: _actor(actors, match), self.named(text))

        def of_event(event: Event) -> Event:
            location = named(event.location) if event.location else event.location
            return replace(
                event, location=location, text=named(event.text), offset=-1,
                site=self._of_site(event.site),
            )  # fmt: skip

        return replace(found, example=tuple(map(of_event, found.example)), actors=actors)

    def _of_site(self, site: Site | None) -> Site | None:
        address = _ADDRESS.match(site.file) if site else None
        if site is None or address is None:
            return site
        file, line = self._lines.get(int(address[1], 16), ("", 0))
        return replace(site, file=file, line=line) if line else None


def _actor(actors: tuple[str, ...], match: re.Match[str]) -> str:
    at = int(match[1])
    return actors[at] if at < len(actors) else f"thread {at}"
