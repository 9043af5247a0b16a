# SPDX-License-Identifier: Apache-2.0
"""An HTTP server on asyncio that answers late: ``python web.py PORT``.

``GET /SECONDS/TOKEN`` answers after SECONDS with JSON: the token, and when the server began and
ended the request by its own clock.  ``GET /site/SECONDS/PAGES/N`` answers after SECONDS with page N
of a site of PAGES pages; each links to four others.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time


def page(pages: int, number: int) -> bytes:
    """Return a page of a site."""
    links = range(4 * number + 1, min(4 * number + 5, pages))
    text = "".join(f'<p>See <a href="{link}">page {link}</a>.</p>' for link in links)
    return f"<title>Page {number}</title>{text}{'Text. ' * 300}".encode()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while line := await reader.readline():
            began = time.time()
            while (await reader.readline()).strip():
                pass
            *site, seconds, token = line.split()[1].decode().split("/")[1:]
            await asyncio.sleep(float(site[1] if site else seconds))
            if site:
                body = page(int(seconds), int(token))
            else:
                body = json.dumps({"token": token, "began": began, "ended": time.time()}).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
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
