# SPDX-License-Identifier: Apache-2.0
"""What other runtimes tell of themselves: Java by jstack, Python by py-spy or faulthandler, Go.

A look from outside changes nothing in a process.  These do a little: jstack lets the JVM write
a dump, py-spy stops the process for a moment, and Go ends the program that it is asked about.  So
each is run only on demand.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge.process import Children
from wakeproof.judge.watch.process import Process
from wakeproof.judge.watch.symbols import Symbols
from wakeproof.judge.watch.verdicts import Report, Verdict

_ASK_S: Final = 30.0
_DUMP_S: Final = 3.0
_DEADLOCK: Final = re.compile(r"^Found one Java-level deadlock:.*?^Found \d+ deadlock", re.M | re.S)


@dataclass(frozen=True)
class Other:
    """A runtime that can tell of itself."""

    name: str
    command: tuple[str, ...]  # "{pid}" stands for the process; (): by a signal
    source: str  # what to install


_JAVA: Final = Other("Java", ("jstack", "{pid}"), "a JDK, which has it")
_PYTHON: Final = Other(
    "Python", ("py-spy", "dump", "--pid", "{pid}"),
    "it with pip, or use --faulthandler SIGNAL if the program has registered faulthandler",
)  # fmt: skip
_GO: Final = Other("Go", (), "")


def runtime(process: Process) -> Other | None:
    """Return the other runtime that a process has, or None."""
    symbols = Symbols(process)
    for region in symbols.regions:
        name = Path(region.path).name
        if "x" not in region.access or not name:
            continue
        if name == "libjvm.so":
            return _JAVA
        if re.match(r"(lib)?python3", name):
            return _PYTHON
    program = next((one for one in symbols.regions if one.path.startswith("/")), None)
    image = symbols.image(program) if program is not None else None
    return _GO if image is not None and "runtime.mcall" in image.names else None


def advice(process: Process) -> str:
    """Return how to learn more of a process than from outside, or ""."""
    found = runtime(process)
    if found is None:
        return ""
    if found is _GO:
        return "it runs Go: --end lets it write its goroutines to its stderr, and ends it"
    return f"it runs {found.name}: --ask adds what {found.command[0]} says of its threads"


def ask(process: Process, report: Report) -> Report:
    """Return the report with what the runtime of the process says of itself.

    Raises:
        UsageError: it has none that can be asked, or only one that ends the process.
        MissingToolError: the tool that asks it is not installed.
    """
    found = runtime(process)
    if found is None or found is _GO:
        raise UsageError(f"process {process.pid} runs neither Java nor Python, so --ask has nobody "
                         "to ask" + " (for Go: --end)" * (found is _GO))  # fmt: skip
    tool = found.command[0]
    if shutil.which(tool) is None:
        raise MissingToolError(f"no {tool}: install {found.source}")
    with Children() as children:
        ended = children.run(
            [word.format(pid=process.pid) for word in found.command], timeout_s=_ASK_S
        )
    if ended.timed_out:
        return replace(report, unknown=(*report.unknown, f"{tool} got no answer in {_ASK_S:g} s"))
    its = replace(report, evidence={tool: ended.output.strip()})
    if _DEADLOCK.search(ended.output):
        return replace(its, verdict=Verdict.DEADLOCK)
    return its


def end(process: Process) -> str:
    """Let a Go program write its goroutines to its stderr, which ends it; return where that is.

    Raises:
        UsageError: it is no Go program.
    """
    if runtime(process) is not _GO:
        raise UsageError(f"process {process.pid} does not run Go; --end is for Go")
    where, _ = process.descriptor(2)
    os.kill(process.pid, signal.SIGQUIT)
    return where


def dump(process: Process, name: str) -> str:
    """Send the signal at which a Python program lets faulthandler print its stacks to stderr.

    Return what it has printed if that is a file, and else where it is.

    Raises:
        UsageError: there is no such signal, or the process does not catch it, which would end it.
    """
    number = getattr(signal, f"SIG{name.upper().removeprefix('SIG')}", None)
    if not isinstance(number, signal.Signals):
        raise UsageError(f"--faulthandler is {name!r}; allowed: a signal's name, such as SIGUSR1")
    if runtime(process) is not _PYTHON:
        raise UsageError(f"process {process.pid} does not run Python; --faulthandler is for Python")
    if not process.catches(number):
        raise UsageError(f"process {process.pid} does not catch {number.name}: faulthandler is not "
                         "registered for it, and the signal would end it")  # fmt: skip
    where, _ = process.descriptor(2)
    file = process.folder / "fd" / "2"
    if not file.is_file():
        os.kill(process.pid, number)
        return f"to {where}"
    before = size = file.stat().st_size
    os.kill(process.pid, number)
    deadline = time.monotonic() + _DUMP_S
    while time.monotonic() < deadline:
        time.sleep(0.1)
        last, size = size, file.stat().st_size
        if size == last > before:
            break
    with file.open("rb") as opened:
        opened.seek(before)
        return opened.read().decode(errors="replace").strip()


def shown(evidence: str) -> str:
    """Return what people need first of what a runtime says: the deadlock, if it names one."""
    found = _DEADLOCK.search(evidence)
    return found[0] if found else evidence
