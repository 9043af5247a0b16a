# SPDX-License-Identifier: Apache-2.0
"""Explains why two states differ: the shortest game that distinguishes them, played to its end.

In each round one side takes a step that the other side cannot match, or can match only by a step to
a state that differs in an earlier round.  The example shows the other side's best attempt.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wakeproof.judge.conform.bisimulation import Partition
from wakeproof.judge.conform.bisimulation_graph import INVISIBLE

Edges = list[tuple[int, int]]
"""(graph, edge) one after the other."""


@dataclass
class Example:
    """The way of each side to a state that differs from the other side's, and the difference.

    `lacks` is the side that cannot take a step `label`.  If `what` is "observed" or "diverges",
    `label` is 0, and `lacks` is the side that does not diverge.
    """

    paths: list[Edges] = field(default_factory=lambda: [[], []])
    states: tuple[int, int] = (0, 0)
    what: str = ""  # "label", "observed" or "diverges"
    label: int = INVISIBLE
    lacks: int = 0


@dataclass
class _Options:
    """What a node can do within its block: (label, block) -> way, and whether it diverges."""

    ways: dict[tuple[int, int], list[tuple[int, list[int]]]]  # targets, edges up to each
    diverges: bool


def explain(partition: Partition, first: int, second: int) -> Example:
    """Return why the nodes `first` of graph 0 and `second` of graph 1 differ."""
    nodes = [first, second]
    example = Example()
    while True:
        round_ = partition.parted(*nodes)
        if round_ is None:
            raise ValueError("the states do not differ")
        example.states = (partition.place(nodes[0])[1], partition.place(nodes[1])[1])
        if round_ == 0:
            example.what = "observed"
            return example
        options = [_options(partition, node, round_ - 1) for node in nodes]
        if not _step(partition, example, nodes, options):
            return example


def _step(
    partition: Partition, example: Example, nodes: list[int], options: list[_Options]
) -> bool:
    """Go on to a pair that differs in an earlier round; False: the example is complete."""
    best: tuple[int, int, int, int, list[int], list[int]] | None = None
    for side in (0, 1):
        other = 1 - side
        labels = {label for label, _ in options[other].ways}
        for key, ways in options[side].ways.items():
            if key in options[other].ways:
                continue
            label = key[0]
            if label != INVISIBLE and label not in labels:
                example.what, example.label, example.lacks = "label", label, other
                return False
            answers = [(nodes[other], [])] if label == INVISIBLE else [
                way for (a, _), found in options[other].ways.items() if a == label for way in found
            ]  # fmt: skip
            target, path = ways[0]
            rounds = [(partition.parted(target, answer) or 0, answer, back)
                      for answer, back in answers]  # fmt: skip
            worst = max(rounds, key=lambda found: found[0])
            if best is None or worst[0] < best[0]:
                best = (worst[0], side, target, worst[1], path, worst[2])
    if best is None:
        example.what = "diverges"
        example.lacks = 1 if options[0].diverges else 0
        return False
    _, side, target, answer, path, back = best
    example.paths[side] += [partition.union.edge(edge) for edge in path]
    example.paths[1 - side] += [partition.union.edge(edge) for edge in back]
    nodes[side], nodes[1 - side] = target, answer
    return True


def _options(partition: Partition, node: int, round_: int) -> _Options:
    own = partition.block_at(node, round_)
    ways: dict[tuple[int, int], list[tuple[int, list[int]]]] = {}
    diverges = False
    paths: dict[int, list[int]] = {node: []}
    pending = [node]
    for at in pending:
        diverges |= bool(partition.diverges[at])
        for label, target, edge in partition.out[at]:
            block = partition.block_at(target, round_)
            path = [*paths[at], edge]
            if label == INVISIBLE and block == own:
                if target not in paths:
                    paths[target] = path
                    pending.append(target)
            else:
                ways.setdefault((label, block), []).append((target, path))
    return _Options(ways, diverges)
