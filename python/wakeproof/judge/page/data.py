# SPDX-License-Identifier: Apache-2.0
"""The contents of a report, as data with a published schema.

The page is made of this and of nothing else.  `wakeproof audit` writes it, and its JSON schema,
beside the page.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

Strength = Literal["proved", "every", "sampled", "observed", "specification"]
STRENGTHS: Final[dict[Strength, str]] = {
    "proved": "proved for any number",
    "every": "every execution to bounds",
    "sampled": "sampled",
    "observed": "observed on cores",
    "specification": "specification only",
}
"""How a claim is known to hold, the strongest first."""


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Group(_Data):
    """A value with parts: a set, a sequence, or a function (a record is one)."""

    kind: Literal["set", "sequence", "function"]
    items: tuple[Value, ...] = ()  # of a set or a sequence
    entries: tuple[tuple[str, Value], ...] = ()  # of a function


Value = str | Group


class Source(_Data):
    """Some lines of a file, or of a module."""

    name: str  # "wakeup/guard.h", "Guard"
    first: int  # number of the first line
    text: str
    mark: tuple[int, int] = (0, 0)  # first and last line that matter; (0, 0): all


class Change(_Data):
    """The smallest part of a state that a step changed."""

    variable: str
    place: str  # "producer[p1]"
    before: str
    after: str


class Step(_Data):
    """One step of a counterexample."""

    lane: int  # of the thread that takes it; -1: of none
    text: str  # the action or the operation
    got: str = ""  # what it returned, in words
    changes: tuple[Change, ...] = ()
    values: dict[str, Value] = {}  # of the variables that it changed; the first step: of all
    reads: int = 0  # the step that wrote what it read; 0: none
    lands: int = 0  # the step whose store reaches memory; 0: none
    is_stale: bool = False  # it read an old value
    sources: tuple[str, ...] = ()  # keys


class Counterexample(_Data):
    """A behaviour, step by step."""

    name: str  # in links; no two have the same
    judge: str
    title: str
    notes: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    buffers: tuple[str, ...] = ()  # variables that are store buffers, one for each lane
    back_to: int = 0  # the step to which the end leads, for ever; 0: none
    ending: str = ""
    command: str = ""  # that shows it again
    sources: dict[str, Source] = {}


class Site(_Data):
    """An atomic operation that upholds a claim."""

    label: str
    place: str  # "wakeup/guard.h:88"
    order: str
    pairs: tuple[str, ...]
    comment: str
    weaker: tuple[str, ...]  # what the audit of the orders found, a sentence for each weaker order
    source: str  # key


class Configuration(_Data):
    """A configuration in which TLC checked a claim, or a twin of it."""

    name: str
    about: str
    states: int
    depth: int
    seconds: float
    judged: str


class Outcome(_Data):
    """One outcome of a scenario: how often real cores showed it, and which model allows it."""

    outcome: str
    samples: int
    grade: str
    reason: str
    allowed_by: str
    meaning: str


class Explored(_Data):
    """One exploration of a scenario."""

    model: str
    engine: str
    verdict: str
    ends: int
    states: int
    extent: str  # how much of it


class Scenario(_Data):
    """A program in C that tries to break a claim."""

    name: str
    claim: str
    verdict: str
    explored: tuple[Explored, ...]
    samples: int
    outcomes: tuple[Outcome, ...]
    plot: str = ""  # SVG
    judged: str = ""


class Compared(_Data):
    """A comparison of the code's state graph with its spec's."""

    concept: str
    bounds: str
    verdict: str
    spec_states: int
    code_states: int
    judged: str


class Sight(_Data):
    """What one judge said of a twin."""

    judge: str
    must: bool
    saw: bool | None  # None: not judged here
    how: str
    judged: str


class Twin(_Data):
    """A copy of the sources with one defect."""

    name: str
    about: str
    violates: str
    diff: str
    seen: tuple[Sight, ...]
    counterexamples: tuple[str, ...]  # names


class Claim(_Data):
    """A promise, and all that is known about it."""

    name: str
    kind: str
    sentence: str
    status: str
    strength: Strength
    known: tuple[str, ...]  # sentences: who judged it, to which bounds
    open: tuple[str, ...]  # sentences: what is not shown
    spec: tuple[str, ...]  # keys of sources: its definition, and those that it uses
    files: tuple[str, ...]  # of the code, where no site upholds it
    sites: tuple[Site, ...]
    configurations: tuple[Configuration, ...]
    scenarios: tuple[Scenario, ...]
    compared: tuple[Compared, ...]
    twins: tuple[str, ...]
    judged: str
    counterexamples: tuple[str, ...] = ()  # of the claim itself, if it is violated

    @property
    def holds(self) -> bool:
        """Say whether it was judged, and is not violated."""
        return self.status in ("holds", STRENGTHS["specification"])

    @property
    def module(self) -> str:
        """Return the module that promises it."""
        return self.name.partition("!")[0]

    def first_trace(self, report: Report) -> str:
        """Return the name of its first counterexample, or of its twins' first, or ""."""
        of_twins = (name for twin in self.twins for name in report.twins[twin].counterexamples)
        return next(iter(self.counterexamples), next(of_twins, ""))


class Row(_Data):
    """One verdict of one judge."""

    judge: str
    name: str
    verdict: str
    judged: str


class StateGraph(_Data):
    """All states of a small configuration."""

    name: str
    about: str
    states: tuple[dict[str, Value], ...]
    starts: tuple[int, ...]
    edges: tuple[tuple[int, int, str], ...]
    places: tuple[tuple[float, float], ...]  # of the states, in a picture


class Report(_Data):
    """A whole report."""

    title: str
    made: str
    verdict: str
    holds: bool
    problems: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    not_shown: tuple[str, ...] = ()
    summaries: tuple[tuple[str, str], ...] = ()  # of judges that judge no single claim
    claims: tuple[Claim, ...] = ()
    twins: dict[str, Twin] = {}
    counterexamples: tuple[Counterexample, ...] = ()
    graphs: tuple[StateGraph, ...] = ()
    rows: tuple[Row, ...] = ()
    sources: dict[str, Source] = {}
    plot: str = ""  # SVG: claims by strength

    def of_strength(self, strength: Strength) -> list[Claim]:
        """Return the claims that hold, and are known in this way and in no stronger one."""
        return [claim for claim in self.claims if claim.holds and claim.strength == strength]


def schema() -> dict[str, Any]:
    """Return the JSON schema of a report."""
    return Report.model_json_schema()
