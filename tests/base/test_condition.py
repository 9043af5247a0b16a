# SPDX-License-Identifier: Apache-2.0
"""The condition of OS threads, kernel/base/lock.c, while its count of signals passes 2^32."""

from __future__ import annotations

from pathlib import Path

from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold, loses

pytestmark = COMPILES


@EACH_BUILD
def test_no_signal_is_lost_while_their_count_wraps(build: str, compiled: Compiled) -> None:
    hold(compiled("condition", build), ("wraps",))


def test_a_wait_that_takes_counts_for_ordered_is_seen(tmp_path: Path) -> None:
    old = "\trc = wp_futex_wait(&cond->signals, seen, deadline_ns);\n"
    new = """\tdo
\t\trc = wp_futex_wait(&cond->signals, wp_load_relaxed(&cond->signals), deadline_ns);
\twhile (wp_load_relaxed(&cond->signals) <= seen && rc != WP_TIMEOUT);
"""
    flag = "-DPATIENCE_S=2"
    command = compiling.broken(tmp_path, "condition", "plain", "lock.c", old, new, flag)
    loses(command, "wraps", what="a signal")
