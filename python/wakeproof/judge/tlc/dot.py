# SPDX-License-Identifier: Apache-2.0
"""TLC's state graph as `-dump dot,actionlabels` writes it: states, and edges with action names.

Parallel edges and self-loops are both in the dump.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from wakeproof.errors import JudgeError

_STATE = re.compile(r'(-?\d+) \[label="(.*)"(,style = filled)?\];?$')
_EDGE = re.compile(r'(-?\d+) -> (-?\d+) \[label="(\w*)"')
_TOKEN = re.compile(r'\s*(<<|>>|:>|@@|\|->|[{}()\[\],]|"[^"]*"|-?\w+)')

State = Mapping[str, Any]
"""Variable -> value: str (strings and model values), int, bool, frozenset, tuple, dict."""


@dataclass
class StateGraph:
    """States in the order of the dump, the initial ones, and (source, target, action) edges."""

    texts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    edges: list[tuple[int, int, str]] = field(default_factory=list)

    def state(self, number: int) -> dict[str, Any]:
        """Return the values of a state's variables."""
        parts = (line.partition(" = ") for line in self.texts[number].split("/\\ ") if line)
        return {name.strip(): value(text.strip()) for name, _, text in parts}


def read(lines: Iterable[str]) -> StateGraph:
    """Read a dump.

    Raises:
        JudgeError: an edge leads to a state that is not in the dump.
    """
    graph = StateGraph()
    numbers: dict[str, int] = {}
    edges: list[tuple[str, str, str]] = []
    for line in lines:
        edge = _EDGE.match(line)
        if edge:
            edges.append((edge[1], edge[2], edge[3]))
            continue
        state = _STATE.match(line)
        if state and state[1] not in numbers:
            number = numbers[state[1]] = len(graph.texts)
            graph.texts.append(_unescape(state[2]))
            if state[3]:
                graph.starts.append(number)
    try:
        graph.edges = [(numbers[a], numbers[b], name) for a, b, name in dict.fromkeys(edges)]
    except KeyError as missing:
        raise JudgeError(
            f"TLC's dump has an edge to a state that is not in it: {missing}"
        ) from None
    return graph


def _unescape(text: str) -> str:
    return text.replace("\\n", " ").replace('\\"', '"').replace("\\\\", "\\")


@cache
def value(text: str) -> Any:
    """Read one printed value.

    Raises:
        JudgeError: the text is no value.
    """
    tokens = _TOKEN.findall(text)
    try:
        found, end = _value(tokens, 0)
    except IndexError:
        end, found = -1, None
    if end != len(tokens):
        raise JudgeError(f"TLC printed something that is not a value: {text!r}")
    return found


def _value(tokens: list[str], at: int) -> tuple[Any, int]:
    mark = tokens[at]
    if mark == "<<":
        items, at = _items(tokens, at + 1, ">>")
        return tuple(items), at
    if mark == "{":
        items, at = _items(tokens, at + 1, "}")
        return frozenset(items), at
    if mark in "[(":
        return _mapping(tokens, at + 1, "]" if mark == "[" else ")")
    if mark in ("TRUE", "FALSE"):
        return mark == "TRUE", at + 1
    if mark.lstrip("-").isdigit():
        return int(mark), at + 1
    return mark.strip('"'), at + 1


def _items(tokens: list[str], at: int, closing: str) -> tuple[list[Any], int]:
    items = []
    while tokens[at] != closing:
        item, at = _value(tokens, at)
        items.append(item)
        at += tokens[at] == ","
    return items, at + 1


def _mapping(tokens: list[str], at: int, closing: str) -> tuple[dict[Any, Any], int]:
    entries = {}
    while tokens[at] != closing:
        key, at = _value(tokens, at)
        entries[key], at = _value(tokens, at + 1)
        at += tokens[at] in (",", "@@")
    return entries, at + 1
