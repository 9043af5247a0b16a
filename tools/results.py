# SPDX-License-Identifier: Apache-2.0
"""Writes docs/results/, a page for each result of a release.

    make results              all of them
    make results T=bench      one: audit, claims, museum, watch-corpus, watch-twins, test-stdlib,
                              test-loops, campaign, campaign-judges, soak-threads, bench or
                              bench-http

A page has the output of its command, the version, the day and the machine. The pages of benchmarks
begin with plots, each an SVG beside the page. The pages are moved to docs/results/ when all
commands have succeeded. If one fails, docs/results/ stays as it was, and build/results/ has the
pages of the commands before it.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tools import plots
from tools.plots import Plot

import wakeproof
from wakeproof import locations
from wakeproof.locations import write_atomically

ROOT = Path(__file__).resolve().parent.parent
PARTS = {
    "audit": "every claim, and what each judge says of it",
    "claims": "every claim in words, with its code and scenarios",
    "museum": "real lost wakeups of other systems, and who sees them",
    "watch-corpus": "running processes, watched from outside: hangs and healthy programs",
    "watch-twins": "broken kernels that hang, watched from outside",
    "test-stdlib": "CPython's own tests, in virtual threads",
    "test-loops": "suites of others, with our event loop",
    "campaign": "each call of a running kernel to the system fails in turn",
    "campaign-judges": "calls of the judges to the system fail, one in each run",
    "soak-threads": "virtual threads by the million, for half an hour in each build",
    "bench": "speed beside peers and limits",
    "bench-http": "an HTTP proxy beside others",
}
"""Targets of make, and what they print."""
BENCHED = locations.cache() / "bench" / "bench.json"
"""Where `make bench` stores what it has measured."""
BENCHED_WEB = locations.cache() / "bench" / "http.json"
"""Where `make bench-http` does."""
COLUMNS = "220"  # the widest table is not broken
PROGRESS = re.compile(r"\[ *\d+/\d+\] ")  # a line about what comes next
CACHED = "stored in "  # the line that names a file of this machine
OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "T")  # meant for this run alone


class FailedError(Exception):
    """A command failed."""


def run(part: str) -> str:
    """Run `make PART`, which shows its progress; return what it printed.

    Raises:
        FailedError: the exit code is not 0.
    """
    env = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    command = ["make", "--no-print-directory", part]
    ended = subprocess.run(
        command, cwd=ROOT, env={**env, "COLUMNS": COLUMNS}, text=True, stdout=subprocess.PIPE,
        check=False,
    )  # fmt: skip
    if ended.returncode:
        raise FailedError(f"`make {part}` exited with {ended.returncode}:\n{ended.stdout}")
    return ended.stdout


def page(part: str, printed: str, made: str, drawn: Sequence[Plot] = ()) -> str:
    """Return the page of a part: its command, its version and machine, its plots, its output."""
    lines = [line.rstrip() for line in printed.splitlines()
             if not line.startswith(CACHED) and not PROGRESS.match(line)]  # fmt: skip
    text = "\n".join(lines).strip("\n")
    shown = [f"# `make {part}`: {PARTS[part]}\n\n{made}\n", *(plot.markdown() for plot in drawn)]
    if drawn:
        shown.append("## The table\n")
    return "\n".join([*shown, f"```\n{text}\n```\n"])


def write(parts: Sequence[str], folder: Path, staged: Path, call: Callable[[str], str]) -> None:
    """Run the parts one after the other; put all pages into `folder` once the last has ended.

    Raises:
        FailedError: a command failed, or printed nothing; `folder` is as it was.
    """
    made = made_of()
    staged.mkdir(parents=True, exist_ok=True)
    names = []
    for part in parts:
        print(f"results: make {part}", file=sys.stderr)
        printed = call(part)
        if not printed.strip():
            raise FailedError(f"`make {part}` printed nothing")
        drawn = _plots(part)
        for plot in drawn:
            write_atomically(staged / f"{plot.name}.svg", plot.svg)
        write_atomically(staged / f"{part}.md", page(part, printed, made, drawn))
        names += [*(f"{plot.name}.svg" for plot in drawn), f"{part}.md"]
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (staged / name).replace(folder / name)
        print(f"results: {folder / name}", file=sys.stderr)


def _plots(part: str) -> list[Plot]:
    if part == "bench":
        return plots.plots(plots.stored(BENCHED))
    return plots.web_plots(plots.stored_web(BENCHED_WEB)) if part == "bench-http" else []


def made_of() -> str:
    """Return the version, the day and the machine of the results."""
    commit = _git("describe", "--always", "--tags")
    changed = _git("status", "--porcelain", "--", ".", ":!docs/results")
    version = f"wakeproof {wakeproof.__version__}, {commit or 'not from a repository'}"
    cpus = f"{len(os.sched_getaffinity(0))} CPUs allowed ({_model()})"
    return (
        f"{version}{', with changes that are not committed' * bool(changed)}; "
        f"{time.strftime('%Y-%m-%d')}; {platform.machine()}, {cpus}, "
        f"{platform.system()} {platform.release()}."
    )


def _git(*arguments: str) -> str:
    """Return the output of git; empty if there is no git or no repository."""
    git = shutil.which("git")
    if git is None:
        return ""
    ended = subprocess.run([git, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.stdout.strip() if ended.returncode == 0 else ""


def _model() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "model unknown")


def main(parts: Sequence[str]) -> int:
    """Write the pages; return the exit code: 1 if a command failed, 2 if there is no such part."""
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        print(f"results: no {', '.join(unknown)}; parts: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    try:
        write(parts or list(PARTS), ROOT / "docs" / "results", ROOT / "build" / "results", run)
    except FailedError as error:
        print(f"results: {error}\nresults: docs/results/ is as it was", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
