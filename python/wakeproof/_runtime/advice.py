# SPDX-License-Identifier: Apache-2.0
"""What a frame that stands still is calling, and what to call instead.

CPython keeps no record of the C function that a thread is in.  But the instructions before a call
load what is called, such as ``lock`` and then ``acquire``.  These names are looked up without
running the user's code, and nothing is named if they cannot be found.

Source: this file.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import sys
import sysconfig
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakeproof._runtime.call import Told
from wakeproof._runtime.jobs import _in_parent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

INSTALL = "call wakeproof.install() once, at the start of the program"
OFFLOAD = "call it through wakeproof.io.offload, or announce it with wakeproof.blocking()"
THROUGH_C = f"wakeproof.install() cannot reach this call: {OFFLOAD}"
GIL = (
    "give the call to another process (concurrent.futures.ProcessPoolExecutor): it keeps the GIL,"
    " so no other thread of this process runs Python meanwhile"
)
COMPUTES = (
    "call wakeproof.yield_now() now and then, or give the work to OS threads or"
    " processes (wakeproof.io.offload, concurrent.futures.ProcessPoolExecutor)"
)
PINNED = (
    "in a coroutine function await the functions of"
    " wakeproof.coroutine; elsewhere end the block of wakeproof.pinned() first"
)

# The beginning of a dotted name, and what to call instead.  The first that fits counts.
TABLE: tuple[tuple[tuple[str, ...], str], ...] = (
    (("time.sleep",), f"call wakeproof.sleep, or {INSTALL}"),
    (
        ("queue.Queue", "queue.LifoQueue", "queue.PriorityQueue", "_queue.SimpleQueue"),
        f"use wakeproof.Channel, or {INSTALL}",
    ),
    (
        ("threading.Thread.join", "concurrent.futures."),
        f"use wakeproof.VirtualThread or wakeproof.VirtualThreadPool, or {INSTALL}",
    ),
    (
        ("threading.", "_thread.lock", "_thread.RLock"),
        f"use wakeproof.Mutex, Condition or Semaphore, or {INSTALL}",
    ),
    (
        ("requests.", "urllib3.", "urllib.", "http.client.", "httpx.", "httpcore."),
        f"{INSTALL}: the sockets of this library then park",
    ),
    (
        ("redis.", "pymysql.", "pg8000.", "psycopg.", "kombu.", "amqp.", "paramiko.", "smtplib."),
        f"{INSTALL}: the sockets of this library then park",
    ),
    (
        ("_socket.getaddrinfo", "_socket.gethostby", "socket.getaddrinfo"),
        f"call it through wakeproof.io.offload, or {INSTALL}",
    ),
    (
        ("_socket.", "socket.", "ssl.", "_ssl.", "socketserver."),
        f"use the sockets of wakeproof.io, or {INSTALL}",
    ),
    (("select.", "selectors."), INSTALL),
    (("subprocess.", "posix.waitpid", "posix.waitid", "posix.wait"), INSTALL),
    (("posix.read", "posix.write", "builtins.input"), f"for a pipe or terminal {INSTALL}"),
    (("_io.", "io.", "builtins.open", "posix."), f"for a file use wakeproof.io.open, or {OFFLOAD}"),
    (("sqlite3.", "psycopg2.", "grpc.", "_ctypes."), OFFLOAD),
)


def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    ours = str(Path(__file__).parent.parent)
    return ours, *sorted({paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})


# Instructions that have the place of the call and load nothing of what is called.
_BESIDE = ("PRECALL", "KW_NAMES", "LOAD_CONST", "PUSH_NULL", "NOP", "LOAD_SPECIAL", "COPY", "SWAP")
LIBRARIES = _libraries()


def is_library(frame: FrameType) -> bool:
    """Return whether the frame belongs to Python's library or to an installed package."""
    name = frame.f_code.co_filename
    return name.startswith((*LIBRARIES, "<frozen"))


def _names_of_call(frame: FrameType) -> tuple[list[str], bool]:
    """Return the name and attributes that stand for what is called, and whether a `with` calls it.

    They are loaded by instructions whose place in the source begins where the call begins.  The
    list is empty if something else has computed what is called.
    """
    before = [one for one in dis.get_instructions(frame.f_code) if one.offset <= frame.f_lasti]
    at = before.pop()
    is_with = at.opname == "BEFORE_WITH"  # in 3.11 its place is the whole block
    is_with |= bool(before) and before[-1].opname == "LOAD_SPECIAL"  # from 3.14 on: __enter__
    begin = _begin(before[-1] if is_with and before else at)
    names: list[str] = []
    for one in reversed(before):
        if begin is None or _begin(one) != begin or one.opname in _BESIDE:
            continue
        if not one.opname.startswith("LOAD_") or not isinstance(one.argval, str):
            break
        names.insert(0, one.argval)
        if not one.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")):
            return names, is_with
    return [], is_with


def _begin(one: dis.Instruction) -> tuple[int, int] | None:
    where = one.positions
    if where is None or where.lineno is None or where.col_offset is None:
        return None
    return where.lineno, where.col_offset


def _found(names: list[str], frame: FrameType) -> Any:
    """Return the object that a name and attributes of it stand for.

    Raises:
        LookupError, AttributeError: it cannot be found without running the user's code.
    """
    scopes = (frame.f_locals, frame.f_globals, vars(builtins))
    value = next(scope for scope in scopes if names[0] in scope)[names[0]]
    for name in names[1:]:
        owner, value = value, inspect.getattr_static(value, name)
        if inspect.ismemberdescriptor(value):  # of __slots__: reading it runs no code
            value = value.__get__(owner)
    return value


def dotted(called: Any) -> str | None:
    """Return the module and name of a callable; None if it has none."""
    owner = getattr(called, "__objclass__", None)  # of a method of a C type
    if owner is not None:
        return f"{owner.__module__}.{owner.__qualname__}.{called.__name__}"
    own_self = getattr(called, "__self__", None)
    if own_self is not None and not inspect.ismodule(own_self):
        kind = own_self if isinstance(own_self, type) else type(own_self)
        return f"{kind.__module__}.{kind.__qualname__}.{called.__name__}"
    module, name = getattr(called, "__module__", None), getattr(called, "__qualname__", None)
    return f"{module}.{name}" if module and name else None


def callee(frame: FrameType) -> str | None:
    """Return the dotted name of what the frame calls at its instruction; None: unknown."""
    try:
        names, is_with = _names_of_call(frame)
        found = _found(names, frame) if names else None
        return dotted(inspect.getattr_static(type(found), "__enter__") if is_with else found)
    except Exception:  # a user's class may do anything; a report without a name is enough
        return None


def _names(frame: FrameType | None, call: Any) -> Iterator[str]:
    """Yield dotted names, the callee first, then library functions, from inside to outside."""
    if frame is None or frame.f_code is _in_parent.__code__:
        name = dotted_of_user(call)
    else:
        name = callee(frame)
    if name is not None:
        yield name
    outer: FrameType | None = frame
    while outer is not None and is_library(outer):
        yield f"{outer.f_globals.get('__name__')}.{outer.f_code.co_qualname}"
        outer = outer.f_back


def dotted_of_user(call: Any) -> str | None:
    """Return the dotted name of the callable that the user gave to a thread."""
    while isinstance(call, partial | Told):
        call = call.func if isinstance(call, partial) else call.inner
    return dotted(call)


def advise(frame: FrameType | None, call: Any) -> tuple[str | None, str]:
    """Return what a frame that waits is calling, and what to call instead.

    `call` is the callable of the thread, which is the answer if it is no Python function.  Else it
    is the outermost function of a library that the table knows: so it names what the user has
    called, such as ``requests.get``, and not the lock or socket below that.
    """
    names = list(_names(frame, call))
    standard = sys.modules.get("wakeproof.standard")
    for name in reversed(names):
        for beginnings, instead in TABLE:
            if name.startswith(beginnings):
                has_all = standard is not None and standard.is_installed() and INSTALL in instead
                return name, THROUGH_C if has_all else instead
    return (names[0] if names else None), OFFLOAD
