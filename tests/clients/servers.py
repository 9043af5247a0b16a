# SPDX-License-Identifier: Apache-2.0
"""Real servers for the tests of clients, each in a folder of its own, as an ordinary user.

They listen on 127.0.0.1 at ports that were free; nothing of the machine's own servers is used.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wakeproof import locations

HERE = Path(__file__).parent
PACKAGES = locations.sources() / "build" / "clients"
START_S = 60
SEATS = 260  # connections at a time: more than any test asks
_FOLDERS = ("/usr/sbin", "/usr/lib/postgresql/*/bin", "/usr/libexec")


class NoServerError(Exception):
    """A server's program is not on this machine."""


def program(name: str, package: str) -> str:
    """Return the path of a program."""
    found = shutil.which(name)
    if found is None:
        places = [str(at) for folder in _FOLDERS for at in Path("/").glob(folder.lstrip("/"))]
        found = shutil.which(name, path=os.pathsep.join(sorted(places, reverse=True)))
    if found is None:
        raise NoServerError(f"lacks {name}: apt install {package}")
    return found


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Place:
    """A folder that belongs to the user who runs the server, and the processes that it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user: dict[str, Any] = {}
        self.environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "TMPDIR": str(folder)}
        if os.getuid() == 0:  # no database runs as root
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            self.user = {"user": "nobody", "group": nobody.pw_gid, "extra_groups": []}

    def run(self, *command: str) -> None:
        """Run a program to its end; if it fails, say what it said."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True,
            check=False, **self.user,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError(f"{command[0]} failed: {done.stdout}{done.stderr}")

    @contextmanager
    def started(self, port: int, *command: str, stop: int = signal.SIGTERM) -> Iterator[None]:
        """Run a program until the block ends; begin the block when it listens."""
        log = self.folder / "log"
        with log.open("w") as out:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True, **self.user,
            )  # fmt: skip
        try:
            until = time.monotonic() + START_S
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > until:
                        raise AssertionError(f"{command[0]}: {log.read_text()}") from None
                    time.sleep(0.02)
            yield
        finally:
            process.send_signal(stop)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextmanager
def place() -> Iterator[Place]:
    """Make a folder for a server, and remove it."""
    with tempfile.TemporaryDirectory(prefix="wp-", ignore_cleanup_errors=True) as folder:
        yield Place(Path(folder))


@contextmanager
def redis() -> Iterator[int]:
    """Run a redis-server; yield its port."""
    command = program("redis-server", "redis-server")
    with place() as at:
        port = free_port()
        flags = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--daemonize", "no"]
        with at.started(port, command, *flags, "--dir", str(at.folder), "--hz", "100"):
            yield port


@contextmanager
def postgres() -> Iterator[int]:
    """Run a PostgreSQL; yield its port.  The user is `tester`, the database `postgres`."""
    initdb, command = (program(name, "postgresql") for name in ("initdb", "postgres"))
    with place() as at:
        data, port = at.folder / "data", free_port()
        at.run(initdb, "-D", str(data), "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8")
        flags = ["-D", str(data), "-p", str(port), "-k", str(at.folder), "-h", "127.0.0.1"]
        flags += ["-c", f"max_connections={SEATS}", "-c", "fsync=off"]
        with at.started(port, command, *flags, stop=signal.SIGINT):
            yield port


@contextmanager
def mariadb() -> Iterator[int]:
    """Run a MariaDB; yield its port.  The user is `tester`, without a password."""
    install = program("mariadb-install-db", "mariadb-server")
    command = program("mariadbd", "mariadb-server")
    with place() as at:
        data, port, first = at.folder / "data", free_port(), at.folder / "first.sql"
        flags = ["--no-defaults", f"--datadir={data}"]
        at.run(install, *flags, "--skip-test-db", "--auth-root-authentication-method=normal")
        first.write_text("CREATE USER tester@'%';\nGRANT ALL ON *.* TO tester@'%';")
        first.chmod(0o644)
        flags += [f"--port={port}", "--bind-address=127.0.0.1", "--skip-name-resolve"]
        flags += [f"--socket={at.folder / 'socket'}", f"--max-connections={SEATS}"]
        flags += [f"--pid-file={at.folder / 'pid'}", f"--init-file={first}"]
        with at.started(port, command, *flags):
            yield port


@contextmanager
def web() -> Iterator[int]:
    """Run the HTTP server of web.py; yield its port."""
    with place() as at:
        at.user, port = {}, free_port()  # an ordinary user may not read the sources
        with at.started(port, sys.executable, str(HERE / "web.py"), str(port)):
            yield port


@contextmanager
def grpc() -> Iterator[int]:
    """Run the server of grpc_server.py; yield its port."""
    with place() as at:
        at.user, port = {}, free_port()
        with at.started(port, sys.executable, str(HERE / "grpc_server.py"), str(port)):
            yield port
