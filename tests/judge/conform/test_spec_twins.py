# SPDX-License-Identifier: Apache-2.0
"""`wakeproof conform --spec-twins`: a twin of a spec differs from the code, or has a reason."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.conform import show_spec_twins as spec_twins
from wakeproof.judge.conform import spec_twins as conform_twins
from wakeproof.judge.conform.concept import HIDDEN
from wakeproof.judge.conform.maps import BIASED_LOCK, CONCEPTS, vthread
from wakeproof.judge.conform.maps.guard import LOCK, meeting_label
from wakeproof.judge.conform.maps.search_steps import (
    CARRIER,
    FIRST,
    HEAD,
    INBOX,
    SERVING,
    TAIL,
    label_as,
    pinned_as,
)
from wakeproof.judge.conform.maps.task import WORD, said
from wakeproof.judge.conform.spec_twins import SpecTwinResult, SpecTwinsReport, twins_of
from wakeproof.judge.conform.undetectable_twins import EQUAL
from wakeproof.judge.tlc import models


def result(*, differs: bool, reason: str) -> SpecTwinResult:
    return SpecTwinResult(BIASED_LOCK, "no_cas", differs, reason, 1, 1, 0.0)


def test_a_twin_must_differ_unless_it_has_a_reason_and_then_it_must_not() -> None:
    assert result(differs=True, reason="").holds
    assert result(differs=False, reason="no third carrier").holds
    assert not result(differs=False, reason="").holds
    assert not result(differs=True, reason="no third carrier").holds


def test_each_reason_is_of_a_twin_that_there_is() -> None:
    modules = {concept.name: concept.module for concept in CONCEPTS}
    for name, reasons in EQUAL.items():
        assert reasons.keys() <= set(twins_of(modules[name], models.own())), name


def test_every_spec_has_twins_to_compare() -> None:
    for module in {concept.module for concept in CONCEPTS}:
        assert len(twins_of(module, models.own())) >= 5


def test_a_concept_whose_twins_are_too_large_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="mpsc three: its twins have millions"):
        conform_twins.spec_twins("^mpsc three$")


@pytest.mark.rotates
@pytest.mark.slow
def test_twins_of_a_nap_are_seen_and_a_missing_or_wrong_reason_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conform_twins, "twins_of", lambda *_: ["failure_unread", "nap_restarts"])
    reasons = {"guard nap": {"failure_unread": "wrong"}}
    monkeypatch.setattr(conform_twins, "EQUAL", reasons)
    found = conform_twins.spec_twins("^guard nap$").results
    assert [(r.twin, r.differs, r.holds) for r in found] == [
        ("failure_unread", True, False), ("nap_restarts", False, False),
    ]  # fmt: skip


def test_the_report_as_data_says_why_a_twin_is_equal() -> None:
    one = result(differs=False, reason="no third carrier")
    found = spec_twins.summary(SpecTwinsReport((one, result(differs=False, reason="")), 1.0))
    assert not found["holds"]
    assert [(r["twin"], r["holds"], r["reason"]) for r in found["results"]] == [
        ("no_cas", True, "no third carrier"), ("no_cas", False, ""),
    ]  # fmt: skip


def step(site: str, pre: dict[int, int], post: dict[int, int], offset: int, then: str) -> Any:
    """Return a step of carrier 1 in Search that finds `pre`, leaves `post`, and has `then` next."""
    pending = SimpleNamespace(site=then, offset=offset)
    return SimpleNamespace(
        thread=0, ends_sleep="", memory=("", "", ""), site=site,
        what=SimpleNamespace(offset=offset),
        pre=SimpleNamespace(word=lambda at: pre.get(at, 0)),
        post=SimpleNamespace(word=lambda at: post.get(at, 0), pending=lambda _: pending),
    )  # fmt: skip


def label(*what: Any) -> str:
    return label_as(("c1", "c2", "s1"), step(*what))


@pytest.mark.parametrize(("site", "name"), [("carrier.3", "Wake"), ("search.2", "Recruit")])
def test_a_wake_without_its_system_call_is_no_wake(site: str, name: str) -> None:
    word = CARRIER
    assert label(site, {word: 1}, {word: 3}, word, "futex_wake") == f"{name} c1"
    assert label(site, {word: 1}, {word: 3}, word, "search.6") == f"{name} c1 silently"
    assert label(site, {word: 0}, {word: 0}, word, "search.6") == f"{name} c1"  # it was not parked


@pytest.mark.parametrize(("before", "after"), [(0, 0), (0, 2), (1, 0)])
def test_a_pop_that_gives_back_no_ticket_or_a_wrong_one_is_no_pop(before: int, after: int) -> None:
    head = CARRIER + HEAD
    pre, post = {head: 9, CARRIER + SERVING: before}, {CARRIER + SERVING: after}
    assert label("mpsc.15", pre, post, head, "search.7") == "Keep the ticket c1"
    assert label("mpsc.15", pre, {CARRIER + SERVING: before + 1}, head, "search.7") == "Pop c1"
    assert label("biased_lock.5", post, post, head, "search.7") == "Release c1"


@pytest.mark.parametrize(("pre", "name"), [({INBOX + FIRST: 9}, "PollInbox"), ({}, "PollNothing")])
def test_a_pop_of_pinned_tasks_is_told_by_what_it_took(pre: dict[int, int], name: str) -> None:
    one = step("mpsc.15", pre, {}, INBOX + HEAD, "search.6")
    assert pinned_as(("c1", "c2", "s1"), one, alone=True) == f"{name} c1"
    assert pinned_as(("c1", "c2", "s1"), one, alone=False) == HIDDEN


@pytest.mark.parametrize(
    ("place", "name"), [(TAIL, "IsQuiescent"), (INBOX + TAIL, "LoadInbox"), (INBOX + HEAD, HIDDEN)]
)
def test_whose_tail_is_read_tells_a_look_at_pinned_tasks(place: int, name: str) -> None:
    found = pinned_as(
        ("c1", "c2", "s1"), step("mpsc.10", {}, {}, CARRIER + place, "search.6"), alone=False
    )
    assert found == (f"{name} c1" if name else HIDDEN)


def test_a_contended_lock_that_is_given_back_without_a_wake_is_seen() -> None:
    freed = ({LOCK: 2}, {LOCK: 0}, LOCK)
    assert meeting_label(step("lock.3", *freed, "futex_wake")) == HIDDEN
    assert meeting_label(step("lock.3", *freed, "guard.1")) == "Unlock silently poller"
    assert meeting_label(step("lock.3", {LOCK: 1}, {LOCK: 0}, LOCK, "guard.1")) == HIDDEN


@pytest.mark.parametrize(
    ("before", "after", "value", "name"),
    [
        (1, 1, 1, "Yield"),
        (1, 0, 1, "Park"),
        (5, 5, 5, "Park"),  # refused
        (1, 2, 0, "Done"),
        (5, 2, 0, "Done"),
        (2, 2, 2, "Park"),  # of a twin: it runs and has ended
    ],
)
def test_what_a_step_says_is_told_by_what_came_of_it(
    before: int, after: int, value: int, name: str
) -> None:
    one = step("Step", {WORD: before}, {WORD: after}, WORD, "mpsc.1")
    one.value = value
    assert said(one) == name


@pytest.mark.parametrize(
    ("site", "then", "name"),
    [
        ("vthread.10", "vthread.2", HIDDEN),  # a begin after a park: the exchange follows
        ("vthread.10", "Act", "Begin c1"),  # after a yield, or a start
        ("vthread.10", "vthread.3", "BeginPark c1"),
        ("vthread.10", "vthread.4", HIDDEN),  # a refused park takes the permit
        ("vthread.10", "futex_wait", HIDDEN),
        ("vthread.10", "vthread.11", "Sleep c1"),  # the permit came before it slept
        ("Act", "vthread.13", "LookPermit c1"),
        ("Act", "Latch", "Done c1"),
        ("How", "vthread.10", "Arm c1"),
        ("vthread.4", "Publish", "Refused c1"),
        ("vthread.4", "Act", "End c1"),
    ],
)
def test_what_a_look_at_a_virtual_thread_was_is_told_by_what_follows(
    site: str, then: str, name: str
) -> None:
    assert vthread.code_label(step(site, {}, {}, vthread.WORD, then)) == name


def test_a_virtual_thread_that_was_told_stays_so_until_a_park_says_so() -> None:
    busy = {vthread.WORD: 1}
    memory = vthread.after(
        vthread.Memory(), step("vthread.1", busy, {}, vthread.WORD, "end"), "Unpark u1"
    )
    assert memory.told
    late = step("vthread.2", {}, {vthread.SAYS: 0}, vthread.WORD, "Act")
    assert vthread.after(memory, late, "Begin c1").told
    unparked = step("vthread.2", {}, {vthread.SAYS: 1}, vthread.WORD, "Act")
    assert not vthread.after(memory, unparked, "Begin c1").told
    parked = vthread.after(memory, step("Act", {}, {}, vthread.WORD, "vthread.13"), "LookPermit c1")
    assert (parked.parks, parked.yields) == (vthread.PARKS - 1, vthread.YIELDS)


@pytest.mark.rotates
@pytest.mark.slow
def test_a_parker_that_keeps_its_permit_has_a_finite_graph_that_differs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conform_twins, "twins_of", lambda *_: ["permit_kept"])
    [found] = conform_twins.spec_twins("^parker$").results
    assert found.differs
