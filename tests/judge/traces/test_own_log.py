# SPDX-License-Identifier: Apache-2.0
"""`wakeproof traces`: a user's log against a user's spec, and logs and generators that lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Command

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.tlc.config import model_values, sections
from wakeproof.judge.traces import own_module
from wakeproof.judge.traces.own_actions import Action, Call
from wakeproof.judge.traces.own_log import Reader, Vocabulary
from wakeproof.judge.traces.own_run import LogReport, check_log

QUEUE = r"""
------------------------------- MODULE Queue -------------------------------
EXTENDS Naturals, Sequences
CONSTANTS Producers, Capacity
VARIABLES queue, sent
vars == <<queue, sent>>
Init == queue = <<>> /\ sent = [p \in Producers |-> 0]
Send(p) ==
  /\ Len(queue) < Capacity
  /\ queue' = Append(queue, p)
  /\ sent' = [sent EXCEPT ![p] = @ + 1]
Receive ==
  /\ queue # <<>>
  /\ queue' = Tail(queue)
  /\ UNCHANGED sent
Next == (\E p \in Producers : Send(p)) \/ Receive
Spec == Init /\ [][Next]_vars
=============================================================================
"""
QUEUE_CFG = """SPECIFICATION Spec
CONSTANTS
  Producers = {p1, p2}  \\* model values
  Capacity = 2
INVARIANT Nothing
"""
GOOD = [
    {"action": "Send", "args": ["p1"], "queue": ["p1"]},
    {"action": "Send", "queue": ["p1", "p2"], "sent": {"p1": 1, "p2": 1}},
    {"action": "Receive"},
    {"queue": []},
    {"action": "Send", "args": ["p1"], "sent": {"p1": 2, "p2": 1}},
]
SWAPPED = [GOOD[0], GOOD[2], GOOD[1], *GOOD[3:]]
WRONG = [*GOOD[:4], {**GOOD[4], "sent": {"p1": 1, "p2": 1}}]
MISSING = [*GOOD[:2], *GOOD[3:]]

# Actions at every place where a next-state relation can have them.
PLACES = r"""
------------------------------- MODULE Places -------------------------------
EXTENDS Counter
CONSTANTS Steps
VARIABLES y, mode
I == INSTANCE Inner WITH n <- y
Both(Good(_), p) == Good(p) /\ y' = y + p /\ UNCHANGED mode
Even(n) == n % 2 = 0
Alone(a, b) == y' = y + a * b /\ UNCHANGED mode
Chosen(p) == LET double == 2 * p
                 half == p \div 2  \* of a number (
             IN  \/ Alone(double, p)
                 \/ Both(Even, half) \/ Both(LAMBDA n : n > 1, p)
Toggle == mode' = ~mode /\ UNCHANGED y
Odd == \E <<a, b>> \in {<<1, 2>>, <<3, 4>>} : y' = a + b /\ UNCHANGED mode
Next ==
  \/ /\ \/ \E p \in Steps, q \in {10} : (* a comment ( *) (
             \/ Chosen(p)
             \/ Alone(p, q))
        \/ I!Up(5) /\ UNCHANGED mode
        \/ IF mode THEN Toggle
                   ELSE y' = 100 /\ UNCHANGED mode
        \/ Odd
     /\ UNCHANGED count
  \/ Tick /\ UNCHANGED <<y, mode>>
Start == count = 0 /\ y = 0 /\ mode \in BOOLEAN
=============================================================================
"""
COUNTER = r"""
---- MODULE Counter ----
EXTENDS Integers
VARIABLE count
Tick == count' = count + 1
====
"""
INNER = r"""
---- MODULE Inner ----
EXTENDS Naturals
VARIABLE n
Up(d) == n' = n + d
====
"""
PLACES_CFG = "INIT Start\nNEXT Next\nCONSTANT Steps = {1, 3}\n"

VALUES = r"""
---- MODULE Values ----
EXTENDS Integers
CONSTANTS Node, none
VARIABLES v
Init == v = 0
IsNumber == v' = -3
IsText == v' = "none"
IsModel == v' = none
IsRecord == v' = [from |-> 1, set |-> <<2>>]
IsSet == v' = {"a", "n1"}
IsFunction == v' = [x \in Node |-> TRUE]
IsPairs == v' = [x \in {<<1, 2>>, <<2, 1>>} |-> x[1]]
IsSequence == v' = <<[a |-> {}], [a |-> {}]>>
IsArray == v' = [x \in 5..6 |-> x + 1]
Next == \/ IsNumber \/ IsText \/ IsModel \/ IsRecord \/ IsSet \/ IsFunction \/ IsPairs
        \/ IsSequence \/ IsArray
Spec == Init /\ [][Next]_v /\ WF_v(Next)
====
"""
VALUES_CFG = "SPECIFICATION Spec\nCONSTANTS Node = {n1, n2} none = none\n"


def written(folder: Path, log: list[dict[str, object]]) -> Path:
    file = folder / "run.ndjson"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in log), encoding="utf-8")
    return file


def queue(folder: Path, log: list[dict[str, object]], stutter: int = 0) -> LogReport:
    (folder / "Queue.tla").write_text(QUEUE, encoding="utf-8")
    (folder / "Queue.cfg").write_text(QUEUE_CFG, encoding="utf-8")
    return check_log(folder / "Queue.tla", written(folder, log), stutter=stutter)


def places(folder: Path, log: list[dict[str, object]]) -> LogReport:
    for name, text in {"Places": PLACES, "Counter": COUNTER, "Inner": INNER}.items():
        (folder / f"{name}.tla").write_text(text, encoding="utf-8")
    (folder / "Places.cfg").write_text(PLACES_CFG, encoding="utf-8")
    return check_log(folder / "Places.tla", written(folder, log))


def rejected(found: LogReport) -> int | None:
    return found.rejected.number if found.rejected else None


@pytest.mark.slow
def test_a_log_of_the_spec_is_accepted(tmp_path: Path) -> None:
    found = queue(tmp_path, GOOD)
    assert found.holds
    assert (found.lines, found.of_last) == (5, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("log", "line"), [(SWAPPED, 3), (WRONG, 5), (MISSING, 3)], ids=["swapped", "wrong", "missing"]
)
def test_a_log_that_lies_is_rejected_at_the_first_line_that_shows_it(
    log: list[dict[str, object]], line: int, tmp_path: Path
) -> None:
    assert rejected(queue(tmp_path, log)) == line


@pytest.mark.slow
def test_a_rejected_line_comes_with_the_last_states_and_the_steps_from_there(
    tmp_path: Path,
) -> None:
    found = queue(tmp_path, WRONG)
    assert found.rejected is not None
    assert json.loads(found.rejected.text) == WRONG[4]
    (state,) = found.last
    assert state.values == {"queue": "<<>>", "sent": "(p1 :> 1 @@ p2 :> 1)"}
    assert [(one.name, one.values["sent"]) for one in state.steps] == [
        ("Send(p1)", "(p1 :> 2 @@ p2 :> 1)"), ("Send(p2)", "(p1 :> 1 @@ p2 :> 2)"),
    ]  # fmt: skip


@pytest.mark.slow
def test_all_last_states_are_shown_when_the_log_does_not_say_which(tmp_path: Path) -> None:
    found = queue(tmp_path, [{"action": "Send"}, {"action": "Send"}, {"action": "Send"}])
    assert rejected(found) == 3
    assert {one.values["queue"] for one in found.last} == {
        f"<<{a}, {b}>>" for a in ("p1", "p2") for b in ("p1", "p2")
    }
    assert all([step.name for step in one.steps] == ["Receive"] for one in found.last)


@pytest.mark.slow
@pytest.mark.parametrize(("stutter", "line"), [(0, 2), (1, 2), (2, None), (3, None)])
def test_the_spec_may_take_as_many_untold_steps_before_a_line_as_stutter_says(
    stutter: int, line: int | None, tmp_path: Path
) -> None:
    log: list[dict[str, object]] = [{"queue": ["p1"]}, {"sent": {"p1": 2, "p2": 2}}]
    assert rejected(queue(tmp_path, log, stutter)) == line


@pytest.mark.slow
@pytest.mark.parametrize(("told", "line"), [([], None), (["p1"], 1)])
def test_the_first_line_may_tell_the_initial_state(
    told: list[str], line: int | None, tmp_path: Path
) -> None:
    found = queue(tmp_path, [{"action": "Init", "queue": told}, {"queue": ["p2"]}])
    assert rejected(found) == line
    assert found.last == ()


@pytest.mark.slow
def test_actions_are_found_in_every_part_of_a_next_state_relation(tmp_path: Path) -> None:
    log: list[dict[str, object]] = [
        {"action": "Start", "mode": True},
        {"action": "Alone", "args": [6, 3], "y": 18},  # LET double
        {"action": "Alone", "args": [3, 10], "y": 48},
        {"action": "Chosen", "args": [3], "y": 51},  # Both with LAMBDA
        {"action": "I!Up", "y": 56},
        {"action": "Both", "y": 59},
        {"action": "Toggle", "mode": False},
        {"action": "Odd", "y": 7},
        {"y": 100, "mode": False},
        {"action": "Tick", "count": 1},
    ]
    assert rejected(places(tmp_path, log)) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        {"action": "Alone", "args": [6, 10]},  # of the second place with the first one's argument
        {"action": "I!Up", "args": [6]},
        {"action": "Tick", "y": 1},
        {"action": "Toggle", "mode": True},
        {"action": "Odd", "y": 5},
    ],
    ids=str,
)
def test_a_step_with_a_name_is_a_step_that_the_spec_allows(
    line: dict[str, object], tmp_path: Path
) -> None:
    found = places(tmp_path, [{"action": "Start", "mode": True}, line])
    assert rejected(found) == 2
    steps = {one.name for state in found.last for one in state.steps}
    assert steps == {
        "Alone(1, 10)", "Alone(2, 1)", "Alone(3, 10)", "Alone(6, 3)", "Both", "I!Up(5)",
        "Toggle", "Odd", "Tick",
    }  # fmt: skip


@pytest.mark.slow
def test_each_kind_of_value_has_a_form(tmp_path: Path) -> None:
    (tmp_path / "Values.tla").write_text(VALUES, encoding="utf-8")
    (tmp_path / "Values.cfg").write_text(VALUES_CFG, encoding="utf-8")
    forms: dict[str, object] = {
        "IsNumber": -3, "IsText": {"string": "none"}, "IsModel": "none",
        "IsRecord": {"fun": [["from", 1], ["set", [2]]]},
        "IsSet": {"set": ["a", {"string": "n1"}]}, "IsFunction": {"n1": True, "n2": True},
        "IsPairs": {"fun": [[[1, 2], 1], [[2, 1], 2]]},
        "IsSequence": [{"a": {"set": []}}, {"a": {"set": []}}], "IsArray": {"5": 6, "6": 7},
    }  # fmt: skip
    log: list[dict[str, object]] = [{"action": name, "v": form} for name, form in forms.items()]
    assert check_log(tmp_path / "Values.tla", written(tmp_path, log)).holds
    log[-1]["v"] = {"5": 6, "6": 8}
    assert rejected(check_log(tmp_path / "Values.tla", written(tmp_path, log))) == 9


def values_dropped(*_: object) -> str:
    return "TRUE"


def arguments_dropped(call: Call) -> str | None:
    return call.text if call.action else None


def action_dropped(call: Call) -> str | None:
    return call.text


WRONG_ARGUMENT: list[dict[str, object]] = [
    {"action": "Send", "args": ["p1"]}, {"sent": {"p1": 0, "p2": 2}},
]  # fmt: skip
WRONG_ACTION: list[dict[str, object]] = [{"action": "Send"}, {"action": "Send"}, {"action": "Send"}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "defect", "log", "line"),
    [
        ("_compared", values_dropped, WRONG, 5),
        ("_fitting", arguments_dropped, WRONG_ARGUMENT, 2),
        ("_fitting", action_dropped, WRONG_ACTION, 3),
    ],
)
def test_a_generator_that_forgets_a_part_of_the_line_accepts_a_lie(
    place: str, defect: Callable[..., object], log: list[dict[str, object]], line: int,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    assert rejected(queue(tmp_path, log)) == line
    monkeypatch.setattr(own_module, place, defect)
    assert rejected(queue(tmp_path, log)) != line


@pytest.mark.slow
def test_one_untold_step_too_many_accepts_a_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[dict[str, object]] = [{"sent": {"p1": 1, "p2": 1}, "queue": ["p2"]}]
    assert rejected(queue(tmp_path, log, 1)) == 1
    right = own_module.judge

    def too_many(*given: object) -> dict[str, str]:
        texts = right(*given)  # type: ignore[arg-type]
        old = "log__less(log__internal, 1)"
        assert old in texts[own_module.JUDGE]
        new = texts[own_module.JUDGE].replace(old, "log__less(log__internal, 2)")
        return {**texts, own_module.JUDGE: new}

    monkeypatch.setattr(own_module, "judge", too_many)
    assert queue(tmp_path, log, 1).holds


@pytest.mark.slow
def test_a_value_that_tlc_cannot_compare_is_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        queue(tmp_path, [{"action": "Receive"}, {"queue": {"set": ["p1"]}}][1:])
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 'run.ndjson'}:1: ")
    assert "Attempted to check equality of the set {p1} with the value: <<p1>>" in said
    assert "\n" not in said


@pytest.mark.slow
def test_a_log_that_takes_too_long_has_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "Queue.tla").write_text(QUEUE, encoding="utf-8")
    (tmp_path / "Queue.cfg").write_text(QUEUE_CFG, encoding="utf-8")
    log = written(tmp_path, [{"action": "Next"}] * 5000)
    with pytest.raises(JudgeError, match=r"not decided in 4 s; \d+ lines are explained so far"):
        check_log(tmp_path / "Queue.tla", log, seconds=4)


WORDS = Vocabulary(
    ("queue", "sent"),
    {
        "Send": Action("Send", "1", 1, takes_values=True, is_leaf=True),
        "Higher": Action("Higher", "2", 1, takes_values=False, is_leaf=True),
    },
    "Init",
    ("p1",),
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"queue": 1}\n{"queue": [1}\n', ":2:13: no JSON: Expecting ',' delimiter"),
        ("[1]", ':1: an array; allowed: an object, such as {"action": "Name", "variable": 1}'),
        ("7", ':1: 7; allowed: an object, such as {"action": "Name", "variable": 1}'),
        ("", ': the log is empty; write a line a step: {"action": "Name", "variable": value}'),
        (" \n\n", ': the log is empty; write a line a step: {"action": "Name", "variable": value}'),
        ('{"que": 1}',
         ':1: unknown variable que; allowed: queue, sent, and "action" with "args"'),
        ('{"action": "Sent"}', ":1: unknown action Sent; allowed: Send, Higher; Init at first"),
        ('{"action": 3}', ":1: unknown action 3; allowed: Send, Higher; Init at first"),
        ('{"action": null}', ':1: "action" is null; leave it out if the step is not known'),
        ('{"args": [1]}', ':1: "args" without "action"'),
        ('{"action": "Send", "args": 1}', ':1: "args" is 1; allowed: an array'),
        ('{"action": "Send", "args": []}', ":1: Send has 0 arguments; allowed: 1"),
        ('{"action": "Higher", "args": [1]}', ':1: Higher takes an operator: leave out "args"'),
        ('{}\n{"action": "Init"}',
         ":2: Init is the initial state, which only the first line can tell"),
        ('{"queue": 1, "queue": 2}', ':1: "queue" stands twice in one object'),
        ('{"queue": NaN}', ":1: NaN is no value of TLA+"),
        ('{"queue": 2147483648}', ":1: queue: 2147483648 is too large; allowed: up to 2147483647"),
        ('{"queue": {"fun": [1]}}', ':1: queue: "fun" takes pairs: [[argument, value], ..]'),
        ('{"queue": "\\u00e9"}',
         ':1: queue: "\\u00e9": TLC\'s strings have printable ASCII alone'),
        ('{"queue": [null]}',
         ":1: queue is null, which is no value of TLA+; allowed: numbers without a fraction, "
         "strings, true, false, arrays, objects; leave a variable out if it is not known"),
        ("[" * 100000, ":1: nested too deeply"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_an_error_with_its_number(
    text: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "run.ndjson"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        Reader(file, WORDS).read()
    assert str(caught.value) == f"{file}{said}"


def test_a_line_becomes_tla(tmp_path: Path) -> None:
    file = tmp_path / "run.ndjson"
    file.write_text(
        '{"action": "Send", "args": ["p1"], "queue": [{"if": -1, "b\\"c": true}], "sent": {}}\n\n'
        '{"queue": {"IF": 1}}\n', encoding="utf-8",
    )  # fmt: skip
    first, second = Reader(file, WORDS).read()
    assert first.arguments == ("log__value_0",)
    assert first.values == {"queue": '<<(("if" :> (-1)) @@ ("b\\"c" :> TRUE))>>', "sent": "<<>>"}
    assert (second.number, second.values["queue"]) == (3, '(("IF" :> 1))')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("CONSTANTS Producers = {p1} Capacity = 2",
         "the configuration names no behaviours; write SPECIFICATION NAME, or INIT NAME and NEXT "
         "NAME"),
        ("SPECIFICATION Spek", "the configuration names Spek, which Queue.tla does not define"),
        ("INIT Init NEXT Nix", "the configuration names Nix, which Queue.tla does not define"),
        ("SPECIFICATION Init", "Init is not Init /\\ [][Next]_vars, with or without fairness: write"
         " INIT NAME and NEXT NAME into the configuration"),
    ],
)  # fmt: skip
def test_a_configuration_without_behaviours_is_an_error_that_names_it(
    config: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "Queue.tla").write_text(QUEUE, encoding="utf-8")
    (tmp_path / "Queue.cfg").write_text(config, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        check_log(tmp_path / "Queue.tla", written(tmp_path, GOOD))
    assert str(caught.value) == f"{tmp_path / 'Queue.cfg'}: {said}"


def test_missing_files_are_errors_that_name_them(tmp_path: Path) -> None:
    module, log = tmp_path / "Queue.tla", tmp_path / "run.ndjson"
    with pytest.raises(UsageError, match=r"Queue\.tla: there is no such file"):
        check_log(module, log)
    module.write_text(QUEUE, encoding="utf-8")
    with pytest.raises(UsageError, match=r"run\.ndjson: there is no such file"):
        check_log(module, log)
    log.write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"Queue\.cfg: there is no such file; write the constants"):
        check_log(module, log)
    with pytest.raises(UsageError, match=r"no \.tla file"):
        check_log(log, log)
    module.with_suffix(".cfg").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="stutter is -1; allowed: 0 to 1000"):
        check_log(module, log, stutter=-1)


def test_model_values_are_the_names_that_constants_are_set_to() -> None:
    text = '  P = {p1, p2}  Q = {{a}, {"b"}}\n  N = none F <- Other X <- [M]Y\n  T = TRUE n = 3\n'
    assert model_values(text) == ("p1", "p2", "a", "none")


def test_a_configuration_is_read_by_sections(tmp_path: Path) -> None:
    file = tmp_path / "A.cfg"
    file.write_text(
        '\\* INIT no\nINIT Start NEXT Go (* NEXT no *)\nCONSTANT Op = "INIT"\nCONSTANTS\n  A = 1\n',
        encoding="utf-8",
    )
    assert [(head, body.strip()) for head, body in sections(file)] == [
        ("INIT", "Start"), ("NEXT", "Go"), ("CONSTANT", 'Op = "INIT"'), ("CONSTANTS", "A = 1"),
    ]  # fmt: skip
    file.write_text("INTI Start", encoding="utf-8")
    with pytest.raises(UsageError, match="INTI: no section; allowed: SPECIFICATION, INIT"):
        list(sections(file))


@pytest.mark.rotates
@pytest.mark.slow
def test_the_command_prints_the_verdict_and_ends_with_its_code(
    wakeproof: Command, tmp_path: Path
) -> None:
    queue(tmp_path, GOOD)
    files = str(tmp_path / "Queue.tla"), str(tmp_path / "run.ndjson")
    ended = wakeproof("traces", *files)
    assert (ended.returncode, "accepted: all 5 lines" in ended.stdout) == (0, True)
    written(tmp_path, WRONG)
    ended = wakeproof("traces", *files)
    assert ended.returncode == 1
    assert "explains line 5 of" in ended.stdout
    assert "Send(p1)  sent = (p1 :> 2 @@ p2 :> 1)" in ended.stdout
    ended = wakeproof("traces", *files, "--json")
    assert ended.returncode == 1
    found = json.loads(ended.stdout)
    assert found["rejected"] == {"line": 5, "text": json.dumps(WRONG[4])}
    assert found["last"][0]["steps"][0]["args"] == ["p1"]
    ended = wakeproof("traces", *files, "--config", str(tmp_path / "none.cfg"))
    assert ended.returncode == 2
    assert "none.cfg: there is no such file" in ended.stderr
