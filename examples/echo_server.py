# SPDX-License-Identifier: Apache-2.0
"""An HTTP server on virtual threads: each handler calls a backend as if the call blocked.

    build/examples/backend --port 9000 --think-ms 1 &
    build/venv/bin/python examples/echo_server.py --port 8080 --backend 127.0.0.1:9000 &
    curl http://127.0.0.1:8080/ http://127.0.0.1:8080/parallel

GET / returns the backend's reply.  GET /parallel calls the backend twice at the same time, in a
scope, and returns the numbers of the carriers that ran the calls.  Each connection has a virtual
thread.  SIGINT or SIGTERM ends the server after the requests in progress are answered.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import signal
import socket
import sys
import time
from http import HTTPStatus

from echo_http import Backend, Request, Requests

# Import everything now: an import needs a file descriptor, and later none may be left.
from wakeproof import CarrierGroup, Scope, VirtualThread, io, sleep

PATIENCE_S = 30.0  # the time limit for the rest of a request, and for sending a reply
RETRY_S = 0.02  # the wait before the next accept if no descriptor is left
LINGER_S = 1.0  # how long to read before a close: a close with unread bytes loses the last reply
NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Server:
    """Accepts on every carrier; a connection stays on the carrier that accepted it."""

    def __init__(self, group: CarrierGroup, port: int, backend: Backend) -> None:
        self.group, self.backend, self.is_stopping = group, backend, False
        self.listener = io.create_server(("127.0.0.1", port), group=group, backlog=1024)
        self.port = self.listener.getsockname()[1]
        self.open: dict[io.Socket, VirtualThread] = {}
        self.acceptors = [VirtualThread(self.accept, group=home).start() for home in group]

    def accept(self) -> None:
        """Accept until the listener is closed."""
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError as error:
                if error.errno == errno.EBADF:
                    return
                if error.errno in NO_DESCRIPTOR:
                    sleep(RETRY_S)
                continue
            thread = VirtualThread(self.converse, sock, group=self.group.home())
            self.open[sock] = thread
            thread.start()

    def converse(self, sock: io.Socket) -> None:
        """Answer the requests of one connection."""
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.answer_all(sock):
                self.linger(sock)
        except OSError:
            pass  # the client has reset the connection, or is too slow
        finally:
            sock.close()
            self.open.pop(sock, None)

    def answer_all(self, sock: io.Socket) -> bool:
        """Answer all requests of a connection; return whether the server ends the connection."""
        requests = Requests()
        while True:
            sock.settimeout(PATIENCE_S if requests.is_begun else None)
            data = sock.recv(4096)
            if not data:
                return False
            refusal = requests.feed(data)
            while requests.complete:
                request = requests.complete.popleft()
                keeps = request.keeps_alive and not self.is_stopping
                self.send(sock, *self.answer(request), keeps, request.method == b"HEAD")
                if not keeps:
                    return True
            if refusal:
                self.send(sock, refusal, f"{refusal.phrase}\n".encode(), False)
                return True

    def answer(self, request: Request) -> tuple[int, bytes]:
        """Return the status and the body of the reply."""
        if request.method not in (b"GET", b"HEAD", b"POST"):
            return HTTPStatus.METHOD_NOT_ALLOWED, b"GET, HEAD and POST only\n"
        path = request.target.split(b"?")[0]
        if path == b"/":
            return self.backend.get()
        if path == b"/parallel":
            return self.parallel()
        return HTTPStatus.NOT_FOUND, b"there are / and /parallel\n"

    def parallel(self) -> tuple[int, bytes]:
        """Call the backend twice at the same time, in a scope; return the status and the body."""

        def half() -> tuple[int, int, bytes]:
            return self.index(), *self.backend.get()

        with Scope(group=self.group.home()) as scope:
            halves = [scope.fork(half), scope.fork(half)]
            scope.join()
        status, text = HTTPStatus.OK, b"handler on carrier %d\n" % self.index()
        for one in halves:
            index, said, body = one.result()
            status, text = max(status, said), text + b"fork on carrier %d: %b" % (index, body)
        return status, text

    def index(self) -> int:
        """Return the number of the carrier that runs the caller."""
        running = self.group.running()
        assert running is not None
        return running.index

    @staticmethod
    def send(sock: io.Socket, status: int, body: bytes, keeps: bool, is_head: bool = False) -> None:
        """Send a reply."""
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "Content-Type: text/plain"]
        lines += [f"Content-Length: {len(body)}", *([] if keeps else ["Connection: close"])]
        head = "\r\n".join([*lines, "\r\n"]).encode()
        sock.settimeout(PATIENCE_S)
        sock.sendall(head if is_head else head + body)

    @staticmethod
    def linger(sock: io.Socket) -> None:
        """Read until the client has closed the connection, for at most LINGER_S seconds."""
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(LINGER_S)
        until = time.monotonic() + LINGER_S
        while sock.recv(4096) and time.monotonic() < until:
            pass

    def stop(self) -> None:
        """Accept no more connections, and wait until the requests in progress are answered."""
        self.is_stopping = True
        self.listener.close()
        for acceptor in self.acceptors:
            acceptor.result()
        for sock, thread in list(self.open.items()):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RD)
            thread.join(PATIENCE_S)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--backend", required=True, help="ADDRESS:PORT")
    parser.add_argument("--carriers", type=int, default=1, help="OS threads")
    chosen = parser.parse_args()
    host, _, port = chosen.backend.rpartition(":")
    if not host or not port.isdecimal():
        parser.error(f"--backend {chosen.backend}: allowed is ADDRESS:PORT, as in 127.0.0.1:9000")
    chosen.address = host, int(port)
    return chosen


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    chosen = arguments()
    ends = signal.SIGINT, signal.SIGTERM
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with CarrierGroup(chosen.carriers) as group:
        try:
            server = Server(group, chosen.port, Backend(chosen.address, group))
        except OSError as error:
            sys.exit(f"echo_server.py: --port {chosen.port}: {error}")
        print(f"listening on 127.0.0.1:{server.port}", flush=True)
        signal.sigwait(ends)
        server.stop()


if __name__ == "__main__":
    main()
