# SPDX-License-Identifier: Apache-2.0
"""The slab of stacks: layout, reuse, limits, trimming, threads; kernel/thread/stack.h.

No spec: shared data is under a lock.  Each check has a twin, the kernel with one line changed;
programs/thread/stack.c prints each broken promise.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support import fibers
from tests.support.cases import COMPILES

pytestmark = COMPILES
CASES = ("layout", "colours", "reuse", "exhausted", "invalid", "trimming", "threads")
SYSTEM = ("refused", "mappings", "locked", "small_pages")  # of programs/thread/stack_system.c
INSTALLED, PROTECTED, CANARY = GUARDS = ("0", "1", "2")
WARNED = "wakeproof: from here on stacks have no guard page"
PARKED_MOST = 4400  # bytes, page tables included: a page of stack, and 304 for everything else

CONTROL = "config->control_bytes"
TWINS = {
    "layout": ("stack.c", "(uint32_t)round_up(config->control_bytes, WP_STACK_LINE)", CONTROL),
    "colours": ("stack.c", "(uint64_t)(number % pool->colours)", "0u"),
    "reuse": ("stack.c", "cache->stacks[k] = cache->stacks[k + BATCH];", ";"),
    "exhausted": ("stack.c", "if (pool->made == pool->max_stacks)", "if (0)"),
    "refused": ("stack.c", "return false;\n\tpool->committed += more;", "pool->committed += more;"),
    "invalid": ("stack.c", "config->stack_bytes <= WP_STACK_BYTES_MOST", "true"),
    "mappings": ("stack.c", "wp__stack_guard_return(pool->counts", "(void)(pool->counts"),
    "locked": ("stack.c", "if (pool->guard != WP_STACK_CANARY &&", "if (0 &&"),
    "small_pages": ("stack.c", "pool->bytes, MADV_NOHUGEPAGE", "pool->bytes, MADV_NORMAL"),
    "trimming": ("stack.c", "pool->slot_bytes - pool->page;\n", "pool->slot_bytes;\n"),
}


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> fibers.Program:
    return fibers.build(tmp_path_factory.mktemp("stack"), "stack")


def check(ended: subprocess.CompletedProcess[str]) -> None:
    if ended.stdout.startswith("not run: "):
        pytest.skip(ended.stdout.strip())
    assert (ended.returncode, ended.stdout) == (0, ""), ended
    assert not ended.stderr or ended.stderr.startswith(WARNED), ended.stderr
    assert ended.stderr.count("\n") <= 1


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> fibers.Program:
    return fibers.build(tmp_path_factory.mktemp("stack-system"), "stack_system")


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("case", CASES)
def test_a_pool_is_as_promised(case: str, guard: str, native: fibers.Program) -> None:
    check(native(case, guard))


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("case", SYSTEM)
def test_a_pool_lives_with_what_the_system_refuses(
    case: str, guard: str, system: fibers.Program
) -> None:
    check(system(case, guard))


@pytest.mark.parametrize("kind", ["address", "thread"])
def test_sanitizers_find_nothing_in_it(kind: str, tmp_path: Path) -> None:
    program = fibers.build(tmp_path, "stack", kind)
    for case in CASES:
        check(program(case))


def test_it_is_as_promised_on_aarch64(tmp_path: Path) -> None:
    # qemu-user accepts MADV_GUARD_INSTALL and does nothing; the best method there is mprotect.
    fibers.needs_aarch64()
    program = fibers.build(tmp_path, "stack", compiler=fibers.AARCH64)
    for case in CASES:
        check(program(case))


@pytest.mark.parametrize("case", TWINS)
def test_one_line_changed_shows(case: str, tmp_path: Path) -> None:
    kernel = fibers.broken(tmp_path, *TWINS[case])
    name, flags = "stack" if case in CASES else "stack_system", ["-Wno-error"]
    ended = fibers.build(tmp_path / "build", name, flags=flags, kernel=kernel)(case, INSTALLED)
    if ended.stdout.startswith("not run: "):
        pytest.skip(ended.stdout.strip())
    assert "lost " in ended.stdout or ended.returncode < 0, ended


def test_without_its_lock_thread_sanitizer_finds_races(tmp_path: Path) -> None:
    old = "\twp_lock_acquire(&pool->lock);\n\tstack = pop(pool);"
    kernel = fibers.broken(tmp_path, "stack.c", old, "\tstack = pop(pool);")
    ended = fibers.build(tmp_path / "build", "stack", "thread", kernel=kernel)("threads")
    assert "data race" in ended.stderr


def test_the_warning_comes_once(system: fibers.Program, tmp_path: Path) -> None:
    assert system("mappings").stderr.count(WARNED) == 1
    kernel = fibers.broken(tmp_path, "stack.c", "= !process.is_warned", "= true")
    again = fibers.build(tmp_path / "build", "stack_system", kernel=kernel)
    assert again("mappings").stderr.count(WARNED) > 1


@pytest.mark.parametrize("guard", GUARDS)
def test_a_parked_fiber_takes_one_page(guard: str, system: fibers.Program, tmp_path: Path) -> None:
    assert int(system("parked", guard).stdout.split()[0]) <= PARKED_MOST
    if guard == CANARY:  # twin: the frames begin a page below the control block
        kernel = fibers.broken(tmp_path, "stack.h", "stack->low);\n", "stack->low) - 4096;\n")
        apart = fibers.build(tmp_path / "build", "stack_system", kernel=kernel)
        assert int(apart("parked", guard).stdout.split()[0]) > PARKED_MOST
