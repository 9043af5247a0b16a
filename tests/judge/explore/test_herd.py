# SPDX-License-Identifier: Apache-2.0
"""Our axioms against herd7, which shares nothing with them: SC, x86-TSO, RC11 and ARMv8."""

from __future__ import annotations

import sys
from functools import cache

import pytest
from tests.judge.explore.test_armv8 import NEEDED, program
from tests.support import herd as beside
from tests.support.handshakes import HANDSHAKES
from tests.support.herd import NUMBER, compare, difference, drawn, found
from tests.support.litmus import LITMUS

from wakeproof.errors import JudgeError, MissingToolError
from wakeproof.judge.explore.options import Model
from wakeproof.judge.oracle import armv8, herd
from wakeproof.judge.oracle import models as oracle_models
from wakeproof.judge.oracle.armv8 import CLAUSES, MAPPINGS, Mapping
from wakeproof.judge.oracle.program import parse

SAMPLE = ("L01", "L06", "L08a", "L10", "L29", "L40", "L46", "L52", "V03b", "V05b", "W01")
SHAKEN = {name: handshake.text() for name, handshake in HANDSHAKES.items()}
PROGRAMS = LITMUS | SHAKEN if NUMBER else {name: LITMUS[name] for name in SAMPLE}
DRAWN = NUMBER or 6
USED = MAPPINGS if NUMBER else (Mapping(), Mapping(pair=True, ldapr=True))
ALL = pytest.mark.parametrize("model", Model, ids=lambda model: model.value)

pytestmark = pytest.mark.slow


@cache
def _drawn() -> dict[str, str]:
    return drawn(DRAWN)


@ALL
def test_herd7_agrees_on_the_corpus(model: Model) -> None:
    tally = compare(found(), PROGRAMS, model, each=USED)
    sys.stdout.write(f"{model.label}, {len(PROGRAMS)} programs of the corpus: {tally}\n")
    assert not tally.differ, str(tally)
    assert tally.same > len(PROGRAMS) / 2, str(tally)


@ALL
def test_herd7_agrees_on_random_programs(model: Model) -> None:
    tally = compare(found(), _drawn(), model)
    sys.stdout.write(f"{model.label}, {len(_drawn())} random programs: {tally}\n")
    assert not tally.differ, str(tally)
    assert tally.same > 100 * len(tally.lost), str(tally)


@pytest.mark.parametrize("clause", CLAUSES)
def test_herd7_finds_out_armv8_without_a_clause(clause: str) -> None:
    first, second, seen, bad = NEEDED[clause]
    text = program(first, second, observe=seen)
    tool, mapping = found(), Mapping()
    assert not difference(tool, text, Model.ARMV8, mapping)
    less = difference(
        tool, text, Model.ARMV8, mapping, lambda graph: armv8.armv8(graph, mapping, clause)
    )
    assert f"we alone ['{bad}'" in less


@pytest.mark.parametrize(
    ("model", "name", "axioms"),
    [
        (Model.SC, "L01", oracle_models.tso),
        (Model.TSO, "L06", lambda graph: oracle_models.tso(graph, fences=False)),
        (Model.RC11, "L06", oracle_models.rc11_without_psc),
        (Model.RC11, "L10", lambda graph: graph.is_coherent),
    ],
)
def test_herd7_finds_out_wrong_axioms(model: Model, name: str, axioms: object) -> None:
    assert "we alone" in difference(found(), LITMUS[name], model, Mapping(), axioms)  # type: ignore[arg-type]


def test_herd7_finds_out_another_mapping() -> None:
    text = LITMUS["V03b"]  # SB by exchanges
    theirs = herd.ask(found(), text, Model.ARMV8, Mapping(pair=True))
    assert theirs.outcomes - beside.mine(parse(text), Model.ARMV8, Mapping()).outcomes == {"0,0"}


def test_what_herd7_misses_is_no_fault_of_ours_if_an_interleaving_has_it() -> None:
    text = program(
        "store x 1 plain;fence seq_cst;r0 = add x 2 relaxed",
        "r0 = cas x 2 5 relaxed relaxed;r1 = cas x 1 6 relaxed relaxed",
        "r0 = load x plain",
        observe="0:r0 1:r0 1:r1 2:r0 x",
    )
    assert "1,3,3,3,3" in beside.interleavings(parse(text))
    assert difference(found(), text, Model.SC, Mapping()) in ("", beside.LOST)


def test_interleavings_are_sequential_consistency() -> None:
    for name in ("L01", "L08a", "L29", "L40", "L46", "W01"):
        ours = beside.mine(parse(LITMUS[name]), Model.SC, Mapping())
        assert beside.interleavings(parse(LITMUS[name])) == ours.outcomes


def test_herd7_finds_out_a_race() -> None:
    text = "program race\nthread\nstore x 1 plain\nthread\nr0 = load x relaxed\nobserve 1:r0\n"
    assert herd.ask(found(), text, Model.RC11).is_racy


def test_what_herd7_cannot_say_is_refused_by_name() -> None:
    for line, what in (
        ("assume r0 == 0", "no assume"),
        ("r0 = cas_weak x 0 1 relaxed relaxed", "no cas_weak"),
        ("fence heavy", "no asymmetric fences"),
    ):
        text = program(line + ";store x 1 relaxed", observe="0:r0")
        with pytest.raises(herd.NoFormError, match=what):
            herd.translated(parse(text), Model.SC, Mapping())
    adding = program("r0 = add x 1 relaxed;store x r0 relaxed", "r0 = load x relaxed")
    with pytest.raises(herd.NoFormError, match="no x86 instruction for add"):
        herd.translated(parse(adding), Model.TSO, Mapping())


def test_an_answer_without_states_is_no_answer() -> None:
    with pytest.raises(JudgeError, match="herd7 gave no states: no such model"):
        herd.read("", "no such model", ["x"])
    good = "Test t Allowed\nStates 1\n[x]=1; 0:X17=0;\nNo\n"
    assert herd.read(good, "", ["x"]) == herd.Answer(frozenset({"1"}), is_racy=False)
    assert not herd.read(good.replace("X17=0", "X17=1"), "", ["x"]).outcomes
    with pytest.raises(JudgeError):
        herd.read(good, "Warning: Label L1 occurs more that once", ["x"])


def test_without_herd7_it_says_where_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAKEPROOF_HERD7", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(herd, "FETCHED", herd.FETCHED / "nowhere")
    with pytest.raises(MissingToolError, match="no herd7: `make herd` fetches it"):
        herd.find()
