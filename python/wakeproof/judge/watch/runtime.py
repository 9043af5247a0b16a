# SPDX-License-Identifier: Apache-2.0
"""Our own runtime in another process: carriers, parkers, locks and waiters, by their layout.

A futex word tells little: most lost wakeups leave it as it was.  The runtime's own data tell more,
such as a carrier that is parked although its inbox is not empty.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from wakeproof.judge.watch import layouts
from wakeproof.judge.watch.layouts import Layout
from wakeproof.judge.watch.primitives import Sign, Wait
from wakeproof.judge.watch.process import Process, Region
from wakeproof.judge.watch.symbols import Symbols

_MARKS: Final = ("wp_parker_park_until", "wp_carrier_advertise", "wp_group_new")
"""A file with one of these functions holds our runtime."""
_PERMIT, _CLOSED = 1, 4  # kernel/wakeup/parker.h
_PARKED_FUTEX, _PARKED_POLLER, _WAKING, _SEARCHING = 1, 2, 3, 4  # kernel/sched/carrier.h
_PARKED: Final = (_PARKED_FUTEX, _PARKED_POLLER)
_STATE, _TASK_PARKED, _TASK_BUSY, _TASK_PERMIT, _LATE = 11, 0, 1, 4, 16  # kernel/thread/vthread.h
_MARKS_OF_CARRIER, _DORMANT = 3, 4  # kernel/sched/placement/policy.h
_WAKERS_SLEEP: Final = 0x80000000  # kernel/thread/wakers.h
_GRANTED: Final = 2  # kernel/thread/wait_queue.h
_LATCH_OPEN: Final = 1  # kernel/thread/latch.h
_LOCKED, _WOKEN = 1, 4  # kernel/sync/mutex.h
_SEMAPHORE_PERMIT: Final = 2  # kernel/sync/semaphore.h
_SIGNALLED: Final = 2  # kernel/sync/condition.c: the waiter is at the mutex from then on
_COMING, _RESTING = 1, 2  # kernel/pool/pool.h
_JOINING: Final = 2  # kernel/scope/scope.h
_LEAVES_SCOPE: Final = "leave_wait"  # kernel/scope/scope_children.c
_WAITS = ("wp__waiter", "wp__mutex_lock_waiting")
"""Functions that wait in a queue; a compiler puts the first into the second."""
_IN_RESERVE: Final = ("wp__reserve_wait", "wp_reserve_run")
_WAITS_FOR_POOL = ("wp__pool_wait", "wp_pool_wait", "wp_pool_stop")
_OF_POOL: Final = {"run_jobs", "begin"}
"""Functions that run the jobs of a pool; a compiler puts the first into the second."""
_WAITS_FOR: Final = ("an unpark", "a time", "the end of a thread", "a mutex", "a condition",
                     "a semaphore", "a send", "a receive", "a latch", "a read", "a write",
                     "an accept", "a connect", "a file")  # fmt: skip
"""In words, what kernel/thread/wait_reason.h numbers."""
_IN_LINE: Final = ("a mutex", "a condition", "a semaphore", "a send", "a receive")
_BY_LATCH: Final = ("a latch", "the end of a thread")
_ENDS: Final = {"a send": "senders", "a receive": "receivers"}
_SIDES: Final = {"a read": 0, "an accept": 0, "a write": 1, "a connect": 1}
"""Which of the two lines of a descriptor a wait is in (kernel/io/descriptor.h)."""
_ENDS_AT_ONCE: Final = ("pipe:", "socket:", "anon_inode:")
"""What an operation on these waits for is cancelled at once; on a disk it ends with the disk."""
_MOST_POOL_THREADS: Final = 10_000
_MOST_CARRIERS: Final = 1024
_MOST_TASKS: Final = 10_000
_TID_IN_THREAD: Final = 720  # of glibc's struct pthread; compared with the threads there are
_STACK: Final = 512  # words of a stack in which a carrier is looked for
_FRAMES: Final = 1 << 16  # bytes of a stack in which a waiter lies
_WOKEN_CARRIER: Final = Sign("go", "it was woken: its word says so")
_OVERDUE_NS: Final = 500_000_000


@dataclass(frozen=True)
class Group:
    """Carriers that belong together, as they were in the last sweep."""

    carriers: int
    parked: int  # at the futex or in their pollers
    queued: int  # carriers with something in a queue
    tasks: int  # that have not ended, of those that are listed
    parked_tasks: int
    searches: bool  # a token is taken
    signs: tuple[str, ...] = ()


class Runtime:
    """Explains the sleeps of one process that our runtime has begun."""

    def __init__(self, process: Process, symbols: Symbols) -> None:
        self._process = process
        self._symbols = symbols
        self._layouts: dict[str, Layout | None] = {}  # by path
        self._pollers: dict[int, int] = {}  # carriers, by thread
        self._monitors: dict[int, int] = {}  # futexes, by thread: one may be awake in a look
        self._newest: Layout | None = None
        self._idle: set[int] = set()  # pollers of descriptors, while all carriers are parked
        self.groups: list[Group] = []
        self.unknown: list[str] = []

    def explain(self, waits: dict[int, Wait]) -> dict[int, Wait]:
        """Return the looks with what our runtime's own data say of them."""
        found, carriers = dict(waits), dict[int, int]()
        others = dict[int, tuple[list[str], Layout]]()
        layout = None
        for tid, wait in waits.items():
            if wait.kind not in ("futex", "epoll"):
                continue
            names, region = self._own_frames(wait)
            its = self._layout(region) if region is not None else None
            if its is None:
                continue
            layout = its
            carrier = self._sleeping(wait, its)
            if carrier is not None:
                carriers[carrier] = tid
                found[tid] = self._of_carrier(wait, carrier, its)
            elif wait.kind == "futex":
                others[tid] = names, its
        self.groups = []
        self._newest = layout or self._newest
        if layout is not None:
            self._idle = set(self._idle_pollers(carriers, layout))
        for tid, (names, its) in others.items():
            found[tid] = self._explain(waits[tid], names, its)
            if found[tid].kind == "monitor":
                self._monitors[tid] = waits[tid].address or 0
        for tid, (_, its) in others.items():
            if found[tid].kind == "pool":
                self._explain_reserve(found, others, waits[tid].address or 0, its)
        if layout is not None:
            monitored = {carrier: tid for tid, address in self._monitors.items()
                         for carrier in self._of_monitor(address, layout)}  # fmt: skip
            self._explain_groups(found, carriers, monitored, layout)
        return found

    def _idle_pollers(self, carriers: Iterable[int], layout: Layout) -> Iterator[int]:
        """Yield the pollers of the carriers, if all of these are parked."""
        members = {one for carrier in carriers for one in self._members(carrier, layout)}
        if not all(self._at(layout, "wp_carrier", one)("word", 4) in _PARKED for one in members):
            return
        for one in members:
            if self._group(one, layout) is not None:
                worker = one - layout.offset("wp_worker", "home.carrier")
                yield self._at(layout, "wp_worker", worker)("io", 8) or 0

    def _sleeping(self, wait: Wait, layout: Layout) -> int | None:
        """Return the carrier whose thread sleeps there as such, or None."""
        if wait.kind == "epoll":
            return self._polling(wait, layout)
        place = (wait.address or 0) - layout.offset("wp_carrier", "word")
        return place if self._is_carrier(place, layout) else None

    def _of_carrier(self, wait: Wait, carrier: int, layout: Layout) -> Wait:
        word = self._at(layout, "wp_carrier", carrier)("word", 4) or 0
        if wait.kind == "epoll":
            return replace(wait, sign=_WOKEN_CARRIER) if word == _WAKING else wait
        return replace(wait, caller=self._caller(wait), primitive="park of a carrier",
                       kind="carrier", is_inside=True,
                       sign=_WOKEN_CARRIER if word >= _WAKING else None)  # fmt: skip

    def _own_frames(self, wait: Wait) -> tuple[list[str], Region | None]:
        """Return the functions of our runtime on the stack, the innermost first, and its file."""
        names, own = list[str](), None
        for distance, place in self._symbols.returns(wait.sleep.sp, 48):
            region = self._symbols.region(self._process.pointer(wait.sleep.sp + distance) or 0)
            if region is not None and self._is_ours(region):
                names.append(place.name.partition(".")[0])
                own = region
        return names, own

    def _is_ours(self, region: Region) -> bool:
        image = self._symbols.image(region)
        return image is not None and any(name in image.names for name in _MARKS)

    def _layout(self, region: Region) -> Layout | None:
        if region.path not in self._layouts:
            image = self._symbols.image(region)
            layout = layouts.read(self._symbols.file(region), image.build_id if image else "")
            self._layouts[region.path] = layout
            if layout is None:
                self.unknown.append(f"{region.path} holds our runtime without debug information: "
                                    "its queues are not looked at")  # fmt: skip
        return self._layouts[region.path]

    def _explain(self, wait: Wait, names: list[str], layout: Layout) -> Wait:
        """Explain one sleep at a futex of ours."""
        address, process = wait.address, self._process
        assert address is not None
        word = process.word(address)
        wait = replace(wait, caller=self._caller(wait))
        # Calls that have returned may leave their names behind, such as that of a lock.  The word
        # of a waiter lies in the frame of its thread, and a lock in an object.
        waits = "wp_cond_wait" in names[:5]
        is_in_frame = 0 <= address - wait.sleep.sp < _FRAMES
        if not waits and any(
            name.startswith(("wp_parker_park", "park_once")) for name in names[:4]
        ):
            wait = replace(wait, primitive="park", kind="parker", is_known=True)
            if word is not None and word & (_PERMIT | _CLOSED):
                why = "its permit was given" if word & _PERMIT else "it was closed"
                return replace(wait, sign=Sign("go", why))
            said = self._of_pool_thread(address, layout) or self._of_job(wait, names, layout)
            if said:
                return replace(wait, sign=Sign("go", said))
        elif waits and any(name.startswith(_WAITS_FOR_POOL) for name in names[:8]):
            wait = replace(wait, primitive="the end of a pool", kind="pool", is_known=True)
            if self._is_left(address, layout):
                return replace(wait, sign=Sign("go", "the pool's threads have left"))
        elif waits and self._of_monitor(address, layout):
            return replace(wait, primitive="the next look of a monitor", kind="monitor",
                           is_known=True, sign=None)  # fmt: skip
        elif waits and (known := self._of_condition(address, layout)):
            primitive, said = known
            sign = Sign("go", said) if said else None
            return replace(wait, primitive=primitive, kind="condition", is_known=True, sign=sign)
        elif any(name.startswith("wp__wakers_wait") for name in names[:3]):
            wait = replace(wait, primitive="the free of a group", kind="wakers", is_known=True)
            if word == _WAKERS_SLEEP:
                return replace(wait, sign=Sign("go", "no thread is inside the group any more"))
        elif "park_mounted" in names[:4]:
            kept = self._of_pinned(address, layout)
            return replace(wait, primitive="pinned park", kind="own",
                           sign=wait.sign or kept)  # fmt: skip
        elif any(name.startswith("wp_rendezvous_block") for name in names[:4]):
            guard = address - layout.offset("wp_rendezvous", "cond.signals")
            wait = replace(wait, primitive="rendezvous", kind="rendezvous", is_known=True)
            if self._at(layout, "wp_rendezvous", guard)("guard.asleep", 4) == 0:
                return replace(wait, sign=Sign("go", "a producer has claimed its wakeup"))
        elif "wp_lock_acquire" in names[:2] and not waits and not is_in_frame:
            wait = replace(wait, primitive="internal lock", kind="lock", is_known=True)
            if word == 0:
                return replace(wait, sign=Sign("go", "the lock is free"))
        elif any(name.startswith(_WAITS) for name in names[:4]):
            waiter = address - layout.offset("wp_waiter", "state")
            said = self._of_waiter(waiter, layout)
            wait = replace(wait, primitive=self._waits_for(waiter, layout), kind="waiter",
                           is_known=True)  # fmt: skip
            if said:
                return replace(wait, sign=Sign("go", said))
        else:
            return replace(wait, primitive=names[0] if names else wait.primitive, kind="own")
        return replace(wait, sign=None)

    def _waits_for(self, waiter: int, layout: Layout) -> str:
        why = self._at(layout, "wp_waiter", waiter)("why", 2) or 0
        return _WAITS_FOR[why] if why < len(_WAITS_FOR) else "a wait in a queue"

    def _of_waiter(self, waiter: int, layout: Layout) -> str:
        """Return why a wait in a queue should be over, or ""."""
        its = self._at(layout, "wp_waiter", waiter)
        line, what = its("line", 8), self._waits_for(waiter, layout)
        if its("state", 4) == _GRANTED:
            return f"a wait for {what} was granted"
        if not line and what in _IN_LINE:
            return f"a wait for {what} was taken off its queue"
        if not line and self._leaves_by(its("leave", 8)) == _LEAVES_SCOPE:
            return "a wait for the end of a scope was taken off its queue"
        if not line:  # a latch has a list of its own
            latch = its("object", 8)
            if what == "a file":
                return self._of_file(latch or 0, layout)
            opened = latch and self._process.pointer(latch) == _LATCH_OPEN
            return "the latch is open" if what in _BY_LATCH and opened else ""
        first = self._process.pointer(line) or 0
        thread = self._at(layout, "wp_waiter", first)("thread", 8)
        if first != waiter and self._was_handed_back(thread, layout):
            return "a close has handed back the thread that stands first in its queue"
        if what == "the end of a thread":
            return self._of_scope(line, layout) if layout.has("wp_scope") else ""
        if what in _SIDES:
            if not layout.has("wp_io_poller"):
                return ""
            return self._of_descriptor(line, what, its("amount", 4) or 0, layout)
        moved = what == "a condition" and (its("amount", 4) or 0) >= _SIGNALLED
        if what == "a mutex" or moved:
            mutex = self._at(layout, "wp_mutex", line - layout.offset("wp_mutex", "line"))
            flags = mutex("word", 4) or 0
            if flags & _LOCKED and self._was_handed_back(mutex("holder", 8), layout):
                return "a close has handed back the thread that holds the mutex"
            if flags & _LOCKED or (flags & _WOKEN and first != waiter):
                return ""  # the first waiter was woken, and may not have run yet
            return "the mutex is free"
        if what == "a semaphore":
            place = line - layout.offset("wp_semaphore", "line")
            permits = (self._at(layout, "wp_semaphore", place)("word", 4) or 0) // _SEMAPHORE_PERMIT
            is_first = self._process.pointer(line) == waiter
            enough = permits >= (its("amount", 4) or 0)
            return f"the semaphore has {permits} permits" if is_first and enough else ""
        if what in _ENDS:
            place = line - layout.offset("wp_channel", _ENDS[what])
            channel = self._at(layout, "wp_channel", place)
            count, capacity = channel("count", 4) or 0, channel("capacity", 4) or 0
            if channel("is_closed", 1):
                return "the channel is closed"
            if what == "a send" and count < capacity:
                return f"the channel has {capacity - count} free slots"
            if what == "a receive" and count > 0:
                return f"the channel has {count} items"
        return ""

    def _was_handed_back(self, thread: int | None, layout: Layout) -> bool:
        """Return whether a virtual thread belongs to a group that is closed."""
        home = self._at(layout, "wp_task", thread)("home", 8) if thread else None
        if not home:
            return False
        group = self._group(home + layout.offset("wp_carrier_tasks", "carrier"), layout)
        return group is not None and bool(
            self._at(layout, "wp_group", group)("closing.is_closed", 1)
        )

    def _of_file(self, latch: int, layout: Layout) -> str:
        """Return why an operation on a file, which opens that latch, should be over; or ""."""
        if not layout.has("wp_file_op"):
            return ""
        if self._process.pointer(latch) == _LATCH_OPEN:
            return "its operation on a file has ended"
        op = self._at(layout, "wp_file_op", latch - layout.offset("wp_file_op", "done"))
        if op("has_ended", 1) or op("is_listed", 1):
            return ""  # the poller's carrier says of these what is wrong
        if not op("is_begun", 1):
            return "its operation on a file is in no list"
        fd = op("fd", 4) or 0
        if op("is_cancelled", 1) and self._process.descriptor(fd)[0].startswith(_ENDS_AT_ONCE):
            return f"its operation on descriptor {fd} was cancelled"
        return ""

    def _leaves_by(self, function: int | None) -> str:
        place = self._symbols.place(function) if function else None
        return place.name.partition(".")[0] if place is not None else ""

    def _of_scope(self, line: int, layout: Layout) -> str:
        """Return why the owner of a scope, which waits in its line, should go on; or ""."""
        children = line - layout.offset("wp_scope_children", "line")
        if self._at(layout, "wp_scope_children", children)("members", 8) == 0:
            return "no subtask of the scope is left"
        scope = self._at(layout, "wp_scope", children - layout.offset("wp_scope", "children"))
        is_cancelled = self._at(layout, "wp_scope_children", children)("is_cancelled", 4)
        if is_cancelled and scope("state", 4) == _JOINING:
            return "the scope that it joins was cancelled"
        return ""

    def _of_descriptor(self, line: int, what: str, fd: int, layout: Layout) -> str:
        """Return why a wait for a descriptor should be over, or "".

        A carrier that blocks elsewhere keeps the poller, or a reader that is to pass the
        readiness on, from running.  So readiness counts only while all carriers are parked.
        """
        ready = line - layout.offset("wp_ready", "line")
        if self._at(layout, "wp_ready", ready)("is_shut", 1):
            return "the descriptor is closed"
        side = _SIDES[what]
        place = ready - layout.offset("wp_io", "ready") - side * layout.size("wp_ready")
        its = self._at(layout, "wp_io", place)
        if fd == 0 or its("fd", 4) != fd:  # Python's waits do not say for which
            return ""
        if self._at(layout, "wp_io_poller", its("poller", 8) or 0)("is_over", 1):
            return f"the poller of descriptor {fd} has ended"
        if its("poller", 8) not in self._idle:
            return ""
        if self._process.is_ready(fd, select.POLLOUT if side else select.POLLIN):
            return f"descriptor {fd} is {'writable' if side else 'readable'}"
        return ""

    def _of_pool_thread(self, parker: int, layout: Layout) -> str:
        """Return why a thread of a pool, which rests in that parker, should go on; or ""."""
        if not layout.has("wp_pool_thread"):
            return ""
        place = parker - layout.offset("wp_pool_thread", "parker")
        its = self._at(layout, "wp_pool_thread", place)
        pool = self._at(layout, "wp_pool", its("pool", 8) or 0)
        states = self._states(pool, layout)
        state = states.get(place)  # None: it is no thread of a pool
        if state == _COMING:
            return "its pool has chosen it for a job"
        if state == _RESTING and pool("is_closed", 1):
            return "its pool is closed"
        coming = list(states.values()).count(_COMING)
        if state == _RESTING and (pool("queued", 8) or 0) > coming:
            return "a job is queued in its pool"
        return ""

    def _states(self, pool: _Fields, layout: Layout) -> dict[int, int | None]:
        """Return the states of a pool's threads."""
        states = dict[int, int | None]()
        one = pool("newest", 8)
        while one and one not in states and len(states) < _MOST_POOL_THREADS:
            at = self._at(layout, "wp_pool_thread", one)
            states[one], one = at("state", 4), at("older", 8)
        return states

    def _of_job(self, wait: Wait, names: list[str], layout: Layout) -> str:
        """Return why a queued job should run, by a thread that runs another one; or "".

        The data of a pool's thread lie on its stack.
        """
        if not layout.has("wp_pool_thread") or not _OF_POOL & set(names):
            return ""
        for value in dict.fromkeys(self._process.stack(wait.sleep.sp, _STACK)):
            if not self._is_data(value):
                continue
            its = self._at(layout, "wp_pool_thread", value)
            if its("system", 4) != wait.tid:
                continue
            pool = self._at(layout, "wp_pool", its("pool", 8) or 0)
            states = self._states(pool, layout)
            free = sum(state in (_COMING, _RESTING) for state in states.values())
            is_short = (pool("threads", 4) or 0) < (pool("config.max", 4) or 0)
            is_left = (pool("queued", 8) or 0) > free and is_short and not pool("refused", 8)
            if value in states and is_left:
                return "a job is queued in its pool, which has a thread too few"
        return ""

    def _explain_reserve(
        self, found: dict[int, Wait], others: dict[int, tuple[list[str], Layout]], condition: int,
        layout: Layout,
    ) -> None:  # fmt: skip
        """Say of the threads in reserve that their pool, whose end is waited for, is stopped."""
        pool = self._at(layout, "wp_pool", condition - layout.offset("wp_pool", "left.signals"))
        one = pool("newest", 8)
        for _ in range(_MOST_POOL_THREADS if pool("reserve.stopping", 1) else 0):
            its = self._at(layout, "wp_pool_thread", one or 0)
            tid, one = its("system", 4), its("older", 8)
            if tid in others and found[tid].kind == "parker" and found[tid].sign is None:
                names = [name for name in others[tid][0] if not name.startswith("wp_parker")]
                if set(names[:2]) & set(_IN_RESERVE):
                    found[tid] = replace(found[tid], sign=Sign("go", "its pool is stopped"))
            if not one:
                break

    def _of_condition(self, address: int, layout: Layout) -> tuple[str, str] | None:
        """Return what a group's condition is for, and why the wait should be over, or "".

        None: it is no condition of a group.
        """
        if not layout.has("wp_group_placement"):
            return None
        role = address - layout.offset("wp_role", "freed.signals")
        place = role - layout.offset("wp_worker", "role")
        if self._group(place + layout.offset("wp_worker", "home.carrier"), layout) is not None:
            return "the role of a carrier", self._of_role(place, layout)
        home = address - layout.offset("wp_carrier_tasks", "ended.signals")
        group = self._group(home + layout.offset("wp_carrier_tasks", "carrier"), layout)
        if group is not None:
            return "the tasks of a group", self._of_close(home, group, layout)
        place = address - layout.offset("wp_group", "closing.left.signals")
        if self._is_group(place, layout):
            inside = self._at(layout, "wp_group", place)("closing.is_inside", 1)
            return "the turn to close a group", "" if inside else "no other close is inside"
        roles = address - layout.offset("wp_roles", "some.signals")
        if self._is_group(roles - layout.offset("wp_group", "spares.roles"), layout):
            its = self._at(layout, "wp_roles", roles)
            said = "a carrier's role is on offer" if its("offered", 8) else ""
            return "a role", "its group has ended" if its("is_over", 1) else said
        return None

    def _of_monitor(self, address: int, layout: Layout) -> list[int]:
        """Return the carriers of the group whose monitor sleeps at that futex; [] if none does."""
        if not layout.has("wp_group_placement"):
            return []
        place = address - layout.offset("wp_group_placement", "over.signals")
        group = self._at(layout, "wp_group_placement", place)("group", 8) or 0
        if self._at(layout, "wp_group", group)("placed", 8) != place:
            return []
        first = self._at(layout, "wp_group", group)("workers", 8) or 0
        return list(self._members(first + layout.offset("wp_worker", "home.carrier"), layout))

    def _of_role(self, worker: int, layout: Layout) -> str:
        """Return why a thread that waits for the role of that carrier should have it, or ""."""
        its = self._at(layout, "wp_worker", worker)
        role = self._at(layout, "wp_role", worker + layout.offset("wp_worker", "role"))
        place = worker + layout.offset("wp_worker", "home.carrier")
        carrier = self._at(layout, "wp_carrier", place)
        if role("is_free", 1):
            return "the role of its carrier is free"
        if its("exited", 4):
            return "its carrier has ended"
        is_parked = carrier("word", 4) in _PARKED
        return "its carrier, which is parked, was asked for its role" if is_parked else ""

    def _of_close(self, home: int, group: int, layout: Layout) -> str:
        """Return why a close that waits for the tasks of that home should go on, or "".

        Once the carriers stop, it waits for tasks that schedulers have, and for no others.
        """
        task = self._at(layout, "wp_carrier_tasks", home)("tasks", 8)
        if not task:
            return "the tasks of the group that it closes have ended"
        for _ in range(_MOST_TASKS):
            if not task or not self._at(layout, "wp_group", group)("closing.is_stopping", 1):
                break
            its = self._at(layout, "wp_task", task)
            word = its("word", 4) or 0
            is_virtual = its("is_virtual", 1) and self._at(layout, "wp_vthread", task)(
                "scheduler", 8
            )
            is_parked = word & _STATE == _TASK_PARKED and not word & (_TASK_PERMIT | _LATE)
            if is_parked or not is_virtual:
                return "a task is left that no carrier and no scheduler runs"
            task = its("next", 8)
        return ""

    def _of_pinned(self, word: int, layout: Layout) -> Sign | None:
        """Return a sign if a pinned park keeps its carrier from tasks, though a spare could run."""
        task = word - layout.offset("wp_task", "word")
        home = self._at(layout, "wp_task", task)("home", 8) or 0
        carrier = home + layout.offset("wp_carrier_tasks", "carrier")
        group = self._group(carrier, layout)
        if group is None:
            return None
        spares, its = self._at(layout, "wp_group", group), self._at(layout, "wp_carrier", carrier)
        place = carrier - layout.offset("wp_worker", "home.carrier")
        worker = self._at(layout, "wp_worker", place)
        role = self._at(layout, "wp_role", place + layout.offset("wp_worker", "role"))
        is_kept = worker("mounted", 8) == task and role("lent", 4) == 0
        could = (spares("spares.started", 4) or 0) < (spares("spares.most", 4) or 0)
        has_some = _holds(its, "inbox") or _holds(its, "queue") or its("private_fifo.first", 8)
        why = "tasks are queued at its carrier, and no spare thread was started"
        return Sign("changed", why) if is_kept and could and has_some else None

    def _is_left(self, condition: int, layout: Layout) -> bool:
        """Return whether the pool, whose end is waited for there, has no thread any more."""
        if not layout.has("wp_pool"):
            return False
        place = condition - layout.offset("wp_pool", "left.signals")
        pool = self._at(layout, "wp_pool", place)
        left = self._at(layout, "wp_pool_thread", pool("gone", 8) or 0)
        threads, waiting = pool("threads", 4) or 0, pool("waiting", 4) or 0
        return left("pool", 8) == place and threads <= waiting

    def _caller(self, wait: Wait) -> str:
        """Return the function outside our runtime that has called it."""
        inside = False
        for distance, place in self._symbols.returns(wait.sleep.sp, 64):
            region = self._symbols.region(self._process.pointer(wait.sleep.sp + distance) or 0)
            ours = region is not None and self._is_ours(region) and place.name.startswith("wp_")
            inside |= ours
            if inside and not ours and "/libc" not in place.path:
                return place.words
        return "" if inside else wait.caller

    def _is_carrier(self, address: int, layout: Layout) -> bool:
        """Return whether a carrier lies there: its domain or its group says so as well."""
        at = self._at(layout, "wp_carrier", address)
        domain, index = at("domain", 8), at("index", 4)
        if domain is None or index is None or index >= _MOST_CARRIERS:
            return False
        if domain:
            table = self._at(layout, "wp_domain", domain)("carriers", 8)
            return bool(table) and self._process.pointer((table or 0) + 8 * index) == address
        return self._group(address, layout) is not None

    def _polling(self, wait: Wait, layout: Layout) -> int | None:
        """Return the carrier whose thread sleeps in its poller: a word of the stack leads there."""
        if not layout.has("wp_worker"):
            return None
        inside = layout.offset("wp_worker", "home.carrier")
        known = self._pollers.get(wait.tid)
        places = [known] if known is not None else [
            value - inner + inside
            for value in dict.fromkeys(self._process.stack(wait.sleep.sp, _STACK))
            for inner in {0, layout.offset("wp_worker", "home"), inside}
            if self._is_data(value)
        ]  # fmt: skip
        for carrier in places:
            if self._tids([carrier], {}, {wait.tid}, layout):
                self._pollers[wait.tid] = carrier
                return carrier
        return None

    def _is_data(self, address: int) -> bool:
        region = self._symbols.region(address)
        return region is not None and "w" in region.access

    def _group(self, carrier: int, layout: Layout) -> int | None:
        """Return the group of a carrier, or None if it has none."""
        if not layout.has("wp_worker"):
            return None
        worker = carrier - layout.offset("wp_worker", "home.carrier")
        group = self._at(layout, "wp_worker", worker)("group", 8)
        if not group:
            return None
        its = self._at(layout, "wp_group", group)
        first, many = its("workers", 8), its("config.carriers", 4)
        if not first or not many or many > _MOST_CARRIERS:
            return None
        at, rest = divmod(worker - first, layout.size("wp_worker"))
        return group if rest == 0 and 0 <= at < many else None

    def _is_group(self, address: int, layout: Layout) -> bool:
        """Return whether a group lies there: its first carrier says so as well."""
        first = self._at(layout, "wp_group", address)("workers", 8)
        return bool(first) and self._at(layout, "wp_worker", first or 0)("group", 8) == address

    def _at(self, layout: Layout, structure: str, address: int) -> _Fields:
        return _Fields(self._process, layout, structure, address)

    def _explain_groups(
        self, found: dict[int, Wait], carriers: dict[int, int], monitored: dict[int, int],
        layout: Layout,
    ) -> None:  # fmt: skip
        """Add what queues and tokens say, to the first thread that they concern."""
        done: set[int] = set()
        for carrier, tid in (carriers | monitored).items():
            if carrier in done:
                continue
            members = list(self._members(carrier, layout))
            done.update(members)
            tids = self._tids(members, carriers, set(found), layout)
            signs = list(self._signs(members, layout))
            for member, why in signs:
                its = tids.get(member, tid)
                sign = found[its].sign if its in found else None
                if its in found and (sign is None or sign.strength != "go"):
                    found[its] = replace(found[its], sign=Sign("go", why))
            self.groups.append(self._described(members, layout, tuple(why for _, why in signs)))
        for carrier, tid in carriers.items():
            name = f"carrier {self._index(carrier, layout)}"
            if found[tid].kind == "epoll":
                name = f"{name}, {found[tid].object}"
            found[tid] = replace(found[tid], object=name)

    def _members(self, carrier: int, layout: Layout) -> Iterator[int]:
        """Yield the carriers of its group, or of its domain."""
        group = self._group(carrier, layout)
        if group is not None:
            its = self._at(layout, "wp_group", group)
            size = layout.size("wp_worker")
            for index in range(its("config.carriers", 4) or 0):
                worker = (its("workers", 8) or 0) + index * size
                if self._at(layout, "wp_worker", worker)("has_thread", 1):  # a spare may have none
                    yield worker + layout.offset("wp_worker", "home.carrier")
            return
        domain = self._at(layout, "wp_carrier", carrier)("domain", 8) or 0
        its = self._at(layout, "wp_domain", domain)
        for index in range(min(its("count", 4) or 0, _MOST_CARRIERS)):
            member = self._process.pointer((its("carriers", 8) or 0) + 8 * index)
            if member:
                yield member

    def _tids(
        self, members: list[int], carriers: dict[int, int], threads: set[int], layout: Layout
    ) -> dict[int, int]:
        """Return the thread of each carrier, where that is known."""
        tids = {member: carriers[member] for member in members if member in carriers}
        for member in members:
            if member not in tids and self._group(member, layout) is not None:
                worker = member - layout.offset("wp_worker", "home.carrier")
                thread = self._at(layout, "wp_worker", worker)("thread", 8) or 0
                tid = self._process.word(thread + _TID_IN_THREAD)
                if tid in threads:
                    tids[member] = tid
        return tids

    def _signs(self, members: list[int], layout: Layout) -> Iterator[tuple[int, str]]:
        """Yield what must not be while all threads sleep: of which carrier, and what."""
        words = {one: self._at(layout, "wp_carrier", one)("word", 4) for one in members}
        parked = {one for one, word in words.items() if word in _PARKED}
        searched = {self._domain(one, layout) for one, word in words.items()
                    if word is not None and word >= _SEARCHING}  # fmt: skip
        for member in sorted(parked):
            domain = self._domain(member, layout)
            if domain not in searched and self._is_searching(domain, layout):
                yield member, "a search token is taken, and no carrier searches"
                break
        if members and self._has_moved(members[0], layout):
            why = self._is_short(members, layout)
            blocked = [one for one in members if self._flags(one, layout) & _MARKS_OF_CARRIER]
            if why:
                yield (blocked or members)[0], f"a task of a blocked carrier is to run, and {why}"
        for member in members:
            its = self._at(layout, "wp_carrier", member)
            flags = self._flags(member, layout)
            has_some = _holds(its, "queue") or self._ring(its("bounded", 8), layout)
            if flags & _MARKS_OF_CARRIER and has_some:
                yield member, "a task is queued at a carrier that is marked as blocked"
            if member in parked:
                if not flags & _DORMANT and self._has_moved(member, layout):
                    yield member, "a task of a blocked carrier is to run, and it is parked"
                if self._has_files(member, layout):
                    yield member, "an operation on a file is listed, and it is parked"
                if _holds(its, "inbox"):
                    yield member, "it is parked although its inbox is not empty"
                if _holds(its, "queue"):
                    yield member, "it is parked although its queue is not empty"
                if its("private_fifo.first", 8):
                    yield member, "it is parked although its own queue is not empty"
                if words[member] == _PARKED_POLLER and self._has_stop(member, layout):
                    yield member, "it is to stop, and its poller sleeps"
                bounded = its("bounded", 8)
                if self._ring(bounded, layout) or self._slot(bounded, layout):
                    yield member, "it is parked although its ring is not empty"
                overdue = self._overdue(member, layout)
                if overdue > _OVERDUE_NS:
                    yield member, f"it is parked, and a timer was due {overdue / 1e9:.1f} s ago"
            elif self._is_left_alone(its, layout):
                sibling = next((one for one in sorted(parked) if self._domain(one, layout)
                                == its("domain", 8)), None)  # fmt: skip
                if sibling is not None:
                    yield sibling, "a task is queued at a busy carrier, and no carrier searches"
        if len(parked) == len(members):
            for member, task in self._tasks(members, layout):
                word = self._at(layout, "wp_task", task)("word", 4) or 0
                said = self._of_virtual(task, word, layout)
                if said:
                    yield member, f"{self._named(task, layout)}: {said}"
                if self._is_lost(task, word, layout):
                    yield member, (f"{self._named(task, layout)} is to run, and each carrier is "
                                   "parked")  # fmt: skip
                    break

    def _flags(self, carrier: int, layout: Layout) -> int:
        """Return the flags of a carrier in its group's placement; 0 if that counts no loads."""
        placed = self._placed(carrier, layout)
        if placed is None:
            return 0
        index = self._index(carrier, layout) or 0
        slots = self._at(layout, "wp_group_placement", placed)("placement.slots", 8) or 0
        slot = slots + index * layout.size("wp_placement_slot")
        return self._at(layout, "wp_placement_slot", slot)("word", 4) or 0

    def _index(self, carrier: int, layout: Layout) -> int | None:
        """Return the number of a carrier in its group; without one, in its domain."""
        if self._group(carrier, layout) is None:
            return self._at(layout, "wp_carrier", carrier)("index", 4)
        worker = carrier - layout.offset("wp_worker", "home.carrier")
        return self._at(layout, "wp_worker", worker)("index", 4)

    def _has_moved(self, carrier: int, layout: Layout) -> bool:
        """Return whether its group has tasks of blocked carriers."""
        placed = self._placed(carrier, layout)
        return placed is not None and bool(
            self._at(layout, "wp_group_placement", placed)("moved.first", 8)
        )

    def _is_short(self, members: list[int], layout: Layout) -> str:
        """Return that a spare carrier should stand in for one that is blocked, or ""."""
        its = self._at(layout, "wp_group_placement", self._placed(members[0], layout) or 0)
        free = sum(self._flags(one, layout) == 0 for one in members)
        could = (its("replaced.counts.active", 4) or 0) < (its("replaced.counts.most", 4) or 0)
        is_over = its("replaced.is_over", 1) or its("replaced.counts.refused", 8)
        if free < (its("replaced.carriers", 4) or 0) and could and not is_over:
            return "no spare carrier was brought in"
        return ""

    def _placed(self, carrier: int, layout: Layout) -> int | None:
        group = self._group(carrier, layout)
        if group is None or not layout.has("wp_group_placement"):
            return None
        return self._at(layout, "wp_group", group)("placed", 8) or None

    def _has_files(self, carrier: int, layout: Layout) -> bool:
        """Return whether an operation on a file is listed for the poller of a carrier."""
        if self._group(carrier, layout) is None or not layout.has("wp_file_queue"):
            return False
        worker = carrier - layout.offset("wp_worker", "home.carrier")
        poller = self._at(layout, "wp_worker", worker)("io", 8)
        files = self._at(layout, "wp_io_poller", poller)("files", 8) if poller else 0
        return bool(files) and bool(self._at(layout, "wp_file_queue", files or 0)("first", 8))

    def _has_stop(self, carrier: int, layout: Layout) -> bool:
        """Return whether a carrier has read that it is to stop."""
        if self._group(carrier, layout) is None:
            return False
        worker = carrier - layout.offset("wp_worker", "home.carrier")
        return bool(self._at(layout, "wp_worker", worker)("has_stop", 1))

    def _domain(self, carrier: int, layout: Layout) -> int | None:
        return self._at(layout, "wp_carrier", carrier)("domain", 8)

    def _is_left_alone(self, its: _Fields, layout: Layout) -> bool:
        """Return whether a carrier that is busy has what siblings may steal, and none is told."""
        return (
            its("domain", 8) != 0
            and (_holds(its, "queue") or self._ring(its("bounded", 8), layout))
            and not self._is_searching(its("domain", 8), layout)
        )

    def _is_lost(self, task: int, word: int, layout: Layout) -> bool:
        """Return whether a task is runnable; not a poller's thread, nor one of a scheduler."""
        its = self._at(layout, "wp_task", task)
        if its("is_virtual", 1):
            thread = self._at(layout, "wp_vthread", task)
            if thread("scheduler", 8):
                return False
            home = its("home", 8) or 0
            worker = home - layout.offset("wp_worker", "home") if layout.has("wp_worker") else 0
            if worker and self._at(layout, "wp_worker", worker)("poller.registered", 8) == task:
                return False
        state = word & (_STATE if its("is_virtual", 1) else 3)
        permits = word & (_TASK_PERMIT | (_LATE if its("is_virtual", 1) else 0))
        return state == _TASK_BUSY or (state == _TASK_PARKED and bool(permits))

    def _of_virtual(self, task: int, word: int, layout: Layout) -> str:
        """Return why a parked virtual thread should go on, by the queue where it waits; or ""."""
        if word & _STATE != _TASK_PARKED or not self._at(layout, "wp_task", task)("is_virtual", 1):
            return ""
        waiter = self._at(layout, "wp_vthread", task)("waits", 8)
        return self._of_waiter(waiter, layout) if waiter else ""

    def _named(self, task: int, layout: Layout) -> str:
        name = self._at(layout, "wp_task", task)("name", 8)
        got = self._process.read(name, 32) if name else None
        text = got.partition(b"\0")[0].decode(errors="replace") if got else ""
        if text and text.isprintable():
            return f"task {text}"
        if layout.has("wp_body") and self._at(layout, "wp_task", task)("is_virtual", 1):
            body = self._at(layout, "wp_body", task)
            place = self._symbols.place(body("run", 8) or body("step", 8) or 0)
            if place is not None and place.name:
                return f"a task of {place.words}"
        return "a task"

    def task(self, address: int) -> str:
        """Return a virtual thread in words: its name, or the function that it runs."""
        named = "a virtual thread" if self._newest is None else self._named(address, self._newest)
        return f"{named} ({address:#x})"

    def _tasks(self, members: list[int], layout: Layout) -> Iterator[tuple[int, int]]:
        """Yield the listed tasks, each with the carrier of its list."""
        if not layout.has("wp_carrier_tasks"):
            return
        many = 0
        for member in members:
            if self._group(member, layout) is None:
                continue
            home = member - layout.offset("wp_carrier_tasks", "carrier")
            task = self._at(layout, "wp_carrier_tasks", home)("tasks", 8)
            while task and many < _MOST_TASKS:
                many += 1
                yield member, task
                task = self._at(layout, "wp_task", task)("next", 8)

    def _overdue(self, carrier: int, layout: Layout) -> int:
        """Return for how long the earliest timer of a carrier has been due, in ns."""
        if self._group(carrier, layout) is None:
            return 0
        home = carrier - layout.offset("wp_carrier_tasks", "carrier")
        due = self._at(layout, "wp_carrier_tasks", home)("timers.earliest_ns", 8)
        return time.monotonic_ns() - due if due else 0

    def _ring(self, bounded: int | None, layout: Layout) -> bool:
        """Return whether siblings may steal from a ring."""
        if not bounded or not layout.has("wp_local_queue"):
            return False
        its = self._at(layout, "wp_local_queue", bounded)
        return its("head", 8) != its("tail", 8)

    def _slot(self, bounded: int | None, layout: Layout) -> bool:
        """Return whether the slot beside a ring, which is its owner's, has a task."""
        if not bounded or not layout.has("wp_local_queue"):
            return False
        return bool(self._at(layout, "wp_local_queue", bounded)("next", 8))

    def _is_searching(self, domain: int | None, layout: Layout) -> bool:
        return bool(domain and self._at(layout, "wp_domain", domain)("searching", 4))

    def _described(self, members: list[int], layout: Layout, signs: tuple[str, ...]) -> Group:
        fields = [self._at(layout, "wp_carrier", one) for one in members]
        states = [
            (self._at(layout, "wp_task", task)("word", 4) or 0) & 3
            for _, task in self._tasks(members, layout)
        ]
        return Group(
            len(members), sum(one("word", 4) in _PARKED for one in fields),
            sum(_holds(one, "queue") or _holds(one, "inbox") for one in fields), len(states),
            states.count(_TASK_PARKED),
            any(self._is_searching(one("domain", 8), layout) for one in fields), signs,
        )  # fmt: skip


class _Fields:
    """Reads members of a structure in the other process; None: there is no such memory."""

    def __init__(self, process: Process, layout: Layout, structure: str, address: int) -> None:
        self._process, self._layout = process, layout
        self._structure, self._address = structure, address

    def __call__(self, path: str, size: int) -> int | None:
        got = self._process.read(self._address + self._layout.offset(self._structure, path), size)
        return None if got is None else int.from_bytes(got, "little")


def _holds(carrier: _Fields, queue: str) -> bool:
    """Return whether something is published in a queue, as wp_mpsc_has_published does."""
    return bool(carrier(f"{queue}.first", 8) or carrier(f"{queue}.head", 8))
