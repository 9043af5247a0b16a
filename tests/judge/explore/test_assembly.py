# SPDX-License-Identifier: Apache-2.0
"""Inline assembly is modelled, or refused by its line; so are invalid orders and files."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.explore.assembly import FENCE, modelled
from wakeproof.judge.explore.explored import NotModelledError
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.run import ExploreReport, explore

CLANG = next((name for name in ("clang", "clang-19") if shutil.which(name)), None)
BUFFERS = """#include "litmus.h"
#include "stress.h"
INCLUDE
struct state { wp_atomic(uint32_t) x, y; };
static void left(void *at, stress_result *result)
{
    struct state *state = at;
    wp_store_relaxed(&state->x, 1);
    BETWEEN;
    result->r[0] = wp_load_relaxed(&state->y);
}
static void right(void *at, stress_result *result)
{
    struct state *state = at;
    wp_store_relaxed(&state->y, 1);
    BETWEEN;
    result->r[1] = wp_load_relaxed(&state->x);
}
STRESS_TEST(own, .claim = "None.", .upholds = "None!None", .state_size = sizeof(struct state),
    .actors = {left, right}, .results = 2, .outcomes = {{"*", ACCEPTABLE, "never judged"}});
"""
FENCES = {
    "mfence": '__asm__ volatile("mfence" ::: "memory")',
    "lock or": '__asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc")',
    "lock add below": '__asm__ volatile("lock addq $0x0,-8(%%rsp)" ::: "memory", "cc")',
    "intrinsic": "_mm_mfence()",
}
NONE = {
    "barrier": '__asm__ volatile("" ::: "memory")',
    "pause": '__asm__ volatile("pause")',
    "rep nop": '__asm__ volatile("rep; nop" ::: "memory")',
    "intrinsic pause": "_mm_pause()",
}
REFUSED = {
    "lock xadd": '{ int one = 1; __asm__ volatile("lock; xaddl %0, %1" : "+r"(one), '
                 '"+m"(state->x) :: "memory"); }',
    "sfence": '__asm__ volatile("sfence" ::: "memory")',
    "lock or of the state": '__asm__ volatile("lock; orl $0, %0" : "+m"(state->x))',
    "rdtsc": "(void)__builtin_ia32_rdtsc()",
}  # fmt: skip
x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="x86-64's instructions")


def explored(file: Path, between: str, *models: Model, include: str = "") -> ExploreReport:
    file.write_text(BUFFERS.replace("BETWEEN", between).replace("INCLUDE", include))
    return explore([file], None, ExploreOptions(models=models))


@x86
@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", CLANG])
@pytest.mark.parametrize("what", [*FENCES, *NONE])
def test_assembly_orders_what_it_orders_on_the_machine(
    what: str, compiler: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiler is None or not shutil.which(compiler):
        pytest.skip("not run: install gcc and clang")
    monkeypatch.setenv("CC", compiler)
    code = (FENCES | NONE)[what]
    include = "#include <emmintrin.h>" if "_mm" in code else ""
    found = explored(tmp_path / "own.c", code, Model.TSO, Model.RC11, include=include)
    for judged in found.scenarios[0].judged:
        assert not judged.result.error
        assert ("0,0" in judged.result.texts) == (what in NONE)


@x86
@pytest.mark.slow
@pytest.mark.parametrize("what", REFUSED)
def test_other_assembly_is_refused_by_name_and_line(what: str, tmp_path: Path) -> None:
    said = r"own\.c:\d+: the explorer does not model the instruction `(lock |sfence|rdtsc)"
    with pytest.raises(NotModelledError, match=said):
        explored(tmp_path / "own.c", REFUSED[what], Model.SC)


def test_what_a_fence_becomes_is_one_call() -> None:
    text = '#APP\n# 7 "own.c" 1\n\tmfence\n# 0 "" 2\n#NO_APP\n\tmfence\n\tpause\n'
    listed = ["#APP", FENCE, "#NO_APP", FENCE, "\tpause"]
    assert modelled(text, Path("own.c")).splitlines() == listed
    with pytest.raises(NotModelledError, match=r"own\.c:7: .* `cpuid`"):
        modelled('#APP\n# 7 "own.c" 1\n\tnop; cpuid\n# 0 "" 2\n#NO_APP\n', Path("own.c"))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("(void)litmus_load(&state->x, release)", "a load is relaxed, acquire or seq_cst, not rel"),
        ("litmus_store(&state->x, 1, acquire)", "a store is relaxed, release or seq_cst, not acqu"),
        ("{ uint32_t old = 0; litmus_cas(&state->x, &old, 1, acq_rel, release); }",
         "the failure of a cas is relaxed, acquire or seq_cst, not release"),
    ],
)  # fmt: skip
def test_an_order_that_c11_does_not_have_does_not_compile(
    code: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        explored(tmp_path / "own.c", code, Model.SC)


def test_an_order_from_the_command_line_is_one_that_the_operation_has(tmp_path: Path) -> None:
    file = tmp_path / "own.c"
    file.write_text(BUFFERS.replace("BETWEEN", "(void)0").replace("INCLUDE", ""))
    options = ExploreOptions(models=(Model.SC,), orders=(("own.c", 10, "release"),))
    [scenario] = explore([file], None, options).scenarios
    assert scenario.messages == (
        "SC (states): LOAD &state->y at own.c:10: this operation cannot be release",
    )


def test_a_program_that_begins_before_the_last_has_ended_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "two.txt"
    file.write_text("program a\nthread\n  store x 1 relaxed\nprogram b\nthread\n  step\n")
    with pytest.raises(UsageError, match=r"a: line 4: a program begins, .* `end` is missing"):
        explore([file])
    file.write_text(file.read_text().replace("program b", "end\nprogram b"))
    assert [report.name for report in explore([file]).scenarios] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("race.cpp", r"race.cpp is C\+\+: explore takes scenarios in C"),
        ("Race.tla", r"Race.tla is a TLA\+ module: .*; wakeproof check takes modules"),
        ("race.txt", "race.txt is no text"),
    ],
)
def test_a_file_of_another_kind_is_named_as_what_it_is(
    name: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_bytes(b"\0\1" if name.endswith(".txt") else b"int main() {}\n")
    with pytest.raises(UsageError, match=said):
        explore([file])
