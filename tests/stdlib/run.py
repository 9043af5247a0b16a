# SPDX-License-Identifier: Apache-2.0
"""Judges `wakeproof.install` and `wakeproof.aio` by CPython's own tests: ``make test-stdlib``.

Each module of tests runs in a process of its own, four times: with the body of each test in the
main thread and in an OS thread (plain CPython), and in a virtual thread, where the threads that a
test starts are OS threads or virtual ones.  The modules of test_asyncio run twice: with asyncio's
own selector loop, and with ours in its place.  `skips.toml` names each test that is left out, and
why.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
HUNG = 70  # as in child.py
MODULES = (
    "test_epoll",
    "test_httplib",
    "test_poll",
    "test_queue",
    "test_select",
    "test_selectors",
    "test_socket",
    "test_socketserver",
    "test_ssl",
    "test_subprocess",
    "test_thread",
    "test_threading",
    "test_threading_local",
    "test_urllib",
    "test_urllib2",
    "test_urllib2_localnet",
)
OUTCOMES = ("passed", "blocked", "failed", "skipped", "left out")
BAD = ("blocked", "failed")
Tests = dict[str, tuple[str, str]]
"""Of each test its outcome, and why."""
Results = dict[str, dict[str, Tests]]
"""Of each module and kind."""


@dataclass(frozen=True)
class Kind:
    """Where the bodies of tests run, and what the threads are that they start."""

    name: str
    bodies: str
    threads: str = "os"
    is_installed: bool = True
    loop: str = "asyncio"

    @property
    def is_ours(self) -> bool:
        """Whether bodies run in virtual threads, or with a loop of ours."""
        return self.bodies == "virtual" or self.loop != "asyncio"


KINDS = (
    Kind("main", "main"),
    Kind("thread", "os"),
    Kind("virtual", "virtual"),
    Kind("all virtual", "virtual", "virtual"),
)
LOOPS = (Kind("asyncio", "main"), Kind("aio", "main", loop="aio"))
OURS = {kind.name for kind in (*KINDS, *LOOPS) if kind.is_ours}
DEFECT = Kind("without install", "virtual", is_installed=False)
MUTE = Kind("without a write to the pipe", "main", loop="mute")


@dataclass
class Outcomes:
    """What the tests of a module have shown: for each its outcome and the reason."""

    tests: Tests = field(default_factory=dict)
    said: str = ""

    def count(self, outcome: str) -> int:
        """Return how many tests have this outcome."""
        return sum(found == outcome for found, _ in self.tests.values())


def of_asyncio() -> list[str]:
    """Return the modules of asyncio's own tests; those for Windows have no test here."""
    found = find_spec("test.test_asyncio")
    names = pkgutil.iter_modules((found and found.submodule_search_locations) or ())
    return [
        f"test_asyncio.{entry.name}"
        for entry in names
        if entry.name.startswith("test_") and "windows" not in entry.name
    ]


def kinds_of(module: str) -> tuple[Kind, ...]:
    """Return the ways in which the tests of a module are run."""
    return LOOPS if module.startswith("test_asyncio.") else KINDS


def left_out(module: str, kind: Kind, names: Iterable[str]) -> dict[str, str]:
    """Return which of the tests are left out, with reasons."""
    if not kind.is_ours:
        return {}
    tables = tomllib.loads((HERE / "skips.toml").read_text(encoding="utf-8"))
    found = {}
    for which in ("skips", "threads") if kind.threads == "virtual" else ("skips",):
        for pattern, reason in tables.get(which, {}).get(module, {}).items():
            for name in fnmatch.filter(names, pattern):
                found[name] = tables["reasons"][reason]
    return found


def judge(
    module: str,
    kind: Kind,
    *,
    only: Iterable[str] | None = None,
    listed: bool = False,
    limit_s: float = 60,
    python: str = sys.executable,
    environment: dict[str, str] | None = None,
) -> Outcomes:
    """Run the tests of `module`; after a test that ends its process, the rest in another."""
    outcomes = Outcomes()
    with tempfile.TemporaryDirectory(prefix="stdlib-") as folder:
        names = names_of(module, python, environment)
        if only is not None:
            wanted = set(only)
            names = [name for name in names if name in wanted]
        out = {} if listed else left_out(module, kind, names)
        outcomes.tests = {name: ("left out", why) for name, why in out.items()}
        rest = [name for name in names if name not in out]
        while rest:
            flags = ["--limit", str(limit_s)]
            lines, code, said = child(module, kind, folder, python, rest, flags, environment)
            outcomes.said += said
            running = ""
            for line in lines:
                running = line.get("begins", running)
                if "test" in line:
                    outcome, why = line["outcome"], line["why"]
                    if outcome == "passed" and "blocked_s" in line:
                        outcome, why = "blocked", f"its carrier stood still: {line['blocked_s']} s"
                    outcomes.tests[line["test"]] = (outcome, why)
                    running = ""
            if any("ended" in line for line in lines):
                break
            how = "hung" if running and code in (1, HUNG) else f"its process ended with {code}"
            outcomes.tests[running or module] = ("failed", f"{said[-6000:]}\n{how}")
            begun = {line["begins"] for line in lines if "begins" in line}
            if not begun:
                break
            rest = [name for name in rest if name not in begun]
    return outcomes


def names_of(
    module: str, python: str = sys.executable, environment: dict[str, str] | None = None
) -> list[str]:
    """Return the names of the module's tests."""
    with tempfile.TemporaryDirectory(prefix="stdlib-") as folder:
        lines, _, said = child(module, KINDS[0], folder, python, [], ["--list"], environment)
    assert lines, said
    return [line["name"] for line in lines]


def child(
    module: str,
    kind: Kind,
    folder: str,
    python: str,
    names: Sequence[str],
    flags: Sequence[str],
    environment: dict[str, str] | None = None,
) -> tuple[list[dict[str, str]], int, str]:
    """Run one process; return the lines of its record, its exit code and what it printed."""
    at = Path(tempfile.mkdtemp(dir=folder))
    record, only = at / "record", at / "only"
    record.touch()
    only.write_text("\n".join(names), encoding="utf-8")
    name = f"test.{module}" if module.startswith("test_") else module
    command = [python, str(HERE / "child.py"), name, "--bodies", kind.bodies]
    command += ["--threads", kind.threads, "--loop", kind.loop, "--record", str(record), *flags]
    command += ["--only", str(only)] if names else []
    command += [] if kind.is_installed else ["--plain"]
    (at / "cwd").mkdir()
    made = subprocess.Popen(
        command,
        cwd=at / "cwd",
        env={**os.environ, "TMPDIR": str(at), **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = made.communicate(timeout=1800)
    except BaseException:
        os.killpg(made.pid, 9)
        made.wait()
        raise
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return lines, made.returncode, said


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each module and kind, and each failure; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE[:Class.test]")
    parser.add_argument("--kind", choices=[kind.name for kind in (*KINDS, *LOOPS)], action="append")
    parser.add_argument("--listed", action="store_true", help="run what skips.toml leaves out")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one test")
    parser.add_argument("--json", type=Path, help="write all outcomes to this file")
    parser.add_argument("--said", action="store_true", help="show what the tests print")
    options = parser.parse_args(arguments)
    chosen: dict[str, list[str] | None] = {}
    for word in options.modules or (*MODULES, *of_asyncio()):
        module, _, test = word.partition(":")
        if find_spec(f"test.{module}") is None:
            parser.error(f"there is no module test.{module}; as in: test_queue")
        if test:
            chosen[module] = [*(chosen.get(module) or []), test]
        else:
            chosen[module] = None
    all_of: Results = {}
    for module, only in chosen.items():
        for kind in kinds_of(module):
            if options.kind and kind.name not in options.kind:
                continue
            if sys.stderr.isatty():
                print(f"{module} {kind.name}", file=sys.stderr)
            found = judge(module, kind, only=only, listed=options.listed, limit_s=options.limit)
            kinds = all_of.setdefault(module, {})
            kinds[kind.name] = found.tests
            fail_what_is_missing(kinds.get(kinds_of(module)[0].name, {}), found.tests)
            if options.said:
                print(found.said)
            for name, (outcome, why) in found.tests.items():
                if outcome in BAD and kind.is_ours:
                    last = why if options.said else why.strip().splitlines()[-1]
                    print(f"{module}:{name} {outcome}, {kind.name}: {last}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(all_of, indent=1), encoding="utf-8")
    show(all_of)
    ours = [tests for kinds in all_of.values() for name, tests in kinds.items() if name in OURS]
    return int(any(outcome in BAD for tests in ours for outcome, _ in tests.values()))


def fail_what_is_missing(plain: Tests, found: Tests) -> None:
    """Count as failed what plain CPython passes, and what is skipped or not run here."""
    for name, (outcome, _) in plain.items():
        other, why = found.get(name, ("not run", ""))
        if outcome == "passed" and other in ("skipped", "not run"):
            found[name] = "failed", f"plain CPython passes it, and here it is {other}: {why}"


def by_reason(all_of: Results, outcome: str) -> dict[str, list[str]]:
    """Return the tests that have this outcome here, by their reasons."""
    reasons: dict[str, list[str]] = {}
    for module, kinds in all_of.items():
        for kind, tests in kinds.items():
            for name, (found, why) in tests.items():
                if found == outcome and kind in OURS:
                    known = reasons.setdefault(why, [])
                    if f"{module}:{name}" not in known:
                        known.append(f"{module}:{name}")
    return reasons


def show(all_of: Results) -> None:
    """Print a row for each module and kind, and what is left out, with reasons."""
    print(
        f"CPython {sys.version.split()[0]}; bodies of tests run in the main thread, in an OS thread"
    )
    print("or in a virtual thread; all virtual: the threads that they start are virtual as well;")
    print("aio: in the main thread, where the loops of asyncio are wakeproof's")
    print()
    print(f"{'':34}{'bodies':14}" + "".join(f"{one:>10}" for one in OUTCOMES))
    for module, found in all_of.items():
        for at, (kind, tests) in enumerate(found.items()):
            counts = Counter(outcome for outcome, _ in tests.values())
            row = "".join(f"{counts[one] or '-':>10}" for one in OUTCOMES)
            print(f"{'' if at else module:34}{kind:14}{row}")
    for why, names in by_reason(all_of, "left out").items():
        print(f"\nleft out: {why}")
        for name in names:
            print(f"  {name}")
    print("\nskipped by CPython's own tests, here as in plain CPython:")
    for why, names in sorted(by_reason(all_of, "skipped").items()):
        modules = ", ".join(dict.fromkeys(name.partition(":")[0] for name in names))
        print(f"  {len(names):4}  {why or 'no reason is given'} ({modules})")


if __name__ == "__main__":
    sys.exit(main())
