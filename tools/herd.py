# SPDX-License-Identifier: Apache-2.0
"""Puts herd7 (herdtools7) into build/herd, from Debian's unstable suite, beside the system.

Nothing is installed: apt fetches the packages of herd7 and of the C library that it needs into
lists and folders of its own, dpkg unpacks them, and a script starts herd7 with that library.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "build" / "herd"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SOURCE = "Types: deb\nURIs: {}\nSuites: sid\nComponents: main\nSigned-By: {}\n"
START = """\
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
lib=$root/usr/lib/x86_64-linux-gnu
exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib:/usr/lib/x86_64-linux-gnu" \\
  "$root/usr/bin/herd7" -set-libdir "$root/usr/share/herdtools7/herd" "$@"
"""
NEEDS = ("apt-get", "dpkg")


def main() -> int:
    """Fetch herd7 unless it is there; say why it cannot be had."""
    program = FOLDER / "herd7"
    if program.exists() or shutil.which("herd7"):
        return 0
    missing = [name for name in NEEDS if not shutil.which(name)]
    if missing or not KEYRING.exists():
        return _skip(f"no {(missing or [KEYRING])[0]}: the recipe is for Debian")
    archive = _archive()
    if archive is None:
        return _skip("apt's sources name no Debian archive")
    for name in ("lists/partial", "archives/partial", "none"):
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
    (FOLDER / "herd.sources").write_text(SOURCE.format(archive, KEYRING), "utf-8")
    options = [f"-oDir::Etc::sourcelist={FOLDER}/herd.sources",
               f"-oDir::Etc::sourceparts={FOLDER}/none", f"-oDir::State::lists={FOLDER}/lists",
               f"-oDir::Cache::archives={FOLDER}/archives"]  # fmt: skip
    for command in (["apt-get", *options, "update"],
                    ["apt-get", *options, "download", "herdtools7", "libc6"]):  # fmt: skip
        if not _runs(command):
            return _skip(f"{' '.join(command[-3:])} failed")
    for package in FOLDER.glob("*.deb"):
        if not _runs(["dpkg", "-x", str(package), str(FOLDER / "root")]):
            return _skip(f"{package.name} cannot be unpacked")
    program.write_text(START, "utf-8")
    program.chmod(0o755)
    if not _runs([str(program), "-version"]):
        program.unlink()
        return _skip("what was fetched does not run here")
    return 0


def _archive() -> str | None:
    """Return the archive from which this machine takes its own packages; None: apt names none."""
    for file in sorted(Path("/etc/apt").glob("sources.list*")) + sorted(
        Path("/etc/apt/sources.list.d").glob("*.sources")
    ):
        text = file.read_text("utf-8") if file.is_file() else ""
        if match := re.search(r"https?://\S*/debian/?(?=\s)", text):
            return match[0]
    return None


def _runs(command: list[str]) -> bool:
    ended = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.stderr.write(ended.stderr[-400:])
    return ended.returncode == 0


def _skip(why: str) -> int:
    sys.stderr.write(f"herd7 cannot be had here: {why}; the comparison is skipped\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
