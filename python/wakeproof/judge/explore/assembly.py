# SPDX-License-Identifier: Apache-2.0
"""Inline assembly of a scenario: a modelled instruction becomes a step, any other is refused.

The compiler's hooks do not see assembly, and a verdict that ignores an mfence would be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.explore.explored import NotModelledError
from wakeproof.judge.process import Children

MARK = "-DWP_EXPLORED_ASSEMBLY"
"""Marks a command: the file that it compiles may have assembly."""
NO_RED_ZONE = "-mno-red-zone"  # a call in place of assembly may use the stack below
COMPILE_TIMEOUT_S = 300.0
FENCE = "\tcall\twp__explored_asm_fence"  # stress/explorer/compiled_steps.c
KNOWN = "pause, mfence, a lock or or a lock add of 0 on the stack, and barriers of the compiler"
_USED = re.compile(r"\b(?:__asm__|__asm|asm|__builtin_ia32_\w+|_mm_\w+)\b|intrin\.h\b")
_BEGIN, _END = (
    ("#APP", "# APP", "//APP", "// APP"),
    ("#NO_APP", "# NO_APP", "//NO_APP", "// NO_APP"),
)
_LINE = re.compile(r'^# (\d+) "([^"]+)"')
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]+)"')
_NOTHING = re.compile(r"pause|nop|rep nop|yield|isb(?: sy)?")
_IS_FENCE = re.compile(r"mfence|lock (?:or|add)[bwlq]? \$0(?:x0)?, ?-?(?:0x)?[0-9a-f]*\(%[re]sp\)")
_OF_COMPILER = re.compile(
    r"^\s*(mfence|lfence|sfence|rdtscp?|rdrand|rdseed|cpuid|syscall|clflush\w*|clwb|movnt\w+"
    r"|xbegin|lock\b|dmb|dsb|svc|mrs)\b"
)


def is_used(texts: Mapping[str, str]) -> bool:
    """Return whether any text, apart from wakeproof's own files, may hold inline assembly."""
    kernel, stress = locations.sources() / "kernel", locations.sources() / "stress"
    return any(
        _USED.search(text)
        for path, text in ((Path(name), text) for name, text in texts.items())
        if kernel not in path.parents and not (path.suffix == ".h" and stress in path.parents)
    )


def compile_modelled(source: Path, command: list[str], target: Path, children: Children) -> str:
    """Compile `source` by `command` to the object `target`; return the compiler's output.

    Raises:
        UsageError: the compiler failed, or an instruction is not modelled.
    """
    listing = target.with_suffix(".s")
    try:
        made = children.run(
            [*(("-S" if word == "-c" else word) for word in command), "-o", str(listing)],
            timeout_s=COMPILE_TIMEOUT_S,
        )
        if made.code or made.timed_out:
            raise UsageError(f"{source} does not compile:\n{made.output.strip()}")
        listing.write_text(modelled(listing.read_text("utf-8"), source), "utf-8")
        ended = children.run(
            [command[0], "-c", str(listing), "-o", str(target)], timeout_s=COMPILE_TIMEOUT_S
        )
        if ended.code or ended.timed_out:
            raise UsageError(f"{source} does not assemble:\n{ended.output.strip()}")
        return made.output.strip()
    finally:
        listing.unlink(missing_ok=True)


def modelled(listing: str, source: Path) -> str:
    """Return a compiler's listing with a call of the explorer in place of each fence.

    Raises:
        NotModelledError: an instruction is not modelled.
    """
    files: dict[str, str] = {}
    file, line, inside = source.name, 0, False
    out: list[str] = []
    block: list[str] = []
    for text in listing.splitlines():
        bare = text.strip()
        if bare in _BEGIN or bare in _END:
            inside = bare in _BEGIN
            if not inside:
                out += _instructions(block, f"{file}:{line}")
                block = []
        elif named := _FILE.match(text):
            files[named[1]] = Path(named[2]).name
        elif at := _LOC.match(text):
            file, line = files.get(at[1], file), int(at[2])
        elif inside and (at := _LINE.match(text)):
            if int(at[1]):
                file, line = Path(at[2]).name, int(at[1])
            continue
        elif inside:
            block.append(text)
            continue
        elif found := _OF_COMPILER.match(text):
            if found[1] != "mfence":
                raise NotModelledError(_refusal(f"{file}:{line}", " ".join(bare.split())))
            text = FENCE
        out.append(text)
    return "\n".join(out) + "\n"


def _instructions(block: list[str], where: str) -> list[str]:
    """Return the lines that replace a piece of inline assembly."""
    found, prefix = [], ""
    for part in ";".join(block).split(";"):
        words = " ".join(part.split()).lower()
        if words in ("lock", "rep"):
            prefix = f"{words} "
            continue
        whole = f"{prefix}{words}"
        prefix = ""
        if not whole or whole.startswith(("#", "//")) or _NOTHING.fullmatch(whole):
            continue
        if not _IS_FENCE.fullmatch(whole):
            raise NotModelledError(_refusal(where, whole))
        found.append(FENCE)
    if prefix:
        raise NotModelledError(_refusal(where, prefix.strip()))
    return found


def _refusal(where: str, what: str) -> str:
    return f"{where}: the explorer does not model the instruction `{what}`: it knows {KNOWN}"
