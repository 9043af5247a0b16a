# SPDX-License-Identifier: Apache-2.0
"""Prepares C code so that the explorer can run it: flags, names of files, symbols.

Source: ``kernel/base/instrument.h`` (the operations), ``stress/explorer/compiled.h`` (the functions
that replace them).
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge.process import Children


def instrument(judge: str) -> str:
    """Return the flag that makes ``kernel/base/instrument.h`` use the operations of a judge.

    `judge` is the folder of ``stress/`` that has these operations: ``explorer``,
    ``harness/engine`` or ``harness/recorder``.
    """
    return f'-DWP_INSTRUMENT="{judge}/instrument.h"'


TOOL_S = 60.0
LINKED = ["-no-pie", "-Wl,-z,now"]  # the first call of a function is like any other
_FLAGS = ("-O1", "-fsanitize=thread", "-DWP_EXPLORE", instrument("explorer"), "-fno-builtin",
          "-fno-stack-protector", "-fcf-protection=none", "-fno-pie",
          "-U_FORTIFY_SOURCE")  # fmt: skip
"""Every access calls a hook, and nothing depends on the address of the code."""
_CLANG = ("-mllvm", "-tsan-instrument-read-before-write")
"""Without it only the write of `x += 1` is reported."""
_VOLATILE = "tsan-distinguish-volatile"
"""A volatile access calls a hook of its own."""

_COPIES = ("memcpy", "memmove", "memset")
"""Functions that compilers also call for structs; stress/explorer/compiled_copies.c has them."""

_ENDS = {"__assert_fail": "assert_fail", "abort": "abort"}
"""Functions that end a process; stress/explorer/compiled_steps.c makes each a last step."""

_ATOMIC = re.compile(r"__tsan_atomic|__atomic_|atomic_")
_KNOWN = re.compile(
    r"wp_|stress_|__tsan_(?:unaligned_)?(?:volatile_)?(?:read|write)|__tsan_(?:init|func_|mem)"
    r"|__\w+[sdt]i[234]?$|(?:abs|labs|llabs|_GLOBAL_OFFSET_TABLE_)$"
)
"""Functions of the kernel, the engine and the compiler, and functions of their arguments alone.
A function that reads memory itself (memcmp, strlen) would bypass the hooks."""


class NotModelledError(UsageError):
    """The explorer cannot run this code, which needs an operation that it does not model."""


def flags(source: Path, compiler: str) -> list[str]:
    """Return the flags for `source`; `compiler` is the text that its --version prints."""
    is_kernel = (locations.sources() / "kernel").resolve() in source.resolve().parents
    debug = "-g1" if is_kernel else "-g"  # a scenario's types name the parts of its state
    is_clang = "clang" in compiler
    own = ["-mllvm", f"-{_VOLATILE}"] if is_clang else [f"--param={_VOLATILE}=1"]
    return [*_FLAGS, debug, *_CLANG * is_clang, *own, *names(source)]


def shown(file: Path) -> str:
    """Return the name of a source file in sites: its own name, unless a kernel file has the same.

    ``wakeup/guard.h`` is a file of the kernel, and ``scenarios/wakeup/guard.c`` a scenario of
    wakeproof.  A user's file is ``race.c``, or ``folder/guard.c`` if files in its folder have names
    of kernel files.
    """
    sources, resolved = locations.sources().resolve(), file.resolve()
    if sources / "kernel" in resolved.parents:
        return str(resolved.relative_to(sources / "kernel"))
    if not any((file.parent / other.name).exists() for other in locations.kernel_files()):
        return file.name
    if sources / "stress" in resolved.parents:
        return str(resolved.relative_to(sources / "stress"))
    return f"{file.parent.name or '.'}/{file.name}"


def names(source: Path) -> list[str]:
    """Return flags that make ``__FILE__`` the name of `shown`, in `source` and its includes."""
    prefix = str(source)[: -len(source.name)]
    to = shown(source)[: -len(source.name)]
    own = [(prefix or source.name, to if prefix else shown(source))]
    places = [*own, (f"{locations.sources() / 'kernel'}/", "")]
    return [f"-fmacro-prefix-map={old}={new}" for old, new in places if old != new]


def hook_copies(compiled: Path, children: Children) -> None:
    """Make the object `compiled` call the explorer's hooks to copy and set memory.

    Raises:
        MissingToolError: no objcopy.
        UsageError: objcopy failed.
    """
    hooked = {name: name for name in _COPIES} | _ENDS
    renamed = [f"--redefine-sym={old}=wp__explored_{new}" for old, new in hooked.items()]
    ended = children.run([_tool("objcopy"), *renamed, str(compiled)], timeout_s=TOOL_S)
    if ended.code or ended.timed_out:
        raise UsageError(f"objcopy {compiled.name}: {ended.output.strip()}")


def _tool(name: str) -> str:
    if not shutil.which(name):
        raise MissingToolError(f"no {name}: install binutils, which the compiler needs as well")
    return name


def check(scenario: Path, compiled: str, children: Children) -> None:
    """Refuse a scenario file if its object `compiled` needs what the explorer does not model.

    Raises:
        NotModelledError: the object uses atomics that are not instrumented, or calls a function
            that is neither of the kernel nor pure.
        MissingToolError: no nm.
    """
    listed = children.output([_tool("nm"), "-u", compiled], timeout_s=TOOL_S)
    needed = sorted(set(re.findall(r"\b[Uw] (\S+)$", listed, re.MULTILINE)))
    atomics = [name for name in needed if _ATOMIC.match(name)]
    if atomics:
        raise NotModelledError(
            f"{scenario} uses C11 atomics of its own ({', '.join(atomics)}): the explorer sees "
            "those of kernel/base/order.h and stress/litmus.h alone; write them with these"
        )
    others = [name for name in needed if not _KNOWN.match(name)]
    if others:
        raise NotModelledError(
            f"{scenario} calls {', '.join(others)}, which the explorer does not model: it knows "
            "the functions of kernel/, and memory in the state"
        )
