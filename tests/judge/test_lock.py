# SPDX-License-Identifier: Apache-2.0
"""``verdicts.lock``: CI takes rows from it that are not due, and judges rows that it lacks."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wakeproof import locations
from wakeproof.judge import lock, store, verdicts
from wakeproof.judge.audit import command
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.conform import run as conform
from wakeproof.judge.explore import explorer
from wakeproof.judge.explore import run as explore
from wakeproof.judge.lock import SHARES, Lock, Row
from wakeproof.judge.orders import run as orders
from wakeproof.judge.process import Children
from wakeproof.judge.stress import run as native
from wakeproof.judge.stress.grading import HELD
from wakeproof.judge.stress.run import StressOptions
from wakeproof.judge.traces import run as traces
from wakeproof.judge.verdicts import Rows

SCENARIOS = Path(__file__).parent / "scenarios"
INPUTS = {"spec": "x' = x + 1", "tool": "1.0"}
OTHER = {**INPUTS, "spec": "x' = x + 2"}
ROW = Row("check", "MCToy", store.key(INPUTS), "ok", {"states": 4}, {"depth": 2})
DATE = "2026-01-31 12:59"
NOT_DUE = tuple(set(range(SHARES)) - {ROW.share})


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the results of these tests apart; compiled programs are shared with other tests."""
    monkeypatch.setenv(store.FRESH, "")
    monkeypatch.setenv(verdicts.CI, "")
    monkeypatch.setattr(store, "_folder", lambda: tmp_path / "judged")
    return tmp_path / lock.NAME


def locked(file: Path, *rows: Row) -> Lock:
    lock.write(file, rows, DATE)
    return lock.read(file)


def forge(file: Path, change: Callable[[list[object]], object]) -> Lock:
    """Change the one line of the file, and its hash."""
    *fields, _ = json.loads(file.read_text())
    text = json.dumps(change(fields), separators=(",", ":"))
    own = hashlib.sha256(text.encode()).hexdigest()[:16]
    file.write_text(f'{text[:-1]},"{own}"]\n')
    return lock.read(file)


def test_the_file_has_a_line_for_each_row_in_the_order_of_judges_and_names(file: Path) -> None:
    others = [replace(ROW, judge=judge, name=name) for judge in "ba" for name in ("y", "ü")]
    lock.write(file, others, DATE)
    text = file.read_text()
    assert [json.loads(line)[:2] for line in text.splitlines()] == [
        ["a", "y"], ["a", "ü"], ["b", "y"], ["b", "ü"],
    ]  # fmt: skip
    lock.write(file, reversed(others), DATE)
    assert file.read_text() == text
    assert lock.read(file).rows["b", "ü"] == replace(others[1], date=DATE)
    assert lock.read(file.with_name("none")) == Lock()


def test_a_row_that_was_judged_before_keeps_its_date(file: Path) -> None:
    known = locked(file, replace(ROW, date="2025-12-01 00:00"))
    assert known.rows["check", "MCToy"].date == "2025-12-01 00:00"


def test_ci_takes_a_row_on_the_same_inputs_that_is_not_due_and_no_other(file: Path) -> None:
    known = locked(file, ROW)
    taken = Rows(known, NOT_DUE[:1]).find("check", "MCToy", INPUTS)
    assert taken == replace(ROW, date=DATE)
    assert Rows(known, NOT_DUE[:1]).find("check", "MCToy", OTHER) is None
    assert Rows(known, NOT_DUE[:1]).find("check", "MCOther", INPUTS) is None
    assert Rows(known, NOT_DUE[:1]).find("conform", "MCToy", INPUTS) is None
    assert Rows(known, (ROW.share,)).find("check", "MCToy", INPUTS) is None
    assert Rows(known, range(SHARES)).find("check", "MCToy", INPUTS) is None


def test_ci_takes_nothing_that_the_machine_has_kept(file: Path) -> None:
    Rows().judged("check", "MCToy", INPUTS, "ok", {"states": 4}, holds=True)
    assert Rows(Lock(), NOT_DUE[:1]).find("check", "MCToy", INPUTS) is None
    assert Rows(locked(file, ROW)).find("check", "MCToy", INPUTS) is not None


def test_a_share_of_all_rows_is_due_and_each_row_in_one_of_them() -> None:
    rows = [replace(ROW, name=f"row {n}") for n in range(4000)]
    counts = [sum(row.share == share for row in rows) for share in range(SHARES)]
    assert sum(counts) == 4000
    assert all(400 < count < 600 for count in counts)
    assert replace(ROW, inputs="others", verdict="other").share == ROW.share


@pytest.mark.parametrize(
    ("before", "after"),
    [('"ok"', '"violates"'), ('"states":4', '"states":5'), ('"depth":2', '"depth":3'),
     (DATE, "2026-02-31 12:59"), ("MCToy", "MCToy2"), ('"ok",', ""), ("[", "")],
)  # fmt: skip
def test_a_line_that_was_tampered_with_is_no_row(before: str, after: str, file: Path) -> None:
    lock.write(file, [ROW], DATE)
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after, 1))
    known = lock.read(file)
    assert (known.rows, known.damaged) == ({}, 1)
    rows = Rows(known, NOT_DUE[:1], "a share,")
    assert rows.find("check", "MCToy", INPUTS) is None
    rows.judged("check", "MCToy", INPUTS, "ok", {"states": 4}, holds=True)
    assert rows.summary.endswith("1 of its lines are damaged")


@pytest.mark.parametrize("lacks", [0, 2, 3, 5])
def test_a_row_whose_inputs_are_lacking_is_no_row(lacks: int, file: Path) -> None:
    lock.write(file, [ROW], DATE)
    whole = forge(file, lambda fields: fields)
    assert whole.find("check", "MCToy", store.key(INPUTS)) is not None
    less = forge(file, lambda fields: fields[:lacks] + fields[lacks + 1 :])
    assert less.find("check", "MCToy", store.key(INPUTS)) is None
    lock.write(file, [ROW], DATE)
    emptied = forge(file, lambda fields: ["" if n == 2 else f for n, f in enumerate(fields)])
    assert Rows(emptied, NOT_DUE[:1]).find("check", "MCToy", INPUTS) is None


@pytest.mark.parametrize("due", [None, (0, 1, 2, 3)])
def test_a_fresh_verdict_that_the_file_contradicts_is_said(
    due: Sequence[int] | None, file: Path
) -> None:
    rows = Rows(locked(file, ROW), due)
    rows.judged("check", "MCToy", INPUTS, "ok", {"states": 4}, {"depth": 9}, holds=True)
    rows.judged("check", "MCToy", INPUTS, "ok", {}, holds=True)  # cut short, without counts
    rows.judged("check", "MCToy", OTHER, "ok", {"states": 5}, holds=True)
    assert rows.contradictions == ()
    rows.judged("check", "MCToy", INPUTS, "ok", {"states": 5}, holds=True)
    assert rows.contradictions == (
        'check MCToy: ok {"states": 5} now, ok {"states": 4} in verdicts.lock '
        f"({DATE}), on the same inputs",
    )
    rows = Rows(locked(file, ROW), due)
    rows.judged("check", "MCToy", INPUTS, "violates", {"states": 4}, holds=False)
    [said] = rows.contradictions
    assert said.startswith("check MCToy: violates now, ok in verdicts.lock")


def test_the_last_line_says_which_share_and_what_was_taken(file: Path) -> None:
    names = [f"row {n}" for n in range(40)]
    known = locked(file, *(replace(ROW, name=name) for name in names[:30]))
    rows = Rows(known, (1,), "share 2 of 8, by commit abc,")
    for name in names:
        if rows.lacks("check", name, INPUTS):
            rows.judged("check", name, INPUTS, "ok", {"states": 4}, holds=True)
        else:
            rows.find("check", name, INPUTS)
    due = sum(replace(ROW, name=name).share == 1 for name in names)
    lacks = sum(replace(ROW, name=name).share != 1 for name in names[30:])
    assert due
    assert lacks
    assert rows.summary == (
        f"{due + lacks} of 40 rows were judged now: {due} of share 2 of 8, by commit abc, and "
        f"{lacks} that verdicts.lock lacks; {40 - due - lacks} were taken from it, "
        f"judged since {DATE}"
    )
    assert rows.by_judge == {"check": (due + lacks, 40 - due - lacks, DATE)}


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@invalid"]
    run = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return run.stdout.strip()


@pytest.mark.slow
def test_the_commit_says_which_share_ci_judges(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked(file, ROW)
    folder = file.parent
    git(folder, "init", "-q")
    monkeypatch.setenv(verdicts.CI, "1")
    assert verdicts.of_audit(folder).find("check", "MCToy", INPUTS) is None  # no commit yet
    seen = set()
    for number in range(400):  # 22 on average until each share has been seen
        if seen == set(range(SHARES)):
            break
        git(folder, "commit", "-q", "--allow-empty", "-m", f"{number}")
        found = lock.share_of(folder)
        assert found is not None
        share, commit = found
        assert commit == git(folder, "rev-parse", "HEAD")
        is_judged = verdicts.of_audit(folder).find("check", "MCToy", INPUTS) is None
        assert is_judged == (share == ROW.share)
        seen.add(share)
    assert seen == set(range(SHARES))
    monkeypatch.setenv(store.FRESH, "1")
    assert verdicts.of_audit(folder).find("check", "MCToy", INPUTS) is None


def test_a_full_audit_that_holds_writes_the_file_and_another_leaves_it(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Rows()
    rows.judged("check", "MCToy", INPUTS, "ok", {"states": 4}, {"depth": 2}, holds=True)
    rows.judged("orders", "A1", OTHER, "survived", {}, holds=False)

    class Found:
        judged = rows
        holds = False

    def write(mode: str) -> str:
        command._write_lock(command.report.console(), file.parent, Found(), mode)  # type: ignore[arg-type]
        return capsys.readouterr().out

    assert "left as it is: not every claim holds" in write("quick")
    assert not file.exists()
    Found.holds = True
    assert "left as it is: it has the mode quick, not tough" in write("tough")
    assert not file.exists()
    monkeypatch.setattr(store, "now", lambda: DATE)
    assert write("quick") == "verdicts.lock has 1 rows\n"
    assert lock.read(file).rows == {("check", "MCToy"): replace(ROW, date=DATE)}


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Build]:
    """Return the names of programs that were compiled, or found compiled."""
    found: list[Build] = []
    program = Builder.program

    def named(builder: Builder, scenario: Path, build: Build) -> Path:
        found.append(build)
        return program(builder, scenario, build)

    monkeypatch.setattr(Builder, "program", named)
    return found


LISTED = Build(kind="explored")


def buffering(folder: Path) -> Path:
    file = folder / "buffering.c"
    shutil.copy(SCENARIOS / "buffering.c", file)
    return file


def of_lock(file: Path, first: Rows) -> Rows:
    """Return rows that are all taken from a file with those of `first`."""
    return Rows(locked(file, *first.all), ())


@pytest.mark.rotates
@pytest.mark.slow
def test_what_is_taken_is_not_built_and_reported_as_it_was(file: Path, built: list[Build]) -> None:
    scenario = buffering(file.parent)
    first = Rows()
    before = explore.explore([scenario], rows=first)
    assert len(set(built)) > 1
    built.clear()
    second = of_lock(file, first)
    after = explore.explore([scenario], rows=second)
    assert set(built) == {LISTED}
    assert [row.date for row in second.all] == [DATE] * len(first.all)
    assert (after.statuses, after.ok()) == (before.statuses, True)
    assert [one.line for one in after.scenarios] == [one.line for one in before.scenarios]
    assert [twin.killed for twin in after.twins] == [twin.killed for twin in before.twins]
    assert explore.explore([scenario], rows=Rows(lock.read(file), range(SHARES))).ok()


@pytest.mark.rotates
@pytest.mark.slow
@pytest.mark.alone  # bare store buffering needs both cores at once
def test_samples_are_taken_and_nothing_is_built_for_them(file: Path, built: list[Build]) -> None:
    scenario = buffering(file.parent)
    options = StressOptions(seconds=4.0, opt=("O2",))
    first = Rows()
    before = native.stress([scenario], options=options, allowed={}, rows=first, listed=LISTED)
    assert before.ok(strict=True)
    assert {build.kind for build in built} == {"stress", "explored"}
    built.clear()
    second = of_lock(file, first)
    after = native.stress([scenario], options=options, allowed={}, rows=second, listed=LISTED)
    assert set(built) == {LISTED}
    assert [row.date for row in second.all] == [DATE] * len(first.all)
    assert after.verdicts == before.verdicts
    assert [s.samples for s in after.scenarios] == [s.samples for s in before.scenarios]
    assert [twin.shown for twin in after.twins] == [twin.shown for twin in before.twins]
    scenario.write_text(scenario.read_text() + "/* changed */\n")
    third = Rows(lock.read(file), ())
    native.stress([scenario], options=options, allowed={}, rows=third, listed=LISTED)
    assert {row.date for row in third.all} == {""}


@pytest.mark.rotates
@pytest.mark.slow
def test_recorded_runs_are_taken_and_nothing_is_built_for_them(
    file: Path, built: list[Build]
) -> None:
    first = Rows()
    before = traces.traces("^biased_lock$", count=50, rows=first)
    assert before.holds
    built.clear()
    second = of_lock(file, first)
    after = traces.traces("^biased_lock$", count=50, rows=second)
    assert built == []
    assert [row.date for row in second.all] == [DATE] * len(first.all)
    assert [replace(r, seconds=0.0, stuck=()) for r in before.results] == list(after.results)
    assert not any(row.date for row in lacking(traces.traces, first, file).all)


def lacking(judge: Callable[..., object], first: Rows, file: Path) -> Rows:
    """Judge with a file that has other inputs for each row."""
    lock.write(file, [replace(row, inputs="0" * 64) for row in first.all], DATE)
    rows = Rows(lock.read(file), ())
    judge("^biased_lock$", count=50, rows=rows)
    return rows


@pytest.mark.rotates
@pytest.mark.slow
def test_what_does_not_hold_is_judged_again_whatever_the_file_says(file: Path) -> None:
    scenario = buffering(file.parent)
    first = Rows()
    explore.explore([scenario], rows=first)
    conform.conform("^biased_lock$", twins=False, rows=first)
    orders.orders([SCENARIOS / "orders.c"], rows=first)
    forged = [
        replace(row, counts=[_bad(result) for result in row.counts])
        if row.judge == "explore"
        else replace(row, verdict=conform.DIFFERS, detail=[[w, None, r] for w, _, r in row.detail]
                     if row.judge == "orders" else None)
        for row in first.all
    ]  # fmt: skip
    known = locked(file, *forged)
    again = Rows(known, ())
    assert explore.explore([scenario], rows=again).statuses["buffering_bare"] == HELD
    assert conform.conform("^biased_lock$", twins=False, rows=again).holds
    orders.orders([SCENARIOS / "orders.c"], rows=again)
    names = {row.name for row in again.all if not row.date}
    assert names >= {"buffering_bare", "biased_lock; no twin"}
    assert [row.date for row in again.all if row.judge == "orders" and row.verdict == "killed"]
    assert not any(row.date for row in again.all
                   if row.judge == "orders" and row.verdict == "killed")  # fmt: skip


@pytest.mark.slow
def test_a_site_that_is_due_is_judged_by_the_scenarios_that_the_file_records(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = explorer.run_test, set[str]()

    def noted(children: Children, program: Path, name: str, *rest: Any, **sites: bool) -> Any:
        asked.add(name)
        return real(children, program, name, *rest, **sites)

    monkeypatch.setattr(explorer, "run_test", noted)

    def judged(rows: Rows) -> tuple[set[str], list[str]]:
        asked.clear()
        found = orders.orders([SCENARIOS / "orders.c"], "orders.[12]$", rows=rows)
        return set(asked), [site.status for site in found.sites]

    first = Rows()
    every, statuses = judged(first)
    killers = {mutant[1][0] for row in first.all for mutant in row.detail}
    assert killers < every
    again = Rows(locked(file, *first.all), range(SHARES))
    assert judged(again) == (killers, statuses)
    assert again.contradictions == ()

    [other, *_] = sorted(every - killers)
    for row in first.all:
        for mutant in row.detail:
            mutant[1][0] = other
    wrong = Rows(locked(file, *first.all), range(SHARES))
    assert judged(wrong)[0] == {other}
    assert len(wrong.contradictions) == len(first.all)
    assert judged(Rows(locked(file, first.all[0]), range(SHARES))) == (every, statuses)


def _bad(result: list[object]) -> list[object]:
    return [*result[:-1], [["7,7", "ok", 1]]]


def test_the_file_in_the_repository_is_whole_and_names_no_place() -> None:
    root = locations.sources()
    known = lock.read(root / lock.NAME)
    assert known.damaged == 0
    text = (root / lock.NAME).read_text() if known.rows else ""
    names = [tuple(json.loads(line)[:2]) for line in text.splitlines()]
    assert names == sorted(set(names))
    assert str(root) not in text


def test_the_rows_of_one_judge_are_replaced_and_the_others_left(tmp_path: Path) -> None:
    file = tmp_path / lock.NAME
    proofs = [replace(ROW, judge="prove", name=name) for name in ("Toy", "Gone")]
    lock.write(file, [ROW, *proofs], DATE)
    lock.replace_judge(file, "prove", [replace(proofs[0], verdict="proved")], "2026-02-01 00:00")
    found = lock.read(file)
    assert [*found.rows] == [("check", "MCToy"), ("prove", "Toy")]
    assert found.rows["check", "MCToy"].date == DATE
    assert found.rows["prove", "Toy"].verdict == "proved"
    assert not found.damaged


@pytest.mark.parametrize("due", [None, NOT_DUE, (ROW.share,)])
def test_what_the_audit_does_not_judge_is_known_from_the_lock_whatever_is_due(
    due: tuple[int, ...] | None,
) -> None:
    rows = Rows(Lock({("check", "MCToy"): replace(ROW, date=DATE)}), due)
    assert rows.known("check", "MCToy", OTHER) is None
    found = rows.known("check", "MCToy", INPUTS)
    assert found is not None
    assert found.date == DATE
    assert rows.summary.startswith("0 of 1 rows were judged now")
    store.keep(INPUTS, ["ok", {"states": 4}, None, None])
    found = rows.known("check", "MCToy", INPUTS)
    assert found is not None
    assert found.date > DATE, "what is kept here is newer"
    assert rows.known("check", "MCToy", OTHER) is None
