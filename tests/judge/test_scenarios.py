"""Our own scenarios: with each compiler, under each sanitizer, and as AArch64 under qemu-user.

Sanity mode runs a few blocks of each. Outcomes of real cores are for `make stress`; these tests are
about the code.  A commit has a sixteenth of the files in each build, which its hash chooses, and at
times a few under qemu. `make builds` has all of them, each sanitizer with each compiler.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.conftest import Command

from wakeproof import locations
from wakeproof.judge import lock
from wakeproof.judge import scenarios as declared

pytestmark = pytest.mark.slow
IS_LONG = os.environ.get("WAKEPROOF_BUILDS") == "1"
PARTS = 16
long = pytest.mark.skipif(not IS_LONG, reason="takes minutes: make builds")
FEW = ("guard", "idle_set", "mpsc", "parker", "event_ring", "search", "task", "biased_lock",
       "vthread")  # fmt: skip
CLANG = next((c for c in ("clang", "clang-19") if shutil.which(c)), "clang")
QUICK = ("--mode", "sanity", "--no-twins", "--opt", "O2", "--plain", "--json")


def lacks(package: str) -> None:
    text = f"not run: install {package}"
    if os.environ.get("WAKEPROOF_CI") == "1":
        pytest.fail(text)
    pytest.skip(text)


def needs(tool: str, package: str) -> None:
    if shutil.which(tool) is None:
        lacks(package)


def part(which: int) -> list[Path]:
    return declared.find()[which % PARTS :: PARTS]


def chosen() -> list[Path]:
    """Return the files of the commit's part; all files if there is no commit."""
    found = lock.share_of(locations.sources())
    return declared.find() if IS_LONG or found is None else part(int(found[1], 16))


def sanity(wakeproof: Command, files: list[Path], *options: str, **variables: str) -> None:
    ended = wakeproof("stress", *QUICK, *options, *map(str, files), **variables)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    scenarios = json.loads(ended.stdout)["report"]["scenarios"]
    assert {scenario["file"] for scenario in scenarios} == set(map(str, files))
    assert all(scenario["samples"] > 0 for scenario in scenarios)


def test_each_file_is_in_one_of_the_parts_and_each_part_has_some() -> None:
    parts = [part(which) for which in range(PARTS)]
    assert sorted(file for files in parts for file in files) == declared.find()
    assert all(len(files) >= 2 for files in parts)


def has_sanitizers(compiler: str, folder: Path) -> bool:
    source = folder / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    command = [compiler, "-fsanitize=address", str(source), "-o", str(folder / "empty")]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.always
@pytest.mark.parametrize(
    ("compiler", "sanitizer"),
    [
        ("gcc", "address,undefined"),
        (CLANG, "thread"),
        pytest.param(CLANG, "address,undefined", marks=long),
        pytest.param("gcc", "thread", marks=long),
    ],
)
def test_sanitizers_find_nothing(
    wakeproof: Command, compiler: str, sanitizer: str, tmp_path: Path
) -> None:
    needs(compiler, compiler)
    if not has_sanitizers(compiler, tmp_path):
        lacks(f"the sanitizers of {compiler} (Debian: libclang-rt-dev)")
    sanity(wakeproof, chosen(), "--sanitizer", sanitizer, CC=compiler)


@pytest.mark.always
@pytest.mark.parametrize("compiler", ["gcc", CLANG])
def test_each_compiler_builds_without_a_warning(wakeproof: Command, compiler: str) -> None:
    needs(compiler, compiler)
    sanity(wakeproof, chosen(), CC=compiler, WAKEPROOF_CI="1")


@pytest.mark.rotates
def test_the_aarch64_build_holds_under_qemu(wakeproof: Command) -> None:
    needs("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross")
    needs("qemu-aarch64", "qemu-user")
    few = [file for file in declared.find() if file.stem in FEW]
    assert len(few) == len(FEW)
    cross = {"CC": "aarch64-linux-gnu-gcc -static", "WAKEPROOF_RUNNER": "qemu-aarch64"}
    sanity(wakeproof, declared.find() if IS_LONG else few, **cross)
