# SPDX-License-Identifier: Apache-2.0
"""A stack overflow names its virtual thread and dies of its signal; kernel/thread/overflow.h.

No spec: signals.  overflow.c has the cases, watch.c those in which no process dies. Each check has
                   a twin, the kernel with one line changed.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests.support import compiling, fibers
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold
from tests.support.running import run

pytestmark = COMPILES
INSTALLED, PROTECTED, CANARY = GUARDS = ("0", "1", "2")
ADVICE = "(64 KiB; give it a larger stack)"
REPORT = f'wakeproof: stack overflow in virtual thread "the deep one" {ADVICE}\n'
DIES_OF = {INSTALLED: signal.SIGSEGV, PROTECTED: signal.SIGSEGV, CANARY: signal.SIGABRT}
NOT_THAT_GUARD = 2
OWN_HANDLER = 3

TWINS = {
    "deep 0": ("stack.c", "pool->guard_bytes, MADV_GUARD_INSTALL", "0, MADV_GUARD_INSTALL"),
    "deep 1": ("stack.c", "mprotect(low, pool->guard_bytes, PROT_NONE)", "(low ? 0 : 1)"),
    "deep 2": ("stack.h", "if (stack->guard == WP_STACK_CANARY)", "if (0)"),
    "own 1": ("overflow.c", "SA_SIGINFO | SA_ONSTACK", "SA_SIGINFO"),
    "stray 1": ("overflow.c", "sp < base || sp >= slot + pool->slot_bytes ||", "sp == 0 ||"),
    "null 1": ("overflow.c", "before->sa_handler(signal);", "die_of(signal, info);"),
    "over 1": ("overflow.c", "\tsigaction(signals[k], &process.before[k], NULL);", "\t;"),
    "sent 1": ("overflow.c", "raise(signal);", ";"),
    "unnamed 1": ("overflow.c", 'name != NULL ? name : "?"', '""'),
    "shallow 1": ("stack.c", ".low = slot + pool->guard_bytes", ".low = slot"),
}
WATCHES = {  # of programs/thread/watch.c
    "counted": ("\tcount_watchers(1);\n", ""),
    "passed": ("before->sa_handler == SIG_IGN && info->si_code <= 0", "info->si_code <= 0"),
    "stray": ("address >= slot + pool->guard_bytes || ", ""),
    "found": ("\tif (info->si_code > 0)\n\t\tstack", "\tif (info->si_code < 0)\n\t\tstack"),
    "theirs": ("\tif (process.is_ours)\n\t\treturn;\n", ""),
    "masked": ("\tfor (int k = 0; k < SIGNALS; k++)\n\t\tsigaddset(&blocked, signals[k]);",
               "\tsigaddset(&blocked, signals[0]);"),
    "unmapped": ("\tsigaltstack(&before, NULL);\n\tmunmap(watch->memory, watch->bytes);",
                 "\tmunmap(watch->memory, watch->bytes);\n\tsigaltstack(&before, NULL);"),
}  # fmt: skip
WRAPPED = ("-Wl,--wrap=munmap", "-Wl,--wrap=pthread_sigmask")


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> fibers.Program:
    return fibers.build(tmp_path_factory.mktemp("overflow"), "overflow")


def guarded(program: fibers.Program, case: str, guard: str) -> subprocess.CompletedProcess[str]:
    ended = program(case, guard)
    if ended.returncode == NOT_THAT_GUARD and guard == INSTALLED:
        pytest.skip("not run: MADV_GUARD_INSTALL needs Linux 6.13")
    return ended


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("case", ["deep", "own"])
def test_an_overflow_is_reported_with_the_name_and_kills(
    case: str, guard: str, native: fibers.Program
) -> None:
    ended = guarded(native, case, guard)
    assert ended.stderr.endswith(REPORT)
    assert (ended.stdout, ended.returncode) == ("", -DIES_OF[guard])


@pytest.mark.parametrize("guard", GUARDS)
def test_what_stays_within_its_stack_is_not_reported(guard: str, native: fibers.Program) -> None:
    ended = guarded(native, "shallow", guard)
    assert (ended.returncode, ended.stdout) == (0, "whole\n")
    assert "overflow in" not in ended.stderr


def test_a_thread_without_a_name_is_reported(native: fibers.Program) -> None:
    ended = native("unnamed", PROTECTED)
    assert ended.stderr == REPORT.replace("the deep one", "?")


@pytest.mark.parametrize("case", ["stray", "null"])
def test_any_other_fault_is_for_the_handler_before(case: str, native: fibers.Program) -> None:
    ended = native(case, PROTECTED)
    assert (ended.returncode, ended.stdout, ended.stderr) == (OWN_HANDLER, "own handler\n", "")


def test_the_last_that_watches_gives_handler_and_alternate_stack_back(
    native: fibers.Program,
) -> None:
    ended = native("over", PROTECTED)
    assert (ended.returncode, ended.stdout) == (0, "handler given back\nstack given back\n")


def test_a_signal_that_was_sent_kills_without_a_report(native: fibers.Program) -> None:
    ended = native("sent", PROTECTED)
    assert (ended.returncode, ended.stderr) == (-signal.SIGSEGV, "")


@pytest.mark.parametrize("guard", [PROTECTED, CANARY])
def test_an_overflow_is_reported_on_aarch64(guard: str, tmp_path: Path) -> None:
    fibers.needs_aarch64()
    program = fibers.build(tmp_path, "overflow", compiler=fibers.AARCH64)
    ended = program("deep", guard)
    assert REPORT in ended.stderr
    assert ended.returncode == -DIES_OF[guard]
    assert program("stray", PROTECTED).returncode == OWN_HANDLER


@pytest.mark.parametrize("case", TWINS)
def test_one_line_changed_shows(case: str, native: fibers.Program, tmp_path: Path) -> None:
    name, guard = case.split()
    whole = guarded(native, name, guard)
    kernel = fibers.broken(tmp_path, *TWINS[case])
    flags = ["-Wno-error"]
    ended = fibers.build(tmp_path / "build", "overflow", flags=flags, kernel=kernel)(name, guard)
    assert (ended.returncode, ended.stdout, ended.stderr) != (
        whole.returncode, whole.stdout, whole.stderr)  # fmt: skip


@EACH_BUILD
def test_a_watch_takes_and_gives_back_what_is_the_process_s(build: str, compiled: Compiled) -> None:
    hold(compiled("watch", build, *WRAPPED), list(WATCHES))


@pytest.mark.parametrize("case", WATCHES)
def test_a_watch_that_takes_or_gives_wrongly_is_seen(case: str, tmp_path: Path) -> None:
    watch = compiling.broken(tmp_path, "watch", "plain", "overflow.c", *WATCHES[case], *WRAPPED)
    assert run(watch, case).returncode != 0
