# SPDX-License-Identifier: Apache-2.0
"""Repeats the verdicts on TLC's dumped graph, in order to check the judge, and counts coverage.

The search for a trace is depth first, over pairs of (state of the spec, cells done). It finds one
behaviour that explains the trace; the edges of this behaviour count as covered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wakeproof.judge.conform.spec import Action
from wakeproof.judge.tlc.dot import StateGraph
from wakeproof.judge.traces.batch import Trace
from wakeproof.judge.traces.concept import Cell, Step, TraceConcept

SHOWN = 8
"""Steps that are shown before the place where a trace sticks."""
Node = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Move:
    """A step of an explanation: the thread, its cell (None: hidden), the step and the edge."""

    thread: int
    cell: Cell | None
    step: Step
    edge: int  # -1: the spec does nothing


@dataclass(frozen=True)
class Explained:
    """The result of a search: an explanation, or the longest way to a state without a next step."""

    accepted: bool
    moves: tuple[Move, ...]
    state: int
    done: tuple[int, ...]


class Replay:
    """The graph of one concept's spec."""

    def __init__(self, table: TraceConcept, graph: StateGraph, actions: Sequence[Action]) -> None:
        self.table = table
        self.graph = graph
        self.actions = actions
        self.states = [graph.state(number) for number in range(len(graph.texts))]
        self._out: list[dict[Action, list[int]]] = [{} for _ in self.states]
        for edge, ((source, _, _), action) in enumerate(zip(graph.edges, actions, strict=True)):
            self._out[source].setdefault(action, []).append(edge)
        self._known: dict[tuple[int, tuple[Step, ...]], list[tuple[Step, int, int]]] = {}

    def explain(self, trace: Trace) -> Explained:
        """Search a behaviour that explains the trace."""
        start = (0,) * len(trace.cells)
        parents: dict[Node, tuple[Node, Move] | None] = {
            (s, start): None for s in self.graph.starts
        }
        pending: list[Node] = list(parents)
        best = pending[0]
        while pending:
            node = pending.pop()
            if sum(node[1]) > sum(best[1]):
                best = node
            if node[1] == trace.end:
                return Explained(True, _way(parents, node), *node)
            for move, then in self._moves(trace, node):
                if then not in parents:
                    parents[then] = (node, move)
                    pending.append(then)
        return Explained(False, _way(parents, best), *best)

    def _moves(self, trace: Trace, node: Node) -> Iterator[tuple[Move, Node]]:
        """Yield the possible next steps; the most likely one, which began first, comes last."""
        state, done = node
        for action, arguments in self.table.hidden:
            for edge in self._out[state].get((action, arguments), ()):
                step = Step(action, arguments)
                yield Move(-1, None, step, edge), (self.graph.edges[edge][1], done)
        ready = [k for k, of in enumerate(trace.cells)
                 if done[k] < len(of) and trace.may_go(done, k)]  # fmt: skip
        for k in sorted(ready, key=lambda k: _begin(trace.cells[k][done[k]]), reverse=True):
            cell = trace.cells[k][done[k]]
            after = (*done[:k], done[k] + 1, *done[k + 1 :])
            for step, edge, target in self._ways(state, cell.steps):
                yield Move(k, cell, step, edge), (target, after)

    def _ways(self, state: int, steps: tuple[Step, ...]) -> list[tuple[Step, int, int]]:
        """Return the edges of a state that are one of `steps`."""
        key = (state, steps)
        if key not in self._known:
            before = self.states[state]
            found = []
            for step in steps:
                if not step.action:
                    found += [(step, -1, state)] if step.fits(before, before) else []
                    continue
                for edge in self._out[state].get((step.action, step.arguments), ()):
                    target = self.graph.edges[edge][1]
                    if step.fits(before, self.states[target]):
                        found.append((step, edge, target))
            self._known[key] = found
        return self._known[key]

    def stuck(self, trace: Trace, found: Explained) -> list[str]:
        """Return lines: the way to where a trace sticks, this state, and the unexplained cells."""
        names = self.table.concept.threads
        rows = [("thread", "label", "action")]
        rows += [
            (names[m.thread] if m.cell else "", _event(m.cell) if m.cell else "(hidden)",
             m.step.name)
            for m in found.moves[-SHOWN:]
        ]  # fmt: skip
        for k, of in enumerate(trace.cells):
            if found.done[k] < len(of):
                cell = of[found.done[k]]
                waits = "" if trace.may_go(found.done, k) else ": not before the others"
                rows.append((names[k], _event(cell), f"STUCK{waits} ({_wanted(cell)})"))
        widths = [max(len(row[n]) for row in rows) for n in (0, 1)]
        lines = [f"  {a:{widths[0]}} | {b:{widths[1]}} | {c}" for a, b, c in rows]
        return [*lines, "  state: " + " ".join(self.graph.texts[found.state].split())]

    def coverage(self, covered: set[int]) -> Coverage:
        """Return the coverage by these edges."""
        of: dict[str, int] = defaultdict(int)
        got: dict[str, int] = defaultdict(int)
        edges, states = self._within()
        for edge in edges:
            of[self.actions[edge][0]] += 1
            got[self.actions[edge][0]] += edge in covered
        met = {self.graph.edges[edge][n] for edge in covered for n in (0, 1)}
        return Coverage(
            len(covered & edges), len(edges), len(met & states), len(states),
            {action: (got[action], of[action]) for action in of},
        )  # fmt: skip

    def _within(self) -> tuple[set[int], set[int]]:
        """Return the edges and states of the scenario: those that the concept keeps."""
        keeps = self.table.concept.keeps
        edges: set[int] = set()
        states = set(self.graph.starts)
        pending = list(states)
        for state in pending:
            for action, out in self._out[state].items():
                for edge in out:
                    target = self.graph.edges[edge][1]
                    if keeps and not keeps(*action, self.states[state], self.states[target]):
                        continue
                    edges.add(edge)
                    if target not in states:
                        states.add(target)
                        pending.append(target)
        return edges, states


@dataclass(frozen=True)
class Coverage:
    """The part of the spec's reachable graph that real runs covered."""

    edges: int
    of_edges: int
    states: int
    of_states: int
    actions: dict[str, tuple[int, int]]  # action -> edges covered, edges there are

    @property
    def never(self) -> tuple[str, ...]:
        """The actions that no run took."""
        return tuple(sorted(name for name, (got, _) in self.actions.items() if not got))


def _begin(cell: Cell) -> float:
    return cell.event.begin if cell.event else -1


def _event(cell: Cell) -> str:
    return str(cell.event) if cell.event else "(returned)"


def _wanted(cell: Cell) -> str:
    return " \\/ ".join(" /\\ ".join((step.name, *step.tests)) for step in cell.steps)


def _way(parents: dict[Node, tuple[Node, Move] | None], node: Node) -> tuple[Move, ...]:
    moves = []
    while (parent := parents[node]) is not None:
        node, move = parent
        moves.append(move)
    return tuple(reversed(moves))
