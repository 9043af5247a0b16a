# SPDX-License-Identifier: Apache-2.0
"""`wakeproof explore` and `replay`: verdicts, traces, tokens, exit codes; DESIGN section 5."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from wakeproof import paths
from wakeproof.errors import UsageError
from wakeproof.judge import explore_grading, explore_labels, explore_tokens
from wakeproof.judge.explore import ExploreReport, explore
from wakeproof.judge.explore_options import ExploreOptions, Model
from wakeproof.judge.explore_results import Found, Result
from wakeproof.judge.explore_tokens import Token
from wakeproof.judge.grading import HELD, NOT_JUDGED, VIOLATED
from wakeproof.judge.scenarios import Outcome, Scenario, Twin

Command = Callable[..., "subprocess.CompletedProcess[str]"]
SCENARIOS = Path(__file__).parent / "scenarios"
BUFFERING = """program SB
thread
  store x 1 release
  r0 = load y acquire
  assert r0 == 1
thread
  store y 1 release
end
program fine
thread
  store x 1 relaxed
observe x
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    file = tmp_path / "programs.txt"
    file.write_text(BUFFERING)
    return file


def run(file: str, regex: str | None = None, options: ExploreOptions | None = None,
        save: Path | None = None) -> ExploreReport:  # fmt: skip
    return explore([SCENARIOS / file], regex, options, save=save)


# Verdicts, without the explorer.


def scenario(*outcomes: tuple[str, str]) -> Scenario:
    graded = tuple(Outcome(pattern, grade, "because") for pattern, grade in outcomes)
    return Scenario(Path("s.c"), "s", "claim", "Guard!NoLostWakeup", 2, 2, False, 1, graded)


def twin(*seen_by: str, chance: tuple[str, ...] = ()) -> Twin:
    return Twin(Path("s.c"), "s_t", "s", "defect", "0,0", frozenset(seen_by), frozenset(chance))


def result(model: Model, *texts: str, exhaustive: bool = True, verdict: str = "ended",
           engine: str = "graphs", error: str = "") -> Result:  # fmt: skip
    outcomes = tuple(Found(text, verdict, 1, ()) for text in texts)
    stopped = "" if exhaustive else "max_seconds"
    return Result("s", model, engine, 2, outcomes, len(texts), 0, 0, 0, 0, 0, 0,
                  exhaustive, stopped, error, 0.0, 0)  # fmt: skip


WHOLE = (("0,0", "FORBIDDEN"), ("1,1", "REQUIRED"), ("0,1", "ACCEPTABLE"))


@pytest.mark.parametrize(
    ("found", "status", "message"),
    [
        (result(Model.RC11, "1,1", "0,1"), HELD, None),
        (result(Model.RC11, "1,1", "0,0"), VIOLATED, "forbidden outcome 0,0"),
        (result(Model.RC11, "1,1", "5,5"), VIOLATED, "covered by no grade"),
        (result(Model.RC11, "0,1"), VIOLATED, "required outcome 1,1 is not reachable"),
        (result(Model.SC, "0,1"), HELD, None),  # what real cores must show need not be SC
        (result(Model.RC11, "0,1", exhaustive=False), NOT_JUDGED, "time limit"),
        (result(Model.SC, exhaustive=False), NOT_JUDGED, "no execution came to its end"),
        (result(Model.SC), VIOLATED, "no execution came to its end"),  # nothing was judged
        (result(Model.RC11, "1,1", error="broken"), VIOLATED, "broken"),
        (result(Model.RC11, "asleep", verdict="missed"), VIOLATED, "a missed wakeup"),
        (result(Model.RC11, "race", verdict="race"), VIOLATED, "conflicting accesses"),
    ],
)
def test_outcomes_are_graded_per_model(found: Result, status: str, message: str | None) -> None:
    report = explore_grading.judge_scenario(scenario(*WHOLE), [found], explore_labels.Labels())
    assert report.status == status
    assert (message or "") in "".join(report.messages)


def test_a_pattern_for_all_numbers_allows_no_race() -> None:
    report = explore_grading.judge_scenario(
        scenario(("*", "ACCEPTABLE")), [result(Model.SC, "race", verdict="race")],
        explore_labels.Labels(),
    )  # fmt: skip
    assert report.status == VIOLATED


@pytest.mark.parametrize(
    ("of", "found", "status", "message"),
    [
        (twin("sc"), result(Model.SC, "0,0"), HELD, ""),
        (twin("sc"), result(Model.SC, "1,1"), VIOLATED, "though sc is in seen_by"),
        (twin(), result(Model.SC, "0,0"), VIOLATED, "neither in seen_by nor in chance"),
        (twin(), result(Model.SC, "1,1"), HELD, ""),
        (twin(chance=("sc",)), result(Model.SC, "0,0"), HELD, ""),
        (twin(chance=("sc",)), result(Model.SC, "1,1"), HELD, ""),
        (twin("sc"), result(Model.SC, "1,1", exhaustive=False), NOT_JUDGED, "time limit"),
        (twin(), result(Model.SC, "1,1", exhaustive=False), NOT_JUDGED, "time limit"),
        (twin("sc"), result(Model.SC, "race", verdict="race"), HELD, ""),
    ],
)
def test_a_twin_is_killed_exactly_where_it_is_declared(
    of: Twin, found: Result, status: str, message: str
) -> None:
    report = explore_grading.judge_twin(of, scenario(*WHOLE), [found], explore_labels.Labels())
    assert report.status == status
    assert message in "".join(report.messages)


def test_engines_that_disagree_are_a_violation() -> None:
    both = [result(Model.SC, "1,1"), result(Model.SC, "1,1", "0,1", engine="states")]
    report = explore_grading.judge_scenario(scenario(*WHOLE), both, explore_labels.Labels())
    assert report.status == VIOLATED
    assert report.messages == ("SC: the engines disagree: states alone gives 0,1",)


# Labels and tokens.


def test_labels_are_those_that_pairs_lints() -> None:
    tool = paths.sources() / "tools" / "pairs.py"
    ended = subprocess.run([sys.executable, str(tool), "--json"], capture_output=True, check=False)
    labels = explore_labels.read(paths.sources())
    sites = json.loads(ended.stdout)
    assert len(sites) > 50
    for site in sites:
        assert labels.of(site["file"], site["line"]) == f"[{site['label']}]"
    assert set(labels.by_line.values()) == {site["label"] for site in sites}


def test_a_label_that_does_not_exist_lists_those_that_do() -> None:
    labels = explore_labels.read(paths.sources())
    assert labels.lines("[G2]") == labels.lines("G2")
    with pytest.raises(UsageError, match="no site has the label 'XX9'; there are "):
        labels.lines("XX9")


def test_a_token_is_read_as_it_was_written() -> None:
    options = ExploreOptions(spurious=1, orders=(("guard.h", 120, "relaxed"),))
    found = Found("0,0", "ended", 1, ())
    token = explore_tokens.make(
        Path("/there/s.c"), "s", "s_t", Model.TSO, "states", options, found, "abc"
    )
    assert explore_tokens.decode(token.text).explore_options() == ExploreOptions(
        models=(Model.TSO,), engine="states", spurious=1, orders=(("guard.h", 120, "relaxed"),)
    )
    assert explore_tokens.decode(token.text).text == token.text


@pytest.mark.parametrize("text", ["", "abc", "eNpLy0", "é", "WyIxIl0="])
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no token"):
        explore_tokens.decode(text)


def test_a_token_of_another_version_or_with_unknown_options_is_refused() -> None:
    token = Token("s.c", "s", "", "sc", "states", {"speed": 3}, "0", "ended", "a", "b")
    with pytest.raises(UsageError, match="not of this version"):
        explore_tokens.decode(token.text).explore_options()


# The command line.


ERRORS = {
    "explore --model arm": "unknown model 'arm'; there are sc, tso, rc11, all",
    "explore --engine fast": "unknown engine 'fast'; there are auto, graphs, states, both",
    "explore --engine states --model all": "engine states knows sc and tso",
    "explore --sample often": "unknown sample 'often'; write random",
    "explore --max-bytes much": "'much' is no number of bytes; write 500M",
    "explore --preemptions 2 --engine graphs": "a bound on preemptions needs engine states",
    "explore --futex weak": "--futex 'weak': there are none, linux",
    "explore --order G2": "--order 'G2': write G2=relaxed",
    "explore --order XX9=relaxed": "no site has the label 'XX9'; there are ",
    "explore nowhere.c": "no scenario file nowhere.c",
    "explore -t ( nowhere.c": "no scenario file nowhere.c",
    "replay nonsense": "no token: nonsense",
    "replay nowhere.json": "nowhere.json holds no counterexample of wakeproof explore",
}


@pytest.mark.parametrize("arguments", ERRORS)
def test_a_request_that_makes_no_sense_is_one_line_and_exit_2(
    wakeproof: Command, arguments: str
) -> None:
    ended = wakeproof(*arguments.split())
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"wakeproof: {ERRORS[arguments]}")
    assert ended.stderr.count("\n") == 1


def test_a_program_that_cannot_be_read_is_exit_2(wakeproof: Command, tmp_path: Path) -> None:
    file = tmp_path / "bad.txt"
    file.write_text("program p\nthread\nfoo\n")
    ended = wakeproof("explore", str(file))
    assert ended.returncode == 2
    assert f"{file}: p: line 3: foo is not an operation" in ended.stderr
    file.write_text("\n")
    assert "holds no program" in wakeproof("explore", str(file)).stderr


def test_help_shows_examples(wakeproof: Command) -> None:
    assert "wakeproof explore -t guard --model rc11" in wakeproof("explore", "--help").stdout
    assert "wakeproof replay build/explore/" in wakeproof("replay", "--help").stdout


def test_programs_as_text_are_judged_and_a_bad_execution_is_printed(
    wakeproof: Command, programs: Path, tmp_path: Path
) -> None:
    ended = wakeproof("explore", str(programs), "--save", str(tmp_path / "saved"))
    assert ended.returncode == 1
    assert "SB, SC: assertion (assertion)" in ended.stdout
    assert "assertion fails" in ended.stdout
    assert "SC broken at SB:5" in ended.stdout
    assert "1 held, 1 violated" in ended.stdout
    assert "Load buffering lies outside RC11" in ended.stdout
    assert wakeproof("explore", str(programs), "-t", "fine").returncode == 0


def test_the_report_as_json_says_how_much_was_explored(wakeproof: Command, programs: Path) -> None:
    ended = wakeproof("explore", str(programs), "-t", "fine", "--engine", "graphs", "--json")
    found = json.loads(ended.stdout)
    assert (ended.returncode, found["holds"]) == (0, True)
    runs = [judged["result"] for judged in found["scenarios"][0]["judged"]]
    assert [(r["model"], r["executions"], r["exhaustive"]) for r in runs] == [
        ("sc", 1, True), ("tso", 1, True), ("rc11", 1, True),
    ]  # fmt: skip


def test_a_counterexample_is_found_again_by_token_and_by_file(
    wakeproof: Command, programs: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    ended = wakeproof("explore", str(programs), "--save", str(saved), "--json")
    made = json.loads(ended.stdout)["counterexamples"]
    assert [Path(one["saved"]).parent for one in made] == [saved] * 3
    for one in made:
        again = wakeproof("replay", one["token"])
        assert again.returncode == 0
        assert "assertion fails" in again.stdout
    assert wakeproof("replay", made[0]["saved"]).returncode == 0
    programs.write_text(BUFFERING.replace("store y 1", "store y 2"))
    refused = wakeproof("replay", made[0]["token"])
    assert refused.returncode == 2
    assert "made from other sources" in refused.stderr
    programs.unlink()
    assert "does not exist" in wakeproof("replay", made[0]["token"]).stderr


def test_ctrl_c_leaves_no_process_behind(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    thread = "thread\n" + "add x 1 relaxed\n" * 12
    file.write_text("program long\n" + thread * 4)
    program = str(Path(sys.executable).with_name("wakeproof"))
    command = [program, "explore", str(file), "--model", "rc11", "--seconds", "100"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as job:
        explorers = _wait_for_explorer(job.pid)
        job.send_signal(signal.SIGINT)
        assert job.wait(timeout=30) == 130
    assert explorers
    assert not [pid for pid in explorers if Path(f"/proc/{pid}/exe").exists()]


def _wait_for_explorer(parent: int) -> list[int]:
    """Return the explorers of `parent`, waiting until there is one."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        children = Path(f"/proc/{parent}/task").glob("*/children")
        pids = [int(pid) for file in children for pid in file.read_text().split()]
        running = [p for p in pids if b"--program" in Path(f"/proc/{p}/cmdline").read_bytes()]
        if running:
            return running
        time.sleep(0.02)
    return []


# Scenarios.


def test_store_buffering_is_required_beyond_sc_and_its_twin_is_killed_there() -> None:
    report = run("buffering.c")
    assert report.statuses == {
        "buffering_bare": HELD,
        "buffering_fenced": HELD,
        "buffering_no_fence": HELD,
    }
    assert report.twins[0].killed == {"sc": False, "tso": True, "rc11": True}
    assert report.twins[0].first_killer is Model.TSO
    assert report.scenarios[1].line == "SC ok, TSO ok, RC11 ok"


def test_both_engines_agree_on_a_scenario() -> None:
    options = ExploreOptions(engine="both")
    report = run("buffering.c", "fenced|bare", options)
    engines = [judged.result.engine for judged in report.scenarios[0].judged]
    assert engines == ["graphs", "states", "graphs", "states", "graphs"]
    assert not report.violated


def test_a_twins_counterexample_is_saved_and_found_again(
    wakeproof: Command, tmp_path: Path
) -> None:
    report = run("buffering.c", "no_fence", save=tmp_path)
    assert [one.token.model for one in report.counterexamples] == ["tso", "rc11"]
    for one in report.counterexamples:
        ended = wakeproof("replay", str(one.saved))
        assert ended.returncode == 0
        assert "buffering_no_fence" in ended.stdout


def test_a_weaker_order_is_put_in_by_label_and_breaks_the_claim() -> None:
    labels = explore_labels.read(paths.sources())
    orders = tuple((file, line, "relaxed") for file, line in labels.lines("PK1"))
    options = ExploreOptions(models=(Model.RC11,), orders=orders)
    report = explore(None, "^parker_data$", options, twins=False)
    assert report.violated
    assert "RC11 broken" in report.scenarios[0].line


def test_the_parker_holds_and_each_of_its_twins_is_killed_where_declared() -> None:
    report = explore(None, "^parker")
    assert set(report.statuses.values()) == {HELD}
