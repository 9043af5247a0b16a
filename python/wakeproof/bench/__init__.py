# SPDX-License-Identifier: Apache-2.0
"""`make bench`: ours beside a peer or a limit, measured in turns in the same run.

A row's goal is a ratio.  Nothing here is a test: a goal that is missed is printed, not failed.
Source: ``bench/`` (what is measured), ``docs/inside/performance.md`` (what limits a row).
"""

from wakeproof.bench.grading import MET, SHORT, SHOWN, TIE, Result, Samples, grade
from wakeproof.bench.measure import BenchReport, bench
from wakeproof.bench.rows import Row
from wakeproof.bench.table import ROWS

__all__ = [
    "MET", "ROWS", "SHORT", "SHOWN", "TIE", "BenchReport", "Result", "Row", "Samples", "bench",
    "grade",
]  # fmt: skip
