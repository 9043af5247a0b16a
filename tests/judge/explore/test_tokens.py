# SPDX-License-Identifier: Apache-2.0
"""Names of executions and of places in the code: tokens are read as written, labels as linted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import labels as explore_labels
from wakeproof.judge.explore import tokens
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Found
from wakeproof.judge.explore.tokens import Token


def test_labels_are_those_that_pairs_lints() -> None:
    tool = locations.sources() / "tools" / "pairs.py"
    ended = subprocess.run([sys.executable, str(tool), "--json"], capture_output=True, check=False)
    labels = explore_labels.read(locations.sources())
    sites = json.loads(ended.stdout)
    assert len(sites) > 50
    for site in sites:
        assert labels.of(site["file"], site["line"]) == f"[{site['label']}]"
    assert set(labels.by_line.values()) == {site["label"] for site in sites}


def test_a_label_that_does_not_exist_lists_those_that_do() -> None:
    labels = explore_labels.read(locations.sources())
    assert labels.lines("[guard.2]") == labels.lines("guard.2")
    with pytest.raises(UsageError, match="no site has the label 'XX9'; there are "):
        labels.lines("XX9")


def test_a_token_is_read_as_it_was_written() -> None:
    options = ExploreOptions(spurious=1, orders=(("guard.h", 120, "relaxed"),))
    found = Found("0,0", "ended", 1, ())
    token = tokens.make(Path("/there/s.c"), "s", "s_t", Model.TSO, "states", options, found, "abc")
    assert tokens.decode(token.text).explore_options() == ExploreOptions(
        models=(Model.TSO,), engine="states", spurious=1, orders=(("guard.h", 120, "relaxed"),)
    )
    assert tokens.decode(token.text).text == token.text


@pytest.mark.parametrize("text", ["", "abc", "eNpLy0", "é", "WyIxIl0=", "eJwzBQAANgA2"])
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no token"):
        tokens.decode(text)


def test_a_token_of_another_version_or_with_unknown_options_is_refused() -> None:
    token = Token("s.c", "s", "", "sc", "states", {"speed": 3}, "0", "ended", "a", "b")
    with pytest.raises(UsageError, match="not of this version"):
        tokens.decode(token.text).explore_options()
