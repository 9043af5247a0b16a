# SPDX-License-Identifier: Apache-2.0
"""Other Pythons beside the one of build/venv: where they are, and tests under them.

  python -m tools.pythons path 3.14t               print where it is; fetch or build it if needed
  python -m tools.pythons venv 3.14t               print the Python of an environment with wakeproof
  python -m tools.pythons test 3.12 3.13 [-- ARG]  run pytest under each
  python -m tools.pythons free [-- ARG]            the same without the GIL, with figures
  python -m tools.pythons rows 3.12 3.13 [-- ROW]  our virtual threads beside their peers under each

A name is 3.12, or 3.14t for one without the GIL.  Where they come from: this machine (PATH,
pyenv); else Debian's newer suites, unpacked beside the system; those without the GIL are built from
Debian's sources, without profile-guided optimisation.  What was fetched or built stays in the
user's cache.  A Python that cannot be had is skipped, with its name and the reason.

3.13t stands in where the source of 3.14 is not to be had.  cffi 2.1 refuses it, and greenlet 3.5
leaves two declarations out; both are built here from their sources with these two things changed.
Users of Python without the GIL need 3.14t, for which both have wheels.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.debian import CannotBeHadError, Suite

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wakeproof" / "pythons"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
SUITES = ("sid", "forky")  # where Debian has what is newer than this machine's own
PACKED = (3, 14)  # from here on Debian's packages are newer than what machines have
NEEDED = ("cffi", "coverage", "execnet", "greenlet", "hypothesis", "iniconfig", "packaging",
          "pluggy", "pycparser", "pygments", "pytest", "pytest-xdist", "setuptools",
          "sortedcontainers")  # fmt: skip
STAND_IN = "3.13t"
FREE = ("3.14t", STAND_IN)
WITHOUT_WHEEL = "hypothesis<6.156"  # the last that is Python only
TESTS = ("tests/python", "tests/schedules", "tests/sync", "tests/sched", "tests/io", "tests/scope",
         "tests/queue", "tests/pool", "tests/thread", "tests/wakeup", "tests/inspect")  # fmt: skip
BUILD_S = 3600
GEVENT = "gevent>=26.9"
CALLS, TASKS = ("ours", "gevent"), ("coroutines", "asyncio")
# row of bench/peers/threads.py: how many operations; side, peer, and the most of the peer
ROWS: dict[str, tuple[int, list[tuple[str, str, float]]]] = {
    "yield": (100_000, [(*TASKS, 0.3), (*CALLS, 0.8)]),
    "join": (10_000, [(*TASKS, 0.3), (*CALLS, 0.8)]),
    "many_10k": (10_000, [(*TASKS, 0.3), (*CALLS, 0.8)]),
    "many_100k": (100_000, [(*TASKS, 0.3), (*CALLS, 0.8)]),
    "turns_10k": (10_000, [(*TASKS, 1), (*CALLS, 1)]),
    "memory": (20_000, [(*TASKS, 1), (*CALLS, 1)]),
    "lock": (1_000_000, [("ours", "standard", 1.5)]),
    "channel": (1_000_000, [("ours", "standard", 1)]),
    "submit": (10_000, [("ours", "standard", 0.5)]),
    "trip": (10_000, [("ours", "standard", 0.5)]),
    "outside": (10_000, [("ours", "standard", 1)]),
}
RUNS = 3
START = """\
#!/bin/sh
root=$(dirname "$(dirname "$(readlink -f "$0")")")
lib=$root/lib/x86_64-linux-gnu
exec "$lib/ld-linux-x86-64.so.2" --argv0 "$0" --library-path "$lib" "$root/bin/python{}" "$@"
"""
LACKING = """\
struct _ts;
#ifdef __cplusplus
extern "C" {
#endif
void _PyCriticalSection_SuspendAll(struct _ts *);
void _PyCriticalSection_Resume(struct _ts *);
#ifdef __cplusplus
}
#endif
"""


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> str:
    """Run a command; return what it says, or raise it if it fails."""
    ended = subprocess.run(
        [*map(str, command)], cwd=cwd, env={**os.environ, **variables},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=BUILD_S,
    )  # fmt: skip
    if ended.returncode:
        last = "\n".join(ended.stdout.splitlines()[-5:])
        raise CannotBeHadError(f"{Path(command[0]).name} {command[1]} failed:\n{last}")
    return ended.stdout.strip()


def _checked(name: str) -> tuple[int, int]:
    match = re.fullmatch(r"3\.(\d+)t?", name)
    if match is None:
        sys.stderr.write(f"{name!r} is no Python; allowed: 3.11 and later, and 3.13t and later\n")
        raise SystemExit(2)
    return 3, int(match[1])


def _is(python: Path, name: str) -> bool:
    """Return whether that Python is the one with this name, and has headers."""
    code = (
        "import sys, sysconfig, pathlib;"
        "print('%d.%d' % sys.version_info[:2] +"
        " ('t' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''),"
        " (pathlib.Path(sysconfig.get_paths()['include']) / 'Python.h').is_file())"
    )
    try:
        ended = subprocess.run(
            [python, "-c", code], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError:
        return False
    return ended.stdout.split() == [name, "True"]


def _on_machine(name: str) -> Path | None:
    found = [Path(path) for path in (shutil.which(f"python{name}"),) if path]
    found += sorted(Path.home().glob(f".pyenv/versions/{name}*/bin/python3"))
    return next((python for python in found if _is(python, name)), None)


def _each_suite(take: Callable[[Suite], Path]) -> Path:
    """Return what the first suite that has it gives."""
    refused: list[str] = []
    for suite in SUITES:
        try:
            return take(Suite(suite, CACHE / suite))
        except CannotBeHadError as error:
            refused.append(str(error))
    raise CannotBeHadError("; ".join(refused))


def _unpacked(name: str, into: Path) -> Path:
    """Unpack Debian's packages, and a script that starts Python with their C library."""

    def take(suite: Suite) -> Path:
        packages = (f"python{name}-venv", f"python{name}-dev")
        suite.unpack(into, *packages, needed=True)
        return into / "usr"

    usr = _each_suite(take)
    multiarch = usr / "include" / f"python{name}" / "x86_64-linux-gnu"  # where pyconfig.h looks
    multiarch.unlink(missing_ok=True)
    multiarch.symlink_to("../x86_64-linux-gnu")
    start = usr / "bin" / "python3"
    start.unlink(missing_ok=True)
    start.write_text(START.format(name), "utf-8")
    start.chmod(0o755)
    return start


def _built(name: str, into: Path) -> Path:
    """Build it from Debian's source."""
    archive = _each_suite(lambda suite: suite.source(f"python{name.removesuffix('t')}"))
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        source = next(Path(folder).iterdir())
        print(f"wakeproof: building Python {name} from {archive.name}: minutes", file=sys.stderr)
        run("./configure", "-q", "--disable-gil", f"--prefix={into}", "--with-ensurepip=no",
             "--disable-test-modules", cwd=source)  # fmt: skip
        run("make", f"-j{os.cpu_count()}", cwd=source)
        run("make", "install", cwd=source)
    return into / "bin" / "python3"


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Let no other process fetch or build the same meanwhile."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def path(name: str) -> Path:
    """Return the Python of that name, which is fetched or built if it is not there.

    Raises:
        CannotBeHadError: it is not to be had; the text says why.
    """
    version = _checked(name)
    if (found := _on_machine(name)) is not None:
        return found
    kept = CACHE / name
    inside = next((p for p in (kept / "bin/python3", kept / "usr/bin/python3") if p.exists()), None)
    if inside is not None and _is(inside, name):
        return inside
    if not name.endswith("t") and version < PACKED:
        raise CannotBeHadError(f"no python{name} with its headers on PATH or in ~/.pyenv/versions")
    kept.mkdir(parents=True, exist_ok=True)
    made = (_built if name.endswith("t") else _unpacked)(name, kept)
    if not _is(made, name):
        raise CannotBeHadError(f"{made} was made, but is no Python {name}")
    return made


def _pinned() -> str:
    """Return the lines of requirements.txt for what the tests of Python's part need."""
    text = (ROOT / "requirements.txt").read_text("utf-8")
    blocks = re.findall(r"^([a-z0-9-]+)(==(?:.*\\\n)*.*\n)", text, re.MULTILINE)
    return "".join(name + rest for name, rest in blocks if name in NEEDED)


def _stand_in(python: Path, folder: Path) -> None:
    """Install what tests need where cffi and greenlet say that they do not support this Python."""
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", _pinned(), re.MULTILINE))
    plain = [f"{name}=={pins[name]}" for name in NEEDED
             if name not in ("cffi", "greenlet", "hypothesis")]  # fmt: skip
    into = [*PIP, "--python", python]
    run(*into, "install", *plain, WITHOUT_WHEEL)
    for name in ("cffi", "greenlet"):
        run(*PIP, "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
             "-d", folder, f"{name}=={pins[name]}")  # fmt: skip
        with tarfile.open(next(folder.glob(f"{name}-*.tar.gz"))) as packed:
            packed.extractall(folder, filter="data")
    setup = folder / f"cffi-{pins['cffi']}" / "setup.py"
    text = setup.read_text("utf-8")
    setup.write_text(text.replace("sys.version_info < (3, 14)", "False"), "utf-8")
    lacking = folder / "lacking.h"
    lacking.write_text(LACKING, "utf-8")
    for name in ("cffi", "greenlet"):
        run(*into, "install", "--no-build-isolation", "--no-deps", folder / f"{name}-{pins[name]}",
             CPPFLAGS=f"-include {lacking}")  # fmt: skip


def environment(name: str) -> Path:
    """Return the Python of an environment of that name, with what building and testing need.

    Raises:
        CannotBeHadError: as `path`; or something cannot be installed.
    """
    base, folder = path(name), ROOT / "build" / "pythons" / name
    python = folder / "bin" / "python"
    stamp, pinned = folder / "wakeproof-dependencies", _pinned()
    if not stamp.exists() or stamp.read_text("utf-8") != pinned:
        run(base, "-m", "venv", "--clear", "--without-pip", folder)
        with tempfile.TemporaryDirectory() as made:
            listed = Path(made) / "requirements.txt"
            listed.write_text(pinned, "utf-8")
            if name == STAND_IN:
                _stand_in(python, Path(made))
            else:
                run(*PIP, "--python", python, "install", "--require-hashes", "-r", listed)
        stamp.write_text(pinned, "utf-8")
    return python


def venv(name: str) -> Path:
    """Return the Python of an environment of that name, with wakeproof as it is now.

    Raises:
        CannotBeHadError: as `environment`.
    """
    python = environment(name)
    run(*PIP, "--python", python, "install", "--no-build-isolation", "--no-deps",
         "--no-cache-dir", "--force-reinstall", ROOT)  # fmt: skip
    return python


def _environments(names: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield each with the Python of its environment; print which are skipped, and why."""
    for name in names:
        try:
            with alone():
                python = venv(name)
        except CannotBeHadError as error:
            print(f"wakeproof: Python {name}: SKIPPED: {error}", flush=True)
        else:
            yield name, python


def test(names: list[str], arguments: list[str]) -> int:
    """Run pytest under each; return 1 if tests failed under one, else 0."""
    failed = 0
    for name, python in _environments(names):
        print(f"wakeproof: Python {name}: {python}", flush=True)
        command = [python, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-p",
                   "no:cacheprovider", *(arguments or TESTS)]  # fmt: skip
        ended = subprocess.run([*map(str, command)], cwd=ROOT, check=False)
        failed |= ended.returncode != 0
    return int(failed)


def figures(name: str) -> dict[str, float]:
    """Return what tools/scaling.py measures under that Python, whose environment is there."""
    python = ROOT / "build" / "pythons" / name / "bin" / "python"
    found: dict[str, float] = json.loads(run(python, "tools/scaling.py", cwd=ROOT))
    return found


def rows(names: list[str], wanted: list[str]) -> int:
    """Print CPU time of virtual threads and of their peers under each, with goals."""
    for name, python in _environments(names):
        run(*PIP, "--python", python, "install", GEVENT)
        for row, (operations, pairs) in ROWS.items():
            for side, peer, most in pairs if row in (wanted or ROWS) else ():
                print(f"{name:6}{row:10}", compare(python, row, operations, side, peer, most),
                      flush=True)  # fmt: skip
    return 0


def compare(python: Path, row: str, operations: int, side: str, peer: str, most: float) -> str:
    """Return what both take for an operation, the least of `RUNS` runs, and the ratio."""

    def measured(side: str) -> float:
        told = run(python, "bench/peers/threads.py", f"python_{row}", side, str(operations),
                   cwd=ROOT)  # fmt: skip
        return float(told)

    ours, peers = map(min, zip(*[(measured(side), measured(peer)) for _ in range(RUNS)],
                               strict=True))  # fmt: skip
    unit = "bytes" if row == "memory" else "ns"
    met = "met" if ours / peers <= most else "short"
    return (f"{side:10} {ours:9.0f} {unit}  {peer:8} {peers:9.0f}  ratio {ours / peers:5.2f}"
            f"  goal {most:g} {met}")  # fmt: skip


def free(arguments: list[str]) -> int:
    """Test and measure without the GIL: under the newest such Python that can be had."""
    for name in FREE:
        try:
            with alone():
                venv(name)
        except CannotBeHadError as error:
            print(f"wakeproof: Python {name}: SKIPPED: {error}", flush=True)
            continue
        os.environ.setdefault("WAKEPROOF_STRESS_S", "3")
        failed = test([name], arguments)
        with_gil = name.removesuffix("t")
        with alone():
            venv(with_gil)
        runs = [(figures(name), figures(with_gil)) for _ in range(3)]
        ours, others = (
            {row: min(side[row] for side in sides) for row in sides[0]}
            for sides in zip(*runs, strict=True)
        )
        for row, seconds in ours.items():
            print(f"{row:26}{name:>6} {seconds:6.3f} s{with_gil:>6} {others[row]:6.3f} s"
                  f"  {seconds / others[row]:5.2f}")  # fmt: skip
        for one, two in (("work on one carrier", "work on two carriers"),
                         ("submit from one thread", "submit from two threads")):  # fmt: skip
            print(f"{two}: {ours[one] / ours[two]:.2f} times one (with the GIL "
                  f"{others[one] / others[two]:.2f})")  # fmt: skip
        return failed
    return 0


def main(arguments: list[str]) -> int:
    """Do what the command line says."""
    given = arguments[: arguments.index("--")] if "--" in arguments else arguments
    match given:
        case ["path" | "venv" as what, name]:
            try:
                with alone():
                    print(path(name) if what == "path" else venv(name))
            except CannotBeHadError as error:
                print(f"wakeproof: Python {name} cannot be had here: {error}", file=sys.stderr)
                return 3
            return 0
        case ["test", *names] if names:
            return test(names, arguments[len(given) + 1 :])
        case ["rows", *names] if names:
            return rows(names, arguments[len(given) + 1 :])
        case ["free"]:
            return free(arguments[2:])
    sys.stderr.write(f"{__doc__}")
    return 2


if __name__ == "__main__":
    os.nice(10)  # builds and tests leave the machine to others
    sys.exit(main(sys.argv[1:]))
