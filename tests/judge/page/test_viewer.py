# SPDX-License-Identifier: Apache-2.0
"""The page in Chromium: every claim is reached, the viewer steps both ways, nothing is loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.judge.page.test_pages import HOSTILE, hostile
from tests.support.browsing import BROWSES, KEYS, Browser, window

from wakeproof import locations
from wakeproof.judge.page import render
from wakeproof.judge.page.data import Report

pytestmark = [pytest.mark.slow, BROWSES]
PHONE, DESKTOP = 390, 1280
HEIGHT = 844


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with window(DESKTOP, HEIGHT, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def page(report: Report, tmp_path: Path) -> Path:
    file = tmp_path / "index.html"
    file.write_text(render.html(report), encoding="utf-8")
    return file


def texts(browser: Browser, selector: str) -> list[str]:
    """Return what is seen of each element."""
    found: list[str] = browser.run(
        f"return [...document.querySelectorAll({json.dumps(selector)})]"
        ".filter(one => one.checkVisibility()).map(one => one.innerText ?? one.textContent)"
    )
    return found


def of_id(browser: Browser, name: str, what: str) -> Any:
    """Return a property of the element of that id."""
    return browser.run(f"return document.getElementById({json.dumps(name)}).{what}")


def at(browser: Browser) -> str:
    return str(of_id(browser, "step-at", "innerText"))


def state(browser: Browser) -> str:
    return str(of_id(browser, "viewer-side", "innerText"))


def press(browser: Browser, *names: str) -> None:
    browser.press(*(KEYS[name] for name in names))


def check_quiet(browser: Browser) -> None:
    """Check that the console said nothing, and that nothing but pages was asked for."""
    assert browser.errors() == []
    asked = [url for url in browser.requests() if not url.startswith(("chrome", "data:"))]
    assert [url for url in asked if not url.partition("#")[0].endswith(".html")] == []


def test_every_claim_is_reached(browser: Browser, page: Path, report: Report) -> None:
    for claim in report.claims:
        browser.open(page, claim.name)
        assert of_id(browser, claim.name, "open")
        assert of_id(browser, claim.name, "querySelector('h4').checkVisibility()")
    check_quiet(browser)


def test_keys_step_forward_and_back_and_the_address_follows(browser: Browser, page: Path) -> None:
    browser.open(page, "MCToy_blind/1")
    assert at(browser) == "Step 1 of 5"
    press(browser, "right", "right")
    assert at(browser) == "Step 3 of 5"
    assert browser.run("return location.hash") == "#MCToy_blind/3"
    press(browser, "left")
    assert at(browser) == "Step 2 of 5"
    press(browser, "end")
    assert at(browser) == "Step 5 of 5"
    assert "Nothing moves any more." in state(browser)
    press(browser, "right")
    assert at(browser) == "Step 5 of 5"
    press(browser, "home")
    assert at(browser) == "Step 1 of 5"
    of_id(browser, "step-next", "click()")
    of_id(browser, "step-next", "click()")
    of_id(browser, "step-back", "click()")
    assert at(browser) == "Step 2 of 5"
    press(browser, "escape")
    assert not of_id(browser, "viewer", "open")
    check_quiet(browser)


def test_a_step_marks_what_it_changed_and_nothing_else(browser: Browser, page: Path) -> None:
    browser.open(page, "MCToy_blind/3")
    assert texts(browser, ".state mark") == ["done"]
    assert "was push" in state(browser)
    assert "look" in state(browser)
    assert texts(browser, "#viewer figure mark") == ["  queue' = 1"]


def test_a_store_buffer_holds_a_store_until_it_reaches_memory(browser: Browser, page: Path) -> None:
    browser.open(page, "MCToy_blind/2")
    assert texts(browser, ".buffer .cell") == ["asleep = 1"]
    press(browser, "right", "right")
    assert texts(browser, ".buffer .cell") == []
    assert len(texts(browser, "#viewer-lanes path.lands.now")) == 1
    press(browser, "right")
    assert len(texts(browser, "#viewer-lanes path.reads.now")) == 1


def test_a_screen_reader_hears_the_step_and_what_it_changed(browser: Browser, page: Path) -> None:
    browser.open(page, "MCToy_blind/3")
    assert of_id(browser, "viewer-live", "getAttribute('aria-live')") == "polite"
    assert of_id(browser, "viewer-live", "textContent") == (
        "Step 3 of 5. alice: Push; pc[alice] from push to done. "
    )
    assert len(texts(browser, '[aria-current="step"]')) == 1
    assert browser.run("return document.activeElement.id") == "step-next"


def test_a_claim_and_a_step_open_the_viewer(browser: Browser, page: Path) -> None:
    browser.open(page, "Toy!Seen/4")
    assert at(browser) == "Step 4 of 5"
    assert of_id(browser, "viewer-title", "innerText") == "MCToy_blind violates Seen"


def test_a_state_graph_is_searched_and_walked(browser: Browser, page: Path) -> None:
    browser.open(page, "graph:MCToy/1")
    assert at(browser) == "State 1 of 2"
    of_id(browser, "find-state", "focus()")
    browser.press(*"queue = 1")
    assert len(texts(browser, "circle.hit")) == 1
    browser.run("document.querySelector('#viewer-state a').click()")
    assert at(browser) == "State 2 of 2"
    check_quiet(browser)


def test_claims_are_found_by_words(browser: Browser, page: Path) -> None:
    browser.open(page)
    of_id(browser, "find", "focus()")
    browser.press(*"specification served")
    assert texts(browser, "details.claim .name") == ["Served"]
    assert of_id(browser, "found", "innerText") == "1 claims"
    browser.run("document.getElementById('find').value = 'nothing'")
    browser.press("x")
    assert texts(browser, "details.claim .name") == []
    browser.open(page, "Toy!Seen")
    assert texts(browser, "details.claim .name") == ["Seen"]


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_the_page_and_the_viewer_fit_the_screen_in_both_schemes(
    page: Path, width: int, tmp_path: Path
) -> None:
    with window(width, HEIGHT, tmp_path / "profile") as browser:
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            for place, name in (("Toy!Seen", "claim"), ("MCToy_blind/3", "viewer")):
                browser.open(page, place)
                picture = f"report-{name}-{width}-{scheme}.png"
                browser.photograph(locations.cache() / "screens" / picture)
                assert browser.run("return document.documentElement.scrollWidth") <= width
                assert browser.run("return document.querySelector('dialog').scrollWidth") <= width


def test_hostile_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(render.html(hostile(Report)), encoding="utf-8")
    browser.open(file, f"{render.target(HOSTILE)}/1")
    assert at(browser) == "Step 1 of 1"
    assert of_id(browser, "viewer-title", "innerText").startswith("</script><img")
    assert browser.run("return document.images.length") == 0
    browser.open(file, render.target(HOSTILE))
    assert browser.run("return document.querySelector('details.claim').open")
    check_quiet(browser)
