# SPDX-License-Identifier: Apache-2.0
"""The servers: wakeproof's in four modes, and others if their tools are there; load, backend."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from wakeproof import locations
from wakeproof.bench import peers, program
from wakeproof.bench.web.placement import FLOATING
from wakeproof.errors import MissingToolError
from wakeproof.judge.builds import compiler
from wakeproof.judge.process import Children

UNIFIED, SPLIT, REACTIVE, STRATEGY = OURS = ("unified", "split", "reactive", "strategy")
GROUPS = (UNIFIED, SPLIT)  # their carriers have queues, and may steal
HOW = {STRATEGY: ("--strategy", "adaptive", "--kind", "either")}
"""The options of modes that need some. The handlers are of the kind that may block or not."""
GO, UVLOOP, JDK = PEERS = ("Go", "uvloop", "JDK")
UVLOOP_NEEDS = ("uvloop==0.23.0", "httptools==0.9.0")
HISTOGRAM_NEEDS = "hdrhistogram==0.10.8"
WARMUP_S = {JDK: 4.0}  # at least, because the JDK compiles code after it has run often enough

Command = list[str]


@dataclass(frozen=True)
class Setup:
    """The server of one row."""

    side: str
    stealing: bool = False
    pin: str = FLOATING
    carriers: int = 1

    @property
    def name(self) -> str:
        """Return the name by which `-t` selects the row: ``unified on each 2``."""
        return f"{self.side} {'on' if self.stealing else 'off'} {self.pin} {self.carriers}"

    @property
    def is_ours(self) -> bool:
        """Return whether the server is one of wakeproof, which has counters of its own."""
        return self.side in OURS

    @property
    def has_queues(self) -> bool:
        """Return whether the lengths of the server's queues can be read."""
        return self.side in GROUPS


@dataclass(frozen=True)
class Programs:
    """The built programs: by side the command without options; by missing side the reason."""

    load: Path
    backend: Path
    servers: dict[str, Command]
    missing: dict[str, str] = field(default_factory=dict)


def build(children: Children) -> Programs:
    """Return the programs, built now unless they were built before.

    Raises:
        MissingToolError: no C compiler, or the examples have not been made.
        JudgeError: the load generator does not compile.
    """
    examples = locations.cache() / "examples"
    ours, backend = examples / "echo_server", examples / "backend"
    for needed in (ours, backend):
        if not needed.is_file():
            raise MissingToolError(f"no {needed}: run `make examples`, or `make bench-http`")
    servers = modes(ours)
    missing = {}
    for side, make in ((GO, _go), (UVLOOP, _uvloop), (JDK, _jdk)):
        try:
            servers[side] = make(children)
        except MissingToolError as error:
            missing[side] = f"not run: {error}"
    return Programs(load(children), backend, servers, missing)


def modes(echo_server: Path) -> dict[str, Command]:
    """Return the command of wakeproof's server in each mode, without options."""
    return {
        mode: [str(echo_server), "--mode", mode, *HOW.get(mode, ()), "--stats"] for mode in OURS
    }


def load(children: Children) -> Path:
    """Return the load generator.

    Raises:
        MissingToolError: no C compiler, or no sources.
        JudgeError: it does not compile.
    """
    cc = [*compiler(), "-std=c11", "-O2", "-Wall", "-Wextra", "-pthread"]
    files = sorted(_here().glob("*.c"))
    made = (
        locations.cache() / "bench" / f"load-{program.digest(cc, sorted(_here().glob('*.[ch]')))}"
    )
    program.make(children, made, [*cc, *map(str, files)])
    return made


def command(programs: Programs, setup: Setup, backend: str, carriers: int) -> Command:
    """Return the command that starts the server with this backend."""
    common = [*programs.servers[setup.side], "--port", "0", "--backend", backend]
    if not setup.is_ours:
        return common
    stealing = ["--stealing", "on" if setup.stealing else "off"] if setup.side in GROUPS else []
    return [*common, "--carriers", str(carriers), *stealing, "--pin", setup.pin]


def can_sort() -> bool:
    """Return whether latencies can be computed, because HdrHistogram is installed."""
    return find_spec("hdrh") is not None


def _here() -> Path:
    return program.folder() / "http"


def _go(children: Children) -> Command:
    return peers.go_program(children, [_here() / "proxy.go"])


def _uvloop(_children: Children) -> Command:
    if not (find_spec("uvloop") and find_spec("httptools")):
        raise MissingToolError(f"{sys.executable} -m pip install {' '.join(UVLOOP_NEEDS)}")
    return [sys.executable, str(_here() / "proxy.py")]


def _jdk(children: Children) -> Command:
    return peers.jdk_program(children, _here() / "Proxy.java")
