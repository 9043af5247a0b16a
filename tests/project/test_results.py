# SPDX-License-Identifier: Apache-2.0
"""`make results`: whole pages, from the output of a release's commands.  Serves no spec."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tools import plots, results

import wakeproof
from wakeproof import locations
from wakeproof.bench import Result
from wakeproof.bench.measure import BenchReport
from wakeproof.bench.table import ROWS
from wakeproof.bench.web import WebReport
from wakeproof.bench.web.placement import Placement
from wakeproof.bench.web.results import LOADS, MATRIX, ONE, Line
from wakeproof.bench.web.running import Usage
from wakeproof.bench.web.sample import FIXED, MOST, Sample
from wakeproof.judge import report

MAKEFILE = (locations.sources() / "Makefile").read_text()


def test_each_part_is_a_target_of_make() -> None:
    for part in results.PARTS:
        assert re.search(rf"^{part}:", MAKEFILE, re.MULTILINE), part


def test_a_page_has_what_was_printed_the_version_the_day_and_the_machine(tmp_path: Path) -> None:
    printed = "\nrow  ratio   \n\n1 goals: 1 met\nstored in /somewhere/of/mine\n"
    results.write(["audit"], tmp_path / "results", tmp_path / "staged", lambda _: printed)
    (page,) = (tmp_path / "results").iterdir()
    title, made, block = page.read_text().split("\n\n", 2)
    assert page.name == "audit.md"
    assert title.startswith("# `make audit`: ")
    assert made.startswith(f"wakeproof {wakeproof.__version__}, ")
    assert time.strftime("%Y-%m") in made
    assert re.search(r"\d+ CPUs allowed \(.+\), Linux \d", made)
    assert block == "```\nrow  ratio\n\n1 goals: 1 met\n```\n"


def measured(ratio: float) -> BenchReport:
    """Return a benchmark in which ours takes so many times as long as each peer."""
    found = [Result(row, ours=8.0 * ratio, peer=8.0, ratio=ratio, low=ratio / 2, high=ratio * 2)
             for row in ROWS]  # fmt: skip
    return BenchReport(tuple(found), "x86_64", "cc", (0,))


@pytest.mark.slow  # a second for each picture, of a browser's engine
def test_the_page_of_the_benchmark_has_plots_for_a_phone_in_both_colour_schemes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "BENCHED", tmp_path / "bench.json")
    results.BENCHED.write_text(report.to_json(measured(0.25)))
    folder = tmp_path / "results"
    results.write(["bench"], folder, tmp_path / "staged", lambda _: "row  ratio\n")
    page = (folder / "bench.md").read_text()
    pictures = dict(re.findall(r"^!\[(.+)\]\((.+)\)$", page, re.MULTILINE))
    assert {*pictures.values()} == {path.name for path in folder.glob("*.svg")}
    assert len(pictures) == 4
    assert page.endswith("## The table\n\n```\nrow  ratio\n```\n")
    for alt, name in pictures.items():
        svg = (folder / name).read_text()
        assert float(re.findall(r'width="([\d.]+)"', svg)[0]) < 390
        assert "prefers-color-scheme: dark" in svg
        assert "://" not in svg.replace("http://www.w3.org/", "")
        assert len(alt) > 50
    assert "from 4 times as fast as" in page
    assert "yield: 8 ns with 2, 2 ns with 1,000" in page


def test_a_rate_that_is_larger_is_faster_and_a_time_that_is_larger_is_slower() -> None:
    (plot, *_) = plots.plots([result for result in measured(0.25).results
                              if result.row.program in ("flow_1", "fiber")])  # fmt: skip
    assert "faster in 1 of 2" in plot.alt
    assert "0.25 times as fast as moodycamel" in plot.alt
    assert "4 times as fast as Boost.Context" in plot.alt


def test_nothing_is_drawn_of_a_benchmark_that_measured_nothing_of_it() -> None:
    assert plots.plots([]) == []


def web(*, stolen: str = "") -> WebReport:
    """Return a benchmark in which each server is slower than the one before it."""
    lines = []
    for load in LOADS:
        for at, setup in enumerate([*ONE, *MATRIX]):
            place = Placement((0,), (1,), (1,), setup.carriers, "")
            used = Usage(1.0, 0.0, 10)
            samples = {
                phase: [Sample(4_000, (at + 1) * 1_000 * setup.carriers, 1.0, used, 0, 0,
                               [(at + 1) * ms for ms in (1.0, 2.0, 3.0, 4.0, 5.0)])]
                for phase in (FIXED, MOST)
            }  # fmt: skip
            line = Line(setup, load, place, samples)
            lines.append(replace(line, not_run="no Go") if setup.side == stolen else line)
    return WebReport(tuple(lines), (), 4_000, 1, 1.0, (0, 1), "x86_64")


@pytest.mark.slow
def test_the_page_of_the_http_servers_has_percentiles_and_scaling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "BENCHED_WEB", tmp_path / "http.json")
    results.BENCHED_WEB.write_text(report.to_json(web(stolen="Go")))
    folder = tmp_path / "results"
    results.write(["bench-http"], folder, tmp_path / "staged", lambda _: "server  rate\n")
    page = (folder / "bench-http.md").read_text()
    pictures = dict(re.findall(r"^!\[(.+)\]\((.+)\)$", page, re.MULTILINE))
    assert sorted(pictures.values()) == [
        "http-latency-1ms.svg", "http-latency-30ms.svg", "http-scaling-1ms.svg",
        "http-scaling-30ms.svg",
    ]  # fmt: skip
    for name in pictures.values():
        svg = (folder / name).read_text()
        assert float(re.findall(r'width="([\d.]+)"', svg)[0]) < 390
        assert "prefers-color-scheme: dark" in svg
    (said,) = (alt for alt, name in pictures.items() if name == "http-latency-30ms.svg")
    assert f"{ONE[0].side}: 50 % 1 ms, 90 % 2 ms, 99 % 3 ms, 99.9 % 4 ms, all 5 ms" in said
    assert f"{ONE[1].side}: 50 % 2 ms" in said
    assert "Go" not in said
    (said,) = (alt for alt, name in pictures.items() if name == "http-scaling-1ms.svg")
    fastest = max(at for at, setup in enumerate([*ONE, *MATRIX]) if setup.side == ONE[0].side)
    assert f"{ONE[0].side}: 1 thousand with 1, {(fastest + 1) * 2} thousand with 2" in said
    assert "uvloop" not in said, "it has one carrier always"


def test_a_latency_that_would_mean_nothing_is_not_drawn() -> None:
    found = web()
    lines = tuple(replace(line, place=replace(line.place, reason="shared CPUs"))
                  for line in found.lines)  # fmt: skip
    names = [plot.name for plot in plots.web_plots(replace(found, lines=lines))]
    assert names == ["http-scaling-1ms", "http-scaling-30ms"]


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

    with pytest.raises(results.FailedError, match=second or "`make claims` printed nothing"):
        results.write(["audit", "claims"], folder, tmp_path / "staged", run)
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
    parts = (
        "audit, claims, museum, watch-corpus, watch-twins, test-stdlib, test-loops, campaign, "
        "campaign-judges, soak-threads, bench, bench-http"
    )
    assert capsys.readouterr().err == f"results: no benches; parts: {parts}\n"
