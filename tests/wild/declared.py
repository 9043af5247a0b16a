# SPDX-License-Identifier: Apache-2.0
"""What a ``wild.toml`` declares: the releases of a library, and programs of ours that use it.

A case is a program with several runs.  At least one run holds under a model, and at least one shows
a defect: that of an old release, or one that the flags of the run put into our program.  So a case
that holds says something.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.explore.options import ExploreOptions, Model

FOLDER: Final = Path(__file__).resolve().parent
MODELS: Final = (Model.SC, Model.TSO, Model.RC11)
VERDICTS: Final = ("race", "crash", "assertion", "asleep", "stuck", "ended")
"""What a run may show under a model, the worst first; ``-`` in a wild.toml: not explored."""
NOT_EXPLORED: Final = "-"
SHA256: Final = r"^[0-9a-f]{64}$"


class _Declared(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Package(_Declared):
    """A package of Debian: a binary one, which is unpacked, or the source of one."""

    name: str
    version: str
    suite: str
    source: bool = False
    sha256: dict[str, str]  # by file; of a source package, all its files

    @property
    def folder(self) -> str:
        """Return the name of the folder into which it is unpacked."""
        kind = ".source" if self.source else ""
        return f"{self.name}-{self.version.replace(':', '.')}{kind}"


class Crate(_Declared):
    """A crate of the lock that cargo makes for our package.

    `yanked`: its author has withdrawn this version, so cargo takes it only from a lock.
    """

    name: str
    version: str
    sha256: str = Field(pattern=SHA256)
    yanked: bool = False


class Release(_Declared):
    """The packages of one release of the library; the first one has its version."""

    debian: tuple[Package, ...] = ()
    crates: tuple[Crate, ...] = ()

    @model_validator(mode="after")
    def _has_packages(self) -> Release:
        if not self.debian and not self.crates:
            raise ValueError("a release has packages of debian, or crates")
        return self

    @property
    def registry(self) -> str:
        """Return the registry that is asked for it."""
        return "debian" if self.debian else "crates"


class Run(_Declared):
    """One exploration of a case: a release, more flags, and what must be seen, with the reason.

    `called`: what the table says of it; if it is empty, the flags.
    `shows`: the worst verdict under SC, TSO and RC11.  `refused`: the explorer says this instead,
    because it does not model what the library does.  `test`: of a package in Rust, another test
    than that of the case.
    """

    release: str
    called: str = ""
    flags: tuple[str, ...] = ()
    test: str = ""
    shows: str = ""
    refused: str = ""
    why: str
    quick: bool = False  # explored by the tests

    @model_validator(mode="after")
    def _has_verdicts(self) -> Run:
        if bool(self.shows) == bool(self.refused):
            raise ValueError("a run shows verdicts, or is refused")
        words = self.shows.split()
        if self.shows and (
            len(words) != len(MODELS) or not set(words) <= {*VERDICTS, NOT_EXPLORED}
        ):
            raise ValueError(
                f"shows is {self.shows!r}; it has a word for SC, TSO and RC11, of "
                f"{', '.join(VERDICTS)} or {NOT_EXPLORED}"
            )
        return self

    @property
    def differs(self) -> str:
        """Return in what it differs from other runs of its case and release."""
        return self.called or " ".join((*self.flags, self.test)).strip()

    @property
    def expected(self) -> dict[Model, str]:
        """Return the worst verdict under each model that is explored."""
        found = zip(MODELS, self.shows.split() or ["ended"] * len(MODELS), strict=True)
        return {model: word for model, word in found if word != NOT_EXPLORED}


class Case(_Declared):
    """A program of ours that uses the library.

    `files`: ours, in the folder of the wild.toml; the first one has `main`.  In Rust it is the
    ``Cargo.toml`` of a package of ours.  `sources`: files of the library that are compiled with it.
    In `sources` and `flags`, ``{NAME}`` is the folder of the package NAME, and ``{here}`` that of
    the wild.toml.
    `bounded`: it is not explored whole, but as far as `loop_bound` or `seconds` allow.
    """

    name: str
    explored: str
    files: tuple[str, ...]
    sources: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    test: str = ""
    loop_bound: int = 0
    seconds: float = 60.0
    spurious: int = 0
    volatile_is_relaxed: bool = False
    may_leak: bool = False
    bounded: bool = False
    runs: tuple[Run, ...]

    @model_validator(mode="after")
    def _has_a_twin(self) -> Case:
        shown = [set(run.expected.values()) for run in self.runs if run.shows]
        if any("ended" in one for one in shown) and not any(one - {"ended"} for one in shown):
            raise ValueError(f"case {self.name}: no run of it shows a defect")
        return self

    def options(self, run: Run, seconds: float | None = None) -> ExploreOptions:
        """Return how a run is explored."""
        return ExploreOptions(
            models=tuple(run.expected), loop_bound=self.loop_bound, spurious=self.spurious,
            seconds=self.seconds if seconds is None else seconds,
        )  # fmt: skip


class Library(_Declared):
    """A library: what its folder's ``wild.toml`` declares."""

    library: str
    language: Literal["C", "C++", "Rust"]
    releases: dict[str, Release]
    cases: tuple[Case, ...]
    folder: Path = FOLDER

    @model_validator(mode="after")
    def _has_each_release(self) -> Library:
        for case in self.cases:
            for run in case.runs:
                if run.release not in self.releases:
                    raise ValueError(f"case {case.name}: there is no release {run.release}")
        return self


def read(folder: Path = FOLDER) -> list[Library]:
    """Return all libraries, by name.

    Raises:
        JudgeError: a file does not declare what it must.
    """
    return [_library(file) for file in sorted(folder.glob("*/wild.toml"))]


def named(name: str, libraries: list[Library]) -> list[Library]:
    """Return the library with this name, and only the case behind a slash, as in ``ck/ring``.

    Raises:
        UsageError: there is none.
    """
    wanted, _, case = name.partition("/")
    for library in libraries:
        cases = tuple(one for one in library.cases if case in ("", one.name))
        if library.folder.name == wanted and cases:
            return [library.model_copy(update={"cases": cases})]
    known = ", ".join(library.folder.name for library in libraries)
    raise UsageError(f"there is no {name} in tests/wild; there is {known}")


def _library(file: Path) -> Library:
    try:
        found = tomllib.loads(file.read_text("utf-8"))
        return Library.model_validate({**found, "folder": file.parent})
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise JudgeError(f"{file}: {error}") from error
