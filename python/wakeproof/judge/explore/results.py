# SPDX-License-Identifier: Apache-2.0
"""The explorer's results, one per program, model and engine.  Source: report.c's JSON."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass, replace
from typing import Any

from wakeproof.errors import JudgeError
from wakeproof.judge import schema
from wakeproof.judge.explore.options import Model
from wakeproof.judge.schema import SchemaError

BAD = ("asleep", "lost_wakeup", "stuck", "race", "assertion", "crash")
"""The verdicts other than ``ended``, each a bad end of an execution."""
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
    text: str = ""
    place: int = -1  # number of the location, as two may have one spelling; -1: none
    offset: int = -1  # compiled code: offset in the scenario's state, in bytes
    size: int = 8  # bytes
    crash: bool = False  # `fail`: a crash, not an assertion
    racing: bool = False  # one of the two accesses of a race


@dataclass(frozen=True)
class Found:
    """One outcome: its text, its verdict, its count, and the shortest execution that was met."""

    text: str
    verdict: str
    count: int
    example: tuple[Event, ...]
    schedule: str = ""  # states: of the example; see stress/explorer/state_replay.c
    cycle_from: int = -1  # states, `stuck`: the event from which on the example goes round
    spinning: int = 0  # graphs, `stuck`: a bit per thread that loops
    actors: tuple[str, ...] = ()  # names of the threads' functions; empty: a program as text
    first: int = 0  # of a part: when it was met, as one search would count it
    cost: int = 0  # of a part: of the example; the cheapest is kept
    item: int = 0  # of a part: in which the example was met

    @property
    def digest(self) -> str:
        """Return a hash of the example's events that ignores the names of locations."""
        events = [astuple(replace(event, location=None)) for event in self.example]
        return hashlib.sha256(repr(events).encode()).hexdigest()[:16]


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
    sites: tuple[Site, ...] = ()  # sites that were reached; only with --sites
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of all: about, from, to; 0: unknown
    preemptions: int = -1  # the largest bound that was explored whole; -1: none
    cpu_seconds: float = 0.0  # graphs: of the processor; of several processes, the longest's
    pct_bound: float = 0.0  # probability that one sample finds a bug of the depth, at least
    actors: tuple[str, ...] = ()  # addresses of the threads' functions; empty: a program as text
    state_size: int = 0  # compiled code: bytes
    pct_samples: int = 0  # the number of samples drawn after the longest walk was known

    @property
    def texts(self) -> frozenset[str]:
        """Return the outcomes' texts."""
        return frozenset(outcome.text for outcome in self.outcomes)

    @property
    def verdicts(self) -> frozenset[str]:
        """Return the outcomes' verdicts."""
        return frozenset(outcome.verdict for outcome in self.outcomes)

    @property
    def ends(self) -> int:
        """Return the number of executions that ended; for the engine states, of final states."""
        return sum(found.count for found in self.outcomes if not self._is_cycles(found))

    def how_often(self, found: Found) -> str:
        """Return ``3 of 12 executions``, or a plain count for the engine states."""
        if self._is_cycles(found):
            return f"{found.count:,} cycle{'s' * (found.count != 1)}"
        unit = "final states" if self.engine == "states" else "executions"
        return f"{found.count:,} of {self.ends:,} {'samples' if self.stopped == 'sample' else unit}"

    def _is_cycles(self, found: Found) -> bool:
        return found.verdict == "stuck" and self.engine == "states"

    @property
    def coverage(self) -> str:
        """Return ``exhaustive``, or the reason that it was not."""
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
        what = "executions" if self.engine == "graphs" else "states"
        return f"{why}, of about {self.size[0]:,.0f} {what}" if self.size[0] else why

    @property
    def share(self) -> str:
        """Return the explored part if it is not all: ``0.01 %``, ``20,000 samples``."""
        if self.stopped == "sample":
            return f"{self.executions + self.blocked + self.bounded:,} samples"
        if self.stopped == "preemptions" and self.preemptions >= 0:
            return f"at most {self.preemptions} preemptions"
        if self.stopped.startswith("max_") and self.size[0]:
            known = self.executions if self.engine == "graphs" else self.states
            return percent(known / self.size[0])
        return self.coverage.removeprefix("not exhaustive: ")


LEARNED = "learned"
"""Why a part of a search counts as nothing: ``stress/explorer/graph_share.c`` says it."""

WHY_NOT = {
    "max_executions": "not exhaustive: execution limit",
    "max_bytes": "not exhaustive: memory limit",
    "max_seconds": "not exhaustive: time limit",
    "sample": "sampled",
    "loop_bound": "bounded: loops",
    "preemptions": "bounded: preemptions",
    "inclusion": "shown under SC, hence here",
    LEARNED: "not exhaustive: a part changed its program",
    "buffers": "bounded: store buffers",
}


def percent(share: float) -> str:
    """Return ``12 %``, ``0.01 %``, ``below 0.0001 %``; never ``100 %``."""
    if share < 1e-6:
        return "below 0.0001 %"
    if share >= 0.1:
        return f"{min(int(100 * share), 99)} %"
    text = f"{100 * share:.6f}"
    first = next(at for at, digit in enumerate(text) if digit not in "0.")
    return f"{text[: max(first, 1) + 1].rstrip('.')} %"


def parse(line: str) -> Result:
    """Return the result that one line of the explorer's output holds.

    Raises:
        JudgeError: the line is no result.
    """
    try:
        return schema.from_json(Result, line)
    except SchemaError as error:
        raise JudgeError(f"the explorer printed no result: {error}: {line[:200]}") from None


def event_of(entry: dict[str, Any]) -> Event:
    """Return the event that is `entry` in JSON.

    Raises:
        SchemaError: it is none.
    """
    return schema.from_values(Event, entry)


def why_no_graph(output: str) -> str:
    """Return why the explorer, with this `output`, wrote no graph or an incomplete one."""
    try:
        found = parse(output.strip().rpartition("\n")[2])
    except JudgeError:
        return output.strip()[-400:]
    return found.error or WHY_NOT.get(found.stopped, "its graph cannot be read")
