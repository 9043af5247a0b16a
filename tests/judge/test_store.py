# SPDX-License-Identifier: Apache-2.0
"""Results are stored by content: unchanged inputs are not judged twice, and changed ones are."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest
from tests.judge.check.test_check import PASSING, TOY, judge, twin_of

from wakeproof import locations
from wakeproof.judge import store

INPUTS = {"spec": "x' = x + 1", "tool": "1.0"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(store.FRESH, "")
    monkeypatch.setattr(locations, "cache", lambda: tmp_path)
    return tmp_path / "judged"


def entry_in(folder: Path) -> Path:
    [entry] = folder.glob("*/*")
    return entry


def rewrite(entry: Path, before: str, after: str, *, hashed: bool) -> None:
    """Change the text of an entry; `hashed`: also its hash, as a forger would."""
    text, _, own = entry.read_text().rstrip("\n").rpartition("\n")
    assert before in text
    text = text.replace(before, after)
    own = hashlib.sha256(text.encode()).hexdigest() if hashed else own
    entry.write_text(f"{text}\n{own}\n")


def test_a_result_comes_back_with_its_date_for_the_same_inputs_alone() -> None:
    assert store.look(INPUTS) is None
    store.keep(INPUTS, {"states": 4})
    kept = store.look(dict(reversed(INPUTS.items())))
    assert kept is not None
    assert kept.value == {"states": 4}
    assert kept.date.startswith("20")
    assert store.look({**INPUTS, "spec": "x' = x + 2"}) is None
    assert store.look({**INPUTS, "bound": "3"}) is None
    assert store.look({"spec": INPUTS["spec"]}) is None
    assert store.look({"spec": INPUTS["tool"], "tool": INPUTS["spec"]}) is None


def test_a_result_that_was_tampered_with_is_judged_again(folder: Path) -> None:
    store.keep(INPUTS, {"states": 4})
    rewrite(entry_in(folder), '"states": 4', '"states": 5', hashed=False)
    assert store.look(INPUTS) is None


@pytest.mark.parametrize("lacking", ["one", "all"])
def test_a_result_whose_inputs_are_lacking_is_judged_again(folder: Path, lacking: str) -> None:
    store.keep(INPUTS, {"states": 4})
    text = entry_in(folder).read_text()
    inputs = json.loads(text.partition("\n")[0])["inputs"]
    less = {name: inputs[name] for name in inputs if lacking == "one" and name != "tool"}
    rewrite(entry_in(folder), json.dumps(inputs), json.dumps(less), hashed=True)
    assert store.look(INPUTS) is None


@pytest.mark.parametrize("text", ["", "{}", "\n\n", "[1]\nx\n"])
def test_a_damaged_entry_is_none(folder: Path, text: str) -> None:
    store.keep(INPUTS, {"states": 4})
    entry_in(folder).write_text(text)
    assert store.look(INPUTS) is None


def test_fresh_judges_all_and_keeps_what_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.FRESH, "1")
    store.keep(INPUTS, {"states": 4})
    assert store.look(INPUTS) is None
    monkeypatch.setenv(store.FRESH, "0")
    assert store.look(INPUTS) is not None


def test_what_nobody_asked_for_in_a_month_is_removed(folder: Path) -> None:
    store.keep(INPUTS, {"states": 4})
    store.prune()
    assert store.look(INPUTS) is not None
    old = time.time() - 2 * store.KEPT_S
    os.utime(entry_in(folder), (old, old))
    store.prune()
    assert store.look(INPUTS) is None


@pytest.mark.rotates
@pytest.mark.slow
def test_check_asks_tlc_again_when_the_spec_has_changed_and_not_before(tmp_path: Path) -> None:
    first, second = judge(tmp_path, "none", PASSING), judge(tmp_path, "none", PASSING)
    assert (first.since, first.holds, second.holds) == ("", True, True)
    assert second.since
    assert second.tlc == first.tlc
    commented = TOY.replace("VARIABLES x, pc", "VARIABLES x, pc \\* a comment")
    assert judge(tmp_path, "none", PASSING, toy=commented).since == ""
    assert judge(tmp_path, "jump", PASSING).wrong == "violates Small"


@pytest.mark.rotates
@pytest.mark.slow
def test_check_compares_what_is_kept_with_the_manifest_of_today(tmp_path: Path) -> None:
    assert judge(tmp_path, "jump", twin_of("Toy!Small", 3)).holds
    kept = judge(tmp_path, "jump", twin_of("Toy!Small", 3))
    assert (bool(kept.since), kept.violated, len(kept.tlc.trace)) == (True, ("Small",), 3)
    other = judge(tmp_path, "jump", twin_of("Toy!Small", 4))
    assert (other.since, other.wrong) == ("", "trace: 3, the table says 4")


@pytest.mark.rotates
@pytest.mark.slow
def test_check_sees_a_change_of_a_module_that_another_extends(tmp_path: Path) -> None:
    (tmp_path / "Base.tla").write_text("---- MODULE Base ----\nOne == 1\n====\n")
    toy = TOY.replace("EXTENDS Naturals", "EXTENDS Naturals, Base").replace("ELSE 1)", "ELSE One)")
    assert judge(tmp_path, "none", PASSING, toy=toy).holds
    assert judge(tmp_path, "none", PASSING, toy=toy).since
    (tmp_path / "Base.tla").write_text("---- MODULE Base ----\nOne == 2\n====\n")
    again = judge(tmp_path, "none", PASSING, toy=toy)
    assert (again.since, again.wrong) == ("", "violates Small")
