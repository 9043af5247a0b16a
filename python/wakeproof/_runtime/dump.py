# SPDX-License-Identifier: Apache-2.0
"""Dumps show what every virtual thread does now, and where: as text or JSON, by scope and by stack.

Carriers continue meanwhile, so a dump is not a snapshot of one moment: each thread is shown as it
was when the dump read it.
Spec: ``Dump.tla``.  Source: ``kernel/inspect/dump.h`` (for threads in C), ``dump_tree.py``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from wakeproof._runtime import stacks as _stacks
from wakeproof._runtime.dump_tree import NAMES, Listing, label, owner, tree
from wakeproof._runtime.jobs import threads
from wakeproof.errors import UsageError

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

LISTED = 1000


def _json(made: Listing, alive: list[VirtualThread], about: dict[str, str]) -> Iterator[str]:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    head = {"processId": str(os.getpid()), "time": now,
            "runtimeVersion": sys.version.split()[0], **about}  # fmt: skip
    yield '{"threadDump": ' + json.dumps(head)[:-1] + ', "threadContainers": ['
    for at, (scope, members) in enumerate(tree(alive)):
        parent = None if scope is None else label(scope.parent)
        one = {"container": label(scope), "parent": parent, "owner": owner(scope)}
        yield ("," if at else "") + "\n " + json.dumps(one)[:-1] + ', "threads": ['
        before = made.count
        for place, said in enumerate(made.each(members)):
            yield ("," if place else "") + "\n  " + json.dumps(said)
        yield f'], "threadCount": "{made.count - before}"}}'
    yield '],\n "stacks": ' + json.dumps(made.by_stack())
    yield f', "others": "{made.others}"'
    runs = [{"carrier": name, "thread": str(number)} for (_, name), number in made.carriers.items()]
    yield ',\n "carriers": ' + json.dumps(runs) + "}}\n"


def _text(made: Listing, alive: list[VirtualThread], about: dict[str, str]) -> Iterator[str]:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    yield f"{os.getpid()}\n{now}\nPython {sys.version.split()[0]}\n"
    yield "".join(f"{name} {value}\n" for name, value in about.items())
    for scope, members in tree(alive):
        where = "" if scope is None else f" in {label(scope.parent)}, owner #{owner(scope)}"
        yield f"\n{json.dumps(label(scope))}{where}, {len(members)} threads\n"
        for said in made.each(members):
            on = f" on {said['carrier']}" if said["carrier"] else ""
            yield f"#{said['tid']} {json.dumps(said['name'])} virtual, {said['state']}{on}, "
            yield f"home {said['home']}\n" + "".join(f"    {line}\n" for line in said["stack"])
    yield f"\n{made.count} threads, {made.listed} listed; by stack:\n"
    for same in made.by_stack():
        names = " ".join(json.dumps(name) for name in same["names"])
        more = " ..." if int(same["count"]) > NAMES else ""
        yield f"\n{same['count']} {same['state']}: {names}{more}\n"
        yield "".join(f"    {line}\n" for line in same["stack"])
    yield f"\n{made.others} with other stacks\n"


_FORMATS = {"json": _json, "text": _text}


def dump(
    file: str | os.PathLike[str] | TextIO | None = None,
    *,
    format: Literal["text", "json"] = "text",  # noqa: A002 - as in the JDK's
    limit: int = LISTED,
    overwrite: bool = False,
) -> None:
    """Write what every virtual thread of this process (`VirtualThread`) does now.

    The dump shows threads that were started and have not ended: parked ones with their stacks, and
    running ones with their carriers, the OS threads that run them.

    Args:
        file: a path, to which the dump is written completely or not at all; or an open text file;
            default None: stderr.
        format: "text" (default) or "json".
        limit: the number of threads that are listed one by one, 0 or more.  All threads are
            counted, and grouped by stack.
        overwrite: whether a file at that path is replaced; default False.

    Threads: any thread may call it; a virtual thread blocks its carrier while it writes.

    Raises:
        UsageError: the format is unknown, the limit is negative, or the path exists.
        OSError: the file cannot be written.

    Example:
        >>> import io
        >>> from wakeproof import CarrierGroup, VirtualThread, dump, park
        >>> text = io.StringIO()
        >>> with CarrierGroup(1) as group:
        ...     thread = VirtualThread(park, name="waits", group=group).start()
        ...     dump(text)
        ...     thread.unpark()
        >>> "waits" in text.getvalue()
        True
    """
    alive = [thread for thread in list(threads.values()) if _is_ours(thread)]
    write(alive, file, format=format, limit=limit, overwrite=overwrite, about={})


def write(
    alive: list[VirtualThread],
    file: str | os.PathLike[str] | TextIO | None,
    *,
    format: str,  # noqa: A002
    limit: int,
    overwrite: bool,
    about: dict[str, str],
) -> None:
    """Write a dump of those threads, with the entries of `about` in its head."""
    if format not in _FORMATS:
        raise UsageError(f"format is {format!r}; allowed: 'text', 'json'")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise UsageError(f"limit is {limit!r}; allowed: 0 and more")
    text = _FORMATS[format](Listing(_stacks.running(), limit), alive, about)
    if file is None or hasattr(file, "write"):
        to: Any = sys.stderr if file is None else file
        to.writelines(text)
        to.flush()
    else:
        _save(Path(file), text, overwrite=overwrite)


def _is_ours(thread: VirtualThread) -> bool:
    """Return whether the thread belongs to this process, and not to the one that forked it."""
    return thread._group is not None and thread._group._pid == os.getpid()


def _save(path: Path, text: Iterator[str], *, overwrite: bool) -> None:
    """Write `path` completely or not at all."""
    taken = UsageError(f"dump to {path}: it is there; allowed: a new path, or overwrite=True")
    if path.exists() and not overwrite:
        raise taken
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.unlink(missing_ok=True)  # of a process that was killed; a link of others, too
        with part.open("x", encoding="utf-8") as out:
            out.writelines(text)
        if overwrite:
            part.replace(path)
        else:
            os.link(part, path)  # unlike a rename, a link fails if the path exists
    except FileExistsError:
        raise taken from None
    finally:
        part.unlink(missing_ok=True)


def dump_on_signal(
    number: int = signal.SIGQUIT,
    *,
    format: Literal["text", "json"] = "text",  # noqa: A002
) -> Any:
    """Install a handler that writes a dump to stderr on a signal; return the former handler.

    Python runs handlers in the main thread, between two instructions.  While the main thread is in
    a call that does not return, there is no dump.

    Args:
        number: the number of the signal; default SIGQUIT (Ctrl-Backslash).
        format: "text" (default) or "json".

    Threads: the main thread only.

    Raises:
        ValueError: the caller is not the main thread, or there is no such signal.

    Example:
        >>> import signal
        >>> from wakeproof import dump_on_signal
        >>> before = dump_on_signal(signal.SIGUSR2)
        >>> handler = signal.signal(signal.SIGUSR2, before)  # restore the former handler
    """
    write = partial(dump, format=format)
    return signal.signal(number, lambda *_: write())
