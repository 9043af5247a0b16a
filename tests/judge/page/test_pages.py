# SPDX-License-Identifier: Apache-2.0
"""The page of a report: whatever the names, it is text; it loads nothing and leads everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin
from urllib.parse import unquote

import pytest
from pydantic import BaseModel
from tests.support.markup import Page, check_loads_nothing

from wakeproof.judge.page import data, plots, render
from wakeproof.judge.page.data import STRENGTHS, Report

HOSTILE = "</script><img src=x onerror=alert(1)>&\"'`{{ 7*7 }}]]>\u2028/9"
_FORMS = ("plot",)
"""Fields of markup, which `plots` makes."""


def hostile(kind: Any) -> Any:
    """Return a value of a type in which every text is hostile."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is str or kind == data.Value:
        return HOSTILE
    if origin is Literal:
        return inner[0]
    if origin is tuple:
        return tuple(hostile(one) for one in inner if one is not ...)
    if origin is dict:
        return {HOSTILE: hostile(inner[1])}
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = {
            name: "" if name in _FORMS else hostile(field.annotation)
            for name, field in kind.model_fields.items()
        }
        return kind(**fields)
    return 0.0 if kind is float else {bool: True, int: 1, bool | None: True}[kind]


def test_names_traces_and_texts_of_others_are_text() -> None:
    report = hostile(Report)
    page = Page(render.html(report))
    assert {tag for tag, _ in page.tags}.isdisjoint({"img", "iframe", "object", "embed", "link"})
    assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on")]
    assert [tag for tag, _ in page.tags].count("script") == 2
    seen = json.loads(page.scripts[0])
    assert seen["counterexamples"][0]["title"] == HOSTILE
    assert seen["sources"][HOSTILE]["text"] == HOSTILE
    assert "49" not in render.html(report).partition("<body>")[2].partition("<script")[0]


def test_the_page_loads_nothing(report: Report) -> None:
    check_loads_nothing(render.html(report))


def targets(page: Page) -> Iterator[tuple[str, str]]:
    for link in page.of("href"):
        name, slash, step = link[1:].rpartition("/")
        yield (unquote(name), step) if slash and step.isdigit() else (unquote(link[1:]), "")


@pytest.mark.parametrize("made", ["small", "hostile"])
def test_every_link_leads_somewhere_and_every_claim_is_reached(report: Report, made: str) -> None:
    whole = report if made == "small" else hostile(Report)
    page = Page(render.html(whole))
    ids = set(page.of("id"))
    viewed = {one.name for one in whole.counterexamples}
    viewed |= {f"graph:{graph.name}" for graph in whole.graphs}
    for name, step in targets(page):
        assert name in (viewed if step else ids), name
    assert {claim.name for claim in whole.claims} <= {name for name, _ in targets(page)}
    assert viewed <= {name for name, step in targets(page) if step}


def test_each_strength_is_said_in_words(report: Report) -> None:
    text = " ".join(render.html(report).split())
    for words in STRENGTHS.values():
        assert words in text
    assert "This report has no proofs:" in text
    assert "2 of 2 claims are not proved." in text


def test_steps_that_were_not_kept_are_not_invented(report: Report) -> None:
    bare = report.model_copy(update={
        "counterexamples": (),
        "twins": {"toy.blind": report.twins["toy.blind"].model_copy(
            update={"counterexamples": ()})},
    })  # fmt: skip
    text = " ".join(render.html(bare).split())
    assert "run <code>make audit FRESH=1</code> for them" in text
    assert "2026-01-31 12:59" in text
    assert "no steps kept here" in text


def test_a_page_is_as_large_as_what_it_shows(report: Report) -> None:
    empty = report.model_copy(update={"claims": (), "twins": {}, "counterexamples": (),
                                      "graphs": ()})  # fmt: skip
    fixed = len(render.html(empty))
    assert fixed < 40_000
    many = tuple(report.claims[0].model_copy(update={"name": f"Toy!C{n}"}) for n in range(100))
    whole = len(render.html(report.model_copy(update={"claims": many})))
    assert (whole - fixed) / 100 < 3_000


def test_the_data_comes_back_and_its_schema_names_every_field(report: Report) -> None:
    assert Report.model_validate_json(report.model_dump_json()) == report
    schema = data.schema()
    assert set(schema["properties"]) == set(Report.model_fields)
    assert set(schema["$defs"]["Step"]["properties"]) >= {"lane", "reads", "lands", "sources"}
    assert schema["additionalProperties"] is False


def test_a_plot_has_no_markup_of_others_and_the_colours_of_the_page() -> None:
    pytest.importorskip("vl_convert")
    outcome = data.Outcome(outcome=HOSTILE, samples=12, grade="forbidden", reason="",
                           allowed_by="", meaning="")  # fmt: skip
    svg = plots.outcomes(HOSTILE, [outcome])
    page = Page(svg)
    assert {tag for tag, _ in page.tags} <= {"svg", "g", "path", "line", "text", "title", "rect"}
    assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on")]
    assert "var(--bad)" in svg
    assert "http" not in svg


def test_without_the_extra_the_page_says_that_it_has_no_plots(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "are_there", lambda: False)
    assert plots.strengths(report.claims) == ""
    assert "the extra <code>report</code> is not installed" in render.html(report)
