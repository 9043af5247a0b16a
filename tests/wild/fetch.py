# SPDX-License-Identifier: Apache-2.0
"""Fetches released packages by name, version and hash, with the machine's own tools.

Packages of Debian come through apt-get, whichever mirror the machine has for it, with lists of
their own under ``build/wild``, so the machine's lists and sources stay as they are.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.wild.declared import Package

from wakeproof import locations
from wakeproof.errors import JudgeError, WakeproofError

ANSWER_S: Final = 300.0
KEYS: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_OPTIONS: Final = (
    "APT::Sandbox::User=root", "APT::Get::AllowUnauthenticated=false",
    "Acquire::Languages=none", "Acquire::Retries=1", "Acquire::http::Timeout=30",
    "Acquire::https::Timeout=30", "Dir::Etc::SourceParts=/dev/null",
    "Dir::Etc::Preferences=/dev/null", "Dir::Etc::PreferencesParts=/dev/null",
)  # fmt: skip
_IS_UNKNOWN: Final = re.compile(r"Unable to (?:locate|find a source)|was not found|no candidate")


class NoAnswerError(WakeproofError):
    """A registry does not answer, or no longer has a version; nothing is known about the code."""


class WrongHashError(JudgeError):
    """A file is not the one that was declared."""


def folder() -> Path:
    """Return the folder of everything that was fetched."""
    place = locations.sources() / "build" / "wild"
    place.mkdir(parents=True, exist_ok=True)
    return place


def check(file: Path, sha256: str) -> None:
    """Compare a file with its hash.

    Raises:
        WrongHashError: they differ; the file is removed.
    """
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != sha256:
        file.unlink()
        raise WrongHashError(f"{file.name} has the sha256 {found}, and {sha256} was declared")


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Let no other process fetch the same at the same time."""
    with place.with_name(f".{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Debian:
    """The packages of Debian, unpacked under a folder."""

    def __init__(self, place: Path | None = None) -> None:
        self._place = place or folder()

    def unpacked(self, package: Package) -> Path:
        """Return the folder of a package, and fetch it if it is not there.

        Raises:
            NoAnswerError: Debian does not answer, or no longer has this version.
            WrongHashError: a file is another one than was declared.
        """
        target = self._place / package.folder
        stamp = target / ".sha256"
        declared = "\n".join(f"{sha256} {name}" for name, sha256 in sorted(package.sha256.items()))
        with alone(target):
            if stamp.is_file() and stamp.read_text("utf-8") == declared:
                return target
            part = self._place / f".{package.folder}"
            shutil.rmtree(part, ignore_errors=True)
            shutil.rmtree(target, ignore_errors=True)
            part.mkdir(parents=True)
            self._fetch(package, part)
            self._check_all(package, part)
            self._unpack(package, part, target)
            stamp.write_text(declared, "utf-8")
            shutil.rmtree(part)
        return target

    def _fetch(self, package: Package, part: Path) -> None:
        """Fetch the files of a package into `part`, if need be with new lists."""
        lists = self._place / "apt" / f"{package.suite}{'-source' * package.source}"
        for needed in ("lists/partial", "cache/archives/partial"):
            (lists / needed).mkdir(parents=True, exist_ok=True)
        with alone(lists):
            is_new = not (lists / "fetched").is_file()
            if is_new:
                self._update(lists, package)
            what = f"{package.name}={package.version}"
            words = ["source", "--download-only", "--only-source"] if package.source else [
                "download"
            ]  # fmt: skip
            said = self._apt(lists, part, *words, what)
            if said and not is_new:
                self._update(lists, package)
                said = self._apt(lists, part, *words, what)
        if said and _IS_UNKNOWN.search(said):
            raise NoAnswerError(f"debian: {package.suite} no longer has {what}")
        if said:
            raise NoAnswerError(f"debian: does not answer: {_last(said)}")

    def _update(self, lists: Path, package: Package) -> None:
        kind = "deb-src" if package.source else "deb"
        keys = f"Signed-By: {KEYS}\n" if KEYS.is_file() else ""
        targets = "Sources" if package.source else "Packages"
        (lists / "debian.sources").write_text(
            f"Types: {kind}\nURIs: {self._mirror()}\nSuites: {package.suite}\nComponents: main\n"
            f"Targets: {targets}\n{keys}", "utf-8",
        )  # fmt: skip
        if said := self._apt(lists, lists, "update", "--error-on=any"):
            raise NoAnswerError(f"debian: does not answer: {_last(said)}")
        (lists / "fetched").touch()

    def _mirror(self) -> str:
        """Return the mirror that this machine has for Debian."""
        command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
        try:
            listed = subprocess.run(command, capture_output=True, text=True, check=False,
                                    timeout=ANSWER_S).stdout.split()  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoAnswerError("debian: there is no apt-get that answers") from error
        found = [one for one in listed if one.rstrip("/").endswith("/debian")]
        if not found:
            raise NoAnswerError("debian: this machine's apt-get has no mirror of Debian")
        return found[0]

    def _apt(self, lists: Path, cwd: Path, *words: str) -> str:
        """Run apt-get, and return what it said if it failed."""
        options = [
            *_OPTIONS, f"Dir::Etc::SourceList={lists}/debian.sources",
            f"Dir::State::Lists={lists}/lists", f"Dir::Cache={lists}/cache",
        ]  # fmt: skip
        command = ["apt-get", *(word for one in options for word in ("-o", one)), "-q", *words]
        try:
            ended = subprocess.run(
                command, cwd=cwd, capture_output=True, text=True, check=False, timeout=ANSWER_S,
                env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"no end after {ANSWER_S:.0f} s"
        except OSError as error:
            return f"apt-get: {error.strerror}"
        return (ended.stderr.strip() or "apt-get failed") if ended.returncode else ""

    def _check_all(self, package: Package, part: Path) -> None:
        found = {file.name for file in part.iterdir()}
        if found != package.sha256.keys():
            raise WrongHashError(
                f"{package.name} {package.version} has the files {', '.join(sorted(found))}, and "
                f"{', '.join(sorted(package.sha256))} were declared"
            )
        for name, sha256 in package.sha256.items():
            check(part / name, sha256)

    def _unpack(self, package: Package, part: Path, target: Path) -> None:
        if package.source:
            (described,) = part.glob("*.dsc")
            command = ["dpkg-source", "--no-check", "-x", str(described), str(target)]
        else:
            (archive,) = part.glob("*.deb")
            command = ["dpkg-deb", "-x", str(archive), str(target)]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise NoAnswerError(f"debian: no {command[0]}: {error.strerror}") from error
        if ended.returncode:
            raise JudgeError(f"{command[0]}: {ended.stderr.strip()}")


def _last(said: str) -> str:
    """Return the last line of what a tool said, without addresses."""
    return re.sub(r"\S+://\S+", "...", said.splitlines()[-1]).strip()
