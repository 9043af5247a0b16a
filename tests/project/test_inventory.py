# SPDX-License-Identifier: Apache-2.0
"""tools/inventory names each loss and each change, unless the table of names explains it."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.cases import IN_CHECKOUT
from tools.inventory import c_names, of_judges
from tools.inventory.__main__ import READERS, main, taken
from tools.inventory.sections import SECTIONS, Inventory, collected, write
from tools.inventory.tree import Tree

from wakeproof import errors, locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.audit import run as audit
from wakeproof.judge.tlc import models
from wakeproof.judge.tlc.manifest import Entry
from wakeproof.judge.twins import edits

pytestmark = IN_CHECKOUT
ROOT = locations.sources()
BEFORE: Inventory = {
    "concepts": {"home": {}, "home_back": {}, "guard": {}},
    "claims": {"Home!Served": {"twins": {"check": 3, "sc": 1}}, "Guard!Seen": {"twins": {}}},
    "configurations": {
        "MCHome": {"claims": ["Home!Served"], "states": 124, "expect": "ok"},
        "MCHomeFull": {"claims": ["Home!Served"], "expect": "bounded"},
    },
    "code_twins": {
        "home_back_silent": {"concepts": ["home", "home_back"], "seen_by": ["sc"]},
        "guard_no_fence": {"concepts": ["guard"], "seen_by": ["tso"]},
    },
    "labels": {
        "H1": {"order": "acquire", "pairs": ["H2"], "upholds": "Home!Served"},
        "H2": {"order": "release", "pairs": ["H1"], "upholds": "Home!Served"},
    },
    "tests": {
        "tests/test_home.py::test_each_is_seen[home_back_silent-1]": {},
        "tests/wakeup/test_guard.py::test_each_is_seen[guard_no_fence]": {},
    },
    "lines": {"kernel": {"lines": 100}, "specs": {"lines": 10}},
}
MOVED: Inventory = {
    "concepts": {"carrier_tasks": {}, "guard": {}},
    "claims": {"Tasks!Served": {"twins": {"check": 3, "sc": 1}}, "Guard!Seen": {"twins": {}}},
    "configurations": {
        "Tasks": {"claims": ["Tasks!Served"], "states": 124, "expect": "ok"},
        "TasksFull": {"claims": ["Tasks!Served"], "expect": "bounded"},
    },
    "code_twins": {
        "tasks.silent": {"concepts": ["carrier_tasks"], "seen_by": ["sc"]},
        "guard_no_fence": {"concepts": ["guard"], "seen_by": ["tso"]},
    },
    "labels": {
        "tasks.1": {"order": "acquire", "pairs": ["tasks.2"], "upholds": "Tasks!Served"},
        "tasks.2": {"order": "release", "pairs": ["tasks.1"], "upholds": "Tasks!Served"},
    },
    "tests": {
        "tests/sched/test_tasks.py::test_each_is_seen[tasks.silent-1]": {},
        "tests/wakeup/test_guard.py::test_each_is_seen[guard_no_fence]": {},
    },
    "lines": {"kernel": {"lines": 90}, "specs": {"lines": 10}},
}
TABLE = """
[[concepts.rules]]
find = '^home(_back)?$'
put = 'carrier_tasks'
[claims.names]
"Home!Served" = "Tasks!Served"
[[configurations.rules]]
find = '^MCHome'
put = 'Tasks'
[code_twins.names]
home_back_silent = "tasks.silent"
[labels.names]
H1 = "tasks.1"
H2 = "tasks.2"
[[tests.rules]]
find = '^tests/test_home'
put = 'tests/sched/test_tasks'
"""


class Compared:
    """Compares inventories as the command does."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def __call__(self, before: Inventory, after: Inventory, table: str = "") -> tuple[int, str]:
        write(self.folder / "before.json", before)
        write(self.folder / "after.json", after)
        return self.files(table)

    def files(self, table: str = "") -> tuple[int, str]:
        (self.folder / "names.toml").write_text(table)
        names = [str(self.folder / name) for name in ("before.json", "after.json", "names.toml")]
        code = main(["--compare", *names[:2], "--names", names[2]])
        said = self._capsys.readouterr()
        return code, said.out + said.err


@pytest.fixture
def compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Compared:
    return Compared(tmp_path, capsys)


def without(inventory: Inventory, section: str, name: str) -> Inventory:
    changed = copy.deepcopy(inventory)
    del changed[section][name]
    return changed


def with_fact(inventory: Inventory, section: str, name: str, **facts: object) -> Inventory:
    changed = copy.deepcopy(inventory)
    changed[section][name] |= facts
    return changed


def test_an_inventory_equals_itself(compared: Compared) -> None:
    code, said = compared(BEFORE, BEFORE)
    assert (code, said.splitlines()[-1]) == (0, "inventory: nothing lost, nothing changed")


def test_a_move_that_the_table_explains_loses_nothing(compared: Compared) -> None:
    code, said = compared(BEFORE, MOVED, TABLE)
    assert (code, "lost" in said.replace("nothing lost", "")) == (0, False), said
    assert "labels: 2 before, 2 after; 2 renamed" in said
    assert compared(BEFORE, MOVED)[0] == 1


@pytest.mark.parametrize("section", BEFORE)
def test_what_is_lost_is_named_in_every_section(section: str, compared: Compared) -> None:
    name = next(iter(BEFORE[section]))
    code, said = compared(BEFORE, without(BEFORE, section, name))
    assert (code, f"  lost     {name}\n" in said) == (1, True), said
    assert compared(without(BEFORE, section, name), BEFORE)[0] == 0  # new: not lost


def test_a_section_that_is_gone_loses_all_its_items(compared: Compared) -> None:
    after = {name: items for name, items in BEFORE.items() if name != "labels"}
    code, said = compared(BEFORE, after)
    assert code == 1
    assert "labels: 2 before, 0 after; 2 lost" in said


@pytest.mark.parametrize(
    ("section", "name", "facts", "line"),
    [
        ("configurations", "MCHome", {"states": 123}, "MCHome: states: 124 -> 123"),
        ("configurations", "MCHome", {"depth": 7}, "MCHome: depth: absent -> 7"),
        ("configurations", "MCHome", {"claims": []}, "MCHome: claims: ['Home!Served'] -> []"),
        ("claims", "Home!Served", {"twins": {"check": 2, "sc": 1}}, "twins.check: 3 -> 2"),
        ("claims", "Home!Served", {"twins": {"check": 3}}, "twins.sc: 1 -> absent"),
        ("code_twins", "home_back_silent", {"seen_by": []}, "seen_by: ['sc'] -> []"),
        ("labels", "H1", {"order": "relaxed"}, "H1: order: 'acquire' -> 'relaxed'"),
        ("labels", "H1", {"pairs": ["H1"]}, "H1: pairs: ['H2'] -> ['H1']"),
    ],
)
def test_a_changed_fact_is_named(
    section: str, name: str, facts: dict[str, object], line: str, compared: Compared
) -> None:
    code, said = compared(BEFORE, with_fact(BEFORE, section, name, **facts))
    assert (code, line in said, "inventory: 1 changed" in said) == (1, True, True), said


def test_lines_are_shown_and_a_lost_folder_counts(compared: Compared) -> None:
    code, said = compared(BEFORE, with_fact(BEFORE, "lines", "kernel", lines=90))
    assert (code, "  shown    kernel: lines: 100 -> 90" in said) == (0, True)


CHANGED = """
[[configurations.changed]]
match = "MCHome"
field = "states"
was = 124
now = 120
why = "one counter less"
"""


def test_a_row_explains_one_change_and_no_other(compared: Compared) -> None:
    after = with_fact(BEFORE, "configurations", "MCHome", states=120)
    assert compared(BEFORE, after, CHANGED)[0] == 0
    other = with_fact(BEFORE, "configurations", "MCHome", states=119)
    code, said = compared(BEFORE, other, CHANGED)
    assert (code, "inventory: 1 changed, 1 stale" in said) == (1, True), said


@pytest.mark.parametrize(
    "row",
    [
        '[labels.names]\nH9 = "guard.9"',
        '[labels.names]\nH1 = "H1"',
        "[[labels.rules]]\nfind = 'Z'\nput = 'Q'",
        "[[tests.gone]]\nname = 'tests/test_home.py'\nwhy = 'none'",
        "[[claims.gone]]\nmatch = 'Guard!.*'\nwhy = 'it is there'",
        CHANGED,
    ],
)
def test_a_row_that_explains_nothing_is_stale(row: str, compared: Compared) -> None:
    code, said = compared(BEFORE, BEFORE, row)
    assert (code, "explains nothing" in said, "inventory: 1 stale" in said) == (1, True, True), said


def test_a_spec_s_new_name_is_that_of_its_claims_wherever_they_stand(compared: Compared) -> None:
    before: Inventory = {
        "specs": {"Home": {"claims": 1}},
        "claims": {"Home!Served": {"tlc_alone": False}},
        "configurations": {
            "MCHome": {"spec": "Home", "invariants": ["Home!TypeOK", "Home!Served"]},
        },
        "labels": {"H1": {"upholds": "Home!Served"}},
    }
    after = json.loads(json.dumps(before).replace('"Home', '"Tasks'))
    assert compared(before, after, '[specs.names]\nHome = "Tasks"')[0] == 0
    assert compared(before, after)[0] == 1


def test_what_is_left_out_on_purpose_needs_a_row(compared: Compared) -> None:
    row = "[[labels.gone]]\nname = 'H2'\nwhy = 'nobody reads it'"
    after = with_fact(without(BEFORE, "labels", "H2"), "labels", "H1", pairs=[])
    changed = "[[labels.changed]]\nname = 'H1'\nfield = 'pairs'\nwas = ['H2']\nnow = []\nwhy = 'as'"
    assert compared(BEFORE, after, f"{row}\n{changed}")[0] == 0
    assert compared(BEFORE, after, changed)[0] == 1


def test_two_names_cannot_become_one_but_for_files_that_are_joined(compared: Compared) -> None:
    table = TABLE.replace('"tasks.2"', '"tasks.1"')
    code, said = compared(BEFORE, MOVED, table)
    assert code == 1
    assert "H1: it would be tasks.1, and so would H2" in said


def test_a_rule_that_goes_too_far_loses_what_it_hits(compared: Compared) -> None:
    code, said = compared(BEFORE, BEFORE, "[[labels.rules]]\nfind = '1'\nput = '3'")
    assert code == 1
    assert "H1: the table says H3, which is not there" in said


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"labels": {"H1": {}, "H1": {}}}', "two items are named 'H1'"),
        ('{"labels": {}}', "section labels is empty"),
        ('{"lables": {"H1": {}}}', "unknown section 'lables'"),
        ('{"labels": {"H1": 3}}', "the facts of an item are no object"),
        ("[]", "no inventory"),
        ("{", "not JSON"),
    ],
)
def test_a_file_that_is_no_inventory_is_refused(
    text: str, complaint: str, compared: Compared
) -> None:
    write(compared.folder / "before.json", BEFORE)
    (compared.folder / "after.json").write_text(text)
    code, said = compared.files()
    assert (code, complaint in said) == (2, True), said


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("[lables]", "unknown section 'lables'"),
        ("[labels.name]\nH1 = 'x'", "a section has no 'name'"),
        ("[[labels.gone]]\nname = 'H1'", "a row has no 'why'"),
        ("[[labels.gone]]\nname = 'H1'\nmatch = 'H'\nwhy = 'x'", "a row has a name, or a match"),
        ("[[labels.changed]]\nname = 'H1'\nfield = 'x'\nwhy = 'y'", "neither what was nor what"),
        ("[[labels.rules]]\nfind = '('\nput = ''", "section labels: missing )"),
        ("[labels", "not TOML"),
    ],
)
def test_a_table_that_is_none_is_refused(table: str, complaint: str, compared: Compared) -> None:
    code, said = compared(BEFORE, BEFORE, table)
    assert (code, complaint in said) == (2, True), said


def test_a_reader_that_finds_nothing_or_one_name_twice_fails() -> None:
    with pytest.raises(UsageError, match="labels: nothing was found"):
        collected("labels", [])
    with pytest.raises(UsageError, match="labels: two items are named 'H1'"):
        collected("labels", [("H1", {}), ("H1", {})])


HEADER = """
#define WP_MOST 8
#define wp_twice(x) ((x) + (x))
enum wp_state { WP_NEW, WP_OPEN = 4, WP_SHUT };
typedef struct wp_lock wp_lock;
struct wp_lock {
    _Atomic(unsigned) word;
    void (*wake)(void *arg);
};
typedef int wp_body(void *arg);
__attribute__((noinline)) int wp_park(wp_lock *lock, int64_t until_ns, void (*then)(void *));
static inline const char *wp_text(const struct wp_lock *lock)
{
    if (lock) {
        return "}";
    }
    return 0;
}
"""


def test_a_header_s_names_come_without_those_of_parameters() -> None:
    assert c_names.merged(c_names.of_text(HEADER)) == {
        "WP_MOST": {"kind": "macro", "value": "8"},
        "wp_twice": {"kind": "macro", "parameters": "(x)"},
        "WP_NEW": {"kind": "constant", "value": "0"},
        "WP_OPEN": {"kind": "constant", "value": "4"},
        "WP_SHUT": {"kind": "constant", "value": "5"},
        "wp_state": {"kind": "type", "signature": "enum"},
        "wp_lock": {"kind": "type", "signature": "struct",
                    "fields": ["_Atomic(unsigned)word", "void(*wake)(void *arg)"]},
        "wp_body": {"kind": "type", "signature": "int(void *arg)"},
        "wp_park": {"kind": "function", "signature": "int (wp_lock *, int64_t, void(*)(void *))"},
        "wp_text": {"kind": "function", "signature": "const char * (const struct wp_lock *)"},
    }  # fmt: skip


def test_a_name_that_is_declared_in_two_ways_is_an_error() -> None:
    with pytest.raises(JudgeError, match="wp_park is declared as"):
        c_names.merged(c_names.of_text("int wp_park(void); int wp_park(int more);"))


def test_a_cfg_s_constants_are_read() -> None:
    text = 'Producers = {p1, p2} Queue <- Short Memory = "TSO"'
    constants = of_judges.constants_of(text.split())
    assert constants == {"Producers": "{p1, p2}", "Queue": "<- Short", "Memory": '"TSO"'}


def test_the_defect_of_a_configuration_follows_the_underscore() -> None:
    entry = Entry("MCGuard_no_fence.cfg", "MCGuard", expect="violates")
    assert of_judges.twin_of(entry) == "no_fence"
    assert of_judges.twin_of(replace(entry, config="MCGuard.cfg", expect="ok")) is None


@pytest.mark.rotates
@pytest.mark.slow
def test_the_tree_s_inventory_has_what_others_count() -> None:
    folder = ROOT / "stress" / "scenarios"
    files = [folder / f"{name}.c" for name in ("wakeup/guard", "wakeup/parker", "base/event_ring")]
    found = taken(Tree(files))
    assert list(found) == list(SECTIONS) == list(READERS)
    assert set(found["claims"]) == set(audit.promised(ROOT / "specs"))
    raw = json.loads((models.own() / "manifest.json").read_text())
    assert {f"{name}.cfg" for name in found["configurations"]} == set(raw)
    assert len(found["spec_twins"]) == sum(row.get("expect") == "violates" for row in raw.values())
    states = {name: row["states"] for name, row in raw.items() if "states" in row}
    own = {f"{name}.cfg": facts.get("states") for name, facts in found["configurations"].items()}
    assert {name: number for name, number in own.items() if number is not None} == states
    text = "".join(file.read_text() for file in files)
    assert len(found["scenarios"]) == len(re.findall(r"^STRESS_TEST\(", text, re.MULTILINE)) > 0
    twins = re.findall(r"^STRESS_TWIN\(\s*(\w+)", text, re.MULTILINE)
    own = set(found["scenarios"])
    twins += [name for name, twin in edits.of_code(ROOT).items() if twin.scenario in own]
    seen = {name for name, facts in found["code_twins"].items() if "scenario" in facts}
    assert seen == set(twins)
    assert {site for facts in found["labels"].values() for site in facts["pairs"]} <= set(
        found["labels"]
    )
    assert {facts["upholds"] for facts in found["labels"].values()} <= set(found["claims"])
    functions = {facts["function"] for facts in found["tests"].values()}
    texts = "\n".join(file.read_text() for file in ROOT.glob("tests/**/test_*.py"))
    assert functions >= set(re.findall(r"^def (test_\w+)", texts, re.MULTILINE))
    assert set(errors.BY_CODE) < {facts.get("value") for facts in found["errors"].values()}
    assert found["scenarios"]["guard_failing"]["failing_heavy"] == 1
    assert "wp_guard_signal" in found["c_names"]
    assert "CarrierGroup.close" in found["python_names"]
    assert "explore --loop-bound" in found["commands"]
    assert found["commands"]["make stress"] == {"options": ["T=REGEX"]}
    assert sum(facts["claims"] for facts in found["specs"].values()) == len(found["claims"])
    assert found["lines"]["kernel"]["lines"] > 1000
