# SPDX-License-Identifier: Apache-2.0
"""Lets each call of a running kernel to the system and for memory fail in turn, and prints a table.

    make campaign             a minute

Each failure is a process of its own, of programs/across/every_call.c. *whole*: the process has done
all its work. *said*: a public function has returned the error, and what had begun has ended. Exit
code 1: something was lost, hung or crashed.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.support import compiling, refusing
from tests.support.running import run

GOOD = ("whole", "said")
BAD = ("lost", "hung", "crashed")


def counted(build: str, folder: Path) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Return how many failures of each call ended in which way, and what is wrong."""
    program = compiling.build(folder, refusing.NAME, build, *refusing.flags())
    found: Counter[tuple[str, str]] = Counter()
    wrong = []
    for case in refusing.CASES:
        ended = run(program, case, "0", "1", "table", cwd=folder, timeout_s=3600)
        for line in ended.stdout.splitlines():
            match line.split("\t"):
                case [_, call, how]:
                    found[call, how] += 1
                case _:
                    wrong.append(line)
        if ended.returncode and not wrong:
            wrong.append(f"{case}: exit code {ended.returncode}: {ended.stderr}")
    return found, wrong


def main() -> int:
    """Run every case in every build; return the exit code."""
    print("Of the calls that a running kernel makes to the system and for memory, one fails: each")
    print("in turn, in a process of its own. whole: all work was done. said: a public function has")
    print("returned the error. Nothing may be lost, hang or crash.\n")
    for case, words in refusing.CASES.items():
        print(f"  {case:8} {words}")
    every = []
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        for build in refusing.BUILDS:
            found, wrong = counted(build, Path(folder))
            every += wrong
            print(f"\n{build + ' build':26}" + "".join(f"{how:>9}" for how in (*GOOD, *BAD)))
            for call in sorted({call for call, _ in found}):
                print(
                    f"{call:26}" + "".join(f"{found[call, how] or '-':>9}" for how in (*GOOD, *BAD))
                )
            print(f"{found.total():,} failures")
    print("\n".join(every))
    return 1 if every else 0


if __name__ == "__main__":
    sys.exit(main())
