# SPDX-License-Identifier: Apache-2.0
"""Scopes and executors owned by the main thread, between two signals.

specs/scope/Scope.tla: JoinWakes, ChildrenWithinScope.
"""

from __future__ import annotations

import pytest
from tests.support.running import python

pytestmark = pytest.mark.slow  # each test starts Python

BEGIN = """
import random, signal, time
from wakeproof import CarrierGroup, ClosedError, Scope, VirtualThreadExecutor
group, scope, armed = CarrierGroup(1), None, True
end, came = time.monotonic() + 1, 0
"""
CANCELS = """
def cancel(*_):
    global armed
    if scope is not None and armed:
        armed = False
        scope.cancel()
        armed = True
signal.signal(signal.SIGALRM, cancel)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
while time.monotonic() < end or came < 10:
    with Scope(group=group) as scope:
        for _ in range(10):
            scope.fork(int)
        scope.join()
    came += scope.is_cancelled
signal.setitimer(signal.ITIMER_REAL, 0)
"""
SHUTS_DOWN = """
def shut_down(*_):
    if executor is not None:
        executor.shutdown(wait=False)
executor = None
signal.signal(signal.SIGALRM, shut_down)
while time.monotonic() < end or came < 10:
    with VirtualThreadExecutor(group) as executor:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0001, 0.001))
        try:
            for _ in range(30):
                executor.submit(int)
        except ClosedError:
            came += 1
signal.setitimer(signal.ITIMER_REAL, 0)
"""
INTERRUPTS = """
def interrupt(*_):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt
def scoped():
    with Scope(group=group) as scope:
        for _ in range(10):
            forked.append(scope.fork(int)._thread)
        scope.join()
def executed():
    with VirtualThreadExecutor(group) as executor:
        for _ in range(10):
            executor.submit(int)
signal.signal(signal.SIGALRM, interrupt)
while time.monotonic() < end or came < 10:
    armed, forked = False, []
    signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0001, 0.001))
    try:
        armed = True
        (scoped if came % 2 else executed)()
        armed = False
    except BaseException:  # a StructureError, if it came while the block was entered
        came += 1
    assert not any(thread.is_alive() for thread in forked)
signal.setitimer(signal.ITIMER_REAL, 0)
"""


def run(script: str) -> str:
    ran = python(f"{BEGIN}{script}print('done')")
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_signal_handler_may_cancel() -> None:
    # It hung within 0.1 s: the handler ran in a fork or a join that held the children's lock.
    assert run(CANCELS) == "done\n"


def test_a_signal_handler_may_shut_an_executor_down() -> None:
    # It hung within 0.5 s: the handler ran in a submit that held the executor's lock.
    assert run(SHUTS_DOWN) == "done\n"


def test_ctrl_c_while_threads_are_started_leaves_nobody_to_wait_for() -> None:
    # It hung within 0.5 s: a thread was counted, and then not started, and was waited for.
    assert run(INTERRUPTS) == "done\n"
