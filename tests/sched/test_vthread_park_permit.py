# SPDX-License-Identifier: Apache-2.0
"""The permit of a Python virtual thread, against specs/thread/VThread.tla."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, rule
from tests.support.virtual import PATIENCE_S

import wakeproof
from wakeproof import (
    CarrierGroup,
    VirtualThread,
    park,
    pinned,
)


class PermitMachine(RuleBasedStateMachine):
    """A thread's permit against its spec: one Boolean.  Rules have the names of VThread.tla."""

    def __init__(self) -> None:
        super().__init__()
        self.group = CarrierGroup(1)
        self.asked: list[Callable[[], object]] = []
        self.told: SimpleQueue[object] = SimpleQueue()
        self.thread = VirtualThread(self.serve, group=self.group).start()
        self.permit = False

    def serve(self) -> None:
        while True:
            wakeproof.yield_now()
            if self.asked:
                self.told.put(self.asked.pop()())

    def ask(self, what: Callable[[], object]) -> object:
        self.asked.append(what)
        return self.told.get(timeout=PATIENCE_S)

    @rule()
    def unpark(self) -> None:
        self.thread.unpark()
        self.permit = True

    @rule()
    def park(self) -> None:
        assert self.ask(lambda: park(0)) is self.permit
        self.permit = False

    @rule()
    def yield_(self) -> None:
        assert self.ask(wakeproof.yield_now) is None

    @rule()
    def sleep(self) -> None:
        assert self.ask(lambda: wakeproof.sleep(0.000_1)) is None

    @rule()
    def pinned_park(self) -> None:
        def body() -> bool:
            with pinned():
                return park(0.000_1)

        assert self.ask(body) is self.permit
        self.permit = False

    @rule()
    def interrupt(self) -> None:
        self.thread.interrupt()
        assert self.ask(wakeproof.interrupted) is True
        self.permit = True

    def teardown(self) -> None:
        self.asked.append(exit)
        assert self.thread.join(PATIENCE_S)
        assert self.group.close() == []


TestPermit = pytest.mark.slow(PermitMachine.TestCase)
TestPermit.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
