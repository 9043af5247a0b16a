# SPDX-License-Identifier: Apache-2.0
"""Threads that talk over sockets of wakeproof.io, for their tests."""

from __future__ import annotations

import socket

from wakeproof import Carrier, CarrierGroup, VirtualThread, io


def start(group: CarrierGroup | Carrier, fn: object, *arguments: object) -> VirtualThread:
    return VirtualThread(fn, *arguments, group=group).start()  # type: ignore[arg-type]


def echo(sock: io.Socket) -> None:
    with sock:
        while data := sock.recv(100):
            sock.sendall(data)


def exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        assert part, "the other end has closed"
        data += part
    return data


def talk(sock: socket.socket, rounds: int = 20) -> int:
    with sock:
        for number in range(rounds):
            message = number.to_bytes(4, "big") * 100
            sock.sendall(message)
            assert exactly(sock, len(message)) == message
    return rounds


def reads(sock: io.Socket) -> bytes:
    return sock.recv(1)
