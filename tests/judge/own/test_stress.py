# SPDX-License-Identifier: Apache-2.0
"""Programs on real cores: each bad end is named, and a sleep for ever is proven."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.own import CXX
from tests.support.running import run

from wakeproof.errors import UsageError
from wakeproof.judge.own import repeat as own
from wakeproof.judge.own.program import Program
from wakeproof.judge.own.repeat import A_THREAD, End, RepeatReport
from wakeproof.judge.stress.options import StressOptions

STRESS = (sys.executable, "-m", "wakeproof", "stress")
ONCE = StressOptions(mode="sanity", opt=("O2",), delayed=False)
HEAD = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static atomic_int work;
"""


def _repeated(
    folder: Path, text: str, *flags: str, options: StressOptions = ONCE, suffix: str = ".c"
) -> RepeatReport:
    file = folder / f"mine{suffix}"
    file.write_text(HEAD + text, "utf-8")
    return own.repeat([Program((file,), flags, ("one", "two"))], options, seed=7)


def _end(report: RepeatReport) -> End:
    """Return the one way in which all runs have ended."""
    ((runs,),) = (one.builds for one in report.programs)
    (end,) = runs.ends
    assert (end.runs, runs.others) == (runs.runs, 0)
    assert runs.runs >= own.LEAST
    return end


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "kind", "code", "printed"),
    [
        ('int main(int n, char **a) { printf("%d %s", n, a[2]); return 0; }', "exited", 0,
         "3 two"),
        ('int main(void) { fprintf(stderr, "bad"); return 4; }', "exited", 4, "bad"),
        ("int main(void) { abort(); }", "killed", signal.SIGABRT, ""),
        ("int main(void) { *(volatile int *)8 = 1; return 0; }", "killed", signal.SIGSEGV, ""),
        ("static void bye(void) { puts(\"bye\"); }"
         "int main(void) { atexit(bye); return 0; }", "exited", 0, "bye"),
    ],
)  # fmt: skip
def test_each_end_is_named(tmp_path: Path, text: str, kind: str, code: int, printed: str) -> None:
    report = _repeated(tmp_path, text)
    end = _end(report)
    assert (end.kind, end.code, end.printed) == (kind, code, printed)
    assert report.ok() == ((kind, code) == ("exited", 0)) == (not report.programs[0].messages)


WAITS = """
static void *waits(void *a) {
    pthread_mutex_lock(&mutex);
    while (!work) pthread_cond_wait(&has_work, &mutex);
    pthread_mutex_unlock(&mutex);
    return a;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, waits, NULL);
    %s
    pthread_join(t, NULL);
    return 0;
}
"""


def test_threads_that_sleep_for_ever_are_proven_to(tmp_path: Path) -> None:
    started = time.monotonic()
    end = _end(_repeated(tmp_path, WAITS % ""))
    assert end.kind == "asleep"
    assert sorted(end.sleeps_on) == ["has_work", A_THREAD]
    assert time.monotonic() - started < own.LEAST * own.LIMIT_S


@pytest.mark.rotates
@pytest.mark.parametrize(
    "sleeps",
    [
        "nanosleep(&(struct timespec){0, 300000000}, NULL);",
        "usleep(300000);",
        "struct timespec until; clock_gettime(CLOCK_REALTIME, &until); until.tv_sec++;"
        "pthread_cond_t never = PTHREAD_COND_INITIALIZER; pthread_mutex_lock(&mutex);"
        "pthread_cond_timedwait(&never, &mutex, &until); pthread_mutex_unlock(&mutex);",
        "int p[2]; char c; (void)!pipe(p); alarm(1); (void)!read(p[0], &c, 1);",
    ],
)
def test_who_may_still_wake_is_no_sleep_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sleeps: str
) -> None:
    """The last one is woken by a signal; nothing shows that none will come."""
    monkeypatch.setattr(own, "LEAST", 3)
    wakes = "pthread_mutex_lock(&mutex), work = 1, pthread_cond_signal(&has_work);"
    end = _end(_repeated(tmp_path, WAITS % f"{sleeps} {wakes} pthread_mutex_unlock(&mutex);"))
    expected = ("killed", signal.SIGALRM) if "alarm" in sleeps else ("exited", 0)
    assert (end.kind, end.code) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "goes_on", ["work = 1;", 'puts("again");', "close(1), close(2), sleep(1);"]
)
def test_a_run_that_does_not_end_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes_on: str
) -> None:
    """Whether it prints nothing, prints on and on, or has closed what it prints to."""
    monkeypatch.setattr(own, "LIMIT_S", 0.3)
    report = _repeated(tmp_path, f"int main(void) {{ for (;;) {{ {goes_on} }} }}")
    (end,) = report.programs[0].builds[0].ends
    assert (end.kind, end.runs) == ("unfinished", 3)  # after three it gives up
    assert "does not end in 0.3 s" in report.programs[0].messages[0]


def test_a_run_that_closed_its_output_is_still_seen_to_sleep(tmp_path: Path) -> None:
    waits = "pthread_mutex_lock(&mutex); pthread_cond_wait(&has_work, &mutex);"
    end = _end(_repeated(tmp_path, f"int main(void) {{ close(1); close(2); {waits} }}"))
    assert end.kind == "asleep"


def test_who_holds_the_output_of_a_run_does_not_delay_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child of the run lives on, longer than a run may take, and has its output open."""
    monkeypatch.setattr(own, "LIMIT_S", 2)
    report = _repeated(
        tmp_path,
        'int main(void) { if (!fork()) { sleep(5); _exit(0); } puts("parent"); return 4; }',
    )
    end = _end(report)
    assert (end.kind, end.code, end.printed) == ("exited", 4, "parent")


NARROW = """
static void *gives(void *a) { work = 1; pthread_cond_signal(&has_work); return a; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, gives, NULL);
    pthread_mutex_lock(&mutex);
    while (!work) pthread_cond_wait(&has_work, &mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(t, NULL);
    return 0;
}
"""


def test_delays_find_a_window_that_is_narrow(tmp_path: Path) -> None:
    """The signal must come between the look at `work` and the wait."""
    options = StressOptions(seconds=4.0, opt=("O2",), plain=False)
    report = _repeated(tmp_path, NARROW, options=options)
    (runs,) = report.programs[0].builds
    kinds = {end.kind: end for end in runs.ends}
    assert runs.build == "O2 delayed"
    assert kinds["asleep"].sleeps_on == ("has_work",)
    assert kinds["exited"].runs > kinds["asleep"].runs


def test_a_sanitizer_sees_a_race(tmp_path: Path) -> None:
    text = """
    static int n;
    static void *adds(void *a) { n++; return a; }
    int main(void) {
        pthread_t t;
        pthread_create(&t, NULL, adds, NULL);
        n++;
        pthread_join(t, NULL);
        return 0;
    }
    """
    with_tsan = StressOptions(mode="sanity", opt=("O1",), delayed=False, sanitizer="thread")
    report = _repeated(tmp_path, text, options=with_tsan)
    assert any("data race" in message for message in report.programs[0].messages)
    assert _repeated(tmp_path, text).ok()  # ten runs without it show nothing


@CXX
def test_a_program_in_cxx_is_repeated(tmp_path: Path) -> None:
    text = """
    #include <thread>
    #include <iostream>
    int main() {
        std::thread t([] { work++; });
        t.join();
        std::cout << work << STEP;
        return 0;
    }
    """.replace("work", "n")
    file = tmp_path / "mine.cpp"
    file.write_text(f"#include <atomic>\nstatic std::atomic<int> n;\n{text}", "utf-8")
    options = StressOptions(mode="sanity", opt=("O2",))
    report = own.repeat([Program((file,), ("-std=c++20", "-DSTEP=5"))], options, seed=1)
    plain, delayed = report.programs[0].builds
    for runs in (plain, delayed):
        assert [(end.kind, end.printed) for end in runs.ends] == [("exited", "15")]


@pytest.mark.parametrize("name", ["mine.rs", "mine.o"])
def test_what_cannot_be_repeated_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(b"")
    with pytest.raises(UsageError, match=name):
        own.repeat([Program((file,))], ONCE, seed=1)


def test_the_command_line_tells_programs_from_scenarios(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(HEAD + WAITS % "", "utf-8")
    (tmp_path / "race.c").write_text('#include "stress.h"\nSTRESS_TEST(a);\n', "utf-8")
    arguments = ("--mode", "sanity", "--opt", "O2", "--seed", "3")
    ended = run(STRESS, "mine.c", *arguments, "--json", "--junit", "found.xml", cwd=tmp_path)
    assert ended.returncode == 1, ended.stderr
    (program,) = json.loads(ended.stdout)["report"]["programs"]
    assert (program["status"], len(program["builds"])) == ("violated", 2)
    (case,) = ElementTree.parse(tmp_path / "found.xml").getroot()
    failure = case.find("failure")
    assert failure is not None
    assert "asleep for ever" in failure.attrib["message"]
    for files, said in (
        (["mine.c", "race.c"], "race.c declares scenarios and mine.c belongs to a program"),
        (["race.c", "--", "-DN"], "-DN is for programs with a main, and there is none"),
        (["none.c"], "none.c"),
    ):
        ended = run(STRESS, *arguments, *files, cwd=tmp_path)
        assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


def test_ctrl_c_leaves_no_run_behind(tmp_path: Path) -> None:
    file = tmp_path / "unending.c"
    file.write_text("int main(void) { for (;;) ; }", "utf-8")
    with (tmp_path / "said").open("w") as said:
        child = subprocess.Popen(
            [*STRESS, str(file), "--opt", "O2", "--plain"], start_new_session=True,
            stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def repeated() -> list[str]:
        found = []
        for of in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                text = of.read_bytes().decode(errors="replace")
            except OSError:
                continue
            found += [text] if "unending-O2/repeated" in text else []
        return found

    until = time.monotonic() + 240
    while len(repeated()) < 2 and child.poll() is None and time.monotonic() < until:
        time.sleep(0.1)  # until there are the engine and a run
    assert len(repeated()) >= 2, (child.poll(), (tmp_path / "said").read_text("utf-8"))
    os.kill(child.pid, signal.SIGINT)
    assert child.wait(timeout=60) != 0
    while repeated() and time.monotonic() < until + 60:
        time.sleep(0.1)
    assert not repeated()
