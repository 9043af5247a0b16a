# SPDX-License-Identifier: Apache-2.0
"""Builds the wheels that this machine can build, without containers, and tests each of them.

    make wheels [PYTHONS="3.14"]  a source archive, and a wheel for each Python, in build/wheels
    make wheels PYTHONS=aarch64   a wheel cross-built for AArch64, tested under qemu

The source archive is built first, and the wheels from what it holds. auditwheel puts liburing into
each wheel, and names the oldest platform that it runs on. That is this machine's, so what is
published comes from cibuildwheel (pyproject.toml), whose containers have an older C library; here
it says which wheels it would build. twine checks the metadata. Then each wheel is installed from
the registry into an empty environment, where smoke.py runs. A Python that cannot be had is skipped,
with its name and the reason.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from tests.support.installed import source_archive
from tools import pythons
from tools.debian import CannotBeHadError
from tools.wheels import aarch64

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "wheels"
TOOLS = OUT / "tools" / "bin"
SMOKE = Path(__file__).with_name("smoke.py")


def repaired(raw: Path, libraries: Path = Path("/usr/lib/x86_64-linux-gnu")) -> Path:
    """Return the wheel with the libraries that it needs, under the platform's name."""
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        path = f"{TOOLS}:/usr/local/bin:/usr/bin:/bin"  # where auditwheel finds patchelf
        pythons.run(TOOLS / "auditwheel", "repair", "-w", folder, raw, PATH=path,
                    LD_LIBRARY_PATH=str(libraries))  # fmt: skip
        made = next(Path(folder).glob("*.whl"))
        return made.replace(OUT / made.name)


def built(name: str, sources: Path) -> Path:
    """Build the wheel for that Python and repair it."""
    with pythons.alone():
        python = pythons.environment(name)
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        pythons.run(*pythons.PIP, "--python", python, "wheel", "--no-build-isolation", "--no-deps",
                    "--no-cache-dir", "-w", folder, sources)  # fmt: skip
        return repaired(next(Path(folder).glob("*.whl")))


def tested(name: str, wheel: Path) -> str:
    """Install the wheel with its judges into an empty environment; return what smoke.py says."""
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        pythons.run(pythons.path(name), "-m", "venv", "--without-pip", folder)
        python = Path(folder) / "bin" / "python"
        pythons.run(*pythons.PIP, "--python", python, "install", f"{wheel}[judge]")
        return pythons.run(python, SMOKE, cwd=Path(folder), XDG_CACHE_HOME=f"{folder}/caches")


def main(names: list[str]) -> int:
    """Build and test the wheel of each; return 1 if one that could be built failed."""
    for old in OUT.glob("wakeproof-*"):
        old.unlink()
    identifiers = pythons.run(TOOLS / "cibuildwheel", "--platform", "linux",
                              "--print-build-identifiers", ROOT).split()  # fmt: skip
    print(f"cibuildwheel builds {len(identifiers)} wheels: {', '.join(identifiers)}", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        sources = source_archive(Path(folder))
        archive = shutil.copy(f"{sources}.tar.gz", OUT)
        print(pythons.run(TOOLS / "twine", "check", "--strict", archive, NO_COLOR="1"), flush=True)
        for name in names:
            cross = name == "aarch64"
            try:
                with pythons.alone():
                    aarch64.root() if cross else pythons.path(name)
            except CannotBeHadError as error:
                print(f"{name}: SKIPPED: {error}", flush=True)
                continue
            try:
                if cross:
                    wheel = repaired(
                        aarch64.built(sources, Path(folder)), aarch64.root() / aarch64.LIBRARIES
                    )
                    said = aarch64.tested(wheel, Path(folder), SMOKE)
                else:
                    wheel = built(name, sources)
                    said = tested(name, wheel)
                pythons.run(TOOLS / "twine", "check", "--strict", wheel)
            except CannotBeHadError as error:
                failed = 1
                print(f"{name}: FAILED: {error}", flush=True)
            else:
                print(f"{wheel.name}: {wheel.stat().st_size:,} bytes; {said}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
