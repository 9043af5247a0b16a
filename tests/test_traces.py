# SPDX-License-Identifier: Apache-2.0
"""`wakeproof conform --traces`: runs on real cores are behaviours of the specs; lies are not."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from wakeproof import paths
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import conform_spec, trace_batch, trace_events, traces
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.conform_spec import Action
from wakeproof.judge.dot import StateGraph
from wakeproof.judge.process import Children
from wakeproof.judge.trace_batch import Trace
from wakeproof.judge.trace_concept import NOTHING, Cell, Not, Step, TraceConcept, has, lacks
from wakeproof.judge.trace_events import Event, Round
from wakeproof.judge.trace_maps import TRACED
from wakeproof.judge.trace_maps.search import SEARCH_TRACES, judged
from wakeproof.judge.trace_maps.ticket import TICKET_TRACES
from wakeproof.judge.trace_replay import Replay
from wakeproof.judge.trace_tamper import tampered, trace_of

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def builder() -> Iterator[Builder]:
    with Children() as children:
        yield Builder(children)


def scenario(name: str) -> Path:
    return paths.sources() / "stress" / "conform" / f"conform_{name}.c"


def record(program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), *options], capture_output=True, text=True, check=False)


def ticket(who: int, site: str, begin: int, result: int = 0, *, happened: bool = True) -> Event:
    return Event(who, begin, begin + 1, site, 0, 0, result, happened)


TAKEN = [ticket(0, "T1", 1), ticket(0, "T2", 3), ticket(0, "T5", 5)]
"""The owner takes the ticket and gives it back."""
LOST = [ticket(1, "T3", 7), ticket(1, "T4", 9, 1, happened=False)]
"""A stealer fails to take it."""


def ticket_graph() -> Replay:
    """A part of Ticket: the owner in and out."""
    idle = '/\\ thread = [owner |-> "idle"] /\\ my = [owner |-> -3]'
    texts = [idle, idle.replace("idle", "wait").replace("-3", "0"), idle.replace("idle", "inside")]
    actions: list[Action] = [("Acquire", ()), ("Enter", ()), ("Release", ("owner",))]
    edges = [(0, 1, "Acquire"), (1, 2, "Enter"), (2, 0, "Release")]
    return Replay(TICKET_TRACES, StateGraph(texts, [0], edges), actions)


@pytest.mark.slow
def test_real_runs_are_behaviours_a_twins_are_not_and_lies_are_found(wakeproof: Command) -> None:
    run = wakeproof("conform", "-t", "ticket", "--traces", "60", "--json")
    assert run.returncode == 0, run.stderr
    told, twin = json.loads(run.stdout)["results"]
    assert (told["runs"], told["rejected"], told["concept"]) == (60, 0, "ticket")
    assert told["tampered"] == traces.TAMPERED <= 2 * told["tampered_found"]
    assert told["actions"]["Enter"]["covered"] > 0
    assert 20 < told["edges_covered"] < told["edges"]
    assert 2 * twin["rejected"] > twin["runs"]
    assert any("STUCK" in line for line in twin["stuck"])
    assert wakeproof("conform", "--traces", "-1").returncode == 2


def test_a_judge_that_differs_from_the_other_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    part = ticket_graph()
    monkeypatch.setattr(conform_spec, "graph", lambda *_: (part.graph, part.actions))
    monkeypatch.setattr(trace_batch, "accepted", lambda *_: {0})
    with pytest.raises(JudgeError, match="TLC accepts it, the replay does not"):
        traces.traces("ticket", count=1, twins=False)


@pytest.mark.parametrize("table", TRACED, ids=lambda table: table.name)
def test_a_site_that_no_table_knows_is_named_and_each_spec_has_a_twin(table: TraceConcept) -> None:
    odd = [ticket(0, "Z9", 1)]
    if table is SEARCH_TRACES:  # reads the program: what does not belong there is rejected
        assert table.explain(0, odd)[0].steps[0].action == "no step for [Z9] here"
    else:
        with pytest.raises(JudgeError, match=rf"{table.name}: round 1: .* knows no 'Z9'"):
            trace_of(table, Round(1, [odd], [False]))
    assert any(t.twins for t in TRACED if t.concept.module == table.concept.module)


def test_an_unknown_concept_and_a_bad_number_are_named() -> None:
    with pytest.raises(UsageError, match=r"nothing.*there are parker, ticket"):
        traces.traces("nothing")
    with pytest.raises(UsageError, match="is not a regular expression"):
        traces.traces("[")
    with pytest.raises(UsageError, match="--traces 0: allowed: 1 or more"):
        traces.traces("ticket", count=0)


def test_events_that_overlap_may_go_in_either_order_and_others_not() -> None:
    early, late = ticket(0, "T1", 1), ticket(1, "T3", 5)
    across = Event(1, 2, 9, "T3", -1, 0, 0, happened=True)
    apart, both = (
        Trace(1, ((Cell(early, ()),), (Cell(e, ()),))) for e in (late, across)
    )  # fmt: skip
    assert apart.may_go((0, 0), 0)
    assert not apart.may_go((0, 0), 1)
    assert apart.may_go((1, 0), 1)
    early_across = Trace(1, ((Cell(ticket(0, "T1", 3), ()),), (Cell(across, ()),)))
    assert all(early_across.may_go((0, 0), k) for k in (0, 1))
    assert both.may_go((0, 0), 0)


def test_a_behaviour_is_accepted_and_its_edges_are_covered() -> None:
    replay = ticket_graph()
    found = replay.explain(trace_of(TICKET_TRACES, Round(1, [TAKEN], [True])))
    assert found.accepted
    covered = {move.edge for move in found.moves if move.edge >= 0}
    assert replay.coverage(covered).edges == 3
    assert replay.coverage({0}).never == ("Enter", "Release")
    assert replay.coverage({0}).actions["Acquire"] == (1, 1)


def test_a_trace_that_sticks_is_shown_with_thread_label_action_and_state() -> None:
    replay = ticket_graph()
    trace = trace_of(TICKET_TRACES, Round(1, [TAKEN[:1] + TAKEN[2:]], [True]))
    found = replay.explain(trace)
    assert not found.accepted
    header, first, stuck, state = replay.stuck(trace, found)
    assert header.split() == ["thread", "|", "label", "|", "action"]
    assert first.split() == ["owner", "|", "[T1]", "0", "->", "0", "at", "1..2", "|", "Acquire"]
    assert "owner  | [T5]" in stuck
    assert "STUCK (Release(owner))" in stuck
    assert 'thread = [owner |-> "wait"]' in state


def test_only_a_listed_hidden_action_may_happen_unseen() -> None:
    unseen = trace_of(TICKET_TRACES, Round(1, [[TAKEN[0], TAKEN[2]]], [True]))
    replay = ticket_graph()
    assert not replay.explain(unseen).accepted
    replay.table = replace(TICKET_TRACES, hidden=(("Enter", ()),))
    assert replay.explain(unseen).accepted


def test_coverage_counts_what_the_scenario_can_reach() -> None:
    replay = ticket_graph()
    kept = replace(TICKET_TRACES.concept, keeps=lambda action, *_: action != "Enter")
    replay.table = replace(TICKET_TRACES, concept=kept)
    cover = replay.coverage({0, 1})
    assert (cover.edges, cover.of_edges, cover.of_states) == (1, 1, 2)


def test_a_search_run_with_a_look_at_a_queue_during_a_pop_is_set_aside() -> None:
    pop = [("Q15", 264), ("Q4", 256), ("Q13", 264), ("Q8", 256), ("Q5", 0), ("Q16", 128),
           ("Q7", 128), ("Q6", 264)]  # fmt: skip
    steps = [("Start", -1), ("Q9", 256), ("T1", 0), ("T2", 8), *pop]
    events = [Event(0, 10 * n, 10 * n + 9, site, place, 0, int(site in ("Q9", "Q4")), happened=True)
              for n, (site, place) in enumerate(steps)]  # fmt: skip
    look = Event(1, 71, 72, "Q9", 256, 0, 0, happened=True)
    elsewhere = replace(look, place=256 + 896)
    after = replace(look, begin=150, end=151)
    for seen, alone in ((look, False), (elsewhere, True), (after, True)):
        assert judged(Round(1, [events, [seen], []], [False] * 3)) is alone


def test_lies_come_again_from_the_same_seed_and_change_what_is_judged() -> None:
    rounds = [Round(1, [TAKEN, LOST, []], [True, True, True])]
    one, again, other = (tampered(TICKET_TRACES, rounds, 9, seed) for seed in (1, 1, 2))
    assert [lie.tampered for lie in one] == [lie.tampered for lie in again]
    assert [lie.tampered for lie in one] != [lie.tampered for lie in other]
    told = trace_of(TICKET_TRACES, rounds[0])
    assert all(lie.cells != told.cells for lie in one)


def test_conditions_say_the_same_in_tla_and_here() -> None:
    assert has(1).tla("bits") == "bits \\cap {1} = {1}"
    assert has(1).holds(frozenset({1, 2}))
    assert not lacks(1).holds(frozenset({1, 2}))
    assert Not("asleep").tla("owner") == 'owner # "asleep"'
    step = Step(NOTHING, (), {"member.0": "run"}, {"sibling.s1.at": "idle"})
    assert step.tla({}) == 'member[0] = "run" /\\ UNCHANGED vars /\\ sibling\'["s1"]["at"] = "idle"'
    assert step.fits({"member": {0: "run"}}, {"sibling": {"s1": {"at": "idle"}}})
    assert not step.fits({"member": {0: "add"}}, {"sibling": {"s1": {"at": "idle"}}})


def test_what_the_recorder_printed_is_read_and_a_cut_is_noticed() -> None:
    lines = ["r 1", "e 0 1 2 a.c 7 - @8 5 @16 0", "e 0 3 0 futex.c 9 futex_wait - 0 0 1",
             "x 0 stopped", "end 1"]  # fmt: skip
    (one,) = trace_events.read(lines, {("a.c", 7): "PK1"})
    assert one.threads[0][0] == Event(0, 1, 2, "PK1", 8, 5, trace_events.BASE + 16, happened=False)
    assert one.threads[0][1].end == math.inf
    assert one.returned == [False]
    with pytest.raises(JudgeError, match="not complete"):
        trace_events.read(lines[:-1], {})


def test_stamps_order_each_threads_events_and_are_used_once(builder: Builder) -> None:
    program = builder.program(scenario("ticket"), Build(kind="recorded"))
    ran = record(program, "--test", "conform_ticket", "--rounds", "50")
    for one in trace_events.read(ran.stdout.splitlines(), {}):
        stamps = [s for thread in one.threads for e in thread for s in (e.begin, e.end)]
        assert sorted(stamps) == list(range(1, len(stamps) + 1))
        for thread in one.threads:
            assert all(a.end < b.begin for a, b in pairwise(thread))


def test_a_ring_that_is_too_small_is_an_error_and_a_bad_option_is_named(builder: Builder) -> None:
    program = builder.program(scenario("ticket"), Build(kind="recorded"))
    small = record(program, "--test", "conform_ticket", "--ring", "2", "--rounds", "20")
    assert small.returncode == 1
    assert "holds 2 events, it had" in small.stderr
    for options in (["--ring", "3"], ["--rounds", "x"], ["--test", "none"], ["--what", "1"]):
        wrong = record(program, "--test", "conform_ticket", *options)
        assert wrong.returncode == 2, options


def test_builds_that_measure_record_nothing(builder: Builder) -> None:
    names = [
        subprocess.run(["nm", str(builder.program(scenario("ticket"), Build(kind=kind)))],
                       capture_output=True, text=True, check=True).stdout
        for kind in ("recorded", "stress")
    ]  # fmt: skip
    assert "wp_events_mine" in names[0]
    assert "wp_events" not in names[1]


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["address", "undefined", "thread"])
def test_the_recorder_is_clean_under_sanitizers(builder: Builder, sanitizer: str) -> None:
    build = Build(kind="recorded", sanitizer=sanitizer)
    ran = record(builder.program(scenario("parker"), build), "--test", "conform_parker",
                 "--rounds", "20")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert not ran.stderr
