# SPDX-License-Identifier: Apache-2.0
"""Prove that every virtual thread waits for another, and that nothing is left to wake one.

What could wake a parked virtual thread, and how the proof excludes it:

  a virtual thread            each is parked, and stays in that park from the first reading of its
                              word to the second; no carrier runs Python in between
  a task of a group           there is none
  its deadline, or a sleep    its park has no timer
  a descriptor, a file        it waits in a queue of a mutex, condition, semaphore or channel, or
                              for a permit or a signal, which only a thread gives
  a poller in Python          there is none
  an OS thread                each is a carrier, or waits without a limit in a join, a result or a
                              close of wakeproof, or is one of our own that does nothing
  an OS thread made in C      the system counts as many threads as are known by name
  a signal handler            no signal has a handler in Python, but SIGINT may have Python's own
  a finalizer                 garbage is collected first

If one of these cannot be excluded, there is no proof, and nothing is printed or raised.

The order of one look: the steps that all carriers have begun; the words, first reading; garbage;
the OS threads, tasks and handlers, at a moment M; the words, second reading; the steps again.  The
threads that the two readings list were all parked at M.  A thread that they do not list was started
after the first reading began, and then its first step is one that the carriers had not begun; or it
has ended, and then its carrier had left Python at M, so it had woken whom it wakes.  An OS thread
that ended before M has done its wakes before the second reading, which sees them.

The argument needs the GIL: at M no other thread is between two instructions of Python that it had
begun.  Without the GIL nothing is looked for.

A pinned park may have a deadline that the kernel does not record, so it is no proof.  Ctrl-C raises
KeyboardInterrupt in the main thread: a program that waits for nothing but Ctrl-C, with all virtual
threads parked without a limit, counts as a deadlock unless SIGINT has a handler of its own.

Spec: none.  Prior art: the check of Go's runtime ("all goroutines are asleep").
Source: this file.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import lib
from wakeproof._runtime import dump as dumping
from wakeproof._runtime import offload
from wakeproof._runtime.core import is_waiter
from wakeproof._runtime.group_registry import groups
from wakeproof._runtime.jobs import threads, works
from wakeproof._runtime.signal import Outcome, Signal
from wakeproof._runtime.waiting import HOPELESS, harmless, waiting
from wakeproof.watchdog import to_stderr

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

WHAT = HOPELESS.partition(";")[0]
_STATE = 31  # a mask of kernel/thread/vthread.h: the state, and the permit or the end of a deadline
HAS_GIL: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
Words = dict["VirtualThread", int]

_told_lock = threading.Lock()
_told: frozenset[int] = frozenset()  # the threads of the deadlock that was printed last


class Search:
    """Looks, one after the other, each of which is cheap unless nothing happens at all."""

    def __init__(self, report: Callable[[str], object] = to_stderr) -> None:
        self._report = report
        self._runs = -1  # the steps of all carriers at the last look
        self._witness: VirtualThread | None = None  # the thread that refuted it last

    def look(self) -> bool:
        """Return whether there is a deadlock; if so, print it, and fail all joins.

        In the first look after a step it returns False: something has just happened.
        """
        runs, before = _runs(), self._runs
        self._runs = runs
        if runs != before or not threads or not _may_be():
            return False
        witness = self._witness
        if witness is not None and witness.state == "parked" and _word(witness) is None:
            return False
        words = self._parked()
        if words is None:
            return False
        gc.collect()
        if not _may_be() or not _are_still(words) or _runs() != runs:
            return False
        _tell(list(words), self._report)
        _fail(list(words))
        return True

    def _parked(self) -> Words | None:
        """Return the word of each virtual thread; None: one is not parked for another thread."""
        words: Words = {}
        for thread in _ours():
            word = _word(thread)
            if word is None:
                self._witness = thread
                return None
            words[thread] = word
        return words or None


def _ours() -> list[VirtualThread]:
    """Return the virtual threads of this process that can run."""
    pid = os.getpid()
    return [
        thread
        for thread in list(threads.values())
        if thread._group is not None and thread._group._pid == pid
    ]


def _word(thread: VirtualThread) -> int | None:
    """Return the word of a thread that waits for another thread; None: it does not."""
    word = thread._tell(lib.wp__dump_look)
    wait = thread._wait
    if word is None or word & _STATE or thread._is_poller:
        return None
    if (wait is not None and not wait.ends_by_threads) or thread._tell(lib.wp__vthread_is_timed):
        return None
    return word if thread._tell(lib.wp__dump_is_still, word) else None


def _are_still(words: Words) -> bool:
    """Return whether these are all threads, each in the park of its word, without a permit."""
    return set(_ours()) == set(words) and all(
        thread._tell(lib.wp__dump_look) == word for thread, word in words.items()
    )


def _runs() -> int:
    """Return how many steps all carriers have begun."""
    total = 0
    for group in list(groups):
        if group._pid == os.getpid():
            total += sum(
                lib.wp_group_counts(group._native, one).runs for one in range(len(group._all))
            )
    return total


def _may_be() -> bool:
    """Return whether nothing but a virtual thread could wake one."""
    return HAS_GIL and not any(works) and not _has_handlers() and _are_all_known()


def _has_handlers() -> bool:
    """Return whether a signal runs Python, other than the KeyboardInterrupt of Ctrl-C."""
    usual = (None, signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler)
    return any(signal.getsignal(number) not in usual for number in signal.valid_signals())


def _are_all_known() -> bool:
    """Return whether each OS thread of the process is known to wake no virtual thread."""
    idle = offload.idle_threads()
    if idle is None or any(is_over() for is_over in list(waiting.values())):
        return False
    known = set(waiting) | harmless | idle
    if set(sys._current_frames()) - known:  # a carrier runs Python, or another OS thread does
        return False
    carriers = sum(len(group._carriers) for group in list(groups) if group._pid == os.getpid())
    try:
        count = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - names only
    except OSError:
        return False
    return count == carriers + len(known)


def _tell(stuck: list[VirtualThread], report: Callable[[str], object]) -> None:
    """Print the deadlock, unless these threads were printed already."""
    global _told
    numbers = frozenset(thread._number for thread in stuck)
    with _told_lock:
        if numbers == _told:
            return
        _told = numbers
    text = io.StringIO()
    text.write(f"wakeproof: {WHAT}\n")
    text.writelines(f"    {line}\n" for line in edges(stuck))
    dumping.write(stuck, text, format="text", limit=dumping.LISTED, overwrite=False, about={})
    report(text.getvalue())


MOST_EDGES = 100


def edges(stuck: list[VirtualThread]) -> Iterator[str]:
    """Yield a line for each thread that waits, and for what."""
    ends = {thread._done: thread for thread in stuck}
    holders: dict[Any, VirtualThread] = {}
    for thread in stuck:
        for mutex in list(thread._held):
            holders[mutex._native] = thread
    for thread in stuck[:MOST_EDGES]:
        other = ends.get(thread._wait) if isinstance(thread._wait, Signal) else None
        what = _what(thread, holders) if other is None else f"the end of {other.name!r}"
        yield f"{thread.name!r} waits for {what}"
    if len(stuck) > MOST_EDGES:
        yield f"and {len(stuck) - MOST_EDGES} more"


def _what(thread: VirtualThread, holders: dict[Any, VirtualThread]) -> str:
    wait = thread._wait
    if wait is None:
        return "an unpark"
    what = wait.what
    holder = holders.get(getattr(wait, "mutex", None)) if what == "a mutex" else None
    return f"{what}, which {holder.name!r} holds" if holder is not None else what


def _fail(stuck: list[VirtualThread]) -> None:
    """Let each thread that waits for the end of one of these, or for a future, raise."""
    for thread in stuck:
        fail_waiters(thread._done)
        if isinstance(thread._wait, Outcome):
            fail_waiters(thread._wait)


def fail_waiters(done: Signal) -> None:
    """Wake the threads that wait for the signal, which was not set: they raise."""
    for wake in list(done._waiters):
        if is_waiter(wake) and done._leave(wake):
            wake()
