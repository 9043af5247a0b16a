# SPDX-License-Identifier: Apache-2.0
"""The pictures of the guide's stories: drawn from executions, and each in its place."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

from tools import traces

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "stories.md"
SVG = "{http://www.w3.org/2000/svg}"


def _texts(svg: str) -> list[str]:
    return [text.text or "" for text in ET.fromstring(svg).iter(f"{SVG}text")]


def test_each_picture_is_there_and_says_what_it_shows() -> None:
    pictures = re.findall(r"!\[([^\]]+)\]\(stories/(\w+)\.svg\)", PAGE.read_text("utf-8"))
    assert len(pictures) >= 8
    assert {f"{name}.svg" for _, name in pictures} == {
        file.name for file in traces.FOLDER.glob("*.svg")
    }
    for sentence, name in pictures:
        assert len(sentence) > 40, name
        assert _texts((traces.FOLDER / f"{name}.svg").read_text("utf-8"))


def test_a_picture_is_what_the_explorer_finds() -> None:
    before = (traces.FOLDER / "liburing_541.svg").read_text("utf-8")
    drawn = traces.svg(traces._shortest("liburing_541"))
    assert _texts(drawn) == _texts(before)
    bad, old = traces.COLOURS["bad"], traces.COLOURS["old"]
    strokes = [box.get("stroke") for box in ET.fromstring(drawn).iter(f"{SVG}rect")]
    assert (strokes.count(bad), strokes.count(old)) == (1, 1)
    steps = [text for text in _texts(drawn) if re.match(r"\d+\. ", text)]
    assert [int(text.partition(".")[0]) for text in steps] == list(range(1, len(steps) + 1))


def test_of_a_long_execution_the_last_steps_are_drawn() -> None:
    texts = _texts((traces.FOLDER / "glibc_stolen.svg").read_text("utf-8"))
    left_out = next(text for text in texts if "left out" in text)
    count = int(left_out.split()[0])
    steps = [text for text in texts if re.match(r"\d+\. ", text)]
    assert len(steps) == traces.MOST
    assert steps[0].startswith(f"{count + 1}. ")


def test_a_bug_that_there_is_not_is_a_usage_error() -> None:
    assert traces.main(["nope"]) == 2
    assert traces.main(["ck/nope"]) == 2
