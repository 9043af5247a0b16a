# SPDX-License-Identifier: Apache-2.0
"""Random programs with mutexes against all their interleavings, which are counted in Python.

Two interleavings are one execution if each read has the same source in both, and the writes of each
place, locks and unlocks among them, have the same order.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.support.judges import TRUST, ended
from tests.support.own import Several

from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.process import Children

Op = tuple[str, int]
"""A kind, and the number of the mutex or of the variable; of a release, of the try before."""
Thread = list[Op]
DRAWN = 40 * TRUST
OPTIONS = ExploreOptions(models=(Model.SC,), check_duplicates=True, loop_bound=0)
MUTEXES = VARIABLES = 2
ROOM = 12
HEAD = f"""
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
static pthread_mutex_t m[2] = {{PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER}};
static atomic_int x[2];
static int saw[3][{ROOM}];
"""
IN_C = {
    "lock": "pthread_mutex_lock(&m[{at}]);",
    "unlock": "pthread_mutex_unlock(&m[{at}]);",
    "try": "saw[{t}][{i}] = pthread_mutex_trylock(&m[{at}]) == 0;",
    "release": "if (saw[{t}][{at}]) pthread_mutex_unlock(&m[{mutex}]);",
    "store": "x[{at}] = {value};",
    "load": "saw[{t}][{i}] = x[{at}];",
    "add": "saw[{t}][{i}] = x[{at}]++;",
}


@dataclass(frozen=True)
class State:
    """What has happened so far."""

    done: tuple[int, ...]  # by thread
    orders: tuple[tuple[str, ...], ...]  # the writes of each mutex, then of each variable
    sources: frozenset[tuple[str, str]]  # of reads


def _thread(drawn: random.Random) -> Thread:
    ops: Thread = []
    held: list[int] = []

    def access() -> None:
        kind = drawn.choice(("store", "load", "add", "none", "try"))
        at = drawn.randrange(VARIABLES)
        if kind == "try" and at not in held:
            ops.append((kind, at))
            if drawn.randrange(2):
                ops.append(("load", drawn.randrange(VARIABLES)))
            ops.append(("release", len(ops) - 1 - (ops[-1][0] == "load")))
        elif kind in ("store", "load", "add"):
            ops.append((kind, at))

    access()
    for _ in range(drawn.randint(1, 2)):
        mutex = drawn.randrange(MUTEXES)
        if mutex not in held:
            held.append(mutex)
            ops.append(("lock", mutex))
            access()
    for mutex in reversed(held):
        ops.append(("unlock", mutex))
    held.clear()
    access()
    return ops


def _in_c(name: str, threads: list[Thread]) -> str:
    text = ""
    for t, ops in enumerate(threads):
        lines = [
            IN_C[kind].format(t=t, i=i, at=at, value=10 * t + i + 1, mutex=ops[at % len(ops)][1])
            for i, (kind, at) in enumerate(ops)
        ]
        text += f"static void *{name}_{t}(void *a) {{ {' '.join(lines)} return a; }}\n"
    count = len(threads)
    starts = "".join(f"pthread_create(&t[{t}], 0, {name}_{t}, 0);" for t in range(count))
    joins = "".join(f"pthread_join(t[{t}], 0);" for t in range(count))
    shown = [f"saw[{t}][{i}]" for t, ops in enumerate(threads) for i in range(len(ops))]
    form = " ".join(["%d"] * (len(shown) + VARIABLES))
    return (
        f"{text}static void {name}(void) {{ pthread_t t[{count}]; {starts}{joins}"
        f'printf("{form}", {", ".join(shown)}, x[0], x[1]); }}\n'
    )


def _next(state: State, t: int, ops: Thread) -> State | None:
    """Return what the next step of a thread leads to; None: it waits."""
    at = state.done[t]
    kind, of = ops[at]
    me = f"{t}.{at}"
    if kind == "release":
        place, taken = ops[of][1], f"{t}.{of}+"
        writes = f"{me}-" if taken in state.orders[place] else ""
        reads = False
    else:
        place = of if kind in ("lock", "unlock", "try") else MUTEXES + of
        is_taken = state.orders[place][-1:] != () and state.orders[place][-1].endswith("+")
        if kind == "lock" and is_taken:
            return None
        reads = kind in ("lock", "try", "load", "add")
        writes = {
            "lock": f"{me}+", "try": "" if is_taken else f"{me}+", "unlock": f"{me}-", "load": "",
        }.get(kind, me)  # fmt: skip
    orders, sources = list(state.orders), state.sources
    if reads:
        sources |= {(me, orders[place][-1] if orders[place] else "")}
    if writes:
        orders[place] = (*orders[place], writes)
    done = (*state.done[:t], at + 1, *state.done[t + 1 :])
    return State(done, tuple(orders), sources)


def _shown(threads: list[Thread], state: State) -> str:
    sources = dict(state.sources)

    def value(write: str) -> int:
        if not write:
            return 0
        t, i = map(int, write.split("."))
        return 10 * t + i + 1 if threads[t][i][0] == "store" else 1 + value(sources[write])

    def saw(t: int, i: int) -> int:
        kind, at = threads[t][i]
        if kind == "try":
            return f"{t}.{i}+" in state.orders[at]
        return value(sources[f"{t}.{i}"]) if kind in ("load", "add") else 0

    seen = [saw(t, i) for t, ops in enumerate(threads) for i in range(len(ops))]
    last = [value(order[-1]) if order else 0 for order in state.orders[MUTEXES:]]
    return " ".join(str(int(number)) for number in [*seen, *last])


def _counted(threads: list[Thread]) -> tuple[Counter[str], bool]:
    """Return how many executions have each outcome, and whether threads can wait for ever."""
    first = State((0,) * len(threads), ((),) * (MUTEXES + VARIABLES), frozenset())
    known, left, counts, is_stuck = {first}, [first], Counter[str](), False
    while left:
        state = left.pop()
        running = [t for t, ops in enumerate(threads) if state.done[t] < len(ops)]
        found = [to for t in running if (to := _next(state, t, threads[t])) is not None]
        if not running:
            counts[_shown(threads, state)] += 1
        is_stuck |= bool(running) and not found
        left += [to for to in found if to not in known]
        known.update(found)
    return counts, is_stuck


def test_random_programs_with_mutexes_have_the_executions_that_there_are(tmp_path: Path) -> None:
    drawn = random.Random(DRAWN)
    programs = {
        f"p{at}": [_thread(drawn) for _ in range(2 + (at % 3 > 0))] for at in range(DRAWN)
    }  # fmt: skip
    text = HEAD + "".join(_in_c(name, threads) for name, threads in programs.items())
    text += "int main(int count, char **name) {\n" + "".join(
        f'\tif (!strcmp(name[1], "{name}")) {name}();\n' for name in programs
    )
    stuck = 0
    with Children() as children:
        several = Several(children, text + "\treturn 0;\n}\n", tmp_path)
        for name, threads in programs.items():
            counts, is_stuck = _counted(threads)
            result = several.explore(name, OPTIONS)[Model.SC]
            assert (result.error, result.exhaustive, result.duplicates) == ("", True, 0), threads
            assert ended(result) == dict(counts), threads
            assert ("stuck" in result.verdicts) == is_stuck, threads
            stuck += is_stuck
    assert 0 < stuck < DRAWN // 2
