# SPDX-License-Identifier: Apache-2.0
"""A state graph is TLC's, whole; a run that fails gives none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wakeproof.errors import JudgeError
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import dump

pytestmark = pytest.mark.slow  # each test starts TLC, about a second

COUNTS = """
---- MODULE Counts ----
EXTENDS Naturals
CONSTANT Last
VARIABLE n
Init == n \\in {0, 1}
Next == n < Last /\\ n' = n + 1
====
"""


@pytest.fixture
def children() -> Iterator[Children]:
    with Children() as found:
        yield found


@pytest.fixture
def module(tmp_path: Path) -> Path:
    file = tmp_path / "Counts.tla"
    file.write_text(COUNTS, encoding="utf-8")
    return file


CONFIG = dump.config_text("Init", "Next", {"Last": "3"})


def test_the_graph_has_each_state_the_first_ones_and_each_step(
    module: Path, children: Children
) -> None:
    graph = dump.graph(module, CONFIG, children)
    number = [graph.state(at)["n"] for at in range(len(graph.texts))]
    assert sorted(number) == [0, 1, 2, 3]
    assert {number[at] for at in graph.starts} == {0, 1}
    steps = {(number[source], number[target]) for source, target, _ in graph.edges}
    assert steps == {(0, 1), (1, 2), (2, 3)}
    assert [file.name for file in module.parent.iterdir()] == ["Counts.tla"]


def test_a_run_that_fails_gives_no_graph_and_says_how_it_ended(
    module: Path, children: Children
) -> None:
    with pytest.raises(JudgeError, match="TLC: deadlock"):
        dump.graph(module, CONFIG, children, deadlock=True)
    with pytest.raises(JudgeError, match="TLC: configuration error"):
        dump.graph(module, dump.config_text("Init", "Nowhere", {"Last": "3"}), children)
