#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Put the C sources of llhttp into build/llhttp, for the HTTP examples, unless they are there.

The sources come from the source archive of httptools, which requirements.txt pins by hash; the
Python example parses with the same code.  This script needs build/venv (`make venv`).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "build" / "llhttp"
FILES = ("LICENSE-MIT", "include/llhttp.h", "src/api.c", "src/http.c", "src/llhttp.c")
EXIT_ENVIRONMENT = 3


def pinned() -> str:
    """Return the lines of requirements.txt about httptools.

    Raises:
        SystemExit: there are no such lines.
    """
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    found = re.search(r"^httptools==.*\n(?: .*\n)+", text, re.MULTILINE)
    if found is None:
        raise SystemExit("wakeproof: requirements.txt does not pin httptools")
    return found.group(0)


def fetch(pin: str, folder: Path) -> Path:
    """Return httptools' source archive in `folder`, its hash checked by pip.

    Raises:
        SystemExit: pip could not get it.
    """
    (folder / "pin.txt").write_text(pin, encoding="utf-8")
    python = ROOT / "build" / "venv" / "bin" / "python"
    command = [python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    command += ["--no-build-isolation", "--require-hashes", "--disable-pip-version-check"]
    command += ["-d", folder, "-r", folder / "pin.txt"]
    ran = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    archives = sorted(folder.glob("httptools-*.tar.gz"))
    if ran.returncode != 0 or not archives:
        print(ran.stderr.strip(), file=sys.stderr)
        print("wakeproof: no sources of llhttp; is the package index reachable?", file=sys.stderr)
        raise SystemExit(EXIT_ENVIRONMENT)
    return archives[0]


def unpack(archive: Path, pin: str) -> None:
    """Write the needed files of the archive below build/llhttp, and the pin last."""
    with tarfile.open(archive) as packed:
        for name in FILES:
            found = packed.extractfile(f"{archive.name[: -len('.tar.gz')]}/vendor/llhttp/{name}")
            assert found is not None, name
            path = TARGET / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(found.read())
    (TARGET / "pin.txt").write_text(pin, encoding="utf-8")


def main() -> None:
    """Fetch and unpack, unless it was done for this pin."""
    pin = pinned()
    stamp = TARGET / "pin.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == pin:
        return
    with tempfile.TemporaryDirectory() as folder:
        unpack(fetch(pin, Path(folder)), pin)


if __name__ == "__main__":
    main()
