# SPDX-License-Identifier: Apache-2.0
"""The form of the HTTP bench, never its time: places of servers, counts, verdicts and output.

Serves no spec: docs/inside/bench-http.md.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from wakeproof import locations
from wakeproof.bench import MET, SHORT, SHOWN, peers, web
from wakeproof.bench.web import results, run, running, sample, servers
from wakeproof.bench.web.placement import FLOATING, PINNED, SPARE, Placement, place
from wakeproof.bench.web.results import LOADS, MATRIX, ONE, Line, goals
from wakeproof.bench.web.sample import FIXED, MOST, Sample
from wakeproof.bench.web.servers import (
    GO,
    JDK,
    OURS,
    REACTIVE,
    SPLIT,
    STRATEGY,
    UNIFIED,
    UVLOOP,
    Setup,
)
from wakeproof.cli.bench_http import counts, latency
from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge.process import Children

HERE = place((0, 1), 1, FLOATING)


def a_sample(cpu_s: float = 0.5, switches: int = 100, **more: object) -> Sample:
    stats = {"sleeps": 50, "wakeups": 20, "requests": 1000, "looks": 100, "events": 300}
    used = running.Usage(cpu_s, 0.25, switches)
    return replace(Sample(0, 1000, 1.0, used, 0, 0, stats=stats), **more)  # type: ignore[arg-type]


def a_line(side: str, one: Sample, place: Placement = HERE) -> Line:
    return Line(Setup(side), LOADS[0], place, {FIXED: [one, one], MOST: [one, one]})


@pytest.mark.parametrize(
    ("cpus", "pin", "server", "backend", "load", "carriers"),
    [
        (1, FLOATING, 1, 1, 1, 1), (2, FLOATING, 2, 2, 2, 2), (2, SPARE, 2, 2, 2, 1),
        (3, PINNED, 2, 1, 1, 2), (3, SPARE, 3, 3, 3, 2), (4, PINNED, 2, 1, 1, 2),
        (4, SPARE, 3, 1, 1, 2), (5, SPARE, 3, 1, 1, 2), (8, FLOATING, 2, 1, 5, 2),
    ],
)  # fmt: skip
def test_a_latency_is_measured_where_all_three_have_cpus_of_their_own(
    cpus: int, pin: str, server: int, backend: int, load: int, carriers: int
) -> None:
    found = place(tuple(range(cpus)), 2, pin)
    assert [len(found.server), len(found.backend), len(found.load)] == [server, backend, load]
    assert found.carriers == carriers
    apart = not {*found.server} & {*found.backend} and not {*found.backend} & {*found.load}
    assert (found.reason == "") is (apart and not found.is_shared)
    assert found.reason in ("", f"not measurable here: {cpus} CPUs")


def test_the_matrix_has_every_mode_with_every_choice_and_each_peer() -> None:
    assert {(s.side, s.stealing, s.pin) for s in MATRIX if s.side in (UNIFIED, SPLIT)} == {
        (side, stealing, pin) for side in (UNIFIED, SPLIT) for stealing in (False, True)
        for pin in (FLOATING, PINNED, SPARE)
    }  # fmt: skip
    for side in (REACTIVE, STRATEGY):
        assert {s.pin for s in MATRIX if s.side == side} == {FLOATING, PINNED, SPARE}
    assert {s.side for s in ONE} == {*OURS, *servers.PEERS}
    assert len({s.name for s in (*ONE, *MATRIX)}) == len(ONE) + len(MATRIX)


def test_a_process_has_the_switches_and_the_time_of_all_its_threads(tmp_path: Path) -> None:
    for task in ("7", "8"):
        folder = tmp_path / "7" / "task" / task
        folder.mkdir(parents=True)
        (folder / "status").write_text(
            "Name: a\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n"
        )
        (folder / "schedstat").write_text("9 3000000000 4\n")
    fields = " ".join(["S", *["0"] * 10, "30", "20", *["0"] * 30])
    (tmp_path / "7" / "stat").write_text(f"7 (a) b) {fields}")
    found = running.usage(7, tmp_path)
    assert found == running.Usage(50 / os.sysconf("SC_CLK_TCK"), 6.0, 14)
    assert found.since(running.Usage(0, 1, 4)) == running.Usage(found.cpu_s, 5.0, 10)
    assert running.usage(os.getpid()).cpu_s > 0


def test_percentiles_are_hdr_histograms_and_none_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = [[1_000_000, 98], [500_000_000, 2]]
    if servers.can_sort():
        told = sample.percentiles_ms(pairs)
        assert told == pytest.approx([1, 1, 500, 500, 500], rel=0.001)
    assert sample.percentiles_ms([]) == []
    monkeypatch.setattr(servers, "can_sort", lambda: False)
    assert sample.percentiles_ms(pairs) == []


def test_goals_compare_what_a_request_costs_the_server() -> None:
    sides = {UNIFIED: a_sample(0.5, 100), SPLIT: a_sample(0.6, 400), REACTIVE: a_sample(0.4, 90),
             GO: a_sample(1.0, 90), STRATEGY: a_sample(0.4, 800)}  # fmt: skip
    found = {(r.row.name, r.row.peer): r for _, r in
             goals([a_line(side, one) for side, one in sides.items()])}  # fmt: skip
    most, calm = "requests per CPU second", "switches per request"
    assert found[most, REACTIVE].ratio == pytest.approx(0.8)
    assert [found[most, side].verdict for side in (REACTIVE, GO, SPLIT)] == [SHORT, MET, MET]
    assert found[most, UNIFIED if (most, UNIFIED) in found else GO].ours == pytest.approx(2.0)
    assert [found[calm, side].verdict for side in (GO, SPLIT)] == [SHORT, MET]
    assert (found[most, STRATEGY].verdict, found[most, STRATEGY].ratio) == (SHOWN, 0.8)
    assert (most, JDK) not in found


@pytest.mark.parametrize(("wakeups", "verdict"), [(50, MET), (51, SHORT)])
def test_a_sleep_may_cost_one_write_and_no_more(wakeups: int, verdict: str) -> None:
    found = goals([a_line(UNIFIED, a_sample(stats={"sleeps": 50, "wakeups": wakeups}))])
    assert [result.verdict for _, result in found] == [verdict, verdict]


def test_a_server_that_was_not_run_takes_only_its_own_goals_along() -> None:
    missing = Line(Setup(GO), LOADS[0], HERE, not_run="not run: install Go")
    found = [r for _, r in goals([a_line(UNIFIED, a_sample()), missing])]
    assert {r.not_run for r in found if r.row.peer == GO} == {"not run: install Go"}
    assert all(r.verdict for r in found if r.row.peer != GO)


def test_who_fell_behind_the_rate_had_no_time_to_sleep_and_is_not_compared() -> None:
    slow = replace(a_sample(switches=1), asked=1100.0)
    quick = replace(a_sample(switches=300), asked=1000.0)
    mixed = Line(Setup(GO), LOADS[0], HERE, {FIXED: [slow, quick], MOST: [quick, quick]})
    calm = [r for _, r in goals([a_line(UNIFIED, a_sample()), mixed]) if r.row.unit == "switches"]
    assert [(r.verdict, r.rounds) for r in calm] == [(MET, 1)]
    mixed.samples[FIXED] = [slow, slow]
    found = [r for _, r in goals([a_line(UNIFIED, a_sample()), mixed]) if r.row.unit == "switches"]
    assert [r.not_run for r in found] == [results.BEHIND]


def test_on_two_cpus_the_latency_is_not_told_and_the_counts_are() -> None:
    line = a_line(UNIFIED, a_sample(percentiles_ms=[1.0, 2.0, 3.0, 4.0, 5.0]))
    assert str(latency(line)[-1]) == "not measurable here: 2 CPUs"
    assert [str(cell) for cell in counts(line)[3:8]] == ["1000", "500.0", "0.50", "0.25", "0.10"]
    assert [str(cell) for cell in counts(line)[8:10]] == ["0.02", "3.00"]
    apart = replace(line, place=place((0, 1, 2), 1, FLOATING))
    assert latency(apart)[-2:] == ["1.00 / 2.00 / 3.00 / 4.00 / 5.00", "0.00"]
    untold = a_line(UNIFIED, a_sample(), apart.place)
    assert "hdrhistogram" in str(latency(untold)[-1]) or servers.can_sort()


def test_too_few_descriptors_are_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "getrlimit", lambda _: (1024, 1024))
    assert run._too_few_descriptors(LOADS[0]) == ""
    why = run._too_few_descriptors(LOADS[1])
    assert why == "not run: 14,200 descriptors needed, 1,024 allowed (ulimit -Hn)"


@pytest.mark.parametrize("settings", [run.Settings(seconds=0), run.Settings(rate=-1)])
def test_numbers_must_make_sense(settings: run.Settings) -> None:
    with pytest.raises(UsageError, match="must be more than 0"):
        web.bench_http(settings)


def test_an_unknown_server_names_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"no server matches 'nginx'.*unified off none 1"):
        web.bench_http(run.Settings("nginx"))


def test_without_the_examples_it_says_how_to_make_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(locations, "cache", lambda: tmp_path)
    with Children() as children, pytest.raises(MissingToolError, match="run `make examples`"):
        servers.build(children)


def test_each_peer_that_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "examples").mkdir()
    for name in ("echo_server", "backend"):
        (tmp_path / "examples" / name).touch()
    monkeypatch.setattr(locations, "cache", lambda: tmp_path)
    monkeypatch.setattr(servers, "load", lambda _: tmp_path)
    monkeypatch.setattr(servers, "find_spec", lambda _: None)
    monkeypatch.setattr(peers.shutil, "which", lambda _: None)
    monkeypatch.setattr(peers, "JDKS", tmp_path)
    with Children() as children:
        found = servers.build(children)
    assert set(found.servers) == set(OURS)
    assert found.missing[GO] == "not run: install Go"
    assert found.missing[JDK] == "not run: install a JDK (21 or newer: javac)"
    assert found.missing[UVLOOP].endswith("-m pip install uvloop==0.23.0 httptools==0.9.0")


def test_every_goal_of_the_issue_has_a_row() -> None:
    found = {(row.name, row.peer): row.goal for row in results.ROWS}
    assert found["requests per CPU second", REACTIVE] == ">= 0.9x"
    assert found["requests per CPU second", UVLOOP] == ">= 1.15x"
    assert {found["requests per CPU second", side] for side in (GO, JDK, SPLIT)} == {">= 1x"}
    assert {found["switches per request", side] for side in (GO, SPLIT)} == {"<= 1x"}
    for side in (UNIFIED, SPLIT):
        assert found[f"eventfd writes per sleep, {side}", side] == "<= 1"
        assert found["- beyond one per sleep, no time to sleep", side] == "<= 0"
