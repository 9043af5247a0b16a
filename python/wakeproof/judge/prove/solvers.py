# SPDX-License-Identifier: Apache-2.0
"""z3 and cvc5, each in a process of its own that this job cannot leave behind."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from types import TracebackType
from typing import Any, Final, Literal

from wakeproof.errors import MissingToolError
from wakeproof.judge.process import Children, LostChildError

PACKAGES: Final[Mapping[str, str]] = {"z3": "z3-solver", "cvc5": "cvc5"}
"""Each solver's package."""
TIMEOUT_S: Final = 20.0
"""For one obligation: the slowest takes a second on a quiet machine."""
_LATE_S: Final = 10.0


@dataclass(frozen=True)
class Answer:
    """What a solver says of one text: "unsat", "sat" or "unknown"."""

    answer: str
    seconds: float = 0.0
    why: str = ""  # of "unknown"
    by: str = ""  # the option with which it was found, if not the usual ones
    universes: Mapping[str, list[str]] = field(default_factory=dict)
    functions: Mapping[str, list[list[Any]]] = field(default_factory=dict)
    core: Sequence[int] = ()  # the assertions that suffice, numbered in the order of the text
    proof: str = ""  # cvc5's, in its format CPC
    steps: Mapping[str, Any] = field(default_factory=dict)  # that lead to a ground text
    ground: str = ""  # the ground text
    lost: int = 0  # the steps that z3 did not repeat
    asked: str = field(default="", repr=False)  # the text


def versions() -> dict[str, str]:
    """Return the version of each solver.

    Raises:
        MissingToolError: one is not installed.
    """
    found = {}
    for name, package in PACKAGES.items():
        try:
            found[name] = installed(package)
        except PackageNotFoundError:
            raise MissingToolError(
                f"no {name}: pip install {package}, or wakeproof[judge]"
            ) from None
    return found


class Solver:
    """One solver's process; it is started when it is first asked.

    Threads: one at a time.
    """

    def __init__(self, name: str, children: Children) -> None:
        self.name = name
        self._children = children
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Solver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._end()

    def ask(
        self, text: str, timeout_s: float = TIMEOUT_S, *,
        wants: Literal["", "model", "core", "proof", "ground"] = "",
        steps: Mapping[str, Any] | None = None,
    ) -> Answer:  # fmt: skip
        """Return the solver's answer to a text, within `timeout_s` seconds.

        A process that somebody else kills is replaced once.

        Args:
            text: in SMT-LIB.
            timeout_s: after which the answer is "unknown".
            wants: what else z3 says: a model of "sat", the assertions that suffice for "unsat"
                (core), or its answer to the ground text to which cvc5's steps lead; or what cvc5
                says of "unsat": its proof, and these steps.
            steps: for "ground".

        Raises:
            JudgeError: the job was ended meanwhile.
            LostChildError: somebody else has killed the second process too.
        """
        request = json.dumps({
            "text": text, "timeout_ms": int(timeout_s * 1000), "wants": wants, "steps": steps or {}
        })  # fmt: skip
        for again in (True, False):
            begin = time.monotonic()
            child, said = self._started(), []
            assert child.stdin is not None
            assert child.stdout is not None
            late = threading.Timer(timeout_s + _LATE_S, self._children.kill, [child])
            late.start()
            try:
                with contextlib.suppress(BrokenPipeError):  # it has ended
                    child.stdin.write(request + "\n")
                    child.stdin.flush()
                for line in child.stdout:
                    if line.startswith("{"):
                        return Answer(**json.loads(line), asked=text)
                    said.append(line.strip())
            finally:
                late.cancel()
            self._end()
            seconds = time.monotonic() - begin
            if child.returncode != -signal.SIGKILL or seconds >= timeout_s + _LATE_S:
                break
            if not again:
                raise LostChildError(
                    f"{self.name} (pid {child.pid}) was killed (SIGKILL), as the one before it, by "
                    "another process, or by the system for lack of memory: there is no verdict; "
                    "run this again"
                )
        return Answer("unknown", seconds, "; ".join(said[-2:]) or "the solver's process ended")

    def _started(self) -> subprocess.Popen[str]:
        if self._child is None:
            command = [sys.executable, "-m", "wakeproof.judge.prove.solver_child", self.name]
            self._child = self._children.start(command, asked=True)
        return self._child

    def _end(self) -> None:
        if self._child is not None:
            self._children.forget(self._child)
            self._child = None
