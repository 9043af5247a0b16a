# SPDX-License-Identifier: Apache-2.0
"""Tests from TLC's graphs: some path has each edge, the code follows it, and a twin does not."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
from collections.abc import Callable

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.conform.bisimulation_graph import Graph
from wakeproof.judge.paths import run as paths_tests
from wakeproof.judge.paths.plan import Planner
from wakeproof.judge.paths.tour import tour

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Edge = tuple[int, int, int]


def graph(seen: str, *edges: Edge) -> Graph:
    """Return a graph with a state per letter of `seen`, the first one initial.

    An edge is a source, a target and a label.
    """
    found = Graph(starts=[0])
    for letter in seen:
        found.add_state(letter)
    for number, (source, target, label) in enumerate(edges):
        found.add_edge(source, target, label, origin=number)
    return found


def random_graph(seed: int) -> Graph:
    draw = random.Random(seed)
    states = draw.randrange(1, 30)
    edges = [(draw.randrange(states), draw.randrange(states), 1) for _ in range(3 * states)]
    return graph("." * states, *edges)


@pytest.mark.parametrize("seed", range(50))
@pytest.mark.parametrize(("longest", "near"), [(400, 3000), (5, 2)])
def test_paths_are_paths_and_take_every_edge(seed: int, longest: int, near: int) -> None:
    some = random_graph(seed)
    paths = tour(some, longest, near)
    reached = set(some.reached())
    for path in paths:
        assert some.source[path[0]] in some.starts
        assert all(some.target[a] == some.source[b] for a, b in itertools.pairwise(path))
    due = {edge for edge, source in enumerate(some.source) if source in reached}
    assert {edge for path in paths for edge in path} == due
    assert paths == tour(some, longest, near)


A, B, HIDDEN = 1, 2, 0


def test_a_plan_takes_hidden_steps_and_looks_ahead() -> None:
    spec = graph("xyz", (0, 1, A), (1, 2, B))
    code = graph("xxyyz", (0, 1, HIDDEN), (1, 2, A), (1, 3, A), (3, 4, B))
    plan = Planner(spec, code).plan([0, 1])
    assert plan.steps == ((0, 2), (3,))  # without the edge to state 2, in which B is impossible
    assert plan.fails_at is None


@pytest.mark.parametrize(
    "code",
    [
        graph("xy", (0, 1, A)),  # B is missing
        graph("xyx", (0, 1, A), (1, 2, B)),  # and then it looks different
        graph("xyzz", (0, 1, A), (1, 2, HIDDEN), (2, 3, B)),  # a hidden step is visible
    ],
)
def test_a_code_that_cannot_is_told_where(code: Graph) -> None:
    spec = graph("xyz", (0, 1, A), (1, 2, B))
    plan = Planner(spec, code).plan([0, 1])
    assert (plan.fails_at, plan.steps) == (1, ((0,),))


@pytest.mark.rotates
@pytest.mark.slow
def test_the_code_follows_every_edge_of_its_spec_and_twins_do_not() -> None:
    found = paths_tests.paths("^parker$")
    for result in found.results:
        assert result.holds, (result.twin, result.failures[:1])
    own, *twins = found.results
    assert own.edges > 10_000
    assert own.taken >= own.steps > own.edges
    assert {twin.twin.partition(":")[0] for twin in twins} == {"spec", "code"}


@pytest.mark.rotates
@pytest.mark.slow
def test_what_is_done_as_plain_memory_under_a_lock_is_part_of_the_step() -> None:
    own, *twins = paths_tests.paths("^wait_queue$").results
    assert own.failures == ()
    assert [twin.holds for twin in twins] == [True] * 4


@pytest.mark.rotates
@pytest.mark.slow
def test_the_command_says_how_much_was_covered_and_where_a_twin_left(wakeproof: Command) -> None:
    run = wakeproof("conform", "--paths", "-t", "biased_lock", "--json")
    assert run.returncode == 0, run.stderr
    own, code, spec = json.loads(run.stdout)["results"]
    assert (own["concept"], own["holds"], own["failures"]) == ("biased_lock", True, [])
    assert f"{own['paths']:,} paths" in run.stderr
    # Fails by state: it has the name of the site.
    assert "spec takes Claim s" in code["failures"][0]
    assert "; and is 1; code is 0" in code["failures"][0]
    assert "code cannot" in spec["failures"][0]


def test_an_unknown_concept_is_named() -> None:
    with pytest.raises(UsageError, match=r"nothing.*there are parker, biased_lock"):
        paths_tests.paths("nothing")
