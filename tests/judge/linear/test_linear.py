# SPDX-License-Identifier: Apache-2.0
"""`wakeproof linear`: histories with known verdicts, and the kernel's own."""

from __future__ import annotations

import json
import subprocess
from array import array
from collections.abc import Callable

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.conform.code import END, Dump, Position
from wakeproof.judge.explore.results import why_no_graph
from wakeproof.judge.linear import run as linear
from wakeproof.judge.linear.check import check
from wakeproof.judge.linear.objects import FIFO, biased_lock, local_queue, mpsc, overflowing
from wakeproof.judge.linear.spec import CALL, RETURN, Automaton, Event, Spec

Command = Callable[..., "subprocess.CompletedProcess[str]"]
THREADS = 3


def history(text: str) -> list[Event]:
    """Read "0 push 1 | 0 push -> 0": a call by thread 0 with 1, its return with 0."""
    found = []
    for part in text.split("|"):
        thread, operation, *rest = part.split()
        kind = RETURN if rest[0] == "->" else CALL
        found.append(Event(kind, int(thread), operation, int(rest[-1])))
    return found


def explains(spec: Spec, text: str) -> bool:
    return Automaton(spec, THREADS).explains(history(text))


PUSHED_1_THEN_2 = "0 push 1 | 0 push -> 0 | 1 push 2 | 1 push -> 0 | "
OVERLAPPING = "0 push 1 | 1 push 2 | 0 push -> 0 | 1 push -> 0 | "


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        # Herlihy and Wing 1990, figure 1: queue histories H1 to H4.
        (OVERLAPPING + "1 pop 0 | 1 pop -> 2 | 0 pop 0 | 0 pop -> 1", True),
        (PUSHED_1_THEN_2 + "1 pop 0 | 1 pop -> 2", False),  # and yet sequentially consistent
        ("0 push 1 | 1 pop 0 | 1 pop -> 1", True),  # the push has not returned
        (OVERLAPPING + "0 pop 0 | 1 pop 0 | 0 pop -> 2 | 1 pop -> 2", False),
        # Nothing was taken.
        ("0 pop 0 | 0 pop -> 0", True),
        (PUSHED_1_THEN_2 + "2 pop 0 | 2 pop -> 0", False),
        ("0 push 1 | 1 pop 0 | 1 pop -> 0 | 0 push -> 0", True),
        ("0 push 1 | 1 pop 0 | 1 pop -> 0 | 1 pop 0 | 1 pop -> 1 | 1 pop 0 | 1 pop -> 1", False),
    ],
)  # fmt: skip
def test_queue_histories_have_their_known_verdicts(text: str, verdict: bool) -> None:
    assert explains(FIFO, text) is verdict


BUBBLE = "0 push 1 | 1 push 2 | 1 push -> 0 | 2 pop 0 | 2 pop -> 0"
HOSTAGE = "0 push 1 | 0 push -> 0 | 1 push 2 | 2 pop 0 | 2 pop -> 0"
THIRD = "0 push 1 | 0 push -> 0 | 0 push 2 | 0 push -> 0 | 1 push 3 | 2 pop 0 | 2 pop -> 0"
FORGOTTEN = "0 push 1 | 0 push -> 0 | 2 pop 0 | 2 pop -> 0"


@pytest.mark.parametrize(
    ("text", "fifo", "queue", "late"),
    [
        (BUBBLE, False, True, True),
        (HOSTAGE, False, True, True),
        (THIRD, False, False, True),
        (FORGOTTEN, False, False, True),
        ("0 push 1 | 0 push -> 0 | 0 push 2 | 2 pop 0 | 2 pop -> 2", False, False, False),
    ],
)
def test_a_pop_misses_only_a_bubble_a_hostage_or_a_late_store(
    text: str, fifo: bool, queue: bool, late: bool
) -> None:
    assert [explains(spec, text) for spec in (FIFO, mpsc(), mpsc(1))] == [fifo, queue, late]


HELD = "0 acquire 0 | 0 acquire -> 0 | "


@pytest.mark.parametrize(
    ("text", "verdict", "late"),
    [
        (HELD + "1 try 0 | 1 try -> 0", True, True),
        (HELD + "1 try 0 | 1 try -> 1", False, False),  # two holders
        ("1 try 0 | 1 try -> 0", False, False),  # refused, although no thread has it
        ("0 acquire 0 | 1 try 0 | 1 try -> 0", True, True),  # the owner has its ticket
        (HELD + "0 release 0 | 0 release -> 0 | 1 try 0 | 1 try -> 0", False, True),
        (HELD + "1 release 0 | 1 release -> 0", False, False),  # not the holder
        (HELD + "0 release 0 | 0 release -> 0 | 0 acquire 0 | 0 acquire -> 0", True, True),
    ],
)
def test_ticket_histories_have_their_known_verdicts(text: str, verdict: bool, late: bool) -> None:
    assert [explains(spec, text) for spec in (biased_lock(), biased_lock(1))] == [verdict, late]


KEPT_THEN_PUSHED = "0 keep 1 | 0 keep -> 1 | 0 push 2 | 0 push -> 0 | "


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (KEPT_THEN_PUSHED + "0 pop 0 | 0 pop -> 1", True),
        (KEPT_THEN_PUSHED + "0 pop 0 | 0 pop -> 2", False),  # the slot is served first
        (KEPT_THEN_PUSHED + "1 steal 0 | 1 steal -> 2", True),  # and a thief cannot take it
        (KEPT_THEN_PUSHED + "1 steal 0 | 1 steal -> 1", False),
        (KEPT_THEN_PUSHED + "1 steal 0 | 1 steal -> 0", False),
        (KEPT_THEN_PUSHED + "0 keep 3 | 0 keep -> 1", False),  # it is in use
        (KEPT_THEN_PUSHED + "1 has 0 | 1 has -> 0", False),
        ("0 keep 1 | 0 keep -> 1 | 1 has 0 | 1 has -> 0", True),
    ],
)
def test_bounded_queue_histories_have_their_known_verdicts(text: str, verdict: bool) -> None:
    assert explains(local_queue(), text) is verdict


THREE = "".join(f"0 push {n} | 0 push -> {n // 3} | " for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (THREE + "2 take 0 | 2 take -> 1", True),
        (THREE + "2 take 0 | 2 take -> 0", False),  # the task was there
        (THREE + "0 pop 0 | 0 pop -> 2", True),
        (THREE + "1 steal 0 | 1 steal -> 1", False),  # the task was gone
        (THREE.removesuffix("0 push -> 1 | ") + "2 take 0 | 2 take -> 0", True),
        (THREE.replace("push -> 1", "push -> 0") + "0 pop 0 | 0 pop -> 2", False),
        ("1 steal 0 | " + THREE.replace("push -> 1", "push -> 0") + "1 steal -> 1", True),
    ],
)
def test_histories_of_an_overflow_have_their_known_verdicts(text: str, verdict: bool) -> None:
    assert explains(overflowing(), text) is verdict


# The compiled code.


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["fenced", "asked", "overflow"])  # the audit has all of them
def test_the_kernel_is_linearizable_and_its_twins_are_not(scenario: str) -> None:
    found = linear.linear(scenario, slow=False)
    for result in found.results:
        assert result.holds, (result.case, result.counterexample, result.missing)
    assert any(not result.case.must_fail for result in found.results)


def test_a_case_whose_returns_do_not_occur_says_nothing() -> None:
    case = next(c for c in linear.CASES if not c.must_fail)
    result = linear.LinearResult(case, 1, 1, 1, 1, {}, (), case.shows, 0.0)
    assert not result.holds
    assert linear.LinearReport((result,), 0.0).problems == (
        "linear: linear_mpsc  under sc against run queue",
    )


@pytest.mark.rotates
@pytest.mark.slow
def test_the_command_prints_the_shortest_history(wakeproof: Command) -> None:
    run = wakeproof("linear", "-t", "biased_lock", "--json")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["holds"]
    assert {r["twin"] for r in found["results"]} == {
        "",
        "biased_lock_no_cas",
        "linear_skips_number",
    }
    late = next(r for r in found["results"] if r["model"] == "tso" and r["must_fail"])
    assert late["history"][-1].strip() == "return try -> 0"
    assert wakeproof("linear", "-t", "nothing").returncode == 2


def test_an_unknown_scenario_is_named() -> None:
    with pytest.raises(UsageError, match=r"nothing.*there are linear_mpsc"):
        linear.linear("nothing")


@pytest.mark.parametrize("value", [0, 7])
def test_a_return_right_after_its_call_is_read(value: int) -> None:
    marks = [Position(15, "call push", -1, 1, 0), Position(15, "return push", -1, value, 0),
             Position(END, "end", -1, 0, 0)]  # fmt: skip
    dump = Dump(
        threads=1, asleep=array("I", [0] * 3), states=[(0,), (1,), (2,)],
        source=array("I", [0, 1]), target=array("I", [1, 2]), thread=bytearray(2), value=[0, 0],
        is_drain=bytearray(2), positions=[dict(enumerate(marks))],
    )  # fmt: skip
    found = check(dump, FIFO)
    assert found.returned == {f"push {value}": 1}
    assert bool(found.counterexample) == (value != 0)


def test_a_graph_that_is_not_whole_is_explained_in_words() -> None:
    numbers = ("executions", "blocked", "bounded", "duplicates", "states", "edges", "depth",
               "threads", "seconds", "bytes", "preemptions", "pct_bound", "pct_samples",
               "cpu_seconds")  # fmt: skip
    found = {**dict.fromkeys(numbers, 0), "program": "p", "model": "tso", "engine": "states",
             "outcomes": [], "exhaustive": False, "stopped": "buffers", "error": "",
             "size": [0, 0, 0], "actors": [], "state_size": 0}  # fmt: skip
    assert why_no_graph(json.dumps(found)) == "bounded: store buffers"
    assert why_no_graph(json.dumps({**found, "error": "actor 0 loops"})) == "actor 0 loops"
    assert why_no_graph("Killed\n") == "Killed"
