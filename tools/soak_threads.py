# SPDX-License-Identifier: Apache-2.0
"""A soak of virtual threads in four builds, in legs, of which each has a seed of its own.

    make soak-threads             half an hour in each build: hours, on a busy machine

After each leg its numbers are written to build/soak-BUILD.json.  A soak that was interrupted goes
on with the next leg, as long as the kernel and the program are the same.  Builds may be soaked at
the same time, by a command each.  Exit code 1: a thread, a wakeup or a message was lost, or a leg
did not end; the leg's seed is printed.

    make results T=soak-threads   writes the page, at once if each build has had its seconds
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.support import compiling

from wakeproof import locations

THREADS = {"plain": 1_000_000, "whole": 1_000_000, "address": 100_000, "thread": 4_000}
"""How many live at once in each build, that of UndefinedBehaviorSanitizer being `address` too.

A million take 4.4 GB.  ThreadSanitizer allows no more.
"""
LEG_S = 60
PATIENCE_S = 60
STARTS_S = 300  # a million threads, on a busy machine
MEANS = """
plain: -O2. whole: optimized as a whole. address: AddressSanitizer and UndefinedBehaviorSanitizer.
thread: ThreadSanitizer. load: the least and greatest load of the machine at the end of a leg.
The kernel, which is what was soaked, is as it was last changed by commit """


@dataclass
class Soaked:
    """What the legs of one build did so far."""

    legs: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    load: list[float] = field(default_factory=list)
    """The least and the greatest at the end of a leg."""
    did: dict[str, int] = field(default_factory=dict)


def sources() -> str:
    """Return a hash of what is soaked."""
    files = [*locations.kernel_files("chS"), compiling.program_file("vsoak")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def kept(build: str) -> Path:
    """Return the file with the numbers of a build."""
    return locations.cache() / f"soak-{build}.json"


def read(build: str, of: str) -> Soaked:
    """Return what a build was soaked before, of the same sources."""
    file = kept(build)
    found = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return Soaked(**found["soaked"]) if found.get("sources") == of else Soaked()


def leg(command: list[str], build: str, number: int, seconds: int, so_far: Soaked) -> str:
    """Run one leg, and add its numbers; return what is wrong."""
    seed = str(int.from_bytes(hashlib.sha256(f"{build} {number}".encode()).digest()[:7], "big"))
    way = ("stealing", "private")[number % 2]
    words = [*command, str(seconds), seed, str(PATIENCE_S), str(THREADS[build]), way]
    began = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said, _ = child.communicate(timeout=seconds + STARTS_S + 5 * PATIENCE_S)
    except BaseException as error:
        child.kill()
        child.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return f"{build}: leg {number} did not end: seed {seed}, {way}"
    if child.returncode:
        return f"{build}: leg {number}, seed {seed}, {way}: exit code {child.returncode}: {said}"
    so_far.legs += 1
    so_far.seconds += round(time.monotonic() - began, 1)
    for name, count in re.findall(r"(\w+) (\d+)", said):
        so_far.did[name] = so_far.did.get(name, 0) + int(count)
    return ""


def soak(folder: Path, build: str, seconds: int) -> str:
    """Run legs of a build until it has its seconds; return what is wrong."""
    of = sources()
    so_far = read(build, of)
    command = compiling.build(folder, "vsoak", build) if so_far.seconds < seconds else []
    while so_far.seconds < seconds:
        before = cpu_seconds()
        length = max(1, min(LEG_S, int(seconds - so_far.seconds)))
        if wrong := leg(command, build, so_far.legs, length, so_far):
            return wrong
        so_far.cpu_s += round(cpu_seconds() - before, 1)
        loads = [*so_far.load, round(os.getloadavg()[0], 1)]
        so_far.load = [min(loads), max(loads)]
        text = json.dumps({"sources": of, "soaked": asdict(so_far)}, indent=1)
        locations.write_atomically(kept(build), text + "\n")
    return ""


def cpu_seconds() -> float:
    """Return the CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def show() -> None:
    """Print a row for each build."""
    names = ("parks", "timeouts", "interrupts", "children", "mail")
    print(f"{'build':10}{'threads':>10}{'legs':>6}{'seconds':>9}{'CPU s':>9}{'load':>12}", end="")
    print("".join(f"{name:>15}" for name in names) + f"{'lost':>6}")
    of = sources()
    for build, threads in THREADS.items():
        one = read(build, of)
        load = " to ".join(f"{end:.0f}" for end in one.load) or "-"
        print(f"{build:10}{threads:>10,}{one.legs:>6}{one.seconds:>9,.0f}", end="")
        print(f"{one.cpu_s:>9,.0f}{load:>12}", end="")
        print("".join(f"{one.did.get(name, 0):>15,}" for name in names), end="")
        print(f"{0 if one.legs else '-':>6}")
    changed = ["git", "log", "-1", "--format=%h", "--", "kernel"]
    print(MEANS + subprocess.run(changed, capture_output=True, text=True).stdout.strip() + ".")


def main() -> int:
    """Soak each build; return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=int, help="in each build, with those of earlier runs")
    parser.add_argument("builds", nargs="*", help=f"of {', '.join(THREADS)}; default: all")
    asked = parser.parse_args()
    os.nice(10)
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        for build in asked.builds or THREADS:
            if wrong := soak(Path(folder), build, asked.seconds):
                print(wrong)
                return 1
    show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
