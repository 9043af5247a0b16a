# SPDX-License-Identifier: Apache-2.0
"""The commands that need no extra, `run`, `trace` and `doctor`, and a command line of these.

With the extra `judge`, the whole command line calls the same functions, and the tables have
colours.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import wakeproof
from wakeproof import cli, errors
from wakeproof import doctor as machine
from wakeproof._runtime.atomic import write_atomically
from wakeproof.cli.program import Program
from wakeproof.doctor import Finding
from wakeproof.plain import Show, table, to_json

if TYPE_CHECKING:
    from wakeproof.trace import Summary

PRESENT, LACKING, OPTIONAL = "ok", "MISSING", "optional"
DEMO = """
import time
from wakeproof import CarrierGroup

with CarrierGroup(4, work_stealing=True) as group:
    for burst in range(3):
        tasks = [group[burst].submit(time.sleep, 0.001 * (1 + n % 4)) for n in range(12)]
        for task in tasks:
            task.result()
        time.sleep(0.005)
"""
"""Submits all work of a burst to one carrier, so that its siblings steal."""


def run(arguments: list[str]) -> int | Program:
    """Run a command; return its exit code, or the program that `wakeproof run` is to run.

    Raises:
        UsageError: an unknown command or option, or a command that needs an extra.
    """
    extra = cli.COMMANDS.get(arguments[0])
    if extra:
        raise errors.UsageError(
            f"{arguments[0]} needs the extra {extra}: pip install 'wakeproof[{extra}]'"
        )
    if extra is None and not arguments[0].startswith("-"):
        names = ", ".join(sorted(cli.COMMANDS))
        raise errors.UsageError(f"No such command '{arguments[0]}'. Commands: {names}.")
    try:
        asked = _parser().parse_args(arguments)
        if asked.command == "doctor":
            return doctor(_print, as_json=asked.as_json)
        if asked.command == "run":
            return Program.of(asked.program, asked.threads, is_module=asked.is_module)
        trace(_print, asked.script, asked.out, as_json=asked.as_json)
    except KeyboardInterrupt:
        return errors.EXIT_INTERRUPTED
    except SystemExit as ended:  # --help, --version
        return int(ended.code or errors.EXIT_HOLDS)
    return errors.EXIT_HOLDS


class _Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line, as every command does."""

    def error(self, message: str) -> NoReturn:
        raise errors.UsageError(message)


def _parser() -> argparse.ArgumentParser:
    lines = []
    for name, extra in cli.COMMANDS.items():
        needs = f"  (needs: pip install 'wakeproof[{extra}]')" if extra else ""
        lines.append(f"  {name:<11} {_summary(name)}{needs}")
    parser = _Parser(
        prog="wakeproof", usage="wakeproof [--version] COMMAND ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="\n".join([cli.HELP, "", "commands:", *lines]), epilog=cli.EPILOG,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"wakeproof {wakeproof.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, prog="wakeproof",
                                     help=argparse.SUPPRESS)  # fmt: skip
    one = commands.add_parser("run", description=_summary("run"))
    one.add_argument("-m", dest="is_module", action="store_true",
                     help="Run a module by its name, as `python -m` does.")  # fmt: skip
    one.add_argument("--threads", default="os", help=Program.THREADS)
    one.add_argument("program", nargs=argparse.REMAINDER, help=Program.WHAT)
    for name in ("doctor", "trace"):
        one = commands.add_parser(name, description=_summary(name))
        one.add_argument("--json", dest="as_json", action="store_true",
                         help="Print one JSON object instead of tables.")  # fmt: skip
        if name == "trace":
            one.add_argument("-o", dest="out", metavar="FILE", type=Path,
                             default=Path("trace.json"),
                             help="Write the trace to this file. Default: trace.json.")  # fmt: skip
            text = "Run this Python script with its arguments. Default: a demo."
            one.add_argument("script", nargs="*", help=text)
    return parser


def _summary(command: str) -> str:
    """Return the first line of a command's docstring without an import, which may need an extra."""
    name, _, file = cli.place(command)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    return (ast.get_docstring(found) or "").split("\n")[0]


def _print(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(table(title, columns, rows))


def doctor(show: Show, *, as_json: bool) -> int:
    """Show what this machine offers; return the exit code, 3 if a needed part is missing."""
    findings = machine.examine()
    if cli.has_judge():
        from wakeproof.judge import needs

        findings += needs.examine()
    else:
        findings.append(Finding("judges", False, "not installed: pip install 'wakeproof[judge]'"))
    lacking = any(finding.needed and not finding.present for finding in findings)
    if as_json:
        print(to_json({"complete": not lacking, "findings": findings}))
    else:
        rows = [(finding.part, _state(finding), finding.value) for finding in findings]
        show("", ("part", "", "found"), rows)
    return errors.EXIT_ENVIRONMENT if lacking else errors.EXIT_HOLDS


def _state(finding: Finding) -> str:
    if finding.present:
        return PRESENT
    return LACKING if finding.needed else OPTIONAL


def trace(show: Show, script: list[str] | None, out: Path, *, as_json: bool) -> None:
    """Run a script, write what its groups did to `out`, and print a summary.

    Raises:
        UsageError: `out` cannot be written, the script failed, or no group was closed.
        MissingToolError: the format of `out` needs a library that is not installed.
    """
    from wakeproof import trace as events
    from wakeproof.cli import perfetto_trace

    own_format = out.suffix in perfetto_trace.SUFFIXES
    if own_format:
        perfetto_trace.require()
    if not out.absolute().parent.is_dir():  # checked before the script runs, not after
        raise errors.UsageError(
            f"-o {out}: there is no folder {out.parent}; make it, or name another file"
        )
    command = [sys.executable, *(script or ["-c", DEMO])]
    with tempfile.TemporaryDirectory(prefix="wakeproof-trace-") as folder:
        ended = subprocess.run(command, env={**os.environ, events.FOLDER: folder}, check=False)
        groups = events.load(Path(folder))
    if groups:
        chrome = events.chrome
        write_atomically(
            out, perfetto_trace.trace(groups) if own_format else json.dumps(chrome(groups))
        )
        _show(show, out, [events.summary(found) for found in groups], as_json=as_json)
    if ended.returncode:
        raise errors.UsageError(
            f"{' '.join(script or ['the demo'])} ended with exit code {ended.returncode}"
        )
    if not groups:
        raise errors.UsageError(
            "no carrier group was closed, so there is no trace; close each group"
        )


def _waits(found: Summary) -> list[tuple[str, str]]:
    """Return a row for each reason to wait, the longest wait first."""
    reasons = sorted(found.waits, key=lambda reason: -found.waited_s[reason])
    return [
        (f"waits of threads: {reason}", f"{found.waits[reason]:,}, "
         f"of {found.waited_s[reason]:.3f} s in all")
        for reason in reasons
    ]  # fmt: skip


def _show(show: Show, out: Path, summaries: Sequence[Summary], *, as_json: bool) -> None:
    if as_json:
        print(to_json({"file": str(out), "groups": summaries}))
        return
    for number, found in enumerate(summaries):
        rows = [
            ("time", f"{found.seconds:.3f} s"),
            ("submitted, run", f"{found.submits:,} tasks, {found.runs:,} steps"),
            ("drains", f"{found.drains:,}, of {found.batch:.1f} steps on average"),
            ("queue at a drain", f"{found.depth:.1f} on average, p99 {found.depth_p99:,}"),
            ("steals", ", ".join(f"{count:,} {kind}" for kind, count in found.steals.items())),
            ("sleeps", f"{found.parks:,}; {found.wakes_per_s:,.0f} wakes a second, "
                       f"{found.useless_wakes:,} for nothing"),
            ("pinned parks", f"{found.pinned_parks:,}, of {found.pinned_s:.3f} s in all"),
            *_waits(found),
            ("cost of tracing", f"about {found.overhead_ns / 1000:,.0f} us in all"),
        ]  # fmt: skip
        show(f"carrier group {number}", ("", ""), rows)
    print(f"\n{out}: open it in ui.perfetto.dev")
