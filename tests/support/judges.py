# SPDX-License-Identifier: Apache-2.0
"""The judges side by side: the two engines of the explorer, and their differences from the axioms.

WAKEPROOF_TRUST=20 takes twenty times as many random programs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from tests.support.random_programs import Kinds, small

from wakeproof.judge.explore import litmus
from wakeproof.judge.explore.options import MODELS, ExploreOptions, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.oracle import run as oracle
from wakeproof.judge.oracle.graph import Switches
from wakeproof.judge.oracle.models import AXIOMS, Axioms

TRUST = int(os.environ.get("WAKEPROOF_TRUST", "1"))
EXPLORER = litmus.Explorer()
ORDERLY = (Model.SC, Model.TSO)  # the models of states.c
Explored = dict[Model, Result]


def many(examples: int) -> settings:
    return settings(
        max_examples=examples * TRUST,
        derandomize=TRUST == 1,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def batches(kinds: Kinds | None = None) -> st.SearchStrategy[list[str]]:
    return st.lists(small(kinds).map(str), min_size=1, max_size=10, unique=True)


def graphs(
    programs: Sequence[str], models: Sequence[Model] = MODELS, **options: bool
) -> list[Explored]:
    chosen = ExploreOptions(
        engine="graphs", timeouts=False, check_duplicates=True, seconds=10.0, **options
    )
    return litmus.explore(programs, models, chosen, explorer=EXPLORER)


def states(programs: Sequence[str]) -> list[Explored]:
    chosen = ExploreOptions(engine="states", models=ORDERLY, timeouts=False)
    return litmus.explore(programs, ORDERLY, chosen, explorer=EXPLORER)


def ended(result: Result) -> dict[str, int]:
    return {found.text: found.count for found in result.outcomes if found.verdict == "ended"}


def difference(expected: oracle.Result, got: Result) -> str:
    """Return how the explorer's answer differs; "": not at all.

    A race and a failed assertion end the exploration at that point. Then only these are compared,
    and that no outcome is invented.
    """
    if got.error or not got.exhaustive or got.duplicates:
        return f"no answer: {got.error or got.stopped or f'{got.duplicates} duplicates'}"
    verdicts = got.verdicts - {"ended"}
    allowed = {"race": expected.is_racy, "assertion": expected.fails}
    allowed = {verdict for verdict, is_possible in allowed.items() if is_possible}
    if verdicts - allowed or bool(verdicts) != bool(allowed):
        return f"expected {sorted(allowed)}, got {sorted(verdicts)}"
    if allowed:
        invented = ended(got).keys() - expected.outcomes.keys()
        return f"invented {sorted(invented)}" if invented else ""
    if ended(got) != expected.outcomes or got.executions != expected.executions:
        more, less = ended(got).items(), expected.outcomes.items()
        return (
            f"expected {expected.executions} executions, got {got.executions}; "
            f"too many or too often {sorted(more - less)}, expected {sorted(less - more)}"
        )
    return ""


def differences(
    programs: Sequence[str],
    got: Iterable[Explored],
    axioms: Mapping[Model, Axioms] = AXIOMS,
    switches: Switches | None = None,
) -> list[str]:
    """Return where the explorer and the oracle differ, shortest program first."""
    found = []
    for program, explored in zip(programs, got, strict=True):
        expected = oracle.explore(program, axioms, switches)
        for model, result in expected.items():
            what = difference(result, explored[model])
            found += [f"{model.label}: {what}\n{program}"] if what else []
    return sorted(found, key=len)


def disagreements(
    programs: Sequence[str], by_graphs: Iterable[Explored], by_states: Iterable[Explored]
) -> list[str]:
    """Return the programs without a race for which the engines find different outcomes."""
    return [
        f"{model.label}: {sorted(graph[model].texts ^ state[model].texts)}\n{program}"
        for program, graph, state in zip(programs, by_graphs, by_states, strict=True)
        for model in ORDERLY
        if "race" not in graph[model].verdicts and graph[model].texts != state[model].texts
    ]
