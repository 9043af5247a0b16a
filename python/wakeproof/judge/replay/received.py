# SPDX-License-Identifier: Apache-2.0
"""Tokens that come from others: they take no memory without a bound, and no option unchecked.

`tokens.decode` reads what this program has made itself.  What a user was sent goes through here
first.  The flags for a compiler are checked in ``judge/own/program.py``.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from dataclasses import replace
from pathlib import Path

from wakeproof.errors import UsageError
from wakeproof.judge import schema
from wakeproof.judge.explore import tokens
from wakeproof.judge.explore.options import ExploreOptions
from wakeproof.judge.explore.tokens import Token

MOST_BYTES = 1 << 24
"""Longest text of a token: a schedule of two million steps."""


def decode(text: str) -> Token:
    """Return the token that `text` encodes, with options that are of their kinds.

    The search is in one process, and takes no more memory than there is.

    Raises:
        UsageError: `text` is no token, or unpacks to too much.
    """
    if _is_too_much(text):
        raise UsageError(f"{text[:40]!r}... is no token: it is cut, or unpacks to too much")
    try:
        return _checked(tokens.decode(text))
    except RecursionError:
        raise UsageError(f"{text[:40]!r}... is no token: it nests too deep") from None


def load(file: Path) -> Token:
    """Return the token that a saved counterexample holds.

    Raises:
        UsageError: the file has no token.
    """
    try:
        text = str(json.loads(file.read_text("utf-8"))["token"])
    except RecursionError:
        raise UsageError(f"{file} holds no counterexample: it nests too deep") from None
    except (OSError, ValueError, KeyError, TypeError):
        return tokens.load(file)  # says what is wrong
    return decode(text)


def _is_too_much(text: str) -> bool:
    """Return whether what `text` packs has no end within the longest text of a token."""
    unpacking = zlib.decompressobj()
    try:
        packed = base64.urlsafe_b64decode(text.strip() + "=" * (-len(text.strip()) % 4))
        unpacking.decompress(packed, MOST_BYTES)
    except (ValueError, zlib.error):
        return False  # it is no token at all
    return not unpacking.eof


def _checked(token: Token) -> Token:
    unknown = token.options.keys() - ExploreOptions.__dataclass_fields__.keys()
    given = {**token.options, "models": [token.model], "engine": token.engine}
    try:
        if unknown:
            raise schema.SchemaError(f"there is no option {min(unknown)[:40]!r}")
        chosen = schema.from_values(ExploreOptions, given)
    except ValueError as error:
        raise UsageError(
            f"the token's options are not of this version: {error}: explore again"
        ) from error
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    bounds = {"jobs": 1, "max_bytes": min(chosen.max_bytes, memory)}
    given = {name: bounds.get(name, value) for name, value in token.options.items()}
    return replace(token, options=given)
