# SPDX-License-Identifier: Apache-2.0
"""The results that a scope's joiner makes of its subtasks, against specs/scope/Scope.tla.

Its claims are named in each test; owners are the main thread and a virtual one.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.subtasks import ends_when_interrupted, fails
from tests.support.virtual import Owner

import wakeproof
from wakeproof import CarrierGroup, Scope, joiner
from wakeproof.errors import (
    StateError,
    SubtaskError,
)


def test_all_successful_gives_results_in_the_order_of_forks(
    owner: Owner, group: CarrierGroup
) -> None:
    def body() -> object:
        with Scope(joiner.all_successful_or_raise(), group=group) as scope:
            scope.fork(lambda: wakeproof.sleep(0.002) or "slow")
            scope.fork(lambda: "quick")
            return scope.join()

    assert owner(body) == ["slow", "quick"]


def test_results_of_a_cancelled_scope_are_not_made_up(owner: Owner, group: CarrierGroup) -> None:
    # NoResultAfterCancel: a subtask that had not ended seemed to have returned None.
    def body() -> None:
        with Scope(joiner.all_successful_or_raise(), group=group) as scope:
            scope.fork(ends_when_interrupted, [])
            scope.cancel()
            with pytest.raises(SubtaskError, match="cancelled before it ended"):
                scope.join()
        with Scope(group=group) as scope:
            scope.fork(ends_when_interrupted, [])
            scope.cancel()
            assert scope.join() is None

    owner(body)


@pytest.mark.parametrize(
    "policy", [joiner.all_successful_or_raise, joiner.await_all_successful_or_raise]
)
def test_the_first_failure_cancels_the_others(
    owner: Owner, group: CarrierGroup, policy: Callable[[], joiner.Joiner]
) -> None:
    # FirstFailureWins, CancelOnce, NoResultAfterCancel.
    def body() -> object:
        log: list[str] = []
        with Scope(policy(), group=group) as scope:
            other = scope.fork(ends_when_interrupted, log)
            scope.fork(fails, "first")
            with pytest.raises(SubtaskError, match="first") as caught:
                scope.join()
            assert isinstance(caught.value.__cause__, KeyError)
        assert (other.state, scope.is_cancelled) == ("unavailable", True)
        with pytest.raises(StateError, match="cancelled before it ended"):
            other.result()
        return log

    assert owner(body) in (["interrupted"], [])  # [] if it was cancelled before it began


def test_one_of_many_failures_wins(owner: Owner, group: CarrierGroup) -> None:
    # FirstFailureWins: only one on_complete returns true.
    said: list[bool] = []

    class Counts(joiner._FirstFailure):
        def on_complete(self, subtask: wakeproof.Subtask) -> bool:
            said.append(super().on_complete(subtask))
            return False

    def body() -> None:
        with Scope(Counts(lambda _: None), group=group) as scope:
            for n in range(40):
                scope.fork(fails, str(n))
            with pytest.raises(SubtaskError):
                scope.join()

    owner(body)
    assert (len(said), sum(said)) == (40, 1)


def test_the_first_success_cancels_the_others(owner: Owner, group: CarrierGroup) -> None:
    def body() -> object:
        with Scope(joiner.any_successful(), group=group) as scope:
            scope.fork(ends_when_interrupted, [])
            scope.fork(fails, "no")
            scope.fork(lambda: wakeproof.sleep(0.001) or "won")
            return scope.join()

    assert owner(body) == "won"


def test_without_a_success_a_failure_is_raised_and_without_forks_a_lookup_error(
    owner: Owner, group: CarrierGroup
) -> None:
    def body() -> None:
        with Scope(joiner.any_successful(), group=group) as scope:
            scope.fork(fails, "all")
            with pytest.raises(SubtaskError, match="all"):
                scope.join()
        with Scope(joiner.any_successful(), group=group) as scope:
            with pytest.raises(SubtaskError) as caught:
                scope.join()
            assert isinstance(caught.value.__cause__, LookupError)

    owner(body)


def test_all_until_stops_when_told(owner: Owner, group: CarrierGroup) -> None:
    def body() -> object:
        enough = joiner.all_until(lambda subtask: subtask.result() == 3)
        with Scope(enough, group=group) as scope:
            scope.fork(ends_when_interrupted, [])
            scope.fork(lambda: 3)
            return [one.state for one in scope.join()]

    assert owner(body) == ["unavailable", "success"]


def test_a_joiner_that_fails_is_told_to_the_owner(owner: Owner, group: CarrierGroup) -> None:
    def body() -> None:
        with Scope(joiner.all_until(lambda _: 1 / 0 > 0), group=group) as scope:
            scope.fork(int)
            with pytest.raises(SubtaskError, match="its joiner failed") as caught:
                scope.join()
            assert isinstance(caught.value.__cause__, ZeroDivisionError)

    owner(body)
