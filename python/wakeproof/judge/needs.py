# SPDX-License-Identifier: Apache-2.0
"""Finds what the judges need: a compiler, binutils, Java and TLC.  Changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from wakeproof.doctor import Finding
from wakeproof.errors import MissingToolError
from wakeproof.judge.tlc import toolchain

BINUTILS = ("objcopy", "nm")
"""What the explorer needs beside the compiler: judge/explore/explored.py."""

OPTIONAL = {
    "second compiler": ("clang clang-19", "clang"),
    "C++ compiler": ("g++", "g++"),
    "aarch64 compiler": ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
    "aarch64 emulator": ("qemu-aarch64", "qemu-user"),
    "debugger": ("gdb", "gdb"),
    "moodycamel queue": ("/usr/include/concurrentqueue", "libconcurrentqueue-dev"),
    "Boost.Context": ("/usr/include/boost/context", "libboost-context-dev"),
}
"""part -> (programs or paths, one of which will do; Debian packages)."""


def examine() -> list[Finding]:
    """Return the rows of `wakeproof doctor` about the tools of the judges, in their order."""
    return [_compiler(), *map(_binutil, BINUTILS), *_tlc(), *map(_optional, OPTIONAL.items())]


def require_judges() -> None:
    """Check that all judges can run: a compiler that links, what the explorer needs, Java and TLC.

    Raises:
        MissingToolError: parts are missing; the message lists them and what provides each.
    """
    findings = [_compiler(), *map(_binutil, BINUTILS)]
    missing = [f"{found.part}: {found.value}" for found in findings if not found.present]
    if findings[0].present:
        missing += _unlinked()
    try:
        toolchain.find()
    except MissingToolError as error:
        missing.append(str(error))
    if missing:
        raise MissingToolError("the judges cannot run: " + "; ".join(missing))


def _compiler() -> Finding:
    name = (os.environ.get("CC") or "cc").split()[0]
    if not shutil.which(name):
        return Finding("C compiler", False, "not found: apt install gcc", needed=True)
    run = subprocess.run([name, "--version"], capture_output=True, text=True, check=False)
    return Finding("C compiler", True, f"{name}: {run.stdout.splitlines()[0]}", needed=True)


def _binutil(name: str) -> Finding:
    found = shutil.which(name)
    return Finding(name, found is not None, found or "not found: apt install binutils", needed=True)


def _unlinked() -> list[str]:
    """Return what the compiler lacks: it may be there without assembler, linker or headers."""
    command = [*(os.environ.get("CC") or "cc").split(), "-x", "c", "-", "-pthread"]
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        program = "#include <stdatomic.h>\n#include <stdio.h>\nint main(void) { return 0; }\n"
        ended = subprocess.run([*command, "-o", str(Path(folder) / "program")], input=program,
                               capture_output=True, text=True, check=False)  # fmt: skip
    if ended.returncode == 0:
        return []
    said = next(iter(ended.stderr.strip().splitlines()), f"exit {ended.returncode}")
    return [f"{command[0]} builds no program ({said}): apt install gcc binutils libc6-dev"]


def _tlc() -> list[Finding]:
    try:
        tools = toolchain.find()
        version = toolchain.tlc_version(tools)
    except MissingToolError as error:
        return [Finding("Java and TLC", False, str(error), needed=True)]
    java = Finding("Java", True, f"{tools.java_version} ({tools.java})", needed=True)
    return [java, Finding("TLC", True, f"{version} ({tools.jar})", needed=True)]


def _optional(item: tuple[str, tuple[str, str]]) -> Finding:
    """Look for a part that the two commands can do without, except in CI."""
    part, (wanted, packages) = item
    found = next(filter(None, map(_path_of, wanted.split())), None)
    value = found or f"not found: apt install {packages}"
    return Finding(part, found is not None, value, needed=os.environ.get("WAKEPROOF_CI") == "1")


def _path_of(wanted: str) -> str | None:
    if wanted.startswith("/"):
        return wanted if Path(wanted).exists() else None
    return shutil.which(wanted)
