"""Random copies of structs and bytes: the explorer sees of them what the machine does."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from wakeproof import locations
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.run import explore

PROGRAMS, SEED = 8, 1
HEAD = """#include <string.h>
#include "base/order.h"
#include "stress.h"
#ifdef NATIVE
#include <stdio.h>
#undef STRESS_TEST
#define STRESS_TEST(name, ...) static const stress_test name = {__VA_ARGS__}
#endif
struct inner { uint8_t a, b; uint16_t c; uint32_t d; };
struct record { struct inner in[3]; uint64_t wide; struct inner last; };
struct state { wp_atomic(uint32_t) flag; struct record r[3]; uint8_t bytes[48]; };
static uint64_t digest(const struct state *s)
{
    uint64_t hash = 7;
    struct record copies[3];
    memcpy(copies, s->r, sizeof(copies));
    for (size_t i = 0; i < sizeof(copies); i++) hash = hash * 31 + ((uint8_t *)copies)[i];
    for (size_t i = 0; i < sizeof(s->bytes); i++) hash = hash * 31 + s->bytes[i];
    return hash >> 8;
}
"""
ACTORS = """static void first_N(struct state *s) { ONE }
static void second_N(struct state *s) { TWO }
static void hand_over_N(void *at, stress_result *result)
{
    struct state *s = at;
    first_N(s);
    wp_store_release(&s->flag, 1);
    result->r[1] = 1;
}
static void take_N(void *at, stress_result *result)
{
    struct state *s = at;
    if (!wp_load_acquire(&s->flag)) return;
    second_N(s);
    result->r[0] = (int64_t)digest(s);
}
STRESS_TEST(copies_N, .claim = "None.", .upholds = "None!None", .state_size = sizeof(struct state),
    .actors = {hand_over_N, take_N}, .results = 1, .outcomes = {{"*", ACCEPTABLE, "not judged"}});
"""
NATIVE = """
static void run(const stress_test *test)
{
    static struct state state;
    stress_result results[2] = {0};
    memset(&state, 0, sizeof(state));
    test->actors[0](&state, &results[0]);
    test->actors[1](&state, &results[1]);
    printf("%lld\\n", (long long)results[1].r[0]);
}
"""


def statement(draw: random.Random) -> str:
    records = [f"s->r[{draw.randrange(3)}]" for _ in range(3)]
    to, via, old = (f"{r}.in[{draw.randrange(3)}]" for r in records)
    value, at, size = draw.randrange(1, 250), draw.randrange(30), draw.randrange(1, 18)
    return draw.choice([
        f"{records[0]} = {records[1]};", f"{to} = {via};", f"{to}.d = {value};",
        f"{to}.a = {value};", f"{records[0]}.wide += {value};", f"{to} = {records[1]}.last;",
        f"memset(&{to}, {value}, sizeof({to}));", f"memset(s->bytes + {at}, {value}, {size});",
        f"memmove(s->bytes + {at}, s->bytes + {draw.randrange(30)}, {size});",
        f"memcpy(&{records[0]}.wide, s->bytes + {at}, 8);", f"s->bytes[{at}] = {value};",
        f"{to} = (struct inner){{.d = {value}, .b = 3}};",
        f"{records[0]} = (struct record){{.wide = {value}, .last = {{1, 2, 3, 4}}}};",
        f"{{ struct inner t = {to}; t.c ^= {value}; {to} = {via}; {via} = t; }}",
        f"{{ struct inner *volatile p = &{to}, *volatile q = &{via}; *p = *q; *q = {old}; }}",
        f"{{ struct record t = {records[0]}, *volatile p = &t; p->wide++; {records[1]} = *p; }}",
    ])  # fmt: skip


def program(seed: int) -> str:
    draw = random.Random(seed)
    text = HEAD
    for number in range(PROGRAMS):
        one, two = (
            " ".join(statement(draw) for _ in range(draw.randrange(1, 9))) for _ in range(2)
        )
        text += ACTORS.replace("_N", f"_{number}").replace("ONE", one).replace("TWO", two)
    calls = " ".join(f"run(&copies_{number});" for number in range(PROGRAMS))
    return f"{text}#ifdef NATIVE\n{NATIVE}int main(void) {{ {calls} return 0; }}\n#endif\n"


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_random_copies_leave_what_they_leave_on_the_machine(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"not run: install {compiler}")
    monkeypatch.setenv("CC", compiler)
    file, native = tmp_path / "copies.c", tmp_path / "native"
    file.write_text(program(SEED))
    folders = [f"-I{locations.sources() / folder}" for folder in ("kernel", "stress")]
    subprocess.run(
        [compiler, "-O0", "-DNATIVE", *folders, str(file), "-o", str(native)], check=True
    )
    ran = subprocess.run([str(native)], check=True, capture_output=True, text=True).stdout.split()
    found = explore([file], None, ExploreOptions(models=(Model.SC, Model.RC11)), twins=False)
    for scenario, value in zip(found.scenarios, ran, strict=True):
        for judged in scenario.judged:
            assert (judged.result.error, judged.result.texts) == ("", {"0", value})


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_bit_fields_have_their_value_or_are_refused(
    compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"not run: install {compiler}")
    monkeypatch.setenv("CC", compiler)
    file = Path(__file__).parents[1] / "scenarios" / "copies.c"
    [scenario] = explore([file], "^copies_bits$", ExploreOptions(), twins=False).scenarios
    for judged in scenario.judged:
        seen = judged.result.texts, judged.result.error
        assert seen == ({"0", "772"}, "") or "compiler does not report" in judged.result.error
