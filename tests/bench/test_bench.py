# SPDX-License-Identifier: Apache-2.0
"""The form of the bench, never its time: ratios and verdicts of given samples, every row, peers.

Serves no spec: docs/inside/performance.md.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from wakeproof import bench
from wakeproof.bench import (
    MET,
    ROWS,
    SHORT,
    SHOWN,
    TIE,
    Row,
    Samples,
    grade,
    measure,
    program,
    python,
)
from wakeproof.bench.compare import Change, compare
from wakeproof.bench.rows import KOPS
from wakeproof.cli.bench import bench as command
from wakeproof.cli.bench import cells, show
from wakeproof.errors import EXIT_HOLDS, EXIT_VIOLATED, JudgeError, UsageError
from wakeproof.judge import report
from wakeproof.judge.process import Children

TIMES = Row("a queue", "toy", "ours", "ring", "private ring", at_most=1.8, why="one exchange")
RATES = Row("a flow", "toy", "ours", "peer", "a peer", "Mops/s", at_least=2.0, needs="libpeer-dev")


OWN = ("harness", "explore", "own", *python.OPERATIONS)  # rows of programs other than bench/main.c
ELSEWHERE = ("go", "tokio", "boost", "jdk")  # sides of other programs


def run_row(built: program.Program, name: str, rounds: int = 1) -> dict[str, Any]:
    cpus = map(str, sorted(os.sched_getaffinity(0))[:2])
    command = [str(built.path), name, str(rounds), "0.01", "1", *cpus]
    ended = subprocess.run(command, capture_output=True, check=True)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def samples(ours: list[float], peer: list[float], name: str = "ring") -> Samples:
    return Samples({"ours": ours, name: peer})


def test_a_ratio_of_times_is_the_median_of_the_rounds_ratios() -> None:
    # The medians alone would give 20/10; the rounds give 1, 2, 4.
    found = grade(TIMES, samples([10.0, 20.0, 40.0], [10.0, 10.0, 10.0]))
    assert (found.ours, found.peer, found.ratio) == (20.0, 10.0, 2.0)
    assert (found.low, found.high) == (1.5, 3.0)


def test_a_ratio_of_rates_is_upside_down_and_in_millions() -> None:
    found = grade(RATES, samples([10.0, 10.0], [40.0, 40.0], "peer"))
    assert (found.ours, found.peer, found.ratio, found.verdict) == (100.0, 25.0, 4.0, MET)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [([17.0, 17.0, 17.0], MET), ([19.0, 19.0, 19.0], SHORT), ([17.0, 19.0, 19.0, 17.9], TIE)],
)
def test_a_goal_inside_the_quartiles_is_a_tie(ours: list[float], verdict: str) -> None:
    assert grade(TIMES, samples(ours, [10.0] * len(ours))).verdict == verdict


def test_a_row_without_a_goal_is_shown_and_not_judged() -> None:
    found = grade(replace(TIMES, at_most=None), samples([99.0], [1.0]))
    assert found.verdict == SHOWN
    assert found.row.goal == "-"


def test_a_goal_in_executions_a_second_is_a_rate() -> None:
    row = Row("an explorer", "toy", "ours", "goal", "50,000/s", KOPS, at_least=1.0)
    found = grade(row, samples([10_000.0] * 3, [20_000.0] * 3, "goal"))
    assert (found.ours, found.peer, found.ratio, found.verdict) == (100.0, 50.0, 2.0, MET)


@pytest.mark.parametrize(("ours", "verdict"), [(1.0, MET), (1.01, SHORT)])
def test_a_counted_row_is_judged_by_its_own_number(ours: float, verdict: str) -> None:
    row = replace(TIMES, at_most=1.0, count="calls", unit="calls")
    times = {"ours": [9.0] * 3, "ring": [1.0] * 3}
    found = grade(row, Samples(times, {"calls": {"ours": [0, ours, 2], "ring": [5, 6, 7]}}))
    assert (found.ours, found.peer, found.verdict) == (ours, 6, MET if ours <= 1 else TIE)
    exact = grade(row, Samples(times, {"calls": {"ours": [ours] * 3, "ring": [5, 6, 7]}}))
    assert (row.goal, exact.verdict) == ("<= 1", verdict)
    assert cells(exact)[5] == ""


def test_a_missing_peer_is_reported_and_fails_nothing() -> None:
    found = measure.judge(RATES, samples([1.0], [1.0]))
    assert found.not_run == "not run: install libpeer-dev"
    assert str(cells(found)[-1]) == "not run: install libpeer-dev"
    why = Samples({"ours": [1.0]}, missing={"peer": "not run: it does not compile"})
    assert measure.judge(RATES, why).not_run == "not run: it does not compile"


def test_a_missing_header_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "PEER_HEADER", "no/such/header.h")
    with Children() as children:
        why = program._why_no_peer(children, ["c++"])
    assert "libconcurrentqueue-dev" in why
    assert why.startswith("not run: install ")


def test_a_missing_library_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "BOOST_LIBRARY", "-lno_such_library")
    with Children() as children:
        assert program._why_no_boost(children) == "not run: install libboost-context-dev"
    missing = program.Program(Path(), "", "not run: install libboost-context-dev").missing
    (row,) = [row for row in ROWS if row.peer == "fcontext"]
    found = measure.judge(row, Samples({"ours": [1.0]}, missing=missing))
    assert found.not_run == "not run: install libboost-context-dev"


def test_a_missing_compiler_for_the_peer_names_both_packages() -> None:
    with Children() as children:
        why = program._why_no_peer(children, ["no-such-c++"])
    assert why == "not run: install g++ and libconcurrentqueue-dev"


def test_the_table_has_a_line_per_row_and_says_why_one_is_short(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = (
        grade(TIMES, samples([30.0], [10.0])),
        measure.judge(RATES, samples([1.0], [1.0])),
    )
    peers = {"Go": "1.99.1", "Boost": "of unknown version"}
    show(report.console(), measure.BenchReport(results, "x86_64", "cc", (0, 1), peers))
    out = capsys.readouterr().out
    assert "peers: Go 1.99.1, Boost of unknown version\n" in out
    assert "a queue" in out
    assert "a flow" in out
    assert "a queue: one exchange" in out
    assert (
        "1 goals: 0 met, 0 tie (the goal lies within the quartiles), 1 short; 1 rows not run" in out
    )


def test_every_goal_of_the_issue_has_a_row() -> None:
    goals = {(row.program, row.count or row.peer): row.goal for row in ROWS if row.goal != "-"}
    assert goals["one_batch", "floor"] == goals["local_ping", "floor"] == "<= 1.1x"
    assert goals["parker", "futex"] == "<= 1.05x"
    assert goals["harness", "sweep"] == ">= 0.8x"
    assert goals["explore", "500k"] == goals["explore", "20k"] == ">= 1x"
    assert goals["explore", "one"] == ">= 1.9x"
    assert goals["peers_far", "go"] == "<= 0.9x"
    assert goals["vthread_turns", "go"] == goals["vthread_join", "go"] == "<= 0.2x"
    assert goals["strategy_never", "pc"] == goals["strategy_never", "epc"] == ">= 0.9x"
    for carriers in (16, 64):
        assert goals[f"burst_{carriers}", "12us"] == "<= 1x"
        assert goals[f"burst_{carriers}", "useless"] == "<= 0.5"
    assert goals["own", "100k"] == goals["own", "10k"] == goals["own", "10k, Rust"] == ">= 1x"
    assert goals["group_submit", "12ns"] == goals["group_tasks", "100ns"] == "<= 1x"
    assert goals["group_submit", "alone"] == "<= 1.3x"
    assert goals["group_unpark", "150ns"] == goals["pingpong_awake", "lines"] == "<= 1x"
    assert goals["pingpong_asleep", "futex"] == "<= 1.05x"
    assert goals["pingpong_asleep", "wakes"] == "<= 1"
    assert goals["pingpong_asleep", "strays"] == goals["pingpong_awake", "strays"] == "<= 0"
    assert goals["pingpong_awake", "calls"] == "<= 0"
    assert goals["memory", "bytes"] == "<= 160"
    assert (goals["balanced", "off"], goals["balanced", "stolen"]) == ("<= 1.02x", "<= 1")
    assert goals["hot_carrier", "off"] == "<= 1x"
    for carriers in (2, 16, 64, 256):
        assert goals[f"recheck_{carriers}", "sibling"] == "<= 10"
    for flow in ("flow_1", "flow_2", "flow_4"):
        assert goals[flow, "vyukov"] == ">= 1.05x"
        assert goals[flow, "moodycamel"] == ">= 2x"
    for row in ("told", "some", "always"):
        for other in ("pc", "pec", "epc"):
            assert goals[f"strategy_{row}", other] == ">= 0.9x"
    assert (goals["fiber", "fcontext"], goals["stack", "3ns"]) == ("<= 0.8x", "<= 1x")
    assert {"submit", "layout_queue", "layout_ticket", "layout_token"} <= {p for p, _ in goals}


def test_a_concept_selects_its_rows() -> None:
    assert {row.program for row in measure.select("^guard$")} == {"submit", "submit_awake"}


def test_an_unknown_row_names_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"no row matches 'nowhere'.*parker"):
        bench.bench("nowhere")


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_measuring_time_must_be_positive(seconds: float) -> None:
    with pytest.raises(UsageError, match="--seconds"):
        bench.bench("parker", seconds)


@pytest.mark.rotates
@pytest.mark.slow
def test_every_row_is_in_the_program_with_its_sides() -> None:
    with Children() as children:
        built = program.build(children)
        for name in dict.fromkeys(row.program for row in ROWS if row.program not in OWN):
            found = run_row(built, name)
            needed = {s for r in ROWS if r.program == name and r.peer not in ELSEWHERE
                      for s in (r.ours, r.peer)} - set(built.missing)  # fmt: skip
            assert needed <= set(found["samples"]), name
            assert {r.count for r in ROWS if r.program == name} <= {"", *found["counts"]}, name


@pytest.mark.rotates
@pytest.mark.slow
def test_a_hand_off_between_sleeping_carriers_is_one_wake_and_no_step_strays() -> None:
    with Children() as children:
        counts = run_row(program.build(children), "pingpong_asleep", 8)["counts"]
    for side in ("ours", "pinned"):
        assert 0.25 <= max(counts["wakes"][side]) <= 1  # or the other one was still awake
        assert counts["strays"][side] == [0] * 8
    # Free ones are stolen, which shows the form of steps on other carriers.
    if len(os.sched_getaffinity(0)) > 1:
        assert max(counts["strays"]["stealing"]) > 0.1


@pytest.mark.slow
def test_simulated_victims_are_all_helped_but_by_the_twin() -> None:
    with Children() as children:
        counts = run_row(program.build(children), "burst_16")["counts"]
    assert counts["lost"]["ours"] == counts["lost"]["one"] == counts["lost"]["two"] == [0]
    assert counts["lost"]["shipped"][0] > 25


@pytest.mark.slow
def test_simulated_writes_to_shared_words_follow_the_load() -> None:
    with Children() as children:
        built = program.build(children)
        few, many = (run_row(built, f"words_{carriers}")["counts"] for carriers in (16, 64))
    # A carrier that is busy half of the time with tasks of 20 us gets 25 thousand a second. Each is
    # pushed, and each that empties the queue is popped by a write to its tail.
    for counts in (few, many):
        assert 25 < counts["tail"]["even"][0] < 75
        assert 3 < counts["tail"]["hot"][0] / counts["tail"]["even"][0] < 5
    # What all share grows with the carriers, and what is a carrier's own does not.
    assert 3 < many["idle"]["even"][0] / few["idle"]["even"][0] < 8
    assert 3 < many["tokens"]["even"][0] / few["tokens"]["even"][0] < 10
    assert many["word"]["even"][0] < 3 * few["word"]["even"][0]


@pytest.mark.slow
def test_strategies_run_tasks_as_they_are_called() -> None:
    with Children() as children:
        counts = run_row(program.build(children), "strategy_never")["counts"]
    executed, handed = counts["executed"], counts["handed"]
    assert (executed["pc"], handed["pc"], counts["threads"]["pc"]) == ([0], [0], [1])
    assert (executed["pec"], handed["pec"]) == ([100], [0])
    for side in ("epc", "adaptive"):
        assert executed[side][0] + handed[side][0] == pytest.approx(100, rel=1e-3)


@pytest.mark.slow
def test_the_command_prints_and_stores_json(
    wakeproof: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    ended = wakeproof("bench", "-t", "private ring", "--seconds", "0.01", "--json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert {r["row"]["program"] for r in found["results"]} == {"one_batch", "one_turn", "one_ping"}
    assert all(r["rounds"] >= 6 for r in found["results"])
    stored = Path(found["stored"])
    assert json.loads((stored / "one_ping.json").read_text())[0]["ns"]["ours"]


def test_a_side_that_fails_leaves_the_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(_children: object, _program: object, name: str, *_: object) -> Samples:
        if name == "one_turn":
            raise JudgeError("bench one_turn failed (1): a queue lost a task")
        return samples([1.0] * 3, [1.0] * 3, "ring")

    monkeypatch.setattr(measure, "_measure", measured)
    monkeypatch.setattr(measure.building, "build", lambda _: None)
    monkeypatch.setattr(measure, "judge", lambda row, of: grade(replace(row, peer="ring"), of))
    monkeypatch.setattr(measure.locations, "write_atomically", lambda *_: None)
    wanted = "^(run queue push|- 64 tasks)"
    with pytest.raises(typer.Exit) as ended:
        command([], wanted, seconds=0.1, as_json=True)
    assert ended.value.exit_code == EXIT_VIOLATED
    found = measure.bench(wanted)
    failed = {result.row.program: result.not_run for result in found.failed}
    assert failed == {"one_turn": "failed: bench one_turn failed (1): a queue lost a task"}
    assert any(not result.not_run for result in found.results)
    assert found.summary.endswith("of them failed")


def run_of(*results: bench.Result) -> measure.BenchReport:
    return measure.BenchReport(results, "x86_64", "cc", (0, 1))


def changed(row: Row, old: list[float], new: list[float]) -> Change:
    """Compare two runs of one row whose peer took 10 ns in each round."""
    before, after = (run_of(grade(row, samples(ns, [10.0] * 3, row.peer))) for ns in (old, new))
    (change,) = compare(before, after).changes
    return change


@pytest.mark.parametrize(
    ("new", "factor", "of_times", "of_rates"),
    [
        ([20.0, 22.0, 24.0], 2.0, "slower", "slower"),
        ([5.0, 5.5, 6.0], 0.5, "faster", "faster"),
        ([10.0, 12.1, 14.0], 1.1, "", ""),  # quartiles of 1.105 and 1.305; of the old 1.05 and 1.15
    ],
)
def test_a_row_is_faster_or_slower_if_its_quartiles_do_not_overlap(
    new: list[float], factor: float, of_times: str, of_rates: str
) -> None:
    old = [10.0, 11.0, 12.0]
    times, rates = (changed(row, old, new) for row in (TIMES, RATES))
    assert (times.way, rates.way) == (of_times, of_rates)
    assert times.factor == pytest.approx(factor)
    assert rates.factor == pytest.approx(1 / factor)


def test_a_goal_that_was_met_and_is_short_is_lost() -> None:
    assert changed(TIMES, [17.0] * 3, [19.0] * 3).is_lost
    assert not changed(TIMES, [19.0] * 3, [19.5] * 3).is_lost  # it was short before
    assert not changed(TIMES, [17.0] * 3, [17.5] * 3).is_lost
    assert not changed(replace(TIMES, at_most=None), [17.0] * 3, [99.0] * 3).is_lost


def test_two_files_are_compared_row_by_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fast, slow = (grade(TIMES, samples([ours] * 3, [10.0] * 3)) for ours in (17.0, 34.0))
    flow = grade(RATES, samples([1.0] * 3, [10.0] * 3, "peer"))
    runs = {"old": run_of(fast, flow), "new": run_of(slow, replace(flow, not_run="no peer"))}
    files = [tmp_path / f"{name}.json" for name in runs]
    for file, found in zip(files, runs.values(), strict=True):
        file.write_text(report.to_json(found), "utf-8")
    with pytest.raises(typer.Exit) as ended:
        command(["compare", *map(str, files)])
    assert ended.value.exit_code == EXIT_VIOLATED
    out = capsys.readouterr().out
    (line,) = (line for line in out.splitlines() if line.startswith("a queue"))
    assert line.split("  ")[-1].strip() == "met -> short"
    assert "slower" in line
    assert "in the old run alone: toy, a flow (a peer)" in out
    assert "1 rows: 0 faster, 1 slower, 0 within the quartiles; 1 goals lost; 1 rows in the" in out
    with pytest.raises(typer.Exit) as ended:
        command(["compare", *map(str, files)], "flow", as_json=True)
    assert ended.value.exit_code == EXIT_HOLDS
    found = json.loads(capsys.readouterr().out)
    assert (found["changes"], found["lost"]) == ([], [])
    assert [result["row"]["name"] for result in found["only_old"]] == ["a flow"]


def test_rows_of_one_name_are_told_apart_by_their_peers() -> None:
    other = replace(TIMES, peer="list", against="a list")
    fast, slow = (grade(TIMES, samples([ns] * 3, [10.0] * 3)) for ns in (10.0, 20.0))
    beside = grade(other, samples([50.0] * 3, [10.0] * 3, "list"))
    found = compare(run_of(fast, beside), run_of(beside, slow)).changes
    assert [change.factor for change in found] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compare"], "'compare'; allowed: nothing, compare OLD.json NEW.json"),
        (["measure", "a", "b"], "'measure a b'; allowed: nothing, compare OLD.json NEW.json"),
        (["compare", "none", "none"], "none: No such file or directory"),
        (
            ["compare", "half.json", "half.json"],
            "half.json is no run that `wakeproof bench --json`",
        ),
        (
            ["compare", "list.json", "list.json"],
            "list.json is no run that `wakeproof bench --json`",
        ),
    ],
)
def test_what_is_no_run_is_named(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("half.json").write_text('{"results": [')
    Path("list.json").write_text("[1, 2]")
    with pytest.raises(UsageError, match=f"^{re.escape(said)}"):
        command(words)
