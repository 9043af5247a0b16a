# SPDX-License-Identifier: Apache-2.0
"""The sequential specifications of a run queue and a biased lock.

The state of a queue is its nodes, oldest first, each with the fact whether it is published, and
whether a node that was taken still shows at the front.  The state of a ticket is its holder (-1:
none) and the threads that have drawn a number.  The state of a bounded queue is its next slot (0:
empty) and its ring, oldest first.  The state of a queue that overflows is its ring, the node that
has left the ring (0: none), and the nodes that have reached the global queue.
Source: ``kernel/queue/mpsc.h``, ``kernel/queue/biased_lock.h``,
``kernel/queue/local_queue.h``, with their promises and limits.
"""

from __future__ import annotations

from collections.abc import Iterable

from wakeproof.judge.linear.spec import Operation, Pending, Spec

Queue = tuple[tuple[tuple[int, bool], ...], bool]
Lock = tuple[int, tuple[int, ...]]
Local = tuple[int, tuple[int, ...]]
Full = tuple[tuple[int, ...], int, tuple[int, ...]]
NOTHING = 0
"""The result of a pop that takes no node; nodes are 1, 2, ..."""


def _append(nodes: tuple[int, ...], what: Pending) -> Iterable[tuple[tuple[int, ...], int]]:
    yield (*nodes, what.argument), 0


def _remove(nodes: tuple[int, ...], _what: Pending) -> Iterable[tuple[tuple[int, ...], int]]:
    yield nodes[1:], nodes[0] if nodes else NOTHING


FIFO = Spec((), {"push": Operation((_append,)), "pop": Operation((_remove,))})
"""The textbook's queue: a pop returns nothing only if the queue is empty."""


def _reserve(queue: Queue, what: Pending) -> Iterable[tuple[Queue, int]]:
    nodes, shows = queue
    yield ((*nodes, (what.argument, False)), shows), 0


def _publish(queue: Queue, what: Pending) -> Iterable[tuple[Queue, int]]:
    nodes, shows = queue
    yield (tuple((n, is_in or n == what.argument) for n, is_in in nodes), shows), 0


def _take(queue: Queue, _what: Pending) -> Iterable[tuple[Queue, int]]:
    """Take the oldest node unless it, or the one behind it, is reserved and not published."""
    nodes, _ = queue
    if nodes and all(is_in for _, is_in in nodes[:2]):
        yield (nodes[1:], len(nodes) == 1), nodes[0][0]
    else:
        yield queue, NOTHING


def _hide(queue: Queue, what: Pending) -> Iterable[tuple[Queue, int]]:
    yield (queue[0], False if what.result else queue[1]), what.result


def _is_published(queue: Queue, _what: Pending) -> Iterable[tuple[Queue, int]]:
    nodes, shows = queue
    is_in = bool(nodes) and nodes[0][1]
    yield queue, int(is_in)
    if shows and not is_in:
        yield queue, 1


def _is_quiescent(queue: Queue, _what: Pending) -> Iterable[tuple[Queue, int]]:
    yield queue, int(not queue[0])


def mpsc(late: int = 0) -> Spec:
    """Return the run queue; `late`: 1 under x86-TSO, where the last store of a push may be late."""
    return Spec(
        ((), False),
        {
            "push": Operation((_reserve, _publish), late=late, drains=True),
            "pop": Operation((_take, _hide), late=late),
            "is_published": Operation((_is_published,)),
            "is_quiescent": Operation((_is_quiescent,)),
        },
    )


def _draw(lock: Lock, what: Pending) -> Iterable[tuple[Lock, int]]:
    holder, drawn = lock
    yield (holder, (*drawn, what.thread)), 0


def _enter(lock: Lock, what: Pending) -> Iterable[tuple[Lock, int]]:
    holder, drawn = lock
    if holder < 0 and drawn[0] == what.thread:
        yield (what.thread, drawn[1:]), 0


def _try(lock: Lock, what: Pending) -> Iterable[tuple[Lock, int]]:
    holder, drawn = lock
    if holder < 0 and not drawn:
        yield (what.thread, drawn), 1
    else:
        yield lock, 0


def _let_go(lock: Lock, what: Pending) -> Iterable[tuple[Lock, int]]:
    """Release the lock; only the holder may."""
    if lock[0] == what.thread:
        yield lock, 0


def _free(lock: Lock, _what: Pending) -> Iterable[tuple[Lock, int]]:
    yield (-1, lock[1]), 0


def biased_lock(late: int = 0) -> Spec:
    """Return the lock: a try fails only while a thread holds it or has drawn a number."""
    return Spec(
        (-1, ()),
        {
            "acquire": Operation((_draw, _enter), drains=True),
            "try": Operation((_try,), drains=True),
            "release": Operation((_let_go, _free), late=late),
        },
    )


def _show(local: Local, what: Pending) -> Iterable[tuple[Local, int]]:
    kept, ring = local
    yield (kept, (*ring, what.argument)), 0


def _keep(local: Local, what: Pending) -> Iterable[tuple[Local, int]]:
    """Put the node into the slot if the slot is empty."""
    kept, ring = local
    if kept or ring:
        yield local, 0
    else:
        yield (what.argument, ring), 1


def _pop(local: Local, _what: Pending) -> Iterable[tuple[Local, int]]:
    kept, ring = local
    if kept:
        yield (0, ring), kept
    else:
        yield (0, ring[1:]), ring[0] if ring else NOTHING


def _steal(local: Local, _what: Pending) -> Iterable[tuple[Local, int]]:
    """Take the older half of the ring: one of two nodes, or the only one."""
    kept, ring = local
    yield (kept, ring[1:]), ring[0] if ring else NOTHING


def _has(local: Local, _what: Pending) -> Iterable[tuple[Local, int]]:
    yield local, int(bool(local[1]))


def local_queue() -> Spec:
    """Return the bounded queue, for scenarios in which no push finds the ring full."""
    return Spec(
        (0, ()),
        {
            "push": Operation((_show,)),
            "keep": Operation((_keep,)),
            "pop": Operation((_pop,)),
            "steal": Operation((_steal,)),
            "has": Operation((_has,)),
        },
    )


def _make_room(full: Full, _what: Pending) -> Iterable[tuple[Full, int]]:
    """Let the older of two nodes leave the ring."""
    ring, _, come = full
    if len(ring) == 2:
        yield (ring[1:], ring[0], come), 1
    else:
        yield full, 0


def _come(full: Full, what: Pending) -> Iterable[tuple[Full, int]]:
    ring, left, come = full
    yield (ring, 0, (*come, left) if left else come), what.result


def _put(full: Full, what: Pending) -> Iterable[tuple[Full, int]]:
    ring, left, come = full
    yield ((*ring, what.argument), left, come), what.result


def _oldest(full: Full, _what: Pending) -> Iterable[tuple[Full, int]]:
    ring, left, come = full
    yield (ring[1:], left, come), ring[0] if ring else NOTHING


def _serve(full: Full, _what: Pending) -> Iterable[tuple[Full, int]]:
    ring, left, come = full
    yield (ring, left, come[1:]), come[0] if come else NOTHING


def overflowing() -> Spec:
    """Return a bounded queue with two slots and no next slot; a push returns the node that left."""
    return Spec(
        ((), 0, ()),
        {
            "push": Operation((_make_room, _come, _put)),
            "pop": Operation((_oldest,)),
            "steal": Operation((_oldest,)),
            "take": Operation((_serve,)),
        },
    )
