# SPDX-License-Identifier: Apache-2.0
"""Schedulers of your own: who runs a virtual thread, when, and in which order.

Spec: ``specs/thread/VThread.tla``.  Source: ``kernel/sched/vthread_start.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

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
