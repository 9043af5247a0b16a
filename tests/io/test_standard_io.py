# SPDX-License-Identifier: Apache-2.0
"""Under `wakeproof.install` the blocking calls of the standard library's input and output park.

Serves ``_runtime/watch.py`` and ``_runtime/stdlib/``: sockets, selecting, pipes, processes,
console, signals.  Each case is a call that blocks, and what ends it.  The check is that another
virtual thread of the same carrier runs before that; without `install` it does not (the twin).
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import gc
import http.client
import http.server
import io
import multiprocessing
import os
import pty
import re
import resource
import select
import selectors
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.support.installed import ROOT
from tests.support.virtual import until

import wakeproof
from wakeproof import CarrierGroup, ThreadInterruptedError, VirtualThread
from wakeproof._runtime import stdlib, watch
from wakeproof._runtime.here import ARE_OWN

CARRIERS = 1  # of `group`
PATIENCE_S = 60
GUIDE = ROOT / "docs" / "guide" / "standard.md"
SHORT_S = 0.2  # how long a twin's carrier is seen to be blocked
pytestmark = pytest.mark.skipif(not ARE_OWN, reason="needs methods of C types exchanged in place")
Begun = tuple[Callable[[], Any], Callable[[], Any]]
"""A call that blocks, and what ends it."""


@pytest.fixture
def end() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def descriptors() -> list[int]:
    return sorted(int(path.name) for path in Path("/proc/self/fd").iterdir())


def begin(group: CarrierGroup, call: Callable[..., Any], *args: Any) -> VirtualThread:
    return VirtualThread(call, *args, group=group).start()


def waiting(group: CarrierGroup, call: Callable[..., Any], *args: Any) -> VirtualThread:
    thread = begin(group, call, *args)
    until(lambda: thread.state == "parked")
    return thread


def outcome(thread: VirtualThread) -> Any:
    return thread.result(PATIENCE_S)


# ---- the cases ----


def a_pair(end: ExitStack, timeout_s: float | None = None) -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    end.enter_context(ours)
    end.enter_context(theirs)
    ours.settimeout(timeout_s)
    return ours, theirs


def a_pipe(end: ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for fd in ends:
        end.callback(shut, fd)
    return ends


def shut(fd: int) -> None:
    with suppress(OSError):
        os.close(fd)


def fill(fd: int) -> None:
    """Write until there is no room."""
    os.set_blocking(fd, False)
    for size in (4096, 1):
        with suppress(BlockingIOError):
            while True:
                os.write(fd, bytes(size))
    os.set_blocking(fd, True)


def receives(call: Callable[[socket.socket], Any], timeout_s: float | None = None) -> Any:
    def case(end: ExitStack) -> Begun:
        ours, theirs = a_pair(end, timeout_s)
        return lambda: call(ours), lambda: theirs.sendall(b"hello")

    return case


def sends(call: Callable[[socket.socket], Any], timeout_s: float | None = None) -> Any:
    def case(end: ExitStack) -> Begun:
        ours, theirs = a_pair(end)
        fill(ours.fileno())
        ours.settimeout(timeout_s)

        def reads() -> None:
            while theirs.recv(1 << 20):
                pass

        def drain() -> None:
            reader = threading.Thread(target=reads)
            reader.start()
            end.callback(reader.join)
            end.callback(ours.shutdown, socket.SHUT_WR)  # before that, and it ends the reads

        return lambda: call(ours), drain

    return case


def sends_datagrams(call: Callable[[socket.socket, Any], Any]) -> Any:
    """The system calls such a socket ready, although the receiver's queue is full."""

    def case(end: ExitStack) -> Begun:
        ours, theirs = (
            end.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) for _ in "ab"
        )
        theirs.bind("")
        address = theirs.getsockname()
        with suppress(BlockingIOError):
            while True:
                ours.sendto(b"fill", socket.MSG_DONTWAIT, address)
        return lambda: call(ours, address), lambda: theirs.recv(9)

    return case


def accepts(timeout_s: float | None) -> Any:
    def case(end: ExitStack) -> Begun:
        listener = end.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.settimeout(timeout_s)

        def accept() -> str:
            with listener.accept()[0]:
                return "accepted"

        return accept, lambda: end.enter_context(socket.create_connection(listener.getsockname()))

    return case


def connects_to_a_full_queue(end: ExitStack) -> Begun:
    listener = end.enter_context(socket.socket(socket.AF_UNIX))
    listener.bind("")
    listener.listen(0)
    path = listener.getsockname()
    end.enter_context(socket.socket(socket.AF_UNIX)).connect(path)
    ours = end.enter_context(socket.socket(socket.AF_UNIX))
    return lambda: ours.connect(path), lambda: end.enter_context(listener.accept()[0])


def reads(call: Callable[[int], Any]) -> Any:
    def case(end: ExitStack) -> Begun:
        ours, theirs = a_pipe(end)
        return lambda: call(ours), lambda: os.write(theirs, b"hello")

    return case


def reads_all(end: ExitStack) -> Begun:
    ours, theirs = a_pipe(end)
    file = end.enter_context(io.FileIO(ours, closefd=False))
    return file.readall, lambda: (os.write(theirs, b"hello"), os.close(theirs))


def reads_a_terminal(end: ExitStack) -> Begun:
    theirs, ours = pty.openpty()
    end.callback(shut, ours)
    end.callback(shut, theirs)
    return lambda: os.read(ours, 9), lambda: os.write(theirs, b"hello\n")


def writes(call: Callable[[int], Any]) -> Any:
    def case(end: ExitStack) -> Begun:
        theirs, ours = a_pipe(end)
        fill(ours)
        return lambda: call(ours), lambda: os.read(theirs, 1 << 20)

    return case


def of_file(call: Callable[[io.FileIO], Any], mode: str = "r") -> Callable[[int], Any]:
    def with_file(fd: int) -> Any:
        with io.FileIO(fd, mode, closefd=False) as file:
            return call(file)

    return with_file


def sends_a_file(call: Callable[[socket.socket, io.FileIO], Any]) -> Any:
    def with_file(sock: socket.socket) -> Any:
        with io.FileIO(sys.executable) as file:
            return call(sock, file)

    return sends(with_file)


def selects(call: Callable[[socket.socket, socket.socket], Any]) -> Any:
    def case(end: ExitStack) -> Begun:
        one, two = a_pair(end)
        other, _ = a_pair(end)
        return lambda: call(one, other), lambda: two.sendall(b"hello")

    return case


def by_selector(kind: type[selectors.BaseSelector]) -> Any:
    def call(*files: socket.socket) -> int:
        with kind() as selector:
            for file in files:
                selector.register(file, selectors.EVENT_READ)
            return len(selector.select())

    return selects(call)


def by_poll(*files: socket.socket) -> int:
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    return len(poll.poll())


def by_epoll(*files: socket.socket) -> int:
    with select.epoll() as epoll:
        for file in files:
            epoll.register(file, select.EPOLLIN)
        return len(epoll.poll())


def child(end: ExitStack, text: str = "read _; echo out; exit 3") -> subprocess.Popen[bytes]:
    made = subprocess.Popen(["sh", "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    end.callback(made.__exit__, None, None, None)
    return made


def of_child(call: Callable[[subprocess.Popen[bytes]], Any]) -> Any:
    def case(end: ExitStack) -> Begun:
        made = child(end)
        assert made.stdin is not None
        return lambda: call(made), lambda: os.write(made.stdin.fileno(), b"\n")  # type: ignore[union-attr]

    return case


def told(child: subprocess.Popen[bytes], found: Any) -> Any:
    """Set what a Popen does not know, because its child was waited for without it."""
    child.returncode = 3
    return found


def communicates(end: ExitStack) -> Begun:
    made = child(end, "cat; sleep 0.5; echo end")
    return lambda: made.communicate(b"hello\n"), lambda: None


def runs_a_command(end: ExitStack) -> Begun:
    ours, theirs = a_pipe(end)
    os.set_inheritable(ours, True)
    return lambda: os.system(f"read _ </dev/fd/{ours}; exit 3"), lambda: os.write(theirs, b"\n")


def locks_a_file(call: Callable[[Any, int], Any]) -> Any:
    def case(end: ExitStack) -> Begun:
        file = end.enter_context(io.FileIO(f"/dev/shm/wakeproof-{os.getpid()}", "w+"))
        end.callback(os.unlink, file.name)
        ours, theirs = a_pipe(end)
        holder = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import fcntl, sys; f = open(sys.argv[1], 'r+')\n"
                f"fcntl.{call.__name__}(f, fcntl.LOCK_EX); print(flush=True); input()",
                str(file.name),
            ],
            stdin=ours,
            stdout=subprocess.PIPE,
        )
        end.callback(holder.__exit__, None, None, None)
        assert holder.stdout is not None
        holder.stdout.readline()
        return lambda: call(file, fcntl.LOCK_EX), lambda: os.write(theirs, b"\n")

    return case


def waits_for_a_signal(call: Callable[[list[int]], Any]) -> Any:
    def case(_: ExitStack) -> Begun:
        carrier: list[int] = []

        def blocks() -> Any:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
            carrier.append(threading.get_ident())
            return call([signal.SIGWINCH])

        return blocks, lambda: (
            until(lambda: carrier),
            signal.pthread_kill(carrier[0], signal.SIGWINCH),
        )

    return case


def asks(opened: Callable[[], tuple[int, int]]) -> Any:
    def case(end: ExitStack) -> Begun:
        ours, theirs = opened()
        end.callback(shut, theirs)
        old = sys.stdin
        sys.stdin = end.enter_context(os.fdopen(ours))
        end.callback(setattr, sys, "stdin", old)
        return input, lambda: os.write(theirs, b"hello\n")

    return case


def a_terminal() -> tuple[int, int]:
    theirs, ours = pty.openpty()
    return ours, theirs


def runs_a_loop(end: ExitStack) -> Begun:
    ours, theirs = a_pair(end, 0)

    async def reads() -> bytes:
        return await asyncio.get_running_loop().sock_recv(ours, 9)

    return lambda: asyncio.run(reads()), lambda: theirs.sendall(b"hello")


MUCH = bytes(3 << 20)


def takes_a_lock_of_processes(take: Callable[[Any], Any]) -> Callable[[ExitStack], Begun]:
    def case(_: ExitStack) -> Begun:
        lock = multiprocessing.Lock()
        lock.acquire()
        return lambda: take(lock), lock.release

    return case


CASES: dict[str, Callable[[ExitStack], Begun]] = {
    "multiprocessing.Lock": takes_a_lock_of_processes(lambda lock: lock.acquire()),
    "the same, with a timeout": takes_a_lock_of_processes(lambda lock: lock.acquire(True, 60)),
    "the same, in a with block": takes_a_lock_of_processes(lambda lock: lock.__enter__()),
    "time.sleep": lambda _: (lambda: time.sleep(0.5), lambda: None),
    "recv": receives(lambda s: s.recv(9)),
    "recv with flags": receives(lambda s: s.recv(5, socket.MSG_PEEK)),
    "recv with a timeout": receives(lambda s: s.recv(9), PATIENCE_S),
    "recv with a timeout and flags": receives(lambda s: s.recv(5, socket.MSG_DONTWAIT), PATIENCE_S),
    "recv_into": receives(lambda s: s.recv_into(bytearray(9))),
    "recv_into by names": receives(lambda s: s.recv_into(bytearray(9), nbytes=3, flags=0)),
    "recv_into with a timeout": receives(lambda s: s.recv_into(bytearray(9), 3), PATIENCE_S),
    "recvfrom": receives(lambda s: s.recvfrom(9)[0]),
    "recvfrom_into": receives(lambda s: s.recvfrom_into(bytearray(9))[0]),
    "recvmsg": receives(lambda s: s.recvmsg(9)[0]),
    "recvmsg with room": receives(lambda s: s.recvmsg(9, 64)[0]),
    "recvmsg_into": receives(lambda s: s.recvmsg_into([bytearray(2), bytearray(9)])[0]),
    "makefile": receives(lambda s: s.makefile("rb").read(5)),
    "makefile with a timeout": receives(lambda s: s.makefile("rb").read(5), PATIENCE_S),
    "accept": accepts(None),
    "accept with a timeout": accepts(PATIENCE_S),
    "connect": connects_to_a_full_queue,
    "send": sends(lambda s: s.send(MUCH)),
    "send with a timeout": sends(lambda s: s.send(bytes(9)), PATIENCE_S),
    "sendall": sends(lambda s: s.sendall(MUCH)),
    "sendall with a timeout": sends(lambda s: s.sendall(MUCH), PATIENCE_S),
    "sendmsg": sends(lambda s: s.sendmsg([bytes(9), MUCH])),
    "os.write to a socket": sends(lambda s: os.write(s.fileno(), bytes(9))),
    "socket.sendfile": sends_a_file(lambda sock, file: sock.sendfile(file, count=9)),
    "os.sendfile": sends_a_file(lambda s, f: os.sendfile(s.fileno(), f.fileno(), 0, 9)),
    "sendto": sends_datagrams(lambda s, address: s.sendto(b"hello", address)),
    "sendmsg to an address": sends_datagrams(lambda s, to: s.sendmsg([b"hello"], [], 0, to)),
    "select": selects(lambda one, two: len(select.select([one, two], [], [])[0])),
    "select of one": selects(lambda one, _: len(select.select([one], [], [])[0])),
    "select for a time": selects(lambda one, _: len(select.select([one], [], [], PATIENCE_S)[0])),
    "poll": selects(by_poll),
    "epoll": selects(by_epoll),
    "SelectSelector": by_selector(selectors.SelectSelector),
    "PollSelector": by_selector(selectors.PollSelector),
    "EpollSelector": by_selector(selectors.EpollSelector),
    "asyncio.run": runs_a_loop,
    "os.read": reads(lambda fd: os.read(fd, 9)),
    "os.readv": reads(lambda fd: os.readv(fd, [bytearray(2), bytearray(9)])),
    "os.read of a terminal": reads_a_terminal,
    "os.write": writes(lambda fd: os.write(fd, bytes(9))),
    "os.writev": writes(lambda fd: os.writev(fd, [bytes(2), bytes(9)])),
    "FileIO.read": reads(of_file(lambda file: file.read(9))),
    "FileIO.readinto": reads(of_file(lambda file: file.readinto(bytearray(9)))),
    "FileIO.readall": reads_all,
    "FileIO.write": writes(of_file(lambda file: file.write(bytes(9)), "w")),
    "os.waitpid": of_child(lambda c: told(c, os.waitpid(c.pid, 0)[1] >> 8)),
    "os.wait4": of_child(lambda c: told(c, os.wait4(c.pid, 0)[1] >> 8)),
    "os.waitid": of_child(lambda c: told(c, os.waitid(os.P_PID, c.pid, os.WEXITED).si_status)),  # type: ignore[union-attr]
    "os.waitpid of a stop": of_child(lambda c: told(c, os.waitpid(c.pid, os.WUNTRACED)[1] >> 8)),
    "os.wait": of_child(lambda c: told(c, os.wait()[1] >> 8)),
    "os.wait3": of_child(lambda c: told(c, os.wait3(0)[1] >> 8)),
    "os.system": runs_a_command,
    "Popen.wait": of_child(lambda c: c.wait()),
    "Popen.wait with a timeout": of_child(lambda c: c.wait(PATIENCE_S)),
    "Popen.stdout": of_child(lambda c: c.stdout.readline()),  # type: ignore[union-attr]
    "Popen.communicate": communicates,
    "flock": locks_a_file(fcntl.flock),
    "lockf": locks_a_file(fcntl.lockf),
    "sigwait": waits_for_a_signal(signal.sigwait),
    "sigwaitinfo": waits_for_a_signal(lambda s: signal.sigwaitinfo(s).si_signo),
    "sigtimedwait": waits_for_a_signal(lambda s: signal.sigtimedwait(s, PATIENCE_S).si_signo),  # type: ignore[union-attr]
    "input of a pipe": asks(os.pipe),
    "input of a terminal": asks(a_terminal),
}


def parks(group: CarrierGroup, case: Callable[[ExitStack], Begun], patience_s: float) -> Any:
    """Return whether another virtual thread runs before the call ends, and what that returns."""
    ran = threading.Event()
    seen: list[bool] = []
    with ExitStack() as end:
        call, release = case(end)
        thread = begin(group, call)
        other = begin(group, lambda: (seen.append(thread.is_alive()), ran.set()))
        ran.wait(patience_s)
        seen.append(False)
        release()
        found = outcome(thread)
        outcome(other)
    return seen[0], found


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("installed")
def test_the_call_parks(name: str, group: CarrierGroup) -> None:
    expected = parks(group, CASES[name], PATIENCE_S)
    wakeproof.uninstall()
    is_parked, found = parks(group, CASES[name], SHORT_S)  # twin: an OS thread's answer
    assert expected == (True, found)
    assert not is_parked


# ---- what does not park ----


def opens_a_fifo(end: ExitStack) -> Begun:
    path = Path(f"/dev/shm/wakeproof-fifo-{os.getpid()}")
    os.mkfifo(path)
    end.callback(path.unlink)

    def release() -> None:
        with path.open("wb", buffering=0) as file:
            file.write(b"hello")

    return path.read_bytes, release


def receives_all(end: ExitStack) -> Begun:
    ours, theirs = a_pair(end)
    theirs.sendall(b"part")
    return lambda: ours.recv(9, socket.MSG_WAITALL), lambda: theirs.sendall(b"whole")


BLOCKS = {
    "`open` and `os.open` of a FIFO": opens_a_fifo,
    "`recv` with `MSG_WAITALL`": receives_all,
}


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.usefixtures("installed")
def test_what_the_guide_says_blocks_blocks(name: str, group: CarrierGroup) -> None:
    assert f"| {name}" in GUIDE.read_text(encoding="utf-8")
    is_parked, _ = parks(group, BLOCKS[name], SHORT_S)
    assert not is_parked


def test_each_name_of_the_input_and_output_parts_is_in_a_case() -> None:
    """A name that is replaced and that no case calls is not tested."""
    source = Path(__file__).read_text(encoding="utf-8")
    mine = ("sockets", "selecting", "pipes", "processes", "console", "signals", "sleep")
    names = {
        one.name
        for area in stdlib.areas()
        if area.__name__.rpartition(".")[2] in mine
        for one in area.replacements()
    }
    assert len(names) > 30
    assert {name for name in names if not re.search(rf"\b_*{name.strip('_')}_*\b", source)} == set()


# ---- what others wrote, many at once on one carrier ----


class Slow(http.server.BaseHTTPRequestHandler):
    """Answers after 50 ms."""

    def do_GET(self) -> None:
        time.sleep(0.05)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: Any) -> None:
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 100


@pytest.fixture
def port() -> Iterator[int]:
    with Server(("127.0.0.1", 0), Slow) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def by_http_client(port: int) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/")
    answer = connection.getresponse().read()
    connection.close()
    return answer


def by_http_client_in_time(port: int) -> bytes:
    connection = http.client.HTTPConnection("localhost", port, timeout=PATIENCE_S)
    connection.request("GET", "/")
    answer = connection.getresponse().read()
    connection.close()
    return answer


def by_urllib(port: int) -> bytes:
    with urllib.request.urlopen(f"http://localhost:{port}/", timeout=PATIENCE_S) as answer:
        return bytes(answer.read())


def twenty(group: CarrierGroup, call: Callable[[], Any]) -> float:
    """Return how long 20 calls take that begin at once."""
    since = time.monotonic()
    threads = [begin(group, call) for _ in range(20)]
    assert {outcome(thread) for thread in threads} == {b"ok"}
    return time.monotonic() - since


@pytest.mark.parametrize("call", [by_http_client, by_http_client_in_time, by_urllib])
@pytest.mark.usefixtures("installed")
def test_twenty_requests_of_50_ms_are_at_once(
    call: Callable[[int], bytes], group: CarrierGroup, port: int
) -> None:
    # 0.1 s on a quiet machine; one after the other they take 1 s, whatever the machine.
    assert min(twenty(group, lambda: call(port)) for _ in range(5)) < 0.9


def test_twin_without_install_they_are_one_after_the_other(group: CarrierGroup, port: int) -> None:
    assert twenty(group, lambda: by_http_client(port)) >= 1


def sleeps() -> bytes:
    return subprocess.run(["sh", "-c", "sleep 0.2; printf ok"], stdout=subprocess.PIPE).stdout


@pytest.mark.usefixtures("installed")
def test_twenty_children_are_waited_for_at_once(group: CarrierGroup) -> None:
    assert min(twenty(group, sleeps) for _ in range(3)) < 3.9


class InVirtualThreads(socketserver.TCPServer):
    """Serves each request in a virtual thread of the same carrier."""

    request_queue_size = 100
    allow_reuse_address = True

    def process_request(self, request: Any, client_address: Any) -> None:
        VirtualThread(self._serve, request, client_address).start()

    def _serve(self, request: Any, client_address: Any) -> None:
        self.finish_request(request, client_address)
        self.shutdown_request(request)


class Upper(socketserver.StreamRequestHandler):
    """Reads lines to the end of the stream, and answers then."""

    def handle(self) -> None:
        self.wfile.write(b"".join(self.rfile.readlines()).upper())


@pytest.mark.usefixtures("installed")
def test_a_socketserver_and_its_clients_share_a_carrier(group: CarrierGroup) -> None:
    def talk() -> bytes:
        with socket.create_connection(server.server_address[:2]) as sock:
            sock.sendall(b"a\n" * 50_000)
            sock.sendall(b"b\n")
            sock.shutdown(socket.SHUT_WR)  # the other half goes on
            with sock.makefile("rb") as file:
                return file.read()

    with InVirtualThreads(("127.0.0.1", 0), Upper) as server:
        serving = begin(group, server.serve_forever, 0.05)
        clients = [begin(group, talk) for _ in range(10)]
        assert {outcome(client) for client in clients} == {b"A\n" * 50_000 + b"B\n"}
        server.shutdown()
        outcome(serving)


@pytest.mark.usefixtures("installed")
def test_asyncio_runs_in_several_virtual_threads_of_a_carrier(group: CarrierGroup) -> None:
    arrived = 0
    all_are_here = 5

    async def meets() -> int:
        nonlocal arrived
        arrived += 1
        while arrived < all_are_here:  # none goes on before the last one has come
            await asyncio.sleep(0.001)
        return await asyncio.to_thread(len, "abc")

    threads = [begin(group, lambda: asyncio.run(meets())) for _ in range(all_are_here)]
    assert [outcome(thread) for thread in threads] == [3] * all_are_here


LOOKUPS = [
    *((name, host, host == "a name") for name in ("getaddrinfo", "gethostbyname",
     "gethostbyname_ex") for host in ("a name", "127.0.0.1")),
    ("gethostbyaddr", "127.0.0.1", True),
    ("getnameinfo", ("127.0.0.1", 80), True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "host", "is_elsewhere"), LOOKUPS)
def test_a_name_is_looked_up_on_another_thread_and_a_number_is_not(
    name: str, host: Any, is_elsewhere: bool, group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin is in it: a lookup on the caller's carrier is what a number shows."""
    module = socket._socket  # type: ignore[attr-defined]
    monkeypatch.setattr(module, name, lambda *_, **__: [threading.current_thread().name])
    wakeproof.install()
    try:
        [thread] = outcome(begin(group, getattr(module, name), host, 80))
    finally:
        wakeproof.uninstall()
    assert thread.startswith("wakeproof-offload") == is_elsewhere


@pytest.mark.usefixtures("installed")
def test_a_host_name_may_be_connected_to(group: CarrierGroup, end: ExitStack) -> None:
    listener = end.enter_context(socket.create_server(("127.0.0.1", 0)))
    address = "localhost", listener.getsockname()[1]
    for of_connect in (socket.socket.connect, socket.socket.connect_ex):
        sock = end.enter_context(socket.socket())
        assert outcome(begin(group, of_connect, sock, address)) in (None, 0)
        assert sock.getpeername() == listener.getsockname()
    with pytest.raises(socket.gaierror):
        outcome(begin(group, sock.connect, ("no-such-host.invalid", 80)))


# ---- timeouts and modes ----


def reads_a_file(sock: socket.socket) -> bytes:
    with sock.makefile("rb") as file:
        return file.read(9)


TIMEOUTS: dict[str, Callable[[socket.socket], Any]] = {
    "recv": lambda s: s.recv(9),
    "recv_into": lambda s: s.recv_into(bytearray(9)),
    "recvmsg": lambda s: s.recvmsg(9),
    "makefile": reads_a_file,
    "sendall": lambda s: s.sendall(MUCH),
    "send twice": lambda s: (s.send(MUCH), s.send(MUCH)),
}


@pytest.mark.parametrize("name", TIMEOUTS)
@pytest.mark.usefixtures("installed")
def test_a_timeout_raises_what_it_raises_in_an_os_thread(
    name: str, group: CarrierGroup, end: ExitStack
) -> None:
    ours, _theirs = a_pair(end, 0.05)
    errors = []
    for run in (lambda call: outcome(begin(group, call)), lambda call: call()):
        since = time.monotonic()
        with pytest.raises(socket.timeout) as found:
            run(lambda: TIMEOUTS[name](ours))
        assert time.monotonic() - since >= 0.05
        errors.append((type(found.value), found.value.args, found.value.errno))
    assert errors[0] == errors[1]


@pytest.mark.usefixtures("installed")
def test_a_lock_of_processes_times_out(group: CarrierGroup) -> None:
    lock = multiprocessing.Lock()
    assert outcome(begin(group, lock.acquire, True, -1)) is True
    assert outcome(begin(group, lambda: lock.acquire(timeout=0.05))) is False
    assert outcome(begin(group, lock.acquire, False)) is False
    with pytest.raises(TypeError):
        outcome(begin(group, lock.acquire, True, "1"))


@pytest.mark.usefixtures("installed")
def test_accept_and_the_default_timeout_time_out(group: CarrierGroup, end: ExitStack) -> None:
    socket.setdefaulttimeout(0.05)
    end.callback(socket.setdefaulttimeout, None)
    listener = end.enter_context(socket.create_server(("127.0.0.1", 0)))
    with pytest.raises(TimeoutError, match="timed out"):
        outcome(begin(group, listener.accept))
    sock = outcome(begin(group, socket.create_connection, listener.getsockname()))
    end.enter_context(sock)
    with pytest.raises(TimeoutError, match="timed out"):
        outcome(begin(group, sock.recv, 9))


@pytest.mark.usefixtures("installed")
def test_a_connect_that_is_refused_says_so(group: CarrierGroup, end: ExitStack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    sock = end.enter_context(socket.socket())
    with pytest.raises(ConnectionRefusedError):
        outcome(begin(group, sock.connect, address))
    assert sock.gettimeout() is None
    assert os.get_blocking(sock.fileno())
    other = end.enter_context(socket.socket())
    assert outcome(begin(group, other.connect_ex, address)) == errno.ECONNREFUSED


def never_parks(call: Callable[[], Any]) -> Any:
    """Return what a call raises or returns that must not park: in a virtual thread."""
    try:
        found = call()
    except OSError as error:
        found = type(error)
    return found


@pytest.mark.usefixtures("installed")
def test_calls_that_do_not_block_never_park(group: CarrierGroup, end: ExitStack) -> None:
    ours, _theirs = a_pair(end)
    reader, writer = a_pipe(end)
    lazy, _ = a_pair(end, 0)
    fill(writer)
    late, _w = a_pipe(end)
    os.set_blocking(late, False)
    calls: list[tuple[Callable[[], Any], Any]] = [
        (lambda: ours.recv(9, socket.MSG_DONTWAIT), BlockingIOError),
        (lambda: lazy.recv(9), BlockingIOError),
        (lambda: lazy.recv_into(bytearray(9)), BlockingIOError),
        (lambda: os.read(late, 9), BlockingIOError),
        (lambda: select.select([ours], [], [], 0), ([], [], [])),
        (lambda: select.poll().poll(0), []),
        (lambda: os.read(reader, 0), b""),
        (lambda: ours.send(b"x"), 1),
        (lambda: fcntl.flock(reader, fcntl.LOCK_EX | fcntl.LOCK_NB), None),
        (lambda: signal.sigtimedwait([signal.SIGWINCH], 0), None),
    ]

    def run() -> list[Any]:
        begin(group, trace.append, "another ran")
        return [never_parks(call) for call, _ in calls] + trace

    trace: list[str] = []
    assert outcome(begin(group, run)) == [expected for _, expected in calls]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e10, "1", None, True, 0.0])
@pytest.mark.usefixtures("installed")
def test_time_sleep_refuses_what_it_refuses_in_an_os_thread(
    seconds: Any, group: CarrierGroup
) -> None:
    def said() -> Any:
        try:
            return time.sleep(seconds)  # type: ignore[func-returns-value]
        except (TypeError, ValueError, OverflowError) as error:
            return type(error), error.args

    assert outcome(begin(group, said)) == said()


@pytest.mark.usefixtures("installed")
def test_the_users_descriptors_stay_blocking_while_a_thread_waits(
    group: CarrierGroup, end: ExitStack
) -> None:
    reader, writer = a_pipe(end)
    ours, theirs = a_pair(end)
    threads = [waiting(group, os.read, reader, 9), waiting(group, ours.recv, 9)]
    assert [os.get_blocking(each) for each in (reader, ours.fileno())] == [True, True]
    os.write(writer, b"a")
    theirs.sendall(b"b")
    assert [outcome(thread) for thread in threads] == [b"a", b"b"]
    assert [os.get_blocking(each) for each in (reader, ours.fileno())] == [True, True]


@pytest.mark.usefixtures("installed")
def test_readers_on_two_carriers_share_a_pipe_and_none_blocks(end: ExitStack) -> None:
    """Each byte wakes all, and one gets it; who comes late must park again."""
    reader, writer = a_pipe(end)
    with CarrierGroup(2) as group:
        readers = [
            VirtualThread(os.read, reader, 1, group=group[at % 2]).start() for at in range(20)
        ]
        for at in range(20):
            os.write(writer, bytes([at]))
            for carrier in group:
                assert VirtualThread(int, group=carrier).start().result(PATIENCE_S) == 0
        assert sorted(outcome(each) for each in readers) == [bytes([at]) for at in range(20)]


# ---- closes ----


def closes_a_socket(end: ExitStack) -> Begun:
    ours, _ = a_pair(end)
    return lambda: ours.recv(9), ours.close


def closes_a_pipe(end: ExitStack) -> Begun:
    reader, _ = a_pipe(end)
    return lambda: os.read(reader, 9), lambda: os.close(reader)


def gives_its_number_away(end: ExitStack) -> Begun:
    reader, _ = a_pipe(end)
    other, _ = a_pipe(end)
    return lambda: os.read(reader, 9), lambda: os.dup2(other, reader)


def closes_a_file(end: ExitStack) -> Begun:
    reader, _ = a_pipe(end)
    file = io.FileIO(os.dup(reader))
    return lambda: file.read(9), file.close


def closes_an_epoll(_: ExitStack) -> Begun:
    epoll = select.epoll()
    return epoll.poll, epoll.close


@pytest.mark.parametrize(
    "case",
    [closes_a_socket, closes_a_pipe, gives_its_number_away, closes_a_file, closes_an_epoll],
)
@pytest.mark.usefixtures("installed", "without_looks")
def test_a_virtual_thread_that_closes_wakes_who_waits(
    case: Callable[[ExitStack], Begun], group: CarrierGroup, end: ExitStack
) -> None:
    call, close = case(end)
    thread = waiting(group, call)
    outcome(begin(group, close))
    with pytest.raises(OSError, match="closed") as found:
        outcome(thread)
    assert found.value.errno == errno.EBADF


@pytest.mark.usefixtures("installed", "without_looks")
def test_twin_a_close_that_tells_nobody_wakes_nobody(
    group: CarrierGroup, end: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, _theirs = a_pair(end)
    thread = waiting(group, ours.recv, 9)
    monkeypatch.setattr(watch, "closed", lambda _: None)
    outcome(begin(group, ours.close))
    outcome(begin(group, time.sleep, SHORT_S))
    assert thread.state == "parked"
    thread.interrupt()
    with pytest.raises(ThreadInterruptedError):
        outcome(thread)


@pytest.mark.usefixtures("installed")
def test_a_wait_takes_no_descriptor_and_a_closed_group_leaves_none(end: ExitStack) -> None:
    ours, _theirs = a_pair(end)
    reader, _writer = a_pipe(end)
    with CarrierGroup(1) as group:  # what is made once
        outcome(begin(group, time.sleep, 0))
    gc.collect()
    before = set(descriptors())
    group = CarrierGroup(1)
    waiting(group, ours.recv, 9)
    poller = len(set(descriptors()) - before)
    waiting(group, os.read, reader, 9)
    assert len(set(descriptors()) - before) == poller
    waiting(group, select.select, [ours, reader], [], [])
    assert len(set(descriptors()) - before) == poller + 1  # an epoll of both
    group.close(0)
    del group  # which holds its poller
    assert set(descriptors()) <= before


@pytest.mark.usefixtures("installed")
def test_a_wait_can_be_interrupted(group: CarrierGroup, end: ExitStack) -> None:
    ours, theirs = a_pair(end)
    thread = waiting(group, ours.recv, 9)
    thread.interrupt()
    with pytest.raises(ThreadInterruptedError):
        outcome(thread)
    theirs.sendall(b"later")
    assert outcome(begin(group, ours.recv, 9)) == b"later"


def takes_one(end: ExitStack) -> bool:
    """Takes a descriptor, if one is left."""
    try:
        end.callback(os.close, os.dup(0))
    except OSError:
        return False
    return True


def none_left(end: ExitStack) -> bool:
    """Takes every descriptor; says whether none was left, a moment after an earlier call.

    What an earlier wait had may be closed a moment later.
    """
    time.sleep(0.05)
    taken = 0
    while takes_one(end):
        taken += 1
    return taken == 0


@pytest.mark.usefixtures("installed")
def test_a_wait_needs_no_descriptor_if_there_is_none_left(
    group: CarrierGroup, end: ExitStack
) -> None:
    ours, theirs = a_pair(end)
    outcome(waiting(group, time.sleep, 0.5))  # longer than a busy machine looks away
    thread = begin(group, ours.recv, 9)
    until(lambda: thread.state == "parked")
    theirs.sendall(b"one")
    assert outcome(thread) == b"one"  # the poller is there
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = descriptors()[-1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, limits[1]))
    try:
        until(lambda: none_left(end))
        thread = begin(group, ours.recv, 9)
        other = begin(group, theirs.sendall, b"two")
        assert outcome(thread) == b"two"
        outcome(other)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.usefixtures("installed")
def test_in_a_group_that_has_no_pollers_calls_block_as_without_install(end: ExitStack) -> None:
    ours, theirs = a_pair(end)
    spare = wakeproof.Compensation(spare_carriers=1)
    with CarrierGroup(1, compensation=spare) as group:
        thread = begin(group, ours.recv, 9)
        until(lambda: thread.state == "running")
        theirs.sendall(b"hello")
        assert outcome(thread) == b"hello"


@pytest.mark.usefixtures("installed")
def test_pinned_threads_and_coroutines_block_as_without_install(
    group: CarrierGroup, end: ExitStack
) -> None:
    ours, theirs = a_pair(end)

    def pinned() -> bytes:
        with wakeproof.pinned():
            return ours.recv(5)

    async def coroutine() -> bytes:
        return ours.recv(5)

    theirs.sendall(b"helloworld")
    assert outcome(begin(group, pinned)) == b"hello"
    assert outcome(begin(group, coroutine)) == b"world"
