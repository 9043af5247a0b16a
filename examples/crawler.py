# SPDX-License-Identifier: Apache-2.0
"""A crawler with threads: requests reads pages, redis knows which were seen, PostgreSQL keeps them.

  python crawler.py http://127.0.0.1:8000/ --redis 6379 --postgres 5432 --threads 50
  python -m wakeproof run --threads virtual crawler.py http://127.0.0.1:8000/ ...

Nothing in it knows of wakeproof: the second line runs it in virtual threads.  It needs requests,
redis and psycopg, and prints JSON: how many pages and bytes, and how long that took.
"""

from __future__ import annotations

import argparse
import json
import queue
import re
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import redis
import requests
from requests.adapters import HTTPAdapter

LINK = re.compile(r'href="([^"]+)"')
TITLE = re.compile(r"<title>(.*?)</title>")
TABLE = "CREATE TABLE IF NOT EXISTS pages (url text PRIMARY KEY, title text, bytes int)"
INSERT = "INSERT INTO pages VALUES (%s, %s, %s)"
SEEN = "crawler:seen"


class Crawler:
    """Pages to read, and threads that read them until there are no more."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.todo: queue.Queue[str | None] = queue.Queue()
        self.seen = redis.Redis(
            "127.0.0.1", options.redis, max_connections=options.threads + 1, socket_timeout=60
        )
        self.tables: queue.Queue[psycopg.Connection[Any]] = queue.Queue()
        where = f"host=127.0.0.1 port={options.postgres} user=tester dbname=postgres"
        for _ in range(options.connections):
            self.tables.put(psycopg.connect(where, autocommit=True))
        self.local = threading.local()
        self.lock = threading.Lock()
        self.pages = self.bytes = 0

    @contextmanager
    def table(self) -> Iterator[psycopg.Connection[Any]]:
        """Borrow a connection to the database."""
        connection = self.tables.get()
        try:
            yield connection
        finally:
            self.tables.put(connection)

    def read(self, url: str) -> str:
        """Return a page; each thread has a session of its own."""
        if not hasattr(self.local, "session"):
            self.local.session = requests.Session()
            self.local.session.mount("http://", HTTPAdapter(pool_connections=1, pool_maxsize=1))
        reply = self.local.session.get(url, timeout=60)
        reply.raise_for_status()
        return str(reply.text)

    def visit(self, url: str) -> None:
        """Read a page, keep it, and note the pages that it links to."""
        page = self.read(url)
        found = TITLE.search(page)
        with self.table() as connection:
            connection.execute(INSERT, (url, found[1] if found else "", len(page)))
        for link in LINK.findall(page):
            target = urllib.parse.urljoin(url, link)
            if self.seen.sadd(SEEN, target):
                self.todo.put(target)
        with self.lock:
            self.pages += 1
            self.bytes += len(page)

    def work(self) -> None:
        """Visit pages until there are no more."""
        while (url := self.todo.get()) is not None:
            try:
                self.visit(url)
            finally:
                self.todo.task_done()


def main() -> None:
    """Crawl a site."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--redis", type=int, default=6379, help="its port")
    parser.add_argument("--postgres", type=int, default=5432, help="its port")
    parser.add_argument("--threads", type=int, default=50)
    parser.add_argument("--connections", type=int, default=20, help="to PostgreSQL")
    options = parser.parse_args()
    crawler = Crawler(options)
    with crawler.table() as connection:
        connection.execute(TABLE)
    began = time.perf_counter()
    threads = [threading.Thread(target=crawler.work) for _ in range(options.threads)]
    for thread in threads:
        thread.start()
    crawler.seen.sadd(SEEN, options.url)
    crawler.todo.put(options.url)
    crawler.todo.join()
    for _ in threads:
        crawler.todo.put(None)
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    print(json.dumps({"pages": crawler.pages, "bytes": crawler.bytes, "seconds": seconds}))


if __name__ == "__main__":
    main()
