# SPDX-License-Identifier: Apache-2.0
"""`wakeproof audit FOLDER`: a project of the user's own, in the same report as ours."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command
from tests.judge.prove.toys import written
from tests.support.browsing import BROWSES, window

from wakeproof.judge.page.data import Report

pytestmark = pytest.mark.slow  # TLC, the explorer and real cores judge a project

COUNTER = """\
#include "stress.h"

struct state { wp_atomic(uint32_t) count; };

STRESS_ACTOR(adds)
{
	%s
}

STRESS_ACTOR(total)
{
	result->r[0] = wp_load_relaxed(&state->count);
}

STRESS_TEST(%s, .claim = "Two additions give two.", .state_size = sizeof(struct state),
	.actors = {adds, adds}, .arbiter = total, .results = 1, .outcomes = {
		{"2", ACCEPTABLE, "both count"}, {"*", FORBIDDEN, "lost <b>update</b>"},
	});
"""
RACY = "wp_store_relaxed(&state->count, wp_load_relaxed(&state->count) + 1);"
RIGHT = "wp_fetch_add_relaxed(&state->count, 1);"
ADDS = r"""
---- MODULE Adds ----
EXTENDS Naturals
VARIABLES count, read, step
Threads == {"one", "other"}
Init ==
  /\ count = 0
  /\ read = [t \in Threads |-> 0]
  /\ step = [t \in Threads |-> "load"]
Load(t) ==
  /\ step[t] = "load"
  /\ read' = [read EXCEPT ![t] = count]
  /\ step' = [step EXCEPT ![t] = "store"]
  /\ UNCHANGED count
Store(t) ==
  /\ step[t] = "store"
  /\ count' = read[t] + 1
  /\ step' = [step EXCEPT ![t] = "done"]
  /\ UNCHANGED read
Ended == \A t \in Threads : step[t] = "done"
Next == \/ \E t \in Threads : Load(t) \/ Store(t)
        \/ Ended /\ UNCHANGED <<count, read, step>>
\* When both have ended, the sum is two.
Sum == Ended => count = 2
Small == count <= 2
====
"""
ENDS = """---- MODULE Ends ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x < 2 /\\ x' = x + 1
Up == x <= 2
====
"""
HOSTILE = "<img src=x onerror=alert(1)>"


@dataclass(frozen=True)
class Judged:
    folder: Path
    code: int
    said: str
    printed: Any

    @property
    def claims(self) -> dict[str, Any]:
        return {one["name"]: one for one in self.printed["claims"]}

    @property
    def rows(self) -> set[tuple[str, str, str]]:
        return {(one["judge"], one["name"], one["verdict"]) for one in self.printed["rows"]}


def project(folder: Path) -> Path:
    """Write a project: what holds, what does not, and what cannot be judged."""
    files = {
        "wrong/Adds.tla": ADDS.lstrip(),
        "wrong/Adds.cfg": "INIT Init\nNEXT Next\nINVARIANTS Small Sum\n",
        "wrong/Part.tla": "---- MODULE Part ----\n====\n",
        "counter.c": COUNTER % (RACY, "counter"), "added.c": COUNTER % (RIGHT, "added"),
        "again.c": COUNTER % (RACY, "counter"),  # another scenario of the same name
        f"{HOSTILE}2.tla": "",
        "ends/Ends.tla": ENDS, "ends/Ends.cfg": "INIT Init\nNEXT Next\nINVARIANT Up\n",
        "broken.c": '#include "stress.h"\nint main(\n', "util.c": "int used;\n",
        f"{HOSTILE}.tla": "---- MODULE Other ----\n====\n", f"{HOSTILE}.cfg": "INIT Init\n",
        "build/made.c": '#include "stress.h"\n', ".hidden/made.c": '#include "stress.h"\n',
    }  # fmt: skip
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    written(folder)
    (folder / "gone.c").symlink_to("nowhere")
    return folder


@pytest.fixture(scope="module")
def judged(wakeproof: Command, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder, out = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("out")
    ended = wakeproof(
        "audit", str(project(folder)), "--mode", "sanity", "--json", "--html", str(out / "a.html"),
        "--junit", str(out / "a.xml"), "--sarif", str(out / "a.sarif"), "--markdown",
        str(out / "a.md"),
    )  # fmt: skip
    return Judged(out, ended.returncode, ended.stderr, json.loads(ended.stdout))


@pytest.mark.rotates
def test_each_invariant_and_each_scenario_is_a_claim_with_its_verdict(judged: Judged) -> None:
    known = {name: (one["status"], one["strength"]) for name, one in judged.claims.items()}
    assert known == {
        "Toy!TypeOK": ("holds", "specification"),
        "Toy!Exclusive": ("holds", "proved"),  # the module has an IndInv
        "wrong/Adds!Small": ("not judged", "specification"),  # TLC stops at the first violation
        "wrong/Adds!Sum": ("violated", "specification"),
        "counter.c!counter": ("violated", "every"),
        "again.c!counter": ("violated", "every"),
        "ends/Ends!Up": ("not judged", "specification"),  # its last state has no step
        "added.c!added": ("holds", "every"),
    }
    assert judged.code == 1
    assert not judged.printed["holds"]
    assert judged.claims["wrong/Adds!Sum"]["sentence"] == "When both have ended, the sum is two."


def test_a_file_that_is_not_judged_is_a_row_that_says_why(judged: Judged) -> None:
    said = {name: verdict for judge, name, verdict in judged.rows if judge == "none"}
    assert said == {
        "util.c": "no scenario: it does not include stress.h",
        "wrong/Part.tla": "no Part.cfg beside it: part of another module",
        f"{HOSTILE}2.tla": f"no {HOSTILE}2.cfg beside it: part of another module",
        "gone.c": "it cannot be read: No such file or directory",
    }
    refused = {name: verdict for _, name, verdict in judged.rows if "not judged: " in verdict}
    assert set(refused) == {"broken.c", f"{HOSTILE}.tla"}
    assert "does not compile" in refused["broken.c"]
    assert any(one.startswith("broken.c: ") for one in judged.printed["problems"])


def test_what_is_violated_has_a_counterexample_and_the_others_have_none(judged: Judged) -> None:
    names = {one["name"] for one in judged.printed["counterexamples"]}
    shown = {name: set(one["counterexamples"]) for name, one in judged.claims.items()}
    assert shown.pop("wrong/Adds!Sum") == {"wrong/Adds.tla"}
    for file in ("counter.c", "again.c"):
        assert shown.pop(f"{file}!counter") >= {f"{file}!counter-sc", f"{file}!counter-rc11"}
    assert set().union(*shown.values()) == set()
    assert "ends/Ends.tla" in names  # of a deadlock, which is no claim's
    assert {name for name in names if name.startswith(("added", "Toy"))} == set()
    assert judged.printed["verdict"].startswith("3 of 8 claims hold, ")


def test_the_files_for_other_programs_say_the_same(judged: Judged) -> None:
    found = Report.model_validate(judged.printed)
    assert found == Report.model_validate_json((judged.folder / "a.json").read_text())
    cases = {
        case.attrib["name"]: [child.tag for child in case]
        for case in ET.parse(judged.folder / "a.xml").getroot().iter("testcase")
    }
    assert cases["Toy!Exclusive"] == []
    assert cases["wrong/Adds!Sum"] == cases["counter.c!counter"] == ["failure"]
    assert cases["wrong/Adds!Small"] == ["skipped"]
    (run,) = json.loads((judged.folder / "a.sarif").read_text())["runs"]
    at = {
        one["ruleId"]: one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for one in run["results"] if "locations" in one
    }  # fmt: skip
    assert at == {
        "wrong/Adds!Sum": "wrong/Adds.tla", "counter.c!counter": "counter.c",
        "again.c!counter": "again.c",
    }  # fmt: skip
    table = (judged.folder / "a.md").read_text()
    assert "| added.c!added | scenario | every execution to bounds |" in table
    assert "<img" not in table.replace("\\<img", "")


@BROWSES
def test_the_page_shows_every_claim_and_runs_no_text_of_the_project(
    judged: Judged, tmp_path: Path
) -> None:
    with window(1280, 844, tmp_path / "profile") as browser:
        browser.open(judged.folder / "a.html")
        shown = browser.run("return [...document.querySelectorAll('details.claim')].map(d => d.id)")
        assert set(shown) == set(judged.claims)
        assert browser.run("return document.querySelectorAll('img').length") == 0
        link = browser.run("return document.getElementById('counter.c!counter')"
                           ".querySelector('a.trace').getAttribute('href')")  # fmt: skip
        assert link.startswith("#counter.c!counter-")
        plotted = browser.run("return document.querySelector('dl.strengths').innerText")
        assert "every execution to bounds 1 of 8 claims" in " ".join(plotted.split())
        browser.open(judged.folder / "a.html", "counter.c!counter-sc/2")
        assert browser.run("return document.getElementById('step-at').innerText").startswith(
            "Step 2 of "
        )
        assert browser.errors() == []
        asked = [url for url in browser.requests() if not url.startswith(("chrome", "data:"))]
        assert [url for url in asked if not url.partition("#")[0].endswith(".html")] == []


@pytest.mark.rotates
def test_a_project_that_holds_ends_well_and_its_twin_does_not(
    wakeproof: Command, tmp_path: Path
) -> None:
    (tmp_path / "added.c").write_text(COUNTER % (RIGHT, "added"))
    options = ("--mode", "sanity", "--html", str(tmp_path / "page.html"))
    ended = wakeproof("audit", str(tmp_path), *options)
    assert (ended.returncode, "1 of 1 claims hold\n" in ended.stdout) == (0, True), ended.stdout
    (tmp_path / "added.c").write_text(COUNTER % (RACY, "added"))
    ended = wakeproof("audit", str(tmp_path), *options)
    assert (ended.returncode, "0 of 1 claims hold, " in ended.stdout) == (1, True)


OWN = """\
#include <stdatomic.h>
#include <stdlib.h>
#include "stress.h"

struct state { atomic_int *count; };

static void init(void *at)
{
	struct state *state = at;

	state->count = malloc(sizeof(*state->count));
	atomic_init(state->count, 0);
}

static void fini(void *at)
{
	free(((struct state *)at)->count);
}

STRESS_ACTOR(adds)
{
	%s;
}

STRESS_ACTOR(total)
{
	result->r[0] = atomic_load(state->count);
}

STRESS_TEST(own, .claim = "Two additions give two.", .state_size = sizeof(struct state),
	.init = init, .fini = fini, .actors = {adds, adds}, .arbiter = total, .results = 1,
	.outcomes = {{"2", ACCEPTABLE, "both count"}, {"*", FORBIDDEN, "lost update"}});
"""


@pytest.mark.rotates
def test_a_scenario_with_atomics_and_memory_of_its_own_is_judged(
    wakeproof: Command, tmp_path: Path
) -> None:
    options = ("--mode", "sanity", "--html", str(tmp_path / "page.html"))
    for adds, code, said in (
        ("atomic_fetch_add(state->count, 1)", 0, "1 of 1 claims hold\n"),
        ("*state->count = *state->count + 1", 1, "0 of 1 claims hold, "),
    ):
        (tmp_path / "own.c").write_text(OWN % adds)
        ended = wakeproof("audit", str(tmp_path), *options)
        assert (ended.returncode, said in ended.stdout) == (code, True), ended.stdout


def test_a_module_that_ends_is_a_deadlock_unless_that_is_allowed(
    wakeproof: Command, tmp_path: Path
) -> None:
    (tmp_path / "Ends.tla").write_text(ENDS)
    (tmp_path / "Ends.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Up\n")
    options = ("--html", str(tmp_path / "page.html"))
    ended = wakeproof("audit", str(tmp_path), *options)
    assert ended.returncode == 1
    assert "Ends.tla: violates deadlock: nobody has a step; if that is right" in ended.stdout
    ended = wakeproof("audit", str(tmp_path), "--no-deadlock", *options)
    assert (ended.returncode, "1 of 1 claims hold\n" in ended.stdout) == (0, True), ended.stdout


def test_a_folder_with_nothing_to_judge_is_one_clear_line(
    wakeproof: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.tla").write_text("")
    ended = wakeproof("audit", "--no-deadlock")
    assert (ended.returncode, "name its FOLDER" in ended.stderr) == (2, True)
    for folder, said in (
        (tmp_path, "nothing to judge; a module of TLA+ needs a .cfg beside it"),
        (tmp_path / "a.tla", "there is no such folder; to judge one file, use `wakeproof check`"),
        (tmp_path / "no", "there is no such folder"),
    ):
        ended = wakeproof("audit", str(folder))
        assert ended.returncode == 2
        assert f"{folder}: {said}" in ended.stderr
        assert len(ended.stderr.strip().splitlines()) == 1
