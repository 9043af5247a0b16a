# SPDX-License-Identifier: Apache-2.0
"""Mutex, semaphore, channel against plain models: specs/sync/Mutex.tla, Semaphore.tla, Channel.tla.

In split form one test has many waiters, so each step has one right result, including the order.
"""

from __future__ import annotations

import ctypes

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.support.waiters import CLOSED, FORBIDDEN, MUST_PARK, OK, TIMEOUT, Sync, Waiter, library

PASSES, MISS = 4096, 256
WOKEN = 4  # of the mutex's word
KERNEL = library()


class SemaphoreMachine(RuleBasedStateMachine):
    """Permits and a queue.  Rules have the names of the actions in Semaphore.tla."""

    def __init__(self) -> None:
        super().__init__()
        self.semaphore = Sync()
        self.permits = 2
        KERNEL.wp_semaphore_init(ctypes.byref(self.semaphore), self.permits)
        self.line: list[tuple[Waiter, int]] = []
        self.served: list[Waiter] = []

    def serve(self) -> None:
        while self.line and self.line[0][1] <= self.permits:
            waiter, wants = self.line.pop(0)
            self.permits -= wants
            self.served.append(waiter)

    @rule(wants=st.integers(0, 4))
    def acquire(self, wants: int) -> None:
        waiter = Waiter()
        at_once = not self.line and wants <= self.permits
        begun = KERNEL.wp__semaphore_begin(
            ctypes.byref(self.semaphore), wants, ctypes.byref(waiter)
        )
        assert begun is at_once
        if at_once:
            self.permits -= wants
        else:
            self.line.append((waiter, wants))

    @rule(wants=st.integers(1, 4))
    def try_acquire(self, wants: int) -> None:
        at_once = not self.line and wants <= self.permits
        assert KERNEL.wp_semaphore_try_acquire(ctypes.byref(self.semaphore), wants) is at_once
        self.permits -= wants if at_once else 0

    @rule(permits=st.integers(0, 5))
    def release(self, permits: int) -> None:
        assert KERNEL.wp_semaphore_release(ctypes.byref(self.semaphore), permits) == OK
        self.permits += permits
        self.serve()

    @rule()
    def release_too_many(self) -> None:
        many = 0x80000000 - self.permits
        assert KERNEL.wp_semaphore_release(ctypes.byref(self.semaphore), many) == FORBIDDEN

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        waiter, _ = self.line.pop(data.draw(st.integers(0, len(self.line) - 1)))
        assert KERNEL.wp__semaphore_cancel(ctypes.byref(self.semaphore), ctypes.byref(waiter))
        self.serve()

    @precondition(lambda self: self.served)
    @rule()
    def cancel_late(self) -> None:
        waiter = self.served.pop()
        assert not KERNEL.wp__semaphore_cancel(ctypes.byref(self.semaphore), ctypes.byref(waiter))

    @invariant()
    def all_are_served_in_order(self) -> None:
        assert KERNEL.wp_semaphore_permits(ctypes.byref(self.semaphore)) == self.permits
        assert all(waiter.is_granted() for waiter in self.served)
        assert not any(waiter.is_granted() for waiter, _ in self.line)


class MutexMachine(RuleBasedStateMachine):
    """Held or not, a queue, bypasses.  Rules have the names of the actions in Mutex.tla."""

    def __init__(self) -> None:
        super().__init__()
        self.mutex = Sync()
        self.held = False
        self.passes = 0
        self.line: list[Waiter] = []
        self.handed: list[Waiter] = []

    @rule()
    def lock(self) -> None:
        assert KERNEL.wp__mutex_pass(ctypes.byref(self.mutex)) is not self.held
        self.passes += not self.held and bool(self.line)
        self.held = True

    @rule()
    def queue(self) -> None:
        waiter = Waiter()
        begun = KERNEL.wp__mutex_begin(ctypes.byref(self.mutex), ctypes.byref(waiter))
        assert begun is not self.held
        self.passes += not self.held and bool(self.line)
        if self.held:
            self.line.append(waiter)
        self.held = True

    @rule()
    def unlock(self) -> None:
        told = KERNEL.wp__mutex_unlock_queued(ctypes.byref(self.mutex))
        assert told == (OK if self.held else FORBIDDEN)
        if self.held and self.line and self.passes >= PASSES:
            self.handed.append(self.line.pop(0))
            assert self.handed[-1].is_granted()
            self.passes = 0
        else:
            self.held = False

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        self.look_at(data.draw(st.integers(0, len(self.line) - 1)))

    def look_at(self, at: int) -> None:
        takes = at == 0 and not self.held
        if at == 0 and self.held and self.mutex.words[0] & WOKEN:  # woken in vain
            self.passes += MISS
        waiter = self.line[at]
        taken = KERNEL.wp__mutex_check(ctypes.byref(self.mutex), ctypes.byref(waiter))
        assert taken is takes
        if takes:
            del self.line[0]
            self.held, self.passes = True, 0

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        waiter = self.line.pop(data.draw(st.integers(0, len(self.line) - 1)))
        assert KERNEL.wp__mutex_cancel(ctypes.byref(self.mutex), ctypes.byref(waiter))
        self.passes = self.passes if self.line else 0

    @precondition(lambda self: self.line and self.held)
    @rule()
    def pass_as_often_as_may_be(self) -> None:
        for _ in range(PASSES - self.passes):
            self.unlock()
            self.lock()
        self.unlock()
        assert self.held
        assert not KERNEL.wp__mutex_pass(ctypes.byref(self.mutex))

    @precondition(lambda self: self.line and self.held)
    @rule()
    def look_in_vain_as_often_as_may_be(self) -> None:
        while self.passes < PASSES:
            self.unlock()
            self.lock()
            self.look_at(0)
        self.unlock()
        assert self.held

    @invariant()
    def the_first_is_told_when_it_is_free(self) -> None:
        word = self.mutex.words[0]
        assert word & 1 == self.held
        assert bool(word & 2) is bool(self.line)
        assert self.held or not self.line or (word & WOKEN and self.line[0].state == 1)


class ChannelMachine(RuleBasedStateMachine):
    """Slots and two queues.  Rules have the names of the actions in Channel.tla."""

    @rule(capacity=st.integers(0, 3))
    @precondition(lambda self: not hasattr(self, "channel"))
    def make(self, capacity: int) -> None:
        self.channel, self.capacity, self.closed = Sync(), capacity, False
        self.room = (ctypes.c_void_p * 3)()
        KERNEL.wp_channel_init(ctypes.byref(self.channel), self.room, capacity)
        self.slots: list[int] = []
        self.senders: list[tuple[Waiter, int]] = []
        self.receivers: list[Waiter] = []
        self.next = 1

    @precondition(lambda self: hasattr(self, "channel"))
    @rule(waits=st.booleans())
    def send(self, waits: bool) -> None:
        item, waiter, self.next = self.next, Waiter(), self.next + 1
        send = KERNEL.wp__channel_begin_send if waits else KERNEL.wp_channel_try_send
        more = [ctypes.byref(waiter)] if waits else []
        told = send(ctypes.byref(self.channel), ctypes.c_void_p(item), *more)
        if self.closed:
            assert told == CLOSED
        elif self.receivers:
            receiver = self.receivers.pop(0)
            assert (told, receiver.is_granted(), receiver.value) == (OK, True, item)
        elif len(self.slots) < self.capacity:
            assert told == OK
            self.slots.append(item)
        else:
            assert told == (MUST_PARK if waits else TIMEOUT)
            self.senders += [(waiter, item)] if waits else []

    def take(self) -> tuple[int, int | None]:
        waiting = self.senders.pop(0) if self.senders else None
        if waiting is not None:
            assert waiting[0].is_granted()
            assert waiting[0].result == OK
            self.slots.append(waiting[1])
        return (OK, self.slots.pop(0)) if self.slots else (CLOSED, None)

    @precondition(lambda self: hasattr(self, "channel"))
    @rule(waits=st.booleans())
    def receive(self, waits: bool) -> None:
        item, waiter = ctypes.c_void_p(), Waiter()
        receive = KERNEL.wp__channel_begin_receive if waits else KERNEL.wp_channel_try_receive
        more = [ctypes.byref(waiter)] if waits else []
        told = receive(ctypes.byref(self.channel), ctypes.byref(item), *more)
        if self.slots or self.senders or self.closed:
            assert (told, item.value) == self.take()
        else:
            assert told == (MUST_PARK if waits else TIMEOUT)
            self.receivers += [waiter] if waits else []

    @precondition(lambda self: getattr(self, "receivers", None))
    @rule()
    def cancel(self) -> None:
        waiter = self.receivers.pop()
        assert KERNEL.wp__waiter_cancel(ctypes.byref(self.channel), ctypes.byref(waiter))
        assert not waiter.is_granted()

    @precondition(lambda self: hasattr(self, "channel"))
    @rule()
    def close(self) -> None:
        KERNEL.wp_channel_close(ctypes.byref(self.channel))
        self.closed = True
        for waiter in (*(w for w, _ in self.senders), *self.receivers):
            assert (waiter.is_granted(), waiter.result) == (True, CLOSED)
        self.senders, self.receivers = [], []
        assert KERNEL.wp_channel_count(ctypes.byref(self.channel)) == len(self.slots)


TestSemaphore = SemaphoreMachine.TestCase
TestMutex = MutexMachine.TestCase
TestChannel = ChannelMachine.TestCase
TestSemaphore.settings = TestMutex.settings = TestChannel.settings = settings(
    max_examples=80, stateful_step_count=30, deadline=None
)
