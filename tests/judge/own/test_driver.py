# SPDX-License-Identifier: Apache-2.0
"""`wakeproof cc` builds a project whose programs `wakeproof explore` takes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.own import driver

Command = Callable[..., "subprocess.CompletedProcess[str]"]
QUEUE = """#include <stdatomic.h>
static atomic_int n;
#ifdef BUG
int next(void) { int now = n; n = now + 1; return now; }
#else
int next(void) { return n++; }
#endif
"""
TEST = """#include <assert.h>
#include <pthread.h>
int next(void);
static void *take(void *unused) { return (void *)(long)next(); }
int main(void) {
    pthread_t taker;
    void *other;
    int mine;
    pthread_create(&taker, NULL, take, NULL);
    mine = next();
    pthread_join(taker, &other);
    assert(mine + (long)other == 1);
    return 0;
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "queue.c").write_text(QUEUE, "utf-8")
    (tmp_path / "test.c").write_text(TEST, "utf-8")
    return tmp_path


def _steps(project: Path, bug: str) -> list[list[str]]:
    """Return what a build of objects, an archive and a program does."""
    here = str(project)
    return [
        ["-O2", *([bug] if bug else []), "-c", f"{here}/queue.c", "-o", f"{here}/queue.o"],
        ["-c", "-o", f"{here}/test.o", f"{here}/test.c"],
        ["-o", f"{here}/program", f"{here}/test.o", f"-L{here}", "-lqueue", "-pthread"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("bug", "status"), [("", "held"), ("-DBUG", "violated")])
def test_what_a_build_links_is_explored(
    wakeproof: Command, project: Path, bug: str, status: str
) -> None:
    objects, test, link = _steps(project, bug)
    for step in (objects, test):
        assert wakeproof("cc", *step).returncode == 0
    archive = ["ar", "rcs", str(project / "libqueue.a"), str(project / "queue.o")]
    subprocess.run(archive, check=True)
    assert wakeproof("cc", *link).returncode == 0
    for given in ([project / "program"], [project / "test.o", project / "libqueue.a"]):
        said = wakeproof("explore", *map(str, given), "--json", "--save", str(project)).stdout
        (found,) = json.loads(said)["scenarios"]
        assert found["status"] == status
        assert found["name"] == ("program" if len(given) == 1 else "test")


def test_sources_may_be_compiled_and_linked_at_once(wakeproof: Command, project: Path) -> None:
    files = [str(project / "test.c"), str(project / "queue.c")]
    built = project / "program"
    assert wakeproof("cc", "-D", "BUG=1", "-o", str(built), *files, "-pthread").returncode == 0
    assert [file.name for file in driver.linked(built)] == ["program-test.c.o", "program-queue.c.o"]
    assert wakeproof("explore", str(built), "--save", str(project)).returncode == 1


def test_a_build_whose_compiler_is_wakeproof_does_not_call_itself(
    wakeproof: Command, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``make CC="wakeproof cc"`` has that in the environment of each command."""
    monkeypatch.setenv("CC", "/bin/false/wakeproof cc")
    step = ["-c", str(project / "queue.c"), "-o", str(project / "queue.o")]
    assert wakeproof("cc", *step).returncode == 0


def test_a_mistake_is_the_compilers(wakeproof: Command, project: Path) -> None:
    (project / "queue.c").write_text("int next(void) { return x; }", "utf-8")
    ended = wakeproof("cc", "-c", str(project / "queue.c"), "-o", str(project / "queue.o"))
    assert ended.returncode == 1
    assert "undeclared" in ended.stderr
    assert not (project / "queue.o").exists()


def test_an_object_that_is_gone_is_named(wakeproof: Command, project: Path) -> None:
    files = [str(project / "test.c"), str(project / "queue.c")]
    built = project / "program"
    assert wakeproof("cc", "-o", str(built), *files, "-pthread").returncode == 0
    (project / "program-queue.c.o").unlink()
    with pytest.raises(UsageError, match=r"program-queue\.c\.o, which is gone: build it again"):
        driver.linked(built)


def test_the_preprocessor_and_the_version_go_to_the_output(
    wakeproof: Command, project: Path
) -> None:
    """A configure script reads them there."""
    text = wakeproof("cc", "-E", str(project / "queue.c")).stdout
    assert "int next(void) { return n++; }" in text
    assert wakeproof("cc", "-dumpversion").stdout.strip()


@pytest.mark.parametrize(("given", "said"), [
    (("program", "--", "-DX=1"), "-DX=1 is for sources, and "),
    (("--cargo", "adds", "--arg", "one"), "--cargo takes no -I, --arg or --volatile"),
])  # fmt: skip
def test_what_nothing_would_take_is_refused(
    wakeproof: Command, project: Path, given: tuple[str, ...], said: str
) -> None:
    (project / "program").touch()
    (project / "program.wakeproof").write_text('{"files": []}', "utf-8")
    words = [str(project / word) if word == "program" else word for word in given]
    ended = wakeproof("explore", *words)
    assert ended.returncode == 2
    assert said in ended.stderr
