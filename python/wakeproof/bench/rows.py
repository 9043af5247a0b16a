# SPDX-License-Identifier: Apache-2.0
"""The rows: the two sides of each comparison, and the goal.  Source: docs/inside/performance.md."""

from __future__ import annotations

from dataclasses import dataclass

from wakeproof.bench.reasons import (
    ALL_OF_STD,
    ASLEEP,
    AWAKE,
    CROWDED,
    FENCED,
    LOCKED,
    SECOND_PROCESS,
    SWITCH,
    UNEQUAL,
)

NS, US, MOPS, KOPS, KWRITES = "ns", "us", "Mops/s", "k/s", "k writes/s"
CALLS, STEPS, PERCENT, BYTES, WAKES = "calls", "steps", "%", "bytes", "wakes"
THREADS, SWITCHES = "threads", "switches"
CONCEPTS = {"one": "mpsc", "flow": "mpsc", "submit": "guard", "harness": "stress",
            "pingpong": "carrier", "recheck": "search", "load": "search", "burst": "search",
            "hot": "search", "words": "search", "balanced": "search", "stack": "stack",
            "own": "explore"}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One line of the table.

    `program` is the row of the bench program (or ``harness``), `ours` and `peer` are its sides.
    The ratio is ours/peer: of times with `at_most`, of rates with `at_least`.  With `count` the row
    shows no time but the program's count of this name, and `at_most` is a number.  A row without a
    goal is shown and not judged.  `why` is the reason that is printed if the goal is missed.
    """

    name: str
    program: str
    ours: str
    peer: str
    against: str
    unit: str = NS
    at_most: float | None = None
    at_least: float | None = None
    needs: str = ""
    why: str = ""
    count: str = ""

    @property
    def concept(self) -> str:
        """Return the concept that the row measures: ``-t mpsc`` finds the run queue's rows."""
        return CONCEPTS.get(self.program.split("_")[0], self.program)

    @property
    def is_rate(self) -> bool:
        """Return whether a larger number is better."""
        return self.unit in (MOPS, KOPS)

    @property
    def goal(self) -> str:
        """Return the goal as the table shows it."""
        if self.at_most is not None:
            return f"<= {self.at_most:g}" + ("" if self.count else "x")
        return f">= {self.at_least:g}x" if self.at_least is not None else "-"


def _flow(name: str, program: str, *, judged: bool = True) -> list[Row]:
    return [
        Row(name, program, "many", "vyukov", "Vyukov queue", MOPS,
            at_least=1.05 if judged else None),
        Row("- the same", program, "many", "bulk", "moodycamel", MOPS,
            needs="libconcurrentqueue-dev"),
        Row("- one at a time", program, "ours", "vyukov", "Vyukov queue", MOPS),
        Row("- one at a time", program, "ours", "moodycamel", "moodycamel", MOPS,
            at_least=2.0 if judged else None, needs="libconcurrentqueue-dev"),
    ]  # fmt: skip


def _counted(
    name: str, program: str, side: str, count: str, unit: str, at_most: float | None = None,
    *, peer: str = "", against: str = "", why: str = "",
) -> Row:  # fmt: skip
    return Row(name, program, side, peer or side, against, unit, at_most, why=why, count=count)


def _recheck(carriers: int) -> list[Row]:
    program, load = f"recheck_{carriers}", f"load_{carriers}"
    return [
        Row(f"park among {carriers} carriers, simulated", program, "ours", "shipped",
            "twin search_shipped"),
        _counted("- its looks, per sibling", program, "ours", "sibling", NS, 10.0),
        Row("- wait of a task, half load", load, "ours", "shipped", "twin search_shipped", US),
        _counted("- useless wakes per park", load, "ours", "useless", WAKES, peer="shipped",
                 against="twin search_shipped"),
    ]  # fmt: skip


def _words(carriers: int) -> list[Row]:
    """Return rows of the writes to words that carriers share, in thousands a second."""
    names = (
        (f"writes to tokens, {carriers} carriers", "tokens"), ("- to the idle set", "idle"),
        ("- to a carrier's word, at most", "word"), ("- to a queue's tail, at most", "tail"),
    )  # fmt: skip
    return [
        _counted(name, f"words_{carriers}", "even", count, KWRITES, peer="hot",
                 against="a quarter has all the work")
        for name, count in names
    ]  # fmt: skip


def _searchers(carriers: int) -> list[Row]:
    victims, twin = carriers // 4, "twin search_shipped"
    burst, hot = f"burst_{carriers}", f"hot_{carriers}"
    rows = [
        Row(f"last of {victims} victims helped, {carriers} carriers", burst, "ours", "12us",
            "12 us", US, at_most=1.0),
        _counted("- useless wakes per task", burst, "ours", "useless", WAKES, 0.5),
        _counted("- tasks left for ever", burst, "ours", "lost", PERCENT, 0.0, peer="shipped",
                 against=twin),
        Row(f"p99 wait, {victims} hot carriers of {carriers}", hot, "ours", "shipped", twin, US),
        _counted("- useless wakes per task", hot, "ours", "useless", WAKES, peer="shipped",
                 against=twin),
    ]  # fmt: skip
    for program, name in ((burst, "last of them helped"), (hot, "p99 wait, hot carriers")):
        for side, many in (("one", 1), ("two", 2), ("quarter", carriers // 4)):
            rows += [
                Row(f"- {name}, {many} search{'es' if many > 1 else ''} at a time", program, side,
                    "ours", f"{carriers // 2} at a time", US),
                _counted("- useless wakes per task", program, side, "useless", WAKES, peer="ours",
                         against=f"{carriers // 2} at a time"),
            ]  # fmt: skip
    return rows


def _peers(
    name: str, program: str, unit: str = NS, *, pool: bool = True, go: float | None = None
) -> list[Row]:
    found = [
        Row(name, program, "ours", "go", "Go", unit, at_most=go, needs="Go"),
        Row("- the same", program, "ours", "tokio", "tokio", unit, needs="cargo"),
    ]
    if pool:
        found.append(Row("- the same", program, "ours", "pool", "plain thread pool", unit))
    return found


def _virtual(
    name: str, program: str, side: str, against: str, at_most: float = 1.0, go: float = 0.25
) -> list[Row]:
    return [
        Row(name, program, "ours", side, against, at_most=at_most),
        Row("- the same", program, "ours", "go", "Go", at_most=go, needs="Go"),
        Row("- the same", program, "ours", "tokio", "tokio", at_most=1.0, needs="cargo"),
    ]


ROWS = (
    Row("run queue push+pop, one thread, batches of 64", "one_batch", "ours", "floor",
        "ring + one exchange", at_most=1.1, why=LOCKED),
    Row("- the same", "one_batch", "ours", "ring", "private ring"),
    Row("- the same", "one_batch", "ours", "vyukov", "Vyukov queue"),
    Row("- our queue without the lock (broken)", "one_batch", "unlocked", "ring", "private ring"),
    Row("- 64 tasks that run and yield", "one_turn", "ours", "ring", "private ring"),
    Row("- the same without the lock (broken)", "one_turn", "unlocked", "ring", "private ring"),
    Row("- 64 tasks that run and yield", "one_turn", "ours", "floor", "ring + one exchange"),
    Row("- an empty queue each time", "one_ping", "ours", "ring", "private ring"),
    Row("- an empty queue each time", "one_ping", "ours", "vyukov", "Vyukov queue"),
    *_flow("run queue, 1 producer to 1 consumer", "flow_1"),
    Row("- limit of a linked list: Vyukov's", "flow_1", "vyukov", "chain", "nothing locked", MOPS),
    Row("- limit of a linked list: ours", "flow_1", "ours", "chain", "nothing locked", MOPS),
    *_flow("run queue, 2 producers to 1 consumer", "flow_2"),
    *_flow("run queue, 4 producers to 1 consumer", "flow_4"),
    *_flow("- 1 producer, tasks scattered in memory", "flow_scattered", judged=False),
    Row("guarded submit, symmetric", "submit", "symmetric", "fenced", "push + fence", at_most=1.1),
    Row("guarded submit, asymmetric", "submit", "asymmetric", "plain", "push alone", at_most=1.1),
    Row("- symmetric, consumer on another CPU", "submit_awake", "symmetric", "fenced",
        "push + fence"),
    Row("- asymmetric, consumer on another CPU", "submit_awake", "asymmetric", "plain",
        "push alone"),
    Row("parker ping-pong, round trip", "parker", "ours", "futex", "bare futex", US, at_most=1.05),
    _counted("- system calls per hand-off", "parker", "ours", "calls", CALLS, peer="futex",
             against="bare futex"),
    Row("ping-pong of two carriers, asleep", "pingpong_asleep", "ours", "futex", "bare futex", US,
        at_most=1.05, why=ASLEEP),
    _counted("- futex wakes per hand-off", "pingpong_asleep", "ours", "wakes", CALLS, 1.0,
             peer="futex", against="bare futex"),
    _counted("- futex waits per hand-off", "pingpong_asleep", "ours", "waits", CALLS,
             peer="futex", against="bare futex"),
    _counted("- steps on the other's carrier", "pingpong_asleep", "ours", "strays", STEPS, 0.0),
    Row("- with stealing on, tasks pinned", "pingpong_asleep", "pinned", "futex", "bare futex", US),
    _counted("- futex wakes per hand-off", "pingpong_asleep", "pinned", "wakes", CALLS, 1.0),
    Row("- with stealing on", "pingpong_asleep", "stealing", "futex", "bare futex", US),
    _counted("- steps on the other's carrier", "pingpong_asleep", "stealing", "strays", STEPS),
    Row("ping-pong of two carriers, awake", "pingpong_awake", "ours", "lines",
        "350 ns, or three lines", at_most=1.0, why=AWAKE),
    _counted("- system calls per hand-off", "pingpong_awake", "ours", "calls", CALLS, 0.0),
    _counted("- steps on the other's carrier", "pingpong_awake", "ours", "strays", STEPS, 0.0),
    Row("- with stealing on, tasks pinned", "pingpong_awake", "pinned", "lines",
        "350 ns, or three lines"),
    Row("- limit", "pingpong_awake", "ours", "spinning", "two spinning threads"),
    Row("submit to an awake carrier", "group_submit", "alone", "12ns", "12 ns", at_most=1.0,
        why=FENCED),
    Row("- the same", "group_submit", "alone", "fenced", "push + fence"),
    Row("- with stealing on, nobody idle", "group_submit", "stealing", "alone", "without stealing",
        at_most=1.3),
    Row("tasks at once, start to end, 2 carriers", "group_tasks", "ours", "100ns",
        "100 ns each", at_most=1.0),
    Row("- the same by the clock", "group_tasks", "clock", "100ns", "100 ns each", at_most=1.0,
        why=CROWDED),
    Row("unpark of 4,096 tasks and their runs", "group_unpark", "ours", "150ns", "150 ns each",
        at_most=1.0),
    Row("start and park of a million tasks", "memory", "ours", "300ns", "300 ns each", at_most=1.0),
    _counted("- memory of a parked task", "memory", "ours", "bytes", BYTES, 160.0),
    Row("stack switch", "fiber", "ours", "fcontext", "Boost.Context", at_most=0.8,
        needs="libboost-context-dev", why=SWITCH),
    Row("- limit", "fiber", "ours", "inline", "inline assembly"),
    Row("- in functions that return after it", "fiber", "returns", "ours", "that end in it"),
    Row("stack taken and given back, cached", "stack", "ours", "3ns", "3 ns", at_most=1.0),
    Row("- the same", "stack", "ours", "mmap", "mmap and munmap"),
    Row("stack made: guard and one page", "stack_made", "ours", "machine", "the system calls",
        at_most=1.15),
    Row("control blocks at random, 64 of them", "stack_colours_64", "ours", "plain", "uncoloured"),
    Row("- 1,000", "stack_colours_1000", "ours", "plain", "uncoloured"),
    Row("- 100,000", "stack_colours_100000", "ours", "plain", "uncoloured", at_most=1.0),
    *_virtual("yield of a virtual thread", "vthread_yield", "ring", "fibers alone", 1.6),
    *_virtual("park and unpark, round trip", "vthread_turns", "40ns", "40 ns", go=0.2),
    Row("- limit", "vthread_turns", "ours", "bare", "6 locked, 2 switches"),
    *_virtual("start and join, one by one", "vthread_join", "40ns", "40 ns", go=0.2),
    Row("- limit", "vthread_join", "ours", "bare", "13 locked, 2 switches"),
    *_virtual("start and join, a million at once", "vthread_many", "100ns", "100 ns each", go=1.0),
    Row("- limit", "vthread_many", "ours", "bare", "13 locked, 3 cold reads"),
    *_virtual("unpark of 4,096 virtual threads", "vthread_wake", "150ns", "150 ns each",
              go=1.0),
    Row("start and park of 250,000", "vthread_memory", "ours", "ours", ""),
    _counted("- memory of a parked virtual thread", "vthread_memory", "ours", "bytes", BYTES,
             4400.0),
    Row("dump of parked virtual threads, each", "dump", "text", "5us", "5 s a million",
        at_most=1.0),
    Row("- as JSON", "dump", "json", "5us", "5 s a million", at_most=1.0),
    Row("same work on both carriers, stealing", "balanced", "on", "off", "stealing off",
        at_most=1.02),
    Row("- limit", "balanced", "on", "locked", "off, 1 locked"),
    _counted("- tasks stolen", "balanced", "on", "stolen", PERCENT, 1.0, why=UNEQUAL),
    Row("all work to one of two carriers: p99", "hot_carrier", "on", "off", "stealing off", US,
        at_most=1.0),
    _counted("- tasks stolen", "hot_carrier", "on", "stolen", PERCENT),
    *_recheck(2), *_recheck(16), *_recheck(64), *_recheck(256),
    *_searchers(16), *_searchers(64),
    *_words(16), *_words(64), *_words(256),
    *_peers("two tasks resume each other", "peers_near", pool=False),
    *_peers("- each on a thread of its own", "peers_far", US, go=0.9),
    *_peers("tasks at once, CPU time", "peers_tasks"),
    *_peers("resume of 4,096 tasks, CPU time", "peers_wake"),
    Row("timer armed, cancelled, 1 other armed", "timer_1", "ours", "locks", "its two locks"),
    Row("- among a thousand", "timer_1k", "ours", "locks", "its two locks"),
    Row("- among a million", "timer_1m", "ours", "locks", "its two locks"),
    *_peers("- the same, CPU time", "peers_timers", pool=False),
    Row("timer fired, armed again, among a thousand", "timer_fire_1k", "ours", "locks",
        "its two locks"),
    Row("- among a million", "timer_fire_1m", "ours", "locks", "its two locks"),
    Row("queue ends on a line each, 1 producer", "layout_queue", "ours", "packed", "on one line",
        MOPS, at_least=1.0),
    Row("token and idle words on a line each", "layout_token", "ours", "packed", "on one line",
        at_most=1.0),
    Row("ticket words on one line, one stealer", "layout_ticket", "ours", "split", "on a line each",
        at_most=1.0),
    Row("stress engine, store buffering", "harness", "engine", "sweep", "bare loop, same strides",
        MOPS, at_least=0.8),
    Row("- the same", "harness", "engine", "block", "bare loop, no strides", MOPS),
    Row("explorer, RC11, 7 threads that add", "explore", "adds", "500k", "500,000 executions/s",
        KOPS, at_least=1.0),
    Row("explorer, RC11, run queue, 3 threads", "explore", "queue", "20k", "20,000 executions/s",
        KOPS, at_least=1.0),
    Row("explorer, two processes, 369,600 executions", "explore", "two", "one", "one process", KOPS,
        at_least=1.9, why=SECOND_PROCESS),
    Row("explorer, C, 7 threads that add", "own", "adds", "100k", "100,000 executions/s", KOPS,
        at_least=1.0),
    Row("explorer, C++, 3 threads, a condition", "own", "cxx", "10k", "10,000 executions/s", KOPS,
        at_least=1.0),
    Row("explorer, Rust, 2 threads, a condition", "own", "rust", "10k, Rust",
        "10,000 executions/s", KOPS, at_least=1.0, needs="Rust by rustup", why=ALL_OF_STD),
)  # fmt: skip
"""In the order of the table; a name that starts with "-" belongs to the row above it."""
