# SPDX-License-Identifier: Apache-2.0
"""The hot path of virtual threads in Python, for where there is no ``_native/core.c``.

  setter                          waiter
  is_set := True                  into the list
  each in the list: off it, wake  is_set? off the list, done; if it is not there: a wake comes
                                  park

The second of setter and waiter sees the step of the first.  The setter wakes a virtual thread by
the number of that thread's park, so a late wakeup leaves no permit behind; if that park was
refused, the thread ends it.  A permit of another unpark that the wait has taken is given back.

Spec: ``specs/thread/Latch.tla`` (NoLostWaiter), ``VThread.tla``.
Source: ``kernel/thread/vthread.h`` (vthread.5), ``kernel/sched/vthread_start.h``.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Generator
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

from greenlet import getcurrent, greenlet

from wakeproof._native.ffi import lib
from wakeproof._runtime import known, process
from wakeproof._runtime.brief import HAS_GIL
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.here import here, mount, pool_here, unmount
from wakeproof._runtime.jobs import _in_parent, threads
from wakeproof.parker import Parker

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

F = TypeVar("F", bound=Callable[..., object])
IDLE_MOST = 64  # the most idle greenlets of an OS thread; each takes about 10 KB
DONE, YIELD, PARK = lib.WP_STEP_DONE, lib.WP_STEP_YIELD, lib.WP_STEP_PARK
py: dict[str, Any] = {}  # what core.c takes as well


def _wake(thread: VirtualThread, number: int) -> None:
    thread._tell(lib.wp__vthread_unpark_if, number)


def _end(thread: VirtualThread, number: int) -> None:
    """End this park of the caller if it was refused, so that a late wakeup does nothing."""
    if lib.wp__vthread_park_number() == number:
        thread._tell(lib.wp_vthread_unpark)
        lib.wp__vthread_park_begin(0)


class Signal:
    """An event that is set once, and never cleared."""

    __slots__ = ("_waiters", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._waiters: list[Callable[[], object]] = []

    def set(self) -> None:
        """Set the event, and wake all waiters, also if a callback raises an exception."""
        self.is_set = True
        while self._waiters:
            try:
                wake = self._waiters.pop(0)
            except IndexError:  # the waiter has left the list
                return
            try:
                wake()
            except BaseException:
                self.set()
                raise

    def call(self, callback: Callable[[], object], *, is_first: bool = False) -> None:
        """Register a callback, which the thread that sets the event calls.

        Register it before another thread can set the event; this is not checked.

        Args:
            callback: what is called.
            is_first: whether it is called before any waiter is woken.
        """
        self._waiters.insert(0 if is_first else len(self._waiters), callback)

    def wait(self, timeout_s: float | None = None, why: int = lib.WP_WAIT_JOIN) -> bool:
        """Wait until the event is set; return False if the time ran out.

        Args:
            timeout_s: seconds, 0 or more; None: wait without a limit.
            why: what a trace says that a virtual thread waits for.

        Raises:
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        deadline = deadline_ns(timeout_s)
        if self.is_set or deadline == 0:
            return self.is_set
        thread = here.thread
        if thread is None:
            return self._wait_below(timeout_s)
        turns = self._turns(thread)
        code = None
        while True:
            try:
                turns.send(code)
            except StopIteration as stop:
                return bool(stop.value)
            code = park(thread, deadline, why)

    def _leave(self, wake: Callable[[], object]) -> bool:
        try:
            self._waiters.remove(wake)
        except ValueError:
            return False
        return True

    def _wait_below(self, timeout_s: float | None) -> bool:
        """Wait as an OS thread."""
        parker = Parker()
        self._waiters.append(parker.unpark)
        if not self.is_set:
            try:
                if timeout_s is None:
                    py["wait_long"](self, parker)
                else:
                    parker.park(timeout_s)
            finally:
                self._leave(parker.unpark)
            if timeout_s is None and not self.is_set:
                py["hopeless"]()
        return self.is_set

    async def until(self, thread: VirtualThread, deadline: int) -> bool:
        """Wait as `thread`, a coroutine function, until the event is set or the deadline."""
        turns = self._turns(thread)
        code = None
        while True:
            try:
                turns.send(code)
            except StopIteration as stop:
                return bool(stop.value)
            code = await parking(thread, deadline, lib.WP_WAIT_JOIN)

    def _turns(self: Any, thread: VirtualThread) -> Generator[None, int | None, bool]:
        """Wait as a virtual thread: park at each yield, which returns the outcome of the park."""
        wake, took_other, thread._wait = None, False, self
        try:
            while True:
                number = lib.wp__vthread_park_number()
                wake = partial(_wake, thread, number)
                self._waiters.append(wake)
                if self.is_set and self._leave(wake):
                    break
                code = yield
                if not self._leave(wake):
                    _end(thread, number)
                    if not self.is_set:
                        py["hopeless"]()
                    break
                if code == lib.WP_INTERRUPTED:
                    raise py["interrupted"](thread)
                if code == lib.WP_TIMEOUT:
                    break
                took_other = True
        finally:
            thread._wait = None
            if wake is not None:
                self._leave(wake)
            if took_other:
                thread._tell(lib.wp_vthread_unpark)
        return bool(self.is_set)


def is_waiter(wake: object) -> bool:
    """Return whether a callback of a signal wakes a thread."""
    is_os = getattr(wake, "__func__", None) is Parker.unpark
    return is_os or (isinstance(wake, partial) and wake.func is _wake)


class Core:
    """What `Handle` has from C elsewhere: how a thread is made, started, waited for and freed."""

    __slots__ = (
        "__weakref__", "_address", "_call", "_context", "_coroutine", "_error", "_frames",
        "_greenlet", "_group", "_has_ended", "_home", "_hub", "_is_closed", "_is_coroutine",
        "_is_heard", "_is_started", "_locals", "_mutexes", "_name", "_number", "_open",
        "_permitted", "_pins", "_resume", "_runs", "_scope", "_signal", "_value", "_wait",
    )  # fmt: skip

    def __init__(self: Any, *args: Any, **named: Any) -> None:
        self._address = self._error = self._group = None
        if not args:
            raise TypeError("VirtualThread: fn is missing")
        py["check_callable"](args[0])
        self._name = py["checked"](named.pop("name", None))
        of, home = py["place"](named.pop("group", None))
        of._check_process()
        self._group, self._number = of, next(py["numbers"])
        self._is_coroutine = py["is_coroutine"](args[0])
        self._call = partial(args[0], *args[1:], **named)
        if len(args) == 1 and not named:
            self._call = args[0]
        self._resume = first_of_coroutine if self._is_coroutine else first_of_call
        self._signal = None
        self._frames = None if HAS_GIL else threading.Lock()  # of a step, or of who reads them
        self._has_ended = self._is_started = self._is_closed = self._runs = self._is_heard = False
        self._coroutine = self._permitted = self._value = self._wait = None
        self._locals = self._scope = None
        self._pins, self._mutexes, self._open = 0, None, None
        self._make(of, home)

    def __del__(self: Any, _free: Any = lib.wp_vthread_free, _process: Any = process) -> None:
        address = getattr(self, "_address", None)  # None: its arguments were refused
        if address and (of := self._group) is not None and of._pid == _process.pid:
            if of._life[0]:
                native, self._address = self._native, None  # a hook may keep this object
                _free(native)
            if self._error is not None:
                py["report"](self)

    @property
    def _done(self: Any) -> Signal:
        """A signal that is set when the thread has ended."""
        if self._signal is None:
            self._signal = py["signal"]()
            self._signal.is_set = self._has_ended
        made: Signal = self._signal
        return made

    @property
    def _held(self: Any) -> set[Any]:
        """The mutexes that it holds."""
        if self._mutexes is None:
            self._mutexes = set()
        found: set[Any] = self._mutexes
        return found

    @_held.setter
    def _held(self: Any, held: set[Any]) -> None:
        self._mutexes = held

    @property
    def _scopes(self: Any) -> list[Any]:
        """The scopes that it has open."""
        if self._open is None:
            self._open = []
        found: list[Any] = self._open
        return found

    def _hold(self: Any) -> bool:
        return self._frames is None or bool(self._frames.acquire(blocking=False))

    def _release(self: Any) -> None:
        if self._frames is not None:
            self._frames.release()

    def _waits(self: Any, timeout_s: float | None) -> bool:
        is_set: bool = self._done.wait(timeout_s)
        return is_set

    def _begin(self: Any, context: Any, is_next: bool = False) -> None:
        self._check_process()
        context = py["context_to_start"]() if context is None else context
        if not _claim(self):
            py["refuse_start"](self)
        group, native = self._group, self._native  # this reference keeps the group alive meanwhile
        self._context = context
        if group._is_placed:
            self._home = lib.wp__vthread_placed(native)
        threads[id(self)] = self
        try:
            code = (
                lib.wp__vthread_submit_next(native, True)
                if is_next
                else lib.wp_vthread_start(native)
            )
        except BaseException:  # Ctrl-C may follow the call: a second call returns its outcome
            self._is_started = lib.wp_vthread_start(native) != lib.WP_CLOSED
            raise
        else:
            self._is_started = code == lib.WP_OK
        finally:
            if not self._is_started:
                del threads[id(self)]
        if not self._is_started:
            py["closed_start"](self)


_starting = None if HAS_GIL else threading.Lock()


def _claim(thread: Any) -> bool:
    """Note that the thread is started; return whether it was not, which one of two callers gets."""
    if _starting is None:  # the GIL: no other thread runs between the two halves
        was, thread._is_started = thread._is_started, True
    else:
        with _starting:
            was, thread._is_started = thread._is_started, True
    return not was


def bind_core(objects: dict[str, Any], *_: object) -> int:
    """Take what is called; return 0: the step is `first_step`."""
    py.update(objects)
    return 0


def first_step(number: int) -> int:
    """Run one step of the thread with this number; the kernel calls this on a carrier."""
    thread: Any = threads[number]
    if known.groups.get(get_ident()) is not thread._group:
        known.know(thread._group)
    if thread._frames is not None:
        thread._frames.acquire()
    mount(thread, thread._number, thread._locals)
    thread._runs = True
    try:
        said: int = thread._resume(thread)
    # There was no memory for a greenlet; exceptions of the callable itself do not come here.
    except BaseException as error:
        thread._error = error
        said = DONE
    finally:
        thread._locals, thread._runs = unmount(), False
        thread._release()
    # A poller is forgotten later, when the kernel has removed it from its carrier.
    if said == DONE and not thread._is_poller:
        forget(thread)
    del thread  # an error's traceback refers to this frame
    return said


def forget(thread: Any) -> None:
    """Drop what the thread ran with and wake its joiners, because it never runs again."""
    threads.pop(id(thread), None)
    if thread._mutexes:
        thread._abandon_held()
    thread._call, thread._coroutine, thread._greenlet = py["nothing"], None, None
    thread._hub, thread._context, thread._locals = None, py["empty"], None
    call, thread._permitted = thread._permitted, None
    if thread._error is not None:
        py["keep"](thread)
    thread._has_ended = True
    if call is not None:
        call.end()
    if thread._signal is not None:
        thread._signal.set()


class Pool:
    """The greenlets of one OS thread, for reuse.

    A new greenlet costs at least a memory mapping; the reuse of an idle one costs only a switch.
    """

    __slots__ = ("alive", "idle", "next")

    def __init__(self) -> None:
        self.alive = 0  # callables that have begun and not ended
        # greenlets without a callable; none once `alive` is 0
        self.idle: list[greenlet] = []
        # what the greenlet runs that is switched to; as an argument it would live as long as that
        self.next: VirtualThread | None = None


def first_of_call(thread: VirtualThread) -> int:
    """Begin a callable, in a greenlet of its own."""
    home = lib.wp_vthread_settle()
    if home >= 0:
        thread._home = home
    else:
        thread._runner = get_ident()  # type: ignore[attr-defined] # its scheduler's
    pool = pool_here(Pool)
    pool.alive += 1
    body = pool.idle.pop() if pool.idle else greenlet(partial(_bodies, pool))
    thread._hub, thread._greenlet, thread._resume = getcurrent(), body, next_of_call
    pool.next = thread
    said: int = body.switch()
    return said


def _bodies(pool: Pool) -> int:
    """Run one callable after the other, while others are alive and few greenlets are idle."""
    while True:
        thread, pool.next = pool.next, None
        assert thread is not None
        hub = thread._hub
        _body(thread)
        del thread
        pool.alive -= 1
        if not pool.alive:
            pool.idle.clear()  # each ends: no greenlet outlives the OS thread
        if not pool.alive or len(pool.idle) >= IDLE_MOST:
            return DONE
        pool.idle.append(getcurrent())
        hub.switch(DONE)


def _body(thread: VirtualThread) -> int:
    try:
        thread._value = _in_parent(thread._context.run, thread._call)
    except BaseException as error:
        py["failed"](thread, error)
    finally:
        del thread  # the error's traceback refers to this frame
    return DONE


def greenlets_here() -> tuple[int, int]:
    """Return how many callables of the calling OS thread are alive, and greenlets idle."""
    pool = pool_here(Pool)
    return pool.alive, len(pool.idle)


def next_of_call(thread: VirtualThread) -> int:
    """Go on with a callable."""
    said: int = thread._greenlet.switch()
    return said


def first_of_coroutine(thread: VirtualThread) -> int:
    """Begin a coroutine function."""
    try:
        thread._coroutine = thread._context.run(thread._call)
    except BaseException as error:
        py["failed"](thread, error)
        return DONE
    thread._resume = next_of_coroutine
    try:
        return next_of_coroutine(thread)
    finally:
        del thread  # the error's traceback refers to this frame


def next_of_coroutine(thread: VirtualThread) -> int:
    """Go on with it."""
    try:
        return _in_parent(thread._context.run, _send, thread)
    except BaseException as error:
        py["failed"](thread, error)
        return DONE
    finally:
        del thread  # as above


def _send(thread: VirtualThread) -> int:
    coroutine = thread._coroutine
    assert coroutine is not None
    try:
        said = coroutine.send(None)
        if said not in (YIELD, PARK):
            said = py["send"](thread, said)
        if isinstance(said, tuple):
            thread._value = said[0]
            return DONE
    except StopIteration as stop:
        thread._value = stop.value
        return DONE
    finally:
        del thread  # as above
    return int(said)


def leave(thread: VirtualThread, said: int) -> None:
    """Switch to the carrier until the next step; the step that ends here returns `said`.

    The caller may be a greenlet that the callable has made; then that greenlet continues.
    """
    thread._greenlet = getcurrent()
    thread._hub.switch(said)


def park(thread: VirtualThread, deadline_ns: int, why: int = lib.WP_WAIT_PARK, on: int = 0) -> int:
    """Park the caller, and return WP_OK, WP_TIMEOUT or WP_INTERRUPTED.

    A pinned thread blocks its carrier.
    """
    if thread._pins or thread._is_coroutine:
        return park_pinned(deadline_ns, why, on)
    code = lib.wp__vthread_park_begin_for(deadline_ns, why, on)
    if code == lib.WP_MUST_PARK:
        leave(thread, PARK)
        code = lib.wp__vthread_park_end()
    return code


def park_pinned(deadline_ns: int, why: int, on: int) -> int:
    """Park the caller as `park` does, and block its carrier.

    This counts as a block: in a group with `Compensation` other carriers do the carrier's work.
    """
    is_marked = lib.wp_group_block() == lib.WP_OK
    try:
        return lib.wp__vthread_park_for(deadline_ns, why, on)
    finally:
        if is_marked:
            lib.wp_group_unblock()


@types.coroutine
def parking(
    thread: VirtualThread, deadline: int, why: int = lib.WP_WAIT_PARK, on: int = 0
) -> Generator[int, None, int]:
    """Await a park: as `park`."""
    if thread._pins:
        return park_pinned(deadline, why, on)
    code = lib.wp__vthread_park_begin_for(deadline, why, on)
    if code == lib.WP_MUST_PARK:
        yield PARK
        code = lib.wp__vthread_park_end()
    return code


async def permit(timeout_s: float | None) -> bool:
    """Await a permit."""
    thread = py["refuse_park"]()
    code = await parking(thread, deadline_ns(timeout_s))
    if code == lib.WP_INTERRUPTED:
        raise py["interrupted"](thread)
    return code == lib.WP_OK


async def joining(other: VirtualThread, timeout_s: float | None) -> bool:
    """Await the end of a thread."""
    thread, deadline = py["refuse_join"](), deadline_ns(timeout_s)
    other._check_join()
    if not other._has_ended and deadline:
        await other._done.until(thread, deadline)
    if other._is_closed:
        other._check_join()
    return other._has_ended


def in_c(fn: F) -> F:
    """Return the coroutine function itself."""
    return fn


@types.coroutine
def yielding() -> Generator[int, None, None]:
    """Await a yield."""
    thread = here.thread
    if thread is None or not thread._is_coroutine:
        py["refuse_yield"]()
    elif not thread._pins:
        yield YIELD


def yield_here() -> bool:
    """Yield, if the caller is a virtual thread that may; return whether it is a virtual thread."""
    thread = here.thread
    if thread is not None and not thread._pins and not thread._is_coroutine:
        leave(thread, YIELD)
    return thread is not None
