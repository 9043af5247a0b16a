# SPDX-License-Identifier: Apache-2.0
"""What the explorer found: one result per program, model and engine.  Source: report.c's JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass
from typing import Any

from wakeproof.errors import JudgeError
from wakeproof.judge.explore_options import Model

BAD = ("asleep", "missed", "stuck", "race", "assertion")
"""Verdicts other than ``ended``: how an execution ended badly."""
INITIAL, NO_READ = -1, -2  # read_from


@dataclass(frozen=True)
class Site:
    """A line of the source."""

    file: str
    line: int
    what: str


@dataclass(frozen=True)
class Event:
    """One step of an execution, in an order that explains it."""

    thread: int
    kind: str
    order: str
    site: Site | None
    location: str | None
    value: int
    operand: int
    expected: int
    written: int | None
    read_from: int
    drain: bool
    text: str


@dataclass(frozen=True)
class Found:
    """One outcome: its text, how it ended, how often, and the shortest execution met."""

    text: str
    verdict: str
    count: int
    example: tuple[Event, ...]
    schedule: str = ""  # states: of the example; see stress/explorer/state_replay.c

    @property
    def digest(self) -> str:
        """Return a hash of the example's events: equal for the identical execution."""
        return hashlib.sha256(repr([astuple(e) for e in self.example]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Result:
    """One exploration.  `error` not empty: no verdict at all."""

    program: str
    model: Model
    engine: str
    threads: int  # 0: the program could not even be made
    outcomes: tuple[Found, ...]
    executions: int
    blocked: int
    bounded: int
    duplicates: int
    states: int
    edges: int
    depth: int
    exhaustive: bool
    stopped: str
    error: str
    seconds: float
    bytes: int
    sites: tuple[Site, ...] = ()  # that were come to; only if they were asked for
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of all: about, from, to; 0: unknown
    preemptions: int = -1  # the largest bound that was explored whole; -1: none
    cpu_seconds: float = 0.0  # graphs: of the processor; of several processes, the longest's
    pct_bound: float = 0.0  # probability that one sample finds a bug of the depth, at least
    pct_samples: int = 0  # of so many samples: those drawn when the longest walk was known

    @property
    def texts(self) -> frozenset[str]:
        """Return the outcomes' texts."""
        return frozenset(outcome.text for outcome in self.outcomes)

    @property
    def verdicts(self) -> frozenset[str]:
        """Return the outcomes' verdicts."""
        return frozenset(outcome.verdict for outcome in self.outcomes)

    @property
    def coverage(self) -> str:
        """Return ``exhaustive``, or what kept it from being so."""
        if self.error:
            return "error"
        if self.exhaustive:
            return "exhaustive"
        if self.stopped == "estimate":
            return "estimate: about {:,.0f} executions ({:,.0f} to {:,.0f})".format(*self.size)
        why = WHY_NOT.get(self.stopped, f"not exhaustive: {self.stopped or 'unknown'}")
        if self.stopped == "preemptions" and self.preemptions >= 0:
            return f"{why}, at most {self.preemptions}"
        if self.stopped == "sample" and self.pct_bound:
            p = f"p >= 1/{1 / self.pct_bound:,.0f}"
            return f"{why}: {self.pct_samples:,} of them find it with {p} each"
        return f"{why}, of about {self.size[0]:,.0f} states" if self.size[0] else why


WHY_NOT = {
    "max_executions": "not exhaustive: execution limit",
    "max_bytes": "not exhaustive: memory limit",
    "max_seconds": "not exhaustive: time limit",
    "sample": "sampled",
    "loop_bound": "bounded: loops",
    "preemptions": "bounded: preemptions",
    "inclusion": "shown under SC, hence here",
    "buffers": "bounded: store buffers",
}


def parse(line: str) -> Result:
    """Return the result that one line of the explorer's output holds.

    Raises:
        JudgeError: the line is something else.
    """
    try:
        entry = json.loads(line)
        return Result(
            program=entry["program"], model=Model(entry["model"]), engine=entry["engine"],
            threads=entry["threads"],
            outcomes=tuple(_found(outcome) for outcome in entry["outcomes"]),
            executions=entry["executions"], blocked=entry["blocked"], bounded=entry["bounded"],
            duplicates=entry["duplicates"], states=entry["states"], edges=entry["edges"],
            depth=entry["depth"], exhaustive=entry["exhaustive"], stopped=entry["stopped"],
            error=entry["error"], seconds=entry["seconds"], bytes=entry["bytes"],
            sites=tuple(_site(site) for site in entry.get("sites", ())),
            size=tuple(entry["size"]), preemptions=entry["preemptions"],
            pct_bound=entry["pct_bound"], pct_samples=entry["pct_samples"],
            cpu_seconds=entry["cpu_seconds"],
        )  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise JudgeError(f"the explorer printed no result: {line[:200]}") from error


def why_no_graph(output: str) -> str:
    """Say why the explorer, which printed `output`, has written no graph, or not the whole."""
    try:
        found = parse(output.strip().rpartition("\n")[2])
    except JudgeError:
        return output.strip()[-400:]
    return found.error or WHY_NOT.get(found.stopped, "its graph cannot be read")


def _found(entry: dict[str, Any]) -> Found:
    events = tuple(event_of(event) for event in entry["example"] or ())
    return Found(entry["text"], entry["verdict"], entry["count"], events, entry.get("schedule", ""))


def event_of(entry: dict[str, Any]) -> Event:
    """Return the event that is `entry` in JSON."""
    site = entry["site"]
    return Event(
        thread=entry["thread"], kind=entry["kind"], order=entry["order"],
        site=_site(site) if site else None,
        location=entry["location"], value=entry["value"], operand=entry["operand"],
        expected=entry["expected"], written=entry["written"], read_from=entry["read_from"],
        drain=entry["drain"], text=entry.get("text", ""),
    )  # fmt: skip


def _site(entry: dict[str, Any]) -> Site:
    return Site(entry["file"], entry["line"], entry["what"])
