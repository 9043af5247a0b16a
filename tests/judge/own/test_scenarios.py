# SPDX-License-Identifier: Apache-2.0
"""Scenarios with atomic operations, memory or static data of their own are explored as programs."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.explore.run import explore as explore_scenarios
from wakeproof.judge.own import run, scenarios
from wakeproof.judge.own.build import Builder
from wakeproof.judge.own.program import Program
from wakeproof.judge.own.runtime import Runtime
from wakeproof.judge.process import Children

TEST = """
STRESS_TEST(mine, .claim = "The two add up.", .upholds = "Mine!Sum",
    .state_size = sizeof(struct state), .actors = {one, other}, .results = 1,
    .outcomes = {{"%s", ACCEPTABLE, "both"}, {"*", FORBIDDEN, "something else"}});
"""
BUILTIN = """#include "stress.h"
struct state { unsigned n; };
static void one(void *at, stress_result *r) {
    r->r[0] = __atomic_fetch_add(&((struct state *)at)->n, 1, __ATOMIC_SEQ_CST);
}
#define other one
"""
C11 = """#include <stdatomic.h>
#include "stress.h"
struct state { atomic_int n; };
static void one(void *at, stress_result *r) { r->r[0] = ((struct state *)at)->n++; }
#define other one
"""
MALLOC = """#include <stdlib.h>
#include "litmus.h"
#include "stress.h"
struct state { wp_atomic(int *) p; };
static void one(void *at, stress_result *r) {
    int *mine = malloc(sizeof(*mine));
    *mine = 7;
    litmus_store(&((struct state *)at)->p, mine, ORDER);
}
static void other(void *at, stress_result *r) {
    int *theirs = litmus_load(&((struct state *)at)->p, acquire);
    r->r[0] = theirs ? *theirs : 7;
}
"""
STATIC = """#include "litmus.h"
#include "stress.h"
struct state { wp_atomic(int) n; };
static int count;
static void one(void *at, stress_result *r) {
    litmus_fetch_add(&((struct state *)at)->n, 1, seq_cst);
    r->r[0] = ++count;
}
#define other one
"""
STATIC_ATOMIC = """#include "litmus.h"
#include "stress.h"
struct state { int unused; };
static wp_atomic(int) n;
static void one(void *at, stress_result *r) { r->r[0] = litmus_fetch_add(&n, 1, seq_cst); }
#define other one
"""
IMPL_H = """#pragma once
#include "base/order.h"
struct state { wp_atomic(int) n; };
int take(struct state *);
"""
IMPL = '#include "litmus.h"\n#include "impl.h"\nint take(struct state *s) { return %s; }\n'
USES = """#include "impl.h"
%s
#include "stress.h"
static void one(void *at, stress_result *r) { r->r[0] = take(at); }
#define other one
"""
ADDS, LOSES = "litmus_fetch_add(&s->n, 1, relaxed)", (
    "({ int n = litmus_load(&s->n, relaxed); litmus_store(&s->n, n + 1, relaxed); n; })"
)  # fmt: skip


Command = Callable[..., "subprocess.CompletedProcess[str]"]
Statuses = Callable[..., dict[str, str]]


@pytest.fixture
def statuses(wakeproof: Command) -> Statuses:
    def of(files: dict[str, str], *options: str) -> dict[str, str]:
        return _statuses(wakeproof, files, *options)

    return of


def _statuses(wakeproof: Command, files: dict[str, str], *options: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, "utf-8")
        given = [str(Path(folder) / name) for name in files if name.endswith(".c")]
        words = [option.replace("HERE", folder) for option in options]
        said = wakeproof("explore", *given, "--json", "--save", f"{folder}/saved", *words).stdout
    report = json.loads(said)
    return {one["name"]: one["status"] for one in [*report["scenarios"], *report["twins"]]}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "holds"), [
    (BUILTIN + TEST % "1", True),
    (BUILTIN + TEST % "0", False),
    (C11 + TEST % "1", True),
    (MALLOC.replace("ORDER", "release") + TEST % "7", True),
    (MALLOC.replace("ORDER", "relaxed") + TEST % "7", False),
    (STATIC + TEST % "3", False),  # a race
    (STATIC_ATOMIC + TEST % "1", True),
])  # fmt: skip
def test_a_scenario_is_judged_as_it_is(statuses: Statuses, text: str, holds: bool) -> None:
    assert (statuses({"mine.c": text})["mine"] == "held") is holds


@pytest.mark.slow
@pytest.mark.parametrize("is_included", [False, True])
@pytest.mark.parametrize(("does", "holds"), [(ADDS, True), (LOSES, False)])
def test_a_scenario_has_other_files_and_flags(
    statuses: Statuses, is_included: bool, does: str, holds: bool
) -> None:
    files = {"impl.h": IMPL_H, "mine.c": USES % "" + TEST % "1", "impl.c": IMPL % does}
    if is_included:
        files |= {"mine.c": USES % '#include "impl.inc"' + TEST % "1", "impl.inc": files["impl.c"]}
        del files["impl.c"]
    assert (statuses(files, "-I", "HERE")["mine"] == "held") is holds


def test_a_twin_of_such_a_scenario_is_judged(statuses: Statuses) -> None:
    text = (
        """#include <stdatomic.h>
#include "stress.h"
struct state { atomic_int n; };
static void one(void *at, stress_result *r) {
    struct state *s = at;
    r->r[0] = wp_twin(mine_loses) ? (s->n = s->n + 1) - 1 : s->n++;
}
#define other one
"""
        + TEST % "1"
        + """
STRESS_TWIN(mine_loses, .of = "mine", .defect = "It loads and stores.", .shows = "0",
    .seen_by = SEEN_EXPLORED, .chance = SEEN_CORES);
STRESS_TWIN(mine_harmless, .of = "mine", .defect = "It changes nothing.", .shows = "0",
    .seen_by = SEEN_EXPLORED, .chance = SEEN_CORES);
"""
    )
    assert statuses({"mine.c": text}) == {
        "mine": "held",
        "mine_loses": "held",
        "mine_harmless": "violated",
    }


def test_a_choice_is_tried_both_ways(statuses: Statuses) -> None:
    text = """#include <stdatomic.h>
#include "litmus.h"
#include "stress.h"
struct state { atomic_int n; };
static void one(void *at, stress_result *r) { r->r[0] = (int)litmus_choose(2); }
#define other one
"""
    assert statuses({"mine.c": text + TEST % "1"})["mine"] == "violated"
    declared = text + TEST % '0", ACCEPTABLE, "none"}, {"2", ACCEPTABLE, "two"}, {"1'
    assert statuses({"mine.c": declared})["mine"] == "held"


def test_failing_fences_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.c"
    file.write_text(C11 + (TEST % "1").replace(".results", ".failing_heavy = 1, .results"), "utf-8")
    with pytest.raises(UsageError, match=r"mine: \.failing_heavy is 1"):
        run.report([Program((file,))])


COMPARED = {
    "tests/judge/scenarios/litmus.c": 0,
    "stress/scenarios/wakeup/guard.c": 1,
    "stress/scenarios/wakeup/parker.c": 0,
    "stress/scenarios/queue/mpsc.c": 0,
    "stress/scenarios/thread/task.c": 0,
}
"""Files whose scenarios can be explored both ways, and how many of them let fences fail."""


def _as_programs(file: Path, options: ExploreOptions) -> dict[tuple[str, Model], Result]:
    results = {}
    with Children() as children, tempfile.TemporaryDirectory() as folder:
        builder = Builder(children, Runtime(children), Path(folder))
        program = Program((file,))
        for one in scenarios.declared_in(program.files, program.flags, children)[0]:
            if not one.failing_heavy:
                task = scenarios.program(one, None, program)
                for result in run.explore(children, builder.program(task), task, options):
                    results[one.name, result.model] = result
    return results


@pytest.mark.rotates
@pytest.mark.parametrize("name", COMPARED)
def test_a_scenario_of_ours_has_the_same_outcomes_as_a_program(name: str) -> None:
    """The kernel's operations as the explorer has them, and as the compiler has them."""
    file = locations.sources() / name
    options = ExploreOptions(engine="graphs")
    expected = {
        (report.name, judged.result.model): judged.result
        for report in explore_scenarios([file], None, options, twins=False).scenarios
        for judged in report.judged
    }
    found = _as_programs(file, options)
    assert len(found) == len(expected) - COMPARED[name] * len(options.models) > 0
    for key, result in found.items():
        assert result.texts == expected[key].texts, key
        assert result.exhaustive
