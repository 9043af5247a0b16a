# SPDX-License-Identifier: Apache-2.0
"""A difference between spec and code, described in words."""

from __future__ import annotations

from dataclasses import dataclass

from wakeproof.judge.conform.bisimulation_example import Edges, Example
from wakeproof.judge.conform.bisimulation_graph import Graph
from wakeproof.judge.conform.code import Dump
from wakeproof.judge.conform.concept import HIDDEN, Concept
from wakeproof.judge.tlc.dot import StateGraph

SIDES = ("spec", "code")


@dataclass(frozen=True)
class Difference:
    """Two states that should be equal and differ: the way to each, the states, the difference."""

    what: str
    spec_path: tuple[str, ...]
    code_path: tuple[str, ...]
    spec_state: str
    code_state: str

    @property
    def lines(self) -> list[str]:
        """The difference as lines of text."""
        return [
            self.what,
            "  spec: " + (" . ".join(self.spec_path) or "(initial state)"),
            "        " + self.spec_state,
            "  code: " + (" . ".join(self.code_path) or "(initial state)"),
            "        " + self.code_state,
        ]


def describe(
    concept: Concept,
    example: Example,
    graphs: tuple[Graph, Graph],
    sides: tuple[StateGraph, Dump, list[int]],
    numbers: dict[str, int],
) -> Difference:
    """Describe an example in words."""
    spec, dump, states = sides
    names = {number: name for name, number in numbers.items()}
    at = dump.at(states[example.states[1]])
    seen = [graphs[which].observed[example.states[which]] for which in (0, 1)]
    return Difference(
        what=_what(example, names, seen),
        spec_path=_spec_path(example.paths[0], graphs[0], names),
        code_path=_code_path(concept, example.paths[1], graphs[1], (dump, states), names),
        spec_state=" ".join(spec.texts[example.states[0]].split()),
        code_state=f"{at.text}; observed {seen[1]}",
    )


def _what(example: Example, names: dict[int, str], seen: list[object]) -> str:
    lacking, other = SIDES[example.lacks], SIDES[1 - example.lacks]
    if example.what == "observed":
        return f"what is observed differs: spec {seen[0]}, code {seen[1]}"
    if example.what == "diverges":
        return f"the {other} can go on for ever by hidden steps, the {lacking} cannot"
    return f"the {other} can {names[example.label]}, the {lacking} cannot"


def _spec_path(path: Edges, graph: Graph, names: dict[int, str]) -> tuple[str, ...]:
    return tuple(names[graph.label[edge]] or "(hidden)" for _, edge in path)


def _code_path(
    concept: Concept,
    path: Edges,
    graph: Graph,
    side: tuple[Dump, list[int]],
    names: dict[int, str],
) -> tuple[str, ...]:
    dump, states = side
    found = []
    for _, edge in path:
        source, target = states[graph.source[edge]], states[graph.target[edge]]
        steps = [e for e in range(len(dump.source)) if dump.source[e] == source
                 and dump.target[e] == target]  # fmt: skip
        step = dump.step(steps[0])
        name = names[graph.label[edge]]
        where = f"{concept.threads[step.thread]} [{step.site}] {step.value}"
        found.append(where if name == HIDDEN else f"{name} = {where}")
    return tuple(found)
