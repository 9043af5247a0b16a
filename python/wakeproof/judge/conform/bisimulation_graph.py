# SPDX-License-Identifier: Apache-2.0
"""Labelled transition systems, with states on a cycle of invisible steps merged into nodes.

A *node* is a strongly connected component of invisible steps between states that look alike.
Source: Tarjan 1972, without recursion.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

INVISIBLE = 0


@dataclass
class Graph:
    """States 0, 1, ... with what is observed in each, and labelled edges; label 0 is invisible."""

    observed: list[Hashable] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    source: array[int] = field(default_factory=lambda: array("i"))
    target: array[int] = field(default_factory=lambda: array("i"))
    label: array[int] = field(default_factory=lambda: array("i"))
    waits: bytearray = field(default_factory=bytearray)  # per edge, 1: may go round for ever
    origin: array[int] = field(default_factory=lambda: array("i"))  # the edge it was made of

    def add_state(self, observed: Hashable) -> int:
        """Add a state, return its number."""
        self.observed.append(observed)
        return len(self.observed) - 1

    def add_edge(
        self, source: int, target: int, label: int, *, waits: bool = False, origin: int = -1
    ) -> None:
        """Add an edge."""
        self.source.append(source)
        self.target.append(target)
        self.label.append(label)
        self.waits.append(waits)
        self.origin.append(origin)

    def reached(self) -> list[int]:
        """Return the states that steps reach from the initial states."""
        out: list[list[int]] = [[] for _ in self.observed]
        for source, target in zip(self.source, self.target, strict=True):
            out[source].append(target)
        found = list(dict.fromkeys(self.starts))
        known = bytearray(len(self.observed))
        for state in found:
            known[state] = 1
        for state in found:
            for target in out[state]:
                if not known[target]:
                    known[target] = 1
                    found.append(target)
        return found


class Union:
    """Several graphs with their states numbered on, and what is observed numbered alike."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self.graphs = graphs
        self.offsets = [0]
        for graph in graphs:
            self.offsets.append(self.offsets[-1] + len(graph.observed))
        numbers: dict[Hashable, int] = {}
        self.classes = [
            numbers.setdefault(seen, len(numbers)) for g in graphs for seen in g.observed
        ]

    def place(self, state: int) -> tuple[int, int]:
        """Return (graph, state) for a state's number in the union."""
        graph = next(g for g in range(len(self.graphs)) if state < self.offsets[g + 1])
        return graph, state - self.offsets[graph]

    def edge(self, number: int) -> tuple[int, int]:
        """Return (graph, edge) for an edge's number in the union."""
        for which, graph in enumerate(self.graphs):
            if number < len(graph.label):
                return which, number
            number -= len(graph.label)
        raise IndexError(number)


def _inert_candidates(union: Union) -> tuple[list[int], list[int]]:
    """Return invisible edges between states that look alike: offsets by source, targets."""
    count = union.offsets[-1]
    degree = [0] * (count + 1)
    kept: list[tuple[int, int]] = []
    for number, graph in enumerate(union.graphs):
        base = union.offsets[number]
        for source, target, label in zip(graph.source, graph.target, graph.label, strict=True):
            if label == INVISIBLE and union.classes[base + source] == union.classes[base + target]:
                kept.append((base + source, base + target))
                degree[base + source + 1] += 1
    for state in range(count):
        degree[state + 1] += degree[state]
    first = list(degree)
    targets = [0] * len(kept)
    for source, target in kept:
        targets[degree[source]] = target
        degree[source] += 1
    return first, targets


def components(union: Union) -> list[int]:
    """Return the node of each state (Tarjan, without recursion: successors end first)."""
    first, targets = _inert_candidates(union)
    count = union.offsets[-1]
    index, low = [0] * count, [0] * count
    node = [-1] * count
    stack: list[int] = []
    clock = nodes = 0
    for root in range(count):
        if index[root]:
            continue
        path = [root]
        at = [first[root]]
        clock += 1
        index[root] = low[root] = clock
        stack.append(root)
        while path:
            state = path[-1]
            if at[-1] < first[state + 1]:
                target = targets[at[-1]]
                at[-1] += 1
                if not index[target]:
                    clock += 1
                    index[target] = low[target] = clock
                    stack.append(target)
                    path.append(target)
                    at.append(first[target])
                elif node[target] < 0:
                    low[state] = min(low[state], index[target])
                continue
            path.pop()
            at.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[state])
            if low[state] == index[state]:
                while True:
                    member = stack.pop()
                    node[member] = nodes
                    if member == state:
                        break
                nodes += 1
    return node
