# SPDX-License-Identifier: Apache-2.0
"""Python has what C has: each public function and each setting of the kernel, or a reason why not.

A function counts as there if Python calls it, or if the C code of the binding does.  A field of a
configuration counts as there if one of the two sets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.support.cases import IN_CHECKOUT

from wakeproof import locations

pytestmark = IN_CHECKOUT
ROOT = locations.sources()

OWN_WAITS = "the binding has the two halves of the wait, so that a greenlet or coroutine can leave"
OWN_STACK = "it leaves a stack of C; Python's threads have greenlets and coroutines"
OF_TASKS = "a task of Python is a call that runs once, and does not park"
SCOPES = (
    "Scope is written in Python, because it holds exceptions and results; Scope.tla is its spec"
)
ATTEMPTS = "the socket or file module of Python makes the call, and the binding waits between"
THREADS_DUMP = "dump() shows Python's stacks; that of C would show the kernel's"
LEFT_OUT = {
    "wp_error_text": "exceptions have messages of their own (wakeproof.errors)",
    "wp_dump_state_name": THREADS_DUMP,
    "wp_dump_each": THREADS_DUMP,
    "wp_dump": THREADS_DUMP,
    "wp_io_call": ATTEMPTS,
    "wp_io_read": ATTEMPTS,
    "wp_io_write": ATTEMPTS,
    "wp_io_accept": ATTEMPTS,
    "wp_io_connect": ATTEMPTS,
    "wp_io_close": "wp_io_free closes as well",
    "wp_file_open": OWN_WAITS,
    "wp_file_read": OWN_WAITS,
    "wp_file_write": OWN_WAITS,
    "wp_file_sync": OWN_WAITS,
    "wp_pool_execute_virtual": "an ExecutionStrategy gives the task to the pool's executor itself",
    "wp_pool_has_virtual": "QueuedThreadPool.virtual_threads_executor says so",
    "wp_pool_stop": "QueuedThreadPool.stop is written in Python, so that Ctrl-C ends its waits",
    "wp_pool_is_low": "QueuedThreadPoolStatistics.is_low has it",
    "wp_mpsc_push": "the binding reserves and publishes, the two halves of a push",
    "wp_mpsc_pop_many": "MpscQueue gives its objects out one by one",
    "wp_mpsc_published": "MpscQueue.get_nowait looks and takes in one step",
    "wp_mpsc_is_alone": "a question of a consumer in C that reuses nodes",
    "wp_group_size": "len(group)",
    "wp_task_unpark": OF_TASKS,
    "wp_task_is_done": "a Future says so",
    "wp_poller_maybe_yield": OWN_STACK,
    "wp_vthread_join": OWN_WAITS,
    "wp_vthread_park_until": OWN_STACK,
    "wp_vthread_sleep_until": OWN_STACK,
    "wp_vthread_yield": OWN_STACK,
    "wp_vthread_pin": "pinned() counts in Python: its parks do not leave the greenlet",
    "wp_vthread_unpin": "as wp_vthread_pin",
    "wp_vthread_submit_and_yield": "its two halves are wp__vthread_submit_next and a yield",
    "wp_vthread_name": "VirtualThread.name",
    "wp_vthread_is_done": "VirtualThread.is_alive",
    "wp_local_get": "threading.local, contextvars and ScopedValue",
    "wp_local_set": "as wp_local_get",
    "wp_scope_open": SCOPES,
    "wp_scope_fork": SCOPES,
    "wp_scope_join": SCOPES,
    "wp_scope_cancel": SCOPES,
    "wp_scope_is_cancelled": SCOPES,
    "wp_scope_close": SCOPES,
    "wp_scope_current": SCOPES,
    "wp_subtask_outcome": SCOPES,
    "wp_mutex_lock": OWN_WAITS,
    "wp_latch_init": "Latch is written in Python: the objects that wait there may be of two kinds",
    "wp_latch_open": "as wp_latch_init",
    "wp_latch_is_open": "as wp_latch_init",
    "wp_latch_wait_until": "as wp_latch_init",
    "wp_rendezvous_block": "RendezvousGuard.block sleeps by a call of the user",
    "wp_parker_park": "Parker.park has a deadline, so that Ctrl-C can end it",
    "wp_parker_park_until": "the binding waits once, and Python looks for signals in between",
}
STACKS = "threads of Python have no stack of C: greenlet has their stacks"
NOT_SET = {
    "wp_group_config.max_stacks": STACKS,
    "wp_group_config.spares": "a greenlet runs only on the OS thread that began it, so no spare "
    "thread can run a carrier; Compensation(spare_carriers=...) counts pinned parks as blocks",
    "wp_group_config.arg": "the callback of `bind` finds its group by itself",
    "wp_vthread_config.keeps_rounding": "greenlet saves the control words of a callable itself",
    "wp_vthread_config.run": STACKS,
    "wp_vthread_config.stack_bytes": STACKS,
    "wp_vthread_config.left": "the step that ends a thread, and a close, tell Python themselves",
    "wp_poller_config.run": STACKS,
    "wp_poller_config.stack_bytes": STACKS,
    "wp_pool_config.stack_bytes": "threading.stack_size is the interpreter's",
    "wp_pool_config.execute_virtual": "an ExecutionStrategy gives the task to it itself",
}
SET_IN = {
    "wp_group_config": ["_runtime/native_group.py"],
    "wp_vthread_config": ["_native/vthreads.c"],
    "wp_poller_config": ["_native/vthreads.c"],
    "wp_strategy_config": ["_runtime/strategy.py"],
    "wp_pool_config": ["queued_pool.py", "_runtime/pool_jobs.py"],
}
"""Where the binding fills each configuration."""

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(r"^WP_API(?:_INLINE)? [^;{(]*?\b(wp_\w+)\(", re.MULTILINE)
_STRUCT = re.compile(r"typedef struct (wp_\w+) \{(.*?)\n\} \1;", re.DOTALL)
_POINTER = re.compile(r"\(\*(\w+)\)\([^;]*\)")


def functions(headers: str) -> set[str]:
    """Return the public functions of the headers."""
    return set(_FUNCTION.findall(_COMMENT.sub("", headers)))


def fields(headers: str) -> set[str]:
    """Return the fields of the configurations, as TYPE.FIELD."""
    return {
        f"{name}.{field}"
        for name, body in _STRUCT.findall(_COMMENT.sub("", headers))
        if name in SET_IN
        for field in _names(body)
    }


def _names(body: str) -> Iterator[str]:
    for part in body.split(";"):
        pointer = _POINTER.search(part)
        declared = [pointer[1]] if pointer else re.findall(r"(\w+)\s*(?:,|$)", part.strip())
        yield from declared


def called(sources: str) -> set[str]:
    """Return the functions of the kernel that are called."""
    return set(re.findall(r"\b(wp_\w+)\(", sources)) | set(re.findall(r"\blib\.(wp_\w+)", sources))


def set_in(sources: str, config: str) -> set[str]:
    """Return the fields of the configuration that are set, as TYPE.FIELD."""
    in_c = "".join(re.findall(rf"\b{config} config = {{(.*?)}};", sources, re.DOTALL))
    found = re.findall(r"\.(\w+) = ", in_c) + re.findall(r"\bconfig\.(\w+)\b", sources)
    found += re.findall(r'^    "(\w+)": _made\(', sources, re.MULTILINE)  # a strategy's
    return {f"{config}.{field}" for field in found}


def missing(there: set[str], had: set[str], reasons: Mapping[str, str]) -> list[str]:
    """Return a line for each name without a reason, and for each reason that is stale."""
    lines = [f"{name}: Python lacks it" for name in sorted(there - had - set(reasons))]
    lines += [f"{name}: C has no such name" for name in sorted(set(reasons) - there)]
    return lines + [f"{name}: Python has it" for name in sorted(set(reasons) & had)]


def texts(*patterns: str) -> str:
    found = [path for pattern in patterns for path in sorted(Path(ROOT).glob(pattern))]
    return "\n".join(path.read_text(encoding="utf-8") for path in found)


def test_each_public_function_is_had_or_left_out_with_a_reason() -> None:
    there = functions(texts("kernel/**/*.h"))
    assert len(there) > 150
    had = called(texts("python/wakeproof/**/*.py", "python/wakeproof/_native/*.c"))
    assert missing(there, had, LEFT_OUT) == []


def test_each_setting_is_had_or_left_out_with_a_reason() -> None:
    there = fields(texts("kernel/**/*.h"))
    assert {name.partition(".")[0] for name in there} == set(SET_IN)
    had = {
        field
        for config, files in SET_IN.items()
        for field in set_in(texts(*(f"python/wakeproof/{file}" for file in files)), config)
    }
    assert missing(there, had, NOT_SET) == []


HEADER = """
/* WP_API int wp_not(void); in a comment */
WP_API int wp_new(wp_group **group, const wp_group_config *config);
WP_API_INLINE bool wp_is(void)
{
	return wp_other();
}
WP_INLINE int wp__inner(void);
typedef struct wp_group_config {
	uint32_t one, two; /* three */
	void (*four)(void *arg, uint32_t index);
	const uint32_t *five;
} wp_group_config;
"""


def test_a_function_that_is_forgotten_is_seen() -> None:
    there = functions(HEADER)
    assert there == {"wp_new", "wp_is"}
    assert missing(there, called("lib.wp_new(group)\nlib.wp_is"), {}) == []
    assert missing(there, called("lib.wp_new(group)"), {}) == ["wp_is: Python lacks it"]
    assert missing(there, called("x = wp_new();"), {"wp_is": "why"}) == []


def test_a_setting_that_is_forgotten_is_seen() -> None:
    there = fields(HEADER)
    assert there == {f"wp_group_config.{name}" for name in ("one", "two", "four", "five")}
    sources = "config.one = 1\nwp_group_config config = {.two = 2, .four = f};\nx = {.five = 5};"
    had = set_in(sources, "wp_group_config")
    assert missing(there, had, {}) == ["wp_group_config.five: Python lacks it"]


@pytest.mark.parametrize(
    ("reasons", "line"),
    [
        ({"wp_is": "why"}, "wp_is: Python has it"),
        ({"wp_gone": "why"}, "wp_gone: C has no such name"),
    ],
)
def test_a_reason_that_is_stale_is_seen(reasons: dict[str, str], line: str) -> None:
    there = functions(HEADER)
    assert missing(there, there, reasons) == [line]
