# SPDX-License-Identifier: Apache-2.0
"""A worker of gunicorn that serves each connection in a virtual thread.

  gunicorn --worker-class wakeproof.gunicorn.VirtualThreadWorker --worker-connections 1000 app:app

A worker process has one carrier, an OS thread, and calls `wakeproof.install`: a request that waits
for a socket, a lock or ``time.sleep`` lets other requests run.  gunicorn's settings
``worker_connections`` (the most connections at a time), ``keepalive``, ``graceful_timeout`` and
``max_requests`` mean what they mean for its own workers.  A handler that computes, or that waits in
C, holds up all connections of the process; after ``timeout`` seconds gunicorn then replaces the
process, as it does with its gevent worker.

Tested with gunicorn 27.  Not part of ``import wakeproof``, which does not need gunicorn.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import gunicorn.sock
from gunicorn.workers.base_async import AsyncWorker

from wakeproof import standard
from wakeproof.errors import ThreadInterruptedError
from wakeproof.group import CarrierGroup
from wakeproof.semaphore import Semaphore
from wakeproof.vthread import VirtualThread

BEAT_S: Final = 1.0
_PAUSE_S: Final = 0.1  # after an accept that failed: too many open files do not end at once


class VirtualThreadWorker(AsyncWorker):  # type: ignore[misc] # gunicorn has no types
    """A gunicorn worker: one carrier, and a virtual thread for each connection.

    gunicorn makes and runs it; name it in the setting ``worker_class``.

    Source: ``python/wakeproof/gunicorn.py``.
    """

    alive: bool
    _group: CarrierGroup
    _seats: Semaphore

    def init_process(self) -> None:
        """Install wakeproof in the worker's process, before it imports the application."""
        standard.install()
        self._group = CarrierGroup(1)
        self._seats = Semaphore(self.worker_connections)
        self._serving: set[VirtualThread[None]] = set()
        self._here = threading.local()  # of each connection's thread
        super().init_process()

    def run(self) -> None:
        """Accept connections until gunicorn stops the worker, then let requests end."""
        acceptors = [
            VirtualThread(self._accept, listener, name=f"accept {listener}", group=self._group)
            for listener in self.sockets
        ]
        for listener in self.sockets:
            listener.setblocking(True)
        self.notify()  # before its first beat gunicorn does not watch a worker
        for acceptor in acceptors:
            acceptor.start()
        beat = self._group.submit(self.notify)
        while self.alive and self.ppid == os.getppid():
            select.select([self.PIPE[0]], [], [], BEAT_S)  # a signal's handler writes to it
            with contextlib.suppress(BlockingIOError):
                os.read(self.PIPE[0], 4096)
            if beat.done():  # else the carrier stands still, which gunicorn shall notice
                beat = self._group.submit(self.notify)
        self.alive = False
        for acceptor in acceptors:
            acceptor.interrupt()
        until = time.monotonic() + self.cfg.graceful_timeout
        while self._serving and time.monotonic() < until:
            self.notify()
            time.sleep(min(0.05, BEAT_S))
        if left := len(self._serving):
            self.log.warning("Worker graceful timeout (pid:%s): %s connections", self.pid, left)
        self._group.close(cancel=True)

    def _accept(self, listener: Any) -> None:
        """Accept connections of one listener until the worker ends."""
        try:
            while self.alive:
                self._seats.acquire()
                try:
                    client, address = listener.accept()
                except OSError as error:
                    self._seats.release()
                    self.log.warning("accept: %s", error)
                    time.sleep(_PAUSE_S)
                else:
                    self._start(listener, client, address)
        except ThreadInterruptedError:
            pass  # the worker ends

    def _start(self, listener: Any, client: socket.socket, address: Any) -> None:
        thread = VirtualThread(self._serve, listener, client, address, group=self._group)
        self._serving.add(thread)
        thread.start()

    def _serve(self, listener: Any, client: socket.socket, address: Any) -> None:
        from wakeproof.parking import current

        try:
            client.setblocking(True)
            if self.cfg.is_ssl:
                client = gunicorn.sock.ssl_wrap_socket(client, self.cfg)
            self._here.client = client
            self.handle(listener, client, address)
        except OSError as error:  # a handshake that failed
            self.log.debug("connection of %s: %s", address, error)
            client.close()
        finally:
            self._serving.discard(current())
            self._seats.release()

    @contextlib.contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Limit the wait for a connection's next request to the setting ``keepalive``."""
        client = self._here.client
        client.settimeout(self.cfg.keepalive)
        try:
            yield
        except TimeoutError:
            pass
        finally:
            with contextlib.suppress(OSError):
                client.settimeout(None)
