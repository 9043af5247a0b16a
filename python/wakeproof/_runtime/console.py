# SPDX-License-Identifier: Apache-2.0
"""Read a line of the standard input, while the caller parks.

Source: ``ready.py``.
"""

from __future__ import annotations

import builtins
import os
import select
import sys
from typing import TextIO

from wakeproof._native.ffi import lib
from wakeproof._runtime.ready import ready
from wakeproof._runtime.trampoline import here

READ = 4096


def descriptor(stream: TextIO | None) -> int | None:
    """Return the descriptor of a stream; None if it has none, as a replaced ``sys.stdin``."""
    try:
        return None if stream is None else stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def ask(prompt: object) -> None:
    """Write the prompt as the builtin does."""
    sys.audit("builtins.input", prompt)
    sys.stdout.write(str(prompt))
    sys.stdout.flush()


def more(fd: int) -> bytes:
    """Read what belongs to the line: on a terminal all that is there, else one byte.

    A terminal gives no more than one line at once; of other files the rest is for other readers.
    """
    return os.read(fd, READ if os.isatty(fd) else 1)


def line_of(data: bytes) -> str:
    """Return the text of a line without its end, and tell the audit hooks.

    Raises:
        EOFError: there is none, because the input has ended.
    """
    if not data:
        raise EOFError("EOF when reading a line")
    text = data.decode(sys.stdin.encoding, sys.stdin.errors or "strict")
    line = text.removesuffix("\n").removesuffix("\r")
    sys.audit("builtins.input/result", line)
    return line


def read_line(prompt: object = "") -> str:
    r"""Print the prompt and return a line of the standard input, as the builtin ``input`` does.

    A virtual thread (`VirtualThread`) parks until the line is there: its carrier, the OS thread
    that runs it, does other work meanwhile.  It has no line editing beside that of the terminal,
    and does not see what ``sys.stdin`` has read in advance; so of one pipe or file read all by this
    function or all by ``sys.stdin``.  In an OS thread, and if ``sys.stdin`` was replaced by an
    object without a descriptor, the builtin is called.

    Args:
        prompt: what is printed first, without a newline.

    Threads: any thread may call it.  Two that read at the same time may each get a part of a line.

    Raises:
        EOFError: the input has ended.
        ThreadInterruptedError: the caller is a virtual thread, and was interrupted.

    Example:
        >>> import os, sys
        >>> from wakeproof import CarrierGroup, VirtualThread, io
        >>> ours, theirs = os.pipe()
        >>> _ = os.write(theirs, b"hello\nmore")
        >>> stdin, sys.stdin = sys.stdin, os.fdopen(ours)
        >>> with CarrierGroup(1) as group:
        ...     VirtualThread(io.input, group=group).start().result()
        'hello'
        >>> sys.stdin.close(); sys.stdin = stdin; os.close(theirs)
    """
    fd = descriptor(sys.stdin)
    if here.thread is None or fd is None:
        return builtins.input(prompt)
    ask(prompt)
    data = b""
    while not data.endswith(b"\n"):
        ready({fd: select.POLLIN}, lib.WP_FOREVER)
        part = more(fd)
        if not part:
            break
        data += part
    return line_of(data)
