# SPDX-License-Identifier: Apache-2.0
"""Shows virtual threads in gdb, running and parked ones.

After `source tools/gdb.py` gdb has these commands:

    vthreads              number, name, state, home, park of each thread that has not ended
    vthread NUMBER        the backtrace of a parked thread
    vthread NUMBER CMD    another command on its stack, such as `bt full` or `frame 2`

It reads the pools of stacks (kernel/thread/overflow.c, stack.c) and
kernel/sched/vthread_stackful.h by their debug information.  A backtrace sets the registers of the
selected OS thread and puts them back, so it needs a live process.
"""

from __future__ import annotations

from collections.abc import Iterator

import gdb

STATES = {0: "parked", 1: "runnable", 2: "ended", 3: "left by a close", 9: "pinned"}
STATE, PERMIT, LATE, NUMBER = 11, 4, 16, 32  # kernel/thread/vthread.h
LINE = 64  # WP_STACK_LINE
SAVED = {  # kernel/fiber_*.S: the offset of each register that the switch saves, and the size
    "x86-64": ({"r12": 8, "r13": 16, "r14": 24, "r15": 32, "rbx": 40, "rbp": 48, "rip": 56}, 64),
    "aarch64": ({f"x{n}": 8 * (n - 19) for n in range(19, 31)} | {"pc": 88}, 176),
}


def bodies() -> Iterator[tuple[int, gdb.Value]]:
    """Yield the number and the wp_body of each slot that a thread has used."""
    pool = gdb.parse_and_eval("'overflow.c'::process.pools")
    body = gdb.lookup_type("wp_body_stackful").pointer()
    count = 0
    while pool:
        for number in range(int(pool["made"])):
            top = (number + 1) * int(pool["slot_bytes"]) - int(pool["control_bytes"])
            top -= number % int(pool["colours"]) * LINE
            if 0 <= int(pool["control_bytes"]) - body.target().sizeof < LINE:
                yield count, (pool["base"] + top).cast(body).dereference()["body"]
            count += 1
        pool = pool["next"]


def word(body: gdb.Value) -> int:
    """Return the thread's word."""
    return int(body["thread"]["task"]["word"])


def is_there(body: gdb.Value) -> bool:
    """Return whether the thread was started and has not ended."""
    return bool(body["is_started"]) and STATES.get(word(body) & STATE) != "ended"


def describe(number: int, body: gdb.Value) -> str:
    """Return the line of one thread."""
    now = word(body)
    home = body["thread"]["task"]["home"].cast(gdb.lookup_type("wp_worker").pointer())
    more = (" unparked" if now & PERMIT else "") + (" late" if now & LATE else "")
    name = body["thread"]["task"]["name"]
    name = name.string(errors="replace") if name else ""
    return (
        f"{number:8} {name or '-':32} {STATES.get(now & STATE, '?')}{more}, "
        f"home carrier-{int(home['index'])}, park {now // NUMBER}"
    )


class VThreads(gdb.Command):
    """List virtual threads: number, name, state, home, park."""

    def __init__(self) -> None:
        super().__init__("vthreads", gdb.COMMAND_STACK)

    def invoke(self, _argument: str, _from_tty: bool) -> None:
        """Print a line each."""
        shown = [describe(number, body) for number, body in bodies() if is_there(body)]
        print("\n".join(shown) or "there is no virtual thread")


class VThread(gdb.Command):
    """Show where a parked virtual thread is: vthread NUMBER [COMMAND]."""

    def __init__(self) -> None:
        super().__init__("vthread", gdb.COMMAND_STACK)

    def invoke(self, argument: str, _from_tty: bool) -> None:
        """Run a command, by default `bt`, on the thread's stack."""
        number, _, command = argument.partition(" ")
        body = dict(bodies()).get(int(number)) if number.isdigit() else None
        if body is None or not is_there(body):
            raise gdb.GdbError(f"vthread {number}: no such thread; `vthreads` lists them")
        if STATES.get(word(body) & STATE) != "parked":
            raise gdb.GdbError(f"vthread {number}: not parked; `thread apply all bt` has it, or "
                               "it is queued")  # fmt: skip
        show(int(body["thread"]["fiber"]["sp"]), command or "bt")


def show(sp: int, command: str) -> None:
    """Run `command` with the registers that a switch has left at `sp`."""
    machine = gdb.selected_inferior().architecture().name()
    places, size = next(found for name, found in SAVED.items() if name in machine)
    words = gdb.lookup_type("unsigned long").pointer()
    gdb.newest_frame().select()
    names = [*places, "sp"]
    before = {name: int(gdb.parse_and_eval(f"(unsigned long)${name}")) for name in names}
    saved = {name: int(gdb.Value(sp + at).cast(words).dereference()) for name, at in places.items()}
    try:
        put(saved | {"sp": sp + size})
        gdb.execute(command)
    finally:
        put(before)


def put(registers: dict[str, int]) -> None:
    """Set registers of the newest frame."""
    gdb.newest_frame().select()
    for name, value in registers.items():
        gdb.execute(f"set ${name} = {value}", to_string=True)


VThreads()
VThread()
