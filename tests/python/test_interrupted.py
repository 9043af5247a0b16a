# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: parked threads are interrupted at once; one that blocks in the system is named."""

from __future__ import annotations

import pytest
from tests.support.holding import whole

# The main thread is interrupted as soon as `ready` is printed.
BEFORE = """
import io, os, signal, sys, threading, wakeproof
from wakeproof import *
from wakeproof._runtime import held
held.EACH_S = float(sys.argv[1])
ready, said, ended = threading.Event(), threading.Event(), []
class Stderr(io.StringIO):
    def write(self, text):
        said.set()
        return sys.__stdout__.write(text)
sys.stderr = Stderr()
def press():
    ready.wait(60)
    while not pressed.is_set():  # CPython may sleep beside a signal that has just come
        os.kill(os.getpid(), signal.SIGINT)
        pressed.wait(1)
pressed = threading.Event()
signal.signal(signal.SIGINT, lambda *_: (pressed.set(), signal.default_int_handler(*_)))
threading.Thread(target=press, daemon=True).start()
def parks():
    try:
        ready.set()
        park()
    except ThreadInterruptedError:
        ended.append("cleaned up")
        raise
r, w = os.pipe()
def blocks():
    ready.set()
    ended.append(os.read(r, 1))
def opens():
    said.wait(60)
    os.write(w, b"x")
threading.Thread(target=opens, daemon=True).start()
"""


def program(body: str, each_s: float = 60) -> list[str]:
    """Run it; `each_s` takes the place of the second in which a thread may clean up."""
    made = whole(BEFORE + body, str(each_s))
    assert (made.returncode, made.stderr) == (0, "")
    return made.stdout.splitlines()


PARKED = {
    "scope that joins": """
        with Scope() as scope:
            scope.fork(parks)
            scope.join()
    """,
    "scope": """
        with Scope() as scope:
            scope.fork(parks)
            ready.wait(60)
            pressed.wait(60)
            threading.Event().wait(60)
    """,
    "group": """
        with CarrierGroup(1) as group:
            VirtualThread(parks, group=group).start()
    """,
    "group's block": """
        with CarrierGroup(1) as group:
            VirtualThread(parks, group=group).start()
            threading.Event().wait(60)
    """,
    "pool": """
        with CarrierGroup(1) as group, VirtualThreadPool(2, group=group) as pool:
            pool.submit(parks)
    """,
    "executor": """
        with CarrierGroup(1) as group, VirtualThreadExecutor(group) as pool:
            pool.submit(parks)
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("block", PARKED)
def test_ctrl_c_interrupts_who_is_parked_and_ends_the_block(block: str) -> None:
    text = f"try:{PARKED[block]}\nexcept KeyboardInterrupt:\n    print('interrupted', *ended)\n"
    assert program(text) == ["interrupted cleaned up"]


@pytest.mark.slow
@pytest.mark.parametrize("ask", ["join()", "result()"])
def test_ctrl_c_ends_the_wait_for_a_thread(ask: str) -> None:
    assert program(f"""
try:
    VirtualThread(parks).start().{ask}
except KeyboardInterrupt:
    print("interrupted")
""") == ["interrupted"]


@pytest.mark.slow
def test_ctrl_c_at_the_end_of_the_interpreter_interrupts_calls_that_are_parked() -> None:
    assert program("""
import atexit
def waits():
    try:
        park()
    except ThreadInterruptedError:
        print("interrupted")
def heard(_, frame):  # only where the main thread waits
    while frame is not None:
        if frame.f_code.co_name == "_await_end":
            pressed.set()
            raise KeyboardInterrupt
        frame = frame.f_back
def presses():
    while not pressed.wait(0.01):
        os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, heard)
pool = VirtualThreadPool(1)
pool.submit(waits)
pool.submit(print, "began")
threading.Thread(target=presses, daemon=True).start()
print("main is over")
""") == ["main is over", "interrupted"]


BLOCKED = {
    "scope": """
        with Scope() as block:
            block.fork(blocks)
            block.join()
    """,
    "the close of a group": """
        with CarrierGroup(1) as block:
            VirtualThread(blocks, group=block, name="virtual-2").start()
    """,
    "the end of a pool": """
        with CarrierGroup(1) as group, VirtualThreadPool(2, group=group) as block:
            block.submit(blocks)
    """,
    "the end of an executor": """
        with CarrierGroup(1) as group, VirtualThreadExecutor(group) as block:
            block.submit(blocks)
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKED)
def test_while_a_child_blocks_in_c_it_is_named_and_the_block_does_not_end_before_it(
    block: str,
) -> None:
    text = f"try:{BLOCKED[block]}\nexcept KeyboardInterrupt:\n    print('interrupted', *ended)\n"
    *lines, last = program(text, 0.01)
    assert last == "interrupted b'x'"
    start = f"wakeproof: {block} was interrupted, and waits for 'virtual-"
    assert lines
    assert all(line.startswith(start) for line in lines)
    assert "running in blocks (<string>:" in lines[0]


@pytest.mark.slow
def test_what_is_called_is_named_where_there_is_no_frame_of_a_users() -> None:
    *lines, last = program(
        """
full, fills = os.pipe()
def drains():
    said.wait(60)
    os.close(full)
threading.Thread(target=drains, daemon=True).start()
try:
    with Scope(name="fetches") as scope:
        scope.fork(os.write, fills, bytes(2**20))
        os.read(full, 1)  # it is inside
        ready.set()
        scope.join()
except KeyboardInterrupt:
    print("interrupted")
""",
        0.01,
    )
    assert last == "interrupted"
    assert lines[0].startswith("wakeproof: fetches was interrupted, and waits for 'virtual-")
    assert lines[0].endswith("running in posix.write")


@pytest.mark.slow
def test_a_second_ctrl_c_leaves_a_group_whose_thread_blocks() -> None:
    *lines, last = program(
        """
shown = threading.Event()
Stderr.write = lambda self, text: (shown.set(), len(text))[1]  # and so nobody opens
def again():
    shown.wait(60)
    pressed.clear()
    press()
threading.Thread(target=again, daemon=True).start()
try:
    with CarrierGroup(1) as group:
        VirtualThread(blocks, group=group).start()
except KeyboardInterrupt:
    print("left", ended)
    os.write(w, b"x")
""",
        0.01,
    )
    assert (lines, last) == ([], "left []")
