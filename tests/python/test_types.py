# SPDX-License-Identifier: Apache-2.0
"""mypy --strict on a user's program: wrong calls are found, and results have types."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api", reason="mypy is not installed")

CACHE = Path(__file__).resolve().parents[2] / ".mypy_cache"
PROGRAM = """
from __future__ import annotations

import concurrent.futures
from functools import partial

import wakeproof
from wakeproof import (
    CarrierGroup, DeadlineError, QueuedThreadPool, Scope, Subtask, ThreadFactory, UsageError,
    VirtualThread, VirtualThreadExecutor, VirtualThreadPool, WrongThreadError, io,
)


def fetch(url: str, tries: int = 3) -> bytes:
    return url.encode() * tries


async def fetch_later(url: str) -> bytes:
    return url.encode()


def run(executor: concurrent.futures.Executor) -> int:
    return executor.submit(len, "abc").result()


def keep(thread: VirtualThread) -> VirtualThread[bytes]:  # the bare name is any
    return thread


with VirtualThreadPool(10) as pool, QueuedThreadPool() as queued, VirtualThreadExecutor() as each:
    reveal_type(pool.submit(fetch, "x").result())  # R bytes
    reveal_type(pool.submit(fetch_later, "x").result())  # R bytes
    reveal_type(pool.submit(fetch, "x", tries=2))  # R Future[bytes]
    reveal_type(queued.submit(fetch, "x").result())  # R bytes
    reveal_type(each.submit(fetch_later, "x").result())  # R bytes
    reveal_type(list(pool.map(fetch, ["a"])))  # R list[bytes]
    run(pool), run(queued), run(each)
    pool.submit(fetch, 3)  # W
    pool.submit(fetch_later, 3)  # W
    queued.submit(fetch, 3)  # W
    queued.try_execute(fetch, "x", tires=3)  # W
reveal_type(VirtualThread(fetch, "x").start().result())  # R bytes
reveal_type(VirtualThread(fetch, "x", tries=3).result(1.0))  # R bytes
reveal_type(VirtualThread(fetch_later, "x").start().result())  # R bytes
reveal_type(VirtualThread(fetch, "x", name="n").result())  # R bytes
reveal_type(VirtualThread(fetch_later, "x", name="n", tries=3).result())  # R bytes
VirtualThread(fetch, 3).start()  # W
VirtualThread(fetch, "x", tires=3)  # W
VirtualThread(fetch)  # W
VirtualThread(fetch_later, 3)  # W
wrong: int = VirtualThread(fetch, "x").result()  # W
with Scope(timeout_s=2) as scope:
    part: Subtask[bytes] = scope.fork(fetch, "x")
    reveal_type(scope.fork(fetch_later, "x"))  # R Subtask[bytes]
    scope.join()
    reveal_type(part.result())  # R bytes
    scope.fork(fetch, 3)  # W
with CarrierGroup() as group:
    reveal_type(group.submit(fetch, "x").result())  # R bytes
    group.submit(fetch, 3)  # W
    make: ThreadFactory = group[0].factory(name="n")
    reveal_type(make(fetch, "x").result())  # R bytes
    reveal_type(make.unstarted(fetch_later, "x"))  # R VirtualThread[bytes]
    make(fetch, 3)  # W
    Scope(factory=make)
    Scope(factory=partial(VirtualThread, name="n"))
    Scope(factory=3)  # W
reveal_type(io.offload(fetch, "x"))  # R bytes
try:
    keep(VirtualThread(fetch, "x"))
except (DeadlineError, UsageError, WrongThreadError, wakeproof.StateError):
    pass
"""


@pytest.mark.slow
def test_wrong_calls_are_found_and_results_have_types(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    arguments = ["--strict", "--no-error-summary", "--cache-dir", str(CACHE), str(file)]
    said, trouble, _ = api.run(arguments)
    assert trouble == ""
    wrong: set[int] = set()
    revealed: dict[int, str] = {}
    for number, text in re.findall(r"program\.py:(\d+): (.+)", said):
        if text.startswith("error"):
            wrong.add(int(number))
        elif found := re.search(r'Revealed type is "(.+)"', text):
            revealed[int(number)] = re.sub(r"[a-z_.]+\.(?=[A-Z])|builtins\.", "", found[1])
    lines = list(enumerate(PROGRAM.split("\n"), 1))
    assert wrong == {number for number, line in lines if line.endswith("# W")}, said
    told = {number: line.split("# R ")[1] for number, line in lines if "# R " in line}
    assert revealed == told
