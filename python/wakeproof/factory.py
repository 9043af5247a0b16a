# SPDX-License-Identifier: Apache-2.0
"""What makes virtual threads of one carrier, or of one group.

Spec: ``specs/thread/VThread.tla``.  Source: this file, ``vthread.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from wakeproof._runtime.types import P, T
from wakeproof.carrier import checked
from wakeproof.vthread import VirtualThread

if TYPE_CHECKING:
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup


class _Pinned(VirtualThread[T]):
    """Never stolen, not even before it begins."""

    __slots__ = ()
    _is_pinned = True


class ThreadFactory:
    """Makes virtual threads: a call starts one, `unstarted` does not.  `Scope` takes one, too.

    ``carrier.factory()(fn, *args).result()``; all keywords are the callable's.  `Carrier.factory`
    and `CarrierGroup.factory` make factories.

    Threads: any.
    """

    __slots__ = ("_is_pinned", "_name", "_of")

    def __init__(
        self, of: CarrierGroup | Carrier, *, name: str | None = None, pinned: bool = False
    ) -> None:
        self._of, self._name, self._is_pinned = of, checked(name), bool(pinned)

    @overload
    def __call__(
        self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> VirtualThread[T]: ...
    @overload
    def __call__(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> VirtualThread[T]: ...
    def __call__(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> VirtualThread[Any]:
        """Start a virtual thread that runs ``fn(*args, **kwargs)``, and return it.

        Raises:
            ClosedError: the group is closed, or being closed.
            UsageError, ForkedError: as `VirtualThread`.
        """
        return self.unstarted(fn, *args, **kwargs).start()

    @overload
    def unstarted(
        self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> VirtualThread[T]: ...
    @overload
    def unstarted(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> VirtualThread[T]: ...
    def unstarted(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> VirtualThread[Any]:
        """Make one for its caller to start."""
        kind = _Pinned if self._is_pinned else VirtualThread
        thread = kind(fn, *args, name=self._name, group=self._of)
        if kwargs:  # not to its maker: `name` and `group` may be among them
            thread._call = partial(thread._call, **kwargs)
        return thread
