"""The code of actors: what the explorer sees, and what it refuses, each with its reason."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from wakeproof import locations
from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge.explore.explored import check, hook_copies
from wakeproof.judge.explore.options import MODELS, ExploreOptions, Model
from wakeproof.judge.explore.run import ExploreReport, explore
from wakeproof.judge.explore.trace import operation
from wakeproof.judge.process import Children
from wakeproof.judge.stress.grading import HELD, VIOLATED

SCENARIOS = Path(__file__).parents[1] / "scenarios"
CLANG = next((name for name in ("clang", "clang-19") if shutil.which(name)), None)


def explored(file: str, name: str, *models: Model, engine: str = "auto") -> ExploreReport:
    options = ExploreOptions(models=models, engine=engine)
    return explore([SCENARIOS / file], f"^{name}$", options, twins=False)


OWN = """#include <stdatomic.h>
#include <pthread.h>
#include <string.h>
#include "litmus.h"
#include "stress.h"
struct state { wp_atomic(uint32_t) x, y; wp_atomic(float) real; pthread_mutex_t lock;
               wp_atomic(__int128) wide; };
static void one(void *at, stress_result *result)
{
    struct state *state = at;
    (void)state; (void)result;
    ONE
}
static void two(void *at, stress_result *result)
{
    struct state *state = at;
    wp_store_relaxed(&state->y, 1);
    wp_fence_seq_cst();
    result->r[1] = wp_load_relaxed(&state->x);
}
STRESS_TEST(own, .claim = "None.", .upholds = "None!None", .state_size = sizeof(struct state),
    .actors = {one, two}, .results = 2, .outcomes = {{"*", ACCEPTABLE, "never judged"}});
"""


def own(file: Path, code: str, *orders: tuple[str, int, str]) -> ExploreReport:
    """Explore a user's file in which the first actor runs `code`."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(OWN.replace("ONE", code))
    return explore([file], None, ExploreOptions(models=(Model.TSO,), orders=orders))


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("refused_static", "reads memory outside its state, at 0x"),
        ("refused_loop", "loops without a shared operation"),
        ("refused_overflow", "overflows its stack"),
        ("refused_mixed", "accesses of mixed size are not explored"),
        ("refused_time", "differently after its start: to STORE &state->word at unexplorable.c:"),
        ("refused_time_late", "differently after its start: to plain store at unexplorable.c:"),
        ("refused_choice", "litmus_choose(65): from 1 to 64 are explored"),
        ("refused_no_choice", "litmus_choose(0): from 1 to 64 are explored"),
        ("refused_beyond", "touches 8 bytes at state+24: its state has 16 bytes"),
        ("refused_beyond_atomic", "touches 8 bytes at state+16: its state has 16 bytes"),
        ("refused_beyond_set", "touches 3 bytes at state+16: its state has 16 bytes"),
        ("refused_beyond_unseen", "writes beyond its state, which has 16 bytes"),
        ("refused_unseen", "writes its state in a way that the compiler does not report"),
        ("refused_init_beyond", "init of refused_init_beyond writes at state+40"),
        ("refused_init_loop", "init of refused_init_loop runs for seconds"),
        ("refused_arbiter_loop", "arbiter of refused_arbiter_loop runs for seconds"),
        ("refused_arbiter_stray", "arbiter of refused_arbiter_stray touches memory that is not"),
        ("refused_many", "come to more than 1024 different operations"),
    ],
)
def test_code_that_cannot_be_explored_is_refused_with_the_reason(name: str, message: str) -> None:
    [scenario] = explored("unexplorable.c", name, Model.SC).scenarios
    assert scenario.status == VIOLATED
    assert any(message in said for said in scenario.messages), scenario.messages


PLAIN = {
    "plain_same": {"0", "7"},
    "plain_add": {"0", "14"},
    "plain_tail": {"18"},  # 9 bytes, up to the last one of the state, read by both
    "plain_of_atomic": {"0", "7"},  # written by an atomic, read plainly, ordered by the flag
    "plain_race": {"race"},
    "plain_overlap": {"0", "1792"},  # a byte of the word that is read
    "plain_copy": {"0", "7"},
    "plain_memset": {"0", "460551"},  # 0x070707
    "plain_memset_reported": {"0", "460551"},
}
COPIES = {
    "copies_struct": {"0", "4321"},
    "copies_call": {"0", "4321"},
    "copies_to_local": {"0", "4321"},
    "copies_onwards": {"0", "4331"},
    "copies_pair": {"0", "43"},
    "copies_set": {"0", "1100"},
    "copies_zeros": {"0", "2000"},
    "copies_overlap": {"0", "65"},
    "copies_many": {"0", "5"},
    "copies_itself": {"0", "7"},
    "copies_itself_again": {"0", "77"},
    "copies_patterns": {"0", "1717975096"},  # 0x66663838
    "copies_bytes": {"0", "700"},
    "copies_into_atomic": {"0", "7"},
    "copies_of_atomics": {"0", "43"},
    "copies_race_store": {"race"},
    "copies_race_load": {"race"},
    "copies_race_set": {"race"},
    "copies_huge": "1600 bytes of its state at once: up to 1024",
    "copies_part": "of mixed size",
}


@pytest.mark.rotates
@pytest.mark.parametrize("compiler", ["gcc", CLANG])
@pytest.mark.parametrize("name", [*PLAIN, *COPIES])
def test_plain_memory_is_seen_as_it_is_or_refused(
    name: str, compiler: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiler is None or not shutil.which(compiler):
        pytest.skip("not run: install gcc and clang")
    monkeypatch.setenv("CC", compiler)
    expected = {**PLAIN, **COPIES}[name]
    file = "plain.c" if name in PLAIN else "copies.c"
    [scenario] = explored(file, name, *MODELS, engine="both").scenarios
    for judged in scenario.judged:
        if isinstance(expected, str):
            assert expected in judged.result.error
        elif judged.model is Model.RC11 or "race" not in expected:
            assert (set(judged.result.texts), judged.result.error) == (expected, "")


def test_an_atomic_of_any_type_keeps_its_value() -> None:
    [scenario] = explored("types.c", "types_keep", *MODELS, engine="both").scenarios
    assert (scenario.status, scenario.messages) == (HELD, ())
    late = "1,0,25,125,1,-7,1,79"
    assert all(late in judged.result.texts for judged in scenario.judged)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("atomic_store(&state->x, 1);", "uses C11 atomics of its own (__tsan_atomic32_store)"),
        ("pthread_mutex_lock(&state->lock);", "calls pthread_mutex_lock, which the explorer does"),
        (
            "wp_fetch_add_relaxed(&state->real, 1);",
            "integers, nothing else: &state->real",
        ),
        (
            "result->r[0] = !strcmp((char *)&state->x, (char *)&state->y);",
            "calls strcmp, which the explorer does not model",
        ),
        (
            "litmus_load(&state->wide, relaxed);",
            "atomics of 1, 2, 4 or 8 bytes, unpadded: &state->wide",
        ),
    ],
)
def test_code_past_the_seam_is_refused_by_name(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        own(tmp_path / "race.c", code)
    assert str(tmp_path / "race.c") in str(caught.value)
    assert message in str(caught.value)
    assert ("does not compile" in str(caught.value)) == ("\n" in str(caught.value))


def test_a_file_with_the_name_of_a_kernel_file_is_another_file(tmp_path: Path) -> None:
    code = "wp_store_relaxed(&state->x, 1); wp_fence_seq_cst();"
    code += " result->r[0] = wp_load_relaxed(&state->y);"
    line = OWN[: OWN.index("ONE")].count("\n") + 1
    file = tmp_path / "own" / "guard.c"
    with pytest.raises(
        UsageError, match=r"guard\.c:\d+=relaxed: no access at this place was explored"
    ):
        own(file, code, ("guard.c", line, "relaxed"))
    [scenario] = own(file, code, ("own/guard.c", line, "relaxed")).scenarios
    [judged] = scenario.judged
    assert "0,0" in judged.result.texts
    steps = [event for found in judged.result.outcomes for event in found.example]
    assert {event.site.file for event in steps if event.site} == {"own/guard.c"}


@pytest.mark.parametrize(("spurious", "texts"), [(0, {"0,1"}), (1, {"0,1", "1,1", "1,0"})])
def test_a_signal_ends_a_wait_where_spurious_wakeups_do(spurious: int, texts: set[str]) -> None:
    options = ExploreOptions(engine="both", spurious=spurious)
    [scenario] = explore([SCENARIOS / "interrupted.c"], "^interrupted$", options).scenarios
    assert (scenario.status, scenario.messages) == (HELD, ())
    assert all(set(judged.result.texts) == texts for judged in scenario.judged)


@pytest.mark.parametrize("linux", [False, True])
def test_a_wait_is_a_fence_however_it_ends(linux: bool) -> None:
    options = ExploreOptions(engine="both", spurious=1, linux_futex=linux)
    [scenario] = explore([SCENARIOS / "interrupted.c"], "interrupted_fence", options).scenarios
    assert scenario.status == HELD
    for judged in scenario.judged:
        late = {text for text in judged.result.texts if text.startswith("0,0")}
        weak = judged.model is Model.RC11 and not linux  # there the fence orders nothing
        assert (judged.model, late) == (judged.model, {"0,0,0", "0,0,1"} if weak else set())


@pytest.mark.slow
@pytest.mark.parametrize("failing", [0, 1])
def test_a_heavy_fence_fails_where_that_is_asked_for(failing: int) -> None:
    options = ExploreOptions(engine="both", failing_heavy=failing)
    guard = [locations.sources() / "stress" / "scenarios" / "wakeup" / "guard.c"]
    [scenario] = explore(guard, "^guard_asymmetric$", options, twins=False).scenarios
    for judged in scenario.judged:  # it ignores that its fence failed
        lost = failing == 1 and judged.model is not Model.SC
        assert ("0,0" in judged.result.texts, judged.result.exhaustive) == (lost, True)


def test_a_poller_that_does_not_read_that_its_heavy_fence_failed_is_caught() -> None:
    guard = [locations.sources() / "stress" / "scenarios" / "wakeup" / "guard.c"]
    found = explore(guard, "^(guard_failing|guard_failure_unread)$", ExploreOptions(engine="both"))
    assert [scenario.status for scenario in found.scenarios] == [HELD]
    [twin] = found.twins
    assert (twin.status, twin.messages) == (HELD, ())
    for judged in twin.judged:
        for lost in [found for found in judged.result.outcomes if found.text == "asleep"]:
            assert [operation(event) for event in lost.example if event.kind == "choose"] == [
                "heavy fence fails"
            ]


def test_an_order_for_a_place_where_nothing_stands_is_refused() -> None:
    options = ExploreOptions(models=(Model.SC,), orders=(("many.c", 1, "relaxed"),))
    with pytest.raises(UsageError, match=r"many\.c:1=relaxed: no access at this place"):
        explore([SCENARIOS / "many.c"], "many_three", options)


def test_a_missing_nm_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(MissingToolError, match="no nm: install binutils"):
        check(tmp_path / "race.c", "race.o", Children())
    with pytest.raises(MissingToolError, match="no objcopy: install binutils"):
        hook_copies(tmp_path / "race.o", Children())
