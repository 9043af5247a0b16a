# SPDX-License-Identifier: Apache-2.0
"""Compares every twin of every spec with the code's graph: it must differ, or have a reason.

A twin spec is the spec with one defect, at the bounds of the concept.  So this module finds each
comparison that cannot see the change of a twin, because its map hides the change or because the
bounds exclude it.  Each of these has its reason in `EQUAL`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from wakeproof.errors import UsageError
from wakeproof.judge.conform.bisimulation import Partition
from wakeproof.judge.conform.bisimulation_graph import INVISIBLE, Graph
from wakeproof.judge.conform.bisimulation_quotient import quotient
from wakeproof.judge.conform.concept import HIDDEN, Concept
from wakeproof.judge.conform.graphs import code_side, spec_side
from wakeproof.judge.conform.run import Judge, chosen
from wakeproof.judge.conform.undetectable_twins import EQUAL, TOO_LARGE, TOO_LARGE_TWINS
from wakeproof.judge.process import Children
from wakeproof.judge.results import Results, gathered
from wakeproof.judge.tlc import manifest, models


@dataclass(frozen=True)
class SpecTwinResult:
    """One twin of a spec, compared with the code."""

    concept: Concept
    twin: str
    differs: bool
    reason: str  # why it is equal; "": it must differ
    spec_states: int
    code_states: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Return whether it differs, or is equal as the table says."""
        return self.differs != bool(self.reason)

    @property
    def verdict(self) -> str:
        """Return the result in words."""
        if self.differs:
            return (
                f"differs, but the table says: equal, {self.reason}" if self.reason else "differs"
            )
        return f"equal: {self.reason}" if self.reason else "equal, without a reason"


class SpecTwinsReport(Results[SpecTwinResult]):
    """All twins of a job."""


Progress = Callable[[SpecTwinResult], None]


def twins_of(module: str, specs: Path) -> list[str]:
    """Return the twins of a spec that change its text; the others only have their own bounds."""
    return [
        entry.name.partition("_")[2] for entry in manifest.load(specs).values()
        if entry.module == f"MC{module}" and entry.folder
    ]  # fmt: skip


def spec_twins(pattern: str | None = None, *, progress: Progress | None = None) -> SpecTwinsReport:
    """Compare every twin of the specs of the concepts with a name that matches (None: all).

    Raises:
        UsageError: not a regular expression, nothing matches, or only what is too large.
        JudgeError: TLC or the explorer gave no graph.
        MissingToolError: no Java, no TLC or no C compiler.
    """
    concepts = [concept for concept in chosen(pattern) if concept.name not in TOO_LARGE]
    if not concepts:
        raise UsageError("; ".join(f"{name}: {why}" for name, why in TOO_LARGE.items()))
    with Children() as children:
        return SpecTwinsReport(*gathered(_results(Judge(children), concepts), progress))


def _results(judge: Judge, concepts: list[Concept]) -> Iterator[SpecTwinResult]:
    for concept in concepts:
        numbers = {HIDDEN: INVISIBLE}
        code = quotient(code_side(concept, judge.code(concept, None), numbers)[0])
        for twin in twins_of(concept.module, models.folder(judge.sources / "specs")):
            if twin not in TOO_LARGE_TWINS.get(concept.name, ()):
                yield _compare(judge, concept, twin, code, numbers)


def _compare(
    judge: Judge, concept: Concept, twin: str, code: Graph, numbers: dict[str, int]
) -> SpecTwinResult:
    begin = time.monotonic()
    graph, actions = judge.spec(concept, twin)
    spec = spec_side(concept, graph, actions, numbers)
    differs = not Partition([spec, code]).starts_agree()
    reason = EQUAL.get(concept.name, {}).get(twin, "")
    return SpecTwinResult(concept, twin, differs, reason, len(spec.observed), len(code.observed),
                          time.monotonic() - begin)  # fmt: skip
