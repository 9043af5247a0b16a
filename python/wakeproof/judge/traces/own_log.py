# SPDX-License-Identifier: Apache-2.0
"""A user's log: a JSON object on each line, which becomes an action and values of TLA+.

==============================  ===============================================================
JSON                            TLA+
==============================  ===============================================================
``3``, ``true``                 ``3``, ``TRUE``
``"a"``                         the string, or the model value of that name, if there is one
``{"string": "a"}``             the string, also if there is a model value of that name
``[1, 2]``                      the sequence ``<<1, 2>>``
``{"set": [1, 2]}``             the set
``{"from": 1, "to": 2}``        the record or function; a key that is a model value's name is that
                                model value, and a key of digits is a number
``{"fun": [[[1, 2], "a"]]}``    the function of these pairs of argument and value
==============================  ===============================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from wakeproof.errors import UsageError
from wakeproof.judge.traces.own_actions import Action

ACTION: Final = "action"
ARGUMENTS: Final = "args"
LARGEST: Final = 2**31 - 1
"""TLC's numbers have 32 bits."""
_FIELD: Final = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_DIGITS: Final = re.compile(r"-?\d+\Z", re.ASCII)
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
_NO_FIELDS: Final = frozenset({
    "ASSUME", "ASSUMPTION", "AXIOM", "CASE", "CHOOSE", "CONSTANT", "CONSTANTS", "DOMAIN", "ELSE",
    "ENABLED", "EXCEPT", "EXTENDS", "IF", "IN", "INSTANCE", "LAMBDA", "LET", "LOCAL", "MODULE",
    "OTHER", "RECURSIVE", "SUBSET", "THEN", "THEOREM", "UNCHANGED", "UNION", "VARIABLE",
    "VARIABLES", "WITH",
})  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One line: the step that it tells, and values after it, as TLA+."""

    number: int
    text: str
    action: str  # "": any
    arguments: tuple[str, ...] | None  # None: any
    values: Mapping[str, str]  # by variable


@dataclass(frozen=True)
class Vocabulary:
    """What a log may name."""

    variables: tuple[str, ...]
    actions: Mapping[str, Action]
    init: str  # the action of a first line that tells the initial state
    model_values: Sequence[str] = ()


@dataclass
class Reader:
    """Reads a log."""

    file: Path
    words: Vocabulary
    at: int = 0  # the line
    _named: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._named = {
            name: model_value(number) for number, name in enumerate(self.words.model_values)
        }

    def read(self) -> tuple[Line, ...]:
        """Return the lines, without those that are empty.

        Raises:
            UsageError: a line is malformed, or names something unknown; or there is no line.
        """
        try:
            text = self.file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise UsageError(f"{self.file}: there is no such file") from None
        except (IsADirectoryError, UnicodeDecodeError):
            raise UsageError(f"{self.file}: no text file in UTF-8") from None
        found: list[Line] = []
        for self.at, one in enumerate(text.split("\n"), 1):
            if one.strip():
                found.append(self._line(one, is_first=not found))
        if not found:
            raise UsageError(
                f'{self.file}: the log is empty; write a line a step: {{"action": "Name", '
                '"variable": value}'
            )
        return tuple(found)

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"{self.file}:{self.at}: {what}")

    def _line(self, text: str, *, is_first: bool) -> Line:
        try:
            found = json.loads(
                text, object_pairs_hook=self._unique, parse_constant=self._no_number
            )  # fmt: skip
        except json.JSONDecodeError as error:
            raise UsageError(f"{self.file}:{self.at}:{error.colno}: no JSON: {error.msg}") from None
        except RecursionError:
            raise self._wrong("nested too deeply") from None
        if not isinstance(found, dict):
            raise self._wrong(
                f'{_kind(found)}; allowed: an object, such as {{"action": "Name", "variable": 1}}'
            )
        action, arguments = self._action(found, is_first=is_first)
        values = {}
        for name, value in found.items():
            if name in (ACTION, ARGUMENTS):
                continue
            if name not in self.words.variables:
                raise self._wrong(
                    f"unknown variable {name}; allowed: {', '.join(self.words.variables)}, and "
                    f'"{ACTION}" with "{ARGUMENTS}"'
                )
            values[name] = self._value(value, name)
        return Line(self.at, text.strip(), action, arguments, values)

    def _action(
        self, found: dict[str, Any], *, is_first: bool
    ) -> tuple[str, tuple[str, ...] | None]:
        action, given = found.get(ACTION), found.get(ARGUMENTS)
        if action is None:
            if ACTION in found:
                raise self._wrong(f'"{ACTION}" is null; leave it out if the step is not known')
            if ARGUMENTS in found:
                raise self._wrong(f'"{ARGUMENTS}" without "{ACTION}"')
            return "", None
        if action == self.words.init and ARGUMENTS not in found:
            if not is_first:
                raise self._wrong(
                    f"{action} is the initial state, which only the first line can tell"
                )
            return action, None
        known = self.words.actions.get(action) if isinstance(action, str) else None
        if known is None:
            allowed = ", ".join(self.words.actions)
            raise self._wrong(
                f"unknown action {action}; allowed: {allowed}; {self.words.init} at first"
            )
        if ARGUMENTS not in found:
            return known.name, None
        if not isinstance(given, list):
            raise self._wrong(f'"{ARGUMENTS}" is {_kind(given)}; allowed: an array')
        if not known.takes_values:
            raise self._wrong(f'{action} takes an operator: leave out "{ARGUMENTS}"')
        if len(given) != known.arity:
            raise self._wrong(f"{action} has {len(given)} arguments; allowed: {known.arity}")
        return known.name, tuple(self._value(one, ARGUMENTS) for one in given)

    def _unique(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(key for n, (key, _) in enumerate(pairs) if key in dict(pairs[:n]))
            raise self._wrong(f"{json.dumps(twice)} stands twice in one object")
        return found

    def _no_number(self, text: str) -> NoReturn:
        raise self._wrong(f"{text} is no value of TLA+")

    def _value(self, value: Any, name: str) -> str:
        """Return the TLA+ text of a JSON value of the variable `name`."""
        match value:
            case bool():
                return str(value).upper()
            case int():
                if abs(value) > LARGEST:
                    raise self._wrong(f"{name}: {value} is too large; allowed: up to {LARGEST}")
                return str(value) if value >= 0 else f"(-{-value})"
            case str():
                return self._named.get(value) or self._string(value, name)
            case list():
                return f"<<{', '.join(self._value(one, name) for one in value)}>>"
            case {"set": list(items)} if len(value) == 1:
                return f"{{{', '.join(self._value(one, name) for one in items)}}}"
            case {"string": str(text)} if len(value) == 1:
                return self._string(text, name)
            case {"fun": list(pairs)} if len(value) == 1:
                if not all(isinstance(one, list) and len(one) == 2 for one in pairs):
                    raise self._wrong(f'{name}: "fun" takes pairs: [[argument, value], ..]')
                return _function([
                    (self._value(key, name), self._value(one, name)) for key, one in pairs
                ])  # fmt: skip
            case dict():
                return self._object(value, name)
        raise self._wrong(
            f"{name} is {_kind(value)}, which is no value of TLA+; allowed: numbers without a "
            "fraction, strings, true, false, arrays, objects; leave a variable out if it is not "
            "known"
        )

    def _object(self, value: dict[str, Any], name: str) -> str:
        pairs = [(key, self._value(one, name)) for key, one in value.items()]
        is_record = pairs and all(
            _FIELD.match(key) and key not in _NO_FIELDS and key not in self._named
            for key, _ in pairs
        )  # fmt: skip
        if is_record:
            return "[" + ", ".join(f"{key} |-> {one}" for key, one in pairs) + "]"
        return _function([(self._key(key, name), one) for key, one in pairs])

    def _key(self, key: str, name: str) -> str:
        if _DIGITS.match(key):
            return self._value(int(key), name)
        return self._value(key, name)

    def _string(self, text: str, name: str) -> str:
        written = "".join(_ESCAPES.get(one, one) for one in text)
        if not all(" " <= one <= "~" for one in written):
            raise self._wrong(
                f"{name}: {json.dumps(text)}: TLC's strings have printable ASCII alone"
            )
        return f'"{written}"'


def model_value(number: int) -> str:
    """Return the constant that the generated modules have for a model value."""
    return f"log__value_{number}"


def _function(pairs: list[tuple[str, str]]) -> str:
    if not pairs:
        return "<<>>"
    return "(" + " @@ ".join(f"({key} :> {one})" for key, one in pairs) + ")"


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case list():
            return "an array"
        case dict():
            return "an object"
    return json.dumps(value)
