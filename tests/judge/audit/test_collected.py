# SPDX-License-Identifier: Apache-2.0
"""The page's data say of each claim what the judges said, and no more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.judge.audit.test_audit import EXPLORED, EXPLORED_TWIN, SCENARIO, TWIN, WHOLE, judged

from wakeproof import locations
from wakeproof.judge.audit import collected, proofs
from wakeproof.judge.audit.command import _collected, _write_page
from wakeproof.judge.audit.run import SPECIFICATION_ONLY, AuditReport
from wakeproof.judge.check.run import ConfigResult
from wakeproof.judge.explore.report import Judged
from wakeproof.judge.lock import Row
from wakeproof.judge.page import data, graphs, render
from wakeproof.judge.prove import run as prove
from wakeproof.judge.prove import subjects
from wakeproof.judge.prove.subjects import TwinOf
from wakeproof.judge.stress import grading
from wakeproof.judge.tlc import models
from wakeproof.judge.tlc.manifest import Entry
from wakeproof.judge.tlc.run import Outcome, Step, TlcResult
from wakeproof.judge.verdicts import Rows

pytestmark = pytest.mark.slow  # reads all specs and twins
CLAIM = "Guard!NoLostWakeup"
HELD = TlcResult(Outcome.OK, "", 440, 14, (), 0, False, "", 1.0)
STATES = ({"asleep": "0", "queue": "{}"}, {"asleep": "1", "queue": "{}"})
TRACE = (Step("", STATES[0]), Step("Announce", STATES[1]))
BROKEN = replace(HELD, outcome=Outcome.INVARIANT, violated="NoLostWakeup", trace=TRACE)
PASSING = ConfigResult(Entry("MCGuard.cfg", "MCGuard", claims=(CLAIM,)), HELD, (), "")
KILLED = ConfigResult(
    Entry("MCGuard_no_fence.cfg", "MCGuard", "MCGuard_no_fence", expect="violates", claim=CLAIM),
    BROKEN, ("NoLostWakeup",), "",
)  # fmt: skip
FOUND = judged(
    locations.sources() / "specs", (PASSING, KILLED),
    replace(SCENARIO, name="guard", upholds=CLAIM, rows=(
        grading.Row("0,1", 1000, 1.0, "ACCEPTABLE", "the poller saw the work", ()),
    )),
    replace(TWIN, name="guard_no_fence", of="guard"), [],
    replace(EXPLORED, name="guard", upholds=CLAIM),
    replace(EXPLORED_TWIN, name="guard_no_fence", of="guard"),
)  # fmt: skip


def page_of(found: AuditReport, **fields: object) -> data.Report:
    return collected.collected(found, locations.sources(), **fields)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole() -> data.Report:
    return page_of(FOUND)


@pytest.fixture(scope="module")
def claim(whole: data.Report) -> data.Claim:
    return next(claim for claim in whole.claims if claim.name == CLAIM)


def test_every_promised_claim_has_its_sentence_and_its_place_on_the_page(
    whole: data.Report,
) -> None:
    assert {claim.name for claim in whole.claims} == {row.claim for row in FOUND.rows}
    assert all(claim.sentence and claim.spec for claim in whole.claims)
    text = render.html(whole)
    assert all(f'id="{claim.name}"' in text for claim in whole.claims)


def test_a_claim_shows_its_definition_its_sites_and_who_judged_it(
    whole: data.Report, claim: data.Claim
) -> None:
    assert whole.sources[claim.spec[0]].text.splitlines()[-1].startswith("NoLostWakeup ==")
    assert "Guard!InFlight" in claim.spec
    site = next(site for site in claim.sites if site.label == "guard.2")
    assert (site.order, site.pairs) == ("seq_cst", ("guard.4",))
    assert "wp_fence_seq_cst();" in whole.sources[site.source].text
    assert claim.strength == "every"
    assert claim.known[0].startswith("Specification: TLC checked every state of MCGuard: 440 ")
    assert "Real cores: 1,000 samples, none of them forbidden." in claim.known
    assert claim.scenarios[0].outcomes[0].outcome == "0,1"


def test_a_twin_shows_its_edits_and_who_saw_it(whole: data.Report) -> None:
    twin = whole.twins["guard.no_fence"]
    by_judge = {sight.judge: sight for sight in twin.seen}
    assert (by_judge["check"].saw, by_judge["check"].how) == (
        True,
        "violates NoLostWakeup in 2 steps",
    )
    assert by_judge["tso"].saw
    assert by_judge["stress"].how == "0 in 3 of 500 samples"
    assert by_judge["rc11"].saw is None
    assert "+\treturn;" in twin.diff
    assert twin.counterexamples == ("MCGuard_no_fence",)
    trace = whole.counterexamples[0]
    assert [step.text for step in trace.steps] == ["(initial state)", "Announce"]
    assert "wp_store_relaxed(&guard->asleep, 1);" in "".join(
        whole.sources[key].text for key in trace.steps[1].sources
    )


def test_steps_that_are_not_known_are_not_shown() -> None:
    bare = replace(BROKEN, trace=(Step("", {}), Step("", {})))
    page = page_of(replace(FOUND, check=replace_results(FOUND, replace(KILLED, tlc=bare))))
    assert page.counterexamples == ()
    twin = page.twins["guard.no_fence"]
    assert (twin.seen[0].how, twin.counterexamples) == ("violates NoLostWakeup in 2 steps", ())


def replace_results(found: AuditReport, killed: ConfigResult) -> object:
    return replace(found.check, results=(PASSING, killed))


@pytest.mark.parametrize(
    ("stopped", "strength"),
    [("loop_bound", "every"), ("sample", "sampled"), ("max_seconds", "sampled")],
)
def test_what_was_not_explored_whole_is_called_so(stopped: str, strength: str) -> None:
    part = replace(WHOLE, exhaustive=False, stopped=stopped)
    explored = replace(FOUND.explore, scenarios=(
        replace(EXPLORED, name="guard", upholds=CLAIM,
                judged=(Judged(part, grading.HELD, (), ()),)),
    ))  # fmt: skip
    claim = next(c for c in page_of(replace(FOUND, explore=explored)).claims if c.name == CLAIM)
    assert claim.strength == strength
    assert any("was not explored whole" in line for line in claim.open) == (strength == "sampled")


def test_a_proof_is_the_strongest_and_a_reason_says_why_tlc_alone_judges() -> None:
    rows = tuple(
        replace(row, status=SPECIFICATION_ONLY, reason="the code has no such state")
        if row.claim == "Guard!Served" else row for row in FOUND.rows
    )  # fmt: skip
    page = page_of(replace(FOUND, rows=rows), proofs={CLAIM: "z3 and cvc5 proved it."})
    by_name = {claim.name: claim for claim in page.claims}
    assert (by_name[CLAIM].strength, by_name[CLAIM].known[0]) == (
        "proved",
        "z3 and cvc5 proved it.",
    )
    served = by_name["Guard!Served"]
    assert served.strength == "specification"
    assert served.open[0] == ("No judge sees the code keep this claim: the code has no such state.")
    assert page.not_shown[0].startswith(f"{len(rows) - 1} of {len(rows)} claims are not proved")


def test_a_claim_is_proved_if_each_of_its_modes_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    every = [SimpleNamespace(name=f"Toy Mode={mode}", module="Toy", claims=("Seen", *more),
                             modes={"Mode": mode, "Other": "c"})
             for mode, more in (("a", ("Served",)), ("b", ()))]  # fmt: skip
    found = {"Toy Mode=a": Row("prove", "", "", "proved", {}, None)}
    monkeypatch.setattr(models, "folder", lambda specs: specs)
    monkeypatch.setattr(subjects, "every", lambda _: [(None, one) for one in every])
    monkeypatch.setattr(prove, "inputs_of", lambda *_: {})
    monkeypatch.setattr(Rows, "known", lambda _self, _judge, name, _inputs: found.get(name))
    monkeypatch.setattr(
        proofs, "_addressed", lambda _: [("Toy", TwinOf("blind", "Seen", every[0], ""))]
    )
    monkeypatch.setattr(prove, "inputs_of_twin", lambda *_: {})
    assert [*proofs.known(tmp_path, Rows())] == ["Toy!Served"]
    found["Toy Mode=b"] = found["Toy Mode=a"]
    said = "Specification: z3 and cvc5 proved it for any number of threads in 2 modes (Mode: a, b)"
    assert proofs.known(tmp_path, Rows())["Toy!Seen"] == f"{said}."
    found["Toy_blind"] = Row("prove", "", "", "breaks Seen", {}, None)
    assert proofs.known(tmp_path, Rows())["Toy!Seen"] == f"{said}; Toy_blind breaks the proof."


def test_the_page_its_data_and_their_schema_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "of_results", lambda *_: [])
    found = _collected(FOUND, locations.sources(), {})
    written = _write_page(tmp_path / "report" / "page.html", found)
    assert written.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    read = data.Report.model_validate_json(written.with_suffix(".json").read_text("utf-8"))
    assert len(read.claims) == len(FOUND.rows)
    schema = json.loads(written.with_suffix(".schema.json").read_text("utf-8"))
    assert schema == data.schema()
