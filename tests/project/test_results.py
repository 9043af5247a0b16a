# SPDX-License-Identifier: Apache-2.0
"""`make results`: whole pages, from the output of a release's commands.  Serves no spec."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from tools import results

import wakeproof
from wakeproof import locations

MAKEFILE = (locations.sources() / "Makefile").read_text()


def test_each_part_is_a_target_of_make() -> None:
    for part in results.PARTS:
        assert re.search(rf"^{part}:", MAKEFILE, re.MULTILINE), part


def test_a_page_has_what_was_printed_the_version_the_day_and_the_machine(tmp_path: Path) -> None:
    printed = "\nrow  ratio   \n\n1 goals: 1 met\nstored in /somewhere/of/mine\n"
    results.write(["bench"], tmp_path / "results", tmp_path / "staged", lambda _: printed)
    (page,) = (tmp_path / "results").iterdir()
    title, made, block = page.read_text().split("\n\n", 2)
    assert page.name == "bench.md"
    assert title.startswith("# `make bench`: ")
    assert made.startswith(f"wakeproof {wakeproof.__version__}, ")
    assert time.strftime("%Y-%m") in made
    assert re.search(r"\d+ CPUs allowed \(.+\), Linux \d", made)
    assert block == "```\nrow  ratio\n\n1 goals: 1 met\n```\n"


@pytest.mark.parametrize("second", ["", "fails"])
def test_no_page_changes_when_a_command_fails_or_prints_nothing(
    tmp_path: Path, second: str
) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "audit.md").write_text("of before")

    def run(part: str) -> str:
        if part == "audit":
            return "as printed"
        if second:
            raise results.FailedError(second)
        return ""

    with pytest.raises(results.FailedError, match=second or "`make bench` printed nothing"):
        results.write(["audit", "bench"], folder, tmp_path / "staged", run)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"audit.md": "of before"}
    assert "as printed" in (tmp_path / "staged" / "audit.md").read_text()


def test_a_command_that_fails_is_named_with_its_exit_code_and_what_it_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Makefile").write_text("bench:\n\t@echo 'half a table [$(T)]'; exit 3\n")
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setenv("MAKEFLAGS", "-- T=bench")  # as `make results T=bench` leaves it
    said = r"^`make bench` exited with 2:\nhalf a table \[\]\n$"
    with pytest.raises(results.FailedError, match=said):
        results.run("bench")
    assert results.main(["bench"]) == 1
    assert not (tmp_path / "docs").exists()


def test_a_part_that_there_is_not_is_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "run", lambda _: pytest.fail("it ran"))
    assert results.main(["audit", "benches"]) == 2
    assert (
        capsys.readouterr().err == "results: no benches; parts: audit, claims, bench, bench-http\n"
    )
