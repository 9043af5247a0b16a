# SPDX-License-Identifier: Apache-2.0
"""Packages and sources of a Debian suite, fetched into a folder beside the system.

apt gets lists and folders of its own, so nothing is installed, and what is installed is not asked.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_NEEDS = ("apt-get", "dpkg")
_SOURCES = "Types: deb deb-src\nURIs: {}\nSuites: {}\nComponents: main\nSigned-By: {}\n"


class CannotBeHadError(Exception):
    """What was asked for is not to be had here; its text says why."""


def _archive() -> str:
    """Return the archive from which this machine takes its own packages."""
    for file in sorted(Path("/etc/apt").glob("sources.list*")) + sorted(
        Path("/etc/apt/sources.list.d").glob("*.sources")
    ):
        text = file.read_text("utf-8") if file.is_file() else ""
        if match := re.search(r"https?://\S*/debian/?(?=\s)", text):
            return match[0]
    raise CannotBeHadError("apt's sources name no Debian archive")


class Suite:
    """A suite of Debian, with lists of its own in a folder."""

    def __init__(self, name: str, folder: Path, architecture: str = "") -> None:
        missing = [need for need in _NEEDS if not shutil.which(need)]
        if missing or not KEYRING.exists():
            raise CannotBeHadError(f"no {(missing or [KEYRING])[0]}: the recipe is for Debian")
        self.name, self.folder, self.architecture = name, folder, architecture  # "": this machine's
        for made in ("lists/partial", "archives/partial", "none"):
            (folder / made).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()  # as if no package were installed
        (folder / "suite.sources").write_text(_SOURCES.format(_archive(), name, KEYRING), "utf-8")
        self._apt("update")

    def _apt(self, *command: str, debs: Path | None = None) -> None:
        options = {
            "Dir::Etc::sourcelist": "suite.sources", "Dir::Etc::sourceparts": "none",
            "Dir::State::lists": "lists", "Dir::State::status": "status",
            "Dir::Cache::archives": debs or "archives",
            "Dir::Cache::pkgcache": "pkgcache.bin", "Dir::Cache::srcpkgcache": "srcpkgcache.bin",
        }  # fmt: skip
        given = [f"-o{name}={self.folder / value}" for name, value in options.items()]
        if self.architecture:
            given.append(f"-oAPT::Architecture={self.architecture}")
        self._run("apt-get", *given, *command, folder=debs)

    def _run(self, *command: str, folder: Path | None = None) -> None:
        ended = subprocess.run(
            command, cwd=folder or self.folder, capture_output=True, text=True, check=False
        )
        if ended.returncode:
            last = [line for line in ended.stderr.splitlines() if line.startswith("E: ")]
            why = (last or ended.stderr.splitlines() or ["no message"])[0]
            what = " ".join(word for word in command[1:] if not word.startswith("-o"))
            raise CannotBeHadError(f"{command[0]} {what} of {self.name} failed: {why}")

    def unpack(self, into: Path, *packages: str, needed: bool = False) -> None:
        """Unpack the packages into a folder; with `needed` also all packages that they need."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            debs = Path(name)
            (debs / "partial").mkdir()
            if needed:
                only = ("-y", "--download-only", "--no-install-recommends")
                self._apt("install", *only, *packages, debs=debs)
            else:
                self._apt("download", *packages, debs=debs)
            for package in sorted(debs.glob("*.deb")):
                self._run("dpkg", "-x", str(package), str(into))

    def source(self, package: str) -> Path:
        """Fetch the source of the package; return its original archive."""
        self._apt("source", "--download-only", package)
        fetched = self.folder.glob(f"{package}_*.orig.tar.*z")
        return max(fetched, key=lambda file: file.stat().st_mtime)
