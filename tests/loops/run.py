# SPDX-License-Identifier: Apache-2.0
"""Judges `wakeproof.aio` by the suites of programs that others run on it: ``make test-loops``.

The suites of aiohttp, anyio, uvicorn and uvloop, from their source archives, run twice: with
asyncio's own selector loop, and with ours in its place.  In the suite of uvloop these also take the
place of uvloop's loop; for the others uvloop is not installed.  What fails with both loops is named
as such.  What fails with ours alone runs once more, by itself, because many of these tests expect
that something happens within a tenth of a second; `again` are those that pass then.  `skips.toml`
names each test that is left out, and why.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import re
import signal
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support import suites
from tests.support.suites import Outcomes, Results, Tests

from wakeproof import locations

HERE = Path(__file__).parent
FETCHED = locations.sources() / "build" / "loops"
"""Where the Makefile puts the packages and the suites."""
OUTCOMES = ("passed", "failed", "again", "both fail", "skipped", "left out")
LOOPS = ("asyncio", "aio")
MUTE = "mute"
LIMIT_S = 20.0
MOST = 160  # characters of what a failure comes to
ADDRESS = re.compile(r"0x[0-9a-f]+|/\S*/|\b\d{3,}\b")
"""What differs from run to run in the text of a failure."""


@dataclass(frozen=True)
class Suite:
    """The tests of a package, and what pytest is told of them."""

    name: str
    flags: tuple[str, ...] = ()
    uvloop: str = "missing"

    @property
    def folder(self) -> Path:
        """Where the suite is."""
        return FETCHED / "suites" / self.name


SUITES = {
    suite.name: suite
    for suite in (
        Suite("aiohttp", ("-m", "not dev_mode and not autobahn and not internal")),  # as theirs
        Suite("anyio"),
        Suite("uvicorn", ("--ignore=tests/benchmarks",)),
        Suite("uvloop", ("--import-mode=importlib",), uvloop="replaced"),
    )
}


def left_out(suite: Suite, names: Iterable[str]) -> dict[str, str]:
    """Return which of the tests are left out, with reasons."""
    tables = tomllib.loads((HERE / "skips.toml").read_text(encoding="utf-8"))
    return {
        name: tables["reasons"][reason]
        for pattern, reason in tables["skips"].get(suite.name, {}).items()
        for name in fnmatch.filter(names, pattern)
    }


def judge(
    suite: Suite, loop: str, names: Sequence[str], *, listed: bool = False, limit_s: float = LIMIT_S
) -> Outcomes:
    """Run these tests of the suite with a loop."""
    outcomes = Outcomes()
    out = {} if listed else left_out(suite, names)
    outcomes.tests = {name: ("left out", why) for name, why in out.items()}
    outcomes.run(
        suite.name,
        [name for name in names if name not in out],
        lambda rest: child(suite, loop, ["--timeout", str(limit_s)], rest),
    )
    return outcomes


def names_of(suite: Suite, pattern: str = "*") -> list[str]:
    """Return the names of the suite's tests that match: file, ``::`` and a name."""
    file = pattern.partition("::")[0]
    lines, _, said = child(
        suite, LOOPS[0], ["--collect-only"], files=["tests" if "*" in file else file]
    )
    names = fnmatch.filter([line["name"] for line in lines if "name" in line], pattern)
    assert names, said
    return names


def child(
    suite: Suite,
    loop: str,
    flags: Sequence[str],
    names: Sequence[str] = (),
    files: Sequence[str] = ("tests",),
) -> suites.Run:
    """Run one process, with these tests or all of the files."""
    with tempfile.TemporaryDirectory(prefix="loops-") as folder:
        at = Path(folder)
        record, only = at / "record", at / "only"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "recorder", "--record", str(record)]
        command += ["-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts="]
        if names:
            only.write_text("\n".join(names), encoding="utf-8")
            command += ["--only", str(only)]
            files = sorted({name.partition("::")[0] for name in names})
        env = {
            "TMPDIR": str(at),
            "PYTHONPATH": f"{HERE / 'start'}:{FETCHED / 'packages'}",
            "WAKEPROOF_LOOP": loop,
            "WAKEPROOF_UVLOOP": suite.uvloop,
        }
        return suites.run([*command, *suite.flags, *flags, *files], suite.folder, env, record)


def name_what_fails_with_both(plain: Tests, found: Tests) -> None:
    """Tell what fails with our loop only from what fails with asyncio's as well."""
    for name, (outcome, why) in plain.items():
        if outcome == "failed" and found.get(name, ("",))[0] == "failed":
            found[name] = "both fail", why


def run_again(suite: Suite, found: Outcomes, limit_s: float = LIMIT_S) -> None:
    """Run each test that failed with our loop once more, in a process of its own."""
    for name in [name for name, (outcome, _) in found.tests.items() if outcome == "failed"]:
        outcome, why = judge(suite, LOOPS[1], [name], limit_s=limit_s).tests.get(
            name, ("failed", "")
        )
        if outcome == "passed":
            found.tests[name] = "again", found.tests[name][1]
        else:
            found.tests[name] = "failed", why or found.tests[name][1]


def last_line(why: str) -> str:
    """Return what a failure comes to."""
    lines = [line for line in why.splitlines() if line.startswith("E ")] or why.splitlines()
    return lines[-1].removeprefix("E ").strip()[:MOST] if lines else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each suite and loop, and each failure; return the exit code."""
    # A shell that starts this in the background lets it ignore SIGINT, and so would the tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE[:PATTERN]")
    parser.add_argument("--loop", choices=LOOPS, action="append")
    parser.add_argument("--listed", action="store_true", help="run what skips.toml leaves out")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for one test")
    parser.add_argument("--json", type=Path, help="write all outcomes to this file")
    parser.add_argument("--said", action="store_true", help="show what the tests print")
    options = parser.parse_args(arguments)
    all_of: Results = {}
    for word in options.suites or SUITES:
        name, _, pattern = word.partition(":")
        if name not in SUITES:
            parser.error(f"there is no suite {name}; suites: {', '.join(SUITES)}")
        suite = SUITES[name]
        names = names_of(suite, pattern or "*")
        kinds = all_of.setdefault(name, {})
        for loop in options.loop or LOOPS:
            if sys.stderr.isatty():
                print(f"{name} {loop}", file=sys.stderr)
            found = judge(suite, loop, names, listed=options.listed, limit_s=options.limit)
            kinds[loop] = found.tests
            if loop == LOOPS[1]:
                plain = kinds.get(LOOPS[0], {})
                suites.fail_what_is_missing(plain, found.tests)
                name_what_fails_with_both(plain, found.tests)
                run_again(suite, found, limit_s=options.limit)
                for test, (outcome, why) in found.tests.items():
                    if outcome == "failed":
                        said = why if options.said else last_line(why)
                        print(f"{name}:{test} failed: {said}", flush=True)
            if options.said:
                print(found.said)
            if options.json:
                options.json.write_text(json.dumps(all_of, indent=1), encoding="utf-8")
    show(all_of)
    return int(
        any(
            outcome == "failed"
            for kinds in all_of.values()
            for outcome, _ in kinds.get(LOOPS[1], {}).values()
        )
    )


def show(all_of: Results) -> None:
    """Print a row for each suite and loop, and what is left out, with reasons."""
    pinned = (HERE / "sources.txt").read_text(encoding="utf-8").splitlines()
    versions = [line.split()[0].replace("==", " ") for line in pinned if "==" in line]
    print(f"CPython {sys.version.split()[0]}; {', '.join(versions)}; asyncio: its own selector")
    print("loop; aio: wakeproof's in its place; again: failed, and passed when it ran by itself;")
    print("both fail: so it does with asyncio's own loop")
    print()
    ours = {LOOPS[1]}
    suites.show_counts(all_of, "loop", OUTCOMES)
    for outcome, what in (
        ("again", "passes by itself"),
        ("both fail", "fails with asyncio's own loop as well"),
    ):
        reasons: dict[str, list[str]] = {}
        for why, names in suites.by_reason(all_of, outcome, ours).items():
            reasons.setdefault(ADDRESS.sub("...", last_line(why)), []).extend(names)
        for why, names in reasons.items():
            print(f"\n{what}: {why}")
            for name in names:
                print(f"  {name}")
    suites.show_left_out(all_of, ours)
    print("\nskipped by the suites themselves, here as with asyncio's own loop:")
    suites.show_skipped(all_of, ours)


if __name__ == "__main__":
    sys.exit(main())
