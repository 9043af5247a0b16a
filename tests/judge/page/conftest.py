# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of pages: a small report of an audit that was made up."""

from __future__ import annotations

import pytest

from wakeproof.judge.page.data import (
    Change,
    Claim,
    Counterexample,
    Group,
    Report,
    Row,
    Sight,
    Source,
    StateGraph,
    Step,
    Twin,
)

BUFFER = "store buffer of bob"


def claim(name: str, **fields: object) -> Claim:
    made: dict[str, object] = {
        "name": name, "kind": "safety", "sentence": "Work is seen.", "status": "holds",
        "strength": "every", "known": ("TLC checked it.",), "open": ("It is not proved.",),
        "spec": ("Toy!Seen",), "files": (), "sites": (), "configurations": (), "scenarios": (),
        "compared": (), "twins": (), "judged": "now", **fields,
    }  # fmt: skip
    return Claim.model_validate(made)


TRACE = Counterexample(
    name="MCToy_blind", judge="check", title="MCToy_blind violates Seen", lanes=("alice", "bob"),
    notes=("Bob never looks.",), buffers=("store buffer of alice", BUFFER),
    ending="Nothing moves any more.", command="wakeproof check --trace MCToy_blind",
    steps=(
        Step(lane=-1, text="(initial state)", values={
            "pc": Group(kind="function", entries=(("alice", "push"), ("bob", "look"))),
            "queue": Group(kind="sequence"), "store buffer of alice": Group(kind="sequence"),
            BUFFER: Group(kind="sequence"),
        }),
        Step(lane=1, text="Look", got="0, initial value", values={
            BUFFER: Group(kind="sequence", items=("asleep = 1",)),
        }),
        Step(lane=0, text="Push", sources=("Toy!Push",), values={
            "pc": Group(kind="function", entries=(("alice", "done"), ("bob", "look"))),
        }, changes=(Change(variable="pc", place="pc[alice]", before="push", after="done"),)),
        Step(lane=1, text="(asleep = 1 reaches memory)", lands=2,
             values={BUFFER: Group(kind="sequence")}),
        Step(lane=0, text="load asleep", got="1, read from #2", reads=2),
    ),
)  # fmt: skip
GRAPH = StateGraph(
    name="MCToy", about="Two threads.", starts=(0,), edges=((0, 1, "Push"), (1, 1, "Wait")),
    states=({"queue": "0"}, {"queue": "1"}),
    places=((0.0, 0.0), (0.0, 40.0)),
)  # fmt: skip


@pytest.fixture
def report() -> Report:
    """Return a report with two claims, a twin, its counterexample and a state graph."""
    twin = Twin(
        name="toy.blind", about="Bob never looks.", violates="Toy!Seen", diff="-look();\n+;\n",
        seen=(Sight(judge="check", must=True, saw=True, how="violates Seen in 5 steps",
                    judged="2026-01-31 12:59"),),
        counterexamples=("MCToy_blind",),
    )  # fmt: skip
    sources = {
        "Toy!Seen": Source(name="Toy", first=7, text="Seen == work => seen"),
        "Toy!Push": Source(name="Toy", first=9, text="Push ==\n  queue' = 1", mark=(10, 10)),
    }
    return Report(
        title="wakeproof: the audit", made="2026-01-31 13:00", verdict="2 claims hold", holds=True,
        claims=(claim("Toy!Seen", twins=("toy.blind",)),
                claim("Toy!Served", strength="specification")),
        twins={"toy.blind": twin}, counterexamples=(TRACE,), graphs=(GRAPH,), sources=sources,
        rows=(Row(judge="check", name="MCToy", verdict="ok", judged="now"),),
        environment=(("Machine", "x86_64"),), not_shown=("2 of 2 claims are not proved.",),
    )  # fmt: skip
