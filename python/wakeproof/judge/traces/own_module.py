# SPDX-License-Identifier: Apache-2.0
r"""The modules around a user's module with which TLC judges a log, or looks at what comes next.

The log is a module of its own, so that the standard modules that it needs cannot clash with what
the user's module defines.  For a spec with a variable `x` and a log of one line::

    ---- MODULE log__lines ----
    log__line_1 == [action |-> "Send", args |-> <<3>>, values |-> [x |-> 4]]

    ---- MODULE log__judge ----
    EXTENDS Mine, log__lines
    VARIABLES log__line, log__internal
    log__next == log__line' = log__line + 1 /\ x' = 4 (of the line) /\ a step with its name

A value is compared before the step is taken.  So TLC does not choose a value that the line gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wakeproof.judge.traces.own_actions import Call, Definitions, Relation
from wakeproof.judge.traces.own_log import Line, model_value

LINES: Final = "log__lines"
JUDGE: Final = "log__judge"
AFTER: Final = "log__after"
LINE: Final = "log__line"
INTERNAL: Final = "log__internal"
FROM: Final = "log__from"
CALL: Final = "log__call"


@dataclass(frozen=True)
class Spec:
    """What the generated modules say of the user's module."""

    name: str
    variables: tuple[str, ...]
    relation: Relation
    constants: str  # the section of the configuration
    model_values: tuple[str, ...]

    def config(self) -> str:
        """Return the configuration of a generated module."""
        own = [f"  {model_value(n)} = {name}" for n, name in enumerate(self.model_values)]
        constants = [self.constants, *own]
        head = ["CONSTANTS", *constants] if any(one.strip() for one in constants) else []
        return "\n".join(["INIT log__init", "NEXT log__next", *head, ""])

    def data(self, definitions: Sequence[str]) -> str:
        """Return the module with the log's values."""
        values = [model_value(number) for number in range(len(self.model_values))]
        declared = [f"CONSTANTS {', '.join(values)}"] if values else []
        return "\n".join([
            f"---- MODULE {LINES} ----", "LOCAL INSTANCE Integers", "LOCAL INSTANCE Sequences",
            "LOCAL INSTANCE TLC", *declared, *definitions, "log__plus(n) == n + 1",
            "log__less(m, n) == m < n", "====", "",
        ])  # fmt: skip


def judge(spec: Spec, lines: Sequence[Line], internal: int) -> dict[str, str]:
    """Return the modules by name: TLC's states are those that explain the first lines."""
    made = Definitions()
    cases = [f'line.action = "" /\\ {spec.relation.next}']
    for action in dict.fromkeys(line.action for line in lines):
        if action in spec.relation.actions:
            cut = spec.relation.cut_to(frozenset((action,)), _fitting, made)
            cases.append(f'line.action = "{action}" /\\ {cut}')
    starts = lines[0].action == spec.relation.init_name
    given = _given(spec, lines)
    text = "\n".join([
        f"---- MODULE {JUDGE} ----", f"EXTENDS {spec.name}, {LINES}",
        f"VARIABLES {LINE}, {INTERNAL}",
        f"log__told == log__all[log__plus({LINE})]",
        'log__fits(given) == IF "args" \\in DOMAIN log__told THEN log__told.args = given ELSE TRUE',
        *made.texts,
        f"log__init == {INTERNAL} = 0 /\\ {LINE} = {int(starts)}",
        *([f"  /\\ LET line == log__all[1] IN {_compared(given, '')}"] if starts else []),
        f"  /\\ {spec.relation.init}",
        f"log__step == log__less({LINE}, {len(lines)}) /\\ LET line == log__told IN",
        f"  {LINE}' = log__plus({LINE}) /\\ {INTERNAL}' = 0 /\\ {_compared(given, chr(39))}",
        "  /\\ ((" + ") \\/ (".join(cases) + "))",
        f"log__unlogged == log__less({LINE}, {len(lines)}) /\\ log__less({INTERNAL}, {internal})",
        f"  /\\ {INTERNAL}' = log__plus({INTERNAL}) /\\ UNCHANGED {LINE} /\\ {spec.relation.next}",
        f"log__next == log__step{' ' + chr(92) + '/ log__unlogged' if internal else ''}",
        "====", "",
    ])  # fmt: skip
    listed = [f"log__all == <<{', '.join(map(_line, lines))}>>"]
    return {LINES: spec.data(listed), JUDGE: text}


def after(spec: Spec, states: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the modules by name: TLC's states are the successors of `states`, with the calls."""
    made = Definitions()
    leaves = frozenset(one.name for one in spec.relation.actions.values() if one.is_leaf)
    cut = spec.relation.cut_to(leaves, _noted, made)
    text = "\n".join([
        f"---- MODULE {AFTER} ----", f"EXTENDS {spec.name}, {LINES}", f"VARIABLES {FROM}, {CALL}",
        *made.texts,
        f"log__init == {CALL} = <<>> /\\ {FROM} \\in DOMAIN log__states",
        *(f"  /\\ {name} = log__states[{FROM}].{name}" for name in spec.variables),
        f"log__next == {CALL} = <<>> /\\ {FROM}' = {FROM} /\\ {cut}",
        "====", "",
    ])  # fmt: skip
    records = [
        "[" + ", ".join(f"{name} |-> {state[name]}" for name in spec.variables) + "]"
        for state in states
    ]
    return {LINES: spec.data([f"log__states == <<{', '.join(records)}>>"]), AFTER: text}


def _given(spec: Spec, lines: Sequence[Line]) -> list[str]:
    """Return the variables that some line gives."""
    named = {name for line in lines for name in line.values}
    return [name for name in spec.variables if name in named]


def _compared(given: Sequence[str], prime: str) -> str:
    """Return that the variables have the values of `line`, as far as it gives them."""
    return " /\\ ".join([
        "TRUE",
        *(f'(IF "{name}" \\in DOMAIN line.values THEN {name}{prime} = line.values.{name} ELSE TRUE)'
          for name in given),
    ])  # fmt: skip


def _line(line: Line) -> str:
    values = ", ".join(f"{name} |-> {value}" for name, value in line.values.items())
    arguments = "" if line.arguments is None else f", args |-> <<{', '.join(line.arguments)}>>"
    record = f"[{values}]" if values else "<<>>"
    return f'\n[action |-> "{line.action}"{arguments}, values |-> {record}]'


def _fitting(call: Call) -> str | None:
    """Return a call whose arguments are those of the line; other steps are not taken."""
    if call.action is None:
        return None
    if not call.arguments or not call.action.takes_values:
        return call.text
    return f"(log__fits(<<{', '.join(call.arguments)}>>) /\\ {call.text})"


def _noted(call: Call) -> str:
    """Return a call that notes its name and arguments."""
    name = call.action.name if call.action else ""
    takes = call.action is not None and call.action.takes_values
    noted = f'<<"{name}", <<{", ".join(call.arguments) if takes else ""}>>>>'
    return f"({call.text} /\\ {CALL}' = {noted})"
