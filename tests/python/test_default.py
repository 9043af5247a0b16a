# SPDX-License-Identifier: Apache-2.0
"""wakeproof.default_group: one per process, made at first use, however many copies are loaded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support import running

import wakeproof

PACKAGE = Path(wakeproof.__file__).parent
PATIENCE_S = 60

LAZY = """
import os, threading
def threads(): return len(os.listdir("/proc/self/task"))
from wakeproof import CarrierGroup, default_group
before = threads()
group = default_group()
print(before, threads(), len(group), group is default_group(), type(group) is CarrierGroup)
print(group.submit(int, "7").result(60))
group.submit(threading.Event().wait)
print("main is over")
"""

COPY = """
import sys
def load(folder):
    for name in [name for name in sys.modules if name.split(".")[0] == "wakeproof"]:
        del sys.modules[name]
    sys.path.insert(0, folder)
    import wakeproof
    assert wakeproof.__file__.startswith(folder), wakeproof.__file__
    wakeproof.CarrierGroup, wakeproof.default_group  # loaded when first used: now, from here
    return wakeproof
one, two = load(sys.argv[1]), load(sys.argv[2])
def ask(copy):
    try:
        return copy.default_group()
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"
"""


def python(code: str, *arguments: str, **variables: str) -> list[str]:
    ran = running.python(code, *arguments, **variables)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.splitlines()


@pytest.fixture
def copies(tmp_path: Path) -> tuple[str, str]:
    """Copy the package, library and all, to another folder; return both folders."""
    left_out = shutil.ignore_patterns("_sources", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "wakeproof", ignore=left_out)
    return str(PACKAGE.parent), str(tmp_path)


def test_it_is_made_at_first_use_and_closed_at_the_end() -> None:
    told = python(LAZY, WAKEPROOF_CARRIERS="3")
    assert told == ["1 4 3 True True", "7", "main is over"]


def test_who_closes_it_closes_it_for_all() -> None:
    code = """
from wakeproof import ClosedError, default_group
print(default_group().close(60))
try:
    default_group().submit(int)
except ClosedError:
    print("closed", default_group().close(60))
"""
    assert python(code, WAKEPROOF_CARRIERS="2") == ["[]", "closed []"]


def test_what_blocks_a_carrier_of_it_holds_up_nothing_that_has_not_begun() -> None:
    code = """
import threading
from wakeproof import VirtualThread, default_group
def outer():
    gate = threading.Event()  # blocks the carrier on which the child is queued
    VirtualThread(gate.set).start()
    return gate.wait(30)
print(default_group().work_stealing, default_group()[0].submit(outer).result(60))
"""
    assert python(code, WAKEPROOF_CARRIERS="2") == ["True True"]


def test_a_variable_says_that_nothing_is_stolen_in_it() -> None:
    code = "from wakeproof import default_group\nprint(default_group().work_stealing)"
    assert python(code, WAKEPROOF_CARRIERS="2", WAKEPROOF_WORK_STEALING="0") == ["False"]
    assert python(code, WAKEPROOF_CARRIERS="2", WAKEPROOF_WORK_STEALING="") == ["True"]


def test_a_bad_variable_is_named_and_the_next_call_tries_again() -> None:
    code = """
import os
from wakeproof import default_group
try:
    default_group()
except ValueError as error:
    print(error)
os.environ["WAKEPROOF_CARRIERS"] = "2"
print(len(default_group()))
"""
    told = python(code, WAKEPROOF_CARRIERS="0")
    assert told == ["WAKEPROOF_CARRIERS is '0'; allowed: 1 to 1,024", "2"]


def test_a_second_copy_is_refused_and_both_are_named(copies: tuple[str, str]) -> None:
    code = f"{COPY}\nprint(len(ask(one)))\nprint(ask(two))\nprint(ask(one) is ask(one))"
    code += "\nwith two.CarrierGroup(1) as own:\n    print(own.submit(int, '5').result(60))"
    carriers, refused, same, five = python(code, *copies, WAKEPROOF_CARRIERS="1")
    assert (carriers, same, five) == ("1", "True", "5")
    assert refused.startswith(f"TwoCopiesError: wakeproof in {copies[1]}/wakeproof: ")
    assert f"by another copy, wakeproof in {copies[0]}/wakeproof:" in refused


def test_whichever_copy_asks_first_makes_it(copies: tuple[str, str]) -> None:
    first, second = python(
        f"{COPY}\nprint(len(ask(two)))\nprint(ask(one))", *copies, WAKEPROOF_CARRIERS="1"
    )
    assert first == "1"
    assert second.startswith(f"TwoCopiesError: wakeproof in {copies[0]}/wakeproof: ")


def test_the_same_library_under_a_package_that_was_loaded_again_is_refused() -> None:
    folder = str(PACKAGE.parent)
    first, second = python(
        f"{COPY}\nprint(len(ask(two)))\nprint(ask(one))", folder, folder, WAKEPROOF_CARRIERS="1"
    )
    assert first == "1"
    assert second.startswith("TwoCopiesError: ")


def test_a_copy_that_could_not_make_it_leaves_it_to_the_other(copies: tuple[str, str]) -> None:
    code = f"""{COPY}
import os
try:
    one.default_group()
except ValueError:
    os.environ["WAKEPROOF_CARRIERS"] = "2"
print(len(two.default_group()))
"""
    assert python(code, *copies, WAKEPROOF_CARRIERS="0") == ["2"]


def test_a_forked_child_makes_its_own_and_may_not_use_the_inherited_one() -> None:
    code = """
import os, warnings
warnings.simplefilter("ignore")
from wakeproof import ForkedError, default_group
group = default_group()
child = os.fork()
if not child:
    try:
        group.submit(int)
    except ForkedError:
        mine = default_group()
        good = mine is not group and mine.submit(int, "7").result(60) == 7
        os._exit(not good)
    os._exit(2)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), group is default_group())
"""
    assert python(code, WAKEPROOF_CARRIERS="1") == ["0 True"]


def test_after_an_exec_nothing_is_left_of_it() -> None:
    code = """
import os, sys
from wakeproof import default_group
print(os.getpid(), len(default_group()), flush=True)
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, "-c", os.environ["CODE"], "again"])
"""
    first, second = python(code, WAKEPROOF_CARRIERS="1", CODE=code)
    assert first == second
