# SPDX-License-Identifier: Apache-2.0
"""The tables of traces beyond the specs: own values, due calls, tickets, halves."""

from __future__ import annotations

import pytest

from wakeproof import locations
from wakeproof.judge import labels, scenarios
from wakeproof.judge.conform.code import site_names
from wakeproof.judge.traces import events as trace_events
from wakeproof.judge.traces.events import BASE, Event, Round
from wakeproof.judge.traces.maps import guard, mpsc, own, rendezvous, task
from wakeproof.judge.traces.maps.rendezvous import COND, LOCK
from wakeproof.judge.traces.maps.search import judged, wrong

NODE, CELL = 512, 256


def events(*told: tuple[object, ...], thread: int = 0) -> list[Event]:
    """Return events in order: site, result, operand, place, and whether it happened."""
    rows = [(*row, *(0, 0, 0, True)[len(row) - 1 :]) for row in told]
    return [Event(thread, 10 * n + 1, 10 * n + 9, str(site), int(str(place)), int(str(operand)),
                  int(str(result)), happened=bool(happened))
            for n, (site, result, operand, place, happened) in enumerate(rows)]  # fmt: skip


OWNER = [("biased_lock.1", 5), ("biased_lock.2", 4), ("biased_lock.2", 5), ("biased_lock.5", 6, 6)]
PUSH = [("mpsc.1", 0, 0, NODE), ("mpsc.2", BASE + CELL, BASE + NODE),
        ("mpsc.3", BASE + NODE, BASE + NODE, CELL)]  # fmt: skip
POP = [("mpsc.15", 0), ("mpsc.4", BASE + NODE), ("mpsc.13", 0, BASE + NODE), ("mpsc.8",),
       ("mpsc.5", 0, 0, NODE), ("mpsc.16", BASE + NODE), ("mpsc.7", BASE + NODE, BASE + CELL),
       ("mpsc.6",)]  # fmt: skip


@pytest.mark.parametrize(
    ("good", "at", "bad"),
    [
        (OWNER, 3, ("biased_lock.5", 5, 5)),
        (OWNER, 1, ("biased_lock.2", 6)),
        ([("biased_lock.3", 5), ("biased_lock.4", 5, 6)], 1, ("biased_lock.4", 4, 6)),
        (
            [("biased_lock.3", 5), ("biased_lock.4", 7, 6, 0, False)],
            1,
            ("biased_lock.4", 5, 6, 0, False),
        ),
        ([("biased_lock.3", 5), ("biased_lock.4", 5, 6)], 1, ("biased_lock.4", 5, 5)),
        (PUSH, 0, ("mpsc.1", 0, 1, NODE)),
        (PUSH, 1, ("mpsc.2", BASE + CELL, BASE + NODE + 8)),
        (PUSH, 2, ("mpsc.3", BASE + NODE, BASE + NODE, CELL + 8)),
        (POP, 2, ("mpsc.13", 0, BASE + NODE + 8)),
        (POP, 3, ("mpsc.8", 1, 1)),
        (POP, 4, ("mpsc.5", 0, 0, NODE + 8)),
        (POP, 6, ("mpsc.7", BASE + NODE + 8, BASE + CELL)),
        (POP, 7, ("mpsc.6", 0, BASE + NODE)),
        ([("idle_set.2", 3, ~1)], 0, ("idle_set.2", 2, ~1)),
    ],
)
def test_a_value_at_odds_with_its_threads_earlier_ones_is_named(
    good: list[tuple[object, ...]], at: int, bad: tuple[object, ...]
) -> None:
    assert own.disagrees(events(*good)) is None
    found = own.disagrees(events(*good[:at], bad, *good[at + 1 :]))
    assert found
    assert found == (at, f"no step: [{bad[0]}] disagrees with what its thread did before")


def test_who_looks_where_nobody_submits_finds_nothing() -> None:
    look = ("mpsc.9", BASE + NODE, 0, 256)
    inbox, other = ("mpsc.9", BASE + NODE, 0, 512), ("mpsc.9", BASE + NODE, 0, 256 + 896)
    assert own.of_carriers(events(look, (*inbox[:1], 0, 0, 512)), busy=1) is None
    assert own.of_carriers(events(other), busy=2) is None
    for bad in (inbox, other):
        found = own.of_carriers(events(look, bad), busy=1)
        assert found == (1, "no step: [mpsc.9] finds something where nobody submits")
    assert own.of_carriers(events(OWNER[0], ("biased_lock.5", 5, 5), inbox), busy=1) == (
        1, "no step: [biased_lock.5] disagrees with what its thread did before"
    )  # fmt: skip


SIGNAL = [("lock.5", 3, 1, COND), ("futex_wake", 1, 1, COND), ("lock.3", 1, 0, LOCK)]
RELEASE = [("lock.3", 2, 0, LOCK), ("futex_wake", 0, 1, LOCK), ("Push", 0)]
WAIT = [("lock.4", 3, 0, COND), ("lock.3", 2, 0, LOCK), ("futex_wake", 0, 1, LOCK),
        ("futex_wait", 0, 3, COND), ("lock.1", 2, 1, LOCK, False), ("lock.2", 2, 2, LOCK),
        ("futex_wait", 0, 2, LOCK), ("lock.2", 0, 2, LOCK)]  # fmt: skip


@pytest.mark.parametrize(("calls", "at"), [(SIGNAL, 1), (RELEASE, 1), (WAIT, 2), (WAIT, 5)])
def test_a_call_that_lock_or_condition_asks_for_may_not_be_missing(
    calls: list[tuple[object, ...]], at: int
) -> None:
    assert rendezvous.disagrees(events(*calls)) is None
    found = rendezvous.disagrees(events(*calls[:at], *calls[at + 1 :]))
    assert found
    assert found[0] == at
    assert "is due" in found[1]
    assert rendezvous.disagrees(events(*calls[:at])) is None  # it was stopped there


def test_a_call_on_another_word_or_that_nothing_asks_for_is_named() -> None:
    assert rendezvous.disagrees(events(SIGNAL[0], ("futex_wake", 1, 1, LOCK)))
    assert rendezvous.disagrees(events(("futex_wake", 1, 1, LOCK))) == (
        0, "no step: another event is due"
    )  # fmt: skip
    assert rendezvous.disagrees(events(("lock.3", 0, 0, LOCK)))  # no thread had the lock
    assert rendezvous.disagrees(events(*WAIT[:3], ("futex_wait", 0, 4, COND)))


def test_a_signal_that_woke_somebody_met_a_waiter() -> None:
    claim = [
        ("guard.11", 1),
        ("lock.5", 0, 1, COND),
        ("futex_wake", 1, 1, COND),
        ("lock.3", 1, 0, LOCK),
    ]
    woke, nobody = (
        rendezvous.explain(1, events(*claim[:2], ("futex_wake", n, 1, COND), claim[3]))[-1]
        for n in (1, 0)
    )
    assert (woke.steps[0].before, nobody.steps[0].before) == ({"poller": "waiting"}, {})


def test_what_a_thread_chose_it_does() -> None:
    take = ("Take", 7, ~2)
    assert guard.choices_disagree(events(("Poll", 1, 4), take, ("Poll", 3), ("Empty", 0))) is None
    assert guard.choices_disagree(events(("Poll", 0, 4), take))
    assert guard.choices_disagree(events(("Poll", 3, 4), take))
    assert guard.choices_disagree(events(("Block", 0, 2), ("guard.7", 1)))
    own_node = ("Own", 0, 1, mpsc.USED + 8)
    push = ("mpsc.1", 0, 0, mpsc.NODES + 8)
    assert mpsc.chosen(events(("Node", 1, 3), own_node, push)) is None
    assert mpsc.chosen(events(("Node", 0, 3), own_node))
    assert mpsc.chosen(events(own_node, ("Node", 1, 3)))
    assert mpsc.chosen(events((*own_node, False), push))


STEAL = [("Start", 0), ("mpsc.9", BASE + NODE, 0, 256), ("biased_lock.1", 0, 0, 640),
         ("biased_lock.2", 0, 0, 648), ("mpsc.15", 0, 0, 264), ("mpsc.4", BASE + NODE, 0, 256),
         ("mpsc.13", 0, 0, 264), ("mpsc.8", 0, 0, 256), ("mpsc.5", 0, 0, NODE),
         ("mpsc.16", 0, 0, 128), ("mpsc.7", 0, 0, 128), ("mpsc.6", 0, 0, 264),
         ("biased_lock.5", 1, 1, 648)]  # fmt: skip


def test_a_run_is_set_aside_where_the_tail_is_read_before_the_front_is_gone() -> None:
    pop = events(*STEAL)
    for site, place, begin, alone in (
        ("mpsc.12", 128, 111, False), ("mpsc.12", 128, 81, True), ("mpsc.12", 128 + 896, 111, True),
        ("mpsc.12", 128, 131, True), ("mpsc.9", 256, 111, True),
    ):  # fmt: skip
        look = Event(1, begin, begin + 1, site, place, 0, 0, happened=True)
        assert judged(Round(1, [pop, [look], []], [False] * 3)) is alone


def test_two_threads_with_the_ticket_of_one_queue_are_wrong() -> None:
    mine, theirs = events(*STEAL), events(*STEAL, thread=1)
    assert wrong(Round(1, [mine, theirs, []], [False] * 3)) == (
        "no step: c1 and c2 have the ticket of c1 at once"
    )
    later = [Event(1, e.begin + 500, e.end + 500, e.site, e.place, 0, e.result, happened=True)
             for e in theirs]  # fmt: skip
    assert not wrong(Round(1, [mine, later, []], [False] * 3))
    cut = mine[:5]
    assert wrong(Round(1, [cut, later, []], [False] * 3))


def test_a_twins_line_has_the_name_of_the_site_that_it_stands_for() -> None:
    kernel = locations.sources() / "kernel"
    scenario = scenarios.of_concept("conform", "biased_lock")
    names = site_names(labels.read(locations.sources()), kernel, scenario, "biased_lock_no_cas")
    of = {name: place for place, name in names.items()}
    assert [of[f"{half} biased_lock.4"][0] for half in ("reads", "writes")] == [
        "queue/biased_lock.h"
    ] * 2
    lines = [
        n
        for (file, n), name in names.items()
        if (file, name) == ("queue/biased_lock.h", "biased_lock.3")
    ]
    assert len(lines) == 1
    product = site_names(labels.read(locations.sources()), kernel, scenario)
    assert not {"reads biased_lock.4", "writes biased_lock.4"} & set(product.values())
    reads_next = site_names(
        labels.read(locations.sources()), kernel, scenario, "biased_lock_reads_next"
    )
    assert reads_next == product  # its line has the number of the product's line


HALVES = {
    ("t.h", 1): "reads biased_lock.4",
    ("t.h", 2): "writes biased_lock.4",
    ("t.h", 3): "biased_lock.4",
}


def half(begin: int, line: int, operand: int, result: int) -> str:
    return f"e 0 {begin} {begin + 1} t.h {line} - @8 {operand} {result} 1"


def test_a_twins_halves_are_the_event_that_they_stand_for() -> None:
    lines = ["r 1", half(1, 1, 0, 5), half(3, 2, 6, 6), half(5, 1, 0, 7), half(7, 3, 8, 7),
             half(9, 1, 0, 7)]  # fmt: skip
    for end, count in (("returned", 4), ("stopped", 3)):
        (one,) = trace_events.read([*lines, f"x 0 {end}", "end 1"], HALVES)
        whole, failed, plain, *last = one.threads[0]
        assert (whole.begin, whole.operand, whole.result, whole.happened) == (3, 6, 5, True)
        assert (failed.begin, failed.result, failed.happened) == (5, 7, False)
        assert (plain.begin, plain.happened) == (7, True)
        assert {event.site for event in one.threads[0]} == {"biased_lock.4"}
        assert 3 + len(last) == count


RUN = [("task.2", 5, 1), ("Step", 2, 3), ("task.3", 5, 0, 8, False), ("mpsc.1",),
       ("mpsc.2", 0, 0, task.TAIL), ("mpsc.3",)]  # fmt: skip


def test_a_refused_park_is_queued_again() -> None:
    names = [cell.steps[0].name for cell in task.explain(0, events(*RUN))]
    assert names == ["Begin(c1)", "Park(c1)", "Reserve(c1)", "Publish(c1)"]
    park = task.explain(0, events(*RUN))[1].steps[0]
    assert park.before == park.after == {"word": "BUSY", "notified": True}


@pytest.mark.parametrize(
    ("at", "bad", "what"),
    [
        (2, ("task.4", 0, 2), "task.4.* after a step that said 2"),
        (2, ("mpsc.1",), "mpsc.1.* after a step that said 2"),
        (4, ("mpsc.2", 0, 0, task.TAIL + 1280), "mpsc.2"),  # the thief's queue
        (5, ("mpsc.4", BASE, 0, task.INBOX[0]), "inbox"),
        (5, ("idle_set.3", 1), "nobody sleeps"),
    ],
)
def test_what_a_run_of_a_task_cannot_do_is_refused(
    at: int, bad: tuple[object, ...], what: str
) -> None:
    with pytest.raises(LookupError, match=what):
        task.explain(0, events(*RUN[:at], bad, *RUN[at + 1 :]))
