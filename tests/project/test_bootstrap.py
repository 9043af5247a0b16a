# SPDX-License-Identifier: Apache-2.0
"""The set-up: a missing prerequisite is one line that names the package; an interrupted run is not
trusted; an up-to-date one does nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each test starts Python

ROOT = Path(__file__).resolve().parents[2]
BASE_PYTHON = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info[1]}"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with only the set-up script: enough for everything before the installation."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "bootstrap.py", tmp_path / "tools")
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    return tmp_path


def bootstrap(checkout: Path, *, path: str = "/usr/bin:/bin", **more: str) -> tuple[int, str]:
    run = subprocess.run(
        [str(BASE_PYTHON), str(checkout / "tools" / "bootstrap.py")],
        env={"PATH": path, "HOME": str(checkout), **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return run.returncode, run.stderr


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return folder


def test_a_missing_compiler_is_one_line_that_names_the_package(checkout: Path) -> None:
    expected = "wakeproof: no C compiler: install gcc (Debian: apt install gcc)\n"
    assert bootstrap(checkout, path="/nowhere") == (3, expected)


def test_a_compiler_named_by_cc_that_does_not_exist_is_named(checkout: Path) -> None:
    code, message = bootstrap(checkout, CC="nocc -O2")
    assert (code, message.count("\n")) == (3, 1)
    assert message.startswith("wakeproof: no C compiler (CC=nocc): install gcc")


def test_a_compiler_without_the_c_library_is_one_line(checkout: Path) -> None:
    broken = program(checkout / "bin", "cc", "exit 1")
    code, message = bootstrap(checkout, path=f"{broken}:/usr/bin:/bin")
    assert (code, message.count("\n")) == (3, 1)
    assert "libc6-dev" in message


def test_a_python_without_venv_is_one_line_that_names_the_package(checkout: Path) -> None:
    (checkout / "fake").mkdir()
    (checkout / "fake" / "ensurepip.py").write_text("raise ImportError\n")
    code, message = bootstrap(checkout, PYTHONPATH=str(checkout / "fake"))
    expected = "wakeproof: python3 has no venv: install python3-venv (Debian: apt install"
    assert (code, message.startswith(expected), message.count("\n")) == (3, True, 1)


def test_no_python_at_all_is_one_line_that_names_the_package() -> None:
    run = subprocess.run(
        ["make", "-C", str(ROOT), "venv", "PYTHON=nopython3"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "wakeproof: no nopython3: install Python 3.11 or newer (Debian: apt" in run.stderr


@pytest.mark.rotates
def test_a_failed_installation_is_not_trusted_by_the_next_run(checkout: Path) -> None:
    (checkout / "requirements.txt").write_text(
        "no-such-package-of-wakeproof==1.0 --hash=sha256:0\n"
    )
    for _ in range(2):
        code, message = bootstrap(checkout, PIP_NO_INDEX="1")
        assert code == 3
        assert "wakeproof: making build/venv" in message
        assert message.endswith("is the package index reachable?\n")


def test_an_environment_that_is_up_to_date_is_left_alone() -> None:
    script = [sys.executable, str(ROOT / "tools" / "bootstrap.py")]
    subprocess.run(script, capture_output=True, check=True)  # the sources may have been edited
    stamps = sorted((ROOT / "build" / "venv").glob("wakeproof-*"))
    before = [stamp.stat().st_mtime_ns for stamp in stamps]
    run = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr, len(stamps)) == (0, "", 2)
    assert [stamp.stat().st_mtime_ns for stamp in stamps] == before


@pytest.mark.rotates
def test_the_wheel_carries_specs_headers_and_scenarios_and_can_judge(tmp_path: Path) -> None:
    source = tmp_path / "source"
    ignore = shutil.ignore_patterns("build", ".*", "*.so", "*.cdef", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT, source, ignore=ignore)
    build = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-q"]
    subprocess.run([*build, str(source), "-w", str(tmp_path)], check=True, capture_output=True)
    site = tmp_path / "site"
    with zipfile.ZipFile(next(tmp_path.glob("wakeproof-*.whl"))) as wheel:
        wheel.extractall(site)
    with zipfile.ZipFile(site / "wakeproof" / "_sources.zip") as sources:
        names = {Path(name).name for name in sources.namelist()}
    assert {"guard.h", "Guard.tla", "guard.c"} <= names
    judge = "import wakeproof, wakeproof.judge.check.run as j; wakeproof.Parker()"
    judge += "; print(wakeproof.__file__); r = j.check('MCGuard_no_fence')"
    judge += "; print(r.results[0].violated)"
    run = subprocess.run(
        [sys.executable, "-c", judge],
        env={"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines() == [str(site / "wakeproof/__init__.py"), "('NoLostWakeup',)"]
