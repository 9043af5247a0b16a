# SPDX-License-Identifier: Apache-2.0
"""A wheel for AArch64, built by a cross compiler and run under qemu.

Python and its headers come from Debian's packages for arm64, unpacked beside the system. The Python
that builds is one of this machine, of the same version, which takes the settings of the other.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tools import pythons
from tools.debian import CannotBeHadError, Suite

SUITE, PYTHON, LIBRARIES = "bookworm", "3.11", "usr/lib/aarch64-linux-gnu"
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_28_aarch64")  # of what we need


def root() -> Path:
    """Return the folder with Debian's Python for arm64, which is fetched if it is not there.

    Raises:
        CannotBeHadError: it, the compiler or the emulator is not to be had.
    """
    for needed in (COMPILER, EMULATOR):
        if not shutil.which(needed):
            raise CannotBeHadError(f"no {needed}")
    folder = pythons.CACHE / "arm64"
    if not (folder / "complete").exists():
        suite = Suite(SUITE, pythons.CACHE / f"{SUITE}-arm64", "arm64")
        suite.unpack(folder, f"python{PYTHON}", "libstdc++6", needed=True)  # greenlet is C++
        suite.unpack(folder, f"libpython{PYTHON}-dev", "liburing-dev", "liburing2")
        (folder / "complete").touch()
    return folder


def built(sources: Path, into: Path) -> Path:
    """Build the wheel of the sources; return it."""
    there = root()
    settings = into / "settings"
    settings.mkdir()
    name = "_sysconfigdata__aarch64-linux-gnu"
    shutil.copy(there / "usr" / "lib" / f"python{PYTHON}" / f"{name}.py", settings)
    headers = there / "usr" / "include"
    compiler = (f"{COMPILER} -I{headers}/python{PYTHON} -idirafter {headers}"
                f" -L{there / LIBRARIES}")  # fmt: skip
    with pythons.alone():
        python = pythons.environment(PYTHON)
    pythons.run(
        python, "setup.py", "-q", "bdist_wheel", "-d", into, cwd=sources,
        _PYTHON_HOST_PLATFORM="linux-aarch64", _PYTHON_SYSCONFIGDATA_NAME=name,
        PYTHONPATH=str(settings), CC=compiler, LDSHARED=f"{compiler} -shared",
    )  # fmt: skip
    return next(into.glob("*aarch64.whl"))


def tested(wheel: Path, into: Path, smoke: Path) -> str:
    """Install the wheel into an empty folder, and run the smoke test there under qemu."""
    there, site = root(), into / "site-packages"
    own = wheel.stem.rpartition("-")[2].split(".")
    platforms = [f"--platform={platform}" for platform in (*own, *PLATFORMS)]
    pythons.run(*pythons.PIP, "install", "--target", site, "--only-binary=:all:", *platforms,
                f"--python-version={PYTHON}", wheel)  # fmt: skip
    python = there / "usr" / "bin" / f"python{PYTHON}"
    return pythons.run(EMULATOR, "-L", there, python, smoke, PYTHONPATH=str(site))
