# SPDX-License-Identifier: Apache-2.0
"""Small programs as data: their language, their exploration, and its report.

Exact counts of many programs are in test_published.py.  Here each field of a result occurs once.
"""

from __future__ import annotations

import pytest

from wakeproof.errors import JudgeError
from wakeproof.judge.explore import litmus
from wakeproof.judge.explore import results as explore_results
from wakeproof.judge.explore.litmus import Explorer
from wakeproof.judge.explore.litmus_program import (
    ACQUIRE,
    PLAIN,
    RELEASE,
    SEQ_CST,
    Assert,
    Assume,
    Cas,
    Fence,
    Goto,
    If,
    Label,
    Let,
    Load,
    Operation,
    Program,
    Step,
    Store,
    Thread,
    Update,
    Wait,
    Wake,
)
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Result

pytestmark = pytest.mark.slow  # the explorer is compiled once

SC, TSO, RC11 = Model.SC, Model.TSO, Model.RC11
GRAPHS = ExploreOptions(engine="graphs", loop_bound=0, timeouts=False)
STATES = ExploreOptions(engine="states", models=(SC, TSO), loop_bound=0, timeouts=False)


def program(name: str, *threads: tuple[Operation, ...], observe: tuple[str, ...] = ()) -> Program:
    return Program(name, tuple(Thread(thread) for thread in threads), observe)


def buffering(order: str = RELEASE, *between: Operation) -> Program:
    return program(
        "SB",
        (Store("x", 1, order), *between, Load("r0", "y", ACQUIRE)),
        (Store("y", 1, order), *between, Load("r0", "x", ACQUIRE)),
        observe=("0:r0", "1:r0"),
    )


def only(explorer: Explorer, of: Program, model: Model, options: ExploreOptions = GRAPHS) -> Result:
    return litmus.explore([of], (model,), options, examples=True, explorer=explorer)[0][model]


def test_every_class_is_a_line_of_the_language() -> None:
    lines: dict[Operation, str] = {
        Load("r0", "x", ACQUIRE): "r0 = load x acquire",
        Store("a[r1]", "r0", PLAIN): "store a[r1] r0 plain",
        Update("add", "x", 2, RELEASE, "r1"): "r1 = add x 2 release",
        Update("exchange", "x", 1): "exchange x 1 relaxed",
        Cas("x", 0, 1, ACQUIRE, into="r0"): "r0 = cas x 0 1 acquire relaxed",
        Cas("x", 0, 1, weak=True): "cas_weak x 0 1 relaxed relaxed",
        Fence(): "fence seq_cst",
        Wait("x", 1, "r0"): "r0 = wait x 1",
        Wait("x", 1, deadline=True): "wait_until x 1",
        Wake("x"): "wake x 1",
        Step(): "step",
        Let("r1", "r0", "+", 1): "r1 = r0 + 1",
        Let("r1", 7): "r1 = 7",
        If("r0", "==", 1, "again"): "if r0 == 1 goto again",
        Goto("again"): "goto again",
        Label("again"): "again:",
        Assume("r0", "==", 1): "assume r0 == 1",
        Assert("r0", "!=", 1): "assert r0 != 1",
    }
    assert [str(operation) for operation in lines] == list(lines.values())


def test_a_program_is_written_with_arrays_and_initial_values_before_its_threads() -> None:
    whole = Program("p", (Thread((Store("a", 1),)),), ("a",), {"x": 5}, {"a": 2})
    expected = ["program p", "array a 2", "init x 5", "thread", "store a 1 relaxed", "observe a"]
    assert str(whole).splitlines() == expected


def test_each_line_of_the_language_is_read(explorer: Explorer) -> None:
    everything = Program(
        "everything",
        (
            Thread((
                Store("x", 1), Load("r0", "x"), Update("add", "x", 2, into="r1"),
                Cas("x", 3, 4, into="r2"), Cas("x", 4, 5, weak=True), Fence(), Fence("light"),
                Fence("heavy"), Step(), Wake("x"), Wait("x", 9, "r3"), Store("a[r0]", 7),
                Let("r4", "r0", "+", 1), If("r4", "==", 2, "there"), Let("r4", 0), Label("there"),
                Assume("r4", "==", 2), Assert("r1", "==", 1),
            )),
        ),
        ("0:r0", "0:r1", "0:r2", "0:r3", "0:r4", "a"),
        {"x": 0}, {"a": 2},
    )  # fmt: skip
    for options, models in ((GRAPHS, (SC, TSO, RC11)), (STATES, (SC, TSO))):
        found = litmus.explore([everything], models, options, explorer=explorer)[0]
        assert {model: result.error for model, result in found.items()} == dict.fromkeys(models, "")
        assert {result.texts for result in found.values()} == {frozenset({"1,1,3,1,2,0"})}


def test_store_buffering_has_its_published_numbers_of_executions(explorer: Explorer) -> None:
    bare, fenced = litmus.explore(
        [buffering(), buffering(RELEASE, Fence(SEQ_CST))], options=GRAPHS, explorer=explorer
    )
    assert {model.value: result.executions for model, result in bare.items()} == {
        "sc": 3, "tso": 4, "rc11": 4,
    }  # fmt: skip
    assert [result.executions for result in fenced.values()] == [3, 3, 3]
    assert all(r.exhaustive and not r.error for found in (bare, fenced) for r in found.values())


def test_both_engines_give_the_same_outcomes(explorer: Explorer) -> None:
    for of in (buffering(), buffering(SEQ_CST)):
        for model in (SC, TSO):
            graphs, states = (only(explorer, of, model, o) for o in (GRAPHS, STATES))
            assert graphs.texts == states.texts
            assert (graphs.engine, states.engine) == ("graphs", "states")
            assert states.states > 0


def test_results_come_in_the_order_of_the_programs(explorer: Explorer) -> None:
    programs = [program(f"p{n}", (Store("x", n),), observe=("x",)) for n in range(300)]
    found = litmus.explore(programs, (SC, RC11), GRAPHS, explorer=explorer)
    assert [each[RC11].texts for each in found] == [{str(n)} for n in range(300)]
    assert [each[SC].program for each in found] == [f"p{n}" for n in range(300)]
    # Left out, because there are thousands of programs.
    assert found[0][SC].outcomes[0].example == ()


def test_an_example_names_thread_operation_location_and_what_was_read(explorer: Explorer) -> None:
    weak = only(explorer, buffering(), RC11)
    zero = next(outcome for outcome in weak.outcomes if outcome.text == "0,0")
    reads = [event for event in zero.example if event.kind == "load"]
    assert zero.count == 1
    assert {(e.thread, e.location, e.order, e.value, e.read_from) for e in reads} == {
        (0, "y", "acquire", 0, explore_results.INITIAL),
        (1, "x", "acquire", 0, explore_results.INITIAL),
    }
    assert {(e.written, e.site.line if e.site else 0) for e in zero.example if e.written} == {
        (1, 3), (1, 6),
    }  # fmt: skip


@pytest.mark.parametrize("options", [GRAPHS, STATES], ids=["graphs", "states"])
@pytest.mark.parametrize(
    ("threads", "text", "verdict"),
    [
        (((Wait("x", 0),), (Store("y", 1),)), "asleep", "asleep"),
        (((Wait("x", 0),), (Store("x", 1),)), "asleep", "lost_wakeup"),
        (((Label("l"), Load("r0", "x"), If("r0", "==", 0, "l")),), "stuck", "stuck"),
        (((Store("x", 1, PLAIN),), (Load("r0", "x"),)), "race", "race"),
        (((Store("x", 1),), (Load("r0", "x"), Assert("r0", "==", 0))), "assertion", "assertion"),
    ],
)
def test_each_way_to_end_badly_has_a_verdict_of_its_own(
    explorer: Explorer,
    options: ExploreOptions,
    threads: tuple[tuple[Operation, ...], ...],
    text: str,
    verdict: str,
) -> None:
    found = only(explorer, program("bad", *threads), SC, options)
    bad = {outcome.verdict: outcome for outcome in found.outcomes if outcome.verdict != "ended"}
    assert {(outcome.text, outcome.verdict) for outcome in bad.values()} == {(text, verdict)}
    assert bad[verdict].example


def test_equal_seeds_give_equal_results(explorer: Explorer) -> None:
    for options in (GRAPHS, STATES, ExploreOptions(engine="graphs", sample=20, seed=7)):
        first, second = (only(explorer, buffering(), TSO, options) for _ in range(2))
        assert (first.outcomes, first.executions) == (second.outcomes, second.executions)


def test_a_limit_that_is_reached_is_named(explorer: Explorer) -> None:
    limited = only(explorer, buffering(), RC11, ExploreOptions(engine="graphs", max_executions=2))
    assert (limited.exhaustive, limited.stopped) == (False, "max_executions")
    assert limited.coverage == "not exhaustive: execution limit, of about 4 executions"
    assert limited.share == "50 %"
    sampled = only(explorer, buffering(), RC11, ExploreOptions(engine="graphs", sample=5))
    assert (sampled.exhaustive, sampled.coverage) == (False, "sampled")


def test_no_execution_comes_twice(explorer: Explorer) -> None:
    options = ExploreOptions(engine="graphs", check_duplicates=True)
    counting = [(Update("add", "x", 1),)] * 4
    found = only(explorer, program("count", *counting, observe=("x",)), RC11, options)
    assert (found.executions, found.duplicates) == (24, 0)
    assert found.texts == {"4"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("program p\nthread\nfoo\n", "line 3: foo is not an operation"),
        ("program p\nthread\nload x acquire\nr9 = load x relaxed\n", "r9 is no register"),
        ("program p\nthread\ngoto nowhere\n", "no label nowhere"),
        ("program p\n", "no thread"),
        ("program p\nstore x 1 relaxed\n", "before the first `thread`"),
    ],
)
def test_a_program_that_cannot_be_read_has_its_line_in_its_error(
    explorer: Explorer, text: str, message: str
) -> None:
    good = buffering()
    broken, whole = litmus.explore([text, good], (RC11,), GRAPHS, explorer=explorer)
    assert message in broken[RC11].error
    assert (broken[RC11].program, broken[RC11].threads) == ("p", 0)
    assert whole[RC11].error == ""


def test_what_is_no_result_is_a_judges_error() -> None:
    for line in ("{}", "[]", "nonsense", '{"program": 1}'):
        with pytest.raises(JudgeError, match="printed no result"):
            explore_results.parse(line)
