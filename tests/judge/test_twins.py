"""Each defect in the sources is declared as a twin, and the product has none."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.io import test_descriptor as test_io
from tests.io import test_file
from tests.pool import test_pool, test_strategy
from tests.queue import test_local_queue as test_local
from tests.sched import test_local_queue_carrier as test_local_group
from tests.sched import test_poller
from tests.sched import test_timer as test_timers
from tests.sched.compensation import test_spare_carrier as test_replacement
from tests.sched.compensation import test_spare_thread as test_spare
from tests.sched.placement import test_group_placement as test_placed
from tests.sched.placement import test_placement
from tools import twins as lint

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import scenarios
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import manifest, models
from wakeproof.judge.twins import edits as twins
from wakeproof.judge.twins import listed as twins_listed

ROOT = locations.sources()


def texts(folder: str, pattern: str = "**/*.[chS]") -> str:
    return "\n".join(f.read_text() for f in sorted((ROOT / folder).glob(pattern)))


def used_in_code() -> set[str]:
    used = set(re.findall(r"\bwp_twin\((\w+)\)", texts("stress/scenarios")))
    return used | set(twins.of_code(ROOT))


def test_every_defect_in_the_sources_is_declared_as_a_twin_and_every_twin_is_in_the_sources() -> (
    None
):
    edits = twins.of_code(ROOT)
    declared = set(re.findall(r"\bSTRESS_TWIN\(\s*(\w+),", texts("stress/scenarios")))
    declared |= {name for name, twin in edits.items() if twin.scenario}
    # spare.c makes threads, and worker.c never ends: not explored.
    unexplored = {*test_spare.TWINS, *test_spare.TWINS_OF_ROLES, *test_poller.TWINS}
    unexplored |= {*test_file.TWINS, *test_io.TWINS, *test_strategy.TWINS, *test_placement.TWINS}
    unexplored |= {*test_placement.CLUSTERS, "group_placement_resumes_home"}
    unexplored |= {*test_local.TWINS, *test_placed.TWINS, *test_pool.TWINS, *test_replacement.TWINS}
    unexplored |= {*test_local_group.TWINS, *test_timers.TWINS}
    # Tests of programs name others, some only by the part after the concept's name.
    programs = texts("tests", "**/*.py")
    unexplored |= {
        name for name, twin in edits.items()
        if f"WP_TWIN_{name}\"" in programs or f"WP_TWIN_{name}=" in programs
        or f"WP_TWIN_{twin.table.stem}_{{" in programs
    }  # fmt: skip
    assert used_in_code() == declared | unexplored


def test_no_twin_stands_in_what_ships() -> None:
    shipped = [texts(folder) for folder in ("kernel", "examples", "python/wakeproof/_native")]
    assert not re.findall(r"(?i)\bwp_twin\w*", "\n".join(shipped))
    builds = [ROOT / "setup.py", ROOT / "Makefile", ROOT / "python/wakeproof/_native/build.py"]
    assert not [b.name for b in builds if "WP_TWIN_" in b.read_text()]


def test_a_twin_is_one_where_it_is_set_and_zero_elsewhere(tmp_path: Path) -> None:
    source = tmp_path / "t.c"
    source.write_text(
        '#include "twin.h"\n_Static_assert(wp_twin(a_b) == 1 && wp_twin(a_c) == 0, "twin");\n'
    )
    command = ["cc", "-std=c11", "-fsyntax-only", f"-I{ROOT / 'stress'}", "-DWP_TWIN_a_b=1"]
    subprocess.run([*command, str(source)], check=True)


CODE = "#include <stdio.h>\nint f(void)\n{\n\treturn 1;\n}\nint g(void)\n{\n\treturn __LINE__;\n}\n"


def toy(root: Path, find: str, replace: str) -> twins.Twin:
    (root / "kernel/a").mkdir(parents=True)
    (root / "kernel/a/x.c").write_text(CODE)
    return twins.Twin("bad", root / "x.toml", (twins.Edit("a/x.c", "f", find, replace),))


def test_every_edit_of_the_tables_applies() -> None:
    assert all(twins.edited(twin, ROOT) for twin in twins.of_code(ROOT).values())


@pytest.mark.parametrize("replace", ["return 2;", "int two = 2;\n\n\treturn two;"])
def test_what_follows_an_edit_keeps_its_line(tmp_path: Path, replace: str) -> None:
    [text] = twins.edited(toy(tmp_path, "return 1;", replace), tmp_path).values()
    (tmp_path / "t.c").write_text(text + "int main(void) { return f() == 2 ? g() : 0; }\n")
    subprocess.run(["cc", str(tmp_path / "t.c"), "-o", str(tmp_path / "t")], check=True)
    line = CODE.split("__LINE__")[0].count("\n") + 1
    assert subprocess.run([str(tmp_path / "t")], check=False).returncode == line


def test_a_line_that_an_edit_adds_has_no_number_of_the_product(tmp_path: Path) -> None:
    twin = toy(tmp_path, "return 1;", "int two = 2;\n\treturn two;")
    [text] = twins.edited(twin, tmp_path).values()
    numbers = dict(zip(text.split("\n"), twins.numbered(text), strict=True))
    assert (numbers["\tint two = 2;"], numbers["\treturn two;"]) == (
        twins.EDITED, twins.EDITED + 1
    )  # fmt: skip
    assert numbers["int g(void)"] == CODE.split("\n").index("int g(void)") + 1


def test_what_follows_an_edit_of_a_comment_s_first_line_keeps_its_line(tmp_path: Path) -> None:
    twin = toy(tmp_path, "/* why", "return 2;\n\t/* why")
    commented = CODE.replace("\treturn 1;", "\t/* why\n\t * so */\n\treturn 1;")
    (tmp_path / "kernel/a/x.c").write_text(commented)
    [text] = twins.edited(twin, tmp_path).values()
    (tmp_path / "t.c").write_text(text + "int main(void) { return f() == 2 ? g() : 0; }\n")
    subprocess.run(["cc", str(tmp_path / "t.c"), "-o", str(tmp_path / "t")], check=True)
    line = commented.split("__LINE__")[0].count("\n") + 1
    assert subprocess.run([str(tmp_path / "t")], check=False).returncode == line


@pytest.mark.parametrize(
    ("find", "times"), [("return 3;", "0 times"), ("return __LINE__;", "0 times"), ("t", "2 times")]
)
def test_an_edit_that_does_not_apply_once_is_an_error(
    tmp_path: Path, find: str, times: str
) -> None:
    with pytest.raises(UsageError, match=rf"twin x_bad: a/x\.c: .* is {times} in f, not once"):
        twins.edited(toy(tmp_path, find, ""), tmp_path)


def test_an_overlay_holds_the_changed_file_alone(tmp_path: Path) -> None:
    texts = twins.edited(toy(tmp_path, "return 1;", "return 2;"), tmp_path)
    folder = twins.overlay(texts, tmp_path, tmp_path / "o")
    assert [file for file in folder.rglob("*") if file.is_file()] == [folder / "a/x.c"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stress", "explored"])
def test_a_twin_of_a_table_is_a_program_of_its_own(kind: str) -> None:
    scenario = ROOT / "stress/scenarios/wakeup/parker.c"
    names = [None, "parker_wake_forgotten", "parker_close_silent", "parker_lost_permit_on_timeout"]
    with Children() as children:
        builder = Builder(children)
        builds = [Build(twin=name, kind=kind) for name in names]
        assert len({builder.identity(scenario, build) for build in builds}) == len(names)
        assert len({builder.program(scenario, build) for build in builds}) == len(names)


@pytest.mark.parametrize("code", [CODE.replace("return 1", "return 2"), CODE.replace("f(", "h(")])
def test_lint_names_a_twin_whose_edit_no_longer_applies(tmp_path: Path, code: str) -> None:
    toy(tmp_path, "return 1;", "return 2;")
    (tmp_path / "stress/twins/a").mkdir(parents=True)
    row = '{file = "a/x.c", in = "f", find = "return 1;", replace = ""}'
    table = tmp_path / "stress/twins/a/x.toml"
    table.write_text(f"[bad]\ncode = [{row}]\n")
    (tmp_path / "specs").mkdir()
    head = 'module = "MCX"\nextends = ["X"]\nabout = ""\n[defaults]\n'
    (tmp_path / "specs/x.models.toml").write_text(head)
    said = f"{table}: twin bad: lacks defect, a sentence that says what is wrong"
    assert lint.problems(tmp_path) == [said]
    table.write_text(table.read_text().replace("code", 'defect = "It is bad."\ncode'))
    assert not lint.problems(tmp_path)
    (tmp_path / "kernel/a/x.c").write_text(code)
    [problem] = lint.problems(tmp_path)
    assert "x.toml: twin x_bad: a/x.c: " in problem


ROW = {"file": "a/X.tla", "in": "Init", "find": "x = 0", "replace": "x = 1"}


def table(root: Path, text: str, name: str = "x") -> Path:
    file = root / f"stress/twins/a/{name}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def edit(**changes: str) -> str:
    return ", ".join(f"{key} = {value!r}" for key, value in {**ROW, **changes}.items())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[bad", "not TOML"),
        ("bad = 1", r"twin bad: a section is needed: \[bad\]"),
        (
            "[bad]\nedits = []",
            "twin bad: unknown key edits; allowed: defect, scenario, shows, seen_by",
        ),
        ('[bad]\nseen_by = ["luck"]', "twin bad: seen_by is .'luck'.; allowed: a list of check"),
        ("[bad]\nseen_by = [[1]]", "twin bad: seen_by is ..1..; allowed: a list of check"),
        ('[bad]\nscenario = "guard"', "twin bad: scenario and shows go together"),
        ('[bad]\nscenario = "guard"\nshows = "0"', "twin bad: a scenario shows an edit of code"),
        ("[bad]\nspec = [{file = 'a/X.tla'}]", "an edit has file, in, find, replace"),
        (f"[bad]\nspec = [{{{edit(more='')}}}]", "and nothing else"),
        (f"[bad]\nspec = [{{{edit(replace='x = 0')}}}]", "'x = 0' changes nothing"),
    ],
)
def test_a_malformed_table_is_an_error_that_names_its_file(
    tmp_path: Path, text: str, said: str
) -> None:
    file = table(tmp_path, text)
    with pytest.raises(UsageError, match=rf"{re.escape(str(file))}: .*{said}"):
        twins.read(tmp_path)


def test_two_twins_of_one_name_in_c_are_an_error_and_in_specs_are_not(tmp_path: Path) -> None:
    for name, defect in (("x", "y_bad"), ("x_y", "bad")):
        table(tmp_path, f"[{defect}]\nspec = [{{{edit()}}}]", name)
    assert len(twins.read(tmp_path)) == 2
    assert twins.of_code(tmp_path) == {}
    for name, defect in (("x", "y_bad"), ("x_y", "bad")):
        table(tmp_path, f"[{defect}]\ncode = [{{{edit()}}}]", name)
    with pytest.raises(UsageError, match=r"twin x_y_bad is in .*x.toml and in .*x_y.toml"):
        twins.of_code(tmp_path)


SPEC = """\
---- MODULE X ----
EXTENDS Naturals
CONSTANTS
  Last   \\* the last
VARIABLES
  x,     \\* it
  y      \\* the other
VARIABLE v
VARIABLE w
\\* Where it begins.
Init ==
  /\\ x = 0
  /\\ y = 0
(* Steps. *)
Go(a,
   F(_)) ==
  LET up == x = 0
  IN  up /\\ x' = F(a)
At[n \\in 0 .. 1] == IF n = 0 THEN x ELSE y
Same   == x = 0
Longer == Same /\\ x = 0
====
Init == x = 0
"""


def changed(root: Path, *edits: tuple[str, str, str]) -> str:
    (root / "specs/a").mkdir(parents=True, exist_ok=True)
    (root / "specs/a/X.tla").write_text(SPEC)
    rows = tuple(twins.Edit("a/X.tla", *edit) for edit in edits)
    twin = twins.Twin("bad", root / "x.toml", spec=rows)
    [text] = twins.edited_specs(twin, root / "specs").values()
    return text


@pytest.mark.parametrize(
    ("within", "find", "replace"),
    [
        ("CONSTANTS", "Last ", "Most "),
        ("VARIABLES", "  y  ", "  z, y  "),
        ("Init", "x = 0", "x = 1"),
        ("Init", "Init ==", "Zero == 0\nInit =="),
        ("Go", "up == x = 0", "up == TRUE"),
        ("Go", "Go(a,", "Stay == x' = x\nGo(a,"),
        ("At", "n = 0", "n = 1"),
        ("Same", "x = 0", "TRUE"),
        ("Longer", "Same /\\ x = 0", "Same"),
    ],
)
def test_an_edit_of_a_spec_changes_the_definition_that_it_names_and_no_other(
    tmp_path: Path, within: str, find: str, replace: str
) -> None:
    text = changed(tmp_path, (within, find, replace))
    before, _, after = SPEC.partition("\n(* Steps. *)")
    if within in ("Go", "At", "Same", "Longer"):
        head, own = SPEC.split(within, 1)
        assert text == head + (within + own).replace(find, replace, 1)
    else:
        assert text == before.replace(find, replace, 1) + "\n(* Steps. *)" + after


def test_several_edits_of_a_spec_are_of_the_text_as_it_stands(tmp_path: Path) -> None:
    text = changed(tmp_path, ("Same", "x = 0", "y = 0 \\/ x = 0"), ("Init", "x = 0", "x = 70"))
    assert "Same   == y = 0 \\/ x = 0\n" in text
    assert "  /\\ x = 70\n  /\\ y = 0\n" in text


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([("Init", "x = 2", "")], "'x = 2' is 0 times in Init, not once"),
        ([("Init", " = 0", "")], "' = 0' is 2 times in Init, not once"),
        ([("Init", "F(a)", "")], r"'F\(a\)' is 0 times in Init, not once"),
        ([("Init", "Steps", "")], "'Steps' is 0 times in Init, not once"),
        ([("Longer", "====", "")], "'====' is 0 times in Longer, not once"),
        ([("VARIABLE", "v", "")], "2 definitions of VARIABLE at the margin, not one"),
        ([("Steps", "x", "")], "0 definitions of Steps at the margin, not one"),
        ([("up", "x", "")], "0 definitions of up at the margin, not one"),
        ([("Same", "Same   ==", ""), ("Same", "== x", "")], "overlaps another edit in Same"),
    ],
)
def test_an_edit_of_a_spec_that_does_not_apply_once_is_an_error(
    tmp_path: Path, edits: list[tuple[str, str, str]], said: str
) -> None:
    with pytest.raises(UsageError, match=rf"x\.toml: twin x_bad: a/X\.tla: .*{said}"):
        changed(tmp_path, *edits)


LISTED = twins_listed.read(ROOT)


def test_each_twin_of_a_spec_and_of_code_is_listed_once() -> None:
    entries = manifest.load(models.own()).values()
    broken = sorted(entry.name for entry in entries if entry.expect == "violates")
    assert sorted(filter(None, (one.configuration for one in LISTED))) == broken
    conditional = set(re.findall(r"\bWP_TWIN_(\w+)", texts("kernel", pattern="**/*.[chS]")))
    of_code = sorted(used_in_code() | conditional)
    assert sorted(filter(None, (one.code for one in LISTED))) == of_code
    assert len({one.name for one in LISTED}) == len(LISTED)


def test_who_must_see_a_listed_twin_is_as_its_scenario_declares() -> None:
    with Children() as children:
        file = ROOT / "stress/scenarios/wakeup/guard.c"
        _, declared = scenarios.declared(file, Builder(children), children, Build())
    own = {one.code: one for one in LISTED if one.code}
    assert len(declared) > 5
    assert len({twin.chance for twin in declared}) > 1
    for twin in declared:
        one = own[twin.name]
        of_scenario = set(one.seen_by) - {"conform", "traces", "linear"}
        assert (of_scenario, set(one.chance)) == (twin.seen_by, twin.chance)
        assert (one.scenario, bool(one.about)) == (twin.of, True)


def test_every_listed_twin_must_be_seen_by_somebody() -> None:
    assert [one.name for one in LISTED if not one.seen_by] == []
    assert [one.name for one in LISTED if one.configuration and "check" not in one.seen_by] == []
    by_tests = [one for one in LISTED if twins_listed.TESTS in one.seen_by]
    assert all(one.code and not one.scenario for one in by_tests)


@pytest.mark.parametrize("name", ["guard.no_fence", "guard_no_fence", "MCGuard_no_fence"])
def test_a_twin_is_found_by_its_name_of_either_tree(name: str) -> None:
    one = twins_listed.find(ROOT, name)
    assert (one.concept, one.defect, one.violates) == ("guard", "no_fence", "Guard!NoLostWakeup")
    assert "conform" not in one.seen_by
    assert "conform" in twins_listed.find(ROOT, "guard.retract_forgets_work").seen_by


def test_the_difference_of_a_twin_is_its_edits_in_both_trees() -> None:
    one = twins_listed.find(ROOT, "parker.close_silent")
    lines = twins_listed.difference(one, ROOT).splitlines()
    assert [line for line in lines if line.startswith(("+", "-"))] == [
        "--- a/kernel/wakeup/parker.c",
        "+++ b/kernel/wakeup/parker.c",
        "-\t\twp_futex_wake(&parker->word, 1);",
        "+\t\t(void)0;",
        "--- a/specs/wakeup/Parker.tla",
        "+++ b/specs/wakeup/Parker.tla",
        '-  /\\ Step("closer", IF PARKED \\in word THEN "wake" ELSE "done")',
        '+  /\\ Step("closer", "done")',
    ]
    assert twins_listed.branches(one, ROOT) == []


def test_a_declaration_that_names_no_judge_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    shutil.copytree(ROOT / "stress/twins", tmp_path / "stress/twins")
    file = tmp_path / "stress/scenarios/x.c"
    file.parent.mkdir()
    file.write_text('STRESS_TWIN(x_y, .of = "x", .seen_by = SEEN_CHECK | SEEN_LUCK);\n')
    with pytest.raises(UsageError, match=r"x\.c: twin x_y: luck is no judge"):
        twins_listed.read(tmp_path)


@pytest.mark.rotates
@pytest.mark.slow
def test_the_command_lists_twins_and_shows_one() -> None:
    def run(*words: str) -> str:
        command = [sys.executable, "-m", "wakeproof", "twins", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    listed = run("-t", r"^parker\.")
    assert re.search(
        r"^parker +close_silent +code, spec +check, sc, tso, rc11, stress", listed, re.M
    )
    assert "guard" not in listed
    shown = run("show", "parker.close_silent")
    assert shown.startswith("parker.close_silent: Close sets the bit and wakes no thread.\n")
    assert "spec: MCParker_close_silent violates Parker!CloseNotLost\n" in shown
    assert "must be seen by: check, sc, tso, rc11, stress, delayed\n" in shown
    assert "\n+++ b/specs/wakeup/Parker.tla\n" in shown
    assert "in its row:\n  Unparkers = {u1}\n" in run("show", "parker.unpark_lies")
    found = json.loads(run("show", "parker.close_silent", "--json"))
    assert (found["violates"], found["code"]) == ("Parker!CloseNotLost", "parker_close_silent")
    assert found["diff"] in shown
    whole = json.loads(run("--json"))["twins"]
    assert [one["name"] for one in whole] == [one.name for one in LISTED]
