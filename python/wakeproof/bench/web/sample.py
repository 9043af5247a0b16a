# SPDX-License-Identifier: Apache-2.0
"""One sample: a server and its backend under load, the answers, and the resources used."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import import_module

from wakeproof.bench.web import servers
from wakeproof.bench.web.placement import Placement
from wakeproof.bench.web.running import STARTS_S, Running, Usage, usage
from wakeproof.bench.web.servers import Programs, Setup
from wakeproof.errors import JudgeError
from wakeproof.judge.process import Children

FIXED, MOST, TRACED = "fixed rate", "most", "traced"
"""Phases: requests at a fixed rate; as fast as the server answers; with reads of its queues."""

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 100.0)
DRAIN_S = 5.0
THREADS_MOST = 8  # of the load, with 100 connections
KEEPS_UP = 0.95
WARMUP_S = 0.5  # and until each connection was used once: first uses make stacks, and calls
LONGEST_NS = 3_600 * 10**9
Pairs = list[list[int]]  # nanoseconds, how often


@dataclass(frozen=True)
class Load:
    """The load of clients and backend; `inflight`: the most requests at once."""

    think_ms: int
    connections: int
    inflight: int

    @property
    def name(self) -> str:
        """Return the name of the load in tables."""
        return f"{self.think_ms} ms, {self.connections:,} connections"


@dataclass(frozen=True)
class Sample:
    """The results of a phase: answers, the resources of the server, and its own counters.

    `asked`: requests per second; 0: as many as the server answers.
    """

    asked: float
    completed: int
    seconds: float
    used: Usage
    errors: int
    unanswered: int
    percentiles_ms: list[float] = field(default_factory=list)
    lag_ms: list[float] = field(default_factory=list)
    stats: dict[str, int] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Return the answers per second."""
        return self.completed / self.seconds

    @property
    def cpus(self) -> float:
        """Return how many CPUs the server used."""
        return self.used.cpu_s / self.seconds

    @property
    def keeps_up(self) -> bool:
        """Return whether answers came as fast as requests; if not, the server was always busy."""
        return self.rate >= KEEPS_UP * self.asked

    def each(self, amount: float) -> float:
        """Return `amount` per request."""
        return amount / max(self.completed, 1)

    def ratio(self, counter: str, to: str) -> float | None:
        """Return one counter of the server divided by another; None: it has no such counters."""
        if counter not in self.stats or not self.stats.get(to):
            return None
        return self.stats[counter] / self.stats[to]


def measure(
    children: Children, programs: Programs, setup: Setup, place: Placement, load: Load,
    backend: str, phase: str, rate: float, seconds: float,
) -> Sample:  # fmt: skip
    """Start the server, put it under load, and end it.

    Raises:
        JudgeError: the server does not start, ends too early, or does not end.
    """
    command = servers.command(programs, setup, backend, place.carriers)
    if phase == TRACED:
        command.append("--trace-depth")
    with Running(children, command, place.server) as server:
        asked = _ask(programs, setup, place, load, server.address(), phase, rate, seconds)
        with Running(children, asked, place.load) as clients:
            _await(clients, "measuring", seconds)
            before = usage(server.pid)
            _await(clients, "measured", seconds)
            used = usage(server.pid).since(before)
            said = clients.rest()
            if clients.code != 0 or len(said) != 1:
                raise JudgeError(f"load of {setup.name} failed: {' '.join(said)[-500:]}")
        if server.code is not None:
            raise JudgeError(f"{setup.name} ended under load: {' '.join(server.rest())[-500:]}")
        stats = _stats(setup, server.end())
    found = json.loads(said[0])
    return Sample(
        0.0 if phase == MOST else rate, found["completed"], found["seconds"], used,
        found["errors"], found["unanswered"], percentiles_ms(found["latency"]),
        percentiles_ms(found["lag"]), stats,
    )  # fmt: skip


def percentiles_ms(pairs: Pairs) -> list[float]:
    """Return `PERCENTILES` by HdrHistogram; []: it is not installed, or there are no times."""
    if not servers.can_sort() or not pairs:
        return []
    histogram = import_module("hdrh.histogram").HdrHistogram(1, LONGEST_NS, 3)
    for ns, count in pairs:
        histogram.record_value(max(ns, 1), count)
    return [histogram.get_value_at_percentile(p) / 1e6 for p in PERCENTILES]


def _ask(
    programs: Programs, setup: Setup, place: Placement, load: Load, address: str, phase: str,
    rate: float, seconds: float,
) -> list[str]:  # fmt: skip
    warmup_s = max(servers.WARMUP_S.get(setup.side, 0), WARMUP_S + load.connections / rate)
    options = {
        "connections": load.connections, "inflight": load.inflight,
        "threads": min(len(place.load), THREADS_MOST),
        "warmup": warmup_s, "seconds": seconds, "drain": DRAIN_S,
    }  # fmt: skip
    if phase != MOST:
        options["rate"] = rate
    words = [word for name, value in options.items() for word in (f"--{name}", f"{value:g}")]
    return [str(programs.load), address, *words]


def _await(clients: Running, line: str, seconds: float) -> None:
    found = clients.line(seconds + STARTS_S)
    if found != line:
        raise JudgeError(f"load: {' '.join([found or '', *clients.rest()])[-500:]}")


def _stats(setup: Setup, lines: list[str]) -> dict[str, int]:
    """Return the counters that a server of wakeproof prints in its last line."""
    if not setup.is_ours:
        return {}
    try:
        found = json.loads(lines[-1])
    except (IndexError, ValueError) as error:
        raise JudgeError(f"{setup.name} printed no counters: {' '.join(lines)[-500:]}") from error
    return {name: value for name, value in found.items() if isinstance(value, int)}
