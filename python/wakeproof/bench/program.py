# SPDX-License-Identifier: Apache-2.0
"""Builds the bench program, once per set of sources.  Source: ``bench/bench.h``."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from wakeproof import locations
from wakeproof._native import build as _build
from wakeproof.errors import JudgeError, MissingToolError
from wakeproof.judge.builds import compiler
from wakeproof.judge.process import Children
from wakeproof.judge.twins import edits as twins

COMPILE_TIMEOUT_S = 300.0
PEER_HEADER = "concurrentqueue/concurrentqueue.h"
PEER_PACKAGE = "libconcurrentqueue-dev"
BOOST_LIBRARY, BOOST_PACKAGE = "-l:libboost_context.a", "libboost-context-dev"
SCENARIO = "store_buffering.c"  # belongs to the stress engine's program
EXPLORED = "explored.c"  # belongs to the explorer's
RULES = Path("tools/library/rules.mk")  # of the library
TWINS = {"push_pop_unlocked.c": "mpsc_split_reserve", "sim_shipped.c": "search_shipped"}
"""Files that measure a defect of the kernel, which they include."""

# Functions at multiples of 256: the address of a loop, which depends on the link order, decides
# which slot of the processor's prefetcher its loads share.  That slowed one side by a third.
ALIGNED = "-falign-functions=256"
FLAGS = ["-O2", ALIGNED, "-pthread", _build.PROBED]
LINK = ["-pthread", "-Wl,--wrap=syscall", "-Wl,--wrap=sched_yield"]  # bench/calls.c counts


@dataclass(frozen=True)
class Program:
    """The program, and why the C++ peer and Boost.Context are not in it (empty: they are)."""

    path: Path
    no_peer: str
    no_boost: str

    @property
    def missing(self) -> dict[str, str]:
        """Return the sides that are not in the program, each with the reason."""
        sides = {"moodycamel": self.no_peer, "fcontext": self.no_boost}
        return {side: why for side, why in sides.items() if why}


def folder() -> Path:
    """Return the bench's sources.

    Raises:
        MissingToolError: there are none, as in an installed wheel.
    """
    found = locations.sources() / "bench"
    if not (found / "main.c").is_file():
        raise MissingToolError("the bench is not in the wheel: run `make bench` in a checkout")
    return found


def build(children: Children) -> Program:
    """Return the program, compiled now unless the same sources have been compiled before.

    Raises:
        MissingToolError: no C compiler, or no sources.
        JudgeError: the program does not compile.
    """
    here, kernel = folder(), locations.sources() / "kernel"
    cxx = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    no_peer = _why_no_peer(children, cxx)
    no_boost = _why_no_boost(children)
    link = LINK if no_boost else [*LINK, "-DBENCH_FCONTEXT", BOOST_LIBRARY]
    uring = _build.has_uring(*compiler())
    link = [*link, *_build.URING_LINKED] if uring else link
    flags = [*FLAGS, *(_build.URING_COMPILED if uring else ()), f"-I{kernel}", f"-I{here}"]
    cc = [*compiler(), "-std=c11", "-Wall", "-Wextra", *flags]
    files = [path for path in sorted(here.glob("*.c")) if path.name not in (SCENARIO, EXPLORED)]
    version = children.run([cc[0], "--version"], timeout_s=60).output
    overlays = {name: twins.overlay_of(twin) for name, twin in TWINS.items()}
    key = digest(
        [version, no_peer, no_boost, *cc, *cxx, *map(str, overlays.values())],
        [*here.glob("*.[ch]*"), *kernel.rglob("*.[chS]"), locations.sources() / RULES],
    )
    made = locations.cache() / "bench" / f"program-{key}"
    if made.exists():
        return Program(made, no_peer, no_boost)
    for name, overlay in overlays.items():
        target = made.with_name(f"{made.name}-{name}.o")
        command = [*compiler(), f"-I{overlay}", *cc[len(compiler()) :], "-c", str(here / name)]
        make(children, target, command)
        files = [target if path.name == name else path for path in files]
    library = made.with_name(f"{made.name}-lib")
    files.append(_library(children, library, locations.sources()))
    if no_peer:
        make(children, made, [*cc, *map(str, files), *link])
        return Program(made, no_peer, no_boost)
    peer = made.with_suffix(".o")
    make(children, peer, [*cxx, "-std=c++17", *flags, "-c", str(here / "flow_moodycamel.cpp")])
    # Link the C++ library, but do not use the C++ driver: it would compile C files as C++.
    make(children, made, [*cc, "-DBENCH_MOODYCAMEL", *map(str, files), str(peer), *link,
                           "-lstdc++", "-lm"])  # fmt: skip
    return Program(made, no_peer, no_boost)


def build_lean(children: Children, sources: Path) -> Path:
    """Return the program of any tree, without the sides of others, and without a defect.

    Raises:
        MissingToolError: no C compiler, or no make.
        JudgeError: the tree does not compile.
    """
    here, kernel = sources / "bench", sources / "kernel"
    uring = _build.has_uring(*compiler())
    command = [*compiler(), "-std=c11", *FLAGS, *(_build.URING_COMPILED if uring else ())]
    version = children.run([*compiler(), "--version"], timeout_s=60).output
    built_from = [*here.glob("*.[ch]"), *kernel.rglob("*.[chS]"), sources / RULES]
    made = locations.cache() / "bench" / f"lean-{digest([version, *command], built_from)}"
    if not made.exists():
        files = [path for path in sorted(here.glob("*.c"))
                 if path.name not in (SCENARIO, EXPLORED)]  # fmt: skip
        files.append(_library(children, made.with_name(f"{made.name}-lib"), sources))
        link = [*LINK, *(_build.URING_LINKED if uring else ()), "-lm"]
        make(children, made, [*command, f"-I{kernel}", f"-I{here}", *map(str, files), *link])
    return made


def _library(children: Children, target: Path, sources: Path) -> Path:
    """Return the kernel as `make lib` builds it for a user's program, but aligned as our files are.

    Raises:
        MissingToolError: no make.
        JudgeError: the library does not compile.
    """
    library = target / "libwakeproof.a"
    if shutil.which("make") is None:
        raise MissingToolError("the bench needs make, which builds the library")
    ended = children.run(
        ["make", "-s", "-C", str(sources), str(library), f"LIB_OUT={target}",
         f"CC={shlex.join(compiler())}", f"CFLAGS={ALIGNED}"], timeout_s=COMPILE_TIMEOUT_S,
    )  # fmt: skip
    if ended.code != 0 or ended.timed_out:
        raise JudgeError(f"the library does not compile:\n{ended.output.strip()}")
    return library


def _why_no_peer(children: Children, cxx: list[str]) -> str:
    if shutil.which(cxx[0]) is None:
        return f"not run: install g++ and {PEER_PACKAGE}"
    test = f"printf '#include <{PEER_HEADER}>\\n' | {shlex.join(cxx)} -std=c++17 -E -x c++ -"
    found = children.run(["sh", "-c", f"{test} >/dev/null"], timeout_s=COMPILE_TIMEOUT_S)
    return "" if found.code == 0 else f"not run: install {PEER_PACKAGE}"


def _why_no_boost(children: Children) -> str:
    program = "void jump_fcontext(void); int main(void) { jump_fcontext(); }"
    link = shlex.join([*compiler(), "-x", "c", "-", BOOST_LIBRARY, "-o", os.devnull])
    command = ["sh", "-c", f"printf '{program}' | {link}"]
    found = children.run(command, timeout_s=COMPILE_TIMEOUT_S)
    return "" if found.code == 0 else f"not run: install {BOOST_PACKAGE}"


def digest(words: list[str], files: list[Path]) -> str:
    """Return a name for the program of these words and files."""
    digest = hashlib.sha256()
    for word in words:
        digest.update(word.encode() + b"\0")
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:20]


def make(children: Children, target: Path, command: list[str]) -> None:
    """Run `command` so that `target` appears complete, unless it is there already.

    Raises:
        JudgeError: `target` does not compile.
    """
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{os.getpid()}-{target.name}")  # keeps the suffix: cc looks at it
    try:
        ended = children.run([*command, "-o", str(part)], timeout_s=COMPILE_TIMEOUT_S)
        if ended.code != 0 or ended.timed_out:
            raise JudgeError(f"the bench does not compile:\n{ended.output.strip()}")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
