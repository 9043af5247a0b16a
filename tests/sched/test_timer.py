# SPDX-License-Identifier: Apache-2.0
"""The timers of a carrier, against specs/sched/Timer.tla: NeverEarly, DueOnce, NoOversleep."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from tests.support import compiling
from tests.support.cases import EACH_BUILD, IN_CHECKOUT, Compiled
from tests.support.running import run

FOREVER = 2**63 - 1
PATIENCE_S = 60
NUMBERS = st.integers(0, 63)
TIMES = st.one_of(st.integers(0, 20), st.integers(-(2**63), FOREVER))
TWINS = ("timer_drain_unfired",)
FATES = """\
resumed 20, early 0, late by less than a second 1, far cancelled 1
resumed 640 at once
armed 51200, fired or cancelled 51200, early 0, some fired 1, some cancelled 1
handed back 1, armed 0
armed after the end 0
"""


class Program:
    """Drives the timers of programs/sched/timer.c, line by line."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, line: str) -> list[int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        return [int(number) for number in self.process.stdout.readline().split()]

    def end(self) -> int:
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode


class TimerMachine(RuleBasedStateMachine):
    """A list of deadlines beside the heap.  Rules have the names of the spec's actions."""

    command: list[str]

    def __init__(self) -> None:
        super().__init__()
        self.program = Program(self.command)
        self.armed: dict[int, int] = {}

    @rule(number=NUMBERS, deadline=TIMES)
    def arm(self, number: int, deadline: int) -> None:
        if number in self.armed:
            return
        is_first = all(deadline < other for other in self.armed.values())
        assert self.program.ask(f"a {number} {deadline}") == [is_first]
        self.armed[number] = deadline

    @rule(number=NUMBERS)
    def cancel(self, number: int) -> None:
        was_armed = self.armed.pop(number, None) is not None
        assert self.program.ask(f"c {number}") == [was_armed]

    @rule(now=TIMES)
    def due(self, now: int) -> None:
        fired = self.program.ask(f"d {now}")
        deadlines = [self.armed.pop(number) for number in fired]
        assert deadlines == sorted(deadlines)  # timers with equal deadlines fire in any order
        assert all(deadline <= now for deadline in deadlines)
        assert all(deadline > now for deadline in self.armed.values())

    @invariant()
    def earliest_is_true(self) -> None:
        assert self.program.ask("e") == [min(self.armed.values(), default=FOREVER)]

    def teardown(self) -> None:
        assert self.program.end() == 0


@pytest.fixture
def program(compiled: Compiled) -> Iterator[Program]:
    made = Program(compiled("timer", "plain"))
    yield made
    assert made.end() == 0


@IN_CHECKOUT
@pytest.mark.slow
@pytest.mark.parametrize("twin", [None, *TWINS])
def test_timers_fire_in_the_middle_of_a_long_drain(twin: str | None, compiled: Compiled) -> None:
    more = () if twin is None else (f"-DWP_TWIN_{twin}=1",)
    command = compiled("timer_drain", "plain", *more)
    told = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    ).stdout
    assert told == f"fired 8, each in a drain of its own {int(twin is not None)}\n"


@IN_CHECKOUT
@pytest.mark.slow
def test_what_is_armed_fires_in_order_or_is_cancelled(compiled: Compiled) -> None:
    machine = type("Machine", (TimerMachine,), {"command": compiled("timer", "address")})
    health = [HealthCheck.too_slow]
    chosen = settings(max_examples=40, deadline=None, suppress_health_check=health)
    run_state_machine_as_test(machine, settings=chosen)  # type: ignore[no-untyped-call]


@IN_CHECKOUT
def test_a_timer_that_is_armed_for_ever_is_not_the_first_of_any(program: Program) -> None:
    assert program.ask(f"a 1 {FOREVER}") == [1]
    assert program.ask("e") == [FOREVER]
    assert program.ask("a 2 5") == [1]
    assert program.ask(f"d {FOREVER - 1}") == [2]
    assert program.ask("c 1") == [1]


@IN_CHECKOUT
def test_deadlines_at_both_ends_of_time_do_not_wrap(program: Program) -> None:
    # The difference of the two does not fit 64 bits: JDK-8314759.
    assert program.ask(f"a 1 {FOREVER - 1}") == [1]
    assert program.ask(f"a 2 {-(2**63)}") == [1]
    assert program.ask("d 0") == [2]
    assert program.ask(f"d {FOREVER - 2}") == []
    assert program.ask(f"d {FOREVER - 1}") == [1]


@IN_CHECKOUT
@pytest.mark.parametrize("nanoseconds", [0, -1, -(2**63), 1, 10**9, FOREVER - 1, FOREVER])
def test_a_time_from_now_saturates(program: Program, nanoseconds: int) -> None:
    before, deadline, after = program.ask(f"i {nanoseconds}")
    least = min(before + max(nanoseconds, 0), FOREVER)
    assert least <= deadline <= min(after + max(nanoseconds, 0), FOREVER)


@IN_CHECKOUT
def test_a_hundred_thousand_timers_fire_in_order(program: Program) -> None:
    assert program.ask("m 100000") == [50000, 50000, 1, 1]


@IN_CHECKOUT
@pytest.mark.slow
@EACH_BUILD
def test_a_carrier_that_sleeps_is_told_of_an_earlier_deadline(
    build: str, compiled: Compiled
) -> None:
    ended = run(compiled("timer_group", build))
    assert (ended.stdout, ended.stderr, ended.returncode) == (FATES, "", 0)


@IN_CHECKOUT
@pytest.mark.slow
def test_a_close_that_leaves_a_timer_armed_is_seen(tmp_path: Path) -> None:
    clear = "\t\twp_timers_clear(&home_of(close, index)->timers);"
    once = f"\t{{\n{clear}\n\t\tbreak;\n\t}}"
    ended = run(compiling.broken(tmp_path, "timer_group", "plain", "group.c", clear, once))
    assert (ended.returncode, ended.stdout) == (1, FATES.replace("1, armed 0", "1, armed 1"))
