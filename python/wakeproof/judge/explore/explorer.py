# SPDX-License-Identifier: Apache-2.0
"""Runs the explorer: one process for a scenario, or for thousands of programs as text."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.explore import enumerated
from wakeproof.judge.explore.explored import shown
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Event, Result, parse
from wakeproof.judge.process import Children, check_resources

PATIENCE = 10  # times the limit, which is processor time: other work may share the machine
GRACE_S = 60.0  # beyond the limit that the explorer keeps by itself
LOOK_S = 0.5
LINES_S = 60.0
_NAME = re.compile(r"^[ \t]*program[ \t]+(\S+)", re.MULTILINE)
_ADDRESS = re.compile(r"@[0-9a-f]{5,16}\b")

Tick = Callable[[dict[str, float]], None]
"""Called from time to time with the executions, states and seconds so far."""


def run_test(
    children: Children,
    program: Path,
    test: str,
    options: ExploreOptions,
    tick: Tick | None = None,
    *,
    sites: bool = False,
    bounded: bool = False,
) -> list[Result]:
    """Explore a scenario that is linked into `program`, under each model of `options`.

    `bounded`: use the bound on preemptions even if the scenario declares a whole exploration.
    """
    command = [str(program), "--test", test, *["--sites"] * sites, *["--bounded"] * bounded]
    plain = [str(program), "--test", test, *["--bounded"] * bounded]
    found = _run_models(children, command, options, 1, [(test, plain)], tick)
    return [_with_lines(children, program, result) for result in found]


def _with_lines(children: Children, program: Path, result: Result) -> Result:
    """Add the lines of plain accesses, which the compiler reports by address."""
    events = [event for outcome in result.outcomes for event in outcome.example]
    files = {e.site.file for e in events if e.site and e.site.file.startswith("@")}
    texts = " ".join([result.error, *(event.text for event in events)])
    places = sorted(files | set(_ADDRESS.findall(texts)))
    if not places or shutil.which("addr2line") is None:
        return result
    calls = [f"{int(place[1:], 16) - 1:x}" for place in places]  # the return address is past it
    ended = children.run(["addr2line", "-e", str(program), *calls], timeout_s=LINES_S)
    lines = dict(zip(places, ended.output.splitlines(), strict=False))

    def place(address: str) -> tuple[str, int]:
        file, _, line = lines.get(address, "").rpartition(":")
        line = line.split(" ")[0]
        is_known = line.isdigit() and file != "??"
        return (shown(Path(file)), int(line)) if is_known else (address, 0)

    def lined(event: Event) -> Event:
        event = replace(event, text=_ADDRESS.sub(named, event.text))
        if event.site is None or event.site.file not in lines:
            return event
        file, line = place(event.site.file)
        return replace(event, site=replace(event.site, file=file, line=line))

    def named(address: re.Match[str]) -> str:
        file, line = place(address[0])
        return f"{file}:{line}" if line else file

    outcomes = tuple(
        replace(o, example=tuple(lined(event) for event in o.example)) for o in result.outcomes
    )
    return replace(result, outcomes=outcomes, error=_ADDRESS.sub(named, result.error))


def run_program(
    children: Children,
    command: list[str],
    built: Path,
    options: ExploreOptions,
    arguments: list[str],
    tick: Tick | None = None,
) -> list[Result]:
    """Explore a program with a `main` of its own, which gets the `arguments`."""
    found = _run(children, command, options, len(options.models), tick, last=arguments)
    return [_with_lines(children, built, result) for result in found]


def run_programs(
    children: Children,
    program: Path,
    texts: Sequence[str],
    options: ExploreOptions,
    tick: Tick | None = None,
    *,
    examples: bool = True,
) -> list[Result]:
    """Explore each program, under each model: results in that order."""
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        file = Path(folder) / "programs.txt"
        file.write_text("\nend\n".join(text.strip("\n") for text in texts) + "\n", "utf-8")
        alone = []
        for at, text in enumerate(texts if Model.ARMV8 in options.models else ()):
            one = Path(folder) / f"{at}.txt"
            one.write_text(text, "utf-8")
            named = _NAME.search(text)
            name = named[1] if named else f"program {at + 1}"
            alone.append((name, [str(program), "--program", str(one)]))
        command = [str(program), "--program", str(file)]
        return _run_models(children, command, options, len(texts), alone, tick, examples=examples)


def _run_models(
    children: Children,
    command: list[str],
    options: ExploreOptions,
    programs: int,
    alone: list[tuple[str, list[str]]],
    tick: Tick | None,
    *,
    examples: bool = True,
) -> list[Result]:
    """Run the explorer's models in one process, then ARMv8's for each program, of its `alone`."""
    options.checked()
    models = tuple(model for model in options.models if model is not Model.ARMV8)
    own = replace(options, models=models)
    found = (
        _run(children, command, own, len(models) * programs, tick, examples=examples)
        if models
        else []
    )
    if len(models) == len(options.models):
        return found
    each = len(found) // programs
    together: list[Result] = []
    for at, (name, command_alone) in enumerate(alone):
        together += found[at * each : (at + 1) * each]
        together.append(enumerated.explore(children, command_alone, name, options))
    return together


def _run(
    children: Children,
    command: list[str],
    options: ExploreOptions,
    runs: int,
    tick: Tick | None,
    *,
    examples: bool = True,
    last: Sequence[str] = (),
) -> list[Result]:
    chosen = options.checked()
    limit_s = runs * (2 if chosen.engine == "both" else 1) * chosen.seconds
    with _watched(tick) as progress:
        ended = children.run(
            [*command, *chosen.arguments(examples=examples), "--progress", progress, *last],
            timeout_s=limit_s * PATIENCE + GRACE_S if chosen.seconds else None,
        )
    lines = ended.output.splitlines()
    if ended.timed_out:
        raise JudgeError(f"{command[0]} did not keep its limit of {limit_s:.0f} s")
    if ended.code == 2:
        raise UsageError(ended.output.strip())
    if ended.code != 0:
        ending = f"signal {-ended.code}" if ended.code < 0 else f"exit {ended.code}"
        check_resources(command[0], ended.output)
        said = "\n".join(line[:300] for line in lines[-5:])
        raise JudgeError(f"{' '.join(command)} crashed ({ending}): {said}")
    found = [parse(line) for line in lines if line.startswith("{")]
    for result in found:
        check_resources(f"{result.program} under {result.model.label}", result.error)
    return found


@contextlib.contextmanager
def _watched(tick: Tick | None) -> Iterator[str]:
    """Yield a file to which the explorer writes its progress, and pass the progress on."""
    if tick is None:
        yield "none"
        return
    over = threading.Event()
    with tempfile.NamedTemporaryFile("r", prefix="wakeproof-", encoding="utf-8") as file:

        def look() -> None:
            rest = ""
            while not over.wait(LOOK_S):
                *whole, rest = (rest + file.read()).split("\n")
                if whole:
                    tick(json.loads(whole[-1]))

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield file.name
        finally:
            over.set()
            watcher.join()
