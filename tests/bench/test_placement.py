# SPDX-License-Identifier: Apache-2.0
"""The rows of placement: simulated ones are deterministic and can fail, real ones are sane.

Serves no spec: docs/inside/performance.md.  Never times.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from wakeproof.bench import ROWS, program
from wakeproof.bench.placement import BURSTS, COSTS, OF_LOADS, STEADY
from wakeproof.config import POLICIES
from wakeproof.judge.process import Children

SIMULATED = [*(f"steady_{n}" for n in STEADY), *(f"burst_{n}" for n in BURSTS)]
GROUPS = ["group_off", "group_on"]
BY_LOAD = ("two_choices", "least_loaded", "cluster_two_choices")  # these do better than home


@cache
def built() -> Path:
    with Children() as children:
        return program.build(children).path


def run_row(name: str) -> dict[str, Any]:
    command = [str(built()), f"placement_{name}", "1", "0.01", "1"]
    ended = subprocess.run(command, capture_output=True, check=True, timeout=120)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def counted(found: dict[str, Any], count: str) -> dict[str, float]:
    return {side: values[0] for side, values in found["counts"][count].items()}


def test_each_policy_has_rows_for_its_cost_its_balance_and_its_tail() -> None:
    shown = {(row.program, row.ours, row.count) for row in ROWS}
    judged = {(row.program, row.ours) for row in ROWS if row.at_most is not None}
    for side in POLICIES:
        assert {(f"placement_{n}", side, "") for n in COSTS} <= shown
        assert {(f"placement_steady_{n}", side, "queue") for n in STEADY} <= shown
        assert {(f"placement_burst_{n}", side, "work") for n in BURSTS} <= shown
    for side in OF_LOADS:
        for name in [*SIMULATED, *GROUPS]:
            assert {(f"placement_{name}", of, "") for of in (side, f"{side}_dequeue")} <= shown
            assert ((f"placement_{name}", side) in judged) == (name != "group_on")
        for name in [*GROUPS, *(f"burst_{n}" for n in BURSTS)]:
            assert {(f"placement_{name}", side, count) for count in ("p50", "most")} <= shown
    assert {
        (f"placement_{n}", "least_loaded") for n in COSTS
    } <= judged  # <= 10 ns for each sibling


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATED)
def test_what_is_simulated_is_spread_but_by_the_twin(name: str) -> None:
    found, carriers = run_row(name), int(name.split("_")[1])
    assert set(found["samples"]) == {*POLICIES, *(f"{s}_dequeue" for s in OF_LOADS), "one", "zero"}
    for count in ("queue", "work"):
        spread = counted(found, count)
        assert spread.pop("zero") == carriers  # all to carrier 0: as uneven as possible
        if name.startswith("burst"):
            assert spread.pop("home") == carriers  # the submitting carrier keeps them all
        assert all(1 <= value < carriers * 0.95 for value in spread.values()), spread
    late, most = found["samples"], counted(found, "most")
    assert late["zero"] == max(late.values())
    assert all(late[side] < late["home"] for side in BY_LOAD)
    assert most["one"] <= min(most.values())


@pytest.mark.slow
def test_the_same_seed_says_the_same() -> None:
    assert run_row("steady_16") == run_row("steady_16")


@pytest.mark.slow
@pytest.mark.parametrize("name", GROUPS)
def test_a_group_spreads_its_bursts_and_says_how(name: str) -> None:
    found = run_row(name)
    assert set(found["samples"]) == {*POLICIES, *(f"{side}_dequeue" for side in OF_LOADS)}
    spread = counted(found, "work")
    assert all(1 <= value <= 2 for value in [*spread.values(), *counted(found, "queue").values()])
    if name == "group_off":
        assert spread["home"] == 2  # no stealing: carrier 0 runs all tasks that it has submitted
        assert max(spread[side] for side in BY_LOAD) < 1.95
    for side, half in counted(found, "p50").items():
        p99, most = found["samples"][side][0] / 1e3, counted(found, "most")[side]
        assert 0 < half <= p99 <= most
