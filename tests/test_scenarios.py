"""Our own scenarios: with each compiler, under each sanitizer, and as AArch64 under qemu-user.

Sanity mode: a few blocks of each. What real cores show is for `make stress`; this is about the
code.  `make builds`: each sanitizer with each compiler, and every scenario under qemu.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.conftest import Command

pytestmark = pytest.mark.slow
IS_LONG = os.environ.get("WAKEPROOF_BUILDS") == "1"
long = pytest.mark.skipif(not IS_LONG, reason="takes minutes: make builds")
ONE_EACH = "^(guard|idleset|mpsc|parker|ring|search|task|ticket|vthread)$"
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


def sanity(wakeproof: Command, *options: str, least: int = 20, **variables: str) -> None:
    ended = wakeproof("stress", *QUICK, *options, **variables)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    scenarios = json.loads(ended.stdout)["report"]["scenarios"]
    assert len(scenarios) >= least
    assert all(scenario["samples"] > 0 for scenario in scenarios)


def has_sanitizers(compiler: str, folder: Path) -> bool:
    source = folder / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    command = [compiler, "-fsanitize=address", str(source), "-o", str(folder / "empty")]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


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
    sanity(wakeproof, "--sanitizer", sanitizer, CC=compiler)


@pytest.mark.parametrize("compiler", ["gcc", CLANG])
def test_each_compiler_builds_without_a_warning(wakeproof: Command, compiler: str) -> None:
    needs(compiler, compiler)
    sanity(wakeproof, CC=compiler, WAKEPROOF_CI="1")


def test_the_aarch64_build_holds_under_qemu(wakeproof: Command) -> None:
    needs("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross")
    needs("qemu-aarch64", "qemu-user")
    only, least = ((), 20) if IS_LONG else (("-t", ONE_EACH), 9)
    cross = {"CC": "aarch64-linux-gnu-gcc -static", "WAKEPROOF_RUNNER": "qemu-aarch64"}
    sanity(wakeproof, *only, least=least, **cross)
