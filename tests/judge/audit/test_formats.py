# SPDX-License-Identifier: Apache-2.0
"""The audit as JUnit XML and as SARIF: each problem once and at its place; texts stay texts."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from wakeproof import locations
from wakeproof.judge.audit import formats
from wakeproof.judge.page import data

ROOT = locations.sources()
SPECS = sorted((ROOT / "specs").rglob("*.tla"))
SPEC = ROOT / "specs" / "wakeup" / "Guard.tla"
LINE = next(
    number for number, line in enumerate(SPEC.read_text("utf-8").splitlines(), 1)
    if line.startswith("NoLostWakeup ==")
)  # fmt: skip
HOSTILE = '<script>alert(1)</script> ]]> & "quoted" | a\x1b[31mred\x00\nnext \ud800'


def claim(name: str, status: str = "holds", **fields: object) -> data.Claim:
    rest = dict.fromkeys(
        ("known", "open", "spec", "files", "sites", "configurations", "scenarios", "compared",
         "twins"), ()
    )  # fmt: skip
    return data.Claim(
        name=name, kind="safety", sentence="No wakeup is lost.", status=status, strength="every",
        judged="now", **rest | fields,
    )  # fmt: skip


SITE = data.Site(label="guard.2", place="wakeup/guard.h:88", order="seq_cst", pairs=(), comment="",
                 weaker=(), source="")  # fmt: skip
CLAIMS = (
    claim("Guard!NoLostWakeup", spec=("key",), sites=(SITE,)),
    claim("Guard!WakeIsClaimed", "violated"),
    claim("Dump!RunnerIsNamed", "specification only", open=("No judge sees the code keep it.",)),
    claim("Task!Served", "not judged"),
    claim("Latch!Opens"),
)


def report(*problems: str) -> data.Report:
    source = data.Source(name="Guard", first=LINE, text="NoLostWakeup == TRUE")
    return data.Report(title="", made="", verdict="", holds=False, problems=problems,
                       claims=CLAIMS, sources={"key": source})  # fmt: skip


def cases(*problems: str) -> dict[str, ElementTree.Element]:
    suite = ElementTree.fromstring(formats.to_junit(report(*problems)))
    found = {case.attrib["name"]: case for case in suite}
    for kind in ("failure", "skipped"):
        count = sum(case.find(kind) is not None for case in found.values())
        assert suite.attrib[{"failure": "failures"}.get(kind, kind)] == str(count)
    assert suite.attrib["tests"] == str(len(found))
    return found


def test_junit_has_a_case_for_each_claim_and_skips_what_no_judge_sees() -> None:
    found = cases("Guard!NoLostWakeup: guard_loses was missed", "orders: one is unusable")
    assert [*found] == [*(one.name for one in CLAIMS), "orders: one is unusable"]
    kinds = {name: [*(child.tag for child in case)] for name, case in found.items()}
    assert kinds == {
        "Guard!NoLostWakeup": ["failure"], "Guard!WakeIsClaimed": ["failure"],
        "Dump!RunnerIsNamed": ["skipped"], "Task!Served": ["skipped"], "Latch!Opens": [],
        "orders: one is unusable": ["failure"],
    }  # fmt: skip
    failure = found["Guard!NoLostWakeup"].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "guard_loses was missed"
    skipped = found["Dump!RunnerIsNamed"].find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "specification only. No judge sees the code keep it."


def test_sarif_has_a_result_for_each_problem_at_the_definition_and_the_operations() -> None:
    found = formats.to_sarif(report("Guard!NoLostWakeup: missed", "orders: unusable"), ROOT, SPECS)
    assert found["version"] == "2.1.0"
    (run,) = found["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == [*(one.name for one in CLAIMS), "audit"]
    assert [(one["ruleId"], one["message"]["text"]) for one in run["results"]] == [
        ("Guard!NoLostWakeup", "missed"), ("Guard!WakeIsClaimed", "violated"),
        ("audit", "orders: unusable"),
    ]  # fmt: skip
    assert all(rules[one["ruleIndex"]] == one["ruleId"] for one in run["results"])
    assert all(one["level"] == "error" for one in run["results"])
    places = [
        (place["physicalLocation"]["artifactLocation"]["uri"],
         place["physicalLocation"]["region"]["startLine"])
        for place in run["results"][0]["locations"]
    ]  # fmt: skip
    assert places == [("specs/wakeup/Guard.tla", LINE), ("kernel/wakeup/guard.h", 88)]
    for uri, _ in places:
        assert (ROOT / uri).is_file()


@pytest.mark.parametrize("text", [HOSTILE, f"Guard!NoLostWakeup: {HOSTILE}"])
def test_hostile_texts_come_back_as_text(text: str) -> None:
    (failure,) = (
        child for case in cases(text).values() for child in case if "script" in str(child.attrib)
    )
    assert (
        '<script>alert(1)</script> ]]> & "quoted" | a\ufffd[31mred\ufffd'
        in (failure.attrib["message"])
    )
    back = json.loads(json.dumps(formats.to_sarif(report(text), ROOT, SPECS)))
    assert any(one["message"]["text"].endswith(HOSTILE) for one in back["runs"][0]["results"])
