# SPDX-License-Identifier: Apache-2.0
"""Runs every server under every load in turns, and stores the results after each round."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit

from wakeproof import locations
from wakeproof.bench import versions
from wakeproof.bench.web import servers
from wakeproof.bench.web.placement import Placement, place
from wakeproof.bench.web.results import LOADS, MATRIX, ONE, Line, WebReport, goals
from wakeproof.bench.web.running import Running
from wakeproof.bench.web.sample import FIXED, MOST, TRACED, Load, measure
from wakeproof.bench.web.servers import Programs, Setup
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import report
from wakeproof.judge.names import finder
from wakeproof.judge.process import Children

Progress = Callable[[str], None]
BACKEND_CARRIERS = 1
OTHER_DESCRIPTORS = 200  # of a server: its program's, its pollers'


@dataclass(frozen=True)
class Settings:
    """How much is measured: `seconds` for each phase, and `rounds` in which servers take turns.

    In each round a server that a goal concerns has two turns.
    """

    regex: str | None = None
    seconds: float = 1.0
    rounds: int = 3
    rate: float = 4000.0
    loads: tuple[Load, ...] = LOADS
    setups: tuple[Setup, ...] = (*ONE, *MATRIX)


def bench_http(settings: Settings, progress: Progress = lambda _: None) -> WebReport:
    """Measure the servers that `settings.regex` finds under each load, and store the samples.

    Raises:
        UsageError: there is no such server, or a number makes no sense.
        MissingToolError: no C compiler, no bench sources, or no examples.
        JudgeError: a server of ours or the load generator failed.
    """
    chosen = select(settings)
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    with Children() as children:
        progress("building")
        programs = servers.build(children)
        lines = [
            Line(setup, load, place(cpus, setup.carriers, setup.pin),
                 not_run=programs.missing.get(setup.side, "") or _too_few_descriptors(load))
            for load in settings.loads for setup in chosen
        ]  # fmt: skip
        judged = [line for line in lines if line.setup in ONE]
        said = versions.of(children, (line.setup.side for line in lines if not line.not_run))
        for turn in range(settings.rounds):
            for at, line in enumerate([*lines, *judged]):
                progress(
                    f"round {turn + 1} of {settings.rounds}, {at + 1} of "
                    f"{len(lines) + len(judged)}: {line.setup.name}, {line.load.name}"
                )
                if not line.not_run:
                    _measure(children, programs, line, settings)
            found = _report(lines, settings, cpus, said)
            locations.write_atomically(
                locations.cache() / "bench" / "http.json", report.to_json(found)
            )
    return found


def select(settings: Settings) -> list[Setup]:
    """Return the servers that the regular expression finds.

    Raises:
        UsageError: there is no such server, or a number makes no sense.
    """
    for name, value, most in (
        ("--seconds", settings.seconds, 3600), ("--rounds", settings.rounds, 1000),
        ("--rate", settings.rate, 1e7),
    ):  # fmt: skip
        if not 0 < value <= most:
            raise UsageError(f"{name} {value:g}: must be more than 0 and at most {most:g}")
    is_named = finder(settings.regex)
    found = [setup for setup in settings.setups if is_named(setup.name)]
    if not found:
        known = ", ".join(setup.name for setup in settings.setups)
        raise UsageError(f"no server matches {settings.regex!r}; there are {known}")
    return found


def _too_few_descriptors(load: Load, limit: int = RLIMIT_NOFILE) -> str:
    """Return why a server cannot have so many connections to clients and backend, else ""."""
    needed, allowed = load.connections + load.inflight + OTHER_DESCRIPTORS, getrlimit(limit)[1]
    if allowed == RLIM_INFINITY or needed <= allowed:
        return ""
    return f"not run: {needed:,} descriptors needed, {allowed:,} allowed (ulimit -Hn)"


def _measure(children: Children, programs: Programs, line: Line, settings: Settings) -> None:
    """Add a sample of each phase; the lengths of queues are read once, in a separate run.

    A server that fails is not measured any more, and the others continue.
    """
    phases = [FIXED, MOST, *([TRACED] if line.setup.has_queues and not line.samples else [])]
    try:
        for phase in phases:
            with _backend(children, programs, line.load, line.place) as backend:
                found = measure(children, programs, line.setup, line.place, line.load, backend,
                                phase, settings.rate, settings.seconds)  # fmt: skip
            line.samples.setdefault(phase, []).append(found)
    except JudgeError as error:
        line.not_run, line.has_failed = f"failed: {error}", True


@contextmanager
def _backend(children: Children, programs: Programs, load: Load, where: Placement) -> Iterator[str]:
    command = [str(programs.backend), "--port", "0", "--think-ms", str(load.think_ms),
               "--carriers", str(BACKEND_CARRIERS)]  # fmt: skip
    with Running(children, command, where.backend) as backend:
        yield backend.address()


def _report(
    lines: list[Line], settings: Settings, cpus: tuple[int, ...], said: dict[str, str]
) -> WebReport:
    return WebReport(
        tuple(lines), tuple(goals(lines)), settings.rate, settings.rounds, settings.seconds, cpus,
        platform.machine(), said,
    )  # fmt: skip
