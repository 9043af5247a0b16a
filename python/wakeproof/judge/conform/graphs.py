# SPDX-License-Identifier: Apache-2.0
"""Both sides of a comparison as graphs with the same labels and observations."""

from __future__ import annotations

from collections.abc import Hashable

from wakeproof.errors import JudgeError
from wakeproof.judge.conform import spec as conform_spec
from wakeproof.judge.conform.bisimulation_graph import Graph
from wakeproof.judge.conform.code import CHOOSE, Dump, Step
from wakeproof.judge.conform.concept import DROPPED, HIDDEN, WAIT, Concept
from wakeproof.judge.tlc.dot import StateGraph


def spec_side(
    concept: Concept,
    spec: StateGraph,
    actions: list[conform_spec.Action],
    numbers: dict[str, int],
) -> Graph:
    """Return the spec's graph with numbered labels."""
    graph = Graph(starts=list(spec.starts))
    values = [spec.state(state) for state in range(len(spec.texts))]
    for state in values:
        graph.add_state(concept.spec_seen(state))
    for (source, target, _), (action, arguments) in zip(spec.edges, actions, strict=True):
        pre, post = values[source], values[target]
        if concept.keeps and not concept.keeps(action, arguments, pre, post):
            continue
        label = concept.spec_label(action, arguments, pre, post)
        graph.add_edge(source, target, numbers.setdefault(label, len(numbers)))
    return graph


def code_side(
    concept: Concept, dump: Dump, numbers: dict[str, int], *, is_twin: bool = False
) -> tuple[Graph, list[int]]:
    """Return the code's graph with the spec's ghosts, and each state's number in the dump."""
    out: list[list[int]] = [[] for _ in dump.states]
    for edge, source in enumerate(dump.source):
        out[source].append(edge)
    ghost = concept.ghost
    graph = Graph()
    states: list[int] = []
    known: dict[tuple[int, Hashable], int] = {}

    def number_of(state: int, memory: Hashable) -> int:
        if (state, memory) not in known:
            known[state, memory] = graph.add_state(concept.code_seen(dump.at(state), memory))
            states.append(state)
            pending.append((state, memory))
        return known[state, memory]

    pending: list[tuple[int, Hashable]] = []
    for start in _starts(concept, dump, out):
        graph.starts.append(number_of(start, ghost.start if ghost else None))
    for state, memory in pending:
        source = known[state, memory]
        for edge in out[state]:
            step = dump.step(edge, memory)
            label = _code_label(concept, step, is_twin=is_twin)
            target_state = dump.target[edge]
            if label == DROPPED:
                if target_state != state:
                    raise JudgeError(f"{concept.name}: dropped step at {step.site} does something")
                continue
            after = ghost.after(memory, step, label) if ghost else None
            if ghost and after is None:
                if step.what.kind != CHOOSE:
                    raise JudgeError(f"{concept.name}: only a choice may be refused: {step.site}")
                continue
            waits = label == WAIT
            text = HIDDEN if waits else label
            number = numbers.setdefault(text, len(numbers))
            graph.add_edge(source, number_of(target_state, after), number, waits=waits,
                           origin=edge)  # fmt: skip
    return graph, states


def _code_label(concept: Concept, step: Step, *, is_twin: bool) -> str:
    """Return the step's label; sites that only a twin has are hidden."""
    try:
        return concept.code_label(step)
    except KeyError:
        if is_twin:
            return HIDDEN
        raise JudgeError(f"{concept.name}: the table does not know {step.site}") from None


def _starts(concept: Concept, dump: Dump, out: list[list[int]]) -> list[int]:
    """Return the initial states: the first state, or the states after the choices at the start."""
    pending, ends = [0], []
    seen = {0}
    for state in pending:
        edges = [e for e in out[state] if concept.starts and dump.step(e).site == concept.starts]
        if not edges:
            ends.append(state)
        for edge in edges:
            if dump.target[edge] not in seen:
                seen.add(dump.target[edge])
                pending.append(dump.target[edge])
    return ends
