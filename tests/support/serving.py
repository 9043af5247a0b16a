# SPDX-License-Identifier: Apache-2.0
"""HTTP servers of examples/, compiled and started, for their tests."""

from __future__ import annotations

import fcntl
import functools
import http.client
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.support import compiling

from wakeproof import locations

PATIENCE_S = 120
EXAMPLES = locations.sources() / "examples"
PARTS = ("http", "options", "serve", "connection")
ECHO = ("echo_handlers", "echo_modes", "upstream",
        "echo_accept", "echo_reactive", "reactive_client", "reactive_line",
        "echo_strategy_server", "strategy_server_selector", "strategy_server_client",
        "strategy_server_line")  # fmt: skip
HELLO = b"the backend says hello\n"


def llhttp() -> list[Path]:
    """Return its sources, which are fetched if they are not there."""
    subprocess.run([sys.executable, str(locations.sources() / "tools" / "llhttp.py")], check=True)
    return sorted((locations.cache() / "llhttp" / "src").glob("*.c"))


@functools.cache
def compiled(folder: Path, name: str, kind: str, *more: str) -> list[str]:
    """Compile an example in a build; return its command."""
    parts = [EXAMPLES / f"{part}.c" for part in (name, *PARTS)]
    parts += [EXAMPLES / f"{part}.c" for part in ECHO if name == "echo_server"]
    include = f"-I{locations.cache() / 'llhttp' / 'include'}"
    full = "".join([name, *more])
    target = compiling.link(folder, full, kind, [*llhttp(), *parts], include, *more)
    no_aslr = ["setarch", "-R"] if kind == "thread" and shutil.which("setarch") else []
    return [*no_aslr, str(target)]


class Server:
    """A running server: its port, its process, and after its end its counts."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.counts = process, {}
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("listening on 127.0.0.1:"), said
        self.port = int(said.rpartition(":")[2])

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)

    def asked(self, socks: list[socket.socket], request: bytes) -> None:
        """Send it on each; return when the server's kernel has all of it, which takes a while
        on a busy machine."""
        for sock in socks:
            sock.sendall(request)
        end = time.monotonic() + PATIENCE_S
        for sock in socks:
            while unacknowledged(sock):
                assert time.monotonic() < end
                time.sleep(0.001)

    def client(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def get(self, path: str = "/") -> tuple[int, bytes]:
        with closing(self.client()) as client:
            return get(client, path)

    def cpu_s(self) -> float:
        text = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(text[11]) + int(text[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it by a signal, and check that nothing is wrong."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        assert (err, self.process.returncode) == ("", 0)
        self.counts = json.loads(out) if out else {}


def unacknowledged(sock: socket.socket) -> int:
    """Return the bytes sent that the other end's kernel has not confirmed: tcp(7), SIOCOUTQ."""
    return int.from_bytes(fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def get(client: http.client.HTTPConnection, path: str = "/") -> tuple[int, bytes]:
    client.request("GET", path)
    reply = client.getresponse()
    return reply.status, reply.read()


@contextmanager
def running(command: list[str], *options: object, files: int = 0) -> Iterator[Server]:
    """Start one; `files`: how many descriptors it may have; 0: as many as this process."""

    def limit() -> None:
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    process = subprocess.Popen(
        [*command, *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
    )
    try:
        server = Server(process)
        yield server
        if process.poll() is None:
            server.stop()
    finally:
        process.kill()
        process.communicate()


PYTHON = [sys.executable, str(EXAMPLES / "echo_server.py")]
EATER = ("--mode", "strategy", "--carriers", 2)
VARIANTS = {
    "unified": ("plain", "--mode", "unified"),
    "unified-thread": ("thread", "--carriers", 2, "--stealing", "on"),
    "split-address": ("address", "--mode", "split", "--carriers", 2),
    "reactive-address": ("address", "--mode", "reactive", "--carriers", 2),
    "produce-consume-address": ("address", *EATER, "--strategy", "produce-consume"),
    "produce-execute-consume-thread": ("thread", *EATER, "--strategy", "produce-execute-consume"),
    "execute-produce-consume-address": ("address", *EATER, "--strategy", "execute-produce-consume"),
    "adaptive-thread": ("thread", *EATER, "--strategy", "adaptive", "--kind", "either"),
    "python": ("", "--carriers", 2),
}


@contextmanager
def echo(folder: Path, variant: str, backend: int, *more: object, **given: int) -> Iterator[Server]:
    """Start one of `VARIANTS` with that backend. Options with -D are for the compiler."""
    kind, *options = VARIANTS[variant]
    defined = [str(one) for one in more if str(one).startswith("-D")]
    options += [one for one in more if str(one) not in defined]
    command = compiled(folder, "echo_server", str(kind), *defined) if kind else PYTHON
    with running(command, "--backend", f"127.0.0.1:{backend}", *options, **given) as server:
        yield server
