# SPDX-License-Identifier: Apache-2.0
"""Paths from the initial states of a graph that cover every reachable edge.

A path begins with the shortest way to an edge that is not covered yet, and continues with other
such edges as long as some are near.  It ends if none is near, or when it is long.  The same graph
gives the same paths.
"""

from __future__ import annotations

from collections.abc import Iterable

from wakeproof.judge.conform.bisimulation_graph import Graph

LONGEST = 400
"""The number of edges after which a path ends."""
NEAR = 3000
"""How many states are searched for one with an edge that is not covered."""


def tour(graph: Graph, longest: int = LONGEST, near: int = NEAR) -> list[list[int]]:
    """Return paths, each the numbers of its edges, in order."""
    return list(_Tour(graph).paths(longest, near))


class _Tour:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.out: list[list[int]] = [[] for _ in graph.observed]
        for edge, source in enumerate(graph.source):
            self.out[source].append(edge)
        self.open = [list(reversed(edges)) for edges in self.out]  # not covered; the first is last

    def paths(self, longest: int, near: int) -> Iterable[list[int]]:
        """Yield the paths."""
        by = self._reached(self.graph.starts)
        for state in by:
            while self.open[state]:
                path = [*self._way(by, state), self.open[state][-1]]
                self._cover(path)
                while len(path) < longest:
                    around = self._reached([self.graph.target[path[-1]]], near)
                    then = next((one for one in around if self.open[one]), None)
                    if then is None:
                        break
                    way = [*self._way(around, then), self.open[then][-1]]
                    self._cover(way)
                    path += way
                yield path

    def _reached(self, starts: Iterable[int], most: int | None = None) -> dict[int, int]:
        """Return states in order of distance, with the edge that leads to each.

        If `most` is given, return at most that many states, up to the first with an open edge.
        """
        by = dict.fromkeys(starts, -1)
        pending = list(by)
        for state in pending:
            if most is not None and (self.open[state] or len(pending) > most):
                break
            for edge in self.out[state]:
                if self.graph.target[edge] not in by:
                    by[self.graph.target[edge]] = edge
                    pending.append(self.graph.target[edge])
        return by

    def _way(self, by: dict[int, int], state: int) -> list[int]:
        way: list[int] = []
        while by[state] >= 0:
            way.append(by[state])
            state = self.graph.source[by[state]]
        return way[::-1]

    def _cover(self, way: list[int]) -> None:
        for edge in way:
            edges = self.open[self.graph.source[edge]]
            if edge in edges:
                edges.remove(edge)
