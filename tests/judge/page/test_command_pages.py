# SPDX-License-Identifier: Apache-2.0
"""HTML reports are whole and self-contained, and an impossible one is refused before any work."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console
from tests.conftest import Command
from tests.support.markup import check_loads_nothing

from wakeproof.errors import UsageError
from wakeproof.judge import report
from wakeproof.judge.page import output, render
from wakeproof.judge.stress.command import show
from wakeproof.judge.stress.run import StressReport

EMPTY = StressReport((), (), "quick", 7, "<cc>", "x86_64", 2, ("none",), 1.0)


def test_a_page_shows_what_the_command_prints_and_loads_nothing(tmp_path: Path) -> None:
    file = tmp_path / "stress.html"
    render.write(file, "wakeproof stress", lambda screen: show(screen, EMPTY))
    text = file.read_text()
    assert "<title>wakeproof stress</title>" in text
    assert "0 scenarios and 0 twins in 1 s, seed 7, x86_64, 2 CPUs, &lt;cc&gt;" in text
    check_loads_nothing(text)


def test_tables_and_colours_come_along(tmp_path: Path) -> None:
    def table(screen: Console) -> None:
        rows = [["0,1", report.verdict("violated", good=False)]]
        screen.print(report.table("", ("outcome", "verdict"), rows))

    render.write(tmp_path / "table.html", "t", table)
    text = (tmp_path / "table.html").read_text()
    assert "font-weight: bold" in text
    assert ">violated</span>" in text


def test_a_page_that_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "old.html"
    file.write_text("old")

    def fail(_screen: Console) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        render.write(file, "t", fail)
    assert [entry.name for entry in tmp_path.iterdir()] == ["old.html"]
    assert file.read_text() == "old"


@pytest.mark.parametrize("command", ["stress", "audit"])
def test_a_page_without_a_folder_is_refused_before_any_judge_runs(
    wakeproof: Command, command: str, tmp_path: Path
) -> None:
    ended = wakeproof(command, "--html", str(tmp_path / "none" / "a.html"))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"there is no folder {tmp_path / 'none'}" in ended.stderr


def test_a_wrong_format_is_refused_before_any_judge_runs(wakeproof: Command) -> None:
    ended = wakeproof("explore", "--format", "dot")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--format is 'dot'; allowed: text, mermaid" in ended.stderr
    with pytest.raises(UsageError, match="--json and --format exclude each other"):
        output.checked(None, output.MERMAID, as_json=True)
