# SPDX-License-Identifier: Apache-2.0
"""A configuration of TLC (.cfg): its sections, and the model values that its constants name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from wakeproof.errors import UsageError

SECTIONS: Final = (
    "SPECIFICATION", "INIT", "NEXT", "CONSTANT", "CONSTANTS", "INVARIANT", "INVARIANTS",
    "PROPERTY", "PROPERTIES", "SYMMETRY", "CONSTRAINT", "CONSTRAINTS", "ACTION_CONSTRAINT",
    "ACTION_CONSTRAINTS", "CHECK_DEADLOCK", "VIEW", "ALIAS", "POSTCONDITION",
)  # fmt: skip
_COMMENT: Final = re.compile(r'("[^"\n]*")|\\\*[^\n]*|\(\*.*?\*\)', re.DOTALL)
_HEAD: Final = re.compile(rf'"[^"\n]*"|\b({"|".join(sorted(SECTIONS, key=len, reverse=True))})\b')
_NAME: Final = re.compile(r'"[^"\n]*"|<-\s*(?:\[\w+\]\s*)?\w+|\b([A-Za-z_]\w*)\b(?!\s*(?:=|<-))')


def sections(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the keyword and the text of each section, without comments.

    Raises:
        UsageError: something stands before the first keyword.
    """
    text = _COMMENT.sub(lambda m: m[1] or " ", file.read_text(encoding="utf-8"))
    heads = [match for match in _HEAD.finditer(text) if match[1]]
    before = text[: heads[0].start()] if heads else text
    if before.strip():
        raise UsageError(f"{file}: {before.split()[0]}: no section; allowed: {', '.join(SECTIONS)}")
    ends = [match.start() for match in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        yield head[1], text[head.end() : end].strip("\n")


def model_values(constants: str) -> tuple[str, ...]:
    """Return the model values in the text of a section of constants: ``p1`` of ``P = {p1}``."""
    found = (match[1] for match in _NAME.finditer(constants))
    return tuple(dict.fromkeys(one for one in found if one and one not in ("TRUE", "FALSE")))
