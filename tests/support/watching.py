# SPDX-License-Identifier: Apache-2.0
"""Programs that hang, or only seem to, and `wakeproof watch` on them."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wakeproof import locations
from wakeproof.judge.watch import recorded
from wakeproof.judge.watch.process import GoneError, Process
from wakeproof.judge.watch.verdicts import QUIET_S, Report, Verdict, watch

CORPUS = Path(__file__).parents[1] / "judge" / "watch" / "corpus"
ROOT = Path(__file__).parents[2]
COMPILERS = {
    ".c": ("cc", "-g", "-O1", "-pthread"),
    ".cpp": ("c++", "-std=c++20", "-g", "-O1", "-pthread"),
    ".rs": ("rustc", "--edition", "2021", "-g", "-O"),
    ".go": ("go", "build"),
    ".java": ("javac",),
    ".py": (),
}
REST_S = 5.0
"""How long a program may take until all its threads sleep."""


@dataclass(frozen=True)
class Case:
    """A program of the corpus, as its first comment describes it."""

    file: Path
    title: str
    kind: str  # the class of the hang; "healthy"
    verdict: str  # "": it is healthy, so neither a deadlock nor a missed wakeup
    fixed: str  # of the twin with FIXED; "": there is none
    crate: str  # what a program in Rust needs; "": nothing

    @property
    def name(self) -> str:
        return self.file.stem

    @property
    def tool(self) -> str:
        """The compiler, or "" if none is needed."""
        if self.crate:
            return "cargo"
        return COMPILERS[self.file.suffix][0] if COMPILERS[self.file.suffix] else ""


def cases() -> list[Case]:
    """Read the facts of each program."""
    found = []
    for file in sorted(CORPUS.iterdir()):
        if file.suffix not in COMPILERS:
            continue
        text = file.read_text("utf-8")
        title = re.search(rf"{re.escape(file.name)} - (.+?)\.\n", text)
        assert title, f"{file}: its first comment has no title"
        facts = dict(re.findall(r"^\W*(Class|Verdict|Fixed) +([a-z -]+?)(?: \*/)?$", text, re.M))
        crate = re.search(r"^// Crate +(.+)$", text, re.M)
        found.append(Case(file, title[1], facts["Class"], facts.get("Verdict", ""),
                          facts.get("Fixed", ""), crate[1] if crate else ""))  # fmt: skip
    return found


def built(case: Case, folder: Path, *, is_fixed: bool) -> list[str]:
    """Compile a program; return the command that runs it."""
    name = f"{case.name}-fixed" if is_fixed else case.name
    target, suffix = folder / name, case.file.suffix
    compiler = list(COMPILERS[suffix])
    if suffix == ".py":
        return [sys.executable, str(case.file), *["fixed"] * is_fixed]
    if suffix in (".c", ".cpp"):
        flags = ["-DFIXED"] * is_fixed
        command = [*compiler, *flags, str(case.file), "-o", str(target)]
    elif case.crate:
        command = _of_cargo(case, folder, target)
    elif suffix == ".rs":
        command = [*compiler, *["--cfg", "fixed"] * is_fixed, str(case.file), "-o", str(target)]
    elif suffix == ".go":
        command = [*compiler, "-o", str(target), str(case.file)]
    else:
        target.mkdir()
        command = [*compiler, "-d", str(target), str(case.file)]
    subprocess.run(command, check=True, capture_output=True, timeout=120, cwd=folder)
    run = ["java", "-cp", str(target), case.name] if suffix == ".java" else [str(target)]
    return [*run, *["fixed"] * (is_fixed and suffix in (".go", ".java"))]


def _of_cargo(case: Case, folder: Path, target: Path) -> list[str]:
    """Return the command that builds a program in Rust with a crate, which cargo fetches."""
    package = folder / f"{case.name}-package"
    package.mkdir(exist_ok=True)
    (package / "Cargo.toml").write_text(
        f'[package]\nname = "{case.name}"\nversion = "0.0.0"\nedition = "2021"\n\n'
        f'[[bin]]\nname = "{case.name}"\npath = "{case.file}"\n\n[dependencies]\n{case.crate}\n'
    )
    build = package / "target/release" / case.name
    return ["sh", "-c", f"cargo build -q --release --manifest-path {package}/Cargo.toml "
            f"--target-dir {package}/target && cp {build} {target}"]  # fmt: skip


@contextlib.contextmanager
def running(
    command: Sequence[str], folder: Path | None = None, *, is_recorded: bool = False
) -> Iterator[int]:
    """Run a program; kill it and its children at the end.  Yields its process number."""
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, cwd=folder,
        env=environment(is_recorded=is_recorded),
    )  # fmt: skip
    try:
        yield child.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def environment(*, is_recorded: bool) -> dict[str, str] | None:
    """Return the environment of a program; with the recorder, or as that of this process."""
    return recorded.environment() if is_recorded else None


def begun(pid: int, program: str) -> None:
    """Wait until a process has become a program."""
    deadline = time.monotonic() + 2 * REST_S
    while Path(f"/proc/{pid}/exe").readlink() != Path(program):
        assert time.monotonic() < deadline, f"{pid} did not become {program}"
        time.sleep(0.05)


def come_to_sleep(pid: int) -> None:
    """Wait until a program sleeps by time, which no begin of one does."""
    deadline = time.monotonic() + 2 * REST_S
    while "nanosleep" not in Path(f"/proc/{pid}/wchan").read_text():
        assert time.monotonic() < deadline, f"{pid} does not sleep"
        time.sleep(0.05)


def come_to_rest(process: Process, at_least: int = 1) -> None:
    """Wait until no thread of a process, which has so many, has gone on for a moment."""
    deadline = time.monotonic() + REST_S
    while time.monotonic() < deadline:
        before = {one.tid: process.cpu(one.tid) for one in process.threads()}
        time.sleep(0.3)
        after = {one.tid: process.cpu(one.tid) for one in process.threads()}
        if before == after and len(after) >= at_least:
            return


def looked(pid: int, seconds: float = 1.8, every_s: float = QUIET_S) -> Report:
    """Watch a process once it has come to rest."""
    with Process(pid) as process:
        come_to_rest(process)
        return watch(process, seconds, every_s)


@functools.cache
def folder() -> Path:
    """Return a folder for programs, which is removed at the end."""
    made = tempfile.mkdtemp(prefix="wakeproof-watch-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def judged(
    case: Case, *, is_fixed: bool = False, seconds: float = 1.8, is_recorded: bool = False
) -> Report:
    """Build, run and watch a program of the corpus."""
    with running(built(case, folder(), is_fixed=is_fixed), is_recorded=is_recorded) as pid:
        return looked(pid, seconds)


__all__ = ["GoneError", "Verdict", "cases", "judged", "locations"]
