# SPDX-License-Identifier: Apache-2.0
"""The package in an empty environment: light, and each command that needs an extra says so.

The installation itself is in tests/support/installed.py.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest
from tests.support.cases import COMPILES
from tests.support.installed import REAL, ROOT, Installed, checked, run

MOST_BYTES = 6_500_000  # of our own code, without extras
MADE = {"PKG-INFO", "setup.cfg", "python/wakeproof/_native/ffi.pyi"}
"""Files of the source archive that git does not have."""
OWN_TESTS = ("base", "queue", "sync", "wakeup", "project/test_clib.py", "project/test_package.py",
             "python/test_imports.py")  # fmt: skip
"""What an unpacked source archive runs: the C library, and the lower half of the runtime."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

pytestmark = COMPILES

PROGRAM = """
import sys, threading, wakeproof
parker = wakeproof.Parker()
threading.Timer(0.05, parker.unpark).start()
parker.park()
with wakeproof.CarrierGroup(1) as group:
    print(wakeproof.VirtualThread(lambda: 6 * 7, group=group).start().result(30))
print(wakeproof.__version__)
heavy = ("typer", "rich", "z3", "jpype", "wakeproof.judge", "wakeproof.bench", "wakeproof.cli")
print([name for name in heavy if name in sys.modules])
"""


def listed(*options: str) -> set[str]:
    ended = run("git", "ls-files", *options, cwd=ROOT)
    if ended.returncode != 0:
        pytest.skip("not run: needs git's list of files")
    return {name for name in ended.stdout.splitlines() if (ROOT / name).is_file()}


def test_the_source_archive_holds_every_tracked_file_and_what_the_build_makes(
    unpacked: Path,
) -> None:
    packed = {path.relative_to(unpacked).as_posix()
              for path in unpacked.rglob("*") if path.is_file()}  # fmt: skip
    new = listed("--others", "--exclude-standard")  # not yet added: somebody is at work
    assert listed() - packed == set()
    assert packed - listed() - new == MADE


def test_without_extras_it_runs_and_loads_nothing_of_the_judges(light: Installed) -> None:
    ended = light("-c", PROGRAM)
    assert (ended.stderr, ended.stdout) == ("", f"42\n{PROJECT['version']}\n[]\n")


def test_without_extras_it_needs_two_packages(light: Installed) -> None:
    script = "from importlib.metadata import requires as r; print(*r('wakeproof'), sep='\\n')"
    lines = light("-c", script).stdout.splitlines()
    assert [line for line in lines if "extra ==" not in line] == ["cffi>=2.0", "greenlet>=3.2"]
    assert [line for line in lines if "==" in line.partition(";")[0]] == []


def test_without_extras_ours_is_small(light: Installed) -> None:
    files = [path for path in (light.site / "wakeproof").rglob("*") if path.is_file()]
    assert light.site / "wakeproof" / "py.typed" in files  # a type checker reads ours
    assert light.site / "wakeproof" / "_native" / "ffi.pyi" in files
    sizes = {path: path.stat().st_size for path in files if path.suffix != ".pyc"}
    sys.stdout.write(f"{sum(sizes.values()):,} bytes in {len(sizes)} files\n")
    assert sum(sizes.values()) < MOST_BYTES


def test_without_extras_doctor_and_trace_work(light: Installed) -> None:
    ended = light("-m", "wakeproof", "doctor", "--json")
    found = {part["part"]: part["value"] for part in json.loads(ended.stdout)["findings"]}
    assert (ended.returncode, ended.stderr) == (0, "")
    assert found["judges"] == "not installed: pip install 'wakeproof[judge]'"
    ended = light("-m", "wakeproof", "trace", "-o", "events.json")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "submitted, run    36 tasks, 36 steps" in ended.stdout
    assert json.loads((light.folder / "events.json").read_text())["traceEvents"]


def test_without_extras_each_other_command_names_its_extra(light: Installed) -> None:
    shown = light("-m", "wakeproof", "--help").stdout
    for name, extra in {"check": "judge", "bench-http": "bench"}.items():
        ended = light("-m", "wakeproof", name, "-t", "Parker")
        install = f"pip install 'wakeproof[{extra}]'"
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr == f"wakeproof: {name} needs the extra {extra}: {install}\n"
        line = next(line for line in shown.splitlines() if line.startswith(f"  {name} "))
        assert line.endswith(f"(needs: {install})")
    ended = light("-m", "wakeproof", "chek")
    assert (ended.returncode, ended.stderr[:34]) == (2, "wakeproof: No such command 'chek'.")
    assert light("-m", "wakeproof", "--version").stdout == f"wakeproof {PROJECT['version']}\n"


@pytest.mark.rotates
def test_with_the_extra_an_installed_package_judges(judging: Installed) -> None:
    version = judging("-m", "wakeproof", "--version")
    assert version.stdout == f"wakeproof {PROJECT['version']}\n"
    ended = judging("-m", "wakeproof", "check", "-t", "^MCParker$", "--json")
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert [(found["config"], found["got"]) for found in report["results"]] == [
        ("MCParker.cfg", "ok")
    ]
    unpacked = Path(judging.caches) / "wakeproof"
    assert [path.name for path in unpacked.glob("sources-*/kernel/base/order.h")] == ["order.h"]


@pytest.mark.skipif(not REAL, reason="not run: make test-package")
def test_the_source_archive_runs_its_tests(judging: Installed, unpacked: Path) -> None:
    pip = (judging.python, "-m", "pip", "install")
    checked(*pip, "-e", f"{unpacked}[dev]")
    tests = [f"tests/{part}" for part in OWN_TESTS]
    ended = run(judging.python, "-m", "pytest", "-q", "-n", "2", *tests, cwd=unpacked)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-1000:]
    sys.stdout.write(ended.stdout.splitlines()[-1])
