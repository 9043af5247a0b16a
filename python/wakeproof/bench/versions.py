# SPDX-License-Identifier: Apache-2.0
"""The versions of the peers, as their tools and packages say them."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
from collections.abc import Callable, Iterable
from importlib import metadata

from wakeproof.bench import peers, program
from wakeproof.errors import JudgeError, MissingToolError
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import toolchain

UNKNOWN = "of unknown version"
TIMEOUT_S = 60.0


def of(children: Children, rows: Iterable[str]) -> dict[str, str]:
    """Return the version of each peer that is named in the texts, by its name.

    For example ``{"Go": "1.26.8", "uvloop": "0.23.0"}`` of the texts "yield, Go" and "uvloop,
    streams". A peer that does not say its version has `UNKNOWN`.
    """
    texts = list(rows)
    return {
        name: ask(children) or UNKNOWN
        for name, ask in _ASKED.items()
        if any(re.search(rf"\b{re.escape(name)}\b", text) for text in texts)
    }


def line(versions: dict[str, str]) -> str:
    """Return the versions as one line."""
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"peers: {named or 'none'}"


def _said(children: Children, command: list[str], pattern: str) -> str:
    """Return what the group of the pattern is in the command's output; "": nothing."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        found = re.search(pattern, children.run(command, timeout_s=TIMEOUT_S).output)
    except JudgeError:
        return ""
    return found[1] if found else ""


def _go(children: Children) -> str:
    go = shutil.which("go") or peers.GO_PATH
    return _said(children, [go, "version"], r"\bgo([0-9]\S*)")


def _tokio(_: Children) -> str:
    locked = program.folder() / "peers" / "tokio" / "Cargo.lock"
    found = re.search(r'name = "tokio"\nversion = "([^"]+)"', locked.read_text("utf-8"))
    return found[1] if found else ""


def _boost(children: Children) -> str:
    cxx = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    macros = [*cxx, "-E", "-dM", "-include", "boost/version.hpp", "-x", "c++", os.devnull]
    return _said(children, macros, r'BOOST_LIB_VERSION "([0-9_]+)"').replace("_", ".")


def _jdk(children: Children) -> str:
    try:
        java = str(toolchain.find().java)
    except MissingToolError:
        return ""
    return _said(children, [java, "-version"], r'version "([^"]+)"')


def _moodycamel(children: Children) -> str:
    package = "libconcurrentqueue-dev"
    return _said(children, ["dpkg-query", "-W", "-f", "${Version}\n", package], r"([0-9]\S*)")


def _cpython(_: Children) -> str:
    return f"of CPython {platform.python_version()}"


def _package(name: str) -> Callable[[Children], str]:
    def ask(_: Children) -> str:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return ""

    return ask


_ASKED: dict[str, Callable[[Children], str]] = {
    "Go": _go, "tokio": _tokio, "Boost": _boost, "JDK": _jdk, "moodycamel": _moodycamel,
    "asyncio": _cpython,
    **{name: _package(name) for name in ("gevent", "uvloop", "aiohttp", "culsans", "janus")},
}  # fmt: skip
"""By the word that names a peer in a row: who asks for its version."""
