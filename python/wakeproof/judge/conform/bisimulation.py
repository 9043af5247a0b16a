# SPDX-License-Identifier: Apache-2.0
"""Decide whether labelled transition systems are branching bisimilar with explicit divergence.

The algorithm is signature refinement (Blom, Orzan) on the disjoint union of both systems.  Two
states stay in one block as long as they can take the same labelled steps to the same blocks, after
invisible steps within their own block.  A cycle of invisible steps is one state, which is divergent
unless every step of the cycle is a declared wait.  The round in which two states come into
different blocks is the depth of the shortest explanation; ``conform.bisimulation_example`` follows
the rounds back.
Source: Blom and Orzan 2005; van Glabbeek, Luttik and Trcka 2009 (divergence).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from wakeproof.judge.conform.bisimulation_graph import INVISIBLE, Graph, Union, components

DIVERGES = -1
"""In a signature: invisible steps can go on for ever without leaving the block."""


class Partition:
    """The coarsest branching bisimulation on the union of `graphs`, with the rounds that made it.

    A *node* is a strongly connected component of invisible steps between states that look alike,
    numbered so that such steps lead from higher numbers to lower ones.
    """

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self.union = Union(graphs)
        self.node_of = components(self.union)
        self.nodes = max(self.node_of, default=-1) + 1
        self.member = [0] * self.nodes  # a state of each node
        for state, node in enumerate(self.node_of):
            self.member[node] = state
        self.diverges = bytearray(self.nodes)
        self._collect_edges()
        self.history: list[list[tuple[int, int]]] = []  # per node: (round, block), ascending
        self.rounds = 0
        self._refine()

    def _collect_edges(self) -> None:
        """Fill `out` (label, target, edge) and `into` per node, each edge between nodes once."""
        self.out: list[list[tuple[int, int, int]]] = [[] for _ in range(self.nodes)]
        self.into: list[list[int]] = [[] for _ in range(self.nodes)]
        known: set[tuple[int, int, int]] = set()
        node, classes = self.node_of, self.union.classes
        number = 0
        for which, graph in enumerate(self.union.graphs):
            base = self.union.offsets[which]
            for edge, label in enumerate(graph.label):
                source, target = base + graph.source[edge], base + graph.target[edge]
                a, b = node[source], node[target]
                number += 1
                if label == INVISIBLE and a == b:
                    if classes[source] == classes[target] and not graph.waits[edge]:
                        self.diverges[a] = 1
                    continue
                if (a, label, b) not in known:
                    known.add((a, label, b))
                    self.out[a].append((label, b, number - 1))
                    self.into[b].append(a)

    # Refinement.

    def _refine(self) -> None:
        block = [self.union.classes[self.member[node]] for node in range(self.nodes)]
        self.history = [[(0, number)] for number in block]
        members: dict[int, set[int]] = {}
        for node, number in enumerate(block):
            members.setdefault(number, set()).add(node)
        signature: list[frozenset[int]] = [frozenset()] * self.nodes
        dirty: Iterable[int] = range(self.nodes)
        fresh = max(block, default=0) + 1
        while True:
            changed = self._sign(dirty, block, signature)
            moved: list[int] = []
            groups: dict[int, dict[frozenset[int], list[int]]] = {}
            for node in changed:
                groups.setdefault(block[node], {}).setdefault(signature[node], []).append(node)
            self.rounds += 1
            for number, parts in groups.items():
                kept = self._kept(members[number], parts, changed, signature)
                for part, nodes in parts.items():
                    if part == kept:
                        continue
                    members[number].difference_update(nodes)
                    members[fresh] = set(nodes)
                    for node in nodes:
                        block[node] = fresh
                        self.history[node].append((self.rounds, fresh))
                    moved += nodes
                    fresh += 1
            if not moved:
                self.rounds -= 1
                break
            touched = set(moved)
            for node in moved:
                touched.update(self.into[node])
            dirty = touched
        self.block = block

    @staticmethod
    def _kept(
        members: set[int],
        parts: dict[frozenset[int], list[int]],
        changed: set[int],
        signature: list[frozenset[int]],
    ) -> frozenset[int]:
        """Return the signature that keeps the block's number: the unchanged or most common one."""
        if sum(map(len, parts.values())) < len(members):
            return signature[next(node for node in members if node not in changed)]
        return max(parts, key=lambda part: len(parts[part]))

    def _sign(
        self, dirty: Iterable[int], block: list[int], signature: list[frozenset[int]]
    ) -> set[int]:
        """Compute the signatures of `dirty` nodes and their dependents; return the changed."""
        heap = list(dirty)
        heapq.heapify(heap)
        queued = set(heap)
        changed: set[int] = set()
        size = self.nodes + len(self.union.classes) + 1
        while heap:
            node = heapq.heappop(heap)
            own = block[node]
            found: set[int] = set()
            if self.diverges[node]:
                found.add(DIVERGES)
            for label, target, _ in self.out[node]:
                if label == INVISIBLE and block[target] == own:
                    found |= signature[target]
                else:
                    found.add(label * size + block[target])
            now = frozenset(found)
            if now == signature[node]:
                continue
            signature[node] = now
            changed.add(node)
            for before in self.into[node]:
                if before > node and block[before] == own and before not in queued:
                    queued.add(before)
                    heapq.heappush(heap, before)
        return changed

    # Answers.

    def node(self, graph: int, state: int) -> int:
        """Return the node of a state of the graph with that number."""
        return self.node_of[self.union.offsets[graph] + state]

    def place(self, node: int) -> tuple[int, int]:
        """Return a (graph, state) of the node."""
        return self.union.place(self.member[node])

    def block_at(self, node: int, round_: int) -> int:
        """Return the node's block after the round `round_`."""
        return next(number for at, number in reversed(self.history[node]) if at <= round_)

    def parted(self, a: int, b: int) -> int | None:
        """Return the round in which two nodes came into different blocks, None if never."""
        rounds = sorted({at for node in (a, b) for at, _ in self.history[node]})
        return next((r for r in rounds if self.block_at(a, r) != self.block_at(b, r)), None)

    def starts_agree(self) -> bool:
        """Return whether the graphs begin in equal states."""
        found = [
            {self.block[self.node(which, state)] for state in graph.starts}
            for which, graph in enumerate(self.union.graphs)
        ]
        return all(blocks == found[0] for blocks in found)

    def alone(self) -> list[int]:
        """Return for each of two graphs how many reached states equal no state of the other."""
        blocks = [
            [self.block[self.node(which, state)] for state in graph.reached()]
            for which, graph in enumerate(self.union.graphs)
        ]
        other = [set(found) for found in reversed(blocks)]
        return [
            sum(block not in other[which] for block in found) for which, found in enumerate(blocks)
        ]
