# SPDX-License-Identifier: Apache-2.0
"""Runs commands of the judges while one of their calls to the system fails.

programs/across/refuse.c, which is preloaded, refuses the Nth call of one function in one of the
command's processes.  *whole*: the command gave its usual result all the same.  *said*: one line or
a compiler's message says what is wrong, the exit code is not 0, and there is no verdict.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.compiling import program_file

from wakeproof import locations
from wakeproof.judge.builds import compiler

CALLS = ("open", "read", "write", "mmap", "fork", "pthread_create", "pipe", "fsync", "rename",
         "unlink", "mkdir", "epoll_create1", "futex", "pidfd_open", "pidfd_getfd")  # fmt: skip
HUNG_S = 180.0
STRESS = locations.sources() / "stress"
GUARD = str(STRESS / "scenarios" / "wakeup" / "guard.c")
PARKER = str(STRESS / "scenarios" / "wakeup" / "parker.c")
RACE = """#include <assert.h>
#include <pthread.h>
static int count;
static void *add(void *none) { count++; return none; }
int main(void)
{
	pthread_t one, other;
	pthread_create(&one, 0, add, 0);
	pthread_create(&other, 0, add, 0);
	pthread_join(one, 0);
	pthread_join(other, 0);
	assert(count == 2);
}
"""
READS = """#include <pthread.h>
#include <unistd.h>
static int ends[2];
static void *reads(void *to) { (void)!read(ends[0], to, 1); return 0; }
int main(void)
{
	char byte;
	pthread_t one;
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	(void)!pipe(ends);
	pthread_create(&one, 0, reads, &byte);
	pthread_mutex_lock(&lock);
	return pthread_mutex_lock(&lock);
}
"""
"""One thread waits for itself, another one for a pipe."""
SQUARE = """---- MODULE Square ----
EXTENDS Naturals
VARIABLES x, y
Init == x = 1 /\\ y = 1
Next == \\/ x < 9 /\\ x' = x + 1 /\\ y' = y
        \\/ y < 9 /\\ y' = y + 1 /\\ x' = x
        \\/ UNCHANGED <<x, y>>
Spec == Init /\\ [][Next]_<<x, y>>
Inside == x + y < 19
====
"""
MAIN = "bin/wakeproof"
_OF_COMPILER = re.compile(r"cc\w{6}\.\w+$")  # which it cannot remove if it is killed
_OF_CLOSED_LOOP = re.compile(
    r"^Exception ignored in: <function BaseEventLoop.__del__.*", re.M | re.S
)
"""What CPython writes of an event loop that got no descriptor, after our own line."""
_BAD_VERDICT = re.compile(r"\b[1-9]\d* (?:held|violated)\b|WRONG|holds;|is violated")


@dataclass(frozen=True)
class Job:
    """A command, its exit code and what it says, and what finds its processes by command line."""

    arguments: tuple[str, ...]
    code: int
    says: str
    processes: tuple[str, ...]
    target: str = ""  # a program that runs meanwhile, whose number is an argument
    calls: tuple[str, ...] = CALLS


JOBS = {
    "explore": Job(
        ("explore", GUARD, "-t", "^guard$", "--model", "sc", "--no-twins"), 0, "1 held",
        (MAIN, "--test guard"),
    ),
    "program": Job(
        ("explore", "race.c", "--model", "sc", "--save", "saved"), 1, "1 violated",
        (MAIN, "--progress", "cc1", "/usr/bin/ld", "nm ", "objcopy"),
    ),
    "stress": Job(
        ("stress", GUARD, "-t", "^guard$", "--mode", "sanity", "--no-twins"), 0, "1 held",
        (MAIN, "--run"),
    ),
    "museum": Job(
        ("museum", "run", "eio_110"), 0, "1 of 1 as their files say", (MAIN, "--progress"),
    ),
    "check": Job(("check", "Square.tla"), 0, "holds; 81", (MAIN,)),
    "parker": Job(
        ("stress", PARKER, "-t", "^parker$", "--mode", "sanity", "--no-twins"), 0, "1 held",
        ("--run",), calls=("futex",),
    ),
    "watch": Job(
        ("watch", "PID", "--for", "1"), 1, "1 deadlock", (MAIN, "calibrate-"), target=READS,
    ),
    "dask": Job(
        ("museum", "run", "eio_110", "--dask", "local:1"), 0, "1 of 1 as their files say", (MAIN,),
        calls=("epoll_create1",),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """How a command ended in which one call failed: whole, said, or what is wrong."""

    how: str
    output: str

    @property
    def is_good(self) -> bool:
        """Return whether nothing is wrong."""
        return self.how in ("whole", "said")


def library(folder: Path, name: str = "refuse") -> Path:
    """Compile what is preloaded, programs/across/NAME.c."""
    made = folder / f"{name}.so"
    subprocess.run(
        [*compiler(), "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC",
         "-shared", "-U_FORTIFY_SOURCE", program_file(name), "-o", made, "-ldl"],
        check=True,
    )  # fmt: skip
    return made


def run(preloaded: Path, job: Job, process: str, call: str, at: int) -> Ended | None:
    """Run the command while one call fails; None: there are not so many calls."""
    with tempfile.TemporaryDirectory(prefix="refused-") as name:
        log = Path(name) / "log"
        ended = command(
            preloaded, job, REFUSE=call, REFUSE_AT=str(at), REFUSE_IN=process, REFUSE_LOG=str(log)
        )
        return ended if log.exists() else None


def command(preloaded: Path, job: Job, **variables: str) -> Ended:
    """Run the command with something preloaded into all of its processes."""
    with tempfile.TemporaryDirectory(prefix="refused-") as name:
        folder, private = Path(name), Path(name) / "private"
        private.mkdir()
        (folder / "race.c").write_text(RACE)
        (folder / "Square.tla").write_text(SQUARE)
        (folder / "Square.cfg").write_text("SPECIFICATION Spec\nINVARIANT Inside\n")
        variables |= {
            "WAKEPROOF_FRESH": "1", "TMPDIR": str(private), "LD_PRELOAD": str(preloaded)
        }  # fmt: skip
        with _target(job, folder) as pid:
            return _command(job, folder, private, pid, variables)


@contextlib.contextmanager
def _target(job: Job, folder: Path) -> Iterator[str]:
    """Run the program that is looked at, if there is one; yield its number."""
    if not job.target:
        yield ""
        return
    for kept in (locations.cache() / "watch").glob("calibration*"):
        kept.unlink()
    source = folder / "target.c"
    source.write_text(job.target)
    subprocess.run([*compiler(), "-pthread", source, "-o", folder / "target"], check=True)
    with subprocess.Popen([folder / "target"]) as target:
        yield str(target.pid)
        target.kill()


def _command(job: Job, folder: Path, private: Path, pid: str, variables: dict[str, str]) -> Ended:
    words = [pid if word == "PID" else word for word in job.arguments]
    child = subprocess.Popen(
        [Path(sys.executable).with_name("wakeproof"), *words], cwd=folder, text=True,
        env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = child.communicate(timeout=HUNG_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return Ended("hung", "\n".join(child.communicate()))
    how = _ended(job, child.returncode, output, errors)
    left = [one.name for one in private.iterdir() if one.name not in errors]
    left = [name for name in left if not _OF_COMPILER.match(name)]
    if left and variables.get("REFUSE") != "unlink":
        how = f"left {', '.join(left)}"  # and not named, as what cannot be removed is
    for file in (folder / "saved").glob("*"):
        if file.suffix != ".json" or not file.read_text().endswith("}\n"):
            how = f"half-written: {file.name}"
    return Ended(how, output + errors)


def _ended(job: Job, code: int, output: str, errors: str) -> str:
    if "Traceback" in output + _OF_CLOSED_LOOP.sub("", errors):
        return "traceback"
    if code == job.code and job.says in output:
        return "whole"
    if code == 0 or not re.search(r"^wakeproof: \S", errors, re.MULTILINE):
        return f"silent, exit code {code}"
    return "a wrong verdict" if _BAD_VERDICT.search(output) else "said"


def numbers(most: int) -> Iterator[int]:
    """Yield 1, 2, 3 and so on, then fewer and fewer of the numbers, `most` of them."""
    at = 1
    for _ in range(most):
        yield at
        at += max(1, at // 4)
