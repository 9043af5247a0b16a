# SPDX-License-Identifier: Apache-2.0
"""Makes schedules for paths of the spec, and checks the code's runs along them.

After each step of a path the code must have taken the spec's labelled step, and look like the
spec's state.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from wakeproof.judge.conform.bisimulation_graph import Graph
from wakeproof.judge.conform.code import CHOOSE, Dump, Step
from wakeproof.judge.conform.concept import DROPPED, HIDDEN, WAIT, Concept
from wakeproof.judge.paths.native import Done, Order, Run
from wakeproof.judge.paths.plan import Plan


@dataclass(frozen=True)
class Failure:
    """The step at which the code left the path of the spec."""

    path: int  # from 1
    step: int  # from 1
    of: int
    label: str  # the spec's step
    what: str

    def __str__(self) -> str:
        label = self.label or "a hidden step"
        return f"path {self.path}, step {self.step} of {self.of}: spec takes {label}; {self.what}"


@dataclass(frozen=True)
class Schedule:
    """A run of the code as edges of its dump: before the path, and for each step of it."""

    prefix: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]

    @property
    def edges(self) -> list[int]:
        """All edges of the run, in order."""
        return [*self.prefix, *(edge for step in self.steps for edge in step)]


def schedule(dump: Dump, code: Graph, states: Sequence[int], plan: Plan) -> Schedule:
    """Return the plan as edges of the dump."""
    steps = tuple(tuple(code.origin[edge] for edge in step) for step in plan.steps)
    return Schedule(_way(dump, states[plan.start]), steps)


def _way(dump: Dump, state: int) -> tuple[int, ...]:
    """Return the shortest way from the first state to `state`; they are usually the same."""
    by = {0: -1}
    pending = [0]
    while state not in by:
        at = pending.pop(0)
        for edge in (e for e, source in enumerate(dump.source) if source == at):
            if dump.target[edge] not in by:
                by[dump.target[edge]] = edge
                pending.append(dump.target[edge])
    way: list[int] = []
    while by[state] >= 0:
        way.append(by[state])
        state = dump.source[by[state]]
    return tuple(reversed(way))


def orders(dump: Dump, edges: Sequence[int]) -> list[Order]:
    """Return the orders for the code."""
    found = []
    for edge in edges:
        source, thread = dump.source[edge], dump.thread[edge]
        woken = dump.asleep[source] & ~dump.asleep[dump.target[edge]]
        value = dump.value[edge]
        if dump.at(source).pending(thread).kind == CHOOSE:
            value = _choice(dump, edge)
        found.append(Order(thread, value, woken & ~(1 << thread)))
    return found


def _choice(dump: Dump, edge: int) -> int:
    """Return a choice's value, by the order of its edges (their values are a join's last)."""
    source, thread = dump.source[edge], dump.thread[edge]
    first = edge
    while first > 0 and dump.source[first - 1] == source:
        first -= 1
    return sum(dump.thread[other] == thread for other in range(first, edge))


class Follower:
    """Compares runs of the code with paths of the spec."""

    def __init__(
        self, concept: Concept, dump: Dump, names: Mapping[tuple[str, int], str], spec: Graph
    ) -> None:
        self.concept, self.dump, self.names, self.spec = concept, dump, names, spec

    def failure(
        self, number: int, path: Sequence[int], plan: Schedule, run: Run, labels: Mapping[int, str]
    ) -> Failure | None:
        """Return where the run leaves the path, None if it does not."""
        walk = _Walk(self.concept, self.dump, self.names)
        done = iter(run)
        for edge in plan.prefix:
            walk.take(edge, next(done, "the run ends"), begins=True)
        for at, (spec_edge, edges) in enumerate(zip(path, plan.steps, strict=False), start=1):
            label = labels[self.spec.label[spec_edge]]
            taken, what = [], ""
            for edge in edges:
                name, what = walk.take(edge, next(done, "the run ends"))
                taken += [name] if name not in (HIDDEN, WAIT, DROPPED) else []
                if what:
                    break
            seen = walk.seen() if not what else None
            wanted = self.spec.observed[self.spec.target[spec_edge]]
            if not what and taken != ([label] if label else []):
                what = f"code takes {', '.join(taken) or 'no step'}"
            elif not what and seen != wanted:
                what = f"and is {wanted}; code is {seen}"
            if what:
                return Failure(number, at, len(path), label, what)
        return None


class _Walk:
    """One run, with the spec's ghosts and its state by its own memory."""

    def __init__(self, concept: Concept, dump: Dump, names: Mapping[tuple[str, int], str]) -> None:
        self.concept, self.dump, self.names = concept, dump, names
        self.own = replace(dump, states=[dump.states[0]], asleep=array("I", [0]))
        self.at = self.own.at(0)
        self.memory: Hashable = concept.ghost.start if concept.ghost else None

    def seen(self) -> Hashable:
        """Return the observation of the current state."""
        return self.concept.code_seen(self.at, self.memory)

    def take(self, edge: int, done: Done | str, *, begins: bool = False) -> tuple[str, str]:
        """Take a step; return its label, and what is wrong with it or "".

        `begins`: the step chooses among the spec's initial states, and is no step of the spec.
        """
        what = self.at.pending(self.dump.thread[edge])
        if isinstance(done, str):
            return "", f"code cannot take [{what.site}]: {done}"
        site = self.names.get((done.file, done.line), f"{done.file}:{done.line}")
        if site.rpartition(" ")[2] != what.site:  # half of it, of a twin
            return "", f"code is at [{site}], not at [{what.site}]"
        if done.value != self.dump.value[edge]:
            return "", f"code's [{site}] gives {done.value}, not {self.dump.value[edge]}"
        threads = self.dump.threads
        values = list(self.own.states[-1][threads:])
        for offset, value in done.places.items():
            if offset in self.dump.offsets:  # the dump has only places that threads share
                values[self.dump.offsets[offset]] = value
        positions = self.dump.states[self.dump.target[edge]][:threads]
        self.own.states.append((*positions, *values))
        self.own.asleep.append(done.asleep)
        after = self.own.at(len(self.own.states) - 1)
        step = Step(self.own, self.dump.thread[edge], done.value, self.at, after, self.memory)
        label = HIDDEN if begins else self.concept.code_label(step)
        if self.concept.ghost and not begins:
            self.memory = self.concept.ghost.after(self.memory, step, label)
        self.at = after
        return label, ""
