# SPDX-License-Identifier: Apache-2.0
"""Pollers with bodies in Python: specs/sched/Poller.tla, in the three forms of a poller."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable

from tests.support.polling import Make, One, run_on
from tests.support.virtual import PATIENCE_S, until

import wakeproof
from wakeproof import CarrierGroup, Poller, VirtualThread, park

CALLS = 300
word = contextvars.ContextVar[str]("word")


def work_from_outside(group: CarrierGroup, one: One, calls: int = CALLS) -> None:
    for call in range(calls):
        assert run_on(group, lambda call=call: call) == call
    assert one.wakeups <= one.tries


def test_work_ends_a_sleep_in_the_system_with_one_wakeup(
    one: One, either_group: CarrierGroup
) -> None:
    thread = one.register(either_group[0])
    until(lambda: one.blocks > 0)
    work_from_outside(either_group, one)
    assert one.wakeups > 0
    assert either_group.close(PATIENCE_S) == []
    assert thread.result(0) is None


def test_a_carrier_that_is_awake_needs_no_wakeup(one: One, either_group: CarrierGroup) -> None:
    one.register(either_group[0])
    begun, over = threading.Event(), threading.Event()
    start = either_group[0].factory(pinned=True)  # no other is to be woken for one
    holds = start(lambda: (begun.set(), over.wait(PATIENCE_S)))
    assert begun.wait(PATIENCE_S)
    before = one.wakeups
    for _ in range(100):
        start(int)
    assert one.wakeups == before
    over.set()
    assert holds.result(PATIENCE_S)


def test_the_same_carrier_needs_no_wakeup(make: Make) -> None:
    one = make()
    with CarrierGroup(1) as group:
        one.register(group[0])
        until(lambda: one.blocks > 0)
        before = one.wakeups

        def starts_many() -> None:
            for _ in range(CALLS):
                VirtualThread(int).start().join()

        run_on(group, starts_many)
        assert one.wakeups - before <= 2


def test_work_runs_while_the_poller_is_descheduled_in_its_park(
    make: Make, either_group: CarrierGroup
) -> None:
    one = make(steps_aside=True)
    one.register(either_group[0])
    until(lambda: one.aside > 0)
    for _ in range(50):
        run_on(either_group, int)
    until(lambda seen=one.aside: one.aside > seen + 2)
    assert one.unasked == 0  # its park was over when it returned
    assert either_group.close(PATIENCE_S) == []


def test_who_never_says_that_it_is_back_says_it_with_the_next_call(
    make: Make, either_group: CarrierGroup
) -> None:
    one = make(leaves=True)
    one.register(either_group[0])
    work_from_outside(either_group, one)
    assert either_group.close(PATIENCE_S) == []


def test_a_timer_of_the_carrier_ends_a_sleep_in_the_system(make: Make) -> None:
    one = make()
    with CarrierGroup(1) as group:
        one.register(group[0])
        for _ in range(3):
            begin = time.monotonic()
            run_on(group, lambda: wakeproof.sleep(0.02))
            assert time.monotonic() - begin >= 0.02


def test_whom_the_poller_resumes_in_its_park_runs(make: Make, either_group: CarrierGroup) -> None:
    def resumed() -> None:
        for _ in range(50):
            assert park(PATIENCE_S)

    thread = either_group[0].factory(pinned=True)(resumed)
    one = make(resumes=thread)
    one.register(either_group[0])
    thread.result(PATIENCE_S)
    assert either_group.close(PATIENCE_S) == []


def test_a_poller_may_park_itself_as_any_thread(either_group: CarrierGroup) -> None:
    looks: list[bool] = []

    def body(poller: Poller) -> None:
        while True:  # a close interrupts its park, or maybe_yield reports it
            looks.append(poller.maybe_yield(True))
            park()

    thread = either_group[0].register_poller(int, body)
    for call in range(1, 100):
        until(lambda call=call: len(looks) >= call)
        thread.unpark()
        run_on(either_group, int)
    assert either_group.close(PATIENCE_S) == []
    assert thread.result(0) is None


def long_task(over: threading.Event) -> None:
    until = time.monotonic() + PATIENCE_S
    while not over.is_set():
        assert time.monotonic() < until
        time.sleep(0)


def help_wanted(group: CarrierGroup, turns: int) -> None:
    """Queue work behind a long task of the first carrier, which ends only with that work."""
    for _ in range(turns):
        over = threading.Event()
        first = group[0].submit(long_task, over)
        second = group[0].submit(over.set)
        second.result(PATIENCE_S)
        first.result(PATIENCE_S)


def test_one_that_spins_is_never_woken_and_steals_unless_it_had_input(make: Make) -> None:
    ones = make(spins=True), make(spins=True, had_io=False)
    with CarrierGroup(2, work_stealing=True) as group:
        for one, carrier in zip(ones, group, strict=True):
            one.register(carrier)
        help_wanted(group, 10)
        assert (group[0].counts.probed, group[1].counts.probed > 0) == (0, True)
        assert ones[0].wakeups + ones[1].wakeups == 0


def test_one_that_spins_with_input_leaves_siblings_their_work(make: Make) -> None:
    one, over = make(spins=True), threading.Event()
    with CarrierGroup(2, work_stealing=True) as group:
        one.register(group[0])
        first, second = group[1].submit(long_task, over), group[1].submit(int)
        until(lambda seen=one.looks: one.looks > seen + 500)
        assert (second.done(), group[0].counts.probed) == (False, 0)
        over.set()
        assert (first.result(PATIENCE_S), second.result(PATIENCE_S)) == (None, 0)


def test_a_carrier_asleep_in_its_poller_is_sent_to_help(one: One) -> None:
    with CarrierGroup(2, work_stealing=True) as group:
        one.register(group[1])
        until(lambda: one.blocks > 0)
        help_wanted(group, 20)
        assert group[1].counts.directed + group[1].counts.recheck > 0


def in_poller(body: Callable[[Poller], object]) -> object:
    """Run it as the body of a poller, alone."""
    with CarrierGroup(1) as group:
        return group[0].register_poller(int, body).result(PATIENCE_S)


def test_maybe_yield_says_whether_others_ran_and_stays_in_a_pinned_section() -> None:
    ran: list[int] = []

    def body(poller: Poller) -> list[object]:
        said: list[object] = [poller.maybe_yield(False)]
        VirtualThread(ran.append, 1, group=poller.carrier).start()
        with wakeproof.pinned():
            said += [poller.maybe_yield(True), len(ran)]
        said.append(bool(poller.try_park()))  # there is work
        return [*said, poller.maybe_yield(True), len(ran), poller.maybe_yield(True)]

    assert in_poller(body) == [False, False, 0, False, True, 1, False]


def test_an_exception_inside_the_park_ends_it() -> None:
    def body(poller: Poller) -> list[bool]:
        said = [bool(poller.try_park()), poller.can_park()]
        poller.unpark()
        said.append(poller.can_park())
        try:
            with poller.try_park() as parked:
                said += [parked, poller.can_park()]
                raise KeyError
        except KeyError:
            return [*said, poller.can_park()]

    assert in_poller(body) == [True, True, False, True, True, False]


def test_until_is_the_next_timer_of_the_carrier() -> None:
    def body(poller: Poller) -> list[float | None]:
        before = poller.until()
        sleeper = VirtualThread(wakeproof.sleep, PATIENCE_S, group=poller.carrier).start()
        said = poller.maybe_yield(True), poller.maybe_yield(True)  # the timer is no work
        after = poller.until()
        sleeper.interrupt()
        return [before, *said, after]

    before, first, second, after = in_poller(body)  # type: ignore[misc]
    assert (before, first, second) == (None, True, False)
    assert 0 < after <= PATIENCE_S


def test_a_body_has_the_context_of_who_registers_it() -> None:
    word.set("said before")
    assert in_poller(lambda _: word.get()) == "said before"
