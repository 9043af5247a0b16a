# SPDX-License-Identifier: Apache-2.0
"""Runs TLC on one configuration and reads its verdict, counts and counterexample.

Each run has its own metadir and tmpdir, because TLC 2.15 fails if runs share one.  A run has its
own Java virtual machine as well (`run`), or shares one with other runs (`run_shared`).  Exit code 0
is not trusted by itself; the line "No error has been found" must be there too.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from wakeproof.judge.process import Children, Finished
from wakeproof.judge.tlc import toolchain
from wakeproof.judge.tlc.jvm import Machines
from wakeproof.judge.tlc.messages import Message, parse_error, read_messages

SHORT_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g", "-Xss16m")
"""For runs of seconds: starts in half the time, one thread."""
LARGE_JVM = ("-XX:+UseParallelGC", "-Xmx4g", "-Xss16m")
"""For runs of minutes: the throughput collector, room for tens of millions of states."""

TRIES = 3
STALL_S = 30.0
"""TLC 2.15 sometimes hangs without using a CPU (one run in some 200): try again."""


class Outcome(StrEnum):
    """How a run of TLC ended."""

    OK = "ok"
    INVARIANT = "invariant violated"
    PROPERTY = "property violated"
    DEADLOCK = "deadlock"
    ASSUME = "assumption false"
    EVALUATION = "evaluation error"
    PARSE = "parse error"
    CONFIG = "configuration error"
    TIMEOUT = "time ran out"
    CRASH = "TLC failed"

    @property
    def is_violation(self) -> bool:
        """Return whether TLC found a behaviour that breaks a claim (a deadlock is one)."""
        return self in (Outcome.INVARIANT, Outcome.PROPERTY, Outcome.DEADLOCK)


BY_EXIT_CODE = {
    0: Outcome.OK,
    10: Outcome.ASSUME,
    11: Outcome.DEADLOCK,
    12: Outcome.INVARIANT,
    13: Outcome.PROPERTY,
    75: Outcome.EVALUATION,
    150: Outcome.PARSE,
    151: Outcome.CONFIG,
    255: Outcome.CONFIG,
}


@dataclass(frozen=True)
class Step:
    """One state of a counterexample and the action that led to it ("" for the initial state)."""

    action: str
    values: dict[str, str]  # variable -> printed value


@dataclass(frozen=True)
class TlcResult:
    """The result of one run of TLC."""

    outcome: Outcome
    violated: str  # the invariant's or property's name as TLC gives it; "" where it gives none
    states: int  # distinct states found
    depth: int  # of the search so far
    trace: tuple[Step, ...]
    back_to: int  # liveness: the lasso returns to this state (1 is the first); 0: no lasso
    stuttering: bool  # liveness: the last state is repeated for ever
    message: str  # the first lines of an error that is not a verdict
    seconds: float
    output: str = ""  # all of it


def run(
    module: Path,
    config: Path,
    *,
    children: Children,
    workers: int = 1,
    timeout_s: float = 600.0,
    jvm: tuple[str, ...] = SHORT_JVM,
    options: tuple[str, ...] = (),
) -> TlcResult:
    """Model-check `module` (a .tla file) under `config` (a .cfg file); at most `timeout_s` seconds.

    `options` are passed on to TLC.

    Raises:
        MissingToolError: no Java or no TLC.
        JudgeError: the process cannot be started.
    """
    tools = toolchain.find()
    with tempfile.TemporaryDirectory(prefix="wakeproof-tlc-") as private:
        command = [str(tools.java), *jvm, *toolchain.shared_classes()]
        command += [f"-Djava.io.tmpdir={private}", "-cp", str(tools.jar), "tlc2.TLC"]
        command += _arguments(module, config, private, workers, options)
        begin = time.monotonic()
        for _ in range(TRIES):
            child = children.run(command, cwd=module.parent, timeout_s=timeout_s, stall_s=STALL_S)
            if not child.stalled:
                break
        return read_result(child, time.monotonic() - begin)


def run_shared(
    module: Path,
    config: Path,
    *,
    machines: Machines,
    fresh: bool,
    timeout_s: float = 600.0,
    options: tuple[str, ...] = (),
) -> TlcResult:
    """Model-check as `run` does with one worker, in a machine that runs other configurations too.

    With `fresh` TLC's classes are loaded for this run alone; temporal formulas need that.

    Raises:
        JvmError: the machine gave no answer.
        JudgeError: the job was ended meanwhile.
    """
    with tempfile.TemporaryDirectory(prefix="wakeproof-tlc-") as private:
        arguments = _arguments(module, config, private, 1, options)
        begin = time.monotonic()
        child = machines.run(
            arguments, module.parent.resolve(), Path(private), fresh=fresh, timeout_s=timeout_s,
            stall_s=STALL_S,
        )  # fmt: skip
        return read_result(child, time.monotonic() - begin)


def _arguments(
    module: Path, config: Path, private: str, workers: int, options: tuple[str, ...]
) -> list[str]:
    """Return TLC's own arguments, in the module's folder; `private` is a folder for its files."""
    beside = os.path.relpath(config.parent.resolve() / config.name, module.parent.resolve())
    return [
        "-tool", "-metadir", private, "-fp", "0", "-checkpoint", "0", "-workers", str(workers),
        *options, "-config", beside, module.name,
    ]  # fmt: skip


def read_result(child: Finished, seconds: float) -> TlcResult:
    """Read the output of a finished TLC."""
    messages = read_messages(child.output)
    outcome = _outcome(child, messages)
    states, depth = _counts(messages)
    trace, back_to, stuttering = _trace(messages)
    return TlcResult(
        outcome=outcome,
        violated=_violated(messages) if outcome.is_violation else "",
        states=states,
        depth=depth,
        trace=trace,
        back_to=back_to,
        stuttering=stuttering,
        message="" if outcome.is_violation else _error(child, messages),
        seconds=seconds,
        output=child.output,
    )


def _outcome(child: Finished, messages: list[Message]) -> Outcome:
    if child.timed_out:
        return Outcome.TIMEOUT
    outcome = BY_EXIT_CODE.get(child.code, Outcome.CRASH)
    finished = any("No error has been found" in message.text for message in messages)
    return Outcome.CRASH if outcome is Outcome.OK and not finished else outcome


def _counts(messages: list[Message]) -> tuple[int, int]:
    states = depth = 0
    for message in messages:
        for count in re.findall(r"([\d,]+) distinct states found", message.text):
            states = int(count.replace(",", ""))
        found = re.search(r"^Progress\((\d+)\)|complete state graph search is (\d+)", message.text)
        if found:
            depth = int(found.group(1) or found.group(2))
    return states, depth


_VIOLATED = re.compile(
    r"^(?:Invariant|Action property|Property) (.+?) is (?:violated|false)", re.MULTILINE
)


def _violated(messages: list[Message]) -> str:
    found = (_VIOLATED.search(message.text) for message in messages if message.is_error)
    return next((match.group(1) for match in found if match), "")


def _trace(messages: list[Message]) -> tuple[tuple[Step, ...], int, bool]:
    steps: list[Step] = []
    back_to = 0
    stuttering = False
    for message in messages:
        text = message.text.strip()
        if message.is_error and "violated by the initial state:" in text:
            steps.append(Step("", _variables(text.split("initial state:", 1)[1].strip())))
        if not message.is_state:
            continue
        head, _, body = text.partition("\n")
        number, _, label = head.partition(": ")
        if label.startswith("Back to state"):
            back_to = int(number)
        elif label.startswith("Stuttering"):
            stuttering = True
        else:
            name = label.removeprefix("<").split(" ", 1)[0]
            steps.append(Step("" if name == "Initial" else name, _variables(body)))
    return tuple(steps), back_to, stuttering


def _variables(body: str) -> dict[str, str]:
    """Split a printed state; a value may continue over indented lines."""
    values: dict[str, str] = {}
    name = ""
    for line in body.splitlines():
        found = re.match(r"(?:/\\ )?(\w+) = (.*)", line)
        if found:
            name = found.group(1)
            values[name] = found.group(2)
        elif name and line.strip():
            values[name] += " " + line.strip()
    return values


_NOISE = (
    ":",
    "TLC threw an unexp",
    "This was probably",
    "See the User Output",
    "The exception was",
)


def _error(child: Finished, messages: list[Message]) -> str:
    lines = [line.strip() for m in messages if m.is_error for line in m.text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(_NOISE)]
    if BY_EXIT_CODE.get(child.code) is Outcome.PARSE:
        lines = [line.strip() for line in parse_error(child.output)] or lines
    if not lines and child.code != 0 and not child.timed_out:
        last = [line.strip() for line in child.output.splitlines() if line.strip()]
        lines = [f"exit code {child.code}", *last[-2:]]
    return "; ".join(lines[:4])
