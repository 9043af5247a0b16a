# SPDX-License-Identifier: Apache-2.0
"""Builds the programs of other schedulers, if their tools are there.  Source: ``bench/peers``."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from wakeproof import locations
from wakeproof.bench import program
from wakeproof.errors import JudgeError, MissingToolError
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import toolchain

OPERATIONS = {
    "peers_near": 50_000, "peers_far": 300, "peers_tasks": 1_000_000, "peers_wake": 65_536,
    "vthread_yield": 1_000_000, "vthread_turns": 300_000, "vthread_join": 300_000,
    "vthread_many": 1_000_000, "vthread_wake": 65_536, "vthread_memory": 250_000,
    "channel_hand": 300_000, "channel_slots": 1_000_000, "channel_far": 1_000_000,
    "mutex_free": 3_000_000, "mutex_one": 100_000, "mutex_two": 1_000_000,
    "peers_timers": 1_000_000, "shapes_hash_1": 12_800, "shapes_hash_3": 15_360,
    "shapes_answer": 100_000, "shapes_executes": 10_000, "shapes_nest_1k": 500_000,
    "shapes_nest_100k": 1_000_000,
}  # fmt: skip
"""By row: what a peer does per sample."""

GO, GO_PATH = "Go", "/usr/local/go/bin/go"  # where its own installer puts it
TOKIO = "cargo"
BOOST = "libboost-fiber-dev"
BOOST_LIBRARIES = ["-l:libboost_fiber.a", "-l:libboost_context.a"]
JDK, JDK_RELEASE, JDKS = "a JDK (21 or newer: javac)", 21, Path("/usr/lib/jvm")

Command = list[str]


def build(children: Children, sides: Iterable[str]) -> tuple[dict[str, Command], dict[str, str]]:
    """Return the command of each side, and the reason for each side that is missing.

    Sides that are no other schedulers are left out.
    """
    built: dict[str, Command] = {}
    missing: dict[str, str] = {}
    for side, make in _MAKERS.items():
        if side in sides:
            try:
                built[side] = make(children)
            except (MissingToolError, JudgeError) as error:
                missing[side] = f"not run: {error}"
    return built, missing


def _go(children: Children) -> Command:
    return go_program(children, sorted(_here().glob("*.go")))


def go_program(children: Children, sources: list[Path]) -> Command:
    """Return the command that runs the Go program of these files.

    Raises:
        MissingToolError: there is no Go, or it cannot build the files.
    """
    go = shutil.which("go") or shutil.which(GO_PATH)
    if go is None:
        raise MissingToolError(f"install {GO}")
    target = _made() / f"go-{program.digest([go], sources)}"
    _make(children, target, [go, "build", "-o", str(target), *map(str, sources)])
    return [str(target)]


def _tokio(children: Children) -> Command:
    cargo = shutil.which("cargo")
    if cargo is None:
        raise MissingToolError(f"install {TOKIO}")
    crate = _here() / "tokio"
    files = [crate / "Cargo.toml", crate / "Cargo.lock", *(crate / "src").glob("*.rs")]
    folder = _made() / f"tokio-{program.digest([cargo], files)}"
    _make(children, folder / "release" / "peers",
          [cargo, "build", "--release", "--locked", "--quiet", "--manifest-path", str(files[0]),
           "--target-dir", str(folder)])  # fmt: skip
    return [str(folder / "release" / "peers")]


def _boost(children: Children) -> Command:
    cxx = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    if shutil.which(cxx[0]) is None:
        raise MissingToolError(f"install g++ and {BOOST}")
    source = _here() / "fibers.cpp"
    target = _made() / f"fibers-{program.digest(cxx, [source])}"
    _make(children, target, [*cxx, "-std=c++17", "-O2", str(source), "-o", str(target),
                             *BOOST_LIBRARIES, "-pthread"], f"install {BOOST}")  # fmt: skip
    return [str(target)]


def _jdk(children: Children) -> Command:
    return jdk_program(children, _here() / "Peers.java")


def jdk_program(children: Children, source: Path) -> Command:
    """Return the command that runs the class of `source`, with the Java that runs TLC.

    Any javac that is new enough compiles the class.

    Raises:
        MissingToolError: there is no such javac.
    """
    java = toolchain.find().java
    folder = _made() / f"jdk-{program.digest([], [source])}"
    target = folder / f"{source.stem}.class"
    if not target.exists():
        for javac in _javacs():
            command = [javac, "--release", str(JDK_RELEASE), "-d", str(folder), str(source)]
            if children.run(command, timeout_s=program.COMPILE_TIMEOUT_S).code == 0:
                break
    if not target.exists():
        raise MissingToolError(f"install {JDK}")
    return [str(java), "-cp", str(folder), source.stem]


def _javacs() -> list[str]:
    named = Path(os.environ.get("JAVA_HOME", "")) / "bin" / "javac"
    found = [shutil.which(named), shutil.which("javac"),
             *map(str, sorted(JDKS.glob("*/bin/javac"), reverse=True))]  # fmt: skip
    return [javac for javac in found if javac is not None]


_MAKERS: dict[str, Callable[[Children], Command]] = {
    "boost": _boost, "go": _go, "jdk": _jdk, "tokio": _tokio,
}  # fmt: skip


def _here() -> Path:
    return program.folder() / "peers"


def _made() -> Path:
    return locations.cache() / "bench"


def _make(children: Children, target: Path, command: Command, why: str = "") -> None:
    if target.exists():
        return
    ended = children.run(command, timeout_s=program.COMPILE_TIMEOUT_S)
    if ended.code != 0 or not target.exists():
        raise MissingToolError(why or f"{Path(command[0]).name} cannot build bench/peers")
