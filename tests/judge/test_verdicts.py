# SPDX-License-Identifier: Apache-2.0
"""The rows of an audit are judged again exactly when an input of theirs has changed."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from wakeproof import locations
from wakeproof.judge import builds, store
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.check import run as specs
from wakeproof.judge.conform import run as conform
from wakeproof.judge.conform.maps import CONCEPTS
from wakeproof.judge.explore import run as explore
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.linear import run as linear
from wakeproof.judge.linear.cases import CASES
from wakeproof.judge.orders import run as orders
from wakeproof.judge.orders.report import EXPLAINED, KILLED
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import manifest, models
from wakeproof.judge.verdicts import Rows

SCENARIOS = Path(__file__).parent / "scenarios"
BUILDS = [Build(twin=twin, kind=kind) for twin in (None, "idle_set_plain_set")
          for kind in ("explored", "stress", "recorded")]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the results of these tests apart; compiled programs are shared with other tests."""
    monkeypatch.setenv(store.FRESH, "")
    monkeypatch.setattr(store, "_folder", lambda: tmp_path / "judged")
    return tmp_path / "judged"


def clone(folder: Path) -> Path:
    for name in ("kernel", "stress", "specs"):
        shutil.copytree(locations.sources() / name, folder / name)
    return folder


def identities(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(locations, "sources", lambda: root)
    with Children() as children:
        builder = Builder(children)
        folder = root / "stress" / "scenarios"
        files = [folder / name for name in ("queue/idle_set.c", "sync/mutex.c")]
        return [builder.identity(file, build) for file in files for build in BUILDS]


def test_a_program_has_one_identity_in_two_checkouts_of_the_same_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = clone(tmp_path / "one"), clone(tmp_path / "an" / "other")
    before = identities(one, monkeypatch)
    assert len(set(before)) == len(before)
    assert identities(other, monkeypatch) == before
    monkeypatch.setenv("WAKEPROOF_CI", "1")  # which makes warnings errors, and changes no program
    assert identities(other, monkeypatch) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("kernel/queue/idle_set.h", "all"),  # a header
        ("kernel/base/error.c", "all"),
        ("stress/scenarios/queue/idle_set.c", "idle_set"),
        ("kernel/sync/mutex.c", "mutex"),
        ("stress/explorer/states.c", "explored"),
        ("stress/explorer/explore.h", "explored"),
        ("stress/harness/engine/main.c", "stress"),
    ],
)
def test_a_change_of_a_source_changes_the_identity_of_what_is_made_of_it(
    file: str, changes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = clone(tmp_path)
    before = identities(root, monkeypatch)
    with (root / file).open("a") as text:
        text.write("/* changed */\n")
    after = identities(root, monkeypatch)
    names = [f"{name} {build.kind} all" for name in ("idle_set", "mutex") for build in BUILDS]
    changed = [one != other for one, other in zip(before, after, strict=True)]
    assert changed == [changes in name for name in names]


def test_another_compiler_makes_another_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = clone(tmp_path)
    before = identities(root, monkeypatch)
    monkeypatch.setattr(builds, "compiler", lambda: ["gcc", "-O3"])
    assert set(identities(root, monkeypatch)).isdisjoint(before)


def test_a_row_that_holds_comes_back_with_its_date_and_another_does_not() -> None:
    rows = Rows()
    rows.judged("explore", "good", {"a": "1"}, "held", [1], {"b": (2,)}, "more", holds=True)
    rows.judged("explore", "bad", {"a": "2"}, "violated", [], holds=False)
    assert rows.summary == "2 of 2 rows were judged now"
    again = Rows()
    row = again.find("explore", "good", {"a": "1"})
    assert row is not None
    assert (row.verdict, row.counts, row.detail, row.more) == ("held", [1], {"b": [2]}, "more")
    assert row.date
    assert again.find("explore", "bad", {"a": "2"}) is None
    assert again.since({"good"}) == row.date
    assert again.since({"bad"}) == ""
    assert again.all == [replace(row)]


def test_code_is_a_judge_s_module_and_all_that_it_imports_of_other_judges() -> None:
    whole = store.code_hash("conform/run.py")
    assert whole != store.code_hash("conform/run.py", without=("conform/maps",))
    assert whole != store.code_hash(
        "conform/run.py", without=("conform/bisimulation.py",)
    )  # indirectly
    assert whole == store.code_hash("conform/run.py", without=("linear/run.py",))
    # Modules that packages import for types only are no code.
    tasks = store.code_hash("explore/tasks.py")
    assert tasks == store.code_hash("explore/tasks.py", without=("explore/run.py",))


def inputs(root: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the hashes of the inputs of some comparisons and checks, by name."""
    monkeypatch.setattr(locations, "sources", lambda: root)
    compared: list[tuple[str, bool, str | None]] = [
        ("biased_lock", False, None), ("biased_lock", False, "biased_lock_no_cas"),
        ("mpsc", False, None), ("search pinned", False, None),
    ]  # fmt: skip
    concepts = {concept.name: concept for concept in CONCEPTS}
    with Children() as children:
        judge = conform.Judge(children)
        found = {
            f"conform {name} {twin}": conform.inputs_of(judge, (concepts[name], of_spec, twin))
            for name, of_spec, twin in compared
        }
        for case in CASES:
            found[f"linear {case.title}"] = linear.inputs_of(judge.builder, case)
    for entry in manifest.load(models.folder(root / "specs")).values():
        if entry.name in ("MCBiasedLock", "MCMpsc"):
            found[f"check {entry.name}"] = specs.inputs_of(models.folder(root / "specs"), entry)
    return {name: store.key(of) for name, of in found.items()}


def test_what_a_verdict_rests_on_is_the_same_in_two_checkouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = clone(tmp_path / "one"), clone(tmp_path / "an" / "other")
    before = inputs(one, monkeypatch)
    assert len(set(before.values())) == len(before)
    assert inputs(other, monkeypatch) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("specs/queue/BiasedLock.tla", "(check MCBiasedLock|conform biased_lock)"),
        ("kernel/sched/search.c", "conform search"),
        ("stress/conform/queue/conform_mpsc.c", "conform mpsc"),
        ("stress/linear/queue/linear_mpsc.c", "linear linear_mpsc"),
        ("stress/explorer/dump.c", "conform|linear"),
    ],
)
def test_a_change_of_a_source_changes_what_rests_on_it_alone(
    file: str, pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = clone(tmp_path)
    before = inputs(root, monkeypatch)
    with (root / file).open("a") as text:
        text.write("/* changed */\n")
    after = inputs(root, monkeypatch)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {name for name in before if re.match(pattern, name)}


@pytest.mark.rotates
@pytest.mark.slow
def test_a_comparison_and_a_check_of_histories_come_back_as_they_were() -> None:
    first, second = Rows(), Rows()
    for judge in (lambda rows: conform.conform("^biased_lock$", rows=rows),
                  lambda rows: linear.linear("^linear_biased_lock$", rows=rows)):  # fmt: skip
        before, after = judge(first), judge(second)
        assert before.holds
        assert [replace(r, seconds=0.0) for r in before.results] == list(after.results)
    assert {row.judge for row in first.all if not row.date} == {"conform", "linear"}
    assert all(row.date for row in second.all)
    assert [row.counts for row in first.all] == [row.counts for row in second.all]


@pytest.mark.rotates
@pytest.mark.slow
def test_a_site_s_order_is_judged_again_when_a_scenario_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "orders.c"
    shutil.copy(SCENARIOS / "orders.c", file)
    first, second, third = Rows(), Rows(), Rows()
    before = orders.orders([file], rows=first)
    after = orders.orders([file], rows=second)
    assert before.score == after.score
    assert before.count(KILLED)
    good = {site.label for site in before.sites if site.status in (KILLED, EXPLAINED)}
    assert {row.name for row in second.all if row.date} == good
    kills = [[mutant.kill and replace(mutant.kill, token="") for mutant in site.mutants]
             for site in before.sites]  # fmt: skip
    assert kills == [[mutant.kill and replace(mutant.kill, token="") for mutant in site.mutants]
                     for site in after.sites]  # fmt: skip
    file.write_text(file.read_text() + "/* changed */\n")
    orders.orders([file], rows=third)
    assert not any(row.date for row in third.all)


def explored(file: Path, rows: Rows) -> ExploreReport:
    return explore.explore([file], rows=rows)


@pytest.mark.rotates
@pytest.mark.slow
def test_a_scenario_is_explored_again_when_it_has_changed_and_not_before(tmp_path: Path) -> None:
    file = tmp_path / "buffering.c"
    shutil.copy(SCENARIOS / "buffering.c", file)
    first, second, third = Rows(), Rows(), Rows()
    before, after = explored(file, first), explored(file, second)
    assert [row.date for row in first.all] == [""] * 3
    assert all(row.date for row in second.all)
    assert after.statuses == before.statuses
    assert [scenario.line for scenario in after.scenarios] == [
        scenario.line for scenario in before.scenarios
    ]
    assert [twin.killed for twin in after.twins] == [twin.killed for twin in before.twins]
    assert [row.counts for row in second.all] == [row.counts for row in first.all]
    file.write_text(file.read_text() + "/* changed */\n")
    explored(file, third)
    assert [row.date for row in third.all] == [""] * 3
    assert [row.counts for row in third.all] == [row.counts for row in first.all]


@pytest.mark.rotates
@pytest.mark.slow
def test_what_is_violated_is_explored_each_time(tmp_path: Path) -> None:
    file = tmp_path / "buffering.c"
    text = (SCENARIOS / "buffering.c").read_text()
    file.write_text(text.replace("REQUIRED", "FORBIDDEN"))
    assert explored(file, Rows()).violated
    again = Rows()
    report = explored(file, again)
    assert report.violated
    assert [row.name for row in again.all if not row.date] == ["buffering_bare"]
    assert report.counterexamples
