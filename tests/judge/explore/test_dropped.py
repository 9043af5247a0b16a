# SPDX-License-Identifier: Apache-2.0
"""Nothing that a scenario declares is dropped silently: actors, outcomes, warnings."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import ExploreOptions
from wakeproof.judge.explore.run import explore
from wakeproof.judge.stress.options import StressOptions
from wakeproof.judge.stress.run import stress

QUICK = StressOptions(mode="sanity", opt=("O2",), delayed=False)
ACTORS, OUTCOMES = 16, 64  # stress.h

CODE = """#include "litmus.h"
#include "stress.h"
struct state {{ wp_atomic(uint32_t) n; }};
static void adds(void *at, stress_result *result)
{{
    (void)result;
    litmus_fetch_add(&((struct state *)at)->n, 1, seq_cst);
}}
static void last(void *at, stress_result *result)
{{
    (void)at;
    result->r[0] = 1;
}}
STRESS_TEST(crowd, .claim = "The last actor runs.", .upholds = "None!None",
    .state_size = sizeof(struct state), .actors = {{{actors}}}, .results = 1,
    .outcomes = {{{outcomes}}});
"""
RUNS = '{"1", ACCEPTABLE, "it ran"}, {"0", FORBIDDEN, "it was left out"}'


@pytest.fixture(autouse=True)
def warnings_are_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own flags, which CI does not have: CFLAGS, and -Werror, which CI implies."""
    for name in ("CFLAGS", "WAKEPROOF_CI"):
        monkeypatch.delenv(name, raising=False)


def crowd(folder: Path, actors: str, outcomes: str = RUNS) -> Path:
    file = folder / "crowd.c"
    file.write_text(CODE.format(actors=actors, outcomes=outcomes))
    return file


def many(count: int) -> str:
    return ", ".join(["adds"] * (count - 1) + ["last"])


@pytest.mark.slow
@pytest.mark.parametrize("actors", [7, ACTORS])
def test_the_last_of_many_actors_runs(tmp_path: Path, actors: int) -> None:
    wanted = f'{{"{actors - 6}", ACCEPTABLE, "all ran"}}, {{"*", FORBIDDEN, "one was left out"}}'
    file = crowd(tmp_path, many(actors).replace("adds", "last", actors - 7), wanted)
    found = explore([file], options=ExploreOptions())
    assert [judged.result.texts for judged in found.scenarios[0].judged] == [{f"{actors - 6}"}] * 3
    assert [judged.result.executions for judged in found.scenarios[0].judged] == [1, 1, 720]
    assert stress([file], options=QUICK).scenarios[0].rows[0].outcome == f"{actors - 6}"


GRADES = ", ".join(f'{{"{n}", ACCEPTABLE, "n"}}' for n in range(OUTCOMES + 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("actors", "outcomes", "message"),
    [
        (many(ACTORS + 1), RUNS, "more than 16 actors: crowd"),
        (many(ACTORS + 3), RUNS, "more than 16 actors: crowd"),
        ("adds, NULL, last", RUNS, "an actor stands behind a NULL, .*: crowd"),
        ("adds, last", GRADES, "more than 64 outcomes: crowd"),
        ("adds, last", f"{RUNS}, {{NULL}}, {RUNS}", "an outcome stands behind .*: crowd"),
        ("adds, last", f'{RUNS}, {{"1", FORBIDDEN, "twice"}}', "crowd: outcome '1' never grades"),
    ],
    ids=["one too many", "three too many", "behind NULL", "outcomes", "outcome behind", "twice"],
)
def test_what_would_be_left_out_is_refused_by_name(
    tmp_path: Path, actors: str, outcomes: str, message: str
) -> None:
    file = crowd(tmp_path, actors, outcomes)
    with pytest.raises(UsageError, match=message):
        explore([file])
    with pytest.raises(UsageError, match=message):
        stress([file], options=QUICK)


@pytest.mark.slow
def test_warnings_are_shown_again_when_nothing_is_compiled(tmp_path: Path) -> None:
    file = crowd(tmp_path, "adds, last")
    file.write_text(file.read_text() + "static int nobody_needs_this;\n")
    for _ in range(2):
        (said,) = explore([file]).warnings
        assert "nobody_needs_this" in said
        assert str(file) in said
    assert len(stress([file], options=QUICK).warnings) == 1


@pytest.mark.slow
def test_a_file_without_warnings_says_nothing(tmp_path: Path) -> None:
    assert explore([crowd(tmp_path, "adds, last")]).warnings == ()
