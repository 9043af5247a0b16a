# SPDX-License-Identifier: Apache-2.0
"""Certificates and contexts for tests of TLS, made by the program openssl in a test's folder."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

OPENSSL = shutil.which("openssl")
NEEDS_OPENSSL = pytest.mark.skipif(OPENSSL is None, reason="no openssl: apt install openssl")
NEEDS_CURL = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl: apt install curl")
ALLOW_CLIENT_RENEGOTIATION = 1 << 8  # SSL_OP_ALLOW_CLIENT_RENEGOTIATION of OpenSSL 3's ssl.h
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@dataclass
class Identity:
    """A certificate that signs itself, and its key."""

    certificate: Path
    key: Path


def identity(folder: Path, name: str) -> Identity:
    assert OPENSSL is not None
    made = Identity(folder / f"{name}.pem", folder / f"{name}.key")
    command = [OPENSSL, "req", "-x509", "-nodes", "-days", "2", "-newkey", "ec", "-pkeyopt"]
    command += ["ec_paramgen_curve:P-256", "-subj", f"/CN={name}"]
    command += ["-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1"]
    command += ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return made


@dataclass
class Identities:
    """Those of a server named localhost, and of a client named alice."""

    server: Identity
    client: Identity

    def server_context(self, asks_client: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server.certificate, self.server.key)
        if asks_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.client.certificate)
        return context

    def client_context(
        self, version: ssl.TLSVersion | None = None, is_alice: bool = False
    ) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.server.certificate))
        if version is not None:
            context.minimum_version = context.maximum_version = version
        if is_alice:
            context.load_cert_chain(self.client.certificate, self.client.key)
        return context


def identities(folder: Path) -> Identities:
    return Identities(identity(folder, "localhost"), identity(folder, "alice"))


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that is spoken to; end it in any case."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            yield process
        finally:
            process.kill()
