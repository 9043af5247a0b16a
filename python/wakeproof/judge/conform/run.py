# SPDX-License-Identifier: Apache-2.0
"""The judge `conform`: the state graph of the compiled code is that of its spec.

The judge compares two graphs at the same bounds under SC, with every interleaving: TLC's graph of
the spec and the explorer's graph of the compiled scenario.  They must be branching bisimilar with
explicit divergence.  States with different observations are different from the start.
Source: docs/inside/explorer.md.
"""

from __future__ import annotations

import contextlib
import gc
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from wakeproof import locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import labels, scenarios, store
from wakeproof.judge.builds import Build, Builder, Program
from wakeproof.judge.check import run as specs
from wakeproof.judge.conform import code as conform_code
from wakeproof.judge.conform import spec as conform_spec
from wakeproof.judge.conform.bisimulation import Partition
from wakeproof.judge.conform.bisimulation_example import explain
from wakeproof.judge.conform.bisimulation_graph import INVISIBLE, Graph
from wakeproof.judge.conform.code import Dump
from wakeproof.judge.conform.concept import HIDDEN, Concept
from wakeproof.judge.conform.difference import Difference, describe
from wakeproof.judge.conform.fused_steps import join_options
from wakeproof.judge.conform.graphs import code_side, spec_side
from wakeproof.judge.conform.maps import CONCEPTS
from wakeproof.judge.explore.results import why_no_graph
from wakeproof.judge.names import finder
from wakeproof.judge.process import Children
from wakeproof.judge.results import Results, gathered
from wakeproof.judge.tlc import models
from wakeproof.judge.tlc.dot import StateGraph
from wakeproof.judge.verdicts import Rows

TIMEOUT_S = 900.0
DIFFERS = "differs"
UNSHOWN = ("a difference that is not kept", (), (), "", "")
_COUNTS = ("spec_states", "spec_edges", "code_states", "code_edges", "classes", "differences")


@dataclass(frozen=True)
class ConformResult:
    """One comparison; with a twin, the comparison must fail."""

    concept: Concept
    twin: str  # "" | "spec: past_hides_close" | "code: parker_wake_forgotten"
    spec_states: int
    spec_edges: int
    code_states: int
    code_edges: int
    classes: int  # states that are left when equal ones are one
    differences: int  # states of either side that equal none of the other
    difference: Difference | None
    seconds: float

    @property
    def holds(self) -> bool:
        """Return whether the two are equal; for a twin, whether they differ."""
        return (self.difference is None) != bool(self.twin)

    @property
    def problem(self) -> str:
        """Return what is wrong with a comparison that does not hold."""
        if self.twin:
            return f"{self.concept.name}: the twin {self.twin} makes no difference"
        return f"{self.concept.name}: spec and code differ ({self.differences:,} states)"


class ConformReport(Results[ConformResult]):
    """All comparisons of a job."""


Comparison = tuple[Concept, bool, str | None]
"""A concept, whether its spec is a twin, and the twin of its code, if any."""
Progress = Callable[[ConformResult], None]


def conform(
    pattern: str | None = None,
    *,
    twins: bool = True,
    slow_twins: bool = True,
    progress: Progress | None = None,
    children: Children | None = None,
    rows: Rows | None = None,
) -> ConformReport:
    """Compare the concepts with a name that matches `pattern` (None: all), and their twins.

    `slow_twins`: also compare the twins of concepts that take minutes, and the concepts that take
    too long for the audit.  `children`: child processes that the caller may kill to end the job.
    `rows`: comparisons with a row there are not made again, and the others get one.

    Raises:
        UsageError: not a regular expression, nothing matches, or a scenario does not compile.
        JudgeError: TLC or the explorer gave no graph.
        MissingToolError: no Java, no TLC or no C compiler.
    """
    comparisons = _comparisons(chosen(pattern), twins=twins, slow_twins=slow_twins)
    with children or Children() as own, _uncollected():
        judge = Judge(own)
        results = (
            _in_rows(judge, comparison, rows) if rows else _compared(judge, comparison)
            for comparison in comparisons
        )
        return ConformReport(*gathered(results, progress))


def _compared(judge: Judge, comparison: Comparison) -> ConformResult:
    concept, spec_twin, code_twin = comparison
    return judge.compare(concept, spec_twin=spec_twin, code_twin=code_twin)


def _in_rows(judge: Judge, comparison: Comparison, rows: Rows) -> ConformResult:
    """Return the result in `rows`, or else compare and add the result."""
    concept, spec_twin, code_twin = comparison
    twin = _twin_of(concept, spec_twin, code_twin)
    name, inputs = _name_of(comparison), inputs_of(judge, comparison)
    row = rows.find("conform", name, inputs)
    if row is not None:
        difference = _difference_of(row.more or UNSHOWN) if row.verdict == DIFFERS else None
        known = ConformResult(concept, twin, **row.counts, difference=difference, seconds=0.0)
        if known.holds:
            return known
    result = _compared(judge, comparison)
    rows.judged(
        "conform", name, inputs, DIFFERS if result.difference else "equal",
        {count: getattr(result, count) for count in _COUNTS},
        more=astuple(result.difference) if result.difference else None, holds=result.holds,
    )  # fmt: skip
    return result


def _name_of(comparison: Comparison) -> str:
    """Return the name of a comparison's row."""
    return f"{comparison[0].name}; {_twin_of(*comparison) or 'no twin'}"


def _difference_of(plain: Sequence[Any]) -> Difference:
    what, spec_path, code_path, spec_state, code_state = plain
    return Difference(what, tuple(spec_path), tuple(code_path), spec_state, code_state)


def inputs_of(judge: Judge, comparison: Comparison) -> dict[str, str]:
    """Return the inputs of the verdict of a comparison, each with its content."""
    concept, spec_twin, code_twin = comparison
    return {
        **specs.modules(judge.modules(concept, spec_twin), concept.module),
        **specs.tools(),
        "program": judge.builder.identity(*_program(concept, code_twin)),
        "twins": f"{_twin_of(concept, spec_twin, code_twin)} {' '.join(judge.orders(code_twin))}",
        **table_of(concept),
        "code": store.code_hash("conform/run.py", without=("conform/maps",)),
    }


def table_of(concept: Concept) -> dict[str, str]:
    """Return the contents of the concept's table as inputs."""
    functions = [getattr(concept, field.name) for field in fields(concept)]
    functions += [concept.ghost.after] if concept.ghost else []
    places = [one.__module__.split(".")[2:] for one in functions if callable(one)]
    plain = [
        f"{field.name} {value}" for field in fields(concept)
        if not callable(value := getattr(concept, field.name)) and field.name != "ghost"
    ]  # fmt: skip
    modules = {f"{'/'.join(place)}.py" for place in places}
    return {"table": "\n".join(plain), "table's code": store.code_hash(*sorted(modules))}


def _twin_of(concept: Concept, spec_twin: bool, code_twin: str | None) -> str:
    if spec_twin:
        return f"spec: {concept.spec_twin}"
    return f"code: {code_twin}" if code_twin else ""


def programs(rows: Rows, builder: Builder, *, slow_twins: bool = True) -> list[Program]:
    """Return the programs that `conform` with these `slow_twins` and `rows` compiles."""
    with Children() as children:
        judge = Judge(children, builder)
        return [
            _program(compared[0], compared[2])
            for compared in _comparisons(CONCEPTS, twins=True, slow_twins=slow_twins)
            if rows.lacks("conform", _name_of(compared), inputs_of(judge, compared))
        ]


def _program(concept: Concept, twin: str | None) -> Program:
    """Return the concept's scenario and its build; a twin that is an order is made at run time."""
    scenario = scenarios.of_concept("conform", concept.scenario)
    return scenario, Build(twin=None if "=" in (twin or "") else twin, kind="explored")


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Stop Python's collector of cycles during the block.

    The graphs have no cycles of references, and the collector would walk their millions of states:
    a quarter of this judge's time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def chosen(pattern: str | None) -> list[Concept]:
    """Return the concepts with a name that matches (None: all).

    Raises:
        UsageError: not a regular expression, or nothing matches.
    """
    is_named = finder(pattern)
    found = [concept for concept in CONCEPTS if is_named(concept.name)]
    if not found:
        known = ", ".join(concept.name for concept in CONCEPTS)
        raise UsageError(f"no concept matches {pattern!r}; there are {known}")
    return found


def _comparisons(concepts: Iterable[Concept], *, twins: bool, slow_twins: bool) -> list[Comparison]:
    """Return each comparison."""
    found: list[Comparison] = []
    for concept in (one for one in concepts if slow_twins or not one.is_long):
        found.append((concept, False, None))
        if twins and (slow_twins or concept.is_quick):
            found += [(concept, True, None)] if concept.spec_twin else []
            found += [(concept, False, twin) for twin in concept.code_twins]
    return found


class Judge:
    """Makes both graphs of a comparison, each graph once."""

    def __init__(self, children: Children, builder: Builder | None = None) -> None:
        self.children = children
        self.sources = locations.sources()
        self.builder = builder or Builder(children)
        self.labels = labels.read(self.sources)
        self._spec: tuple[object, tuple[StateGraph, list[conform_spec.Action]]] | None = None
        self._codes: dict[tuple[str, str | None], Dump] = {}

    def compare(self, concept: Concept, *, spec_twin: bool, code_twin: str | None) -> ConformResult:
        """Compare one concept."""
        begin = time.monotonic()
        spec, actions = self.spec(concept, concept.spec_twin if spec_twin else "")
        dump = self.code(concept, code_twin)
        numbers: dict[str, int] = {HIDDEN: INVISIBLE}
        spec_graph = spec_side(concept, spec, actions, numbers)
        code_graph, states = code_side(concept, dump, numbers, is_twin=bool(code_twin))
        partition = Partition([spec_graph, code_graph])
        difference = _difference(concept, partition, (spec_graph, code_graph), (spec, dump, states),
                                 numbers)  # fmt: skip
        alone = sum(partition.alone())
        return ConformResult(
            concept, _twin_of(concept, spec_twin, code_twin), len(spec_graph.observed),
            len(spec_graph.label), len(code_graph.observed), len(code_graph.label),
            len(set(partition.block)), max(alone, int(bool(difference))), difference,
            time.monotonic() - begin,
        )  # fmt: skip

    def modules(self, concept: Concept, spec_twin: bool) -> Path:
        """Return the folder of the modules of the concept's spec, or of its twin."""
        made = models.folder(self.sources / "specs")
        return models.home(made, concept.module, concept.spec_twin if spec_twin else "")

    def spec(
        self, concept: Concept, twin: str = ""
    ) -> tuple[StateGraph, list[conform_spec.Action]]:
        """Return TLC's graph, and per edge its action with arguments; of a twin if one is named."""
        key = (concept.name, twin)
        if self._spec is None or self._spec[0] != key:
            self._spec = None
            made = models.folder(self.sources / "specs")
            self._spec = key, conform_spec.graph(concept, made, self.children, twin)
        return self._spec[1]

    def code(self, concept: Concept, twin: str | None) -> Dump:
        """Return the explorer's graph of the concept's scenario, or of a twin of it."""
        key = (concept.name, twin)
        if key not in self._codes:
            self._codes.clear()
            self._codes[key] = self._explore(concept, twin)
        return self._codes[key]

    def _explore(self, concept: Concept, twin: str | None) -> Dump:
        scenario, build = _program(concept, twin)
        orders = self.orders(twin)
        program = self.builder.program(scenario, build)
        names = conform_code.site_names(self.labels, self.sources / "kernel", scenario, twin)
        with tempfile.TemporaryDirectory(prefix="wakeproof-conform-") as folder:
            file = Path(folder) / "dump"
            command = [str(program), "--test", concept.test, "--model", "sc", "--engine", "states",
                       "--no-examples", "--progress", "none", "--dump", str(file), *concept.flags,
                       *join_options(concept.joins, names), *orders]  # fmt: skip
            ended = self.children.run(command, timeout_s=TIMEOUT_S)
            if ended.code or ended.timed_out or not file.exists():
                raise JudgeError(f"the explorer on {concept.test}: {why_no_graph(ended.output)}")
            with file.open(encoding="utf-8") as stream:
                try:
                    return conform_code.read(stream, names)
                except (JudgeError, ValueError):
                    raise JudgeError(f"{concept.test}: {why_no_graph(ended.output)}") from None

    def orders(self, twin: str | None) -> list[str]:
        """Return ``--order FILE:LINE=relaxed`` for the twin "parker.1=relaxed"; [] for others."""
        label, is_order, order = (twin or "").partition("=")
        places = self.labels.lines(label) if is_order else []
        return [part for f, n in places for part in ("--order", f"{f}:{n}={order}")]


def _difference(
    concept: Concept,
    partition: Partition,
    graphs: tuple[Graph, Graph],
    sides: tuple[StateGraph, Dump, list[int]],
    numbers: dict[str, int],
) -> Difference | None:
    if partition.starts_agree():
        return None
    starts = [[partition.node(which, s) for s in graphs[which].starts] for which in (0, 1)]
    blocks = [{partition.block[node] for node in nodes} for nodes in starts]
    for which in (0, 1):
        for node in starts[which]:
            if partition.block[node] not in blocks[1 - which]:
                other = max(starts[1 - which], key=lambda n: partition.parted(node, n) or 0)
                pair = (node, other) if which == 0 else (other, node)
                return describe(concept, explain(partition, *pair), graphs, sides, numbers)
    raise AssertionError("unreachable")
