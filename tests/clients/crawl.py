# SPDX-License-Identifier: Apache-2.0
"""Measures examples/crawler.py in OS threads and in virtual ones: ``make crawl``.

It prints the table of docs/guide/moving.md.  The site has 3,000 pages, each of which takes 0.2 s.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from tests.clients import servers

from wakeproof import locations

CRAWLER = locations.sources() / "examples" / "crawler.py"
PACKAGES = servers.PACKAGES
OURS = ("-m", "wakeproof", "run", "--threads", "virtual")


@dataclass(frozen=True)
class Crawl:
    """What a run of the crawler took."""

    pages: int
    seconds: float
    cpu_s: float
    memory_mb: float
    kept: int  # rows of the right pages


@dataclass(frozen=True)
class Site:
    """Running servers, and how many pages there are."""

    web: int
    redis: int
    postgres: int
    pages: int
    late_s: float

    def crawl(self, threads: int, *how: str) -> Crawl:
        """Run the crawler once, from nothing."""
        self._forget()
        url = f"http://127.0.0.1:{self.web}/site/{self.late_s}/{self.pages}/0"
        command = [sys.executable, *how, str(CRAWLER), url, "--threads", str(threads)]
        command += ["--redis", str(self.redis), "--postgres", str(self.postgres)]
        process = subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": str(PACKAGES)}, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        with process.stdout:
            said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, said
        came = json.loads(said)
        cpu_s = used.ru_utime + used.ru_stime
        return Crawl(came["pages"], came["seconds"], cpu_s, used.ru_maxrss / 1024, self._kept())

    def _sql(self, statement: str) -> str:
        command = [servers.program("psql", "postgresql-client"), "-qAt", "-h", "127.0.0.1"]
        command += ["-p", str(self.postgres), "-U", "tester", "postgres", "-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def _forget(self) -> None:
        self._sql("DROP TABLE IF EXISTS pages")
        cli = [servers.program("redis-cli", "redis-tools"), "-p", str(self.redis), "FLUSHALL"]
        subprocess.run(cli, check=True, capture_output=True)

    def _kept(self) -> int:
        return int(
            self._sql(
                "SELECT count(DISTINCT url) FROM pages"
                " WHERE title = 'Page ' || regexp_replace(url, '.*/', '') AND bytes > 1000"
            )
        )


def site(stack: ExitStack, pages: int, late_s: float) -> Site:
    """Start the servers."""
    started = [stack.enter_context(one()) for one in (servers.web, servers.redis, servers.postgres)]
    return Site(*started, pages, late_s)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each number of threads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--late", type=float, default=0.2)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 10, 100, 1000])
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        of = site(stack, options.pages, options.late)
        print("| threads | kind | seconds | pages a second | CPU seconds | memory, MB |")
        print("|---|---|---|---|---|---|")
        for threads in options.threads:
            for kind, how in (("OS", ()), ("virtual", OURS)):
                part = site_of(of, threads)
                came = part.crawl(threads, *how)
                assert came.pages == came.kept == part.pages, came
                rate = came.pages / came.seconds
                print(
                    f"| {threads:,} | {kind} | {came.seconds:.1f} | {rate:.0f} "
                    f"| {came.cpu_s:.1f} | {came.memory_mb:.0f} |",
                    flush=True,
                )


def site_of(whole: Site, threads: int) -> Site:
    """Return a site that so few threads read in a minute."""
    pages = min(whole.pages, max(20, int(threads * 30 / max(whole.late_s, 0.001))))
    return Site(whole.web, whole.redis, whole.postgres, pages, whole.late_s)


if __name__ == "__main__":
    main()
