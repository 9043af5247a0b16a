# SPDX-License-Identifier: Apache-2.0
"""Carrier groups where the system refuses: specs/sched/Group.tla, NothingRunsAfterClose."""

from __future__ import annotations

import sys

import pytest
from tests.support.cases import EACH_BUILD, IN_CHECKOUT, Compiled
from tests.support.running import python, run

TOO_LITTLE = """
import re, resource
from pathlib import Path
from wakeproof import CarrierGroup
from wakeproof.errors import SystemCallError
size = int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
most = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (size * 1024 + (200 << 20), most))
try:
    CarrierGroup(1024)
except SystemCallError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
print(len(list(Path("/proc/self/task").iterdir())))
with CarrierGroup(2) as group:
    print(group.submit(int, "7").result(60))
"""


@IN_CHECKOUT
@pytest.mark.slow
@EACH_BUILD
def test_a_start_that_is_refused_a_thread_leaves_nothing_running(
    build: str, compiled: Compiled
) -> None:
    # Signals end its wait for the threads that it has. It must wait again, and not free them.
    ended = run(compiled("no_threads", build, "-Wl,--wrap=pthread_create"))
    refused = "{} threads: code -6, errno EAGAIN, group 0, left running 0\n"
    last = "5 threads: code 0, errno -, group 1, left running 0\n"
    assert ended.stdout == "".join(map(refused.format, range(5))) + last, ended.stderr
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.slow
def test_too_little_memory_for_threads_is_one_clear_error() -> None:
    ended = python(TOO_LITTLE)
    assert ended.returncode == 0, ended.stderr
    said, threads, seven = ended.stdout.splitlines()
    assert "1024 carriers" in said
    assert "(memory, or threads)" in said
    assert (threads, seven) == ("1", "7")


FORKS = """
import os, sys, threading
from wakeproof import CarrierGroup
parent, go_on = os.getpid(), threading.Event()
def fork(*_):
    child = os.fork()
    if child == 0:
        {child}
    else:
        print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
def first():
    go_on.wait(60)
    {where}
with CarrierGroup(1) as group:
    group.submit(first).add_done_callback({callback})
    for n in range(3):
        group.submit(lambda n=n: print(n, os.getpid() == parent, flush=True))
    go_on.set()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "callback", "child", "status", "says"),
    [
        ("fork()", "id", "print('here')", 0, ""),
        ("fork()", "id", "sys.exit(5)", 5, ""),
        ("fork()", "id", "sys.exit('why')", 1, "why"),
        ("fork()", "id", "1 / 0", 1, "ZeroDivisionError"),
        ("pass", "fork", "print('here')", 0, ""),
        ("pass", "fork", "sys.exit(5)", 5, ""),
    ],
)
def test_a_child_that_a_task_forks_ends_where_the_task_returns(
    where: str, callback: str, child: str, status: int, says: str
) -> None:
    # EachRunsOnce: the child has copies of the queued tasks, and runs none of them.
    code = FORKS.format(where=where, callback=callback, child=child)
    ended = run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", code])
    assert ended.returncode == 0, ended.stderr
    said = ["here"] * child.startswith("print")
    assert ended.stdout.splitlines() == [*said, f"child {status}", "0 True", "1 True", "2 True"]
    assert says in ended.stderr
