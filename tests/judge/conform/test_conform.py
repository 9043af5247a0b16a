# SPDX-License-Identifier: Apache-2.0
"""`wakeproof conform`: the compiled code equals its spec, and a defect on either side is found."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.conform import run as conform
from wakeproof.judge.conform.maps import CONCEPTS

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.rotates
@pytest.mark.slow
def test_code_and_spec_are_equal_and_their_twins_are_not() -> None:
    found = conform.conform("^biased_lock$")  # the smallest; `make audit` compares them all
    for result in found.results:
        assert result.holds, (result.twin, result.difference and result.difference.lines)
    assert found.results[0].differences == 0
    twins = {result.twin.partition(":")[0] for result in found.results if result.twin}
    assert twins == {"spec", "code"}


def test_every_concept_has_a_twin_on_both_sides() -> None:
    modules = {concept.module for concept in CONCEPTS}
    assert modules == {c.module for c in CONCEPTS if c.spec_twin and c.code_twins}


def test_the_audit_compares_every_concept() -> None:
    modules = {concept.module for concept in CONCEPTS}
    assert modules == {c.module for c in CONCEPTS if not c.is_long}


def test_an_unknown_concept_is_named() -> None:
    with pytest.raises(UsageError, match=r"nothing.*there are parker, biased_lock"):
        conform.conform("nothing")


@pytest.mark.rotates
@pytest.mark.slow
def test_the_command_prints_what_was_compared(wakeproof: Command) -> None:
    run = wakeproof("conform", "-t", "biased_lock", "--no-twins", "--json")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["holds"]
    assert [r["concept"] for r in found["results"]] == ["biased_lock"]
    assert found["results"][0]["differences"] == 0
    assert found["results"][0]["spec_states"] > 500
    assert wakeproof("conform", "-t", "nothing").returncode == 2
    both = wakeproof("conform", "--paths", "--traces", "3")
    assert (both.returncode, both.stdout) == (2, "")
    assert "--paths, --traces and --spec-twins each replace the comparison" in both.stderr
