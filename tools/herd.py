# SPDX-License-Identifier: Apache-2.0
"""Puts herd7 (herdtools7) into build/herd, from Debian's unstable suite, beside the system.

Nothing is installed: apt fetches the packages of herd7 and of the C library that it needs into
lists and folders of its own, dpkg unpacks them, and a script starts herd7 with that library.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tools.debian import CannotBeHadError, Suite

FOLDER = Path(__file__).resolve().parents[1] / "build" / "herd"
START = """\
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
lib=$root/usr/lib/x86_64-linux-gnu
exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib:/usr/lib/x86_64-linux-gnu" \\
  "$root/usr/bin/herd7" -set-libdir "$root/usr/share/herdtools7/herd" "$@"
"""


def main() -> int:
    """Fetch herd7 unless it is there; say why it cannot be had."""
    program = FOLDER / "herd7"
    if program.exists() or shutil.which("herd7"):
        return 0
    try:
        Suite("sid", FOLDER).unpack(FOLDER / "root", "herdtools7", "libc6")
    except CannotBeHadError as error:
        return _skip(str(error))
    program.write_text(START, "utf-8")
    program.chmod(0o755)
    if subprocess.run([program, "-version"], capture_output=True, check=False).returncode:
        program.unlink()
        return _skip("what was fetched does not run here")
    return 0


def _skip(why: str) -> int:
    sys.stderr.write(f"herd7 cannot be had here: {why}; the comparison is skipped\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
