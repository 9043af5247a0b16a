# SPDX-License-Identifier: Apache-2.0
"""The museum: each exhibit shows its bug under the models that it names, and its fix holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.support.running import run as command

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.museum import exhibits, run, table
from wakeproof.judge.museum.exhibits import Exhibit

EVERY = exhibits.read()
MUSEUM = (sys.executable, "-m", "wakeproof", "museum")
TEXT = """\
/* SPDX-License-Identifier: Apache-2.0
 * toy_1.c - nobody says that there is work.
 *
 * System     toy 1.0
 * Issue      https://example.com/1
 * Year       2026
 * Seen       It hangs.
 * Mechanism  The worker waits for a semaphore
 *            that nobody posts.
 * Claim      A worker is woken.
 * Shows      asleep asleep asleep */
#include <semaphore.h>

int main(void)
{
	sem_t work;

	sem_init(&work, 0, 0);
#ifdef FIXED
	sem_post(&work);
#endif
	sem_wait(&work);
	return 0;
}
"""


def _toy(folder: Path, text: str = TEXT) -> Exhibit:
    (folder / "toy_1.c").write_text(text, "utf-8")
    (one,) = exhibits.read(folder)
    return one


@pytest.mark.rotates
@pytest.mark.parametrize("name", [one.name for one in EVERY])
def test_an_exhibit_shows_what_it_says_and_its_fix_holds(name: str) -> None:
    (judged,) = run.run(exhibits.read(names=[name]), run.options(120.0))
    assert judged.problems == ()
    assert judged.counterexamples


def test_no_two_exhibits_are_of_one_issue() -> None:
    issues = [one.issue for one in EVERY]
    assert len(set(issues)) == len(issues)


def test_a_file_says_what_it_is_about(tmp_path: Path) -> None:
    one = _toy(tmp_path)
    assert one.title == "nobody says that there is work."
    assert one.mechanism == "The worker waits for a semaphore that nobody posts."
    assert (one.year, one.shows) == (2026, ("asleep",) * 3)
    (judged,) = run.run([one], run.options())
    assert judged.problems == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (" * Seen       It hangs.\n", "", "lacks Seen"),
        ("toy_1.c", "toy_2.c", "lacks a first line `toy_1.c - what is wrong"),
        ("asleep asleep asleep", "asleep asleep", "it has a verdict for SC, TSO and RC11"),
        ("asleep asleep asleep", "asleep asleep lost", "it has a verdict for SC, TSO and RC11"),
        ("asleep asleep asleep", "ended ended ended", "it has a verdict for SC, TSO and RC11"),
        ("https://example.com/1", "a friend told me", "Issue is an address"),
    ],
)
def test_a_file_that_does_not_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(JudgeError, match=said):
        _toy(tmp_path, TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("#ifdef FIXED", "#if 1", "it shows ended ended ended, and says that it shows asleep"),
        ("asleep asleep asleep", "ended asleep asleep", "it shows asleep asleep asleep"),
        ("#ifdef FIXED", "#if 0", "SC: with -DFIXED it shows asleep"),
    ],
)
def test_an_exhibit_that_is_none_has_a_problem(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    (judged,) = run.run([_toy(tmp_path, TEXT.replace(old, new))], run.options())
    assert any(said in problem for problem in judged.problems), judged.problems


@pytest.mark.rotates
@pytest.mark.parametrize("is_fix", [False, True])
def test_a_program_that_is_too_large_is_said_to_be_so(tmp_path: Path, is_fix: bool) -> None:
    """Four threads that each add twelve times to a counter, in the bug or in the fix."""
    many = "static void *f(void *u) { for (int i = 0; i < 12; i++) n++; return u; }"
    starts = "pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, f, 0);"
    joins = "for (int i = 0; i < 4; i++) pthread_join(t[i], 0);"
    headers = "#include <pthread.h>\n#include <semaphore.h>\n#include <stdatomic.h>"
    text = TEXT.replace("#include <semaphore.h>", f"{headers}\nstatic atomic_int n;\n{many}")
    text = text.replace("#ifdef FIXED", f"#if{'def FIXED' if is_fix else ' 1'}\n{starts} {joins}")
    (judged,) = run.run([_toy(tmp_path, text)], run.options(0.5))
    too_large = "it was not explored to its end in time: make the program smaller"
    start = f"SC: with -DFIXED, {too_large}" if is_fix else too_large
    assert judged.problems[0].startswith(start)
    assert judged.verdicts == (("asleep",) * 3 if is_fix else ("-",) * 3)


def test_a_fix_that_cannot_be_explored_is_a_problem_of_its_own(tmp_path: Path) -> None:
    text = TEXT.replace("\tsem_post(&work);", "\tfor (volatile int i = 0; ; i++)\n\t\t;")
    assert text != TEXT
    one = _toy(tmp_path, text)
    judged, after = run.run([one, *exhibits.read(names=["julia_62318"])], run.options())
    (problem,) = judged.problems
    assert problem.startswith("as fixed: ")
    assert "loops for ever" in problem
    assert judged.verdicts == ("asleep",) * 3
    assert after.problems == ()


@pytest.mark.rotates
def test_the_table_tells_what_others_see(tmp_path: Path) -> None:
    """A sleep in every run, a race that costs nothing, and a thread that nobody joins."""
    race = TEXT.replace("asleep asleep asleep", "race race race").replace(
        "int main(void)\n{\n\tsem_t work;\n",
        "#include <pthread.h>\nint ready;\n"
        "static void *f(void *u) { ready = 1; return u; }\nint main(void)\n{\n"
        "\tpthread_t t;\n\tsem_t work;\n",
    )
    race = race.replace(
        "#ifdef FIXED\n\tsem_post(&work);\n#endif\n\tsem_wait(&work);",
        "\tsem_init(&work, 0, 1);\n\tpthread_create(&t, 0, f, 0);\n#ifndef FIXED\n"
        "\tready = 2;\n#endif\n\tpthread_join(t, 0);\n\tsem_wait(&work);",
    )
    head = TEXT.partition("#include")[0].replace(
        "asleep asleep asleep", " ".join(["assertion"] * 3)
    )
    leak = (
        head
        + """#include <pthread.h>
#include <unistd.h>
static void *f(void *u) { return u; }
int main(void) {
	pthread_t t;
	pthread_create(&t, 0, f, 0);
#ifdef FIXED
	return pthread_join(t, 0);
#else
	usleep(20000);
	return 3;
#endif
}
"""
    )
    for text, hits, races in ((TEXT, True, False), (race, False, True), (leak, True, False)):
        (row,) = table.rows([_toy(tmp_path, text)])
        assert row.judged.problems == ()
        assert (row.hits > 0, row.races > 0) == (hits, races)
        assert row.plain.runs > 0
        assert row.sanitized.runs > 0


def test_another_tool_must_tell_the_bug_from_the_fix(tmp_path: Path) -> None:
    one = _toy(tmp_path)
    for script, caught, codes in (
        ("[ \"$1\" ]", True, (1, 0)), ("exit 3", False, (3, 3)), ("exit 0", False, (0, 0)),
        ("[ \"$1\" ] || sleep 9", False, (None, 0)),
    ):  # fmt: skip
        tool = f"sh -c '{script}' {{file}} {{flags}}"
        (found,) = run.by_tool([one], tool, 1.0)
        assert (found.is_caught, (found.shipped, found.fixed)) == (caught, codes)
    for tool, said in (("sh", "has no {file}"), ("no-such-tool {file}", "No such file")):
        with pytest.raises(UsageError, match=said):
            run.by_tool([one], tool)


def test_who_has_made_a_semaphore_does_not_have_it() -> None:
    told = command(MUSEUM, "show", "haproxy_1b32790").stdout
    assert "run_second waits for main, which wakes wakeups+32 in other executions" in told
    assert "which has wakeups" not in told


def test_the_command_line() -> None:
    listed = command(MUSEUM)
    assert listed.returncode == 0
    assert f"{len(EVERY)} bugs of" in listed.stdout
    told = command(MUSEUM, "show", "liburing_541")
    assert told.returncode == 0
    for said in ("github.com/axboe/liburing/issues/541", "sleeps for ever", "poll_ring"):
        assert said in told.stdout
    ended = command(MUSEUM, "table", "liburing_541", "--json")
    (row,) = json.loads(ended.stdout)["table"]
    assert (row["name"], row["plain"]["runs"] > 0, row["thread_sanitizer"]["runs"] > 0) == (
        "liburing_541", True, True,
    )  # fmt: skip
    ended = command(MUSEUM, "run", "liburing_541", "--json")
    found = json.loads(ended.stdout)
    assert (ended.returncode, found["holds"]) == (0, True)
    models = found["exhibits"][0]["models"]
    assert [models[name]["shows"] for name in ("sc", "tso", "rc11")] == ["ended", "asleep",
                                                                         "asleep"]  # fmt: skip
    assert all(one["ms"] > 0 for one in models.values())
    ended = command(MUSEUM, "run", "liburing_541", "--tool", "sh -c 'test $1' {file} {flags}")
    assert "1 of 1 caught" in ended.stdout
    for words, said in (
        (["run", "libuv_5"], "the museum has no libuv_5; it has libuv_50, "),
        (["show"], "show which one?"),
        (["run", "--seconds", "-1", "libuv_50"], "seconds is -1; allowed: 0 to"),
        (["see"], "allowed: run [NAME...], show NAME..., table"),
        (["--tool", "sh {file}"], "--tool is for museum run"),
    ):
        ended = command(MUSEUM, *words)
        assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr
