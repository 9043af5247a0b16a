# SPDX-License-Identifier: Apache-2.0
"""Functions that a coroutine function awaits when it runs as a virtual thread.

An ``async def`` function may run as a virtual thread (`VirtualThread`).  It needs no stack of its
own while it waits, so it may continue on another carrier (OS thread of its group) after each
``await``.  Such functions await the functions of this module and one another, but nothing of
asyncio.  Arguments, results and errors are those of the functions that the docstrings name.

Threads: each function must be awaited in a virtual thread.
Spec: ``specs/thread/VThread.tla``.  Source: ``kernel/sched/vthread_start.h``.

Example:
    >>> from wakeproof import CarrierGroup, VirtualThread, coroutine
    >>> async def add(a, b):
    ...     await coroutine.sleep(0.001)
    ...     return a + b
    >>> with CarrierGroup(1) as group:
    ...     VirtualThread(add, 1, 2, group=group).start().result()
    3
"""

from __future__ import annotations

import select
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from wakeproof._native.ffi import lib
from wakeproof._runtime import child as children
from wakeproof._runtime import console, trampoline
from wakeproof._runtime.core import in_c, joining, parking, permit, yielding
from wakeproof._runtime.deadline import deadline_ns, sleep_ns
from wakeproof._runtime.descriptor import READ, WRITE, closed, fail
from wakeproof._runtime.offload import begin
from wakeproof._runtime.ready import Events, events_of, masks, polls
from wakeproof._runtime.ready import told as told_ready
from wakeproof._runtime.ready import turns as turns_ready
from wakeproof._runtime.signal import Outcome, interrupted
from wakeproof._runtime.socket import Socket, connecting
from wakeproof._runtime.tls import Steps, TLSSocket, late, wants
from wakeproof._runtime.wait import Turns, told, what_for
from wakeproof.channel import Channel, _Receive, _Send
from wakeproof.condition import Condition
from wakeproof.mutex import Mutex, _Lock
from wakeproof.semaphore import Semaphore, _Acquire

if TYPE_CHECKING:
    from wakeproof._runtime.ready import HasFileno
    from wakeproof.latch import Latch
    from wakeproof.vthread import VirtualThread

P = ParamSpec("P")
T = TypeVar("T")
_Base = socket.socket


@in_c
async def park(timeout_s: float | None = None) -> bool:
    """Park the calling virtual thread, as `wakeproof.park` does."""
    return await permit(timeout_s)


@in_c
async def sleep(seconds: float) -> None:
    """Sleep for `seconds`, as `wakeproof.sleep` does."""
    thread = trampoline.coroutine("sleep")
    deadline = sleep_ns(seconds)
    had_permit = False
    while (code := await parking(thread, deadline, lib.WP_WAIT_SLEEP)) == lib.WP_OK:
        had_permit = True
    if had_permit:
        thread._tell(lib.wp_vthread_unpark)
    if code == lib.WP_INTERRUPTED:
        raise interrupted(thread)
    if deadline == 0:
        await yield_now()


@in_c
async def yield_now() -> None:
    """Run what is queued on the carrier, as `wakeproof.yield_now` does."""
    await yielding()


async def submit_and_yield(thread: VirtualThread) -> None:
    """Start or unpark a virtual thread and yield, as `wakeproof.submit_and_yield` does."""
    trampoline.coroutine("submit_and_yield")
    thread._submit_next()
    await yielding()


@in_c
async def join(other: VirtualThread, timeout_s: float | None = None) -> bool:
    """Wait for another virtual thread, as `VirtualThread.join` does."""
    return await joining(other, timeout_s)


async def result(future: Future[T], timeout_s: float | None = None) -> T:
    """Return the result of a future of any executor, as the future's `result` does.

    Args:
        future: a future of wakeproof or of `concurrent.futures`.
        timeout_s: seconds, 0 or more; default None: wait without a limit.

    Raises:
        TimeoutError: the time ran out.
        CancelledError: the future was cancelled.
        ThreadInterruptedError: the caller was interrupted.
    """
    thread = trampoline.coroutine("result")
    deadline = deadline_ns(timeout_s)
    if not future.done() and deadline:
        signal = Outcome()
        future.add_done_callback(lambda _: signal.set())
        await _lent(thread, getattr(future, "permits", None), signal.until(thread, deadline))
    return future.result(0)


async def _lent(thread: VirtualThread, permits: Semaphore | None, wait: Awaitable[object]) -> None:
    """Wait while the call has given its permit back, as `wakeproof._runtime.future.lent` does."""
    call = thread._permitted
    if call is None or permits is None or call.future.permits is not permits:
        await wait
        return
    call.has_permit = False
    permits.release()
    try:
        await wait
    except GeneratorExit:  # the group was closed, so this thread never continues
        raise
    except BaseException:
        await _take_back(thread, permits)
        call.has_permit = True
        raise
    await _take_back(thread, permits)
    call.has_permit = True


async def _take_back(thread: VirtualThread, permits: Semaphore) -> None:
    was_interrupted = False
    while not permits._has_now(1):
        code = await _parked(thread, _Acquire(thread, permits, 1).turns(deadline_ns(None)))
        if code == lib.WP_OK:
            break
        was_interrupted = lib.wp_vthread_clear_interrupt() or was_interrupted
    if was_interrupted:
        thread.interrupt()


async def _parked(thread: VirtualThread, turns: Turns) -> int:
    try:
        deadline = next(turns)
        while True:
            deadline = turns.send(await parking(thread, deadline, *what_for(thread)))
    except StopIteration as stop:
        return int(stop.value)


async def wait_open(latch: Latch, timeout_s: float | None = None) -> bool:
    """Wait until a latch is open, as `Latch.wait` does."""
    thread = trampoline.coroutine("wait_open")
    deadline = deadline_ns(timeout_s)
    if latch.is_open or deadline == 0:
        return latch.is_open
    return await latch._signal.until(thread, deadline)


async def lock(mutex: Mutex, timeout_s: float | None = None) -> bool:
    """Acquire a mutex, as `Mutex.acquire` does."""
    thread = trampoline.coroutine("lock")
    deadline = deadline_ns(timeout_s)
    if mutex._has_now():
        return True
    return deadline != 0 and mutex._has(await _parked(thread, _Lock(thread, mutex).turns(deadline)))


async def wait(condition: Condition, timeout_s: float | None = None) -> bool:
    """Wait for a notify, as `Condition.wait` does."""
    thread = trampoline.coroutine("wait")
    return condition._end(await _parked(thread, condition._begin("wait", timeout_s)))


async def acquire(semaphore: Semaphore, permits: int = 1, timeout_s: float | None = None) -> bool:
    """Acquire permits, as `Semaphore.acquire` does."""
    thread = trampoline.coroutine("acquire")
    return await _acquired(thread, semaphore, permits, deadline_ns(timeout_s))


async def _acquired(
    thread: VirtualThread, semaphore: Semaphore, permits: int, deadline: int
) -> bool:
    if semaphore._has_now(permits):
        return True
    turns = _Acquire(thread, semaphore, permits).turns(deadline)
    return deadline != 0 and told(await _parked(thread, turns), "acquire")


async def send(channel: Channel[T], item: T, timeout_s: float | None = None) -> bool:
    """Send an object, as `Channel.send` does."""
    thread = trampoline.coroutine("send")
    deadline = deadline_ns(timeout_s)
    number, code = channel._try_send(item)
    if code == lib.WP_TIMEOUT and deadline:
        code = await _parked(thread, _Send(thread, channel, number).turns(deadline))
    return channel._sent(number, code)


async def receive(channel: Channel[T], timeout_s: float | None = None) -> T:
    """Receive an object, as `Channel.receive` does."""
    thread = trampoline.coroutine("receive")
    deadline = deadline_ns(timeout_s)
    code, cell = channel._try_receive()
    if code == lib.WP_TIMEOUT and deadline:
        receive = _Receive(thread, channel)
        code, cell = await _parked(thread, receive.turns(deadline)), receive.cell
    return channel._received(code, cell, timeout_s)


async def _call(sock: Socket, side: int, attempt: Callable[[], T], what: str, deadline: int) -> T:
    thread = trampoline.coroutine(what)
    descriptor = sock._descriptor
    if descriptor is None:
        raise closed(what)
    value, call = descriptor.tried(side, attempt, deadline, what)
    if call is None:
        return value  # type: ignore[return-value]
    found: list[T] = []
    turns = descriptor.turns(thread, call, attempt, deadline, found)
    code = await _parked(thread, turns)
    return found[0] if found else fail(code, what)


async def _tls(sock: TLSSocket, steps: Steps[T], what: str, timeout_s: float | None = None) -> T:
    """Make the steps of a call, as `TLSSocket` does for a callable."""
    thread = trampoline.coroutine(what)
    deadline = deadline_ns(sock.gettimeout() if timeout_s is None else timeout_s)
    try:
        while True:
            step = next(steps)
            if isinstance(step, Semaphore):
                if not await _acquired(thread, step, 1, deadline):
                    raise late(what, deadline)
                continue
            try:
                await _call(sock, *step, what, deadline)
            except BlockingIOError:
                raise wants(step[0]) from None
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    finally:
        steps.close()


async def wrap_socket(
    sock: socket.socket,
    context: ssl.SSLContext,
    *,
    handshake_timeout_s: float | None = None,
    **options: Any,
) -> TLSSocket:
    """Put TLS on a socket that is connected, as `wakeproof.io.wrap_socket` does.

    Args:
        sock: a connection.
        context: an ``ssl.SSLContext``.
        handshake_timeout_s: the most seconds for the handshake; default None: the socket's timeout.
        options: ``server_side``, ``server_hostname``, ``session``, ``suppress_ragged_eofs`` and
            ``group``, as of `wakeproof.io.wrap_socket`.
    """
    made = TLSSocket(sock, context, **options)
    try:
        await do_handshake(made, handshake_timeout_s)
    except BaseException:
        made.close()
        raise
    return made


async def do_handshake(sock: TLSSocket, timeout_s: float | None = None) -> None:
    """Make the TLS handshake, as `wakeproof.io.TLSSocket.do_handshake` does."""
    await _tls(sock, sock._handshakes(), "do_handshake", timeout_s)


async def unwrap(sock: TLSSocket) -> Socket:
    """Say and await close_notify, as `wakeproof.io.TLSSocket.unwrap` does."""
    return await _tls(sock, sock._unwraps(), "unwrap")


async def recv(sock: Socket, bufsize: int) -> bytes:
    """Receive at most `bufsize` bytes, as `wakeproof.io.Socket.recv` does."""
    if isinstance(sock, TLSSocket):
        return await _tls(sock, sock._reads(bufsize), "recv")
    attempt = partial(_Base.recv, sock, bufsize)
    return await _call(sock, READ, attempt, "recv", deadline_ns(sock.gettimeout()))


async def sendall(sock: Socket, data: bytes) -> None:
    """Send all of `data`, as `wakeproof.io.Socket.sendall` does."""
    if isinstance(sock, TLSSocket):
        await _tls(sock, sock._writes_all(data), "sendall")
        return
    deadline = deadline_ns(sock.gettimeout())
    rest = memoryview(data).cast("B")
    while len(rest):
        done = await _call(sock, WRITE, partial(_Base.send, sock, rest), "sendall", deadline)
        rest = rest[done:]


async def accept(sock: Socket) -> tuple[Socket, Any]:
    """Accept a connection, as `wakeproof.io.Socket.accept` does."""
    deadline = deadline_ns(sock.gettimeout())
    return sock._accepted(*await _call(sock, READ, sock._accept, "accept", deadline))


async def connect(sock: Socket, address: Any) -> None:
    """Connect to `address`, as `wakeproof.io.Socket.connect` does."""
    deadline = deadline_ns(sock.gettimeout())
    await _call(sock, WRITE, connecting(sock, address), "connect", deadline)
    if isinstance(sock, TLSSocket) and sock._shakes:
        await do_handshake(sock)


async def _ready(thread: VirtualThread, fd: int, wanted: int, deadline: int) -> Events:
    poll = polls({fd: wanted})
    found = poll.poll(0)
    if found or deadline == 0:
        return found
    turns = turns_ready(thread, {fd: wanted}, poll, deadline, found)
    return told_ready(thread, await _parked(thread, turns), found)


async def wait_ready(
    file: HasFileno, *, read: bool = True, write: bool = False, timeout_s: float | None = None
) -> int:
    """Wait until a descriptor of any kind is ready, as `wakeproof.io.wait` does."""
    thread = trampoline.coroutine("wait_ready")
    fd, wanted = masks(file, read, write)
    return events_of(await _ready(thread, fd, wanted, deadline_ns(timeout_s)), wanted)


async def wait_child(child: children.Child, timeout_s: float | None = None) -> int:
    """Wait until a child process has ended, as `wakeproof.io.wait_child` does."""
    thread = trampoline.coroutine("wait_child")
    deadline, code = deadline_ns(timeout_s), children.ended(child)
    found = code()
    if found is None:
        with children.pidfd(child) as fd:
            await _ready(thread, fd, select.POLLIN, deadline)
        found = code()
    return children.exit_code(found, child, timeout_s)


async def input(prompt: object = "") -> str:  # noqa: A001 - the builtin's name
    """Print the prompt and return a line of the standard input, as `wakeproof.io.input` does."""
    thread = trampoline.coroutine("input")
    fd = console.descriptor(sys.stdin)
    if fd is None:
        return console.read_line(prompt)
    console.ask(prompt)
    data = b""
    while not data.endswith(b"\n"):
        await _ready(thread, fd, select.POLLIN, lib.WP_FOREVER)
        part = console.more(fd)
        if not part:
            break
        data += part
    return console.line_of(data)


async def offload(fn: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call `fn` on an OS thread of a pool, as `wakeproof.io.offload` does."""
    future, done = begin(lambda: fn(*arguments, **named))
    await acquire(done)
    return future.result()
