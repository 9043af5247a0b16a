# SPDX-License-Identifier: Apache-2.0
"""State graphs that are small enough to look at: TLC's, with a place for each state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from wakeproof.errors import JudgeError
from wakeproof.judge import store
from wakeproof.judge.check import run as specs
from wakeproof.judge.check.run import ConfigResult
from wakeproof.judge.page.data import StateGraph
from wakeproof.judge.page.of_check import state_of
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import dot, dump

LARGEST = 600  # states
WIDE, HIGH = 24.0, 40.0  # between two states of a row, between two rows
SWEEPS = 4


def of_results(
    made: Path, results: Iterable[ConfigResult], about: dict[str, str], children: Children
) -> list[StateGraph]:
    """Return the smallest graph of each module that is small enough, in the order of their sizes.

    Args:
        made: the folder of TLC's files.
        results: of configurations; those that must hold have a graph.
        about: the bounds of each configuration, by its name.
        children: child processes that the caller may kill to end the job.
    """
    by_module: dict[str, list[ConfigResult]] = defaultdict(list)
    for result in results:
        if result.entry.expect == "ok" and 0 < result.tlc.states <= LARGEST:
            by_module[result.entry.module].append(result)
    found = []
    for own in by_module.values():
        entry = min(own, key=lambda result: result.tlc.states).entry
        inputs = {
            **specs.inputs_of(made, entry), **store.code("page/graphs.py", "page/data.py"),
            "graph": entry.name,
        }  # fmt: skip
        known = store.look(inputs)
        if known is not None:
            found.append(StateGraph.model_validate(known.value))
            continue
        module = entry.home(made) / f"{entry.module}.tla"
        said = about.get(entry.name, "")
        graph = dumped(module, entry.file(made), children, name=entry.name, about=said)
        if graph is not None:
            store.keep(inputs, graph.model_dump(mode="json"))
            found.append(graph)
    return sorted(found, key=lambda graph: len(graph.states))


def dumped(
    module: Path, config: Path, children: Children, *, name: str, about: str = "",
    deadlock: bool = True,
) -> StateGraph | None:  # fmt: skip
    """Return the graph of a configuration that holds; None if TLC now fails."""
    text = config.read_text(encoding="utf-8")
    try:
        return converted(dump.graph(module, text, children, deadlock=deadlock), name, about)
    except JudgeError:
        return None  # the page has no need of it


def converted(graph: dot.StateGraph, name: str, about: str) -> StateGraph:
    """Return TLC's graph as data."""
    edges = tuple(dict.fromkeys(graph.edges))
    return StateGraph(
        name=name, about=about, states=tuple(map(state_of, graph.texts)),
        starts=tuple(graph.starts), edges=edges,
        places=tuple(_places(len(graph.texts), graph.starts, edges)),
    )  # fmt: skip


def _places(
    count: int, starts: Sequence[int], edges: Sequence[tuple[int, int, str]]
) -> list[tuple[float, float]]:
    """Return a place for each state: its row is its distance from a start.

    In a row the states stand near those that lead to them, by the mean of their places (Sugiyama,
    Tagawa and Toda 1981), which leaves fewer crossings.
    """
    into: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for source, target, _ in edges:
        into[target].append(source)
        after[source].append(target)
    rows, seen = [list(starts)], set(starts)
    while rows[-1]:
        below = dict.fromkeys(t for s in rows[-1] for t in after[s] if t not in seen)
        seen |= below.keys()
        rows.append([*below])
    rows[-1] = [state for state in range(count) if state not in seen]
    x = dict.fromkeys(range(count), 0.0)
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            near = into if sweep % 2 == 0 else after
            if sweep:
                row.sort(key=lambda s: sum(x[n] for n in near[s]) / len(near[s]) if near[s]
                         else x[s])  # fmt: skip
            x |= {state: WIDE * (at - (len(row) - 1) / 2) for at, state in enumerate(row)}
    y = {state: HIGH * level for level, row in enumerate(rows) for state in row}
    return [(x[state], y[state]) for state in range(count)]
