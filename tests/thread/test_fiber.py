# SPDX-License-Identifier: Apache-2.0
"""Fibers: the registers that a switch keeps, backtraces, and reports to sanitizers; fiber.h.

No spec: the side that switches owns both sides.  Each check has a twin, for example the same
assembly without one register.  programs/thread/fiber.c prints what is lost.
"""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest
from tests.support import fibers
from tests.support.cases import COMPILES
from tests.support.running import run

pytestmark = COMPILES
X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="not run: x86-64 registers")
CASES = ("registers", "many", "lives", "jumps", "moved", "then")
REGISTERS = ("rbx", "rbp", "r12", "r13", "r14", "r15")
PAIRS = ("x19 x20", "x21 x22", "x23 x24", "x25 x26", "x27 x28",
         "d8 d9", "d10 d11", "d12 d13", "d14 d15")  # fmt: skip
CALLS = {"the call on the other stack", "the call of who left for good"}


@pytest.fixture(scope="module")
def x86(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fiber")


@pytest.fixture(scope="module")
def aarch64(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fibers.needs_aarch64()
    return tmp_path_factory.mktemp("fiber-aarch64")


def twin(name: str) -> list[str]:
    return [f"-DWP_TWIN_fiber_{name}=1"]


def lost(ended: subprocess.CompletedProcess[str]) -> set[str]:
    assert ended.returncode == 1, ended
    return set(re.findall(r"^lost (.*)$", ended.stdout, re.MULTILINE))


def check_all(program: fibers.Program) -> None:
    for case in CASES:
        ended = program(case)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", ""), case


@pytest.mark.parametrize("kind", ["plain", "address", "thread"])
@pytest.mark.parametrize("compiler", ["gcc", fibers.CLANG])
def test_a_switch_keeps_what_a_call_keeps(compiler: str, kind: str, tmp_path: Path) -> None:
    fibers.needs(compiler, compiler)
    check_all(fibers.build(tmp_path, "fiber", kind, compiler))


def test_a_switch_keeps_what_a_call_keeps_on_aarch64(aarch64: Path) -> None:
    check_all(fibers.build(aarch64, "fiber", compiler=fibers.AARCH64))


@X86
@pytest.mark.parametrize("register", REGISTERS)
def test_a_register_that_is_not_restored_is_named(register: str, x86: Path) -> None:
    assert lost(fibers.build(x86, "fiber", flags=twin(f"no_{register}"))("registers")) == {register}


@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_of_registers_that_is_not_restored_is_named_on_aarch64(
    pair: str, aarch64: Path
) -> None:
    flags = twin(f"no_{pair.split()[0]}")
    ended = fibers.build(aarch64, "fiber", compiler=fibers.AARCH64, flags=flags)("registers")
    assert lost(ended) == set(pair.split())


@X86
def test_what_is_not_called_when_the_other_one_is_left_is_missed(x86: Path) -> None:
    assert lost(fibers.build(x86, "fiber", flags=twin("no_then"))("then")) == CALLS


def test_what_is_not_called_when_the_other_one_is_left_is_missed_on_aarch64(aarch64: Path) -> None:
    program = fibers.build(aarch64, "fiber", compiler=fibers.AARCH64, flags=twin("no_then"))
    assert lost(program("then")) == CALLS


@X86
def test_a_backtrace_ends_at_the_entry(x86: Path) -> None:
    ended = fibers.build(x86, "fiber")("frames")
    assert (ended.returncode, ended.stdout) == (0, "4 frames\n")
    beyond = fibers.build(x86, "fiber", flags=twin("no_end"))("frames")
    assert lost(beyond) == {"the end of the backtrace"}


def test_a_backtrace_ends_at_the_entry_on_aarch64(aarch64: Path) -> None:
    ended = fibers.build(aarch64, "fiber", compiler=fibers.AARCH64)("frames")
    assert (ended.returncode, ended.stdout) == (0, "4 frames\n")


def gdb(program: fibers.Program, *commands: str) -> str:
    fibers.needs("gdb", "gdb")
    quiet = ("set confirm off", "set debuginfod enabled off", "set pagination off")
    words = [word for command in (*quiet, *commands) for word in ("-ex", command)]
    command = ["gdb", "-batch", "-nx", *words, "--args", *program.command, "frames"]
    return run(command).stdout


def frames(text: str) -> list[str]:
    return re.findall(r"^#\d+ +(?:0x\w+ in )?(\w+) \(", text, re.MULTILINE)


@X86
def test_gdb_walks_a_running_fiber_down_to_its_entry(x86: Path) -> None:
    told = gdb(fibers.build(x86, "fiber"), "break deepest", "run", "bt")
    assert frames(told) == ["deepest", "nested", "show_frames", "wp__fiber_begin"], told
    beyond = gdb(fibers.build(x86, "fiber", flags=twin("no_end")), "break deepest", "run", "bt")
    assert len(frames(beyond)) + beyond.count("?? ()") > 4, beyond


@X86
def test_gdb_walks_the_switch_itself_at_each_instruction(x86: Path) -> None:
    # From the thread's own side over to the beginning of the fiber.
    steps = ["stepi", "bt"] * 40
    told = gdb(fibers.build(x86, "fiber"), "break wp__fiber_jump", "run", *steps)
    stacks = [frames(part) for part in re.split(r"^(?=#0)", told, flags=re.MULTILINE)[1:]]
    inside = [stack for stack in stacks if stack[0] == "wp__fiber_jump"]
    assert len(inside) > 20
    assert {stack[-1] for stack in inside} == {"main", "wp__fiber_begin"}, told


@pytest.mark.parametrize("compiler", ["gcc", fibers.CLANG])
def test_address_sanitizer_complains_unless_it_is_told(compiler: str, tmp_path: Path) -> None:
    fibers.needs(compiler, compiler)
    ended = fibers.build(tmp_path, "fiber", "address", compiler, twin("untold"))("jumps")
    assert "False positive error reports may follow" in ended.stderr


def test_thread_sanitizer_breaks_unless_it_is_told(tmp_path: Path) -> None:
    # gcc's: the frames that fibers leave behind fill the thread's shadow stack.
    fibers.needs("gcc", "gcc")
    ended = fibers.build(tmp_path, "fiber", "thread", "gcc", twin("untold"))("lives")
    assert ended.returncode != 0
    assert "ThreadSanitizer" in ended.stderr
