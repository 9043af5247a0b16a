# SPDX-License-Identifier: Apache-2.0
"""`wakeproof orders`: a needed order is killed, and a needless one must be explained."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import labels
from wakeproof.judge.explore.options import Model
from wakeproof.judge.orders.report import (
    EXPLAINED,
    KEPT_YET_KILLED,
    KILLED,
    RELAXED,
    SURVIVED,
    Kill,
    MutantReport,
    OrdersReport,
    Run,
    SiteReport,
    extent,
)
from wakeproof.judge.orders.run import orders
from wakeproof.judge.orders.sites import ONE_WEAKER, Mutant, selected

Command = Callable[..., "subprocess.CompletedProcess[str]"]
SCENARIO = Path(__file__).parent / "scenarios" / "orders.c"
KILL = Kill("s", Model.RC11, "1,0", "ended", "because", "[orders.2]", "token", None, "exhaustive")
FULL = Run("s", Model.RC11, "exhaustive", 3, 0.0)
PART = Run("s", Model.RC11, "not exhaustive: time limit", 3, 10.0)


def site(kept: str, *mutants: MutantReport) -> SiteReport:
    return SiteReport("orders.1", "s.c", 1, "acq_rel", kept, mutants)


def report(*sites: SiteReport, unusable: tuple[str, ...] = ()) -> OrdersReport:
    return OrdersReport(sites, unusable, 1, 0.0)


NEEDED = MutantReport("relaxed", KILL, ())
NEEDLESS = MutantReport("relaxed", None, (FULL,))
UNJUDGED = MutantReport("relaxed", None, (PART,))
UNSEEN = MutantReport("relaxed", None, ())


@pytest.mark.parametrize(
    ("found", "status", "message"),
    [
        (site(""), RELAXED, ""),
        (site("", NEEDED, NEEDED), KILLED, ""),
        (site("", NEEDED, NEEDLESS), SURVIVED, "1 exhaustive runs show nothing bad"),
        (site("", UNJUDGED), SURVIVED, "no run is exhaustive"),
        (site("", UNSEEN), SURVIVED, "no scenario comes to this site"),
        (site("a reason", NEEDED, NEEDLESS), EXPLAINED, ""),
        (site("a reason", NEEDED, NEEDED), KEPT_YET_KILLED, "says kept:, and s needs acq_rel"),
    ],
)
def test_a_site_is_killed_or_explained_or_wrong(
    found: SiteReport, status: str, message: str
) -> None:
    assert found.status == status
    assert message in found.message
    assert bool(found.message) == (status in (SURVIVED, KEPT_YET_KILLED))
    assert report(found).ok == (not found.message)


def test_a_survivor_that_nothing_judged_in_full_is_said() -> None:
    assert site("a reason", NEEDLESS).doubt == ""
    assert site("a reason", NEEDED, UNJUDGED).doubt == "relaxed: no scenario judges it exhaustively"
    assert site("a reason", UNSEEN).doubt


def test_the_score_leaves_relaxed_sites_out_and_a_broken_scenario_fails() -> None:
    sites = (site(""), site("", NEEDED), site("a reason", NEEDLESS), site("", NEEDLESS))
    assert report(*sites).score == (2, 3)
    assert not report(*sites).ok
    assert report(*sites[:3]).ok
    assert not report(*sites[:3], unusable=("s RC11: does not hold as it is",)).ok


def test_a_kill_says_how_much_of_the_scenario_holds_as_it_is() -> None:
    coverages = {
        "exhaustive": "whole", "bounded: preemptions, at most 2": "bounded", "sampled": "sampled",
        "not exhaustive: time limit, of about 5 states": "cut short", "bounded: loops": "bounded",
    }  # fmt: skip
    kills = [MutantReport("relaxed", replace(KILL, baseline=c), ()) for c in coverages]
    assert [extent(coverage) for coverage in coverages] == list(coverages.values())
    found = report(site("", *kills), site("", NEEDLESS))
    assert found.baselines == {"whole": 1, "bounded": 2, "sampled": 1, "cut short": 1}
    assert found.rests.startswith("5 weaker orders are killed;")
    assert found.rests.endswith("1 whole, 2 bounded, 1 sampled, 1 cut short")


# Sites.


def test_every_order_of_the_kernel_has_its_weaker_ones() -> None:
    files = labels.kernel_files(locations.sources())
    sites = selected([one for file in files for one in labels.sites(file)], None)
    assert len(sites) > 50
    for one in sites:
        assert bool(ONE_WEAKER[one.order]) == (one.order != "relaxed")
    acq_rel = next(one for one in sites if one.label == "mpsc.2")
    assert ONE_WEAKER[acq_rel.order] == ("acquire", "release")
    heavy = Mutant(next(one for one in sites if one.label == "guard.9"), "light")
    assert [order for _, _, order in heavy.overrides] == ["relaxed"]
    assert heavy.models == (Model.TSO, Model.RC11)


def test_the_reason_to_keep_an_order_is_read_over_lines(tmp_path: Path) -> None:
    file = tmp_path / "s.h"
    file.write_text(
        "/* [orders.1] release; pairs orders.2. kept: one\n * two. */\nwp_store_release(x, 1);\n"
    )
    [one] = labels.sites(file)
    assert (one.label, one.first, one.kept) == ("orders.1", 3, "one two.")


def test_two_sites_on_one_line_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.h"
    file.write_text(
        "/* [orders.1] release; */ wp_store_release(x, 1); "
        "/* [orders.2] acquire; */ wp_load_acquire(x);\n"
    )
    with pytest.raises(UsageError, match=r"\[orders.1\] and \[orders.2\] share a line"):
        selected(labels.sites(file), None)


def test_a_label_that_does_not_exist_lists_those_that_do() -> None:
    with pytest.raises(
        UsageError,
        match=r"a label like 'XX'; there are orders.1, orders.3, orders.2",
    ):
        orders([SCENARIO], "XX")
    with pytest.raises(UsageError, match="not a regular expression"):
        orders([SCENARIO], "(")


# The audit.


@pytest.fixture
def explained(tmp_path: Path) -> Callable[[str], Path]:
    def make(reason: str) -> Path:
        copy = Path(shutil.copy(SCENARIO, tmp_path))
        copy.write_text(copy.read_text().replace("NEEDLESS", reason))
        return copy

    return make


@pytest.mark.slow
def test_a_needed_order_is_killed_and_a_needless_one_is_not() -> None:
    found = orders([SCENARIO], jobs=2)
    assert {one.label: one.status for one in found.sites} == {
        "orders.1": KILLED, "orders.2": KILLED, "orders.3": SURVIVED, "orders.4": SURVIVED,
        "orders.5": RELAXED,
        "orders.6": KILLED, "orders.7": KILLED, "orders.8": KILLED,
    }  # fmt: skip
    assert (found.score, found.ok, found.unusable) == ((5, 7), False, ())
    by_label = {one.label: one for one in found.sites}
    assert "1 exhaustive runs show nothing bad" in by_label["orders.3"].message
    assert "no scenario comes to this site" in by_label["orders.4"].message
    [passing] = by_label["orders.1"].mutants
    assert passing.kill is not None
    assert (passing.kill.scenario, passing.kill.model, passing.kill.outcome) == (
        "orders_passing", Model.RC11, "1,0",
    )  # fmt: skip
    kills = {
        label: by_label[label].mutants[0].kill for label in ("orders.6", "orders.7", "orders.8")
    }
    assert {label: kill and kill.model for label, kill in kills.items()} == {
        # A light fence is no instruction on x86: only the compiler's order is lost.
        "orders.6": Model.RC11,
        "orders.7": Model.TSO,
        "orders.8": Model.TSO,
    }


@pytest.mark.slow
def test_a_needless_order_that_is_explained_passes(explained: Callable[[str], Path]) -> None:
    found = orders([explained("kept: the next version reads it.")], "orders.[1235]")
    assert found.ok
    [needless] = [one for one in found.sites if one.status == EXPLAINED]
    assert (needless.label, needless.kept) == ("orders.3", "the next version reads it.")


@pytest.mark.slow
def test_an_order_that_is_needed_may_not_be_explained_away(
    explained: Callable[[str], Path],
) -> None:
    file = explained("kept: the next version reads it.")
    file.write_text(file.read_text().replace("hands the data over.", "kept: we like it so."))
    found = orders([file], "orders.1")
    assert [one.status for one in found.sites] == [KEPT_YET_KILLED]
    assert not found.ok


@pytest.mark.slow
def test_a_scenario_that_fails_by_itself_is_no_evidence(explained: Callable[[str], Path]) -> None:
    file = explained("")
    release, relaxed = "wp_store_release(&state->flag", "wp_store_relaxed(&state->flag"
    file.write_text(file.read_text().replace(release, relaxed))
    found = orders([file], "orders.2")
    assert [one.status for one in found.sites] == [SURVIVED]
    assert not found.ok
    assert "orders_passing RC11: does not hold as it is: forbidden outcome 1,0" in found.unusable[0]


@pytest.mark.slow
def test_a_kill_by_a_scenario_that_is_sampled_as_it_is_says_so(
    explained: Callable[[str], Path],
) -> None:
    file = explained("")
    text = file.read_text()
    file.write_text(text.replace("(orders_passing,", "(orders_passing, .preemptions = 1,"))
    found = orders([file], "orders.[127]")
    kills = [mutant.kill for one in found.sites for mutant in one.mutants]
    assert [kill and kill.baseline for kill in kills] == ["sampled", "sampled", "exhaustive"]
    assert found.baselines == {"whole": 1, "sampled": 2}


@pytest.mark.slow
def test_the_command_fails_and_says_what_to_do(wakeproof: Command, tmp_path: Path) -> None:
    ended = wakeproof(
        "orders", str(SCENARIO), "-t", "orders.[123]", "--save", str(tmp_path / "saved")
    )
    assert ended.returncode == 1
    assert (
        "[orders.3] relaxed instead of release: 1 exhaustive runs show nothing bad" in ended.stdout
    )
    assert "under the same model and bounds: 2 whole" in ended.stdout
    assert "2 of 3 sites killed or explained (2 killed, 1 survived)" in ended.stdout
    saved = sorted((tmp_path / "saved").glob("*.json"))
    assert len(saved) == 2
    again = wakeproof("replay", str(saved[0]))
    assert again.returncode == 0
    assert "nothing orders it" in again.stdout


@pytest.mark.slow
def test_the_report_as_json_names_the_evidence(
    wakeproof: Command, explained: Callable[[str], Path]
) -> None:
    file = explained("kept: the next version reads it.")
    ended = wakeproof("orders", str(file), "-t", "orders.[13]", "--jobs", "1", "--json")
    found = json.loads(ended.stdout)
    assert (ended.returncode, found["holds"], found["score"], found["of"]) == (0, True, 2, 2)
    needed, needless = found["sites"]
    assert needed["mutants"][0]["kill"]["scenario"] == "orders_passing"
    assert (needless["status"], needless["mutants"][0]["kill"]) == ("explained", None)
    assert needless["mutants"][0]["runs"][0]["coverage"] == "exhaustive"
