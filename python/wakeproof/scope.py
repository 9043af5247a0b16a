# SPDX-License-Identifier: Apache-2.0
"""Structured concurrency: the subtasks that a block starts have ended when the block ends.

  owner                                     subtask, on a virtual thread
  Open     enters the block                 Begin     cancelled? ends at once
  Fork     count + 1, unless cancelled;     Complete  not cancelled: keep the outcome, call
           start it                                   the joiner, which may cancel
  Join     waits until count is 0, or       Leave     count - 1; 0: wake the owner
           cancelled, or the time is over
  Close    Cancel, unless joined; waits     Cancel    once: no more forks; interrupt each
           until count is 0                           subtask but the caller; wake the owner

Spec: ``specs/scope/Scope.tla``: Fork, Join, Close, Begin, Record, Tell, Leave, Cancel
(ChildrenWithinScope, CancelOnce, NoForkRunsAfterCancel, NoResultAfterCancel, FirstFailureWins,
JoinWakes, TimerCancelled); ``specs/scope/Nesting.tla``.  Source: this file,
``_runtime/scope_children.py``; in C scope.h.
"""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from wakeproof import joiner as joiners
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.held import naming
from wakeproof._runtime.nesting import me, parent, stack
from wakeproof._runtime.scope_children import ScopeChildren, cancel_in
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.types import P, T
from wakeproof._runtime.vthread_base import check_callable, is_coroutine
from wakeproof.errors import (
    ClosedError,
    ForkedError,
    StateError,
    StructureError,
    SubtaskError,
    ThreadInterruptedError,
    UsageError,
    WrongThreadError,
)
from wakeproof.factory import ThreadFactory
from wakeproof.scoped import bindings
from wakeproof.subtask import Subtask
from wakeproof.vthread import VirtualThread

if TYPE_CHECKING:
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup
    from wakeproof.joiner import Joiner

Factory: TypeAlias = "ThreadFactory | Callable[[Callable[[], Any]], VirtualThread]"
NEW, OPEN, FORKED, JOIN_STARTED, JOIN_COMPLETED, CLOSED = range(6)


class Scope:
    """Structured concurrency: a block that ends only after all of its subtasks have ended.

    The thread that enters the block owns the scope.  With `fork` the owner starts subtasks, each on
    a virtual thread (`VirtualThread`) of its own; with `join` it waits for them before the block
    ends.  If the block ends without the join, it cancels its subtasks, waits for them, and raises
    StateError.

    A cancellation sets the interrupt flag of each subtask: a subtask that waits then raises
    ThreadInterruptedError.  Ctrl-C cancels the scope too.  The block ends when all subtasks have
    ended; meanwhile a line each second on stderr names a subtask for which it waits.

    Args:
        joiner: the policy for outcomes, of `wakeproof.joiner`; default:
            `await_all_successful_or_raise`.
        name: the name of the scope in errors and dumps; default None: "scope".
        timeout_s: seconds, 0 or more, counted from the entry of the block, after which the scope is
            cancelled if it is not joined; default None: no limit.
        group: the `CarrierGroup`, or the `Carrier` of one, that runs the subtasks; default None: as
            `VirtualThread`.
        factory: replaces `group`: a `ThreadFactory`, or a function that makes the virtual thread of
            each subtask.  It is given the callable of the thread, and returns a `VirtualThread`
            that is not started.

    Threads: the owner only, except that any thread, and a signal handler, may call `cancel` and
    read the properties.

    Raises:
        UsageError: `joiner` is not a Joiner, `timeout_s` is negative or not a number, or both
            `group` and `factory` are given.
        StateError: another scope has the joiner.

    Example:
        >>> from wakeproof import CarrierGroup, Scope
        >>> with CarrierGroup(2) as group, Scope(group=group) as scope:
        ...     length, total = scope.fork(len, "abc"), scope.fork(sum, [1, 2])
        ...     scope.join()
        ...     length.result() + total.result()
        6
    """

    def __init__(
        self,
        joiner: Joiner | None = None,
        *,
        name: str | None = None,
        timeout_s: float | None = None,
        group: CarrierGroup | Carrier | None = None,
        factory: Factory | None = None,
    ) -> None:
        if factory is not None and (group is not None or not callable(factory)):
            what = "allowed: a ThreadFactory or a callable, and no group beside it"
            raise UsageError(f"factory is {factory!r}, group {group!r}; {what}")
        if isinstance(factory, ThreadFactory):
            group, factory = factory._of, factory.unstarted
        self._factory: Callable[..., Any] | None = factory
        deadline_ns(timeout_s)  # refuses what is not a time
        self.name = name or "scope"
        self.parent: Scope | None = None
        self._joiner = joiners.taken(joiner or joiners.await_all_successful_or_raise())
        self._timeout_s, self._group = timeout_s, group
        self._broken: BaseException | None = None
        self._children, self._state = ScopeChildren(), NEW
        self._owner: object = None
        self._is_interrupted = False  # whether Ctrl-C has come
        self._timer: VirtualThread | None = None

    def __repr__(self) -> str:
        return f"<Scope {self.name}>"

    @property
    def is_cancelled(self) -> bool:
        """Whether the joiner, the timeout, `cancel` or the end of the block has cancelled it."""
        return self._children.is_cancelled

    @property
    def is_joined(self) -> bool:
        """Whether the join, or the block, has ended."""
        return self._state >= JOIN_COMPLETED

    def __enter__(self) -> Scope:
        if self._state != NEW:
            raise StateError(f"{self.name}: entered before; make a Scope for each block")
        if here.thread is not None and here.thread._is_coroutine:
            raise WrongThreadError(f"{self.name}: join would block the carrier of a coroutine")
        self.parent, self._owner = parent(), me()
        self._bindings, self._pid = bindings(), os.getpid()
        if self._timeout_s is not None:
            self._timer = cancel_in(self._children, self._timeout_s, self._group)
        self._state = OPEN
        stack().append(self)
        return self

    @overload
    def fork(
        self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Subtask[T]: ...
    @overload
    def fork(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Subtask[T]: ...
    def fork(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Subtask[Any]:
        """Start ``fn(*args, **kwargs)`` as a subtask, and return the subtask.

        In a cancelled scope the subtask is not started, and has no result.

        Raises:
            WrongThreadError: the caller is not the owner.
            StateError: the block is not entered, or `join` was called.
            StructureError: the bindings of each `ScopedValue` are not those with which the block
                was entered.
            ClosedError: the group is closed.
            UsageError: `fn` cannot be called, or the factory did not return a new VirtualThread.
        """
        self._check("fork")
        if self._state not in (OPEN, FORKED):
            raise StateError(f"{self.name}: fork after join; fork before it, or in another Scope")
        if bindings() is not self._bindings:
            raise StructureError(
                f"{self.name}: fork under other bindings than its opening's; bind around its block"
            )
        check_callable(fn)
        subtask = Subtask[Any](self, partial(fn, *args, **kwargs))
        body = subtask._run_coroutine if is_coroutine(fn) else subtask._run
        thread = subtask._thread = self._make(body)
        thread._scope = self
        thread._done.call(partial(self._leave, subtask))
        self._state = FORKED
        if self._joiner.on_fork(subtask):
            self.cancel()
        try:
            if self._children.enter(thread):
                thread._start(contextvars.copy_context())
        except BaseException:  # also at Ctrl-C
            if not thread._is_started:
                self._children.leave(thread)
            raise
        return subtask

    def _make(self, body: Callable[[], Any]) -> VirtualThread:
        """Return a virtual thread for a subtask.

        Raises:
            UsageError: the factory returned something else, or a thread that it has started.
        """
        if self._factory is None:
            return VirtualThread(body, group=self._group)
        made = self._factory(body)
        if isinstance(made, VirtualThread) and made.state == "new":
            return made
        raise UsageError(f"{self.name}: its factory returned {made!r}; allowed: a VirtualThread "
                         "that is not started")  # fmt: skip

    def _complete(self, subtask: Subtask, value: Any, error: BaseException | None) -> None:
        """Record an outcome and call the joiner; after a cancellation do nothing."""
        if not self._children.record(subtask, value, error):
            return
        try:
            cancels = self._joiner.on_complete(subtask)
        except BaseException as raised:
            self._broken, cancels = self._broken or raised, True
        if cancels:
            self.cancel()

    def _leave(self, subtask: Subtask) -> None:
        thread = subtask._thread
        if thread._is_closed:  # the group was closed before it had ended
            self._complete(subtask, None, ClosedError(f"{thread.name}: its group was closed"))
        self._children.leave(thread)

    def cancel(self) -> None:
        """Forbid forks, interrupt all subtasks except the caller, and wake the owner from its join.

        A second call does nothing.
        """
        self._children.cancel()

    def join(self) -> Any:
        """Wait until all subtasks have ended or the scope is cancelled.

        Returns what the `Joiner` returns as the result.

        Raises:
            WrongThreadError: the caller is not the owner.
            StateError: the scope was joined, or its block is not entered.
            SubtaskError: the joiner reports a failure; the cause is what a subtask raised.
            DeadlineError: the time was over first.
            ThreadInterruptedError: the owner was interrupted; it may join again, but not fork.
        """
        self._check("join")
        if not OPEN <= self._state <= JOIN_STARTED:
            raise StateError(
                f"{self.name}: join again, or after its block; join once, in its block"
            )
        self._state = JOIN_STARTED
        self._children.wait(or_cancelled=True)
        self._state = JOIN_COMPLETED
        self._children.end()
        if self._broken is not None:
            raise SubtaskError(f"{self.name}: its joiner failed") from self._broken
        if self._children.is_late:
            self._joiner.on_timeout()
        try:
            return self._joiner.result()
        except BaseException as error:
            raise SubtaskError(f"{self.name}: {error!r}") from error

    def close(self) -> None:
        """Cancel the scope, unless it is joined, and wait for all subtasks in every case.

        The end of the block does this.  A second close does nothing.

        Raises:
            WrongThreadError: the caller is not the owner.
            StructureError: scopes that were opened after this one were still open; all are closed
                now.
        """
        if self._state in (NEW, CLOSED):
            return
        self._check("close")
        inside = stack()[stack().index(self) + 1 :]
        for scope in [*reversed(inside), self]:
            scope._end()
        if inside:
            raise StructureError(
                f"{self.name}: closed before {inside[-1].name}, opened in it; close that first"
            )

    def _end(self) -> None:
        if self._state < JOIN_COMPLETED:
            self.cancel()
        scopes, was_interrupted, raised = stack(), False, None
        while True:
            try:
                if self._is_interrupted:
                    wait = partial(self._children.wait, or_cancelled=False)
                    naming(self.name, wait, self._children.alive)
                else:
                    self._children.wait(or_cancelled=False)
                if self._timer is not None:
                    self._timer.interrupt()
                    self._timer._done.wait()
                break
            except ThreadInterruptedError:
                was_interrupted = True
            except BaseException as error:  # Ctrl-C: interrupt the subtasks, and wait for them
                raised, self._is_interrupted = error, True
                self.cancel()
        self._state = CLOSED
        scopes.remove(self)
        if was_interrupted and here.thread is not None:
            here.thread.interrupt()
        if raised is not None:
            raise raised

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        is_unjoined = self._state == FORKED
        self._is_interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        try:
            self.close()
        finally:
            self.close()  # Ctrl-C may come before it waits
        if kind is None and is_unjoined:
            raise StateError(f"{self.name}: forked, but not joined; join it before its block ends")

    def _check(self, what: str) -> None:
        if self._state == NEW:
            raise StateError(f"{self.name}: {what} before its block; enter it by `with`")
        if self._pid != os.getpid():
            raise ForkedError(f"{self.name}: {what} in a child of its process; make one there")
        if self._owner != me():
            raise WrongThreadError(
                f"{self.name}: {what} by another thread than its owner, which entered its block"
            )
