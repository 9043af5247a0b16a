# SPDX-License-Identifier: Apache-2.0
"""TLC's `-tool` output: numbered messages between @!@!@ marks; one may stand inside another."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARK = re.compile(r"@!@!@(START|END)MSG (\d+)(?::(\d+))? @!@!@\n?")
_STATE_CODES = (2217, 2218, 2122)  # a state, "Stuttering", "Back to state"
_ERROR = 1  # the class of a message, after the colon of its start mark


@dataclass(frozen=True)
class Message:
    """One message: its number, its class, its text without the messages inside it."""

    code: int
    kind: int
    text: str

    @property
    def is_error(self) -> bool:
        """Return whether TLC marks it as an error."""
        return self.kind == _ERROR

    @property
    def is_state(self) -> bool:
        """Return whether it is a part of a counterexample."""
        return self.code in _STATE_CODES


def read_messages(output: str) -> list[Message]:
    """Return the messages of a run in the order of their ends; a cut-off last one counts."""
    done: list[Message] = []
    open_: list[tuple[int, int, list[str]]] = []
    at = 0
    for mark in _MARK.finditer(output):
        if open_:
            open_[-1][2].append(output[at : mark.start()])
        at = mark.end()
        if mark.group(1) == "START":
            inside_error = bool(open_) and open_[-1][1] == _ERROR
            kind = _ERROR if inside_error else int(mark.group(3) or 0)
            open_.append((int(mark.group(2)), kind, []))
        elif open_:
            code, kind, parts = open_.pop()
            done.append(Message(code, kind, "".join(parts)))
    for code, kind, parts in reversed(open_):
        done.append(Message(code, kind, "".join(parts)))
    return done


def parse_error(output: str) -> list[str]:
    """Return the error lines of SANY, which prints them outside of messages."""
    found = re.search(
        r"\*\*\* Errors: \d+\s+(.*?)\n\n\n|(\*\*\*Parse Error\*\*\*.*?)\n\n"
        r"|\*\*\* Abort messages: \d+\s+(.*?)\n\n\n",
        output,
        re.DOTALL,
    )
    text = next((part for part in found.groups() if part), "") if found else ""
    return [line for line in text.splitlines() if line.strip()]
