# SPDX-License-Identifier: Apache-2.0
"""tools/mutants: the defects of each rule, and their fate in a kernel of one file."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest
from tests.support.cases import IN_CHECKOUT
from tools.mutants import keeping
from tools.mutants.__main__ import Kernel, Run, shown
from tools.mutants.judging import Baseline, Bench, Judge
from tools.mutants.parse import blanked, functions
from tools.mutants.rules import RULES, Mutant, mutants
from tools.mutants.scoring import (
    EQUAL,
    EXPLAINED,
    KILLED,
    SURVIVED,
    YET_KILLED,
    Judging,
    Score,
    kept_orders,
)

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.process import Children

pytestmark = IN_CHECKOUT
KNOWN = frozenset({"wp_load_relaxed", "wp_cas_acquire", "wp_cas_release", "wake_one"})


def made(body: str, head: str = "int f(int a, int b)") -> set[tuple[str, str]]:
    """Return rule and changed line of each defect of a function, without spaces at its ends."""
    found = mutants("toy.c", f"{head}\n{{\n{body}\n}}\n", KNOWN)
    return {(mutant.rule, mutant.becomes) for mutant in found}


@pytest.mark.parametrize(
    ("rule", "line", "becomes"),
    [
        ("never", "if (a) b = 1;", {"if (((a) && 0)) b = 1;"}),
        ("never", "while (a) b = 1;", {"while (((a) && 0)) b = 1;"}),
        ("always", "if (a) b = 1;", {"if (((a) || 1)) b = 1;"}),
        ("half", "if (a && b) g();", {"if (((a) || 1) && b) g();", "if (a && ((b) || 1)) g();"}),
        ("half", "b = a || !b;", {"b = ((a) && 0) || !b;", "b = a || ((!b) && 0);"}),
        ("weaker", "a = wp_load_acquire(&w);", {"a = wp_load_relaxed(&w);"}),
        ("weaker", "wp_cas_acq_rel(&w, &a, b);",
         {"wp_cas_acquire(&w, &a, b);", "wp_cas_release(&w, &a, b);"}),
        ("weaker", "wp_fence_seq_cst();", {"((void)0);"}),
        ("swap", "g(a); h(b);", {"h(b); g(a);"}),
        ("drop", "g(a);", {";"}),
        ("drop", "a = b;", {";"}),
        ("drop", "(void)a;", set()),
        ("once", "while (a) { g(); }", {"while (a) { g(); break; }"}),
        ("once", "do g(); while (a);", {"do g(); while (((a) && 0));"}),
        ("once", "wake_all(a);", {"wake_one(a);"}),
        ("forever", "g(a, timer->deadline_ns);", {"g(a, WP_FOREVER);"}),
        ("forever", "a = deadline_ns;", set()),
        ("off_by_one", "a = a < b;", {"a = a <= b;"}),
        ("off_by_one", "a = b - 1;", {"a = b - 0;"}),
        ("off_by_one", "a = s->b;", set()),
        ("index", "a = s[0] + s[2] + s[b];",
         {"a = s[1] + s[2] + s[b];", "a = s[0] + s[1] + s[b];", "a = s[0] + s[2] + s[0];"}),
        ("index", "int s[4];", set()),
        ("opposite", "return WP_OK;", {"return WP_FORBIDDEN;"}),
        ("opposite", "return WP_CLOSED;", {"return WP_OK;"}),
        ("opposite", "return true;", {"return false;"}),
    ],
)  # fmt: skip
def test_each_rule_makes_its_defects_and_no_others(rule: str, line: str, becomes: set[str]) -> None:
    assert {after for by, after in made(f"\t{line}") if by == rule} == becomes


def test_a_bool_is_returned_as_its_opposite() -> None:
    assert ("opposite", "return !(a < b);") in made("\treturn a < b;", "bool f(int a, int b)")


def test_an_edit_moves_no_line_and_comments_and_directives_have_none() -> None:
    lines = ("int f(int a)", "{", "#if 1 < 2", "/* if (a) g(); */", "#endif",
             "if (a &&", "!a)", "g(a);", "return 1;", "}")  # fmt: skip
    text = "\n".join((*lines, ""))
    found = mutants("toy.c", text)
    assert {mutant.rule for mutant in found} == {"never", "always", "half", "drop"}
    assert {mutant.line for mutant in found} == {6, 7, 8}
    assert all(mutant.applied(text).count("\n") == text.count("\n") for mutant in found)
    assert len({mutant.name for mutant in found}) == len(found)


def test_the_whole_kernel_is_read() -> None:
    # A function that the parser does not know would silently have no defects.
    kernel = locations.sources() / "kernel"
    texts = {path.name: path.read_text() for path in kernel.rglob("*.[ch]")}
    found = {m.function for name, text in texts.items() for m in mutants(name, text)}
    assert {"wp__mutex_check", "wp_group_new", "wp__wait_queue_remove"} <= found
    assert "__attribute__" not in found
    assert {m.rule for name, text in texts.items() for m in mutants(name, text)} == {*RULES}
    read = sum(len(functions(text)) for text in texts.values())
    bodies = sum(len(re.findall(r"^\{\n", blanked(text), re.M)) for text in texts.values())
    assert read == bodies


TOY = """#include "toy.h"
int largest(const int *of, int count)
{
	int found = of[0];

	for (int at = 1; at < count; at++)
		if (of[at] > found)
			found = of[at];
	return found;
}
"""
JUDGE = """#include "toy.h"
int main(int argc, char **argv)
{
	int of[] = {1, 3, 2};
	static const struct one { const char *name; int it; } cases[] = {{"three", 0}};
	return argc != 2 || largest(of, 3) != 3;
}
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    for folder in ("kernel", "stress", "programs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "stress" / "explorer").mkdir()
    (tmp_path / "stress" / "explorer" / "left_out.txt").write_text("")
    (tmp_path / "kernel" / "toy.c").write_text(TOY)
    (tmp_path / "kernel" / "toy.h").write_text("int largest(const int *of, int count);\n")
    (tmp_path / "programs" / "toy.c").write_text(JUDGE)
    return tmp_path


def judged(root: Path, rule: str, line: int) -> list[Score]:
    run = Run(root, root / "kept", root / "explained.json", 1)
    chosen = [m for m in run.kernel.mutants if (m.rule, m.line) == (rule, line)]
    with Children() as children:
        return run.scores(chosen, run.judges(children, root / "programs", []), children, 0)


def explain(root: Path, mutant: Mutant, reason: str, **other: object) -> None:
    entry = {"file": mutant.file, "function": mutant.function, "rule": mutant.rule,
             "code": mutant.code, "becomes": mutant.becomes, "nth": mutant.nth,
             "why": reason, **other}  # fmt: skip
    (root / "explained.json").write_text(json.dumps([entry]))


def test_a_defect_is_killed_by_the_judge_that_comes_to_it(toy: Path) -> None:
    [score] = judged(toy, "drop", 8)
    assert (score.status, score.judge) == (KILLED, "toy:three")
    assert not any((toy / "kept" / "work").iterdir())
    [again] = judged(toy, "drop", 8)
    assert (again.status, again.seconds) == (KILLED, score.seconds)  # kept, not run again


def test_a_defect_that_no_judge_sees_is_reported(toy: Path) -> None:
    [score] = judged(toy, "index", 4)
    assert (score.status, score.asked) == (SURVIVED, 3)  # as it is, and with each sanitizer
    assert "+ int found = of[1];" in shown(score.mutant)


def test_a_survivor_may_have_a_reason_until_a_judge_sees_it(toy: Path) -> None:
    [score] = judged(toy, "index", 4)
    explain(toy, score.mutant, "the first is never the largest")
    [score] = judged(toy, "index", 4)
    assert (score.status, score.why) == (EXPLAINED, "the first is never the largest")
    judge = toy / "programs" / "toy.c"
    judge.write_text(judge.read_text().replace("1, 3, 2", "3, 1, 2"))
    [score] = judged(toy, "index", 4)
    assert (score.status, score.judge) == (YET_KILLED, "toy:three")


def test_equal_machine_code_is_no_defect(toy: Path) -> None:
    source = toy / "kernel" / "toy.c"
    source.write_text(TOY.replace("\treturn found;", "\tif (0)\n\t\tfound = 1;\n\treturn found;"))
    assert [score.status for score in judged(toy, "drop", 10)] == [EQUAL]


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"code": "found = of[never];"}, "stale"),
        ({"function": "smallest"}, "stale"),
        ({"rule": "magic"}, "no rule"),
        ({"why": "it is"}, "does not say why"),
    ],
)
def test_a_reason_for_what_is_not_there_is_refused(
    toy: Path, other: dict[str, object], says: str
) -> None:
    defect = next(m for m in mutants("toy.c", TOY) if m.rule == "drop")
    explain(toy, defect, "a reason of some words", **other)
    with pytest.raises(UsageError, match=says):
        keeping.explanations(toy / "explained.json", mutants("toy.c", TOY))


def test_each_reason_has_its_defect_in_the_kernel() -> None:
    root = locations.sources()
    explained = root / "tools" / "mutants" / "explained.json"
    reasons = Kernel(root / "kernel").reasons(explained)
    assert len(json.loads(explained.read_text())) <= len(reasons)


def test_an_order_that_its_site_keeps_is_explained() -> None:
    site = "/* [toy.1] acquire; pairs toy.2. kept: a reader needs it. */\n\t"
    site += "return wp_load_acquire(&w);"
    text = f"int f(void)\n{{\n\t{site}\n}}\n"
    [defect] = [m for m in mutants("toy.c", text) if m.rule == "weaker"]
    assert kept_orders("toy.c", text, [defect]) == {defect: "kept: a reader needs it."}
    assert not kept_orders("toy.c", text.replace("kept:", ""), [defect])
    fence = text.replace("return wp_load_acquire(&w);", "wp_fence_seq_cst();")
    [lost] = [m for m in mutants("toy.c", fence) if m.rule == "weaker"]
    assert not kept_orders("toy.c", fence, [lost])


@pytest.mark.rotates
@pytest.mark.slow
def test_python_tests_judge_a_library_that_has_the_defect(tmp_path: Path) -> None:
    # One of a file with which they read machines, and one that none of them reaches. For the first
    # one they ran again without it, and held.
    root, builds = locations.sources(), locations.cache() / "mutants"
    files = ("base/topology.c", "sched/trace.c")
    texts = {name: (root / "kernel" / name).read_text() for name in files}
    found = [
        next(m for m in mutants(name, texts[name]) if m.rule == "off_by_one" and code in m.code)
        for name, code in zip(files, ("last <= first", "events > WP_TRACE_MOST"), strict=True)
    ]
    lines = {name: frozenset(range(1, text.count("\n") + 1)) for name, text in texts.items()}
    tests = Judge("python:topology_input", root / "tests" / "base" / "test_topology_input.py")
    with Children() as children:
        bench = Bench(children, builds, root)
        pairs = [(tests, Baseline(True, "", 4.0, lines))]
        judging = Judging(bench, tmp_path, pairs, threading.Event())
        seen, unseen = (judging.score(m, texts[m.file], root / "kernel") for m in found)
    assert (seen.status, seen.judge) == (KILLED, tests.name)
    assert seen.said.startswith("exit 1: ")
    assert "1 failed" in seen.said
    assert (unseen.status, unseen.asked) == (SURVIVED, 1)
