# SPDX-License-Identifier: Apache-2.0
"""One run of a program whose threads are greenlets, in the order that a scheduler gives.

  thread      stops before each operation that another thread could notice: it takes a lock, puts an
              item into a SimpleQueue, sleeps, starts or joins a thread, ends
  scheduler   `pick` says which thread makes its operation next
  thread      makes it, and whatever follows up to its next operation

So a run is a list of choices.  A choice is twice the number of a thread; and one more if the wait
of the thread ends because its time has run out.  Time is virtual: it passes when a thread sleeps or
times out.  Where a thread itself can go on in several ways, as a loop of asyncio can, `choose` says
which; above the number of the thread the choice then has which of them it is.

All threads of a run are greenlets of one OS thread, so between two operations nothing else happens.
A greenlet that has run a thread to its end runs another one in the next run: a new one costs ten
times as much.  Values of ``threading.local`` are a thread's own.

Source: ``_native/own.c`` (mount, unmount); `modelled` (the operations).
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import itertools
import logging
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Protocol

from greenlet import GreenletExit, getcurrent, greenlet

from wakeproof._runtime.jobs import tasks
from wakeproof.errors import MissingToolError, UnsupportedError
from wakeproof.judge.schedules.operation import BEGIN, CLOCK, END, LINE, PASS, WRITE, Access

try:
    from wakeproof._native import exchange as exchange
    from wakeproof._native import own as own
except ImportError as error:
    raise MissingToolError(
        "schedules: this build of wakeproof lacks what it needs of CPython; build it with the "
        "headers of CPython (Debian: apt install python3-dev)"
    ) from error

IDENTS = 1 << 40
"""Above the numbers of all virtual threads, as owner of an RLock."""


ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p


class NotModelledError(UnsupportedError):
    """The program waits for something outside of itself."""


class Scheduler(Protocol):
    """Who says which thread is next."""

    limit: int
    """Steps of a run."""
    begins_late: bool
    """A thread that is started waits for its turn; else it runs to its first operation at once."""

    def begin(self, run: Run) -> None:
        """Note the run that begins."""

    def pick(self, me: Task | None) -> int:
        """Return the next choice, or NOBODY.  `me` asks; None: a thread that has ended does."""

    def choose(self, me: Task, count: int) -> int:
        """Return how `me` goes on, of so many ways; 0: the usual one.  NOBODY: not at all."""


class Watch(Protocol):
    """Who is told what tasks of asyncio do."""

    def goes_on(self, task: Any) -> None:
        """Note that a task goes on."""

    def cancels(self, task: Any) -> None:
        """Note that a task is cancelled."""


def _go_tracing(other: Any) -> None:
    """Switch from a function that traces to another greenlet.

    The interpreter counts how deep a thread is in such functions, and is in none when it switches
    from one to a greenlet that is in none.
    """
    state = ctypes.c_void_p(ctypes.pythonapi.PyThreadState_Get())
    ctypes.pythonapi.PyThreadState_LeaveTracing(state)
    try:
        other.switch()
    finally:
        ctypes.pythonapi.PyThreadState_EnterTracing(state)


def leave() -> None:
    """Be the OS thread again, and no thread of a run."""
    with contextlib.suppress(SystemError):  # it is already
        own.unmount()


def _always(_: object) -> bool:
    return True


_NO_THREAD: Any = None
"""What is mounted: no virtual thread of wakeproof."""

NOBODY = -1
"""No thread can go on."""


_idle: list[Any] = []
"""Greenlets that have run a thread to its end."""

_ENDED = greenlet(int)  # which was never started


def _serve() -> None:
    """Run a thread, then wait for the next one, in one greenlet."""
    me: Any = getcurrent()
    while True:
        me.job()
        del me.job
        _idle.append(me)
        me.parent.switch()


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    """Let coroutines go that nobody will await, because the run is over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def _greenlet_for(job: Callable[[], None], hub: Any) -> Any:
    """Return a greenlet that will do it, and then go to the hub."""
    found: Any = _idle.pop() if _idle else greenlet(_serve, parent=hub)
    found.gr_context, found.job = None, job
    return found


def forget_greenlets() -> None:
    """End the greenlets that wait for another thread; they belong to this OS thread."""
    while _idle:
        _idle.pop().throw(GreenletExit)


class Task:
    """A thread of a run, and the operation before which it stands."""

    __slots__ = (
        "_locals",
        "accesses",
        "greenlet",
        "is_daemon",
        "is_done",
        "kind",
        "late",
        "number",
        "object",
        "shuts",
        "test",
        "thread",
        "timed_out",
        "until",
        "what",
    )  # fmt: skip

    def __init__(self, number: int, thread: Any) -> None:
        self.number = number
        self.thread = thread  # of `threading`; None: the test itself, or of `_thread`
        self.is_done = self.is_daemon = self.timed_out = False
        self._locals: object = None
        self.kind = END
        self.object = 0  # its number in this run
        self.what: Any = None  # the object itself
        self.test: Callable[[Any], bool] | None = None  # returns whether it has to wait for `what`
        self.shuts: Callable[[Any], bool] | None = None  # returns whether others wait for `what`
        self.until: float | None = None
        self.accesses: tuple[Access, ...] = ()
        self.late: tuple[Access, ...] = ()  # if the time runs out
        self.greenlet: Any = None

    def waits(self) -> bool:
        """Return whether it cannot go on now."""
        return self.test is not None and self.test(self.what)

    def makes_wait(self) -> bool:
        """Return whether who needs the object of the operation would have to wait now."""
        return self.shuts is not None and self.shuts(self.what)

    @property
    def name(self) -> str:
        """What a reader calls this thread."""
        if self.number == 0:
            return "test"
        return f"thread {self.number}" if self.thread is None else str(self.thread.name)


class Run:
    """One run; while it lasts it is `running`."""

    def __init__(
        self,
        scheduler: Scheduler,
        trace: Callable[[], None] | None = None,
        *,
        cancels: int = 0,
        any_order: bool = False,
    ) -> None:
        self.scheduler = scheduler
        self._trace = trace
        self.tasks: list[Task] = []
        self.alive: list[Task] = []  # not those that have ended
        self.current: Task
        self.now_s = 1000.0
        self.steps = 0
        self.is_running = self.is_unwinding = False
        self.error: BaseException | None = None  # what left a thread
        self.failed: Task | None = None
        self.owners: dict[int, list[Any]] = {}  # of a lock, by its id: the task, how often
        self._count = itertools.count(1)  # of the objects
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no id is used twice
        self._parts: dict[int, dict[object, int]] = {}  # of objects, by their ids
        self._wholes: dict[int, object] = {}  # the objects, or their weak references
        self.loaded: dict[int, dict[int, Any]] = {}  # see `data`; by the id of a frame
        self._starting: Task | None = None
        self._next = NOBODY
        self.loops: list[Any] = []  # of asyncio
        self.watch: Watch | None = None
        self.unhandled: list[tuple[str, str, BaseException]] = []  # what asyncio only logs
        self.refused: NotModelledError | None = None
        self.cancels = cancels  # how many tasks of asyncio may be cancelled; and how many were
        self.cancelled = 0
        self.any_order = any_order

    # ---- what the operations call ----

    def number_of(self, what: Any) -> int:
        """Return the object's number in this run: its place among those that were used so far."""
        if id(what) not in self._numbers:
            self._kept.append(what)
            self._numbers[id(what)] = next(self._count)
        return self._numbers[id(what)]

    def number_of_part(self, whole: Any, name: object) -> int:
        """Return the number of an object's part, such as an attribute, by its name.

        Objects end when the program drops them, but for those without weak references.
        """
        parts = self._parts.get(id(whole))
        if parts is None:
            self._wholes[id(whole)] = self.weak(whole, self._ended(id(whole)))
            parts = self._parts[id(whole)] = {}
        number = parts.get(name)
        if number is None:
            number = parts[name] = next(self._count)
        return number

    def _ended(self, of: int) -> Callable[[object], None]:
        def ended(_: object) -> None:
            self._parts.pop(of, None)
            self._wholes.pop(of, None)

        return ended

    @staticmethod
    def weak(what: Any, ended: Callable[[object], None] | None = None) -> Any:
        """Return a weak reference to an object, or the object itself if it has none."""
        try:
            return weakref.ref(what, ended)
        except TypeError:
            return what

    def point(
        self,
        kind: int,
        what: Any,
        access: int = WRITE,
        *,
        test: Callable[[Any], bool] | None = None,
        shuts: Callable[[Any], bool] | None = None,
        until: float | None = None,
        accesses: tuple[Access, ...] = (),
    ) -> bool:
        """Stop before an operation until it is the caller's turn; return whether time ran out.

        It touches `what`, or makes the `accesses`.
        """
        me = self.current
        me.kind, me.what, me.test, me.shuts, me.until = kind, what, test, shuts, until
        number = CLOCK
        if what is not None:
            number = self._numbers.get(id(what)) or self.number_of(what)
        me.accesses = accesses or ((number, access),)
        me.object = accesses[0][0] if accesses else number
        if until is not None:
            me.late = ((number, WRITE), (CLOCK, PASS))
        if self._starting is me:  # its first operation
            self._starting = None
            self._switch(me, self._starter)
        elif (
            len(self.tasks) == 1
            and self.steps < self.scheduler.limit
            and (until is not None or not me.waits())
        ):
            self._chosen(me.waits())  # nobody else could notice
        else:
            choice = self.scheduler.pick(me)
            if choice < 0:
                self._leave(me)
            task = self._chosen(choice)
            if task is me and not choice & 1:
                return False
            if task is not me:
                self._switch(me, task)
        if me.timed_out:
            me.timed_out = False
            return True
        return False

    def choose(self, count: int) -> int:
        """Return which of so many ways the caller goes; 0 is the usual one."""
        if count == 1 or self.is_unwinding:
            return 0
        way = self.scheduler.choose(self.current, count)
        if way < 0:
            self._leave(self.current)
        return way

    def _chosen(self, choice: int) -> Task:
        self.steps += 1
        task = self.tasks[choice >> 1]
        if task.until is not None:
            if choice & 1:
                task.timed_out = True
            if choice & 1 or task.what is None:
                self.now_s = max(self.now_s, task.until)
        return task

    def _switch(self, me: Task, task: Task) -> None:
        me._locals = own.unmount()
        self.current = task
        own.mount(_NO_THREAD, IDENTS + task.number, task._locals)
        if me.kind == LINE:
            _go_tracing(task.greenlet)
        else:
            task.greenlet.switch()

    def _leave(self, me: Task) -> None:
        """Go to who made the run, for ever."""
        me._locals, self._next = own.unmount(), NOBODY
        if me.kind == LINE:
            _go_tracing(self._hub)
        else:
            self._hub.switch()

    def start(self, call: Callable[[], object], thread: Any = None) -> Task:
        """Start a thread, and run it up to its first operation, unless it begins late."""
        me = self.current
        task = self._made(call, thread)
        task.is_daemon = bool(thread is not None and thread.daemon)
        if self.scheduler.begins_late:
            task.kind = BEGIN
        else:
            self._starting, self._starter = task, me
            self._switch(me, task)
        return task

    def refuse(self, what: str) -> NoReturn:
        """Fail, because the program calls what is not modelled."""
        self.refused = NotModelledError(f"schedules: {what}; only what threads do is modelled")
        raise self.refused

    # ---- the threads ----

    def _made(self, call: Callable[[], object], thread: Any) -> Task:
        number = len(self.tasks)
        task = Task(number, thread)
        self.tasks.append(task)
        tasks[number] = task
        self.alive.append(task)
        task.greenlet = _greenlet_for(lambda: self._body(task, call), self._hub)
        return task

    def _body(self, task: Task, call: Callable[[], object]) -> None:
        try:
            try:
                if self._trace is not None:
                    self._trace()
                call()
            except SystemExit:
                if task.number == 0:
                    raise
            if self.is_unwinding:
                return
            self.point(END, task, shuts=_always)
            task.is_done = True
            self.alive.remove(task)
            self._next = NOBODY
            if any(not one.is_daemon for one in self.alive):
                self._next = self.scheduler.pick(None)
        except BaseException as error:
            if not self.is_unwinding:
                self.error, self.failed, self._next = error, task, NOBODY
        finally:
            task.greenlet = _ENDED
            own.unmount()

    def make(self, call: Callable[[], object]) -> None:
        """Run the program to its end, or until it fails or cannot go on."""
        self._hub = getcurrent()
        self.scheduler.begin(self)
        task = self._made(call, None)
        task.greenlet.gr_context = contextvars.copy_context()
        self.is_running = True
        while True:
            self._enter(task)
            task.greenlet.switch()
            if self._next < 0:
                break
            task = self._chosen(self._next)
        self.is_running = False

    def _enter(self, task: Task) -> None:
        self.current = task
        own.mount(_NO_THREAD, IDENTS + task.number, task._locals)

    def end(self) -> None:
        """Unwind the threads that have not ended."""
        self.is_unwinding = True
        try:
            if self.alive:
                with _no_warnings() if self.loops else contextlib.nullcontext():
                    self._unwind()
        finally:
            if self.loops:
                self._enter(self.tasks[0])
                for loop in self.loops:
                    loop.close()
                own.unmount()
            tasks.clear()
            for kept in self._kept, self._parts, self._wholes, self.loaded:
                kept.clear()
            for task in self.tasks:
                task.what = None  # its last operation has the task itself
            del self.scheduler  # which has the run

    def _unwind(self) -> None:
        disabled = logging.root.manager.disable
        logging.disable()  # what executors log of errors that only unwinding makes
        try:
            for task in tuple(self.alive):
                if task.greenlet:
                    self._enter(task)
                    task.greenlet.throw(GreenletExit)
        finally:
            logging.disable(disabled)
