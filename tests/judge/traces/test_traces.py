# SPDX-License-Identifier: Apache-2.0
"""`wakeproof conform --traces`: runs on real cores are behaviours of the specs, lies are not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.support.biased_locks import TAKEN, ticket

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.conform import spec as conform_spec
from wakeproof.judge.conform.spec import Action
from wakeproof.judge.tlc.dot import StateGraph
from wakeproof.judge.traces import batch as trace_batch
from wakeproof.judge.traces import report
from wakeproof.judge.traces import run as traces
from wakeproof.judge.traces.batch import Trace, is_known
from wakeproof.judge.traces.concept import NOTHING, Cell, Not, Step, TraceConcept, has, lacks
from wakeproof.judge.traces.events import Event, Round
from wakeproof.judge.traces.maps import TRACED
from wakeproof.judge.traces.maps.biased_lock import BIASED_LOCK_TRACES
from wakeproof.judge.traces.maps.mpsc import MPSC_TRACES
from wakeproof.judge.traces.replay import Coverage, Replay
from wakeproof.judge.traces.report import Grade, TraceResult
from wakeproof.judge.traces.tamper import KINDS, trace_of

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def ticket_graph() -> Replay:
    """A part of BiasedLock: the owner acquires and releases."""
    idle = '/\\ thread = [owner |-> "idle"] /\\ my = [owner |-> -3]'
    texts = [idle, idle.replace("idle", "wait").replace("-3", "0"), idle.replace("idle", "inside")]
    actions: list[Action] = [("Acquire", ()), ("Enter", ()), ("Release", ("owner",))]
    edges = [(0, 1, "Acquire"), (1, 2, "Enter"), (2, 0, "Release")]
    return Replay(BIASED_LOCK_TRACES, StateGraph(texts, [0], edges), actions)


@pytest.mark.rotates
@pytest.mark.slow
def test_real_runs_are_behaviours_a_twins_are_not_and_lies_are_found(wakeproof: Command) -> None:
    run = wakeproof("conform", "-t", "biased_lock", "--traces", "60", "--json")
    assert run.returncode == 0, run.stderr
    told, *twins = json.loads(run.stdout)["results"]
    assert (told["runs"], told["rejected"], told["concept"]) == (60, 0, "biased_lock")
    assert traces.TAMPERED <= told["tampered"] <= 2 * told["tampered_found"]
    *others, moved = told["lies"]
    assert [lies["told"] for lies in others] == [traces.TAMPERED] * 3
    assert moved["told"] == 0 < traces.TAMPERED <= moved["by_table"]  # counters only grow
    assert told["actions"]["Enter"]["covered"] > 0
    assert 20 < told["edges_covered"] < told["edges"]
    assert [twin["twin"] for twin in twins] == ["biased_lock_no_cas", "biased_lock_reads_next"]
    for twin in twins:
        assert twin["rejected"] > 0
        assert any("STUCK" in line for line in twin["stuck"])
    assert wakeproof("conform", "--traces", "-1").returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("concept", "twins"),
    [
        ("guard rendezvous", ("guard_signal_silent", "guard_release_silent")),
        ("search", ("biased_lock_reads_next", "carrier_wrong_ticket")),
    ],
)
def test_a_wake_or_a_ticket_that_the_spec_does_not_have_is_judged_all_the_same(
    monkeypatch: pytest.MonkeyPatch, concept: str, twins: tuple[str, ...]
) -> None:
    table = next(table for table in TRACED if table.name == concept)
    monkeypatch.setattr(traces, "TRACED", (replace(table, twins=twins),))
    real, *broken = traces.traces(concept, count=20).results
    assert not real.rejected
    assert [result.twin for result in broken] == list(twins)
    assert all(result.rejected for result in broken)


def test_a_judge_that_differs_from_the_other_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    part = ticket_graph()
    monkeypatch.setattr(conform_spec, "graph", lambda *_: (part.graph, part.actions))
    monkeypatch.setattr(trace_batch, "accepted", lambda *_: {0})
    with pytest.raises(JudgeError, match="TLC accepts it, the replay does not"):
        traces.traces("biased_lock", count=1, twins=False)


def test_a_twin_is_recorded_until_a_run_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    part, seeds = ticket_graph(), []
    rounds = {good: Round(1, [TAKEN if good else TAKEN[:1] + TAKEN[2:]], [True]) for good in (0, 1)}

    def record(_judge: object, _table: object, twin: str, _count: int, seed: int) -> list[Round]:
        seeds.append((twin, seed))
        return [rounds[not twin or seed < 5]]

    def by_tlc(_: TraceConcept, told: list[Trace], *_more: object) -> set[int]:
        return {n for n, trace in enumerate(told) if part.explain(trace).accepted}

    monkeypatch.setattr(conform_spec, "graph", lambda *_: (part.graph, part.actions))
    monkeypatch.setattr(trace_batch, "accepted", by_tlc)
    monkeypatch.setattr(traces._Judge, "record", record)
    monkeypatch.setattr(traces, "TAMPERED", 0)
    monkeypatch.setattr(report, "TAMPERED", 0)
    _, first, second = traces.traces("biased_lock", count=1, seed=3).results
    assert seeds == [("", 3)] + [(t, 3 + n) for t in BIASED_LOCK_TRACES.twins for n in (0, 1, 2)]
    assert (first.traces, len(first.rejected), second.holds) == (3, 1, True)


def test_runs_that_hardly_met_are_recorded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    many = report.TAMPERED
    whole = TraceResult(
        BIASED_LOCK_TRACES, "", 1, 0, 1, (), (), tuple(Grade(k, many, many, 0, 0) for k in KINDS),
        Coverage(1, 1, 1, 1, {}), 0.0,
    )  # fmt: skip
    short = replace(whole, grades=(*whole.grades[:3], replace(whole.grades[3], told=9, found=9)))
    passed = replace(short, grades=(replace(whole.grades[0], found=many - 3), *short.grades[1:]))
    wrong = replace(short, rejected=(7,))

    results: list[TraceResult] = []

    def judge(*_: object, more: int = 0) -> TraceResult:
        seeds.append(more)
        return results[min(more, len(results) - 1)]

    monkeypatch.setattr(traces._Judge, "judge", judge)
    one = object.__new__(traces._Judge)
    for drawn, last, tries in (
        ((short, short, whole), whole, [0, 1, 2]),
        ((wrong, whole), wrong, [0]),  # what was found stays found
        ((passed, whole), passed, [0]),
        ((replace(short, aside=9), whole), replace(short, aside=9), [0]),
        ((short,), short, list(range(traces.TRIES))),
    ):
        seeds.clear()
        results[:] = drawn
        assert one.code(BIASED_LOCK_TRACES, None, 1) == last  # type: ignore[arg-type]
        assert seeds == tries
    assert "9 lies of 10 told" in short.problem


@pytest.mark.parametrize("table", TRACED, ids=lambda table: table.name)
def test_a_site_that_no_table_knows_is_rejected_and_each_spec_has_a_twin(
    table: TraceConcept,
) -> None:
    told = trace_of(table, Round(1, [[ticket(0, "strategy.9", 1)]], [False]))
    assert told.cells[0][-1].steps[0].action.startswith("no step")
    assert "strategy.9" in told.cells[0][-1].steps[0].action
    assert not is_known(table, told)
    assert any(t.twins for t in TRACED if t.concept.module == table.concept.module)


def test_what_came_before_a_value_that_no_table_knows_is_judged() -> None:
    odd = replace(TAKEN[0], site="mpsc.2", result=5)
    (own,) = trace_of(MPSC_TRACES, Round(1, [[], [], [replace(odd, site="Node"), odd]], [False] * 3)
                      ).cells[2:]  # fmt: skip
    assert own[-1].event == odd
    found = ticket_graph().explain(
        trace_of(
            BIASED_LOCK_TRACES,
            Round(1, [[TAKEN[0], replace(TAKEN[1], site="strategy.9")]], [False]),
        )
    )
    assert (found.accepted, found.done) == (False, (1,))


def test_an_unknown_concept_and_a_bad_number_are_named() -> None:
    with pytest.raises(UsageError, match=r"nothing.*there are parker, biased_lock"):
        traces.traces("nothing")
    with pytest.raises(UsageError, match="is not a regular expression"):
        traces.traces("[")
    with pytest.raises(UsageError, match="--traces is 0; allowed: 1 or more"):
        traces.traces("biased_lock", count=0)


def test_events_that_overlap_may_go_in_either_order_and_others_not() -> None:
    early, late = ticket(0, "biased_lock.1", 1), ticket(1, "biased_lock.3", 5)
    across = Event(1, 2, 9, "biased_lock.3", -1, 0, 0, happened=True)
    apart, both = (
        Trace(1, ((Cell(early, ()),), (Cell(e, ()),))) for e in (late, across)
    )  # fmt: skip
    assert apart.may_go((0, 0), 0)
    assert not apart.may_go((0, 0), 1)
    assert apart.may_go((1, 0), 1)
    early_across = Trace(1, ((Cell(ticket(0, "biased_lock.1", 3), ()),), (Cell(across, ()),)))
    assert all(early_across.may_go((0, 0), k) for k in (0, 1))
    assert both.may_go((0, 0), 0)


def test_a_behaviour_is_accepted_and_its_edges_are_covered() -> None:
    replay = ticket_graph()
    found = replay.explain(trace_of(BIASED_LOCK_TRACES, Round(1, [TAKEN], [True])))
    assert found.accepted
    covered = {move.edge for move in found.moves if move.edge >= 0}
    assert replay.coverage(covered).edges == 3
    assert replay.coverage({0}).never == ("Enter", "Release")
    assert replay.coverage({0}).actions["Acquire"] == (1, 1)


def test_a_trace_that_sticks_is_shown_with_thread_label_action_and_state() -> None:
    replay = ticket_graph()
    trace = trace_of(BIASED_LOCK_TRACES, Round(1, [TAKEN[:1] + TAKEN[2:]], [True]))
    found = replay.explain(trace)
    assert not found.accepted
    header, first, stuck, state = replay.stuck(trace, found)
    assert header.split() == ["thread", "|", "label", "|", "action"]
    assert first.split() == [
        "owner",
        "|",
        "[biased_lock.1]",
        "0",
        "->",
        "0",
        "at",
        "1..2",
        "|",
        "Acquire",
    ]
    assert "owner  | [biased_lock.5]" in stuck
    assert "STUCK (Release(owner))" in stuck
    assert 'thread = [owner |-> "wait"]' in state


def test_only_a_listed_hidden_action_may_happen_unseen() -> None:
    unseen = trace_of(BIASED_LOCK_TRACES, Round(1, [[TAKEN[0], TAKEN[2]]], [True]))
    replay = ticket_graph()
    assert not replay.explain(unseen).accepted
    replay.table = replace(BIASED_LOCK_TRACES, hidden=(("Enter", ()),))
    assert replay.explain(unseen).accepted


def test_coverage_counts_what_the_scenario_can_reach() -> None:
    replay = ticket_graph()
    kept = replace(BIASED_LOCK_TRACES.concept, keeps=lambda action, *_: action != "Enter")
    replay.table = replace(BIASED_LOCK_TRACES, concept=kept)
    cover = replay.coverage({0, 1})
    assert (cover.edges, cover.of_edges, cover.of_states) == (1, 1, 2)


def test_conditions_say_the_same_in_tla_and_here() -> None:
    assert has(1).tla("bits") == "bits \\cap {1} = {1}"
    assert has(1).holds(frozenset({1, 2}))
    assert not lacks(1).holds(frozenset({1, 2}))
    assert Not("asleep").tla("owner") == 'owner # "asleep"'
    step = Step(NOTHING, (), {"member.0": "run"}, {"sibling.s1.at": "idle"})
    assert step.tla({}) == 'member[0] = "run" /\\ UNCHANGED vars /\\ sibling\'["s1"]["at"] = "idle"'
    assert step.fits({"member": {0: "run"}}, {"sibling": {"s1": {"at": "idle"}}})
    assert not step.fits({"member": {0: "add"}}, {"sibling": {"s1": {"at": "idle"}}})
