# SPDX-License-Identifier: Apache-2.0
"""Dumps of virtual threads in C: specs/inspect/Dump.tla.

programs/inspect/dump.c and dump_made.c run one case and print it.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support import fibers
from tests.support.cases import COMPILES, EACH_BUILD, Compiled
from tests.support.dumps import checked, functions
from tests.support.running import run

from wakeproof import locations

pytestmark = COMPILES
PARKED = 1000
MORE = ("-rdynamic",)


def output(command: list[str], case: str) -> str:
    ended = run(command, case)
    assert (ended.stderr, ended.returncode) == ("", 0), ended.stdout[-2000:]
    return ended.stdout


def dumps(text: str) -> list[dict[str, Any]]:
    """Return the dumps, one after the other."""
    found, at = [], 0
    while at < len(text):
        one, end = json.JSONDecoder().raw_decode(text, at)
        found.append(checked(one))
        at = end + 1
    return found


def each_state_is_shown(command: list[str]) -> None:
    (dump,) = dumps(output(command, "states"))
    (root,) = dump["threadContainers"]
    said = {thread["name"]: thread for thread in root["threads"]}
    shown = {name: (one["state"], one["home"], one["carrier"]) for name, one in said.items()}
    assert shown == {
        "parked": ("parked", "carrier-0", None),
        "pinned": ("pinned", "carrier-0", "carrier-0"),
        "running": ("running", "carrier-1", "carrier-1"),
        "given": ("given", "carrier-0", None),
        "unstarted": ("new", "carrier-0", None),
        "step": ("parked", "carrier-0", None),
        "another": ("parked", "carrier-0", None),
    }  # neither the ended one nor the one that was given back unstarted
    assert len({thread["tid"] for thread in root["threads"]}) == len(said) == len(root["threads"])
    stack = functions(said["parked"]["stack"])
    at = stack.index("parks_here")
    assert stack[at : at + 5] == ["parks_here", *["parks_deep"] * 3, "parks_below"]
    assert 0 < said["parked"]["stackUsed"] < said["parked"]["stackSize"] < 65536
    runs = {one["carrier"]: one["thread"] for one in dump["carriers"]}
    assert runs == {"carrier-0": said["pinned"]["tid"], "carrier-1": said["running"]["tid"]}


def text_says_the_same(command: list[str]) -> None:
    text = output(command, "text")
    assert re.search(r'^#\d+ "running" virtual, running on carrier-1, home carrier-1$', text, re.M)
    assert re.search(r"^    parks_deep\+0x[0-9a-f]+ \(dump-\w+\)$", text, re.M)
    assert "7 threads, 7 listed; by stack:" in text


def they_are_grouped_by_stack_and_listed_up_to_a_limit(command: list[str]) -> None:
    by_threads, by_bytes = dumps(output(command, "same"))
    for dump in (by_threads, by_bytes):
        (same,) = dump["stacks"]
        assert (same["count"], same["state"]) == (str(PARKED), "parked")
        assert same["names"] == ["same-0", "same-1", "same-2", "same-3"]
        assert "parks_deep" in functions(same["stack"])
        assert dump["others"] == "0"
        assert dump["threadContainers"][0]["threadCount"] == str(PARKED)
    assert len(by_threads["threadContainers"][0]["threads"]) == 10
    assert 0 < len(by_bytes["threadContainers"][0]["threads"]) < 20
    assert by_bytes["threadContainers"][0]["container"] == 'a "b"'


def a_carrier_runs_what_its_spare_runs(command: list[str]) -> None:
    shown = [
        {one["name"]: (one["state"], one["carrier"])
         for one in dump["threadContainers"][0]["threads"]}
        for dump in dumps(output(command, "spare"))
    ]  # fmt: skip
    assert shown == [
        {"stuck": ("pinned", None), "busy": ("running", "carrier-0")},
        {"stuck": ("running", "carrier-0")},
    ]


def stacks_beyond_the_table_are_counted_together(command: list[str]) -> None:
    (dump,) = dumps(output(command, "stacks"))
    assert len(dump["stacks"]) == 1024
    assert dump["others"] == "76"
    assert dump["threadContainers"][0]["threadCount"] == "1100"


def names_are_escaped_and_what_is_no_text_is_replaced(command: list[str]) -> None:
    (dump,) = dumps(output(command, "names"))
    names = [thread["name"] for thread in dump["threadContainers"][0]["threads"]]
    assert names == ['say "hi"\\', "tab\tbell\a\x7f", "h\xe9", "cut \ufffd\ufffd", "\ufffd\ufffd",
                     ""]  # fmt: skip


@EACH_BUILD
def test_a_dump_says_what_each_thread_does_and_where(compiled: Compiled, build: str) -> None:
    command = compiled("dump", build, *MORE)
    each_state_is_shown(command)
    text_says_the_same(command)
    they_are_grouped_by_stack_and_listed_up_to_a_limit(command)
    a_carrier_runs_what_its_spare_runs(command)
    stacks_beyond_the_table_are_counted_together(command)
    names_are_escaped_and_what_is_no_text_is_replaced(command)
    assert output(command, "full") == "", "a write that fails ends it"
    assert output(command, "churn") == "", "no stack is made of two while threads come and go"


@EACH_BUILD
def test_a_dump_may_be_made_while_threads_are(compiled: Compiled, build: str) -> None:
    assert output(compiled("dump_made", build), "made") == ""


def test_the_twin_that_forgets_registers_loses_frames(compiled: Compiled) -> None:
    with pytest.raises(AssertionError, match="parks_deep"):
        each_state_is_shown(compiled("dump", "plain", *MORE, "-DWP_TWIN_unwind_forgets"))


@pytest.mark.rotates
def test_frames_are_found_on_aarch64(tmp_path: Path) -> None:
    fibers.needs_aarch64()
    program, sources = tmp_path / "dump-aarch64", locations.sources()
    kernel = locations.kernel_files("cS")
    flags = ("-std=c11", "-O1", "-pthread", f"-I{sources / 'kernel'}", "-o", program)
    fibers.cc(
        fibers.AARCH64, sources / "tests/programs/inspect/dump.c", *kernel, *flags, cwd=tmp_path
    )
    (dump,) = dumps(output(["qemu-aarch64", str(program)], "states"))
    (stack,) = (
        one["stack"] for one in dump["threadContainers"][0]["threads"] if one["name"] == "parked"
    )
    found = subprocess.run(
        ["aarch64-linux-gnu-addr2line", "-f", "-e", str(program), *stack],
        check=True, capture_output=True, text=True,
    ).stdout.split()[::2]  # fmt: skip
    at = found.index("parks_here")
    assert found[at : at + 5] == ["parks_here", *["parks_deep"] * 3, "parks_below"]
