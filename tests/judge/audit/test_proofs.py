# SPDX-License-Identifier: Apache-2.0
"""The audit's proofs: CI makes the quick ones of its share again, and takes the others."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wakeproof.judge import store
from wakeproof.judge.audit import proofs
from wakeproof.judge.lock import SHARES, Lock, Row
from wakeproof.judge.prove import run as prove
from wakeproof.judge.prove import subjects
from wakeproof.judge.tlc import models
from wakeproof.judge.verdicts import Rows

QUICK, SLOW, NEW = "Quick Mode=(a)", "Slow", "New"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names that are proved, of three subjects."""
    names = (QUICK, SLOW, NEW)
    every = [SimpleNamespace(name=name, module="Toy", claims=[name], modes={}) for name in names]
    monkeypatch.setattr(models, "folder", lambda specs: specs)
    monkeypatch.setattr(subjects, "every", lambda _: [(None, one) for one in every])
    monkeypatch.setattr(prove, "inputs_of", lambda _made, _module, one: {"subject": one.name})
    proved: list[str] = []

    def run(pattern: str, *, twins: bool, **_: Any) -> None:
        assert not twins
        proved.extend(one.name for one in every if re.search(pattern, one.name))

    monkeypatch.setattr(prove, "prove", run)
    return proved


def locked(name: str, seconds: float) -> Row:
    inputs = store.key({"subject": name})
    return Row("prove", name, inputs, "proved", {}, {"seconds": seconds}, date="2026-01-31 12:59")


ROWS = {("prove", name): locked(name, seconds) for name, seconds in ((QUICK, 9.9), (SLOW, 10.1))}


def test_ci_proves_the_quick_proofs_of_its_share_again(asked: list[str], tmp_path: Path) -> None:
    share = ROWS["prove", QUICK].share
    proofs.again(tmp_path, Rows(Lock(ROWS), tuple({*range(SHARES)} - {share})))
    assert asked == []
    proofs.again(tmp_path, Rows(Lock(ROWS), range(SHARES)))
    assert asked == [QUICK]


def test_only_ci_proves_again(asked: list[str], tmp_path: Path) -> None:
    proofs.again(tmp_path, Rows(Lock(ROWS)))
    assert asked == []


def test_a_proof_that_fails_now_is_not_taken_from_the_lock(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_pattern: str, *, rows: Rows, **_: Any) -> None:
        rows.judged("prove", QUICK, {"subject": QUICK}, "not proved", {}, holds=False)

    monkeypatch.setattr(prove, "prove", fails)
    monkeypatch.setattr(proofs, "_addressed", lambda _: [])
    rows = Rows(Lock(ROWS), range(SHARES))
    proofs.again(tmp_path, rows)
    assert [*proofs.known(tmp_path, rows)] == [f"Toy!{SLOW}"]
    assert rows.by_judge["prove"] == (1, 1, "2026-01-31 12:59")
    assert [line for line in rows.contradictions if "not proved now, proved in" in line]
    assert asked == []
