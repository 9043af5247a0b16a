# SPDX-License-Identifier: Apache-2.0
"""Instructions of the rows that one thread runs: counted by valgrind, on any machine, in any hour.

A time of this hour says little about a time of last month.  The number of instructions does not
depend on the neighbours, so two trees are built and counted here, and their numbers are compared.
Locked instructions are counted apart: each takes as long as some twenty others.
"""

from __future__ import annotations

import platform
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wakeproof import locations
from wakeproof.bench import program
from wakeproof.errors import JudgeError, MissingToolError, UsageError
from wakeproof.judge.names import finder
from wakeproof.judge.process import Children, Finished

COUNTED = (
    "one_batch", "one_turn", "one_ping", "local_batch", "local_turn", "local_yield", "fiber",
    "stack", "timer_1k", "timer_fire_1k", "group_tasks", "poller_look", "vthread_yield",
    "vthread_turns", "vthread_join", "channel_hand", "channel_slots", "mutex_free",
)  # fmt: skip
"""Rows that one thread runs without system calls; of each, our side."""
SIDE = "ours"
OPERATIONS = 4096  # the start of the program is in both runs, of so many and of twice as many
ALLOWED, ALLOWED_LOCKED = 0.02, 0.05
"""How much more a row may take than before: instructions as a share, locked ones as a number."""
LOCKED = re.compile(r" *([0-9a-f]+):\t(?:lock |xchg .*\()")  # of objdump, x86-64
TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Count:
    """Instructions for one operation of a row, now and in the tree that it is compared with.

    Attributes:
        locked: the locked ones among them; None: another processor than x86-64, or no objdump.
    """

    row: str
    now: float
    before: float | None = None
    locked: float | None = None
    locked_before: float | None = None

    @property
    def change(self) -> float:
        """Return now/before - 1; 0 without a tree to compare with."""
        return self.now / self.before - 1 if self.before else 0.0

    @property
    def is_more(self) -> bool:
        """Return whether the row takes more than it may: 2 %, or a locked instruction."""
        if self.locked is None or self.locked_before is None:
            return self.change > ALLOWED
        return self.change > ALLOWED or self.locked - self.locked_before > ALLOWED_LOCKED


def counts(
    regex: str | None = None, revision: str = "", progress: Callable[[str], None] = lambda _: None
) -> tuple[Count, ...]:
    """Count the rows whose name matches, here and in a `revision` of the repository.

    Raises:
        UsageError: no such row, or no such revision, or its bench cannot run one side of a row.
        MissingToolError: no valgrind, no make, no compiler.
        JudgeError: a tree does not compile.
    """
    rows = [*filter(finder(regex), COUNTED)]
    if not rows:
        raise UsageError(f"no counted row matches {regex!r}; there are {', '.join(COUNTED)}")
    with Children() as children, tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        before = tree(children, revision, Path(folder)) if revision else None
        return compared(children, rows, locations.sources(), before, progress)


def compared(
    children: Children, rows: list[str], here: Path, before: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Count, ...]:  # fmt: skip
    """Count `rows` in one tree, or in two."""
    progress("building")
    built = program.build_lean(children, here)
    other = program.build_lean(children, before) if before else None
    found = []
    for row in rows:
        progress(row)
        now, locked = _of_one(children, built, row)
        earlier, locked_earlier = _of_one(children, other, row) if other else (None, None)
        found.append(Count(row, now, earlier, locked, locked_earlier))
    return tuple(found)


def tree(children: Children, revision: str, folder: Path) -> Path:
    """Unpack the tree of `revision` into `folder`; return it.

    Raises:
        UsageError: no such revision.
        MissingToolError: no git.
    """
    archive = folder / "tree.tar"
    ended = _git(children, "archive", "-o", str(archive), revision)
    if ended.code:
        raise UsageError(f"{revision!r} is no revision: {ended.output.strip()}")
    ended = children.run(["tar", "-xf", str(archive), "-C", str(folder)], timeout_s=TIMEOUT_S)
    if ended.code:
        raise JudgeError(f"tar cannot unpack {revision!r}: {ended.output.strip()}")
    return folder


def newest_release(children: Children, repository: Path | None = None) -> str:
    """Return the newest tag ``v...`` before this commit, or "" if there is none."""
    ended = _git(
        children,
        "-C",
        str(repository or locations.sources()),
        "describe",
        "--tags",
        "--abbrev=0",
        "--match",
        "v*",
    )
    return "" if ended.code else ended.output.strip()


def _git(children: Children, *words: str) -> Finished:
    if shutil.which("git") is None:
        raise MissingToolError("a revision is read by git: install git")
    return children.run(["git", *words], cwd=locations.sources(), timeout_s=TIMEOUT_S)


def _of_one(children: Children, built: Path, row: str) -> tuple[float, float | None]:
    """Return the instructions of one operation, and how many of these are locked."""
    few, many = (_executed(children, built, row, ops) for ops in (OPERATIONS, 2 * OPERATIONS))
    locked = _locked(children, built)
    each = (many.total() - few.total()) / OPERATIONS
    if locked is None:
        return each, None
    return each, sum(many[at] - few[at] for at in locked) / OPERATIONS


def _executed(children: Children, built: Path, row: str, operations: int) -> Counter[int]:
    """Return how often each instruction runs in a process that runs our side of a row once.

    The key is the instruction's address in `built`; those of other files have the key -1.
    """
    if shutil.which("valgrind") is None:
        raise MissingToolError("instructions are counted by valgrind: apt install valgrind")
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        file = Path(folder) / "counted"
        ended = children.run(
            ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no",
             "--compress-strings=no", f"--callgrind-out-file={file}", str(built), row, SIDE,
             str(operations)], timeout_s=TIMEOUT_S,
        )  # fmt: skip
        if ended.code or not file.exists():
            raise JudgeError(f"{row} {SIDE} failed ({ended.code}): {ended.output.strip()[-500:]}")
        text = file.read_text(encoding="utf-8")
    if '{"row"' in ended.output:
        raise UsageError(
            "that tree's bench cannot run one side of a row, so nothing can be counted"
        )
    found: Counter[int] = Counter()
    is_ours = is_call = False
    for line in text.splitlines():
        if line.startswith("ob="):
            is_ours = line.removeprefix("ob=") == str(built)
        elif line.startswith("calls="):
            is_call = True  # the next line has what the callee took
        elif line.startswith("0x"):
            at, _, cost = line.split()
            if not is_call:
                found[int(at, 16) if is_ours else -1] += int(cost)
            is_call = False
    return found


def _locked(children: Children, built: Path) -> set[int] | None:
    """Return the addresses of the locked instructions."""
    if platform.machine() != "x86_64" or shutil.which("objdump") is None:
        return None
    ended = children.run(["objdump", "-d", "--no-show-raw-insn", str(built)], timeout_s=TIMEOUT_S)
    return {
        int(found[1], 16) for line in ended.output.splitlines() if (found := LOCKED.match(line))
    }
