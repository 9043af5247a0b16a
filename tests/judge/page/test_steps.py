# SPDX-License-Identifier: Apache-2.0
"""The counterexamples of each judge come out in one form: lanes, steps, changes, sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakeproof.judge.check.run import ConfigResult
from wakeproof.judge.conform.difference import Difference
from wakeproof.judge.conform.maps import CONCEPTS
from wakeproof.judge.conform.run import ConformResult
from wakeproof.judge.explore.kept import Counterexample as Kept
from wakeproof.judge.explore.results import Event, Found, Site
from wakeproof.judge.explore.tokens import Token
from wakeproof.judge.labels import Labels
from wakeproof.judge.linear.cases import CASES
from wakeproof.judge.linear.check import Row
from wakeproof.judge.linear.run import LinearResult
from wakeproof.judge.page import graphs, mermaid, of_check, of_conform, of_explore, of_linear
from wakeproof.judge.page.data import Counterexample, Group, Step
from wakeproof.judge.page.excerpts import Excerpts, definition, labels_in
from wakeproof.judge.tlc import dot
from wakeproof.judge.tlc.manifest import Entry
from wakeproof.judge.tlc.run import Outcome, TlcResult
from wakeproof.judge.tlc.run import Step as TlcStep

MODULE = """---- MODULE Toy ----
\\* Nobody has taken a step.
Init == pc = [t \\in Threads |-> "read"]

\\* A thread adds one.
\\* It may not.
Add(t) ==          \\* [toy.1] toy_add
  /\\ pc[t] = "read"
  /\\ x' = x + 1

\\* What follows.
Next == \\E t \\in Threads : Add(t)
====
"""
TRACE = (
    TlcStep("", {"pc": '[a |-> "read", b |-> "read"]', "x": "0", "log": "<< >>"}),
    TlcStep("Add", {"pc": '[a |-> "done", b |-> "read"]', "x": "0", "log": '<<{1, 2}, "a">>'}),
    TlcStep("Add", {"pc": '[a |-> "done", b |-> "done"]', "x": "2", "log": '<<{1, 2}, "a">>'}),
)
RUN = TlcResult(Outcome.INVARIANT, "Small", 3, 3, TRACE, 0, False, "", 1.0)
VIOLATED = ConfigResult(
    Entry("MCToy_blind.cfg", "MCToy", expect="violates", claim="Toy!Small", defect="It adds two."),
    RUN, ("Small",), "",
)  # fmt: skip


def test_a_counterexample_of_tlc_has_a_lane_for_each_thread_and_the_values_that_changed() -> None:
    excerpts = Excerpts()
    one = of_check.converted(VIOLATED, excerpts, {"Toy": MODULE})
    assert (one.name, one.title) == ("MCToy_blind", "MCToy_blind violates Small")
    assert (one.lanes, [step.lane for step in one.steps]) == (("a", "b"), [-1, 0, 1])
    assert one.steps[0].values["pc"] == Group(
        kind="function", entries=(("a", "read"), ("b", "read"))
    )
    assert set(one.steps[1].values) == {"pc", "log"}
    assert one.steps[1].values["log"] == Group(
        kind="sequence", items=(Group(kind="set", items=("1", "2")), "a")
    )
    assert [(c.place, c.before, c.after) for c in one.steps[2].changes] == [
        ("pc[b]", "read", "done"), ("x", "0", "2"),
    ]  # fmt: skip
    assert [step.sources for step in one.steps] == [("Toy!Init",), ("Toy!Add",), ("Toy!Add",)]
    assert excerpts.all["Toy!Add"].first == 5
    assert excerpts.all["Toy!Add"].text.splitlines()[-1] == "  /\\ x' = x + 1"


@pytest.mark.parametrize(
    ("lasso", "ending", "back_to"),
    [({"stuttering": True}, "Nothing moves any more.", 0),
     ({"back_to": 2}, "Back to step 2, for ever.", 2)],
)  # fmt: skip
def test_a_lasso_says_where_it_leads(lasso: dict[str, int], ending: str, back_to: int) -> None:
    run = TlcResult(**{**vars(RUN), **lasso})
    result = ConfigResult(VIOLATED.entry, run, ("Served",), "")
    one = of_check.converted(result, Excerpts(), {})
    assert (one.ending, one.back_to) == (ending, back_to)


def test_a_twin_s_own_text_of_an_action_is_shown() -> None:
    excerpts = Excerpts()
    excerpts.of_definition({"Toy": MODULE}, "Add")
    key = excerpts.of_definition({"Toy": MODULE.replace("x + 1", "x + 2")}, "Add", "MCToy_blind")
    assert key == "Toy!Add with MCToy_blind"
    assert "x + 2" in excerpts.all[key].text
    assert "x + 1" in excerpts.all["Toy!Add"].text


def test_labels_and_ranges_of_labels_are_found() -> None:
    assert labels_in("[guard.1] then [lock.3]..[lock.5]") == (
        "lock.3", "lock.4", "lock.5", "guard.1",
    )  # fmt: skip
    assert definition(MODULE, "Nothing") is None


def event(thread: int, kind: str, at: int, **fields: object) -> Event:
    made: dict[str, object] = {
        "thread": thread, "kind": kind, "order": "relaxed", "site": Site("race.c", at, kind),
        "location": "xy"[at - 1], "value": 0, "operand": 1, "expected": 0, "written": None,
        "read_from": -2, "drain": False, "text": "", "place": at, **fields,
    }  # fmt: skip
    return Event(**made)  # type: ignore[arg-type]


BUFFERED = (
    event(0, "store", 1, written=1),
    event(1, "load", 1, read_from=-1),
    event(0, "store", 1, written=1, drain=True),
    event(1, "load", 1, read_from=0, value=1),
)


def executed(tmp_path: Path) -> Counterexample:
    (tmp_path / "race.c").write_text("store(x);\nload(y);\n")
    token = Token(str(tmp_path / "race.c"), "race", "", "tso", "states", {}, "0", "ended", "", "")
    found = Found("0", "ended", 1, BUFFERED, actors=("alice", "bob"))
    return of_explore.with_sources([Kept(token, found)], Labels())[0]


def test_a_store_waits_in_its_buffer_until_it_lands(tmp_path: Path) -> None:
    one = executed(tmp_path)
    assert one.buffers == ("store buffer of alice", "store buffer of bob")
    assert one.steps[0].values["store buffer of alice"] == Group(kind="sequence", items=("x = 1",))
    assert "x" not in one.steps[0].values
    assert one.steps[2].values == {"x": "1", "store buffer of alice": Group(kind="sequence")}
    assert [step.lands for step in one.steps] == [0, 0, 1, 0]
    assert [step.reads for step in one.steps] == [0, 0, 0, 1]
    assert one.steps[1].is_stale
    assert one.steps[1].got == "0, initial value, old: the newer one is in a store buffer"
    assert one.sources["race.c:1"].text == "store(x);\nload(y);"


def test_a_difference_of_spec_and_code_has_a_lane_for_each() -> None:
    difference = Difference("the code can Wake, the spec cannot", ("Park",), ("Park = p", "hidden"),
                            "/\\ word = {1}", "word = 2")  # fmt: skip
    result = ConformResult(CONCEPTS[0], "", 1, 1, 1, 1, 1, 1, difference, 1.0)
    one = of_conform.converted(result)
    assert [(step.lane, step.text) for step in one.steps] == [
        (0, "Park"), (0, "(here they differ)"), (1, "Park = p"), (1, "hidden"),
        (1, "(here they differ)"),
    ]  # fmt: skip
    assert one.steps[1].values == {"word": Group(kind="set", items=("1",))}
    assert one.steps[-1].values == {"the code's state": "word = 2"}


def test_a_history_has_a_lane_for_each_thread() -> None:
    rows = (Row(0, "push 1 begins", True), Row(1, "pop returns 0", True))
    one = of_linear.converted(LinearResult(CASES[0], 1, 1, 1, 1, {}, rows, (), 1.0))
    assert [step.lane for step in one.steps] == [0, 1]


def test_a_diagram_has_a_message_for_each_step(tmp_path: Path) -> None:
    assert mermaid.diagram(executed(tmp_path)).splitlines() == [
        "%% race under TSO: 0",
        "sequenceDiagram",
        "  participant t0 as alice",
        "  participant t1 as bob",
        "  participant memory",
        "  t0->>t0: 1. x = 1 relaxed",
        "  t1->>t1: 2. load x relaxed<br/>"
        "0, initial value, old: the newer one is in a store buffer",
        "  t0-)memory: 3. (x = 1 reaches memory)",
        "  t0-->>t1: 4. load x relaxed<br/>1, read from #35;1",
        "  note over t0,t1: The outcome is 0.",
    ]


def test_no_name_ends_a_line_of_a_diagram() -> None:
    one = Counterexample(
        name="x", judge="check", title="a\n%%{init: {}}%%", lanes=("a;\nend",),
        steps=(Step(lane=0, text="<b>;\n# end"),),
    )  # fmt: skip
    lines = mermaid.diagram(one).splitlines()
    assert len(lines) == 4
    assert lines[0] == "%% a #37;#37;{init: {}}#37;#37;"
    assert lines[2:] == ["  participant t0 as a#59; end",
                         "  t0->>t0: 1. #60;b#62;#59; #35; end"]  # fmt: skip


def test_a_state_graph_has_a_row_for_each_distance_from_the_start() -> None:
    lines = [
        '1 [label="/\\\\ x = 0\\n/\\\\ q = <<\\"a\\">>",style = filled]',
        '2 [label="/\\\\ x = 1\\n/\\\\ q = <<>>"]',
        '3 [label="/\\\\ x = 2\\n/\\\\ q = <<>>"]',
        '1 -> 2 [label="Pop",color="black"];',
        '1 -> 3 [label="Pop",color="black"];',
        '3 -> 1 [label="Push",color="black"];',
    ]
    graph = graphs.converted(dot.read(lines), "MCToy", "Two items.")
    assert graph.starts == (0,)
    assert graph.states[0] == {"x": "0", "q": Group(kind="sequence", items=("a",))}
    assert graph.edges == ((0, 1, "Pop"), (0, 2, "Pop"), (2, 0, "Push"))
    assert [y for _, y in graph.places] == [0, graphs.HIGH, graphs.HIGH]
    assert graph.places[1][0] != graph.places[2][0]
