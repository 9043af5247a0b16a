# SPDX-License-Identifier: Apache-2.0
"""How fast the explorer explores the litmus corpus as programs in C, beside the same as text.

    build/venv/bin/python -m tools.own_speed [ROUNDS]

Each program is explored in both forms under each model, in a process for itself, in turn.  A row
has the least of the rounds, once with the processor time of the whole process, which loads the
program and maps memory, and once with the time that the exploration alone took by the clock;
the kernel's clock of processor time is too coarse for that.  Programs are left out that have other
counts as C, and those with more than 5,000 executions, which take long as text.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.judge.own.test_litmus import LARGE, TOO_LARGE
from tests.support.litmus import LITMUS
from tests.support.litmus_c import can_be_c, in_c

from wakeproof.judge.builds import Builder
from wakeproof.judge.explore.results import parse
from wakeproof.judge.own.build import Builder as OwnBuilder
from wakeproof.judge.own.program import Program
from wakeproof.judge.own.runtime import Runtime
from wakeproof.judge.process import Children

ROUNDS, MANY = 5, 900
"""MANY: executions under all models, of a program that is no small one."""
OPTIONS = ("--model", "sc,tso,rc11", "--engine", "graphs", "--no-examples")


@dataclass
class Side:
    """What one form of a program took, in seconds, at least."""

    command: list[str]
    executions: int = 0
    process: float = field(default=float("inf"))
    alone: float = field(default=float("inf"))

    def run(self) -> None:
        """Explore it once more."""
        with subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout
            lines = child.stdout.read().splitlines()
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        results = [parse(line) for line in lines]
        self.executions = sum(result.executions for result in results)
        self.process = min(self.process, used.ru_utime + used.ru_stime)
        self.alone = min(self.alone, sum(result.seconds for result in results))


def _sides(folder: Path) -> dict[str, tuple[Side, Side]]:
    """Return both forms of each program, as text and as C."""
    chosen = {name: text for name, text in LITMUS.items()
              if can_be_c(text) and name not in (*LARGE, *TOO_LARGE)}  # fmt: skip
    with Children() as children:
        explorer = str(Builder(children).explorer())
        own = OwnBuilder(children, Runtime(children), folder)

        def sides(name: str) -> tuple[Side, Side]:
            text, source = folder / f"{name}.txt", folder / f"{name}.c"
            text.write_text(chosen[name], "utf-8")
            source.write_text(in_c({name: chosen[name]}), "utf-8")
            built = str(own.program(Program((source,))))
            return (
                Side([explorer, "--program", str(text), *OPTIONS]),
                Side([built, "--test", name, *OPTIONS, "--", name]),
            )

        with ThreadPoolExecutor(2) as pool:
            return dict(zip(chosen, pool.map(sides, chosen), strict=True))


def _row(what: str, pairs: list[tuple[Side, Side]]) -> str:
    cells = []
    for measure in ("process", "alone"):
        text, c = (sum(getattr(pair[side], measure) for pair in pairs) for side in (0, 1))
        cells.append(f"{text * 1e3:7.1f} {c * 1e3:7.1f} {text / c:5.2f}")
    return f"{what:18} {len(pairs):4} {sum(pair[1].executions for pair in pairs):7} " + "  ".join(
        cells
    )


def main() -> None:
    """Measure, and print a table: milliseconds as text and as C, and the ratio of speeds."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        pairs = list(_sides(Path(folder)).values())
        for _ in range(rounds):
            for pair in pairs:
                for side in pair:
                    side.run()
    equal = [(text, c) for text, c in pairs if text.executions == c.executions]
    print(f"{'':18} {'':4} {'':7}  whole processes       exploration alone")
    print(f"{'':18} {'all':>4} {'execs':>7}    text       C ratio     text       C ratio")
    print(_row("all", equal))
    print(_row("300 or more each", [pair for pair in equal if pair[1].executions >= MANY]))
    print(_row("fewer", [pair for pair in equal if pair[1].executions < MANY]))


if __name__ == "__main__":
    main()
