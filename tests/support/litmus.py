# SPDX-License-Identifier: Apache-2.0
"""Small programs for comparing judges: with everything observed, and with small changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from wakeproof import locations
from wakeproof.judge.explore.litmus_program import Cas, Fence, Load, Program, Store, Thread, Update
from wakeproof.judge.explore.options import Model

CORPUS = locations.sources() / "tests" / "corpus" / "litmus"
"""Published programs, many in a file, and what was published of them."""


def _programs() -> dict[str, str]:
    texts = [text for file in sorted(CORPUS.glob("*.txt"))
             for text in file.read_text("utf-8").split("\nend\n")]  # fmt: skip
    found = {text.split()[1]: text.strip("\n") + "\n" for text in texts}
    assert len(found) == len(texts), "two programs have one name"
    return found


def _table(name: str) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = json.loads((CORPUS / f"{name}.json").read_text("utf-8"))
    return rows


LITMUS = _programs()
"""Their texts, by name."""
LARGE = {
    "adds": ("program adds\n" + "thread\n  r0 = add x 1 seq_cst\n" * 8 + "observe 7:r0\n",
             Model.RC11),  # 8! executions
    "mutex": (LITMUS["F1_n3"], Model.TSO),
    "mutex_wrapping": (LITMUS["F1_mod4_n3"], Model.RC11),
}  # fmt: skip
"""Searches that are large enough to be shared or cut."""
COUNTS, VERDICTS, STATES = _table("counts"), _table("verdicts"), _table("states")
"""Executions by model; what can be reached by model; states and edges of futex mutexes."""
STRONGER: dict[type, dict[str, tuple[str, ...]]] = {
    Load: {"plain": ("relaxed",), "relaxed": ("acquire",), "acquire": ("seq_cst",)},
    Store: {"plain": ("relaxed",), "relaxed": ("release",), "release": ("seq_cst",)},
    Update: {
        "relaxed": ("acquire", "release"),
        "acquire": ("acq_rel",),
        "release": ("acq_rel",),
        "acq_rel": ("seq_cst",),
    },
    Fence: {
        "acquire": ("acq_rel",),
        "release": ("acq_rel",),
        "acq_rel": ("seq_cst",),
        "light": ("heavy",),
    },
}
STRONGER[Cas] = STRONGER[Update]


def observed(program: Program) -> Program:
    """Return the program with all its registers and locations observed."""
    lines = str(program).splitlines()
    places = sorted({word for line in lines for word in line.split() if word in ("x", "y", "z")})
    registers = []
    for number, thread in enumerate(program.threads):
        into = {getattr(operation, "into", None) for operation in thread.operations}
        weak = any(getattr(operation, "weak", False) for operation in thread.operations)
        used = sorted(name for name in into if name) + ["r7"] * weak
        registers += [f"{number}:{name}" for name in used]
    return replace(program, observe=(*registers, *places))


def stronger(program: Program) -> Iterator[Program]:
    """Yield the program with one memory order one step stronger, for each way to do so."""
    for number, thread in enumerate(program.threads):
        for at, operation in enumerate(thread.operations):
            order = getattr(operation, "order", "")
            for more in STRONGER.get(type(operation), {}).get(order, ()):
                changed = list(thread.operations)
                changed[at] = replace(operation, order=more)
                threads = list(program.threads)
                threads[number] = Thread(tuple(changed))
                yield replace(program, threads=tuple(threads))


def permuted(program: Program, order: tuple[int, ...]) -> Program:
    """Return the program with its threads in another order; its outcomes read the same."""
    threads = tuple(program.threads[number] for number in order)
    names = {f"{number}": f"{order.index(number)}" for number in order}
    seen = [
        f"{names[word.split(':')[0]]}:{word.split(':')[1]}" if ":" in word else word
        for word in program.observe
    ]
    return replace(program, threads=threads, observe=tuple(seen))
