# SPDX-License-Identifier: Apache-2.0
"""Bench tables of pages have each row that the command above them prints.  Serves no spec."""

from __future__ import annotations

import runpy
import shlex
from collections.abc import Callable

import pytest

from wakeproof import locations
from wakeproof.bench import MET, Result, measure
from wakeproof.bench.measure import BenchReport
from wakeproof.cli.bench import show
from wakeproof.judge import report

TOOL = runpy.run_path(str(locations.sources() / "tools" / "tables.py"))
tables: Callable[[str], list[tuple[str, str]]] = TOOL["tables"]
renewed: Callable[[str, Callable[[str], str]], str] = TOOL["renewed"]


def page() -> str:
    return (locations.sources() / "docs" / "guide" / "placement.md").read_text()


def test_the_tables_of_placement_have_the_rows_that_their_commands_print() -> None:
    found = tables(page())
    assert len(found) == 4
    for command, table in found:
        rows = measure.select(shlex.split(command)[-1])
        lines = table.split("\n\n")[0].splitlines()[1:]
        assert len(lines) == len(rows), command
        for line, row in zip(lines, rows, strict=True):
            assert line.startswith(f"{row.name} "), command
            assert row.goal in line


def test_a_table_is_put_where_the_last_one_was(capsys: pytest.CaptureFixture[str]) -> None:
    def run(command: str) -> str:
        (row, *_) = measure.select(shlex.split(command)[-1])
        result = Result(row, ours=424242.0, peer=1.0, ratio=1.0, low=1.0, high=1.0, verdict=MET)
        show(report.console(), BenchReport((result,), "x86_64", "cc", (0,)))
        return capsys.readouterr().out

    before = page()
    after = renewed(before, run)
    assert after.count("424242.0") == len(tables(before)) == len(tables(after))
    for (command, _), (same, table) in zip(tables(before), tables(after), strict=True):
        assert command == same
        assert table.splitlines()[0].startswith("row ")
        assert table.splitlines()[-1].startswith("1 goals: 1 met")
        assert "stored" not in table
    assert renewed(after, run) == after
