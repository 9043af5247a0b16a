# SPDX-License-Identifier: Apache-2.0
"""herd7 beside our axioms: each program under each model, outcome by outcome.

WAKEPROOF_HERD=1000 takes the whole corpus and so many random programs; `make herd` does.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from tests.support.judges import many
from tests.support.random_programs import Kinds, small

from wakeproof.errors import JudgeError, MissingToolError, UsageError
from wakeproof.judge.explore.options import Model
from wakeproof.judge.oracle import armv8, herd, run
from wakeproof.judge.oracle.armv8 import MAPPINGS, Mapping
from wakeproof.judge.oracle.machine import Text
from wakeproof.judge.oracle.models import AXIOMS, Axioms
from wakeproof.judge.oracle.program import Program, parse

NUMBER = int(os.environ.get("WAKEPROOF_HERD", "0"))
"""Of random programs; 0: a sample of everything."""
LOST = "herd7 misses a plain interleaving"
JOBS = 2
KINDS = Kinds(candidates=150)
"""herd7 needs seconds where ours needs milliseconds: programs small enough for both."""


@dataclass
class Tally:
    """How many agreed; which did not; which were skipped, with the reason."""

    same: int = 0
    differ: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)  # herd7 misses what an interleaving gives

    def __str__(self) -> str:
        lines = [f"{self.same} the same, {len(self.differ)} differ, {len(self.skipped)} skipped"]
        if self.lost:
            names = ", ".join(self.lost)
            lines.append(f"  {len(self.lost)} where herd7 misses a plain interleaving: {names}")
        for reason, count in Counter(self.skipped.values()).most_common():
            names = [name for name, why in self.skipped.items() if why == reason]
            lines.append(f"  {count} skipped: {reason} ({', '.join(names)})")
        return "\n".join([*lines, *self.differ])


def found() -> Path:
    """Return herd7, or skip the test."""
    try:
        return herd.find()
    except MissingToolError as error:
        pytest.skip(str(error))


def drawn(number: int) -> dict[str, str]:
    """Return so many different random programs, the same ones each time."""
    programs: dict[str, None] = {}

    @many(2 * number)
    @given(small(KINDS))
    def draw(program: object) -> None:
        if len(programs) < number:
            programs[str(program)] = None

    draw()
    return {f"random{at}": text for at, text in enumerate(programs)}


def mine(
    program: Program, model: Model, mapping: Mapping, axioms: Axioms | None = None
) -> herd.Answer:
    """Return what our axioms say, of the flavour that herd7 has."""
    if model is Model.ARMV8:
        machine = Text(program, dependencies=True, paired=mapping.pair)
        has = axioms or (lambda graph: armv8.armv8(graph, mapping))
        all_ = run.executions(machine, buffering=True)
        return herd.Answer(
            frozenset(one.outcome(machine) for one in all_ if has(one.graph)), is_racy=False
        )
    one = run.explore(program, {model: axioms or AXIOMS[model]}, herd.SWITCHES)[model]
    return herd.Answer(frozenset(one.outcomes), one.is_racy)


def difference(
    tool: Path, text: str, model: Model, mapping: Mapping, axioms: Axioms | None = None
) -> str:
    """Return how the two differ; "": not at all.  Of a racy program RC11 says no more than that."""
    program = parse(text)
    if model is Model.TSO:
        program = herd.without_results_of_adds(program)
    theirs = herd.ask(tool, program, model, mapping)
    ours = mine(program, model, mapping, axioms)
    if model is Model.RC11 and ours.is_racy != theirs.is_racy:
        return f"race: herd7 {theirs.is_racy}, we {ours.is_racy}"
    if ours.outcomes == theirs.outcomes or (model is Model.RC11 and ours.is_racy):
        return ""
    if theirs.outcomes < ours.outcomes <= theirs.outcomes | interleavings(program):
        return LOST
    return (
        f"herd7 alone {sorted(theirs.outcomes - ours.outcomes)}, "
        f"we alone {sorted(ours.outcomes - theirs.outcomes)}"
    )


def interleavings(program: Program) -> set[str]:
    """Return the outcomes of the steps one after another: every model has these."""
    machine = Text(program)
    threads = range(machine.threads)
    start = (tuple(machine.start(thread) for thread in threads), tuple(machine.initial))
    seen, waiting, found = {start}, [start], set()
    while waiting:
        places, memory = waiting.pop()
        steps = [machine.step(thread, place) for thread, place in enumerate(places)]
        if not any(steps):
            found.add(machine.outcome(places, memory))
        for thread, step in enumerate(steps):
            old = 0 if step is None or step.location < 0 else memory[step.location]
            effects: list[int | None] = []
            if step is not None and step.what in ("store", "fence"):
                effects = [step.a if step.what == "store" else None]
            elif step is not None and step.what not in ("assume", "assert"):
                effects = step.written(old)
            for new in effects:
                to = list(memory)
                if step is not None and new is not None:
                    to[step.location] = new
                after = machine.after(thread, places[thread], old, new is not None, (thread, 0))
                state = ((*places[:thread], after, *places[thread + 1 :]), tuple(to))
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)
    return found


def compare(
    tool: Path, programs: dict[str, str], model: Model, *, each: Sequence[Mapping] = ()
) -> Tally:
    """Compare all programs under a model; under ARMv8 with each mapping, or one after another."""
    tally = Tally()
    tasks = [
        (name, mapping)
        for at, name in enumerate(programs)
        for mapping in (each or MAPPINGS[at % 4 :][:1] if model is Model.ARMV8 else MAPPINGS[:1])
    ]

    def judge(task: tuple[str, Mapping]) -> tuple[str, str]:
        name, mapping = task
        try:
            return "", difference(tool, programs[name], model, mapping)
        except UsageError as error:
            return _reason(error), ""
        except herd.SlowError as error:
            return str(error), ""
        except JudgeError as error:
            return "", str(error)

    with ThreadPoolExecutor(JOBS) as pool:
        for (name, mapping), (why, what) in zip(tasks, pool.map(judge, tasks), strict=True):
            full = f"{name} {mapping.name}" if model is Model.ARMV8 else name
            if why:
                tally.skipped[full] = why
            elif what == LOST:
                tally.lost.append(full)
            elif what:
                tally.differ.append(f"{full}: {what}\n{programs[name]}")
            else:
                tally.same += 1
    return tally


def _reason(error: UsageError) -> str:
    """Return the reason without what is the program's own."""
    text = str(error)
    if not text.startswith("line "):
        return text
    return "it has loops" if "is no label" in text else "it has futex calls"
