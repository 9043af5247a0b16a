# SPDX-License-Identifier: Apache-2.0
"""A batch of traces as one TLA+ module: TLC searches an order of each that is a behaviour.

A trace is a string of cells per thread. A cell has the number of its set of steps (equal sets share
a number) and, for every thread, the number of that thread's cells that ended before this cell
began: these cells must come first. TLC chooses the trace in Init, takes the next cell of any thread
that may come now, and prints the number of each trace that it completes.
"""

from __future__ import annotations

import math
import re
import shutil
import string
import tempfile
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wakeproof.errors import JudgeError
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import run as tlc
from wakeproof.judge.traces.concept import Cell, Step, TraceConcept

LETTERS = string.ascii_letters
TIMEOUT_S = 600.0
JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx2g", "-Xss64m")
"""The stack is large because TLC parses long literals deeply; the rest is for short runs."""


@dataclass(frozen=True)
class Trace:
    """One round: each thread's cells, and per cell how many of each thread come first."""

    number: int  # of the round; a tampered trace has the number of its round
    cells: tuple[tuple[Cell, ...], ...]
    tampered: str = ""  # what was done to it, in words
    lie: str = ""  # the kind of the change
    needs: tuple[tuple[tuple[int, ...], ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        ends = [[c.event.end if c.event else math.inf for c in thread] for thread in self.cells]
        needs = tuple(
            tuple(tuple(bisect_left(of, c.event.begin) if c.event else 0 for of in ends)
                  for c in thread)
            for thread in self.cells
        )  # fmt: skip
        object.__setattr__(self, "needs", needs)

    def may_go(self, done: Sequence[int], thread: int) -> bool:
        """Return whether the thread's next cell may come next, after the cells in `done`."""
        need = self.needs[thread][done[thread]]
        return all(need[k] <= done[k] for k in range(len(done)) if k != thread)

    @property
    def end(self) -> tuple[int, ...]:
        """The number of cells of each thread."""
        return tuple(map(len, self.cells))


def accepted(
    table: TraceConcept, traces: Sequence[Trace], specs: Path, children: Children
) -> set[int]:
    """Return the indices of the traces that TLC finds to be behaviours of the spec.

    Raises:
        JudgeError: TLC failed.
    """
    with tempfile.TemporaryDirectory(prefix="wakeproof-traces-") as folder:
        private = Path(folder)
        for file in specs.glob("*.tla"):
            shutil.copy(file, private)
        module = private / f"Trace{table.concept.module}.tla"
        module.write_text(module_text(table, traces), encoding="utf-8")
        lines = [f"  {name} = {value}" for name, value in table.concept.constants.items()]
        text = ["INIT TrInit", "NEXT TrNext", "INVARIANT TrReport", "CONSTANTS", *lines]
        config = module.with_suffix(".cfg")
        config.write_text("\n".join(text), encoding="utf-8")
        result = tlc.run(module, config, children=children, timeout_s=TIMEOUT_S, jvm=JVM,
                         options=("-deadlock",))  # fmt: skip
        if result.outcome is not tlc.Outcome.OK:
            raise JudgeError(f"{module.stem}: {result.outcome.value}; {result.message}")
        return {int(number) - 1 for number in re.findall(r'<<"OK", (\d+)>>', result.output)}


def module_text(table: TraceConcept, traces: Sequence[Trace]) -> str:
    """Return the generated module."""
    kinds = {step: n for n, step in enumerate(
        dict.fromkeys(c.steps for t in traces for thread in t.cells for c in thread))}  # fmt: skip
    wide = _digits(len(kinds))
    narrow = _digits(1 + max(max(t.end) for t in traces))
    count = len(traces[0].cells)
    cell = wide + narrow * count
    calls = _calls(table)
    hidden = [calls[step] for step in table.hidden]
    literals = [
        "<<" + ", ".join(
            '"' + "".join(
                _number(kinds[c.steps], wide) + "".join(_number(n, narrow) for n in need)
                for c, need in zip(thread, needs, strict=True)
            ) + '"'
            for thread, needs in zip(t.cells, t.needs, strict=True)
        ) + ">>"
        for t in traces
    ]  # fmt: skip
    at = f"{cell} * tr_done[k]"
    need = f"SubSeq(s, {at} + {wide + 1} + {narrow} * (j - 1), {at} + {wide} + {narrow} * j)"
    return "\n".join([
        f"---- MODULE Trace{table.concept.module} ----",
        f"EXTENDS {table.concept.module}, TLC, Sequences",
        "VARIABLES tr_trace, tr_done",
        "TrTraces == <<", ",\n".join(literals), ">>",
        "TrLetter == [" + ", ".join(f"{c} |-> {n}" for n, c in enumerate(LETTERS)) + "]",
        f"TrNumber(s) == {_value(narrow)}",
        "TrStep(kind) ==", f"  CASE {_cases(kinds, wide, calls)}", "    [] OTHER -> FALSE",
        f"TrInit == Init /\\ tr_trace \\in 1 .. {len(traces)}",
        f"          /\\ tr_done = [k \\in 1 .. {count} |-> 0]",
        "TrGo(k) ==",
        f"  LET s == TrTraces[tr_trace][k] IN {at} < Len(s)",
        f"  /\\ \\A j \\in (1 .. {count}) \\ {{k}} : TrNumber({need}) <= tr_done[j]",
        f"  /\\ TrStep(SubSeq(s, {at} + 1, {at} + {wide}))",
        "  /\\ tr_done' = [tr_done EXCEPT ![k] = @ + 1] /\\ UNCHANGED tr_trace",
        "TrNext ==", f"  \\/ \\E k \\in 1 .. {count} : TrGo(k)",
        *(f"  \\/ {call} /\\ UNCHANGED <<tr_trace, tr_done>>" for call in hidden),
        "TrReport ==",
        f"  (\\A k \\in 1 .. {count} : {at} = Len(TrTraces[tr_trace][k]))",
        '    => PrintT(<<"OK", tr_trace>>)',
        "====", "",
    ])  # fmt: skip


def is_known(table: TraceConcept, trace: Trace) -> bool:
    """Return whether each cell has a step of the spec, so that only the spec can reject it."""
    calls = _calls(table)
    return all(
        any(not s.action or (s.action, s.arguments) in calls for s in cell.steps)
        for thread in trace.cells
        for cell in thread
    )


def _calls(table: TraceConcept) -> dict[tuple[str, tuple[str, ...]], str]:
    """Return the TLA+ text of each of the spec's actions, by name and plain arguments."""
    return {(call.action, call.plain): call.tla for call in table.concept.calls}


def _cases(
    kinds: dict[tuple[Step, ...], int],
    wide: int,
    calls: dict[tuple[str, tuple[str, ...]], str],
) -> str:
    arms = []
    for steps, number in kinds.items():
        texts = [f"({step.tla(calls)})" for step in steps]
        arms.append(f'kind = "{_number(number, wide)}" -> ' + " \\/ ".join(texts))
    return "\n    [] ".join(arms)


def _digits(count: int) -> int:
    return 1 if count <= len(LETTERS) else 1 + _digits(-(-count // len(LETTERS)))


def _number(value: int, digits: int) -> str:
    if not digits:
        return ""
    return _number(value // len(LETTERS), digits - 1) + LETTERS[value % len(LETTERS)]


def _value(digits: int) -> str:
    """Return a TLA+ expression for the number that the letters of `s` spell."""
    parts = [
        f"{len(LETTERS) ** (digits - 1 - n)} * TrLetter[SubSeq(s, {n + 1}, {n + 1})]"
        for n in range(digits)
    ]
    return " + ".join(parts)
