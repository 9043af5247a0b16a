# SPDX-License-Identifier: Apache-2.0
"""The memory orders of the code and the results of its calls, as a comparison uses them."""

from __future__ import annotations

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.conform.code import CAS, STORE, Dump, Position, Step
from wakeproof.judge.conform.maps import parker
from wakeproof.judge.conform.run import Judge
from wakeproof.judge.process import Children

RELAXED, ACQUIRE, RELEASE = 1, 2, 3
OR, LOCAL = 5, 15
"""Orders and kinds, as in ``stress/explorer/program.h``."""


def access(kind: int, order: int, fail_order: int = 1, before: int = 1, thread: int = 0) -> Step:
    """Return an access of the parker's word, which holds `before`; the data are 2 and 1."""
    site = Position(kind, "PK", parker.WORD, 0, 1, order, fail_order)
    dump = Dump(
        threads=3,
        states=[(0, 0, 0, before, 2, 1)],
        positions=[{0: site}] * 3,
        offsets={parker.WORD: 0, parker.DATA: 1, parker.DATA + 8: 2},
    )
    return Step(dump, thread, 0, dump.at(0), dump.at(0), None)


@pytest.mark.parametrize(
    ("order", "fail_order", "before", "seen"),
    [
        (ACQUIRE, RELAXED, 1, (2, 1)),
        (RELAXED, ACQUIRE, 1, (0, 0)),
        (ACQUIRE, RELAXED, 0, (0, 0)),  # it fails: the order of the failure counts
        (RELAXED, ACQUIRE, 0, (2, 1)),
        (RELEASE, RELAXED, 1, (0, 0)),
    ],
)
def test_a_park_sees_what_the_order_of_its_access_makes_visible(
    order: int, fail_order: int, before: int, seen: tuple[int, int]
) -> None:
    memory = parker.Memory(carried=(2, 1))
    assert parker.visible(memory, access(CAS, order, fail_order, before)).seen == seen


@pytest.mark.parametrize(
    ("kind", "order", "carried"),
    [
        (OR, RELEASE, (2, 1)),
        (OR, RELAXED, (0, 1)),  # the release sequence continues
        (STORE, RELEASE, (2, 0)),
        (STORE, RELAXED, (0, 0)),
    ],
)
def test_an_unpark_carries_its_data_if_it_releases_and_others_if_it_is_no_store(
    kind: int, order: int, carried: tuple[int, int]
) -> None:
    memory = parker.Memory(carried=(0, 1))
    assert parker.visible(memory, access(kind, order, thread=1)).carried == carried


@pytest.mark.parametrize(("mark", "told"), [("Told", 1), ("Begin", None)])
def test_what_a_call_returns_is_what_its_thread_says_next(mark: str, told: int | None) -> None:
    dump = Dump(threads=1, states=[(0,)], positions=[{0: Position(LOCAL, mark, -1, 1, 0)}])
    assert Step(dump, 0, 0, dump.at(0), dump.at(0), None).tells("Told") == told


@pytest.mark.slow
def test_a_twin_that_is_an_order_changes_the_order_of_that_site_alone() -> None:
    orders = {}
    with Children() as children:
        for twin in (None, "parker.4=relaxed"):
            positions = Judge(children).code(parker.PARKER, twin).positions
            orders[twin] = {p.site: p.order for each in positions for p in each.values()}
        with pytest.raises(UsageError, match="no site has the label 'PK99'"):
            Judge(children).code(parker.PARKER, "PK99=relaxed")
    assert (orders[None]["parker.1"], orders[None]["parker.4"]) == (ACQUIRE, RELEASE)
    assert orders["parker.4=relaxed"] == {**orders[None], "parker.4": RELAXED}
