# SPDX-License-Identifier: Apache-2.0
"""Branching bisimulation against its definition, on small random graphs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wakeproof.judge.conform.bisimulation import Partition
from wakeproof.judge.conform.bisimulation_example import explain
from wakeproof.judge.conform.bisimulation_graph import INVISIBLE, Graph
from wakeproof.judge.conform.bisimulation_quotient import quotient
from wakeproof.judge.tlc import dot

Edge = tuple[int, int, int]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    states = draw(st.integers(1, 7))
    number = st.integers(0, states - 1)
    graph = Graph()
    for _ in range(states):
        graph.add_state(draw(st.sampled_from([0, 0, 0, 1])))
    for edge in draw(st.lists(st.tuples(number, number, st.sampled_from([0, 0, 1, 2])))):
        graph.add_edge(*edge)
    return graph


def hidden(graph: Graph) -> list[list[int]]:
    """Return the targets of invisible steps that do not change the observation."""
    edges = list(zip(graph.source, graph.target, graph.label, strict=True))
    return [
        [t for s, t, label in edges if s == state and label == INVISIBLE
         and graph.observed[s] == graph.observed[t]]
        for state in range(len(graph.observed))
    ]  # fmt: skip


def closure(steps: list[list[int]], state: int) -> list[int]:
    found = [state]
    for at in found:
        found += [t for t in dict.fromkeys(steps[at]) if t not in found]
    return found


def is_simulated(graph: Graph, related: set[tuple[int, int]], p: int, q: int) -> bool:
    """Return true if q can do what p can, and diverges where p does (GLT 2009, condition D4)."""
    edges = list(zip(graph.source, graph.target, graph.label, strict=True))
    steps = hidden(graph)
    for source, target, label in edges:
        if source != p or (label == INVISIBLE and (target, q) in related):
            continue
        if not any(
            (p, at) in related and s == at and a == label and (target, t) in related
            for at in closure(steps, q)
            for s, t, a in edges
        ):
            return False
    alone = {x for x in range(len(steps)) if (x, q) in related}
    alone -= {x for x in alone if any((x, t) in related for t in steps[q])}
    while True:
        ends = {x for x in alone if not alone & set(steps[x])}
        if not ends:
            return p not in alone
        alone -= ends


def bisimilar(graph: Graph) -> set[tuple[int, int]]:
    """Return the largest bisimulation, by its definition."""
    states = range(len(graph.observed))
    related = {(p, q) for p in states for q in states if graph.observed[p] == graph.observed[q]}
    while True:
        wrong = {
            (p, q) for p, q in related
            if not (is_simulated(graph, related, p, q) and is_simulated(graph, related, q, p))
        }  # fmt: skip
        if not wrong:
            return related
        related -= wrong | {(q, p) for p, q in wrong}


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(graphs())
def test_equal_states_are_those_of_the_definition(graph: Graph) -> None:
    partition = Partition([graph])
    expected = bisimilar(graph)
    for p in range(len(graph.observed)):
        for q in range(len(graph.observed)):
            same = partition.block[partition.node(0, p)] == partition.block[partition.node(0, q)]
            assert same == ((p, q) in expected)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(graphs(), graphs())
def test_an_example_ends_where_one_side_lacks_what_the_other_has(a: Graph, b: Graph) -> None:
    partition = Partition([a, b])
    nodes = partition.node(0, 0), partition.node(1, 0)
    if partition.parted(*nodes) is None:
        return
    example = explain(partition, *nodes)
    for side, graph in enumerate((a, b)):
        assert all(which == side for which, _ in example.paths[side])
        ends = [graph.target[edge] for _, edge in example.paths[side]]
        assert not ends or partition.node(side, ends[-1]) == partition.node(
            side, example.states[side]
        )
    if example.what == "label":
        sides = (a, b)
        can = [
            {label for state in closure(hidden(g), example.states[side]) for s, label
             in zip(g.source, g.label, strict=True) if s == state}
            for side, g in enumerate(sides)
        ]  # fmt: skip
        assert example.label in can[1 - example.lacks] | {INVISIBLE}


def two(*edges: Edge, waits: bool = False) -> Partition:
    """Compare a state without steps with a graph of those edges."""
    still, moving = Graph(), Graph()
    still.add_state("same")
    still.starts = moving.starts = [0]
    for _ in range(2):
        moving.add_state("same")
    for edge in edges:
        moving.add_edge(*edge, waits=waits)
    return Partition([still, moving])


@given(graphs(), st.integers(0, 6))
@settings(max_examples=200, deadline=None)
def test_a_quotient_is_equal_to_its_graph_and_none_of_its_states_are(graph: Graph, at: int) -> None:
    graph.starts = [at % len(graph.observed)]
    least = quotient(graph)
    assert Partition([graph, least]).starts_agree()
    blocks = Partition([least]).block
    assert len(set(blocks)) == len(least.observed)


def test_an_invisible_step_that_takes_no_choice_away_is_no_difference() -> None:
    partition = two((0, 1, INVISIBLE))
    assert partition.parted(partition.node(0, 0), partition.node(1, 0)) is None


def test_invisible_steps_for_ever_are_a_difference() -> None:
    partition = two((0, 1, INVISIBLE), (1, 0, INVISIBLE))
    assert explain(partition, partition.node(0, 0), partition.node(1, 0)).what == "diverges"
    assert partition.alone() == [1, 2]


def test_a_declared_wait_may_go_on_for_ever() -> None:
    partition = two((0, 1, INVISIBLE), (1, 0, INVISIBLE), waits=True)
    assert partition.parted(partition.node(0, 0), partition.node(1, 0)) is None


def test_a_dump_of_tlc_is_read() -> None:
    lines = [
        '-7 [label="/\\\\ word = {\\"a\\"}\\n/\\\\ at = (0 :> <<1, TRUE>> @@ 1 :> <<>>)"'
        ",style = filled]",
        '-7 -> 8 [label="Go__u1",color="black",fontcolor="black"];',
        '8 [label="/\\\\ word = {}\\n/\\\\ at = [u1 |-> -1]"];',
    ]
    graph = dot.read(lines)
    assert graph.starts == [0]
    assert graph.edges == [(0, 1, "Go__u1")]
    assert graph.state(0) == {"word": frozenset({"a"}), "at": {0: (1, True), 1: ()}}
    assert graph.state(1) == {"word": frozenset(), "at": {"u1": -1}}
