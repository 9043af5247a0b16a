# SPDX-License-Identifier: Apache-2.0
"""examples/crawler.py, unmodified, in OS threads and in virtual ones: each page is kept once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.clients import crawl, servers
from tests.clients.test_clients import needs

PAGES, LATE_S, THREADS = 200, 0.1, 50
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site() -> Iterator[crawl.Site]:
    for package in ("requests", "redis", "psycopg"):
        needs(package)
    with ExitStack() as stack:
        try:
            yield crawl.site(stack, PAGES, LATE_S)
        except servers.NoServerError as error:
            pytest.skip(str(error))


@pytest.mark.parametrize("how", [(), crawl.OURS], ids=["OS threads", "virtual threads"])
def test_each_page_is_kept_once(site: crawl.Site, how: tuple[str, ...]) -> None:
    came = site.crawl(THREADS, *how)
    assert (came.pages, came.kept) == (PAGES, PAGES)
    assert came.seconds < PAGES * LATE_S / 2  # 20 s if they took turns


def test_one_thread_takes_the_time_of_all_pages(site: crawl.Site) -> None:
    few = crawl.site_of(site, 1)
    assert few.pages >= 20
    assert few.crawl(1).seconds >= few.pages * LATE_S
