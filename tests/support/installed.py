# SPDX-License-Identifier: Apache-2.0
"""The package in environments of their own, and the C library in a prefix of its own.

Quick: the wheel's Python part, with the native part of this environment.  With
WAKEPROOF_REGISTRY=1, as `make test-package` sets it, the wheel is built from the source archive and
installed from the registry.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import cffi
import greenlet
import pytest

import wakeproof
from wakeproof import locations

ROOT = Path(__file__).resolve().parents[2]
REAL = os.environ.get("WAKEPROOF_REGISTRY") == "1"
SITE = Path(cffi.__file__).parent.parent


def run(
    *command: str | Path, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(part) for part in command], env={**kept, **variables}, cwd=cwd,
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


def checked(*command: str | Path, cwd: Path | None = None) -> str:
    ended = run(*command, cwd=cwd)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    return ended.stdout


class Installed:
    """An environment of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.caches = str(folder / "caches")

    @property
    def site(self) -> Path:
        return next(self.folder.glob("lib/python3*/site-packages"))

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run(self.python, *arguments, cwd=self.folder, XDG_CACHE_HOME=self.caches)


def source_archive(into: Path) -> Path:
    """Make the source archive with setuptools alone, and unpack it.

    One at a time: setuptools puts the archive together in a folder of the checkout, and two
    workers of one test run would take it from each other.
    """
    with (locations.cache() / "source_archive.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        checked(
            sys.executable, "setup.py", "-q", "egg_info", "-e", into, "sdist", "-d", into, cwd=ROOT
        )
    packed = next(into.glob("*.tar.gz"))
    with tarfile.open(packed) as archive:
        archive.extractall(into, filter="data")
    return into / packed.name.removesuffix(".tar.gz")


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return source_archive(tmp_path_factory.mktemp("sdist"))


def environment(folder: Path) -> Installed:
    made = Installed(folder)
    without_pip = [] if REAL else ["--without-pip"]
    checked(sys.executable, "-m", "venv", *without_pip, made.folder)
    return made


@pytest.fixture(scope="session")
def light(tmp_path_factory: pytest.TempPathFactory, unpacked: Path) -> Installed:
    """wakeproof, cffi and greenlet."""
    made = environment(tmp_path_factory.mktemp("light"))
    if REAL:
        wheels = made.folder / "wheels"
        checked(made.python, "-m", "pip", "wheel", "--no-deps", "-w", wheels, unpacked)
        checked(made.python, "-m", "pip", "install", next(wheels.glob("*.whl")))
        return made
    checked(sys.executable, "setup.py", "-q", "build_py", "--build-lib", made.site,
            "dist_info", "-o", made.site, cwd=unpacked)  # fmt: skip
    package = Path(wakeproof.__file__).parent / "_native"
    for file in [*package.glob("*.so"), *package.glob("*.cdef")]:
        shutil.copy(file, made.site / "wakeproof" / "_native")
    for name in ("cffi", "_cffi_backend*", "pycparser", "greenlet"):
        for found in SITE.glob(name):
            (made.site / found.name).symlink_to(found)
    assert Path(greenlet.__file__).parent.parent == SITE
    return made


@pytest.fixture(scope="session")
def judging(tmp_path_factory: pytest.TempPathFactory, light: Installed) -> Installed:
    """wakeproof[judge]; quick: the light one, with the packages of this environment."""
    made = environment(tmp_path_factory.mktemp("judging"))
    if REAL:
        wheel = next((light.folder / "wheels").glob("*.whl"))
        checked(made.python, "-m", "pip", "install", f"{wheel}[judge]")
        return made
    shutil.copytree(light.site, made.site, symlinks=True, dirs_exist_ok=True)
    (made.site / "beside.pth").write_text(f"{SITE}\n")
    return made


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the C library under DESTDIR, as a distribution does, and move it to its PREFIX."""
    folder = tmp_path_factory.mktemp("clib")
    there = folder / "usr"
    where = (f"LIB_OUT={folder}/out", f"PREFIX={there}", f"DESTDIR={folder}/stage")
    python = f"PYTHON={sys.executable}"
    checked("make", "install", python, *where, "CFLAGS=-Werror -O0", cwd=ROOT)
    shutil.move(f"{folder}/stage{there}", there)
    return there
