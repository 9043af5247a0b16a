# SPDX-License-Identifier: Apache-2.0
"""A server of gRPC that answers late, as web.py does: ``python grpc_server.py PORT``."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import grpc
from grpc import aio


async def answer(request: bytes, _: Any) -> bytes:
    """Answer ``SECONDS/TOKEN``."""
    began = time.time()
    seconds, token = request.decode().split("/")
    await asyncio.sleep(float(seconds))
    return json.dumps({"token": token, "began": began, "ended": time.time()}).encode()


async def main() -> None:
    """Serve until the process is ended."""
    server = aio.server()
    method = grpc.unary_unary_rpc_method_handler(answer)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("late", {"answer": method}),)
    )
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main())
