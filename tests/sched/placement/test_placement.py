# SPDX-License-Identifier: Apache-2.0
"""Placement: specs/sched/placement/Placement.tla, and the bugs that specs/README.md lists.

placement.c runs one case, placement_clusters.c a case drawn from its seed; both print what is lost.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, fails, hold
from tests.support.running import run

from wakeproof.config import POLICIES

pytestmark = COMPILES
CASES = ("ties", "two", "least", "marked")
FORMS = (0, 1)
TWINS = {
    "placement_herds": ("ties",),
    "placement_same_twice": ("two",),
}
EXPLORED = {
    "placement_marked_chosen": ("marked",),
    "placement_count_twice": ("cycles", "2", "0", "3", "20000", "1"),
    "placement_ends_twice": ("cycles", "2", "1", "3", "2000", "1"),
}
TRIES = 20  # two threads must meet in a few instructions
CLUSTERS = ("placement_cluster_marked", "placement_same_twice")


@EACH_BUILD
def test_each_policy_chooses_as_it_says_and_counts_balance(build: str, compiled: Compiled) -> None:
    command = compiled("placement", build)
    cycles = [
        ("cycles", str(p), str(form), "3", "1000", "1") for p in POLICIES.values() for form in FORMS
    ]
    hold(command, [*((name,) for name in CASES), *cycles])


def test_counts_balance_after_any_cycles(compiled: Compiled) -> None:
    command = compiled("placement", "plain")

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        policy=st.sampled_from(list(POLICIES.values())),
        form=st.sampled_from(FORMS),
        carriers=st.integers(1, 6),
        tasks=st.integers(1, 400),
        seed=st.integers(0, 2**32),
    )
    def balance(policy: int, form: int, carriers: int, tasks: int, seed: int) -> None:
        case = ("cycles", *map(str, (policy, form, carriers, tasks, seed)))
        ended = run(command, *case)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case

    balance()


@pytest.mark.parametrize("build", ["plain", "address"])
def test_of_two_clusters_the_lesser_has_it(build: str, compiled: Compiled) -> None:
    hold(compiled("placement_clusters", build), ("1", "2"))


@pytest.mark.parametrize("twin", CLUSTERS)
def test_each_twin_of_clusters_is_seen(twin: str, compiled: Compiled) -> None:
    fails(compiled("placement_clusters", "plain", f"-DWP_TWIN_{twin}=1"), "1")


@pytest.mark.parametrize("twin", [*TWINS, *EXPLORED])
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    command = compiled("placement", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2")
    for _ in range(TRIES if twin in EXPLORED else 1):
        ended = run(command, *{**TWINS, **EXPLORED}[twin])
        if ended.returncode:
            break
    assert ended.returncode != 0
    assert "lost" in ended.stdout
