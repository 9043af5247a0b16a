# SPDX-License-Identifier: Apache-2.0
"""Virtual threads and strategies, compared with others.  Source: docs/inside/performance.md."""

from __future__ import annotations

from wakeproof.bench.peers import BOOST, GO, JDK, TOKIO
from wakeproof.bench.reasons import CLAIMED, COLD, HELD, LOOKING
from wakeproof.bench.rows import BYTES, KOPS, PERCENT, SWITCHES, THREADS, US, Row

SCHEDULERS = {
    "go": ("Go", GO), "tokio": ("tokio", TOKIO), "boost": ("Boost.Fiber", BOOST),
    "jdk": ("JDK 25", JDK),
}  # fmt: skip
"""By side: its name, and what to install."""


def beside(
    name: str, program: str, *peers: str, at_most: float | None = 1.0, why: str = "",
    count: str = "", unit: str = "ns",
) -> list[Row]:  # fmt: skip
    """Return a row per peer."""
    return [
        Row(name if at == 0 else "- the same", program, "ours", peer, SCHEDULERS[peer][0], unit,
            at_most=None if count else at_most, needs=SCHEDULERS[peer][1], why=why, count=count)
        for at, peer in enumerate(peers)
    ]  # fmt: skip


def _scale(name: str, program: str, two: str, at_most: float) -> list[Row]:
    """Return the rows of a program; `two` is its side with two threads, which do switch."""
    alone = "as many fibers alone"
    return [
        Row(f"{name} 1,000 virtual threads", program, "1k", two, "two", at_most=1.25, why=COLD),
        Row("- 100,000", program, "100k", "model_100k", alone, at_most=at_most, why=COLD),
        Row("- a million", program, "1m", "model_1m", alone, at_most=at_most, why=COLD),
        Row("- 1,000", program, "1k", "model_1k", alone),
        Row("- 100,000", program, "100k", two, "two"),
        Row("- a million", program, "1m", two, "two"),
    ]


STRATEGIES = {
    "pc": "produce-consume", "pec": "produce-execute-consume", "epc": "execute-produce-consume",
}  # fmt: skip


def _adaptive(
    name: str, program: str, unit: str, at_least: float | None = None, at_most: float | None = None
) -> list[Row]:
    """Return the rows that compare adaptive with other strategies; its cost must be small."""
    return [
        Row(name if at == 0 else "- the same", program, "adaptive", side, against, unit,
            at_least=at_least, at_most=at_most)
        for at, (side, against) in enumerate(STRATEGIES.items())
    ]  # fmt: skip


def _how(program: str) -> list[Row]:
    return [
        Row(f"- {name}", program, "adaptive", side, STRATEGIES[side], unit, count=count)
        for name, count, unit, side in (
            ("run by the pool", "executed", PERCENT, "epc"),
            ("run after handing over", "handed", PERCENT, "epc"),
            ("context switches, each", "switches", SWITCHES, "epc"),
            ("threads started", "threads", THREADS, "pec"),
        )
    ]  # fmt: skip


def _local(name: str, program: str) -> list[Row]:
    return [
        Row(name, program, "ours", "mpsc", "MPSC + ticket", at_most=1.0),
        Row(
            "- the same", program, "ours", "floor", "ring + one exchange", at_most=1.1, why=CLAIMED
        ),
        Row("- the same", program, "ours", "ring", "unshared ring"),
        Row("- the same", program, "ours", "vyukov", "Vyukov queue", at_most=1.1, why=CLAIMED),
    ]


def _shape(name: str, program: str, why: str = "") -> list[Row]:
    return beside(name, program, "go", "tokio", "jdk", why=why)


ROWS = (
    *beside("- the same", "vthread_yield", "boost", "jdk"),
    *beside("- the same", "vthread_turns", "boost", "jdk"),
    *beside("- the same", "vthread_join", "boost", "jdk"),
    *beside("- the same", "vthread_many", "jdk"),
    *beside("- the same", "vthread_wake", "jdk"),
    *beside("- time of start and park", "vthread_memory", "go", "tokio", "jdk", at_most=None),
    *beside("- memory", "vthread_memory", "go", "tokio", "jdk", count="bytes", unit=BYTES),
    *beside("channel without slots, one carrier", "channel_hand", "go", "tokio", "boost", "jdk"),
    *beside("channel of 64 slots, one carrier", "channel_slots", "go", "tokio", "boost", "jdk"),
    *beside("- two carriers, wherever they run", "channel_far", "go", "tokio", "jdk"),
    Row("- each on its own", "channel_far", "apart", "ours", "wherever they run"),
    Row("uncontended mutex", "mutex_free", "ours", "locked", "two locked instructions",
        at_most=1.1, why=HELD),
    *beside("- the same", "mutex_free", "go", at_most=None),
    *beside("- the same", "mutex_free", "tokio", "boost", "jdk"),
    *beside("mutex of 64 threads, held across a yield", "mutex_one", "go", "tokio", "boost", "jdk"),
    *beside("mutex of 64 threads, two carriers", "mutex_two", "go", "tokio", "jdk",
            why=LOOKING),
    Row("- each on its own", "mutex_two", "apart", "ours", "wherever they run"),
    *_scale("yield among", "scale_yield", "2", 1.6),
    Row("- limit: a line of each of a million", "scale_yield", "1m", "line", "one cold line"),
    *_scale("hand-over in a ring of", "scale_turn", "2", 1.25),
    Row("message and answer, a pair of sockets", "poller_pair", "ours", "epoll", "epoll by hand"),
    Row("- the same", "poller_pair", "ours", "bare", "calls that never wait"),
    Row("a poller's look, idle", "poller_look", "ours", "call", "the system call"),
    Row("task to a carrier asleep in its poller", "poller_start", "ours", "futex",
        "asleep in a futex", US),
    *_adaptive("tasks declared non-blocking: adaptive", "strategy_told", KOPS, at_least=0.9),
    *_adaptive("tasks that might block, and never do", "strategy_never", KOPS, at_least=0.9),
    *_how("strategy_never"),
    *_adaptive("tasks of which one in ten blocks", "strategy_some", KOPS, at_least=0.9),
    *_how("strategy_some"),
    *_adaptive("tasks that all block", "strategy_always", KOPS, at_least=0.9),
    *_how("strategy_always"),
    *_adaptive("from submission to run of a task; the producer sleeps", "strategy_soon", US),
    *_how("strategy_soon"),
    *_adaptive("- declared non-blocking", "strategy_soon_told", US, at_most=1.1),
    *_local("bounded queue push+pop, batches of 64", "local_batch"),
    *_local("- a turn of 64 that yield", "local_turn"),
    *_local("- one at a time", "local_ping"),
    Row("bounded queue, half of 128 is stolen, each", "local_steal", "ours", "mpsc",
        "one by one"),
    Row("bounded queue, 384 pushed, 128 overflow, each", "local_spill", "ours", "mpsc",
        "MPSC + ticket"),
    Row("a tree of tasks, two carriers, bounded queues", "local_fork", "ours", "mpsc",
        "MPSC + ticket"),
    Row("64 tasks that yield, a carrier, bounded queue", "local_yield", "ours", "mpsc",
        "MPSC + ticket"),
    *_shape("128 threads that hash 4 KB, one submitter", "shapes_hash_1"),
    *_shape("- three submitters", "shapes_hash_3"),
    *_shape("a thread for each of 200,000 requests a second", "shapes_answer"),
    Row("- limit", "shapes_answer", "ours", "bare", "epoll by hand"),
    *[row for percentile in ("p50", "p90", "p99")
      for row in beside(f"- until its answer, after 100 us: {percentile}", "shapes_answer",
                        "go", "tokio", "jdk", count=percentile, unit=US)],
    *_shape("a start, 10 us of work, a start: 100 times", "shapes_executes"),
    *_shape("each thread starts the next, 1,000 deep", "shapes_nest_1k"),
    *_shape("- 100,000 deep", "shapes_nest_100k"),
)  # fmt: skip
