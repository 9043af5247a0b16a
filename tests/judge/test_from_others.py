# SPDX-License-Identifier: Apache-2.0
"""Tokens and files of others are data: they run nothing, fill no memory, and lead nowhere else."""

from __future__ import annotations

import base64
import json
import os
import resource
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.explore import tokens
from wakeproof.judge.explore.results import Found
from wakeproof.judge.own.program import Program, of_text
from wakeproof.judge.replay import received
from wakeproof.judge.schedules import given as schedules

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)
TEXTS = ["f.c", "name", "", "sc", "auto"]


def packed(value: object) -> str:
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(value).encode())).decode()


def reads(text: str) -> None:
    """Read a token, and what it holds; a refusal is an answer, too."""
    try:
        token = received.decode(text)
        assert received.decode(token.text) == token
        token.explore_options()
        of_text(token.path, token.program)
    except UsageError as error:
        assert "\n" not in str(error)  # noqa: PT017


@settings(max_examples=150, deadline=None)
@given(st.text() | st.binary().map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_any_text_is_a_token_or_is_refused(text: str) -> None:
    reads(text)


@settings(max_examples=250, deadline=None)
@given(st.lists(JSON, max_size=13), JSON, st.booleans(), JSON)
def test_any_fields_are_a_token_or_are_refused(
    fields: list[object], options: object, is_near: bool, program: object
) -> None:
    near = [tokens.VERSION, *TEXTS, options, "", "", "", "", "", json.dumps(program)]
    reads(packed(near if is_near else [tokens.VERSION, *fields]))


@pytest.mark.parametrize(
    "name", ["loop_bound", "preemptions", "seconds", "memory_mb", "orders", "x"]
)
@pytest.mark.parametrize("value", [-1, 10**30, "1", None, [[1]], 1e308, {}])
def test_options_of_a_token_are_checked(name: str, value: object) -> None:
    reads(packed([tokens.VERSION, *TEXTS, {name: value}, "", "", "", "", "", "[]"]))


def test_a_token_starts_no_more_processes_and_takes_no_more_memory_than_there_is() -> None:
    much = {"jobs": 10**6, "max_bytes": 1 << 60}
    fields = [tokens.VERSION, *TEXTS, much, "", "", "", "", "", "[]"]
    options = received.decode(packed(fields)).explore_options()
    assert options.jobs == 1
    assert options.max_bytes <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_a_token_neither_fills_memory_nor_nests_for_ever(tmp_path: Path) -> None:
    compressor = zlib.compressobj(9)
    bomb = b"".join(compressor.compress(b'"' + b"0" * (1 << 24)) for _ in range(16))  # 256 MB
    text = base64.urlsafe_b64encode(bomb + compressor.flush()).decode()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UsageError, match="is no token"):
        received.decode(text)
    (tmp_path / "it.json").write_text(json.dumps({"token": text}), encoding="utf-8")
    with pytest.raises(UsageError, match="is no token"):
        received.load(tmp_path / "it.json")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB
    deep = base64.urlsafe_b64encode(zlib.compress(b"[" * 200_000)).decode()
    with pytest.raises(UsageError, match="is no token"):
        received.decode(deep)


def test_a_saved_file_that_nests_for_ever_is_refused(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(UsageError, match="holds no counterexample"):
        received.load(tmp_path / "it.json")


@pytest.mark.parametrize(
    "flags",
    [
        ["-wrapper", "touch,x"],
        ["-fplugin=./evil.so"],
        ["-fpass-plugin=evil"],
        ["-B/somewhere"],
        ["-B", "/somewhere"],
        ["-specs=evil"],
        ["-o", "x"],
        ["-ox"],
        ["-Wl,-o,x"],
        ["-Wp,-MD,x"],
        ["-Xlinker", "-o"],
        ["-fdump-tree-all=x"],
        ["-fprofile-dir=x"],
        ["-save-temps"],
        ["-MF", "x"],
        ["-Clinker=./evil"],
        ["-C", "linker=./evil"],
        ["@x"],
        ["x"],
        ["-D", "-wrapper", "touch,x"],
        ["-L/somewhere"],
    ],
)
def test_flags_with_which_a_compiler_runs_programs_are_refused(flags: list[str]) -> None:
    text = Program((Path("f.c"),), tuple(flags)).text
    with pytest.raises(UsageError, match="the token asks for the compiler's flag"):
        of_text(Path("f.c"), text)


@pytest.mark.parametrize(
    "flags",
    [
        ["-DN=3", "-D", "M", "-U", "X", "-Iinclude", "-I", "include", "-std=gnu11", "-O2", "-g3"],
        ["-Wall", "-Wno-unused", "-Wformat=2", "-pthread", "-lm", "-fno-strict-aliasing"],
        ["-mcx16", "-march=x86-64-v2", "-include", "a.h", "-fsanitize=thread", "-x", "c"],
        ["--cfg", "loom", "--edition=2018", '-DTEXT="a b"'],
    ],
)
def test_usual_flags_of_a_token_pass(flags: list[str]) -> None:
    program = Program((Path("f.c"), Path("g.c")), tuple(flags), ("a",))
    assert of_text(Path("f.c"), program.text) == program


@pytest.mark.parametrize("token", ["0x99999999999", "0x9.1x9999999999", "0" * 5000, "\u0661"])
def test_a_schedule_of_others_fills_no_memory(token: str) -> None:
    with pytest.raises(UsageError, match="replay: "):
        schedules.of_token(token)


def test_a_name_in_a_token_leads_into_no_other_folder(tmp_path: Path) -> None:
    values = dict.fromkeys(tokens.Token.__dataclass_fields__, "")
    token = tokens.Token(**{**values, "name": "../../up", "model": "/sc", "options": {}})  # type: ignore[arg-type]
    saved = tokens.save(token, Found("", "", 1, ()), tmp_path / "in")
    assert saved.parent == tmp_path / "in"
    assert saved.resolve().parent == tmp_path.resolve() / "in"


def test_a_file_is_written_through_no_link_of_others(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("old", encoding="utf-8")
    part = tmp_path / f".out.{os.getpid()}-{threading.get_ident()}.part"
    part.symlink_to(tmp_path / "victim")
    locations.write_atomically(tmp_path / "out", "new")
    assert (tmp_path / "victim").read_text(encoding="utf-8") == "old"
    assert (tmp_path / "out").read_text(encoding="utf-8") == "new"
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    locations.write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "victim").read_text(encoding="utf-8") == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"victim", "out", "link"}


FULL = """
import os, sys, pathlib
from wakeproof import locations
target = pathlib.Path(sys.argv[1])
locations.write_atomically(target, "old")
try:
    locations.write_atomically(target, "x" * (1 << 20))
except OSError as error:
    print(error.filename, error.strerror, target.read_text(), os.listdir(target.parent))
"""


def on_small_disk(folder: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the shell in a folder of 256 kB, which nobody else sees."""
    mounted = f'mount -t tmpfs -o size=256k tmpfs "$0" && cd "$0" && {script}'
    ended = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, folder, *words],
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    if "unshare:" in ended.stderr and os.environ.get("WAKEPROOF_CI") != "1":
        pytest.skip(f"not run: {ended.stderr}")
    return ended


def test_a_full_disk_leaves_the_old_file_and_nothing_half_written(tmp_path: Path) -> None:
    ended = on_small_disk(tmp_path, f'{sys.executable} -c "$1" "$0/out"', FULL)
    assert ended.stdout == f"{tmp_path}/out No space left on device old ['out']\n", ended.stderr


LOSES = """
#include <assert.h>
#include <pthread.h>
static int x;
static void *adds(void *arg) { x++; return arg; }
int main(void)
{
	pthread_t other;
	pthread_create(&other, 0, adds, 0);
	x++;
	pthread_join(other, 0);
	assert(x == 2);
	return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("explore bad.c --model sc --html page.html", "page.html"),
        ("explore bad.c --model sc --junit found.xml", "found.xml"),
        ("explore bad.c --model sc --sarif found.sarif", "found.sarif"),
        ("explore bad.c --model sc --save saved", "saved/"),
        ("stress bad.c --seconds 0.1 --junit found.xml", "found.xml"),
    ],
)
def test_a_command_says_in_a_line_which_result_a_full_disk_does_not_take(
    tmp_path: Path, command: str, name: str
) -> None:
    fills = 'printf %s "$1" >bad.c; head -c 300000 /dev/zero >fill 2>/dev/null'
    script = f"{fills}; {sys.executable} -m wakeproof {command} >/dev/null; echo $?; find . -type f"
    ended = on_small_disk(tmp_path, script, LOSES)
    assert ended.stderr.startswith(f"wakeproof: {name}"), ended.stderr
    assert ended.stderr.endswith(": No space left on device\n")
    assert ended.stderr.count("\n") == 1
    assert ended.stdout.splitlines()[0] == "3"
    assert set(ended.stdout.splitlines()[1:]) == {"./bad.c", "./fill"}
