# SPDX-License-Identifier: Apache-2.0
"""The bounded run queue: specs/queue/LocalQueue.tla, and the bugs that specs/README.md lists.

programs/queue/local_queue.c runs one case and prints what is lost, or the result of each step of a
script.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.cases import COMPILES, Compiled, hold
from tests.support.running import run

pytestmark = COMPILES
CAPACITY, HALF, TURNS = 4, 2, 2
SMALL = f"-DWP_LOCAL_CAPACITY={CAPACITY}"
TWINS = {
    "local_queue_slot_jumps": "pkoo",
    "local_queue_sleeps_on_slot": "ke",
    "local_queue_no_turn": "T" * TURNS,
}
SHOWN = {  # and by the explorer
    "local_queue_overflow_forgets": "pppppoooogg",
    "local_queue_hand_over_once": "ppphooo",
}
TASKS = {"plain": 100000, "delayed": 5000, "address": 10000, "thread": 3000}


class Model:
    """The same queue, one step after the other; 0: no task."""

    def __init__(self) -> None:
        self.slot, self.pushed, self.turn = 0, 0, 0
        self.ring: list[int] = []
        self.stolen: list[int] = []
        self.others: list[int] = []

    def step(self, letter: str) -> int:
        """Return the output of the program."""
        return {
            "p": self.push, "k": self.keep, "o": self.pop, "s": self.steal, "h": self.hand_over,
            "t": lambda: _first(self.stolen), "g": lambda: _first(self.others),
            "a": lambda: len(self.ring), "e": lambda: not (self.slot or self.ring),
            "T": self.is_global_turn,
        }[letter]()  # fmt: skip

    def push(self) -> int:
        moved = HALF if len(self.ring) == CAPACITY else 0
        self.others += self.ring[:moved]
        self.pushed += 1
        self.ring = [*self.ring[moved:], self.pushed]
        return moved

    def keep(self) -> int:
        if self.slot or self.ring:
            return self.push()
        self.pushed += 1
        self.slot = self.pushed
        return -1

    def pop(self) -> int:
        kept, self.slot = self.slot, 0
        return kept or _first(self.ring)

    def steal(self) -> int:
        half = (len(self.ring) + 1) // 2
        many = min(half, CAPACITY - len(self.stolen) + 1)
        taken, self.ring = self.ring[:many], self.ring[many:]
        self.stolen += taken[1:]
        return _first(taken)

    def hand_over(self) -> int:
        all_ = [*([self.slot] if self.slot else []), *self.ring]
        self.others += all_
        self.slot, self.ring = 0, []
        return len(all_)

    def is_global_turn(self) -> int:
        self.turn += 1
        return self.turn % TURNS == 0


def _first(tasks: list[int]) -> int:
    return tasks.pop(0) if tasks else 0


def given_by(command: list[str], steps: str) -> list[int]:
    ended = run(command, "script", steps)
    assert (ended.stderr, ended.returncode) == ("", 0)
    return [int(line) for line in ended.stdout.split()]


def expected(steps: str) -> list[int]:
    model = Model()
    return [int(model.step(letter)) for letter in steps]


@pytest.mark.parametrize("flags", [(), (SMALL,)], ids=["256", "4"])
@pytest.mark.parametrize("build", TASKS)
def test_each_task_runs_once(build: str, flags: tuple[str, ...], compiled: Compiled) -> None:
    hold(compiled("local_queue", build, *flags), (("updates",), ("storm", str(TASKS[build]), "1")))


def test_each_step_gives_what_the_model_gives(compiled: Compiled) -> None:
    command = compiled("local_queue", "plain", SMALL)

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @example("ppppsoptgkkeaTho")
    @given(st.text("ppppkosthgaeT", max_size=200))
    def agree(steps: str) -> None:
        assert given_by(command, steps) == expected(steps)

    agree()


@pytest.mark.parametrize("twin", [*TWINS, *SHOWN])
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    steps = {**TWINS, **SHOWN}[twin]
    command = compiled("local_queue", "plain", SMALL, f"-DWP_TWIN_{twin}=1")
    assert given_by(command, steps) != expected(steps)
