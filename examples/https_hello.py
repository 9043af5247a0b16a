# SPDX-License-Identifier: Apache-2.0
"""Say hello over HTTPS, with a virtual thread for each connection.

    python examples/https_hello.py CERTIFICATE KEY [PORT]

The handshake is made in the connection's own thread and has a deadline, so a client that connects
and says nothing delays nobody and is ended.
"""

import contextlib
import signal
import ssl
import sys

from wakeproof import CarrierGroup, VirtualThread, io

PATIENCE_S = 5.0  # for the handshake, and for the next request of a connection
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"


def converse(connection: io.TLSSocket) -> None:
    """Answer the requests of one connection, which have no bodies."""
    with connection, contextlib.suppress(OSError):  # the client broke off, or is too slow
        connection.settimeout(PATIENCE_S)
        connection.do_handshake()
        with connection.makefile("rb") as requests:
            while requests.readline():  # as in "GET / HTTP/1.1"
                while requests.readline().strip():
                    pass  # the headers
                connection.sendall(REPLY)
        connection.unwrap().close()  # the client has said close_notify, and hears it too


def accept(listener: io.TLSSocket, group: CarrierGroup) -> None:
    """Accept until the listener is closed."""
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            VirtualThread(converse, connection, group=group).start()


def main() -> None:
    """Serve until Ctrl-C or SIGTERM."""
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[1:3])
    context.set_alpn_protocols(["http/1.1"])
    ends = signal.SIGINT, signal.SIGTERM
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with CarrierGroup(1) as group:
        plain = io.create_server(("127.0.0.1", int((sys.argv[3:] or [0])[0])), group=group)
        with io.wrap_socket(plain, context, server_side=True) as listener:
            acceptor = VirtualThread(accept, listener, group, group=group).start()
            print(f"https://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
            signal.sigwait(ends)
        acceptor.join()


if __name__ == "__main__":
    main()
