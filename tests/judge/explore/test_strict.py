# SPDX-License-Identifier: Apache-2.0
"""An incomplete exploration is not called held: always in words, under strict in the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import Command

from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import percent
from wakeproof.judge.explore.run import ExploreReport, explore
from wakeproof.judge.stress.grading import HELD

SCENARIOS = Path(__file__).parents[1] / "scenarios"
ADDERS = "thread\n" + "  r0 = add x 1 seq_cst\n  r0 = add y 1 seq_cst\n" * 2
LARGE = f"program large\n{ADDERS * 4}observe x\n"  # 1.1 million executions


def explored(folder: Path, text: str = LARGE, **options: object) -> ExploreReport:
    file = folder / "large.txt"
    file.write_text(text)
    return explore([file], options=ExploreOptions(models=(Model.RC11,), **options))  # type: ignore[arg-type]


def test_a_sliver_is_no_proof(tmp_path: Path) -> None:
    found = explored(tmp_path, max_executions=200)
    (judged,) = found.scenarios[0].judged
    words, number, unit = judged.verdict.rpartition(": ")[0], *judged.result.share.split()
    assert (judged.status, words, unit) == (HELD, "held as far as explored", "%")
    assert 0 < float(number) < 1
    assert found.scenarios[0].line == f"RC11 {judged.verdict}"
    assert found.in_part == ("large",)
    assert found.ok()
    assert not found.ok(strict=True)


def test_all_of_it_is(tmp_path: Path) -> None:
    found = explored(tmp_path, f"program small\n{ADDERS * 2}observe x\n")
    assert (found.scenarios[0].judged[0].verdict, found.scenarios[0].line) == (HELD, "RC11 ok")
    assert found.ok(strict=True)


@pytest.mark.slow
def test_strict_fails_on_samples_and_says_how_many(wakeproof: Command, tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text(LARGE)
    command = ("explore", str(tmp_path / "large.txt"), "--model", "rc11", "--sample", "random:n=7")
    ended = wakeproof(*command)
    assert (ended.returncode, "held as far as explored: 7 samples" in ended.stdout) == (0, True)
    assert "1 held" in ended.stdout
    assert "of those that held, 1 as far as explored" in ended.stdout
    assert wakeproof(*command, "--strict").returncode == 1


def test_states_say_how_many_preemptions(tmp_path: Path) -> None:
    file = tmp_path / "large.txt"
    file.write_text(LARGE)
    options = ExploreOptions(models=(Model.SC,), engine="states", preemptions=1)
    found = explore([file], options=options)
    assert found.scenarios[0].line == "SC held as far as explored: at most 1 preemptions"


def test_races_are_called_sampled_where_they_were(tmp_path: Path) -> None:
    file = tmp_path / "large.txt"
    file.write_text(LARGE)
    options = ExploreOptions(engine="graphs", sample=9)
    sc, tso, rc11 = explore([file], options=options).scenarios[0].judged
    assert {one.races for one in (sc, tso, rc11)} == {"races sampled"}
    assert sc.coverage == "sampled; races sampled"


@pytest.mark.parametrize(
    ("share", "text"),
    [(1e-9, "below 0.0001 %"), (1.02e-4, "0.01 %"), (0.049, "4 %"), (0.56, "56 %"), (1, "99 %")],
)
def test_a_share_is_never_rounded_up_to_all(share: float, text: str) -> None:
    assert percent(share) == text
