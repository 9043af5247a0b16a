# SPDX-License-Identifier: Apache-2.0
"""Compiles the files that include a defect; all other objects are shared with other builds."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from wakeproof import locations
from wakeproof._native import build as _build
from wakeproof.errors import UsageError
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.process import Children
from wakeproof.judge.source_texts import Sources, digest

COMPILE_S = 300.0
NATIVE = ("-std=c11", "-O1", "-g1", "-pthread", "-w", _build.PROBED)
BUILDS = {
    "plain": (),
    "address": ("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "thread": ("-fsanitize=thread",),
}
"""As tests/support/compiling.py has them."""
SHARED = ("-fPIC", f"-I{_build.PACKAGE}")
PRODUCT = ("-std=c11", "-O1", "-g0", "-pthread", "-w", _build.PROBED)


class Overlay:
    """A copy of ``kernel/`` by links, in which one file has a defect; removed after the block."""

    def __init__(self, folder: Path, kernel: Path, file: str, text: str) -> None:
        self._folder, self.original = folder, kernel
        self.file, self.text = kernel / file, text

    def __enter__(self) -> Overlay:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(dir=self._folder))
        self.kernel = self.folder / "kernel"
        for path in (p for p in self.original.rglob("*") if p.is_file()):
            link = self.kernel / path.relative_to(self.original)
            link.parent.mkdir(parents=True, exist_ok=True)
            if path == self.file:
                link.write_text(self.text, encoding="utf-8")
            else:
                link.symlink_to(path)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def has(self, texts: dict[str, str]) -> bool:
        """Return whether the defect is in one of the files in `texts`."""
        return str(self.file) in texts

    def moved(self, arguments: Sequence[str]) -> list[str]:
        """Return a command's arguments with the copy in place of the kernel."""
        return [argument.replace(str(self.original), str(self.kernel)) for argument in arguments]


class _Every(set[str]):
    """A set that contains every text: with counters, scenarios call functions without a model."""

    def __contains__(self, _: object) -> bool:
        return True


class ExplorerBuilder(Builder):
    """Builds the explorer with a scenario: as it is, with a defect, or counting lines.

    It belongs to one thread, and builds with one defect at a time (`lay`).
    """

    def __init__(self, children: Children, folder: Path, *, counting: bool = False) -> None:
        super().__init__(children)
        self._shared = self._folder = folder
        self._counting = counting
        if counting:
            self._checked = _Every()
        self._overlay: Overlay | None = None

    def lay(self, overlay: Overlay | None) -> None:
        """Build with this defect from now on."""
        self._overlay = overlay
        self._folder = overlay.folder if overlay else self._shared

    @property
    def sources(self) -> Sources:
        """Return the files as they are."""
        return self._sources

    def _compile_command(self, source: Path, build: Build) -> tuple[list[str], Path]:
        command, target = super()._compile_command(source, build)
        shared = self._shared / "objects" / target.name
        if self._counting and build.kind == "explored":
            return [*command, "--coverage"], shared.with_name(f"counting-{target.name}")
        overlay = self._overlay
        if overlay and overlay.has(self._sources.closure(source)):
            return overlay.moved(command), overlay.folder / target.name
        return command, shared

    def _program(
        self, named: Path, jobs: list[tuple[Path, Build]], build: Build, link_flags: list[str]
    ) -> Path:
        flags = [*link_flags, *["--coverage"] * self._counting]
        return super()._program(named, jobs, build, flags)


class NativeBuilder:
    """Builds programs of ``tests/programs`` with the kernel: as it is, or with a defect."""

    def __init__(
        self, children: Children, folder: Path, root: Path, *, counting: bool = False
    ) -> None:
        self._children, self._shared, self._counting = children, folder, counting
        self._compiler = os.environ.get("CC", "cc").split()
        self._uring = _build.has_uring(*self._compiler)
        self.sources = Sources(root)
        self.kernel = [
            path for path in sorted(self.sources.kernel.rglob("*.[cS]"))
            if path in _build.SOURCES or root != locations.sources()
        ]  # fmt: skip
        self._overlay: Overlay | None = None

    def lay(self, overlay: Overlay | None) -> None:
        """Build with this defect from now on."""
        self._overlay = overlay

    def program(self, source: Path, flags: Sequence[str] = (), build: str = "plain") -> Path:
        """Return the program in a build, linked.

        Raises:
            UsageError: it does not compile.
        """
        linked = [flag for flag in flags if flag.startswith("-Wl,") or flag == "-rdynamic"]
        own = [flag for flag in flags if flag not in linked]
        kind = BUILDS[build]
        objects = [self._object(path, *kind) for path in self.kernel]
        objects.append(self._object(source, *kind, *own))
        counting = ["--coverage"] * self._counting
        uring = _build.URING_LINKED if self._uring else ()
        command = [
            *self._compiler,
            *NATIVE,
            *kind,
            *counting,
            *linked,
            *map(str, objects),
            *uring,
            "-lm",
        ]
        folder = self._overlay.folder if self._overlay else self._shared
        target = folder / f"{source.stem}-{digest(*command)}"
        return self._made(command, target)

    def library(self) -> Path:
        """Return a folder with libwakeproof.so and its binding to Python.

        Raises:
            UsageError: it does not compile.
        """
        declared = _build.declarations()
        inlines = self._shared / f"inlines-{digest(_build.INLINES)}" / "inlines.c"
        if not inlines.exists():
            inlines.parent.mkdir(parents=True, exist_ok=True)
            locations.write_atomically(inlines, _build.INLINES)
        objects = [self._object(path, *SHARED) for path in (*_build.SOURCES, inlines)]
        command = [*self._compiler, *NATIVE, *["--coverage"] * self._counting, "-shared",
                   *map(str, objects), *(_build.URING_LINKED if self._uring else ())]  # fmt: skip
        folder = self._overlay.folder if self._overlay else self._shared
        target = folder / f"library-{digest(*command, declared)}" / _build.LIBRARY
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            locations.write_atomically(target.with_name(_build.CDEF), declared)
        return self._made(command, target).parent

    def library_texts(self) -> dict[str, str]:
        """Return the texts of the files that are compiled into the library, by path."""
        found = {}
        for path in _build.SOURCES:
            found |= self.sources.closure(path)
        return found

    def key(self, overlay: Overlay) -> str:
        """Return a hash of what `has_equal_code` depends on."""
        texts = [overlay.text]
        for path in self.kernel:
            closure = self.sources.closure(path)
            texts += closure.values() if overlay.has(closure) else ()
        return digest(*PRODUCT, *self._compiler, *texts)

    def has_equal_code(self, overlay: Overlay) -> bool:
        """Return whether the product has the same machine code with the defect as without."""
        mark = overlay.folder / "inlines.c"  # each inline function, with a symbol
        header = overlay.file.relative_to(overlay.original)
        mark.write_text(f'#include "{header}"\n' if header.suffix == ".h" else "")
        files: list[tuple[Path, tuple[str, ...]]] = [(mark, ("-DWP_INLINE=",))]
        files += [(path, ()) for path in self.kernel if overlay.has(self.sources.closure(path))]
        return all(self._assembly(path, flags, None) == self._assembly(path, flags, overlay)
                   for path, flags in files)  # fmt: skip

    def _assembly(self, path: Path, flags: Sequence[str], overlay: Overlay | None) -> str:
        """Return the assembler text of a file.

        Raises:
            UsageError: it does not compile.
        """
        command = [*self._compiler, *PRODUCT, *flags, f"-I{self.sources.kernel}"]
        command += _build.URING_COMPILED if self._uring and path.stem == "poller_uring" else ()
        command += ["-S", str(path), "-o", "-"]
        key = ""
        if overlay is None and path.stem != "inlines":
            key = digest(*command, *self.sources.closure(path).values())
            kept = self._shared / "objects" / f"{path.stem}-{key}.s"
            if kept.exists():
                return kept.read_text()
        command = overlay.moved(command) if overlay else command
        ended = subprocess.run(command, capture_output=True, text=True, check=False,
                               timeout=COMPILE_S)  # fmt: skip
        if ended.returncode != 0:
            raise UsageError(ended.stderr)
        said = (
            ended.stdout.replace(str(overlay.kernel), str(overlay.original))
            if overlay
            else ended.stdout
        )
        if key:
            kept.parent.mkdir(parents=True, exist_ok=True)
            locations.write_atomically(kept, said)
        return said

    def _object(self, source: Path, *flags: str) -> Path:
        texts = self.sources.closure(source)
        command = [*self._compiler, *NATIVE, *["--coverage"] * self._counting,
                   f"-I{self.sources.kernel}", *flags]  # fmt: skip
        command += _build.URING_COMPILED if self._uring and source.stem == "poller_uring" else ()
        command += ["-c", str(source)]
        name = f"{source.stem}-native-{digest(*command, *texts.values())}.o"
        if self._overlay and self._overlay.has(texts):
            return self._made(self._overlay.moved(command), self._overlay.folder / name)
        return self._made(command, self._shared / "objects" / name)

    def _made(self, command: list[str], target: Path) -> Path:
        if target.exists():
            os.utime(target)
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        # Each object has its own folder, because notes for counting lie beside it under its name.
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            part = Path(folder) / target.name
            ended = self._children.run([*command, "-o", str(part)], timeout_s=COMPILE_S)
            if ended.code != 0:
                raise UsageError(ended.output)
            for made in Path(folder).iterdir():
                made.replace(target.parent / made.name)
        return target
