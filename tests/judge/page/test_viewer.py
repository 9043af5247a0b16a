# SPDX-License-Identifier: Apache-2.0
"""The page in Chromium: every claim is reached, the viewer steps both ways, nothing is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from tests.judge.page.test_pages import HOSTILE, hostile
from tests.support.browser import DESKTOP, PHONE, Browser, opened

from wakeproof.judge.page import render
from wakeproof.judge.page.data import Report

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with opened(tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.fixture
def page(report: Report, tmp_path: Path) -> Path:
    file = tmp_path / "index.html"
    file.write_text(render.html(report), encoding="utf-8")
    return file


def at(browser: Browser) -> str:
    return browser.find_element(By.ID, "step-at").text


def state(browser: Browser) -> str:
    return browser.find_element(By.ID, "viewer-side").text


def press(browser: Browser, key: str) -> None:
    browser.switch_to.active_element.send_keys(key)


def test_every_claim_is_reached(browser: Browser, page: Path, report: Report) -> None:
    for claim in report.claims:
        browser.visit(page, claim.name)
        place = browser.find_element(By.ID, claim.name)
        assert place.get_property("open")
        assert place.find_element(By.TAG_NAME, "h4").is_displayed()
    assert (browser.complaints(), browser.requests()) == ([], [])


def test_keys_step_forward_and_back_and_the_address_follows(browser: Browser, page: Path) -> None:
    browser.visit(page, "MCToy_blind/1")
    assert at(browser) == "Step 1 of 5"
    press(browser, Keys.ARROW_RIGHT)
    press(browser, Keys.ARROW_RIGHT)
    assert at(browser) == "Step 3 of 5"
    assert browser.current_url.endswith("#MCToy_blind/3")
    press(browser, Keys.ARROW_LEFT)
    assert at(browser) == "Step 2 of 5"
    press(browser, Keys.END)
    assert at(browser) == "Step 5 of 5"
    assert "Nothing moves any more." in state(browser)
    press(browser, Keys.ARROW_RIGHT)
    assert at(browser) == "Step 5 of 5"
    press(browser, Keys.HOME)
    browser.find_element(By.ID, "step-next").click()
    browser.find_element(By.ID, "step-back").click()
    assert at(browser) == "Step 1 of 5"
    press(browser, Keys.ESCAPE)
    assert not browser.find_element(By.ID, "viewer").is_displayed()
    assert (browser.complaints(), browser.requests()) == ([], [])


def test_a_step_marks_what_it_changed_and_nothing_else(browser: Browser, page: Path) -> None:
    browser.visit(page, "MCToy_blind/3")
    side = browser.find_element(By.ID, "viewer-side")
    marked = [one.text for one in side.find_elements(By.CSS_SELECTOR, ".state mark")]
    assert marked == ["done"]
    assert "was push" in side.text
    assert "look" in side.text
    lines = [one.text for one in side.find_elements(By.CSS_SELECTOR, "figure mark")]
    assert lines == ["  queue' = 1"]


def test_a_store_buffer_holds_a_store_until_it_reaches_memory(browser: Browser, page: Path) -> None:
    browser.visit(page, "MCToy_blind/2")
    assert "asleep = 1" in state(browser)
    press(browser, Keys.ARROW_RIGHT)
    press(browser, Keys.ARROW_RIGHT)
    assert "asleep = 1" not in state(browser)
    arrows = browser.find_elements(By.CSS_SELECTOR, "#viewer-lanes path.lands.now")
    assert len(arrows) == 1
    press(browser, Keys.ARROW_RIGHT)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#viewer-lanes path.reads.now")) == 1


def test_a_screen_reader_hears_the_step_and_what_it_changed(browser: Browser, page: Path) -> None:
    browser.visit(page, "MCToy_blind/3")
    live = browser.find_element(By.ID, "viewer-live")
    assert live.get_attribute("aria-live") == "polite"
    assert live.get_attribute("textContent") == (
        "Step 3 of 5. alice: Push; pc[alice] from push to done. "
    )
    assert len(browser.find_elements(By.CSS_SELECTOR, '[aria-current="step"]')) == 1


def test_a_claim_and_a_step_open_the_viewer(browser: Browser, page: Path) -> None:
    browser.visit(page, "Toy!Seen/4")
    assert at(browser) == "Step 4 of 5"
    assert browser.find_element(By.ID, "viewer-title").text == "MCToy_blind violates Seen"


def test_a_state_graph_is_searched_and_walked(browser: Browser, page: Path) -> None:
    browser.visit(page, "graph:MCToy/1")
    assert at(browser) == "State 1 of 2"
    browser.find_element(By.ID, "find-state").send_keys("queue = 1")
    assert len(browser.find_elements(By.CSS_SELECTOR, "circle.hit")) == 1
    browser.find_element(By.PARTIAL_LINK_TEXT, "Push leads to state 2").click()
    assert at(browser) == "State 2 of 2"
    assert browser.complaints() == []


def test_claims_are_found_by_words(browser: Browser, page: Path) -> None:
    browser.visit(page)
    browser.find_element(By.ID, "find").send_keys("specification served")
    shown = [one for one in browser.find_elements(By.CSS_SELECTOR, "details.claim")
             if one.is_displayed()]  # fmt: skip
    assert [one.get_attribute("id") for one in shown] == ["Toy!Served"]
    assert browser.find_element(By.ID, "found").text == "1 claims"


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_wider_than_the_screen(
    browser: Browser, page: Path, width: int, dark: bool
) -> None:
    browser.resize(width, dark=dark)
    for place in ("Toy!Seen", "MCToy_blind/3"):
        browser.visit(page, place)
        wide = browser.execute_script("return document.documentElement.scrollWidth")  # type: ignore[no-untyped-call]
        assert wide <= width
    browser.resize(DESKTOP)


def test_hostile_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(render.html(hostile(Report)), encoding="utf-8")
    browser.visit(file, f"{render.target(HOSTILE)}/1")
    assert at(browser) == "Step 1 of 1"
    assert browser.find_element(By.ID, "viewer-title").text.startswith("</script><img")
    assert browser.find_elements(By.TAG_NAME, "img") == []
    browser.visit(file, render.target(HOSTILE))
    assert browser.find_element(By.CSS_SELECTOR, "details.claim").get_property("open")
    assert (browser.complaints(), browser.requests()) == ([], [])
