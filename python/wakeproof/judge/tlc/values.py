# SPDX-License-Identifier: Apache-2.0
"""TLA+ values as TLC prints them: read a value, and find the changes between two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from wakeproof.errors import JudgeError

_TOKEN = re.compile(r'\s*(<<|>>|:>|@@|\|->|[{}()\[\],]|"[^"]*"|[^\s{}()\[\],<>:@|"]+)')
_CLOSING = {"{": "}", "<<": ">>", "(": ")", "[": "]"}


@dataclass(frozen=True)
class Value:
    """One value: its printed text on one line, and its parts.

    A function or record has entries, a set or sequence has items, anything else has neither.
    """

    text: str
    entries: dict[str, Value] | None = None
    items: tuple[Value, ...] | None = None


def parse(text: str) -> Value:
    """Read one printed value.

    Raises:
        JudgeError: TLC printed something that is not a value.
    """
    tokens = _TOKEN.findall(text)
    if not tokens:
        raise JudgeError(f"TLC printed an empty value: {text!r}")
    value, end = _value(tokens, 0)
    if end != len(tokens):
        raise JudgeError(f"TLC printed more than a value: {text!r}")
    return value


def _value(tokens: list[str], at: int) -> tuple[Value, int]:
    opening = tokens[at]
    if opening not in _CLOSING:
        return Value(opening.strip('"')), at + 1
    closing, separators = _CLOSING[opening], (",", "@@")
    at += 1
    items: list[Value] = []
    entries: dict[str, Value] = {}
    while tokens[at] != closing:
        item, at = _value(tokens, at)
        if tokens[at] in (":>", "|->"):
            entries[item.text], at = _value(tokens, at + 1)
        else:
            items.append(item)
        if tokens[at] in separators:
            at += 1
    if entries:
        inner = ", ".join(f"{key}: {value.text}" for key, value in entries.items())
        return Value("{" + inner + "}", entries), at + 1
    inner = ", ".join(item.text for item in items)
    return Value(opening + inner + closing, items=tuple(items)), at + 1


def changes(before: Value, after: Value, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield (place, old text, new text) for each smallest part of `name` that differs."""
    if before.text == after.text:
        return
    if before.entries and after.entries and before.entries.keys() == after.entries.keys():
        for key, old in before.entries.items():
            yield from changes(old, after.entries[key], f"{name}[{key}]")
    else:
        yield name, before.text, after.text
