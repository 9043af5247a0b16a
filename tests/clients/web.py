# SPDX-License-Identifier: Apache-2.0
"""An HTTP server on asyncio that answers late: ``python web.py PORT``.

``GET /SECONDS/TOKEN`` answers after SECONDS with JSON: the token, and when the server began and
ended the request by its own clock.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while line := await reader.readline():
            began = time.time()
            while (await reader.readline()).strip():
                pass
            _, seconds, token = line.split()[1].decode().split("/")
            await asyncio.sleep(float(seconds))
            body = json.dumps({"token": token, "began": began, "ended": time.time()}).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            await writer.drain()
    except (ConnectionError, asyncio.CancelledError):
        pass
    except ValueError:
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    finally:
        writer.close()


async def main() -> None:
    """Serve until the process is ended."""
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=1000)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
