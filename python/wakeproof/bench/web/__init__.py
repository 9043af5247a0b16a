# SPDX-License-Identifier: Apache-2.0
"""`make bench-http`: the proxy over HTTP, three ways of ours beside others' in the same run.

Source: docs/inside/bench-http.md, ``bench/http/`` (load generator, peers), ``examples/`` (ours).
"""

from wakeproof.bench.web.results import WebReport
from wakeproof.bench.web.run import Settings, bench_http

__all__ = ["Settings", "WebReport", "bench_http"]
