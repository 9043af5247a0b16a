# SPDX-License-Identifier: Apache-2.0
"""A counterexample names its variables, actors and lines; and its counts are true."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakeproof.judge.explore import trace as explore_trace
from wakeproof.judge.explore.names import distinct
from wakeproof.judge.explore.options import MODELS, ExploreOptions, Model
from wakeproof.judge.explore.results import Event, Found, Result, Site
from wakeproof.judge.explore.run import ExploreReport, explore
from wakeproof.judge.explore.trace import Row, operation
from wakeproof.judge.labels import Labels
from wakeproof.judge.replay.run import replay

FILE = Path(__file__).parents[1] / "scenarios" / "shown.c"


def explored(name: str, *models: Model, engine: str = "auto") -> ExploreReport:
    return explore([FILE], f"^{name}$", ExploreOptions(models=models or MODELS, engine=engine))


def line_of(mark: str) -> str:
    lines = FILE.read_text().splitlines()
    [at] = [n for n, line in enumerate(lines, 1) if f"/* shown: {mark} */" in line]
    return f"shown.c:{at}"


def rows_of(report: ExploreReport, model: Model) -> tuple[Found, list[Row]]:
    [one] = [c for c in report.counterexamples if c.token.model == model.value]
    return one.found, explore_trace.rows(one.found, Labels(), model)


@pytest.mark.slow
@pytest.mark.parametrize("model", [Model.TSO, Model.RC11])
def test_two_variables_of_one_spelling_are_told_apart(model: Model) -> None:
    found, table = rows_of(explored("shown_names", model), model)
    assert found.actors == ("giver", "taker")
    said = [cell for row in table for cell in row.cells if cell]
    assert {"mine.full = 1 relaxed", "load yours[1].full relaxed"} <= set(said)
    reads = {cell: row for row in table for cell in row.cells if cell.startswith("load")}
    both = (reads["load yours[1].full relaxed"], reads["load mine.full relaxed"])
    assert [row.value for row in both] == ["0", "0"]
    stores = [
        (cell, row.number) for row in table for cell in row.cells if cell.endswith(" relaxed")
    ]
    writes = {cell.split(" ")[0]: number for cell, number in stores if " = 1 " in cell}
    for cell, row in reads.items():  # old exactly where an earlier step wrote its own variable
        assert row.is_stale == (writes[cell.split(" ")[1]] < row.number)


def test_without_debug_information_the_place_tells_them_apart() -> None:
    def store(at: int) -> Event:
        site, name = Site("f.c", 1, ""), "WP__EXPLORE_STORE &box->full"
        return Event(0, "store", "relaxed", site, name, 0, 1, 0, 1, -2, False, "",
                     place=at, offset=4 * at, size=4)  # fmt: skip

    found = distinct(Found("0", "ended", 1, (store(0), store(1))), {}, 64)
    assert [operation(event) for event in found.example] == [
        "box->full (state+0) = 1 relaxed", "box->full (state+4) = 1 relaxed",
    ]  # fmt: skip
    alone = distinct(Found("0", "ended", 1, (store(1),)), {}, 64)
    assert operation(alone.example[0]) == "box->full = 1 relaxed"


@pytest.mark.slow
def test_a_race_is_broken_at_its_own_two_lines() -> None:
    [report] = explored("shown_race", Model.RC11).scenarios
    [judged] = report.judged
    lines = {line_of("racer"), line_of("reader")}
    assert set(judged.broken_at.split(" and ")) == lines
    [message] = judged.messages
    assert all(line in message for line in (*lines, "racer writes plain", "reader reads plain"))
    executions = judged.outcomes[0].found.count
    assert f"race ({executions} of {executions} executions)" in message


ENDS = {
    "shown_assert": ("assert", "assertion", "asserts: !look(&state->mine)"),
    "shown_abort": ("abort", "crash", "aborts: calls abort"),
    "shown_divide": ("divide", "crash", "divides: divides by zero"),
    "shown_stray": ("stray", "crash", "strays: reads memory that is not there, at 0x8"),
    "shown_far": ("far", "crash", "far: touches memory that is not there, at 0x7000000000"),
    "shown_arbiter": ("arbiter", "assertion", "arbiter: look(&state->mine)"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDS)
def test_what_ends_a_process_is_the_last_step_of_a_schedule(name: str) -> None:
    mark, text, said = ENDS[name]
    report = explored(name, Model.SC, Model.RC11, engine="both")
    [scenario] = report.scenarios
    assert not scenario.disagreements
    assert {judged.broken_at for judged in scenario.judged} == {line_of(mark)}
    assert all(said in message for judged in scenario.judged for message in judged.messages)
    for one in report.counterexamples:
        assert (one.found.text, one.found.verdict) == (text, text)
        assert one.found.example[-1].kind == "fail"
        assert any(event.kind == "store" for event in one.found.example)
        assert replay(one.token).digest == one.found.digest


@pytest.mark.parametrize(
    ("engine", "verdict", "said"),
    [
        ("graphs", "race", "16 of 28 executions"),
        ("states", "race", "16 of 28 final states"),
        ("states", "stuck", "16 cycles"),
        ("graphs", "stuck", "16 of 28 executions"),
    ],
)
def test_a_count_is_of_all_that_ended_well_or_not(engine: str, verdict: str, said: str) -> None:
    """Of 12 executions that ended well, 16 cannot race."""
    found = (Found(verdict, verdict, 16, ()), Found("0", "ended", 12, ()))
    result = Result("p", Model.SC, engine, 2, found, 12, 0, 0, 0, 99, 0, 0, exhaustive=True,
                    stopped="", error="", seconds=0.0, bytes=0)  # fmt: skip
    assert result.how_often(found[0]) == said


@pytest.mark.slow
def test_an_error_names_the_actor_by_its_function() -> None:
    options = ExploreOptions(models=(Model.SC,))
    [report] = explore([FILE.with_name("unexplorable.c")], "^refused_static$", options).scenarios
    assert "actor 0 (counting) of refused_static" in report.messages[0]
