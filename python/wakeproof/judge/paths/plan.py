# SPDX-License-Identifier: Apache-2.0
"""A run of the code for each path of the spec: the schedule of a test.

The run takes the path's labelled steps in order, with hidden steps between them that change no
observation.  After each step the observation is that of the spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wakeproof.judge.conform.bisimulation_graph import INVISIBLE, Graph

Layer = dict[int, tuple[int, int]]
"""State of the code -> the state before it and the edge; (state, -1): the same state."""


@dataclass(frozen=True)
class Plan:
    """A run: its start, and the edges for each step of the path.

    `fails_at`: the step of the path that no run can take.
    """

    start: int
    steps: tuple[tuple[int, ...], ...]
    fails_at: int | None = None
    options: tuple[int, ...] = ()  # edges that the code could take there


class Planner:
    """Plans runs of `code`; its labels are numbered as those of `spec`."""

    def __init__(self, spec: Graph, code: Graph) -> None:
        self.spec, self.code = spec, code
        self._out: list[list[int]] = [[] for _ in code.observed]
        for edge, source in enumerate(code.source):
            self._out[source].append(edge)

    def plan(self, path: Sequence[int]) -> Plan:
        """Return a run for the spec's path (not empty), or for the longest possible part of it."""
        spec, code = self.spec, self.code
        seen = spec.observed[spec.source[path[0]]]
        at: Iterable[int] = [s for s in code.starts if code.observed[s] == seen]
        layers: list[Layer] = [{state: (state, -1) for state in at}]
        for number, edge in enumerate(path):
            ends = self._after(layers[-1], edge, layers)
            if not ends:
                options = [e for s in layers[-1] for e in self._out[s]]
                before = next(iter(layers[-2]), -1)
                return Plan(*self._run(layers[:-1], before), number, tuple(options))
            layers.append(ends)
        return Plan(*self._run(layers, next(iter(layers[-1]))))

    def _after(self, layer: Layer, edge: int, layers: list[Layer]) -> Layer:
        """Return the states after one step of the spec, with hidden steps before it."""
        spec, code = self.spec, self.code
        label, target = spec.label[edge], spec.observed[spec.target[edge]]
        hidden = self._closure(layer)
        layers.append(hidden)
        ends: Layer = {}
        for state in hidden:
            if label == INVISIBLE and code.observed[state] == target:
                ends.setdefault(state, (state, -1))
            for way in self._out[state]:
                if code.label[way] == label and code.observed[code.target[way]] == target:
                    ends.setdefault(code.target[way], (state, way))
        return ends

    def _closure(self, layer: Layer) -> Layer:
        code = self.code
        found: Layer = {state: (state, -1) for state in layer}
        pending = list(found)
        for state in pending:
            for way in self._out[state]:
                then = code.target[way]
                if (code.label[way] == INVISIBLE and then not in found
                        and code.observed[then] == code.observed[state]):  # fmt: skip
                    found[then] = (state, way)
                    pending.append(then)
        return found

    def _run(self, layers: list[Layer], end: int) -> tuple[int, tuple[tuple[int, ...], ...]]:
        """Return the start and each step's edges, found from the end backwards."""
        steps: list[tuple[int, ...]] = []
        for number in range(len(layers) - 1, 0, -2):
            before, edge = layers[number][end]
            way = [edge] if edge >= 0 else []
            end, edge = before, layers[number - 1][before][1]
            while edge >= 0:
                way.append(edge)
                end = self.code.source[edge]
                edge = layers[number - 1][end][1]
            steps.append(tuple(reversed(way)))
        return end, tuple(reversed(steps))
