# SPDX-License-Identifier: Apache-2.0
"""States that are foreseen, and edges that are kept: the search finds what it finds without."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.support.litmus import LITMUS

from wakeproof import locations
from wakeproof.judge.source_texts import Sources

pytestmark = pytest.mark.slow

STRESS = locations.sources() / "stress"
FOLDER = STRESS / "explorer"
SPIN = """program spin
thread
 again:
  r0 = cas_weak x 0 1 acquire acquire
  if r7 != 0 goto done
  store y 1 relaxed
  goto again
 done:
  r1 = 1
observe 0:r1
"""
"""A loop that only failures without a reason repeat."""
RACE = "program race\nthread\n  store x 1 plain\n  store y 1 release\nthread\n  r0 = load x plain\n"
ADDS = "program adds\n" + "thread\n  r0 = add x 1 seq_cst\n  store y 1 relaxed\n" * 5
STORES = (
    "program stores\nthread\n  r0 = load y relaxed\n  if r0 == 1 goto short\n"
    "  store x 1 relaxed\n short:\n  r0 = 0\n"
    + "  store x 1 relaxed\n" * 15
    + "  store x 2 relaxed\nthread\n  store y 1 relaxed\nobserve x\n"
)
"""A thread comes to its last step with 15 stores in its buffer, and then with 16, which fill it."""
OPTIONS = {
    "all": "",
    "preemptions": "--preemptions 1",
    "growing": "--preemptions grow",
    "spurious": "--spurious 1 --timeouts",
    "limited": "--max-executions 90",
    "little memory": "--max-bytes 60000",
    "races": "--timeouts --loop-bound 3",
}
ALONE = ("-DEXPLORE_BATCH_LEAST=4000000000u",)
EACH = ("-DEXPLORE_BATCH_LEAST=1", "-DEXPLORE_CHUNK=1")
LITTLE = (*EACH, "-DEXPLORE_WORDS_MOST=40")
"""A thread has room for a few edges only and leaves the other states of a batch to the search."""
Edit = tuple[str, str, str]
KEEPS_NOTHING = ("state_space.c", "space->keeps_no_more = false;", "space->keeps_no_more = true;")
NO_MEMORY = ("state_ahead.c", "if (!ahead || !readers) {", "if (ahead || readers || !ahead) {")
TWINS: dict[str, Edit] = {
    "an end is missed": ("state_ahead.c", "!= EXPLORE_GOES_ON;", "== EXPLORE_IS_ABANDONED;"),
    "a bound is not told": (
        "state_ahead.c", "found->is_cut = space->is_cut;", "found->is_cut = false;"),
    "a weak failure is promised": (
        "state_ahead.c", "words[1] = explore_is_promised(space->choices[choice]);",
        "words[1] = 1;"),
    "an edge is lost": (
        "state_ahead.c", "found->edges = (uint16_t)space->choices_count;",
        "found->edges = (uint16_t)(space->choices_count - (space->choices_count > 2));"),
    "another edge is kept": (
        "state_space.c", "kept[space->kept_count++] = to;", "kept[space->kept_count++] = 0;"),
    "edges are kept at the tables' cost": (
        "state_table.c", "budget->give_up(budget);", "(void)budget;"),
}  # fmt: skip

STATES, PROGRAMS = 300, 100


def build(folder: Path, flags: tuple[str, ...], edit: Edit | None = None) -> Path:
    sources = [file for file in Sources(STRESS.parent).explorer()
               if not file.stem.startswith("compiled")]  # fmt: skip
    if edit:
        name, old, new = edit
        text = (FOLDER / name).read_text("utf-8")
        assert text.count(old) == 1, edit
        (folder / name).write_text(text.replace(old, new), "utf-8")
        sources = [file for file in sources if file != FOLDER / name] + [folder / name]
    target = folder / "explorer"
    places = [f"-I{folder}" for folder in (STRESS, STRESS.parent / "kernel", FOLDER)]
    command = ["cc", "-std=c11", "-O1", "-g", "-D_GNU_SOURCE=", "-pthread", "-w", *places, *flags,
               *map(str, sources), "-no-pie", "-lm", "-o", str(target)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


def found(program: Path, programs: Path, options: str, jobs: int) -> list[str]:
    """Return the lines of all results, without times and bytes."""
    command = [str(program), "--program", str(programs), "--engine", "states", "--model", "sc,tso",
               "--progress", "none", "--jobs", str(jobs), *options.split()]  # fmt: skip
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert (ended.stderr, ended.returncode) == ("", 0)
    text = re.sub(r'"(cpu_)?seconds":[0-9.]+,', "", ended.stdout)
    return re.sub(r'"bytes":[0-9]+', '"bytes":0', text).splitlines()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the explorer that foresees nothing and keeps no edges."""
    return build(tmp_path_factory.mktemp("alone"), ALONE, KEEPS_NOTHING)


@pytest.fixture(scope="module")
def text(alone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with all small programs of the corpus."""
    file = tmp_path_factory.mktemp("text") / "programs.txt"
    file.write_text("\nend\n".join(LITMUS.values()), "utf-8")
    most: Counter[str] = Counter()
    for result in map(json.loads, found(alone, file, f"--max-executions {STATES + 1}", 1)):
        most[result["program"]] = max(most[result["program"]], result["states"])
    small = [text for name, text in LITMUS.items() if most[name] <= STATES]
    assert len(small) >= PROGRAMS
    file.write_text("\nend\n".join([*small, SPIN, RACE, ADDS, STORES]), "utf-8")
    return file


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("sanitizer", "jobs", "flags"),
    [
        ("thread", 2, EACH),
        ("address,undefined", 1, EACH),
        ("address,undefined", 3, EACH),
        ("address,undefined", 2, LITTLE),
        ("address,undefined", 1, ALONE),
    ],
)
def test_what_threads_foresee_is_what_the_search_finds_alone(
    alone: Path, text: Path, sanitizer: str, jobs: int, flags: tuple[str, ...], tmp_path: Path
) -> None:
    ahead = build(tmp_path, (*flags, f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"))
    for options in OPTIONS.values():
        expected = found(alone, text, options, 1)
        assert len(expected) >= 2 * (PROGRAMS + 4)
        assert found(ahead, text, options, jobs) == expected, options


def test_a_search_without_memory_for_what_is_foreseen_finds_the_same(
    alone: Path, text: Path, tmp_path: Path
) -> None:
    flags = (*EACH, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    without = build(tmp_path, flags, NO_MEMORY)
    assert found(without, text, "", 2) == found(alone, text, "", 1)


@pytest.mark.rotates
@pytest.mark.parametrize("twin", TWINS)
def test_a_defect_in_what_is_foreseen_shows(
    alone: Path, text: Path, twin: str, tmp_path: Path
) -> None:
    broken = build(tmp_path, EACH, TWINS[twin])
    differs = []
    for name, options in OPTIONS.items():
        expected = found(alone, text, options, 1)
        try:
            is_equal = found(broken, text, options, 2) == expected
        except AssertionError:
            is_equal = False
        differs += [] if is_equal else [name]
    assert differs
