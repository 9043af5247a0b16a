# SPDX-License-Identifier: Apache-2.0
"""An executor that starts a new virtual thread for each call.

Spec: ``specs/thread/VThread.tla`` (TerminationVisible).  Source: ``virtual_pool.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wakeproof.virtual_pool import VirtualThreadPool

if TYPE_CHECKING:
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup


class VirtualThreadExecutor(VirtualThreadPool):
    """A `VirtualThreadPool` without a limit, whose calls run where their caller does.

    A virtual thread (`VirtualThread`) costs little, and their number has no limit.  If the group of
    the threads is closed first, the future of a call raises ClosedError.  A virtual thread that
    waits for such a future parks, so its carrier runs other work.  As a context manager the
    executor waits for all calls at the end of the block.

    Args:
        group: the `CarrierGroup`, or the `Carrier` of one, that runs the threads; default None: as
            `VirtualThread`.
        thread_name_prefix: the names of its threads are this, "_" and a number; default "": each
            thread gets a name of its own.

    Threads: any thread may call all methods.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThreadExecutor
        >>> with CarrierGroup(2) as group, VirtualThreadExecutor(group) as executor:
        ...     list(executor.map(abs, [-1, -2]))
        [1, 2]
    """

    _kind = "an executor"

    def __init__(
        self, group: CarrierGroup | Carrier | None = None, *, thread_name_prefix: str = ""
    ) -> None:
        super().__init__(None, thread_name_prefix, group=group)

    def _default_group(self) -> CarrierGroup | None:
        return None  # `VirtualThread` finds that of the caller of `submit`

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls, and wait until all have ended.

        A call of this executor may call this too.  It then waits only for the other calls of the
        executor, and not for those that are in `shutdown` themselves.

        Args:
            wait: whether to wait; default True.
            cancel_futures: whether to cancel the calls that have not begun, and to interrupt the
                others; default False.

        Raises:
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        self._refuse("shutdown")
        if cancel_futures:
            for call in self._cancel():
                call.leave_line()
        super().shutdown(wait)
