# SPDX-License-Identifier: Apache-2.0
"""Bench tables of pages have each row that the command above them measures.  Serves no spec."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.tables import HEAD, renewed, tables

from wakeproof import locations
from wakeproof.bench import MET, Result, measure
from wakeproof.bench.measure import BenchReport

GUIDE = locations.sources() / "docs" / "guide"
PAGES = {"io": 1, "placement": 4, "strategies": 1}


def page(name: str) -> str:
    return Path(GUIDE, f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "several"), PAGES.items())
def test_the_tables_of_a_page_have_the_rows_that_their_commands_print(
    name: str, several: int
) -> None:
    found = list(tables(page(name)))
    assert len(found) == several == page(name).count(HEAD)
    for regex, table in found:
        rows = measure.select(regex)
        lines = table.split("\n\n")[0].splitlines()[2:]
        assert len(lines) == len(rows), regex
        for line, row in zip(lines, rows, strict=True):
            assert line.startswith(f"| {row.name} | "), regex
            assert row.goal in line


@pytest.mark.parametrize("name", PAGES)
def test_a_table_is_put_where_the_last_one_was(name: str) -> None:
    def run(regex: str) -> BenchReport:
        (row, *_) = measure.select(regex)
        result = Result(row, ours=424242.0, peer=1.0, ratio=1.0, low=1.0, high=1.0, verdict=MET)
        return BenchReport((result,), "x86_64", "cc", (0,))

    before = page(name)
    after = renewed(before, run)
    assert after.count("| 424242.0 |") == PAGES[name]
    assert [regex for regex, _ in tables(before)] == [regex for regex, _ in tables(after)]
    assert all("\n\n1 goals: 1 met" in table for _, table in tables(after))
    assert renewed(after, run) == after
