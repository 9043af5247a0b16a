# SPDX-License-Identifier: Apache-2.0
"""Schedulers of your own: who runs a virtual thread, when, and in which order.

Spec: ``specs/thread/VThread.tla``.  Source: ``kernel/sched/vthread_start.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from wakeproof._native.ffi import ffi, lib
from wakeproof.errors import UsageError

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread


@runtime_checkable
class Scheduler(Protocol):
    """An object that runs virtual threads in place of their carriers: in its own order.

    Give it to `CarrierGroup.factory`.  Whenever one of the factory's threads can run, which means
    at its start, when its wait is over, and after it has yielded, `submit` is called with the
    thread.  The scheduler must then call `VirtualThread.run_step` once, soon or later, in an OS
    thread or in a task of a group.  A callable has a stack, which belongs to the OS thread that
    began it: all of its steps must be run there.  A coroutine function has none.

    Waits, results, interrupts and timers are those of every virtual thread.  The close of the group
    waits for the threads that the scheduler has; so the scheduler must go on until the close has
    returned.  The scheduler's own runner therefore is no carrier of that group.

    Threads: any thread may call `submit`, and several may at the same time; the scheduler must
    return soon, and not wait.
    Spec: ``specs/thread/VThread.tla``.  Source: ``kernel/sched/vthread_start.h``.

    Example:
        >>> import queue, threading
        >>> from wakeproof import CarrierGroup, yield_now
        >>> class ByName:
        ...     def __init__(self):
        ...         self.waiting = queue.PriorityQueue()
        ...     def submit(self, thread):
        ...         self.waiting.put((thread.name, thread))
        ...     def run(self, count):
        ...         for _ in range(count):
        ...             self.waiting.get()[1].run_step()
        >>> ran, scheduler = [], ByName()
        >>> with CarrierGroup(1) as group:
        ...     for name in "cab":
        ...         thread = group.factory(name=name, scheduler=scheduler)(ran.append, name)
        ...     scheduler.run(3)
        >>> ran
        ['a', 'b', 'c']
    """

    def submit(self, thread: VirtualThread[Any], /) -> object:
        """Take a thread that can run, and see to it that `VirtualThread.run_step` is called.

        If it raises an exception, it is called once more for the same turn; if that fails as well,
        the exception goes to ``sys.unraisablehook``, and the thread does not run unless the
        scheduler has kept it.
        """


class NativeScheduler:
    """A scheduler in C, a ``wp_scheduler``, for the virtual threads of a factory.

    Its `submit` gets each thread as a ``wp_vthread *``, and must see to it that the function at
    `run_address` is called with that pointer once.  What `Scheduler` says holds here too.

    Args:
        address: where the ``wp_scheduler`` is in memory: the address of two pointers, ``submit``
            and its ``arg``.  They must stay there as long as there are threads.
        keeps: an object that is kept alive as long as there are threads, such as the memory of the
            ``wp_scheduler`` or the library with its code.

    Threads: any thread may use it; it is immutable.
    Source: ``kernel/sched/vthread_start.h``.

    Raises:
        UsageError: `address` is not an int of 1 or more.

    Example:
        >>> import ctypes
        >>> from wakeproof import CarrierGroup, NativeScheduler
        >>> given = []  # C would keep them; here ctypes stands in for it
        >>> submit = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        ...     lambda arg, thread: given.append(thread))
        >>> memory = (ctypes.c_void_p * 2)(ctypes.cast(submit, ctypes.c_void_p), None)
        >>> scheduler = NativeScheduler(ctypes.addressof(memory), keeps=(memory, submit))
        >>> run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(scheduler.run_address)
        >>> with CarrierGroup(1) as group:
        ...     thread = group.factory(scheduler=scheduler)(len, "abc")
        ...     run(given.pop()), thread.result()
        (0, 3)
    """

    __slots__ = ("address", "keeps")

    def __init__(self, address: int, keeps: object = None) -> None:
        if isinstance(address, bool) or not isinstance(address, int) or address < 1:
            raise UsageError(f"address is {address!r}; allowed: that of a wp_scheduler, 1 or more")
        self.address, self.keeps = address, keeps

    @property
    def run_address(self) -> int:
        """The address of ``int wp_vthread_run(wp_vthread *)`` in the library of this process.

        It returns 0 when the thread has parked, yielded or ended; less, and it has run nothing, if
        the thread was not given since its last step, or if a virtual thread calls it.
        """
        return int(ffi.cast("uintptr_t", ffi.addressof(lib, "wp__vthread_run")))
