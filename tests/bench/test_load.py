# SPDX-License-Identifier: Apache-2.0
"""The load generator: the time from which a request counts, and that no answer is forgotten.

Serves no spec: docs/inside/bench-http.md, ``bench/http/client.h``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.compiling import BUILDS, WARNINGS
from tests.support.running import run

from wakeproof.bench import program
from wakeproof.bench.web import sample, servers
from wakeproof.bench.web.running import Running
from wakeproof.judge.process import Children

pytestmark = pytest.mark.slow
TOY = Path(__file__).parents[1] / "programs" / "bench" / "toy_proxy.py"
RATE, SECONDS, CONNECTIONS = 500, 0.6, 4
COUNTED = int(RATE * SECONDS)
LATE_NS = 100_000_000


@pytest.fixture
def children() -> Iterator[Children]:
    with Children() as found:
        yield found


def compile_load(folder: Path, kind: str = "plain", here: Path | None = None) -> Path:
    here = here or program.folder() / "http"
    compiler = os.environ.get("CC", "cc").split()
    made = folder / f"load-{kind}"
    flags = ("-std=c11", *BUILDS[kind], *WARNINGS, "-pthread")
    built = run(compiler, *flags, *sorted(here.glob("*.c")), "-o", made)
    if "libclang_rt" in built.stderr:
        pytest.skip("not run: install the sanitizers of clang (libclang-rt-dev)")
    assert built.returncode == 0, built.stderr
    return made


def ask(children: Children, load: Path, how: str, *options: str) -> dict[str, Any]:
    cpus = tuple(os.sched_getaffinity(0))
    no_aslr = ["setarch", "-R"] if "thread" in load.name and shutil.which("setarch") else []
    with Running(children, [sys.executable, str(TOY), "--how", how], cpus) as toy:
        command = [*no_aslr, str(load), toy.address(), "--connections", str(CONNECTIONS),
                   "--warmup", "0.1", "--seconds", str(SECONDS), *options]  # fmt: skip
        ended = run(command)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[:2] == ["measuring", "measured"]
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[2])
    return found


def late(found: dict[str, Any]) -> int:
    return sum(count for ns, count in found["latency"] if ns >= LATE_NS)


def test_a_stall_is_charged_for_every_request_that_was_due_meanwhile(
    children: Children, tmp_path: Path
) -> None:
    # 300 ms at 500 a second: requests that are due in the first 200 ms wait at least 100.
    found = ask(children, compile_load(tmp_path), "stalls", "--rate", str(RATE))
    assert late(found) >= 50
    assert sum(count for _, count in found["latency"]) == found["answered"] == COUNTED
    if servers.can_sort():  # HdrHistogram is installed
        assert sample.percentiles_ms(found["latency"])[2] >= 100


def test_counted_from_the_send_a_stall_hides_as_the_twin_shows(
    children: Children, tmp_path: Path
) -> None:
    copy = shutil.copytree(program.folder() / "http", tmp_path / "http")
    text = (copy / "client.c").read_text()
    assert text.count("conn->due_ns = due;") == 1
    (copy / "client.c").write_text(text.replace("conn->due_ns = due;", "conn->due_ns = now;"))
    found = ask(children, compile_load(tmp_path, here=copy), "stalls", "--rate", str(RATE))
    assert late(found) <= 5 * CONNECTIONS  # one per connection, and the delays of the machine


@pytest.mark.parametrize("kind", ["address", "thread"])
def test_saturating_asks_as_often_as_it_is_answered_whatever_the_parts(
    children: Children, tmp_path: Path, kind: str
) -> None:
    found = ask(children, compile_load(tmp_path, kind), "in parts", "--threads", "2",
                "--inflight", "2")  # fmt: skip
    assert found["answered"] > 0
    assert (found["errors"], found["unanswered"], found["lag"]) == (0, 0, [])
    assert found["latency"][0][0] >= 10_000_000  # the second part comes 10 ms later


@pytest.mark.parametrize("how", ["refuses", "closes"])
def test_what_is_no_answer_is_an_error_and_the_connection_is_opened_again(
    children: Children, tmp_path: Path, how: str
) -> None:
    found = ask(children, compile_load(tmp_path), how, "--rate", str(RATE))
    assert found["errors"] == COUNTED if how == "refuses" else found["errors"] >= 20
    assert found["answered"] + found["errors"] + found["unanswered"] == COUNTED


def test_what_is_never_answered_is_as_late_as_the_end(children: Children, tmp_path: Path) -> None:
    found = ask(children, compile_load(tmp_path), "is silent", "--rate", str(RATE), "--drain", "0")
    # One per connection went out before the warm-up was over; the others were never sent.
    assert (found["answered"], found["errors"], found["unanswered"]) == (0, 0, COUNTED)
    assert sum(count for _, count in found["latency"]) == COUNTED


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["127.0.0.1:1"], "cannot connect: Connection refused"),
        (["localhost:80"], "not an IPv4 address"), (["1"], "not HOST:PORT"), ([], "usage"),
        (["127.0.0.1:1", "--rate", "fast"], "rate: not such a number"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_one_line(
    children: Children, words: list[str], message: str
) -> None:
    load = servers.load(children)
    ended = run([str(load), *words])
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert message in ended.stderr


def test_a_histogram_tells_each_time_to_a_thousandth(tmp_path: Path) -> None:
    values = [0, 1, 2047, 2048, 2049, 4095, 4096, 123_457, 99_999_999, 2**40 - 1]
    source = tmp_path / "histogram.c"
    source.write_text(
        '#include "histogram.h"\nint main(void)\n{\n\tstatic histogram of;\n'
        + "".join(f"\thistogram_add(&of, {value}LL);\n" for value in values)
        + "\thistogram_print(&of);\n\treturn 0;\n}\n"
    )
    program_ = tmp_path / "histogram"
    include = f"-I{program.folder() / 'http'}"
    subprocess.run(["cc", "-std=c11", include, str(source), "-o", str(program_)], check=True)
    found = json.loads(subprocess.run([program_], capture_output=True, check=True).stdout)
    told = [ns for ns, count in found for _ in range(count)]
    assert all(abs(ns - value) <= value / 1000 for ns, value in zip(told, values, strict=True))
