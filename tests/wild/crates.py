# SPDX-License-Identifier: Apache-2.0
"""Prepares a package of ours in Rust, with the crates of a release.

In its ``Cargo.toml``, ``{NAME}`` is the version of the crate NAME.  Cargo makes the lock, which is
then compared with the wild.toml: all crates are declared there, with version and hash.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Final

from tests.wild import fetch
from tests.wild.declared import Release
from tests.wild.fetch import NoAnswerError, WrongHashError

from wakeproof.errors import UsageError

ANSWER_S: Final = 300.0
_NO_ANSWER: Final = (
    "download", "Could not resolve host", "Couldn't resolve host", "timed out", "spurious network",
    "failed to get", "Timeout", "Connection", "Unable to update registry",
)  # fmt: skip


def prepared(package: Path, release: Release, name: str) -> Path:
    """Return the Cargo.toml of a copy of `package` in which the crates are those of the release.

    Raises:
        NoAnswerError: the registry does not answer.
        WrongHashError: the crates of the lock are not those that were declared.
        UsageError: cargo refuses the package.
    """
    target = fetch.folder() / "crates" / name
    with fetch.alone(_made(target)):
        target.mkdir(exist_ok=True)
        for file in (one for one in package.rglob("*") if one.is_file()):
            if file.name != "Cargo.toml":
                _write(target / file.relative_to(package), file.read_text("utf-8"))
        given = target / "Cargo.toml"
        asked = (package / "Cargo.toml").read_text("utf-8")
        wanted_text = asked
        for crate in release.crates:
            wanted_text = wanted_text.replace("{" + crate.name + "}", crate.version)
        _write(given, wanted_text)
        if (target / "Cargo.lock").is_file() and not _differing(target, release):
            return given
        (target / "Cargo.lock").unlink(missing_ok=True)
        _lock(given, asked, release)
        _write(given, wanted_text)
        for crate in release.crates:
            other = [version for one, version in _locked(target) if one == crate.name]
            if crate.version not in other and len(other) == 1:
                _cargo("update", given, "-p", crate.name, "--precise", crate.version)
        _cargo("fetch", given)
        if differing := _differing(target, release):
            raise WrongHashError(f"{name}: {differing}")
    return given


def _lock(given: Path, asked: str, release: Release) -> None:
    """Let cargo make the lock.

    A version that was withdrawn is taken only if a lock has it already: the lock is made with
    another version, which is then replaced in it, and cargo adds the hash that the registry has.
    """
    text = asked
    for crate in release.crates:
        near = "^" + ".".join(crate.version.split(".")[:2])
        text = text.replace("={" + crate.name + "}", near if crate.yanked else f"={crate.version}")
    _write(given, text)
    _cargo("generate-lockfile", given)
    lock = given.with_name("Cargo.lock")
    for crate in release.crates:
        if crate.yanked:
            entry = rf'(name = "{crate.name}"\nversion = )"[^"]*"(\nsource = .*\n)checksum = .*\n'
            found = re.sub(entry, rf'\g<1>"{crate.version}"\g<2>', lock.read_text("utf-8"))
            lock.write_text(found, "utf-8")


def _made(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _write(file: Path, text: str) -> None:
    """Write a file unless it holds the text, so that cargo builds only what has changed."""
    if not file.is_file() or file.read_text("utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def _locked(target: Path) -> dict[tuple[str, str], str]:
    """Return the hash of each crate in the lock, by name and version."""
    found = tomllib.loads((target / "Cargo.lock").read_text("utf-8"))
    return {
        (one["name"], one["version"]): one["checksum"]
        for one in found.get("package", []) if "checksum" in one
    }  # fmt: skip


def _differing(target: Path, release: Release) -> str:
    """Return in which crates the lock differs from what was declared; empty: in none."""
    locked = _locked(target)
    declared = {(crate.name, crate.version): crate.sha256 for crate in release.crates}
    if locked == declared:
        return ""
    return "; ".join(
        f"{name} {version} is {locked.get((name, version), 'not in the lock')}, declared: "
        f"{declared.get((name, version), 'none')}"
        for name, version in sorted(locked.keys() | declared.keys())
        if locked.get((name, version)) != declared.get((name, version))
    )


def _cargo(command: str, given: Path, *more: str) -> None:
    words = shlex.split(os.environ.get("CARGO", "")) or ["cargo"]
    if shutil.which(words[0]) is None:
        raise NoAnswerError(f"crates: there is no {words[0]}")
    try:
        ended = subprocess.run(
            [*words, command, "--quiet", "--manifest-path", str(given), *more],
            capture_output=True, text=True, check=False, timeout=ANSWER_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise NoAnswerError("crates: does not answer") from error
    if ended.returncode:
        if any(word in ended.stderr for word in _NO_ANSWER):
            raise NoAnswerError("crates: does not answer")
        raise UsageError(f"cargo {command} {given.parent.name}: {ended.stderr.strip()}")
