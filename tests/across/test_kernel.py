# SPDX-License-Identifier: Apache-2.0
"""The kernel as compiled: the instructions of fences, the exported names, and the bindings."""

from __future__ import annotations

import ast
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.cases import IN_CHECKOUT
from tests.support.running import python, run
from tools import ffi_stub

from wakeproof import locations
from wakeproof._native import build, ffi

KERNEL = locations.sources() / "kernel"
COMPILERS = [name for name in ("gcc", "clang", "clang-19") if shutil.which(name)]
X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="not run: x86-64 instructions")
NEEDS_OBJDUMP = pytest.mark.skipif(not shutil.which("objdump"), reason="not run: install binutils")

SITES = """
#include "wakeup/guard.h"
void fence(void) { wp_fence_seq_cst(); }
bool asymmetric(wp_guard *guard)
{
	if (guard->fences != WP_GUARD_ASYMMETRIC)
		__builtin_unreachable();
	return wp_guard_signal(guard);
}
bool symmetric(wp_guard *guard)
{
	if (guard->fences != WP_GUARD_SYMMETRIC)
		__builtin_unreachable();
	return wp_guard_signal(guard);
}
"""


def emitted(compiler: str, folder: Path) -> dict[str, str]:
    """Compile SITES and return the instructions of each function."""
    source, target = folder / "sites.c", folder / "sites.o"
    source.write_text(SITES, encoding="utf-8")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{KERNEL}", "-c"]
    subprocess.run([compiler, *flags, source, "-o", target], check=True)
    command = ["objdump", "-d", "--no-show-raw-insn", str(target)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"<(\w+)>:\n(.*?)(?:\n\n|\Z)", text, re.DOTALL))


def symbols(library: Path) -> set[str]:
    command = ["nm", "--defined-only", str(library)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines() if line.split()[-2] == "T"}


@X86
@NEEDS_OBJDUMP
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_full_fence_is_a_locked_or_and_never_mfence(compiler: str, tmp_path: Path) -> None:
    code = emitted(compiler, tmp_path)
    for name in ("fence", "symmetric"):
        assert re.search(r"lock or[lq]? +\$0x0,(-0x\w+)?\(%rsp\)", code[name]), code[name]
    assert "mfence" not in "".join(code.values())


@X86
@NEEDS_OBJDUMP
@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_kernel_file_has_an_mfence_and_the_submit_path_has_its_lock(
    compiler: str, tmp_path: Path
) -> None:
    for source in (path for path in build.SOURCES if KERNEL in path.parents):
        target = tmp_path / f"{source.stem}.o"
        flags = ["-std=c11", "-O2", f"-I{KERNEL}", "-c"]
        subprocess.run([compiler, *flags, source, "-o", target], check=True)
        command = ["objdump", "-d", "--no-show-raw-insn", str(target)]
        code = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert not re.search(r"\b[ml]fence\b", code), source
        assert source.stem != "carrier" or re.search(r"lock or[lq]? +\$0x0,", code)


@X86
@NEEDS_OBJDUMP
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_asymmetric_hot_path_has_no_fence(compiler: str, tmp_path: Path) -> None:
    # An awake poller costs a load. Only the claim, behind a branch, is a locked exchange.
    code = emitted(compiler, tmp_path)["asymmetric"]
    assert not re.search(r"\block\b|fence", code), code
    assert code.count("xchg ") - code.count("xchg %ax,%ax") == 1, code
    assert re.search(r"\bj\w+ .*xchg ", code, re.DOTALL), code


@IN_CHECKOUT
@NEEDS_OBJDUMP
@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_library_exports_what_is_declared_and_no_twin(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setenv("CFLAGS", "-Werror")
    exported = symbols(build.build_library(tmp_path))
    declared = set(re.findall(r"(wp_\w+)\(", (tmp_path / build.CDEF).read_text()))
    assert declared <= exported
    assert not [n for n in exported if not re.match(r"wp_|_init$|_fini$", n) or "twin" in n]


@IN_CHECKOUT
@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_sanitizers_find_nothing_in_the_inbox(
    compiler: str, sanitizer: str, tmp_path: Path
) -> None:
    # One item for each readiness: if a wake is not written, the consumer sleeps on.
    program = Path(__file__).parents[1] / "programs" / "queue" / "inbox.c"
    flags = ["-std=c11", "-O1", "-g", "-Werror", f"-fsanitize={sanitizer}", "-pthread"]
    includes = [f"-I{KERNEL}", f"-I{Path(build.__file__).parent}"]
    command = [compiler, *flags, *includes, str(program), *map(str, build.SOURCES)]
    built = subprocess.run([*command, "-o", str(tmp_path / "inbox")], capture_output=True)
    if b"libclang_rt" in built.stderr:
        pytest.skip(f"not run: install the sanitizers of {compiler} (Debian: libclang-rt-dev)")
    assert built.returncode == 0, built.stderr
    no_aslr = ["setarch", "-R"] if shutil.which("setarch") else []  # for ThreadSanitizer's map
    command = [*no_aslr, str(tmp_path / "inbox")]
    ran = run(command)
    told = "taken 30000, refused or dropped the rest, quiescent 1\n"
    assert (ran.stdout, ran.returncode) == (told, 0), ran.stderr


@pytest.mark.rotates
@IN_CHECKOUT
@pytest.mark.slow
def test_without_pythons_headers_the_library_serves_as_well(tmp_path: Path) -> None:
    build.build_library(tmp_path)
    script = """
from wakeproof import MpscQueue, Parker, RendezvousGuard, WakeupGuard
from wakeproof._native import ffi
parker, queue = Parker(), MpscQueue()
guard = WakeupGuard(parker.unpark)
queue.put("x")
print(ffi.MODE, guard.enter(lambda: True), guard.wakeup(), parker.park(0), guard.exit())
print(queue.get(), queue.is_quiescent(), RendezvousGuard().wait(lambda: True, 0))
import os
from wakeproof import CarrierGroup, VirtualThread
one, other = os.pipe()
def body(poller):
    while True:
        poller.maybe_yield(False)
        with poller.try_park() as parked:
            if parked and poller.can_park():
                os.read(one, 1)
with CarrierGroup(1) as group:
    thread = group[0].register_poller(lambda: os.write(other, b"."), body)
    print([VirtualThread(str, n, group=group).start().result(60) for n in range(3)])
print(thread.result())
"""
    ran = python(script, WAKEPROOF_LIBRARY=str(tmp_path))
    said = "abi True True True True\nx True False\n['0', '1', '2']\nNone\n"
    assert (ran.stdout, ran.stderr) == (said, "")


def test_a_library_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    script = """
try:
    from wakeproof import Parker
except Exception as error:
    print(f"{type(error).__name__}: {error}")
"""
    told = python(script, WAKEPROOF_LIBRARY=str(tmp_path)).stdout
    assert re.match(rf"MissingToolError: .*{tmp_path}.*: run `make test` in the checkout", told)
    assert told.count("\n") == 1


@IN_CHECKOUT
def test_the_stub_types_every_declaration_and_has_the_values_of_constants() -> None:
    stub = Path(build.__file__).with_name("ffi.pyi").read_text(encoding="utf-8")
    assert stub == ffi_stub.stub(build.declarations()), "built from other headers"
    tree = ast.parse(stub)
    typed = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    declared = set(re.findall(r"(wp_\w+)\(", build.declarations()))
    assert {name for name in typed if name.startswith("wp_")} == declared
    values = {
        n.target.id: ast.literal_eval(n.value)
        for n in ast.walk(tree)
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.value is not None
    }
    assert values == {name: getattr(ffi.lib, name) for name in dir(ffi.lib) if name[:3] == "WP_"}


def test_the_cut_keeps_declarations_and_drops_bodies_and_comments() -> None:
    header = """int hidden(void);
/* cdef: begin */
/* Said once. */
WP_INLINE bool wp_two(int x)
{
	if (x) {
		return true;
	}
	return false;
}
int wp_one(void); /* why */
/* cdef: end */
"""
    assert build.cut(header).split("\n") == ["bool wp_two(int x);", "int wp_one(void);", ""]


@pytest.mark.parametrize("marks", ["", "/* cdef: begin */", "/* cdef: end */"])
def test_a_header_without_both_marks_is_refused(marks: str) -> None:
    with pytest.raises(ValueError, match="must come in pairs"):
        build.cut(f"int x;\n{marks}\nint wp_one(void);\n")
