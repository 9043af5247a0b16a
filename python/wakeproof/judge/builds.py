# SPDX-License-Identifier: Apache-2.0
"""Compiles one scenario file with an engine and the kernel, once per set of sources.

The name of a built file is a hash of the compiler, the flags and every source of the file.  So no
stale program is ever run, and builds, twins and scenario files share unchanged objects.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from wakeproof import locations
from wakeproof._native import build as _build
from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge.explore import assembly as explored_assembly
from wakeproof.judge.explore import explored
from wakeproof.judge.process import Children
from wakeproof.judge.source_texts import Sources, digest, twins_in, uses_twin
from wakeproof.judge.twins import edits as twins

# All actors have the same parameters, and so have all callbacks; some do not use them.
WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-parameter")
COMPILE_TIMEOUT_S = 300.0
JOBS = 2  # compilers at once
KEPT_S = 86400.0  # a file that was not used for a day is built from sources that have changed


@dataclass(frozen=True)
class Build:
    """One compilation: optimisation, delayed or plain, a twin's name, a sanitizer's name.

    Its kind is ``stress`` (real cores), ``recorded`` (real cores, every access an event),
    ``explored`` (scenario and kernel under the explorer) or ``explorer`` (the explorer itself).
    """

    opt: str = "O2"
    delayed: bool = False
    twin: str | None = None
    sanitizer: str | None = None
    kind: str = "stress"

    @property
    def name(self) -> str:
        """Return the build's name in tables: ``O2``, ``O2 delayed``."""
        return f"{self.opt} delayed" if self.delayed else self.opt

    @property
    def judge(self) -> str:
        """Return the judge to which its samples belong: ``stress`` or ``delayed``."""
        return "delayed" if self.delayed else "stress"


Program = tuple[Path, Build]
"""A scenario file and its build."""


def compiler() -> list[str]:
    """Return the compiler, $CC or else cc, as a command.

    Raises:
        MissingToolError: there is no compiler.
    """
    command = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if shutil.which(command[0]) is None:
        raise MissingToolError(
            f"no C compiler {command[0]}: install one (Debian: apt install gcc), or set CC"
        )
    return command


class Builder:
    """Builds programs; safe to use from several threads."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._pool = ThreadPoolExecutor(JOBS)
        self._compiler = compiler()
        self._version = children.output([*self._compiler, "--version"], timeout_s=60)
        self._sources = Sources(locations.sources())
        self._checked: set[str] = set()  # objects of scenarios
        self._warned: dict[str, str] = {}  # by the text of a warning without its build
        self._folder = locations.cache() / "stress"
        prune(self._folder)
        self._guard = threading.Lock()
        self._locks: dict[Path, threading.Lock] = {}
        self._texts: dict[Path, tuple[dict[str, str], frozenset[str]]] = {}  # and twins in them
        self._identities: dict[Program, str] = {}  # of objects
        self._kernels: dict[Path, list[Path]] = {}  # by scenario
        self._changed: dict[str, dict[Path, str]] = {}  # by twin
        self.twins = twins.of_code(locations.sources())

    @property
    def compiler_name(self) -> str:
        """Return the first line of the compiler's version."""
        return self._version.splitlines()[0] if self._version else self._compiler[0]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the compiler's warnings about scenario files, each text once.

        An object is kept with its warnings, so a later job, which compiles nothing, has them too.
        """
        with self._guard:
            return tuple(self._warned.values())

    def program(self, scenario: Path, build: Build) -> Path:
        """Return the program of `scenario`, compiled now if it does not exist.

        Raises:
            UsageError: it does not compile, or nothing in it depends on the build's twin.
        """
        if build.kind == "explored":
            return self.explorer(scenario, build.twin)
        jobs = self._jobs(scenario, build)
        return self._program(scenario, jobs, build, [*_sanitizer_flags(build), "-pthread"])

    def identity(self, scenario: Path, build: Build) -> str:
        """Return a hash of all sources and flags of `program`, and compile nothing.

        The hash depends on no path, so another checkout of the same sources has the same hash.
        """
        if scenario not in self._kernels:
            self._kernels[scenario] = self._sources.kernel_of(scenario)
        jobs = self._jobs(scenario, build, self._kernels[scenario])
        objects = (self._identity(*job) for job in jobs)
        return digest(self._version, platform.machine(), str(build), *objects)

    def _jobs(
        self, scenario: Path, build: Build, kernel: list[Path] | None = None
    ) -> list[Program]:
        """Return each source of a program with its build, the scenario last."""
        sources, engine = self._sources, Build(sanitizer=build.sanitizer)
        kernel = sources.kernel_of(scenario) if kernel is None else kernel
        if build.kind == "explored":
            jobs = [(path, Build(kind="explorer")) for path in sources.explorer()]
            jobs += [(path, build) for path in kernel if sources.is_explored(path)]
        else:
            runner, shared = sources.harness / "engine", list[Path]()
            if build.kind == "recorded":
                shared = [runner / "registry.c", runner / "json.c"]
                runner = sources.harness / "recorder"
            jobs = [(path, engine) for path in [*sorted(runner.glob("*.c")), *shared]]
            jobs += [(path, engine if sources.is_unexplored(path) else build) for path in kernel]
        return [*jobs, (scenario, build)]

    def _identity(self, source: Path, build: Build) -> str:
        """Return a hash of an object's sources and flags; each file is read once."""
        if source not in self._texts:
            texts = self._sources.closure(source)
            self._texts[source] = texts, frozenset().union(*map(twins_in, texts.values()))
        texts, used = self._texts[source]
        edited = self._edited(build.twin, texts)
        texts = texts | edited
        own = build if edited or build.twin in used else replace(build, twin=None)
        if (source, own) not in self._identities:
            root = f"{locations.sources()}/"
            words = [*self._compiler, *self._flags(source, own, texts), f"-c{source}"]
            placeless = (word.replace(root, "") for word in words if word != "-Werror")
            contents = (text.replace(root, "") for _, text in sorted(texts.items()))
            self._identities[source, own] = digest(*placeless, *contents)
        return self._identities[source, own]

    def explorer(self, scenario: Path | None = None, twin: str | None = None) -> Path:
        """Return the explorer, linked with `scenario` and the kernel; None: for programs as text.

        Raises:
            UsageError: it does not compile, or nothing in it depends on `twin`.
        """
        build = Build(twin=twin, kind="explored")
        if scenario is not None:
            return self._program(scenario, self._jobs(scenario, build), build, explored.LINKED)
        own = [path for path in self._sources.explorer() if not path.stem.startswith("compiled")]
        jobs = [(path, Build(kind="explorer")) for path in own]
        return self._program(own[0].with_name("explorer"), jobs, build, explored.LINKED)

    def explorer_sources(self, scenario: Path | None) -> str:
        """Return a hash of every text that is compiled into `explorer(scenario)`, by file name."""
        files = self._sources.explorer()
        if scenario is not None:
            files += [*sorted(self._sources.kernel.rglob("*.c")), scenario]
        texts: dict[str, str] = {}
        for file in files:
            texts |= self._sources.closure(file.resolve())
        return digest(*sorted(f"{Path(name).name}\0{text}" for name, text in texts.items()))

    def _program(
        self, named: Path, jobs: list[tuple[Path, Build]], build: Build, link_flags: list[str]
    ) -> Path:
        """Compile `jobs` and link them to a program with the name of `named`."""
        commands = [self._compile_command(source, which) for source, which in jobs]
        marks = [_twin_flag(build.twin or ""), f"-I{self._folder / 'overlays'}/"]
        flags = [flag for command, _ in commands for flag in command]
        if build.twin and not any(flag.startswith(mark) for mark in marks for flag in flags):
            raise UsageError(
                f"{named}: twin {build.twin} changes nothing: no wp_twin({build.twin}) is in "
                "this file, and no edit of stress/twins/ is of a file that it needs"
            )
        made = [
            self._pool.submit(self._make, source, *command, hooks=which.kind == "explored")
            for (source, which), command in zip(jobs, commands, strict=True)
        ]
        objects = [str(future.result()) for future in made]
        self._take_warnings(Path(objects[-1]), jobs[-1][0])
        if build.kind == "explored" and jobs[-1][0] == named and objects[-1] not in self._checked:
            explored.check(named, objects[-1], self._children)
            self._checked.add(objects[-1])
        uring = _build.URING_LINKED if self._has_uring(build) else ()
        link = [*self._compiler, *link_flags, *objects, *uring, "-lm"]
        target = self._folder / f"{named.stem}-{digest(self._version, *link)}"
        return self._pool.submit(self._make, named, link, target).result()

    def _take_warnings(self, compiled: Path, source: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            text = _warnings_of(compiled).read_text(encoding="utf-8")
            said = "\n".join(line for line in text.splitlines() if "warning:" in line) or text
            with self._guard:
                self._warned.setdefault(said, f"{source} compiles with warnings:\n{text}")

    def _has_uring(self, build: Build) -> bool:
        return not build.kind.startswith("explore") and _build.has_uring(*self._compiler)

    def _compile_command(self, source: Path, build: Build) -> tuple[list[str], Path]:
        """Return the command that compiles `source`, and the object it makes."""
        texts, compiled, first = self._sources.closure(source), source, []
        if edited := self._edited(build.twin, texts):
            root = locations.sources()
            folder = twins.overlay(edited, root, self._folder / "overlays")
            texts, first = texts | edited, [f"-I{folder}"]
            if str(source) in edited:
                compiled = folder / twins.place(source, root)
        flags = self._flags(source, build, texts)
        if edited:  # a defect may leave a variable or a function unused
            flags = [flag for flag in flags if flag != "-Werror"]
        command = [*self._compiler, *first, *flags, "-c", str(compiled)]
        key = digest(self._version, *command, *(text for _, text in sorted(texts.items())))
        return command, self._folder / "objects" / f"{source.stem}-{key}.o"

    def _edited(self, twin: str | None, texts: dict[str, str]) -> dict[str, str]:
        """Return the twin's texts in place of those that it changes among `texts`."""
        found = self.twins.get(twin or "")
        if found and found.name not in self._changed:
            self._changed[found.name] = twins.edited(found, locations.sources())
        return twins.needed(self._changed[found.name] if found else {}, texts)

    def _flags(self, source: Path, build: Build, texts: dict[str, str]) -> list[str]:
        is_explored, dirs = build.kind == "explored", self._sources.folders
        kind = explored.flags(source, self._version) if is_explored else _kind_flags(build)
        kind += explored.names(source) if build.kind in ("recorded", "explorer") else []
        flags = ["-std=c11", "-pthread", *WARNINGS, *kind, *(f"-I{d}" for d in dirs)]
        if os.environ.get("WAKEPROOF_CI") == "1":
            flags.append("-Werror")
        if source.stem == "driver_uring" and self._has_uring(build):
            flags += _build.URING_COMPILED
        if build.twin and any(uses_twin(text, build.twin) for text in texts.values()):
            flags.append(_twin_flag(build.twin))
        if is_explored and explored_assembly.is_used(texts):
            flags += [explored_assembly.NO_RED_ZONE] * (platform.machine() == "x86_64")
            flags.append(explored_assembly.MARK)
        return flags

    def _make(self, source: Path, command: list[str], target: Path, *, hooks: bool = False) -> Path:
        """Run `command` so that `target` appears whole, unless it is there already.

        `hooks`: the target is an object, and the explorer must see its copies of memory.
        """
        with self._guard:
            lock = self._locks.setdefault(target, threading.Lock())
        with lock:
            if target.exists():
                os.utime(target)
                with contextlib.suppress(FileNotFoundError):
                    os.utime(_warnings_of(target))
                return target
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f".{target.name}.{os.getpid()}.part")
            try:
                said = self._compile(source, command, part)
                if hooks:
                    explored.hook_copies(part, self._children)
                if said:
                    locations.write_atomically(_warnings_of(target), said + "\n")
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)
        return target

    def _compile(self, source: Path, command: list[str], part: Path) -> str:
        """Compile or link; return the output of the compiler."""
        if explored_assembly.MARK in command:
            return explored_assembly.compile_modelled(source, command, part, self._children)
        ended = self._children.run([*command, "-o", str(part)], timeout_s=COMPILE_TIMEOUT_S)
        if ended.code != 0 or ended.timed_out:
            raise UsageError(f"{source} does not compile:\n{ended.output.strip()}")
        return ended.output.strip()


def prune(folder: Path) -> None:
    """Remove files that were not used for `KEPT_S` seconds from a folder of built files."""
    oldest = time.time() - KEPT_S
    for file in folder.glob("**/*"):
        with contextlib.suppress(FileNotFoundError):  # another job prunes too
            if file.is_file() and file.stat().st_mtime < oldest:
                file.unlink()


def _warnings_of(compiled: Path) -> Path:
    return compiled.with_name(f"{compiled.name}.warnings")


def _twin_flag(twin: str) -> str:
    return f"-DWP_TWIN_{twin}=1"


def _kind_flags(build: Build) -> list[str]:
    if build.kind == "explorer":
        return ["-O2", "-fno-pie", "-D_GNU_SOURCE="]
    judge = f"harness/{'recorder' if build.kind == 'recorded' else 'engine'}"
    own = [explored.instrument(judge), *(["-DWP_STRESS_DELAYED"] if build.delayed else [])]
    return [f"-{build.opt}", "-g1", "-DWP_STRESS", *_sanitizer_flags(build), *own]


def _sanitizer_flags(build: Build) -> list[str]:
    if not build.sanitizer:
        return []
    return [f"-fsanitize={build.sanitizer}", "-fno-sanitize-recover=all", "-g"]
