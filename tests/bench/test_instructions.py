# SPDX-License-Identifier: Apache-2.0
"""Counted instructions: the same each time, and more where a tree does more.

Serves no spec: docs/inside/performance.md.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from tests.support.cases import COMPILES

from wakeproof import locations
from wakeproof.bench import instructions
from wakeproof.bench.instructions import Count, compared
from wakeproof.cli.bench import bench as command
from wakeproof.errors import EXIT_HOLDS, EXIT_VIOLATED, UsageError
from wakeproof.judge.process import Children

PUSH = "WP_API_INLINE void wp_mpsc_push("
LOCKED = platform.machine() == "x86_64"
MORE = '__asm__ __volatile__("nop\\n\\tlock orl $0, (%%rsp)" ::: "memory", "cc");\n'
if not LOCKED:
    MORE = '__asm__ __volatile__("nop\\n\\tnop");\n'  # 2 of 17: over 2 %

pytestmark = [
    *COMPILES,
    pytest.mark.skipif(
        shutil.which("valgrind") is None and os.environ.get("WAKEPROOF_CI") != "1",
        reason="not run: install valgrind",
    ),
]


@pytest.fixture
def children() -> Iterator[Children]:
    with Children() as made:
        yield made


@pytest.fixture
def slower(tmp_path: Path) -> Path:
    """Copy what the bench is built from; a push takes two instructions more, one of them locked."""
    for name in ("Makefile", "pyproject.toml", "bench", "kernel", "tools", "examples"):
        whole = locations.sources() / name
        (shutil.copytree if whole.is_dir() else shutil.copy)(whole, tmp_path / name)
    header = tmp_path / "kernel" / "queue" / "mpsc.h"
    text = header.read_text(encoding="utf-8")
    assert text.count(PUSH) == 1
    at = text.index("{\n", text.index(PUSH)) + 2
    header.write_text(f"{text[:at]}\t{MORE}{text[at:]}", encoding="utf-8")
    return tmp_path


def test_a_tree_that_does_more_is_seen_in_each_row_that_does_it(
    children: Children, slower: Path
) -> None:
    pushes, other = compared(children, ["one_batch", "stack"], slower, locations.sources())
    assert pushes.before is not None
    assert pushes.now - pushes.before == pytest.approx(2, abs=0.05)  # a push for each operation
    assert (pushes.is_more, other.is_more) == (True, False)
    if LOCKED:
        assert pushes.locked == pytest.approx(2, abs=0.05)
        assert pushes.locked_before == pytest.approx(1, abs=0.05)
        assert (other.locked, other.locked_before) == (0, 0)
    assert other.change == 0


def test_a_count_is_the_same_each_time(children: Children) -> None:
    first, second = (compared(children, ["vthread_turns"], locations.sources()) for _ in range(2))
    assert first[0].now == pytest.approx(second[0].now, rel=0.01)


def test_a_revision_is_built_and_counted() -> None:
    (count,) = instructions.counts("^stack$", "HEAD")
    assert count.before is not None
    assert 1 < count.before < 100
    assert not count.is_more


def test_the_newest_release_is_the_last_tag_before_this_commit(
    children: Children, tmp_path: Path
) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=some", "-c", "user.email=some@some.where")
        assert children.run(["git", "-C", str(tmp_path), *who, *words]).code == 0

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "one")
    assert instructions.newest_release(children, tmp_path) == ""
    git("tag", "v0.1.0")
    git("commit", "-q", "--allow-empty", "-m", "two")
    git("tag", "v0.2.0")
    git("commit", "-q", "--allow-empty", "-m", "three")
    git("tag", "other")
    assert instructions.newest_release(children, tmp_path) == "v0.2.0"


def test_no_row_takes_more_than_in_the_last_release(children: Children) -> None:
    if not (release := instructions.newest_release(children)):
        pytest.skip("there is no release to compare with")
    assert [count for count in instructions.counts(None, release) if count.is_more] == []


@pytest.mark.parametrize(("now", "is_more"), [(101.9, False), (102.1, True), (50.0, False)])
def test_two_percent_more_are_allowed(now: float, is_more: bool) -> None:
    assert Count("a row", now, 100.0).is_more == is_more


@pytest.mark.parametrize(
    ("locked", "before", "is_more"),
    [
        (2.0, 1.0, True),
        (1.04, 1.0, False),
        (1.0, 2.0, False),
        (2.0, None, False),
        (None, 1.0, False),
    ],
)
def test_a_locked_instruction_more_is_too_much(
    locked: float | None, before: float | None, is_more: bool
) -> None:
    assert Count("a row", 1000.0, 1000.0, locked, before).is_more == is_more


def test_a_change_is_printed_and_decides(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = (Count("a push", 19.0, 17.0, 2.0, 1.0), Count("a pop", 5.0, 5.0))
    monkeypatch.setattr(instructions, "counts", lambda *_: found)
    with pytest.raises(typer.Exit) as ended:
        command(["instructions", "v9"])
    assert ended.value.exit_code == EXIT_VIOLATED
    lines = {
        line.split("  ")[0].strip(): line.split() for line in capsys.readouterr().out.splitlines()
    }
    assert lines["a push"][2:] == ["19.0", "2.0", "17.0", "+11.8%", "1.0", "more"]
    assert lines["a pop"][2:] == ["5.0", "-", "5.0", "+0.0%", "-"]
    monkeypatch.setattr(instructions, "counts", lambda *_: (Count("a push", 19.0),))
    with pytest.raises(typer.Exit) as ended:
        command(["instructions"])
    assert ended.value.exit_code == EXIT_HOLDS


def test_what_is_no_row_or_no_revision_is_named() -> None:
    with pytest.raises(UsageError, match=r"no counted row matches 'nothing'; there are one_batch"):
        instructions.counts("nothing")
    with pytest.raises(UsageError, match=r"'nothing' is no revision: fatal"):
        instructions.counts("stack", "nothing")
