# SPDX-License-Identifier: Apache-2.0
"""Counterexamples of graphs have the fewest threads, then steps, then switches; saved ones, too."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from wakeproof.judge.explore import litmus
from wakeproof.judge.explore.options import MODELS, ExploreOptions, Model
from wakeproof.judge.explore.results import Event, Found

pytestmark = pytest.mark.slow

GRAPHS = ExploreOptions(engine="graphs", loop_bound=0, timeouts=False)
LOST_UPDATE = """program lost
thread
  store a 1 relaxed
  r0 = load x relaxed
  r0 = r0 + 1
  store x r0 relaxed
  store b 1 relaxed
thread
  store c 1 relaxed
  r0 = load x relaxed
  r0 = r0 + 1
  store x r0 relaxed
  store d 1 relaxed
observe x
"""
"""x = 1 needs one thread's load and store around the other's: 0, 1, 0 are two switches."""
RACE = """program race
thread
  store p 1 plain
  store x 1 relaxed
  store y 1 relaxed
thread
  r0 = load y relaxed
  r1 = load p plain
thread
  r0 = load x relaxed
  store z 1 relaxed
  r1 = load p plain
thread
  store q 1 relaxed
  store q 2 relaxed
"""
"""Two races on p; thread 1's takes one step less, and thread 3 has to do with neither."""


def switches(events: Sequence[Event]) -> int:
    return sum(a.thread != b.thread for a, b in itertools.pairwise(events))


def example(
    explorer: litmus.Explorer, text: str, model: Model, outcome: str, minimal: str
) -> Found:
    options = replace(GRAPHS, minimal=minimal)
    found = litmus.explore([text], (model,), options, examples=True, explorer=explorer)[0][model]
    return next(one for one in found.outcomes if one.text == outcome)


@pytest.mark.parametrize("model", MODELS)
def test_a_lost_update_is_shown_with_two_switches(explorer: litmus.Explorer, model: Model) -> None:
    first = example(explorer, LOST_UPDATE, model, "1", "")
    smallest = example(explorer, LOST_UPDATE, model, "1", "1")
    assert switches(smallest.example) == 2
    assert switches(first.example) > 2  # otherwise the test says nothing about a search for fewer
    assert len(smallest.example) == len(first.example) == 8
    assert smallest.count == first.count


def test_only_the_outcome_that_was_asked_for_is_made_smaller(explorer: litmus.Explorer) -> None:
    plain = example(explorer, LOST_UPDATE, Model.SC, "2", "")
    assert example(explorer, LOST_UPDATE, Model.SC, "2", "1") == plain


def test_a_race_is_shown_by_its_two_threads_and_their_causes_alone(
    explorer: litmus.Explorer,
) -> None:
    found = example(explorer, RACE, Model.RC11, "race", "race")
    assert {event.thread for event in found.example} == {0, 1}
    places = sorted(event.location or "" for event in found.example)
    assert places == ["p", "p", "y"]  # thread 1 may read the initial y
    assert switches(found.example) == 1


def test_a_failed_assertion_is_shown_with_its_causes_alone(explorer: litmus.Explorer) -> None:
    text = """program fails
thread
  store x 1 relaxed
  store w 1 relaxed
thread
  r0 = load x relaxed
  assert r0 == 0
thread
  store z 1 relaxed
"""
    found = example(explorer, text, Model.RC11, "assertion", "assertion")
    assert [(event.thread, event.kind) for event in found.example] == [
        (0, "store"), (1, "load"), (1, "fail"),
    ]  # fmt: skip


def test_no_order_of_the_same_steps_has_fewer_switches(explorer: litmus.Explorer) -> None:
    # Every interleaving of the saved steps that keeps program order and reads-from.
    events = example(explorer, LOST_UPDATE, Model.SC, "1", "1").example
    by_thread = [[e for e in events if e.thread == thread] for thread in range(2)]
    least = 99
    for picks in itertools.combinations(range(len(events)), len(by_thread[0])):
        rows = [iter(row) for row in by_thread]
        order = [next(rows[at not in picks]) for at in range(len(events))]
        x, seen = 0, []
        for event in order:
            seen += [x] if event.kind == "load" else []
            x = event.operand if (event.kind, event.location) == ("store", "x") else x
        if seen == [0, 0]:
            least = min(least, switches(order))
    assert switches(events) == least


def test_the_smallest_is_printed_saved_and_found_again_by_its_token(
    wakeproof: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    file = tmp_path / "lost.txt"
    file.write_text(RACE)
    folder = tmp_path / "saved"
    ended = wakeproof("explore", str(file), "--model", "rc11", "--save", str(folder))
    assert ended.returncode == 1
    assert "race, RC11: race, 3 steps, engine graphs" in ended.stdout
    [saved] = folder.glob("*.json")
    assert len(json.loads(saved.read_text())["execution"]["example"]) == 3
    again = wakeproof("replay", str(saved))
    assert again.returncode == 0
    assert "3 steps" in again.stdout
