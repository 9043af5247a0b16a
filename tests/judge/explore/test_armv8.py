# SPDX-License-Identifier: Apache-2.0
"""ARMv8: the axioms, load buffering, and the instructions that compilers really emit."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from tests.support.litmus import LITMUS
from tests.support.shapes import SKELETONS, classics

from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import Model
from wakeproof.judge.oracle import armv8, run
from wakeproof.judge.oracle.armv8 import CLAUSES, MAPPINGS, Mapping, mapping_of
from wakeproof.judge.oracle.machine import Text
from wakeproof.judge.oracle.models import AXIOMS
from wakeproof.judge.oracle.program import parse

LSE, RCPC, PAIR = Mapping(), Mapping(ldapr=True), Mapping(pair=True)
SHAPES = {
    "SB": ("store x 1 relaxed;r0 = load y relaxed", "store y 1 relaxed;r0 = load x relaxed", "0,0"),
    "SB, fences": ("store x 1 relaxed;fence seq_cst;r0 = load y relaxed",
                   "store y 1 relaxed;fence seq_cst;r0 = load x relaxed", "0,0"),
    "SB, one fence": ("store x 1 relaxed;fence seq_cst;r0 = load y relaxed",
                      "store y 1 relaxed;r0 = load x relaxed", "0,0"),
    "SB, release and acquire": ("store x 1 release;r0 = load y acquire",
                                "store y 1 release;r0 = load x acquire", "0,0"),
    "SB, exchanges": ("r1 = exchange x 1 seq_cst;r0 = load y relaxed",
                      "r1 = exchange y 1 seq_cst;r0 = load x relaxed", "0,0"),
    "LB": ("r0 = load x relaxed;store y 1 relaxed", "r0 = load y relaxed;store x 1 relaxed", "1,1"),
    "LB, acquire": ("r0 = load x acquire;store y 1 relaxed",
                    "r0 = load y relaxed;store x 1 release", "1,1"),
    "LB through an update": ("r0 = add x 0 relaxed;store y 1 relaxed",
                             "r0 = load y relaxed;store x 1 relaxed", "1,1"),
    "LB with data": ("r0 = load x relaxed;store y r0 relaxed",
                     "r0 = load y relaxed;store x 1 release", "1,1"),
    "LB with control": ("r0 = load x relaxed;if r0 == 0 goto e;store y 1 relaxed;e:",
                        "r0 = load y relaxed;store x 1 release", "1,1"),
    "2+2W, release": ("store x 1 relaxed;store y 2 release;r0 = load y relaxed",
                      "store y 1 relaxed;store x 2 release;r0 = load x relaxed", "1,1"),
}  # fmt: skip
ALLOWED = {
    "SB": (LSE, RCPC, PAIR), "SB, one fence": (LSE, RCPC, PAIR), "SB, release and acquire": (RCPC,),
    "SB, exchanges": (PAIR,), "LB": (LSE, RCPC, PAIR), "LB through an update": (LSE, RCPC, PAIR),
    "LB with data": (LSE, RCPC, PAIR), "LB with control": (LSE, RCPC, PAIR),
}  # fmt: skip
"""By which mappings the outcome is allowed; by none where the shape is not named."""
NEEDED = {
    "bob": ("store x 1 relaxed;store y 1 release", "r0 = load y acquire;r1 = load x relaxed",
            "1:r0 1:r1", "1,0"),
    "aob": ("r0 = add x 1 relaxed;r1 = load x acquire;store y 3 relaxed",
            "r0 = load y relaxed;r1 = add x 6 acq_rel", "0:r0 1:r0", "6,3"),
    "dob": ("r0 = load x relaxed;store y r0 relaxed", "r0 = load y relaxed;store x r0 relaxed;"
            "r1 = load z relaxed;if r1 == 0 goto e;store x 1 relaxed;e:", "0:r0 1:r0", "1,1"),
    "successor": ("store x 1 relaxed;store y 2 release;store y 3 relaxed",
                  "r0 = load y acquire;r1 = load x relaxed", "1:r0 1:r1", "3,0"),
}  # fmt: skip
"""A shape that a clause alone forbids."""


def program(*threads: str, observe: str = "0:r0 1:r0") -> str:
    bodies = "".join("thread\n" + thread.replace(";", "\n") + "\n" for thread in threads)
    return f"program shape\ninit z 1\n{bodies}observe {observe}\n"


def outcomes(
    text: str, mapping: Mapping, without: str = "", *, dependencies: bool = False
) -> set[str]:
    machine = Text(parse(text), dependencies=dependencies, paired=mapping.pair)
    return {
        execution.outcome(machine)
        for execution in run.executions(machine, buffering=True)
        if armv8.armv8(execution.graph, mapping, without)
    }


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("mapping", [LSE, RCPC, PAIR], ids=lambda mapping: mapping.name)
def test_a_known_shape_is_allowed_where_it_should_be(name: str, mapping: Mapping) -> None:
    first, second, bad = SHAPES[name]
    found = outcomes(program(first, second), mapping)
    assert (bad in found) == (mapping in ALLOWED.get(name, ()))


@pytest.mark.parametrize("name", ["LB with data", "LB with control"])
def test_a_dependency_counts_where_the_compiler_keeps_it(name: str) -> None:
    first, second, bad = SHAPES[name]
    assert bad not in outcomes(program(first, second), LSE, dependencies=True)


@pytest.mark.slow
@pytest.mark.parametrize("clause", CLAUSES)
def test_a_model_without_one_clause_is_found_out(clause: str) -> None:
    first, second, seen, bad = NEEDED[clause]
    text = program(first, second, observe=seen)
    assert bad not in outcomes(text, LSE, dependencies=True)
    assert bad in outcomes(text, LSE, clause, dependencies=True)


@pytest.mark.slow
def test_buffering_adds_no_execution_to_models_without_it() -> None:
    programs = [str(one) for at, one in enumerate(classics(SKELETONS[:9])) if at % 8 == 0]
    assert len(programs) > 30
    for text in programs:
        assert run.explore(text, buffering=True) == run.explore(text)


@pytest.mark.slow
def test_what_sc_allows_armv8_allows() -> None:
    for at, one in enumerate(classics(SKELETONS)):
        if at % 80 == 0:
            sc = run.explore(str(one), {Model.SC: AXIOMS[Model.SC]})[Model.SC]
            assert all(sc.outcomes.keys() <= outcomes(str(one), mapping) for mapping in MAPPINGS)


def test_a_value_is_not_made_out_of_thin_air() -> None:
    copies = "r0 = load {} relaxed;store {} r0 relaxed"
    text = program(copies.format("x", "y"), copies.format("y", "x"))
    assert outcomes(text, LSE) == {"0,0"}


def test_an_assertion_can_fail_by_load_buffering() -> None:
    text = program("r0 = load x relaxed;assert r0 == 0;store y 1 relaxed",
                   "r0 = load y relaxed;store x 1 relaxed")  # fmt: skip
    late = run.explore(text, {Model.ARMV8: armv8.armv8_any}, buffering=True)[Model.ARMV8]
    assert late.fails


def test_what_is_too_large_is_refused() -> None:
    text = program(*["r0 = load x relaxed;" * 30] * 2)
    with pytest.raises(run.OutsideError, match="takes more than 24 steps"):
        outcomes(text, LSE)


def test_mappings_are_named() -> None:
    assert mapping_of("all") == MAPPINGS
    assert mapping_of("pair+ldapr") == (Mapping(pair=True, ldapr=True),)
    with pytest.raises(UsageError, match=r"mapping is 'x86'; allowed: lse\+ldar, .*, all"):
        mapping_of("x86")


# What compilers emit.

SUCCESS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
FAILURES = {
    "relaxed": ("relaxed",),
    "acquire": ("relaxed", "acquire"),
    "release": ("relaxed",),
    "acq_rel": ("relaxed", "acquire"),
    "seq_cst": ("relaxed", "acquire", "seq_cst"),
}
"""Of a compare-and-swap: failures that are not stronger than the success, which C11 wants."""
COMPILERS = {"gcc": ["aarch64-linux-gnu-gcc"],
             "clang": ["clang", "--target=aarch64-linux-gnu"]}  # fmt: skip
LOST = {"relaxed": "str", "release": "stlr"}
"""clang makes an exchange whose result is not used a store, unless it acquires."""


@cache
def _compiled(compiler: str, march: str) -> dict[str, tuple[str, ...]]:
    """Return the accesses and barriers in each function, as the compiler emits them."""
    if shutil.which(COMPILERS[compiler][0]) is None:
        pytest.skip(f"no {COMPILERS[compiler][0]}")
    command = [*COMPILERS[compiler], "-O2", "-mno-outline-atomics", f"-march={march}", "-S",
               "-x", "c", "-", "-o", "-"]  # fmt: skip
    ended = subprocess.run(command, input=_source(), capture_output=True, text=True, check=True)
    found: dict[str, tuple[str, ...]] = {}
    name = ""
    for line in ended.stdout.splitlines():
        if label := re.match(r"([a-z]\w+):", line):
            name = label[1]
            found[name] = ()
        elif emitted := re.match(r"\s+(ld\w+|st\w+|swp\w*|cas\w*|dmb)\s+(\S.*)", line):
            is_barrier = emitted[1] == "dmb"
            found[name] += (f"dmb {emitted[2]}" if is_barrier else emitted[1],)
    return found


def _source() -> str:
    order = "__ATOMIC_{}".format
    lines = ["typedef unsigned word;"]
    for one in ("relaxed", "acquire", "seq_cst"):
        call = f"__atomic_load_n(p, {order(one.upper())})"
        lines.append(f"word load_{one}(word *p) {{ return {call}; }}")
    for one in ("relaxed", "release", "seq_cst"):
        call = f"__atomic_store_n(p, v, {order(one.upper())})"
        lines.append(f"void store_{one}(word *p, word v) {{ {call}; }}")
    for one in SUCCESS:
        up = order(one.upper())
        lines.append(f"void fence_{one}(void) {{ __atomic_thread_fence({up}); }}")
        for what in ("exchange_n", "fetch_add", "fetch_or", "fetch_and"):
            name = what.removesuffix("_n").removeprefix("fetch_")
            call = f"__atomic_{what}(p, v, {up})"
            lines.append(f"word {name}_{one}(word *p, word v) {{ return {call}; }}")
            lines.append(f"void lost_{name}_{one}(word *p, word v) {{ {call}; }}")
        for fails in FAILURES[one]:
            to = f"{up}, {order(fails.upper())}"
            lines += [
                f"word cas{'_weak' * weak}_{one}_{fails}(word *p, word e, word v) {{ "
                f"__atomic_compare_exchange_n(p, &e, v, {weak}, {to}); return e; }}"
                for weak in (0, 1)
            ]
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("mapping", "march"), [(PAIR, "armv8-a"), (LSE, "armv8-a+lse")])
def test_the_mapping_is_what_compilers_emit(compiler: str, mapping: Mapping, march: str) -> None:
    emitted = _compiled(compiler, march)
    for order in ("relaxed", "acquire", "seq_cst"):
        assert emitted[f"load_{order}"] == (mapping.load(order),)
    for order in ("relaxed", "release", "seq_cst"):
        assert emitted[f"store_{order}"] == (mapping.store(order),)
    for order in SUCCESS[1:]:
        assert emitted[f"fence_{order}"] == (mapping.fence(order),)
    for order in SUCCESS:
        for what in ("exchange", "add", "or", "and"):
            wanted = mapping.update(what, order)
            assert emitted[f"{what}_{order}"] == wanted
            is_stored = (compiler, what) == ("clang", "exchange") and order in LOST
            assert emitted[f"lost_{what}_{order}"] == ((LOST[order],) if is_stored else wanted)
        for fails in FAILURES[order]:
            for what in ("cas", "cas_weak"):
                assert emitted[f"{what}_{order}_{fails}"] == mapping.update(what, order, fails)


def test_another_mapping_is_found_out() -> None:
    emitted = _compiled("gcc", "armv8-a")
    assert emitted["exchange_seq_cst"] == PAIR.update("exchange", "seq_cst")
    assert emitted["exchange_seq_cst"] != LSE.update("exchange", "seq_cst")
    assert emitted["load_acquire"] != (RCPC.load("acquire"),)


def test_an_acquire_load_may_be_ldapr(tmp_path: Path) -> None:
    """Only compilers newer than these emit it: shown that the assembler takes it."""
    assembler = shutil.which("aarch64-linux-gnu-as")
    if assembler is None:
        pytest.skip("no aarch64-linux-gnu-as")
    source = f".arch armv8-a+rcpc\n{RCPC.load('acquire')} w0, [x1]\n"
    ended = subprocess.run([assembler, "-", "-o", tmp_path / "a.o"], input=source.encode(),
                           capture_output=True, check=False)  # fmt: skip
    assert ended.returncode == 0, ended.stderr


def test_corpus_programs_keep_their_verdicts_where_armv8_is_stronger() -> None:
    # W and V names are shapes of the kernel: SB by exchanges is forbidden with LSE alone.
    assert "0,0" not in outcomes(LITMUS["V03b"], LSE)
    assert "0,0" in outcomes(LITMUS["V03b"], PAIR)
