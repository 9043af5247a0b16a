# SPDX-License-Identifier: Apache-2.0
"""`make bench`: measures wakeproof and a peer or a limit in turns, in the same run.

The goal of a row is a ratio.  A goal that is missed is printed, and fails no run.
Source: ``bench/`` (the measured code), ``docs/inside/performance.md`` (what limits a row).
"""

from wakeproof.bench.grading import MET, SHORT, SHOWN, TIE, Result, Samples, grade
from wakeproof.bench.measure import BenchReport, bench
from wakeproof.bench.rows import Row
from wakeproof.bench.table import ROWS

__all__ = [
    "MET", "ROWS", "SHORT", "SHOWN", "TIE", "BenchReport", "Result", "Row", "Samples", "bench",
    "grade",
]  # fmt: skip
