# SPDX-License-Identifier: Apache-2.0
"""A bad outcome has a class: lost wakeup, deadlock, livelock, lost work; with thread and place."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from wakeproof.judge.explore.classes import ASLEEP as ASLEEP_FOR_EVER
from wakeproof.judge.explore.classes import classify
from wakeproof.judge.explore.options import MODELS, ExploreOptions, Model
from wakeproof.judge.explore.results import Event, Found
from wakeproof.judge.explore.run import ExploreReport, explore

SCENARIOS = Path(__file__).parents[1] / "scenarios"
LOCK = """
  r0 = exchange {0} 1 acquire
  if r0 == 0 goto free_{0}
  r1 = wait {0} 1
free_{0}:"""
UNLOCK = """
  store {0} 0 release
  r1 = wake {0} 1"""
TICKET = """
  r0 = add t{0} 1 acq_rel
wait_{0}:
  r1 = load {0} acquire
  if r1 != r0 goto wait_{0}"""
NEXT = """
  r1 = load {0} relaxed
  r1 = r1 + 1
  store {0} r1 release
  r1 = 0"""
GIVE = "\n  store {0} 0 release"
SPIN = """
again_{0}:
  r0 = exchange {0} 1 acquire
  if r0 == 1 goto again_{0}"""


def both(take: str, first: str, second: str, give: str) -> str:
    steps = (take.format(first), take.format(second), give.format(second), give.format(first))
    return "thread" + "".join(steps) + "\n"


# Each with its class, and the sentence that must be printed.
ASLEEP = {
    "a cycle of holders": (
        both(LOCK, "a", "b", UNLOCK) + both(LOCK, "b", "a", UNLOCK), "deadlock",
        "thread 0 waits for thread 1, which has b",
    ),
    "a lock that its holder takes again": (
        "thread" + LOCK.format("a") + LOCK.format("a").replace("free_a", "twice"), "deadlock",
        "thread 0 sleeps on a while it is 1 (#3, {name}:9), and nobody is left who could wake it",
    ),
    "nobody who would wake": (
        "thread\n  r0 = load x relaxed\n  r1 = wait w 0\nthread\n  step\n", "deadlock",
        "nobody is left who could wake it",
    ),
    "a change without a wake": (
        "thread\n  r0 = wait w 0\nthread\n  store w 1 release\n", "lost wakeup",
        "thread 1 changed that word to 1 (#2, {name}:5), and no wake followed",
    ),
    "a change that went back, without a wake": (
        "thread\n  r0 = wait w 0\nthread\n  store w 1 release\n  store w 0 release\n",
        "lost wakeup", "and no wake followed",
    ),
    "a wake that another one got": (
        "thread\n  r0 = wait w 0\nthread\n  r0 = wait w 0\nthread\n  store w 1 release\n"
        "  r1 = wake w 1\n", "lost wakeup", "went to another",
    ),
    "a wake before the sleep": (
        "thread\n  r0 = load x seq_cst\n  if r0 == 1 goto out\n  r1 = wait w 0\nout:\n"
        "thread\n  store x 1 seq_cst\n  r1 = wake w 1\n", "lost wakeup",
        "thread 0 saw x = 0 (#1, {name}:3), thread 1 made it 1 (#2, {name}:8) and sent the wake "
        "(#3) before it fell asleep (#4)",
    ),
    "a condition that changed, and nobody was told": (
        "thread\n  r0 = load x seq_cst\n  if r0 == 1 goto out\n  r1 = wait w 0\nout:\n"
        "thread\n  store x 1 seq_cst\n", "lost wakeup", "and no wake came after that",
    ),
}  # fmt: skip
STUCK = {
    "two that give way for ever": (
        "thread\nl:\n  store x 1 seq_cst\n  r0 = load y seq_cst\n  if r0 == 1 goto out\n"
        "  store x 0 seq_cst\n  goto l\nout:\nthread\n  step\n", "livelock",
        "changing x", False,
    ),
    "a flag that nobody sets": (
        "thread\nl:\n  r0 = load x relaxed\n  if r0 == 0 goto l\n", "livelock",
        "thread 0 spins on x, which is 0", True,
    ),
    "a cycle of tickets": (
        both(TICKET, "a", "b", NEXT) + both(TICKET, "b", "a", NEXT),
        "deadlock", "thread 0 waits for thread 1, which changes b in other executions", False,
    ),
    "a cycle of holders that spin": (
        both(SPIN, "a", "b", GIVE) + both(SPIN, "b", "a", GIVE),
        "deadlock", "thread 0 waits for thread 1, which has b", False,
    ),
}  # fmt: skip


def judged(tmp_path: Path, program: str, *models: Model) -> ExploreReport:
    file = tmp_path / "p.txt"
    file.write_text(f"program p\n{program}")
    return explore([file], None, ExploreOptions(models=models))


@pytest.mark.slow
@pytest.mark.parametrize("symptom", ASLEEP)
@pytest.mark.parametrize("model", MODELS)
def test_who_sleeps_for_ever_is_told_apart(symptom: str, model: Model, tmp_path: Path) -> None:
    program, name, said = ASLEEP[symptom]
    [report] = judged(tmp_path, program, model).scenarios
    [outcome] = [o for o in report.judged[0].outcomes if o.is_bad]
    assert outcome.found.text == "asleep"
    assert outcome.broken is not None
    assert outcome.broken.name == name
    evidence = "; ".join(outcome.broken.evidence)
    if model is not Model.RC11:  # which lists equally few steps in another order
        assert said.format(name="p") in evidence
    [message] = report.messages
    assert f"{name}: forbidden outcome asleep" in message
    assert evidence in message


@pytest.mark.parametrize("symptom", STUCK)
def test_who_goes_on_for_ever_is_told_apart(symptom: str, tmp_path: Path) -> None:
    program, name, said, is_graph = STUCK[symptom]
    models = MODELS if is_graph else (Model.SC, Model.TSO)
    for judged_ in judged(tmp_path, program, *models).scenarios[0].judged:
        [outcome] = [o for o in judged_.outcomes if o.found.text == "stuck"]
        assert outcome.broken is not None
        assert (outcome.broken.name, said in "; ".join(outcome.broken.evidence)) == (name, True)


@pytest.mark.slow
def test_work_that_is_not_done_is_what_the_scenario_says_it_is() -> None:
    [report] = explore([SCENARIOS / "shown.c"], "shown_lost_work").scenarios
    for judged_ in report.judged:
        [outcome] = [o for o in judged_.outcomes if o.is_bad]
        assert (outcome.found.text, outcome.grade) == ("1", "FORBIDDEN")
        assert outcome.broken is not None
        assert outcome.broken.name == "lost work"


@pytest.mark.slow
def test_the_class_is_printed_and_in_json(
    wakeproof: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    file = tmp_path / "missed.txt"
    file.write_text(f"program missed\n{ASLEEP['a change without a wake'][0]}")
    arguments = ("explore", str(file), "--model", "sc", "--save", str(tmp_path / "saved"))
    printed = wakeproof(*arguments).stdout
    assert "missed, SC: asleep (lost wakeup), 2 steps" in printed
    assert "thread 0 sleeps on w while it is 0 (#1, missed:3)" in printed
    assert "lost wakeup: forbidden outcome asleep (1 of 2 final states)" in printed
    [scenario] = json.loads(wakeproof(*arguments, "--json").stdout)["scenarios"]
    broken = [o["broken"] for o in scenario["judged"][0]["outcomes"] if o["broken"]]
    assert [one["name"] for one in broken] == ["lost wakeup"]
    assert broken[0]["evidence"][0].startswith("thread 0 sleeps on w while it is 0")


def test_a_change_that_a_look_did_not_see_may_stand_before_it() -> None:
    def event(thread: int, kind: str, place: int, value: int, written: int | None = None) -> Event:
        read_from = -2 if kind == "store" else -1
        return Event(thread, kind, "relaxed", None, "xw"[place], value, 1, 0, written, read_from,
                     drain=False, text="", place=place)  # fmt: skip

    wait = event(0, "wait", 1, ASLEEP_FOR_EVER)
    buffered = (event(1, "store", 0, 0, 1), event(0, "load", 0, 0), wait)
    seen = (buffered[0], replace(buffered[1], value=1, read_from=0), buffered[2])
    assert classify(Found("asleep", "asleep", 1, buffered)).name == "lost wakeup"
    assert classify(Found("asleep", "asleep", 1, seen)).name == "deadlock"
