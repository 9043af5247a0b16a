# SPDX-License-Identifier: Apache-2.0
"""`make bench-http`: measures wakeproof's HTTP proxies and other servers in the same run.

Source: docs/inside/bench-http.md, ``bench/http/`` (load generator and other servers),
``examples/`` (wakeproof's proxies).
"""

from wakeproof.bench.web.results import WebReport
from wakeproof.bench.web.run import Settings, bench_http

__all__ = ["Settings", "WebReport", "bench_http"]
