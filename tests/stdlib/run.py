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
import pkgutil
import signal
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.support import suites
from tests.support.suites import BAD, Outcomes, Results

HERE = Path(__file__).parent
START = HERE.parent / "loops" / "start"  # its sitecustomize.py replaces loops
OUTCOMES = ("passed", "blocked", "failed", "skipped", "left out")
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
        flags = ["--limit", str(limit_s)]
        outcomes.run(
            module,
            [name for name in names if name not in out],
            lambda rest: child(module, kind, folder, python, rest, flags, environment),
        )
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
) -> suites.Run:
    """Run one process."""
    at = Path(tempfile.mkdtemp(dir=folder))
    record, only = at / "record", at / "only"
    only.write_text("\n".join(names), encoding="utf-8")
    name = f"test.{module}" if module.startswith("test_") else module
    command = [python, str(HERE / "child.py"), name, "--bodies", kind.bodies]
    command += ["--threads", kind.threads, "--record", str(record), *flags]
    command += ["--only", str(only)] if names else []
    command += [] if kind.is_installed else ["--plain"]
    (at / "cwd").mkdir()
    env = {"TMPDIR": str(at), **(environment or {})}
    if kind.loop != "asyncio":
        env |= {"PYTHONPATH": str(START), "WAKEPROOF_LOOP": kind.loop}
    return suites.run(command, at / "cwd", env, record)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each module and kind, and each failure; return the exit code."""
    # A shell that starts this in the background lets it ignore SIGINT, and so would the tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)
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
            suites.fail_what_is_missing(kinds.get(kinds_of(module)[0].name, {}), found.tests)
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


def show(all_of: Results) -> None:
    """Print a row for each module and kind, and what is left out, with reasons."""
    print(
        f"CPython {sys.version.split()[0]}; bodies of tests run in the main thread, in an OS thread"
    )
    print("or in a virtual thread; all virtual: the threads that they start are virtual as well;")
    print("aio: in the main thread, where the loops of asyncio are wakeproof's")
    print()
    suites.show_counts(all_of, "bodies", OUTCOMES)
    suites.show_left_out(all_of, OURS)
    print("\nskipped by CPython's own tests, here as in plain CPython:")
    suites.show_skipped(all_of, OURS)


if __name__ == "__main__":
    sys.exit(main())
