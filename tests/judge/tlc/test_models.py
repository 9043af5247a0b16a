# SPDX-License-Identifier: Apache-2.0
"""Tables of TLC's configurations: the files that are made of them, and errors with their names."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.running import run

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.check.run import check, inputs_of
from wakeproof.judge.tlc import manifest, models

TOY = """\
-------------------------------- MODULE Toy --------------------------------
EXTENDS Naturals
CONSTANT Last
VARIABLE n
Init == n = 0
Next == n < Last /\\ n' = n + 1
Spec == Init /\\ [][Next \\/ (n = Last /\\ UNCHANGED n)]_n
Small == n <= Last
=============================================================================
"""
TABLE = """\
module = "MCToy"
extends = ["Toy", "TLC"]
about = "Bounds for Toy."
definitions = '''
Four == 4
'''

[defaults]
specification = "Spec"
invariants = ["Small"]

[defaults.constants]
Last = 3

[MCToy]
about = "To three."  # a remark that stays
measured = { states = 4, depth = 4, seconds = 0.5 }

[MCToyFull]
about = "To four."
set = "full"
constants = { Last = "<- Four" }

[twins]
jump = { like = "MCToyFull", breaks = "Small", trace = 3, seconds = 0.5 }
"""


EDIT = """\
[jump]
defect = "It jumps."
spec = [
  { file = "deep/Toy.tla", in = "Next", find = "n + 1", replace = "IF n = 1 THEN 9 ELSE n + 1" },
]
"""


def toy(root: Path, *edits: tuple[str, str], twin: str = EDIT) -> Path:
    """Write a module, its table with pieces replaced, and its twin. Return the specs' folder."""
    text = TABLE
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    own, twins = root / "specs" / "deep", root / "stress" / "twins" / "deep"
    for folder in (own, twins):
        folder.mkdir(parents=True, exist_ok=True)
    (own / "Toy.tla").write_text(TOY)
    (own / "toy.models.toml").write_text(text)
    (twins / "toy.toml").write_text(twin)
    return root / "specs"


def test_a_configuration_inherits_and_a_twin_is_what_follows_the_underscore(tmp_path: Path) -> None:
    made = models.folder(toy(tmp_path))
    assert sorted(file.name for file in made.iterdir()) == [
        "MCToy.cfg", "MCToy.tla", "MCToyFull.cfg", "MCToy_jump", "Toy.tla", "manifest.json",
    ]  # fmt: skip
    assert (made / "MCToyFull.cfg").read_text() == (
        "\\* To four.\nSPECIFICATION Spec\nCONSTANTS\n  Last <- Four\nINVARIANTS\n  Small\n"
    )
    assert "  Last = 3\n" in (made / "MCToy.cfg").read_text()
    assert "EXTENDS Toy, TLC\n\nFour == 4\n===" in (made / "MCToy.tla").read_text()
    entries = manifest.load(made)
    assert entries["MCToy.cfg"] == manifest.Entry(
        "MCToy.cfg", "MCToy", claims=("Toy!Small",), states=4, depth=4, seconds=0.5
    )
    twin = entries["MCToy_jump.cfg"]
    assert (twin.expect, twin.claim, twin.defect, twin.trace) == (
        "violates", "Toy!Small", "It jumps.", 3,
    )  # fmt: skip
    assert (entries["MCToyFull.cfg"].set, twin.set) == ("full", "short")


def test_a_twin_with_an_edit_has_its_modules_and_settings_in_a_folder_of_its_own(
    tmp_path: Path,
) -> None:
    made = models.folder(toy(tmp_path))
    own = made / "MCToy_jump"
    assert sorted(file.name for file in own.iterdir()) == ["MCToy.tla", "MCToy_jump.cfg", "Toy.tla"]
    assert "IF n = 1 THEN 9" in (own / "Toy.tla").read_text()
    assert "IF n = 1 THEN 9" not in (made / "Toy.tla").read_text()
    cfg = (made / "MCToyFull.cfg").read_text().replace("To four.", "It jumps.")
    assert (own / "MCToy_jump.cfg").read_text() == cfg
    entries = manifest.load(made)
    assert (entries["MCToy_jump.cfg"].folder, entries["MCToy.cfg"].folder) == ("MCToy_jump", "")
    assert models.home(made, "Toy", "jump") == own
    assert models.home(made, "Toy", "") == made
    other = models.folder(toy(tmp_path, twin=EDIT.replace("It jumps.", "It leaps.")))
    assert (other / "MCToy_jump/MCToy_jump.cfg").read_text().startswith("\\* It leaps.\n")
    table = tmp_path / "stress/twins/deep/toy.toml"
    table.write_text(table.read_text().replace("9", "8"))
    assert models.folder(tmp_path / "specs") not in (made, other)


@pytest.mark.rotates
@pytest.mark.parametrize("alone", [False, True])
def test_tlc_judges_the_edited_module_of_a_twin_and_the_plain_one_of_others(
    tmp_path: Path, alone: bool
) -> None:
    specs = toy(tmp_path)
    found = check(specs=specs, alone=alone)
    assert [(result.wrong, result.runner) for result in found.results] == [("", "")] * 2
    table = tmp_path / "stress/twins/deep/toy.toml"
    table.write_text(table.read_text().replace("9", "n + 1 + 0"))  # as it should be: no defect
    assert [result.wrong for result in check(specs=specs, alone=alone).results] == [
        "", "the twin was not caught: ok; it must violate Toy!Small",
    ]  # fmt: skip


def test_a_stored_verdict_rests_on_the_edited_module(tmp_path: Path) -> None:
    specs = toy(tmp_path)
    table = tmp_path / "stress/twins/deep/toy.toml"
    found = []
    for text in (table.read_text(), table.read_text().replace("9", "8")):
        table.write_text(text)
        made = models.folder(specs)
        entries = manifest.load(made)
        found.append({
            name: inputs_of(made, entries[f"{name}.cfg"])["module Toy"]
            for name in ("MCToy", "MCToy_jump")
        })  # fmt: skip
    before, after = found
    assert "THEN 9" in before["MCToy_jump"]
    assert "THEN 8" in after["MCToy_jump"]
    assert before["MCToy"] == after["MCToy"]
    assert "THEN" not in before["MCToy"]


def test_what_is_shown_of_a_twin_has_its_edits_as_a_difference(tmp_path: Path) -> None:
    cfg, module, difference = models.show(toy(tmp_path), "MCToy_jump")
    assert cfg.startswith("\\* It jumps.")
    assert " MODULE MCToy " in module
    assert "--- a/Toy.tla\n+++ b/Toy.tla\n" in difference
    assert "\n-Next == n < Last /\\ n' = n + 1\n" in difference
    assert "\n+Next == n < Last /\\ n' = IF n = 1 THEN 9 ELSE n + 1\n" in difference


LEAP = EDIT.replace("[jump]", "[leap]")


@pytest.mark.parametrize(
    ("twin", "said"),
    [
        (LEAP, [
            "{twins}: twin leap: {table} has no row leap in [twins]",
            "{table}: twin jump: has no edit: stress/twins/deep/toy.toml has no [jump] with "
            "spec = [..]",
        ]),
        (LEAP + EDIT, ["{twins}: twin leap: {table} has no row leap in [twins]"]),
        (EDIT.replace('defect = "It jumps."\n', ""), [
            "{twins}: twin jump: lacks defect, a sentence that says what is wrong",
        ]),
    ],
)  # fmt: skip
def test_a_row_without_an_edit_an_edit_without_a_row_and_a_twin_without_a_sentence_are_errors(
    tmp_path: Path, twin: str, said: list[str]
) -> None:
    specs = toy(tmp_path, twin=twin)
    files = {
        "table": specs / "deep/toy.models.toml",
        "twins": tmp_path / "stress/twins/deep/toy.toml",
    }
    problems = [problem.format(**files) for problem in said]
    assert models.problems(specs) == problems
    more = "; and 1 more: tools/twins.py lists all" if problems[1:] else ""
    with pytest.raises(UsageError, match=f"^{re.escape(problems[0] + more)}$"):
        models.folder(specs)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("deep/Toy.tla", "deep/Other.tla", "MCToy does not extend or instance Other"),
        ("deep/Toy.tla", "Toy.tla", "Toy.tla: no such file in specs/"),
        ('"n + 1"', '"n + 2"', "twin toy_jump: deep/Toy.tla: 'n . 2' is 0 times in Next, not once"),
    ],
)
def test_an_edit_that_changes_nothing_that_tlc_reads_is_an_error(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    specs = toy(tmp_path)
    (specs / "deep" / "Other.tla").write_text(TOY.replace("Toy", "Other"))
    table = tmp_path / "stress/twins/deep/toy.toml"
    table.write_text(table.read_text().replace(old, new, 1))
    [problem] = models.problems(specs)
    assert re.search(rf"toy.toml: twin \w+: .*{said}", problem) or re.search(said, problem)
    with pytest.raises(UsageError, match=said):
        models.folder(specs)


def test_the_files_are_made_anew_only_where_a_text_has_changed(tmp_path: Path) -> None:
    made = models.folder(toy(tmp_path))
    before = (made / "manifest.json").stat().st_mtime_ns
    assert models.folder(tmp_path / "specs") == made
    assert (made / "manifest.json").stat().st_mtime_ns == before
    other = models.folder(toy(tmp_path, ("To three.", "Up to three.")))
    assert other != made
    assert (other / "MCToy.cfg").read_text().startswith("\\* Up to three.")


@pytest.mark.rotates
def test_tlc_judges_them_and_what_it_measured_is_written_where_it_stood(tmp_path: Path) -> None:
    assert check(specs=toy(tmp_path)).holds
    wrong = toy(tmp_path, ("states = 4", "states = 5"), ("trace = 3", "trace = 4"))
    assert [result.wrong for result in check(specs=wrong).results] == [
        "states: 4, the table says 5", "trace: 3, the table says 4",
    ]  # fmt: skip
    assert check(specs=wrong, update=True).holds
    text = (tmp_path / "specs" / "deep" / "toy.models.toml").read_text()
    was, now = (
        re.sub("^measured.*|, trace.*", "", lines, flags=re.MULTILINE) for lines in (TABLE, text)
    )
    assert now == was
    rows = {model.name: model.row for table in models.tables(tmp_path / "specs")
            for model in table.models.values()}  # fmt: skip
    assert rows["MCToy"]["measured"].items() >= {"states": 4, "depth": 4}.items()
    assert rows["MCToy_jump"]["trace"] == 3
    assert "measured" not in rows["MCToyFull"]
    assert check(specs=tmp_path / "specs").holds


def test_numbers_go_into_a_row_that_had_none(tmp_path: Path) -> None:
    measured = {
        "MCToyFull.cfg": {"states": 5, "seconds": 1.5},
        "MCToy_jump.cfg": {"trace": 7, "seconds": 2.5},
    }
    models.save_measured(toy(tmp_path, (", trace = 3, seconds = 0.5", "")), measured)
    text = (tmp_path / "specs" / "deep" / "toy.models.toml").read_text()
    assert 'Last = "<- Four" }\nmeasured = { states = 5, seconds = 1.5 }\n\n[twins]\n' in text
    assert '\njump = { like = "MCToyFull", breaks = "Small", trace = 7, seconds = 2.5 }\n' in text


@pytest.mark.rotates
def test_what_was_made_from_tables_is_judged_and_cannot_be_updated(tmp_path: Path) -> None:
    made = models.export(toy(tmp_path), tmp_path / "out")
    assert check("^MCToy", specs=made).holds
    with pytest.raises(UsageError, match="was made from tables"):
        check(specs=made, update=True)
    with pytest.raises(UsageError, match="out exists; name a folder that does not"):
        models.export(tmp_path, made)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('like = "MCToyFull"', 'like = "MCToyBig"', "'MCToyBig': no configuration above"),
        ('breaks = "Small"', 'break = "Small"', "twin jump: unknown key break; allowed: "),
        ('breaks = "Small", ', "", "twin jump: lacks breaks, the claim that it must violate"),
        ("jump = {", "jump = 1 #", r"twin jump: a row is needed: jump = { breaks = .. }"),
        ("[MCToyFull]", "[Full]", "Full: a configuration's name begins with MCToy"),
        ("[MCToyFull]", "[MCToy_full]", r"has no _: a twin is a row of \[twins\]"),
        ('about = "To four."\n', "", "MCToyFull: lacks about"),
        ("{ states = 4", "{ state = 4", "MCToy: measured: unknown key state"),
        (", trace = 3", ", traces = 3", "twin jump: unknown key traces"),
        ("set = ", "workers = '2'\nset = ", "workers is '2'; a int is needed"),
        ('module = "MCToy"\n', "", "toy.models.toml: lacks module"),
        ("[MCToy]", "[MCToy", "not TOML"),
        ('"MCToy"', '"Toy"', "makes Toy.tla, which exists"),
    ],
)  # fmt: skip
def test_a_table_that_is_wrong_is_an_error_that_names_the_place(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    edits = [(old, new)]
    if new == '"Toy"':
        edits = [('module = "MCToy"', 'module = "Toy"'), ("[MCToy]", "[Toy]"),
                 ("[MCToyFull]", "[ToyFull]"), ('"MCToyFull"', '"ToyFull"')]  # fmt: skip
    with pytest.raises(UsageError, match=said.replace("(", r"\(")):
        models.folder(toy(tmp_path, *edits))


def test_a_name_in_two_tables_is_an_error(tmp_path: Path) -> None:
    toy(tmp_path)
    (tmp_path / "specs" / "other.models.toml").write_text(TABLE)
    with pytest.raises(UsageError, match=r"MCToy\w* is in toy.models.toml and in other"):
        models.folder(tmp_path / "specs")


def test_a_folder_without_a_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no \*\.models\.toml"):
        models.folder(tmp_path / "specs")


def wakeproof(*words: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "wakeproof", *words])


def test_show_prints_what_tlc_reads_and_export_writes_all_of_it(tmp_path: Path) -> None:
    shown = wakeproof("check", "--show", "MCBiasedLock")
    assert shown.returncode == 0
    assert "SPECIFICATION " in shown.stdout
    assert " MODULE MCBiasedLock ---" in shown.stdout
    unknown = wakeproof("check", "--show", "biased_lock")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "no configuration is biased_lock; near: MCBiasedLock" in unknown.stderr
    out = tmp_path / "tla"
    assert wakeproof("check", "--export", str(out)).returncode == 0
    names = {file.name for file in out.rglob("*.*")}
    written = json.loads((out / "manifest.json").read_text())
    assert names >= {*written, "Guard.tla", "MCGuard.tla"}
    mixed = wakeproof("check", str(out / "Guard.tla"), "--show", "MCGuard")
    assert "for wakeproof's own specs: leave out the file" in mixed.stderr


def test_a_module_of_ours_states_what_must_be_and_names_no_twin() -> None:
    modules = sorted((locations.sources() / "specs").rglob("*.tla"))
    assert len(modules) > 30
    assert [file.name for file in modules if re.search(r"\bTwin\b", file.read_text())] == []


def test_of_our_own_specs_each_stands_where_its_module_does() -> None:
    specs = locations.sources() / "specs"
    for table in models.tables(specs):
        base = table.extends[0].removeprefix("MC")
        beside = {file.stem for file in table.file.parent.glob("*.tla")}
        made = {other.module.removeprefix("MC") for other in models.tables(table.file.parent)}
        assert base in beside | made, table.file
