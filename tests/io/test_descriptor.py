# SPDX-License-Identifier: Apache-2.0
"""Descriptors of virtual threads: specs/io/Descriptor.tla, kernel/io/descriptor.h.

programs/io/descriptor.c, io_server.c and io_kinds.c run one case and print what is lost.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold, loses
from tests.support.running import run

from wakeproof import locations

pytestmark = COMPILES
CASES = (
    "pair",
    "os_thread",
    "ends",
    "stolen",
    "churn",
    "refused",
    "late",
    "closed",
    "dies",
    "timers",
    "counts",
    "edge",
    "edge_wraps",
    "end_of_file",
    "stream_end",
    "stream_urgent",
    "stream_late",
    "stream_interrupted",
    "stream_pinned",
    "stream_stackless",
    "stream_busy",
    "stream_elsewhere",
    "stream_closed",
    "stream_full",
    "stream_packets",
    "beside",
)
SERVER = ("server", "exhausted")
KINDS = ("udp", "child", "full", "napping")
TWINS = {
    "descriptor_poller_silent": "pair",
    "descriptor_close_silent": "ends",
    "descriptor_registers_here": "stolen",
    "descriptor_wakes_twice": "counts",
    "descriptor_ends_silent": "closed",
    "descriptor_dies_in_line": "dies",
    "descriptor_dies_inside": "dies",
    "descriptor_looks_late": "edge",
    "descriptor_kept_at_end": "end_of_file",
    "descriptor_empty_when_full": "stream_full",
    "descriptor_end_unseen": "stream_end",
    "descriptor_late_unread": "stream_late",
}


@EACH_BUILD
@pytest.mark.parametrize(
    ("program", "cases"),
    [("descriptor", CASES), ("descriptor_server", SERVER), ("descriptor_kinds", KINDS)],
)
def test_threads_park_where_a_call_would_block(
    program: str, cases: tuple[str, ...], build: str, compiled: Compiled
) -> None:
    hold(compiled(program, build), cases)


def test_a_drain_without_an_end_is_seen(tmp_path: Path) -> None:
    old, new = "\t\tif (until_ns == 0)\n", "\t\tif (until_ns >= 0)\n"
    flag = "-DPATIENCE_S=1"
    loses(compiling.broken(tmp_path, "descriptor", "plain", "worker.c", old, new, flag), "beside")


def test_a_wait_that_takes_counts_of_edges_for_ordered_is_seen(tmp_path: Path) -> None:
    old, new = "wp_ready_look(ready) != seen", "wp_ready_look(ready) > seen"
    command = compiling.broken(tmp_path, "descriptor", "plain", "readiness.c", old, new)
    hold(command, ("edge",))
    assert run(command, "edge_wraps").returncode != 0


@pytest.mark.parametrize(("refusal", "works"), [("ENOSYS", 0), ("EPERM", 0), ("EPERM", 3)])
def test_a_poller_sleeps_by_the_millisecond_where_nanoseconds_are_refused(
    refusal: str, works: int, compiled: Compiled
) -> None:
    flags = ("-Wl,--wrap=epoll_pwait2", f"-DNO_PWAIT2={refusal}", f"-DPWAIT2_WORKS={works}")
    hold(compiled("descriptor", "plain", *flags), ("pair", "ends", "timers"))


def test_a_poller_keeps_its_timer_set_from_one_sleep_to_the_next(compiled: Compiled) -> None:
    hold(compiled("descriptor", "plain", *TIMERS), ("near",))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("of->fires_ns > now_ns && of->fires_ns <= latest_ns", "false"),  # set for each sleep
        ("of->fires_ns > now_ns && of->fires_ns <= latest_ns", "of->fires_ns != 0"),  # set once
        ("until_ns - now_ns >= NEAR_NS", "true"),  # never
    ],
)
def test_a_poller_that_sets_its_timer_at_other_times_is_seen(
    old: str, new: str, tmp_path: Path
) -> None:
    command = compiling.broken(
        tmp_path, "descriptor", "plain", "driver_epoll.c", old, new, *TIMERS, "-DPATIENCE_S=2"
    )
    assert run(command, "near").returncode != 0


READS = ("-Wl,--wrap=read", "-DWITH_READS")


def reads(command: list[str]) -> tuple[int, int]:
    """Return how often 100 messages and the end are read, from TCP and from another socket."""
    ended = run(command, "stream_reads")
    assert ended.returncode == 0, ended.stderr
    tcp, other = map(int, ended.stdout.split())
    return tcp, other


def test_a_read_that_would_find_nothing_is_left_out(compiled: Compiled) -> None:
    """The first read finds nothing. Without TCP, so does one after each message."""
    tcp, other = reads(compiled("descriptor", "plain", *READS))
    assert (tcp, other) == (102, 202)


@pytest.mark.parametrize(
    ("file", "old", "new", "case"),
    [
        ("driver_epoll.c", "what & (EPOLLPRI | EPOLLRDHUP)", "what & EPOLLPRI", "stream_end"),
        ("driver_epoll.c", "what & (EPOLLPRI | EPOLLRDHUP)", "what & EPOLLRDHUP", "stream_urgent"),
        ("driver_epoll.c", "EPOLLIN | EPOLLPRI | EPOLLOUT", "EPOLLIN | EPOLLOUT", "stream_urgent"),
        ("descriptor_call.c", "code != WP_OK && code != WP_CLOSED", "code == WP_TIMEOUT",
         "stream_interrupted"),
        ("descriptor.c", "self->pins == 0 &&", "", "stream_pinned"),
        ("descriptor.c", "return self != NULL &&", "if (self == NULL)\n\t\treturn true;\n\treturn",
         "stream_busy"),
        ("descriptor.c", "self->has_stack &&", "true &&", "stream_stackless"),
        ("descriptor.c", "wp__worker_self() == io->poller->worker", "true", "stream_elsewhere"),
        ("readiness.c", "chain = ready->line.first;", "chain = NULL;", "stream_closed"),
        ("descriptor_poller.c", "type == SOCK_STREAM", "type != 0", "stream_packets"),
    ],
)  # fmt: skip
def test_a_read_that_is_left_out_wrongly_is_seen(
    file: str, old: str, new: str, case: str, tmp_path: Path
) -> None:
    command = compiling.broken(tmp_path, "descriptor", "plain", file, old, new, "-DPATIENCE_S=2")
    assert run(command, case).returncode != 0


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    command = compiled("descriptor", "address", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2")
    assert run(command, TWINS[twin]).returncode != 0


TIMERS = ("-Wl,--wrap=timerfd_settime", "-DWITH_TIMERS")
SLEEPS = {  # function of the kernel or the system: the argument that has the duration
    "wp_futex_wait": -1, "wp_cond_wait": -1, "wp_carrier_sleep_until": -1,
    "wp_parker_park_until": -1, "wp_vthread_park_until": -1, "wp__vthread_park_pinned": -1,
    "epoll_wait": 3, "epoll_pwait": 3, "epoll_pwait2": 3, "poll": 2, "ppoll": 2, "select": 4,
    "nanosleep": 0, "usleep": 0, "clock_nanosleep": 2, "pthread_cond_timedwait": 2,
}  # fmt: skip
CALL = re.compile(rf"\b({'|'.join(SLEEPS)})\s*\(([^;{{]*)\)\s*[;)&|=!<>]")
OWN = re.compile(r"(?<![\w.])(?!0\b)\d+|wp_deadline_in|wp_clock_ns|_MS\b|_NS\b")


def arguments(text: str) -> list[str]:
    """Split at the commas outside parentheses."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def safety_timeouts(text: str) -> list[str]:
    """Return the sleeps with an end of their own."""
    plain = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return [
        call.group(0)
        for call in CALL.finditer(plain)
        if OWN.search(arguments(call.group(2))[SLEEPS[call.group(1)]])
    ]


def test_no_sleep_in_the_kernel_has_a_safety_timeout() -> None:
    """A sleep ends for a wake, or for a deadline of the caller."""
    files = locations.kernel_files()
    texts = {file.name: file.read_text() for file in files}
    assert {name: found for name, text in texts.items() if (found := safety_timeouts(text))} == {}
    calls = [call.group(1) for text in texts.values() for call in CALL.finditer(text)]
    assert {"wp_futex_wait", "wp_cond_wait", "epoll_pwait2"} <= set(calls)


@pytest.mark.parametrize(
    "sleep",
    [
        "epoll_wait(fd, events, 64, 50);",
        "wp_futex_wait(&word, 1, wp_clock_ns() + slice);",
        "while (wp_cond_wait(&cond, &lock, wp_deadline_in(1)) != 0)",
    ],
)
def test_a_safety_timeout_is_seen(sleep: str) -> None:
    assert len(safety_timeouts(sleep)) == 1
