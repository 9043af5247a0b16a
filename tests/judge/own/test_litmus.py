# SPDX-License-Identifier: Apache-2.0
"""Litmus programs in C with POSIX threads have the verdicts and counts that they have as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.herd import drawn
from tests.support.judges import TRUST, difference, ended, graphs
from tests.support.litmus import COUNTS, LITMUS
from tests.support.litmus_c import can_be_c, in_c
from tests.support.own import Several

from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.oracle import run as oracle
from wakeproof.judge.own.runtime import Runtime
from wakeproof.judge.process import Children

OPTIONS = ExploreOptions(
    timeouts=False, check_duplicates=True, seconds=60.0 if TRUST == 1 else 600.0
)
LARGE = ("F1_check_n3", "F1_mod4_check_n3", "F1_mod4_n3", "F1_n3", "F2_n3")
"""Programs with more than 5,000 executions."""
TOO_LARGE = ("F4_n4",)
"""About 38 million executions, even as text; the engine of states explores the text."""
LOOPS = ("F2_n3", "N04")
"""Loops whose registers hold old values that nobody reads: text takes each for another position."""
CORPUS = {
    name: text for name, text in LITMUS.items()
    if can_be_c(text) and name not in TOO_LARGE and (TRUST > 1 or name not in LARGE)
}  # fmt: skip
DRAWN = 500 if TRUST > 1 else 15


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own")


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    with Children() as children:
        yield children


@pytest.fixture(scope="module")
def corpus(children: Children, folder: Path) -> Several:
    return Several(children, in_c(CORPUS), folder)


def _bare(result: Result) -> dict[str, int]:
    """Return how often each outcome ended; a program that prints nothing has one outcome."""
    return {"" if text == "ended" else text: count for text, count in ended(result).items()}


def test_nearly_all_of_the_corpus_can_be_written_in_c() -> None:
    assert sum(map(can_be_c, LITMUS.values())) >= 160


@pytest.mark.rotates
@pytest.mark.parametrize("name", CORPUS)
def test_a_program_in_c_is_judged_as_its_text_is(corpus: Several, name: str) -> None:
    text = graphs([LITMUS[name]])[0]
    for model, result in corpus.explore(name, OPTIONS).items():
        expected = text[model]
        assert (result.error, result.exhaustive, result.duplicates) == ("", True, 0)
        assert result.verdicts >= expected.verdicts - {"ended"}
        if "race" in expected.verdicts:
            continue  # a race ends an execution sooner in C
        if not expected.exhaustive:  # the text has a limit of its own
            assert _bare(result).keys() >= ended(expected).keys()
            continue
        assert result.verdicts == expected.verdicts
        if name in LOOPS:
            assert _bare(result).keys() == ended(expected).keys()
            assert result.executions <= expected.executions
            continue
        assert _bare(result) == ended(expected)
        if COUNTS.get(name, {}).get(model.value) is not None:
            assert result.executions == COUNTS[name][model.value]


def test_random_programs_in_c_agree_with_the_axioms(children: Children, folder: Path) -> None:
    programs = {f"random{at}": text for at, text in enumerate(drawn(DRAWN).values())}
    is_clang = not Runtime(children).is_gcc  # it loses that a compare-and-swap is weak
    programs = {
        name: text for name, text in programs.items()
        if can_be_c(text) and not (is_clang and "cas_weak" in text)
    }  # fmt: skip
    assert len(programs) > DRAWN // 2
    several = Several(children, in_c(programs), folder)
    found = []
    for name, text in programs.items():
        results = several.explore(name, OPTIONS)
        for model, expected in oracle.explore(text).items():
            what = difference(expected, results[model])
            found += [f"{model.label}: {what}\n{text}"] if what else []
    assert not found, min(found, key=len)


def test_the_comparison_sees_a_weaker_order(children: Children, folder: Path) -> None:
    text = LITMUS["L06"]
    weaker = text.replace("seq_cst", "acq_rel")
    assert weaker != text
    result = Several(children, in_c({"L06": weaker}), folder).explore("L06", OPTIONS)[Model.RC11]
    assert result.executions != COUNTS["L06"]["rc11"]
