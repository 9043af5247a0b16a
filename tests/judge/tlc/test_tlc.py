# SPDX-License-Identifier: Apache-2.0
"""Reading TLC: a verdict only if TLC gave one, and counterexamples that people can follow."""

from __future__ import annotations

from wakeproof.judge.process import Finished
from wakeproof.judge.tlc import counterexample, values
from wakeproof.judge.tlc.run import Outcome, Step, TlcResult, read_result

PASSED = """@!@!@STARTMSG 2193:0 @!@!@
Model checking completed. No error has been found.
@!@!@ENDMSG 2193 @!@!@
@!@!@STARTMSG 2199:0 @!@!@
2,740,001 states generated, 1,234 distinct states found, 0 states left on queue.
@!@!@ENDMSG 2199 @!@!@
@!@!@STARTMSG 2194:0 @!@!@
The depth of the complete state graph search is 56.
@!@!@ENDMSG 2194 @!@!@
"""


def read(code: int, output: str, *, timed_out: bool = False) -> TlcResult:
    return read_result(Finished(code, output, timed_out), 1.0)


def result(*states: dict[str, str], back_to: int = 0) -> TlcResult:
    steps = tuple(Step("Go" if number else "", state) for number, state in enumerate(states))
    return TlcResult(Outcome.INVARIANT, "Small", 9, 9, steps, back_to, False, "", 1.0)


def test_a_pass_needs_the_success_line_as_well_as_exit_code_0() -> None:
    passed = read(0, PASSED)
    assert (passed.outcome, passed.states, passed.depth) == (Outcome.OK, 1234, 56)
    assert read(0, PASSED.replace("No error has been found", "...")).outcome is Outcome.CRASH


def test_a_run_that_was_killed_has_no_verdict_whatever_it_printed() -> None:
    assert read(0, PASSED, timed_out=True).outcome is Outcome.TIMEOUT
    killed = read(-9, "java: out of memory\n")
    assert (killed.outcome, killed.message) == (
        Outcome.CRASH,
        "exit code -9; java: out of memory",
    )


def test_an_error_inside_another_message_is_told() -> None:
    output = (
        "@!@!@STARTMSG 1000:1 @!@!@\nTLC threw an unexpected exception.\n"
        "@!@!@STARTMSG 2266:0 @!@!@\nThe second argument of > is no integer\n"
        "@!@!@ENDMSG 2266 @!@!@\n@!@!@ENDMSG 1000 @!@!@\n"
    )
    failed = read(75, output)
    assert (failed.outcome, failed.message) == (
        Outcome.EVALUATION,
        "The second argument of > is no integer",
    )


def test_the_changes_of_a_step_are_the_smallest_parts_that_differ() -> None:
    before = values.parse('[p1 |-> [at |-> "run", n |-> 1], p2 |-> <<{1, 2}, -3>>]')
    after = values.parse('[p1 |-> [at |-> "end", n |-> 1], p2 |-> <<{1, 2}, -3>>]')
    assert list(values.changes(before, after, "pc")) == [("pc[p1][at]", "run", "end")]


def test_a_function_is_read_in_both_of_its_printed_forms() -> None:
    assert values.parse('(p1 :> 1 @@ "poller" :> <<>>)').text == "{p1: 1, poller: <<>>}"
    assert values.parse("[p1 |-> 1, poller |-> <<>>]").text == "{p1: 1, poller: <<>>}"


def test_the_thread_of_a_step_is_the_index_of_what_changes_oftenest() -> None:
    pcs = ("(a :> 1 @@ b :> 1)", "(a :> 2 @@ b :> 1)", "(a :> 2 @@ b :> 2)")
    found = counterexample.rows(result(*({"pc": pc, "x": str(n // 2)} for n, pc in enumerate(pcs))))
    assert [row.thread for row in found] == ["", "a", "b"]
    assert found[2].changes == ("pc[b]: 1 -> 2", "x: 0 -> 1")


def test_a_lasso_ends_with_the_state_that_it_returns_to() -> None:
    assert counterexample.rows(result({"x": "1"}, {"x": "2"}, back_to=1))[-1].action == (
        "(back to step 1, for ever)"
    )
