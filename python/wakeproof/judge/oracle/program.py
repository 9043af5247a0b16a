# SPDX-License-Identifier: Apache-2.0
"""The parser of small programs for the oracles, which share no code with the explorer in C.

The language is described in the header of ``stress/explorer/data.c``.  A loop-free program of
atomic operations does not need all of it: backward jumps and futex calls are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import ORDERS

WORD = 2**64
REGISTERS = 8
UPDATES = ("exchange", "add", "or", "and")
CASES = ("cas", "cas_weak")
FENCES = ("acquire", "release", "acq_rel", "seq_cst", "light", "heavy")

COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
COMPUTE: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "*": lambda a, b: a * b,
}


@dataclass(frozen=True)
class Operand:
    """A number, or what a register holds."""

    number: int = 0
    register: int | None = None

    def of(self, registers: tuple[int, ...]) -> int:
        """Return the value of the operand with these registers."""
        return self.number if self.register is None else registers[self.register]


@dataclass(frozen=True)
class Line:
    """One instruction.

    `what` is load, store, one of UPDATES or CASES, fence, local, if, goto, assume or assert.
    """

    what: str
    number: int  # in the text, from 1
    into: int | None = None
    location: int = -1
    index: Operand = field(default_factory=Operand)
    order: str = ""
    fail_order: str = ""
    a: Operand = field(default_factory=Operand)  # stored, desired, left
    b: Operand = field(default_factory=Operand)  # expected, right
    operator: str = ""
    target: int = -1


@dataclass(frozen=True)
class Program:
    """Threads of instructions, and what is observed at the end."""

    name: str
    locations: tuple[str, ...]
    initial: tuple[int, ...]
    threads: tuple[tuple[Line, ...], ...]
    observed: tuple[tuple[int, int], ...]  # (thread, register), or (-1, location)

    def outcome(self, registers: list[tuple[int, ...]], memory: list[int]) -> str:
        """Return the observed values as the explorer writes them: signed, with commas."""
        values = (memory[n] if t < 0 else registers[t][n] for t, n in self.observed)
        return ",".join(str(value - WORD if value >= WORD // 2 else value) for value in values)


def parse(text: str) -> Program:
    """Read a program.

    Raises:
        UsageError: a line is wrong, or has an operation that the oracles do not support.
    """
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            reader.read(number, words)
        except (ValueError, KeyError, IndexError) as error:
            raise UsageError(f"line {number}: {line.strip()}: {error}") from error
    return reader.program()


class _Reader:
    def __init__(self) -> None:
        self._name = ""
        self._locations: list[str] = []
        self._initial: dict[int, int] = {}
        self._threads: list[list[Line]] = []
        self._labels: list[dict[str, int]] = []
        self._jumps: list[tuple[int, int, str]] = []
        self._observed: list[tuple[int, int]] = []

    def read(self, number: int, words: list[str]) -> None:
        first = words[0]
        if first == "program":
            self._name = " ".join(words[1:])
        elif first == "init":
            location, index = self._place(words[1])
            self._initial[location + index.number] = int(words[2], 0) % WORD
        elif first == "array":
            names = [f"{words[1]}_{i}" if i else words[1] for i in range(int(words[2]))]
            self._locations += names
        elif words == ["thread"]:
            self._threads.append([])
            self._labels.append({})
        elif first == "observe":
            self._observed += [self._observation(word) for word in words[1:]]
        elif len(words) == 1 and first.endswith(":"):
            self._labels[-1][first[:-1]] = len(self._threads[-1])
        else:
            into = None
            if len(words) > 2 and words[1] == "=":
                into, words = _register(words[0]), words[2:]
                if into is None:
                    raise ValueError(f"{first} is no register")
            if words != ["step"]:
                self._threads[-1].append(self._line(number, words, into))

    def program(self) -> Program:
        for thread, at, label in self._jumps:
            target = self._labels[thread].get(label, -1)
            line = self._threads[thread][at]
            if target <= at:
                raise UsageError(f"line {line.number}: {label} is no label further down: no loops")
            self._threads[thread][at] = replace(line, target=target)
        return Program(
            self._name,
            tuple(self._locations),
            tuple(self._initial.get(i, 0) for i in range(len(self._locations))),
            tuple(tuple(thread) for thread in self._threads),
            tuple(self._observed),
        )

    def _line(self, number: int, words: list[str], into: int | None) -> Line:
        what, rest = words[0], words[1:]
        line = Line(what, number, into)
        if what == "load":
            return self._shared(line, rest[0], rest[1:])
        if what == "store" or what in UPDATES:
            return self._shared(replace(line, a=_operand(rest[1])), rest[0], rest[2:])
        if what in CASES:
            line = replace(line, a=_operand(rest[2]), b=_operand(rest[1]))
            return self._shared(line, rest[0], rest[3:])
        if what == "fence" and rest[0] in FENCES:
            return replace(line, order=rest[0])
        if what in ("if", "goto"):
            self._jumps.append((len(self._threads) - 1, len(self._threads[-1]), words[-1]))
        if what == "goto":
            return line
        if what in ("if", "assume", "assert") and rest[1] in COMPARE:
            return replace(line, a=_operand(rest[0]), b=_operand(rest[2]), operator=rest[1])
        if into is not None and len(words) in (1, 3):
            operator, right = (words[1], words[2]) if rest else ("+", "0")
            COMPUTE[operator]  # or a KeyError names it
            a, b = _operand(what), _operand(right)
            return replace(line, what="local", a=a, b=b, operator=operator)
        raise ValueError("not an operation that the oracles know")

    def _shared(self, line: Line, place: str, orders: list[str]) -> Line:
        location, index = self._place(place)
        if len(orders) != 1 + (line.what in CASES) or any(order not in ORDERS for order in orders):
            raise ValueError(f"orders are {', '.join(ORDERS)}")
        return replace(line, location=location, index=index, order=orders[0], fail_order=orders[-1])

    def _place(self, word: str) -> tuple[int, Operand]:
        match = re.fullmatch(r"([A-Za-z_]\w*)(?:\[(\w+)\])?", word)
        if not match or _register(match[1]) is not None:
            raise ValueError(f"{word} is no location")
        if match[1] not in self._locations:
            self._locations.append(match[1])
        return self._locations.index(match[1]), _operand(match[2] or "0")

    def _observation(self, word: str) -> tuple[int, int]:
        thread, colon, register = word.rpartition(":")
        number = _register(register)
        if not colon:
            return -1, self._locations.index(word)
        if number is None or int(thread) >= len(self._threads):
            raise ValueError(f"{word} is no register of a thread")
        return int(thread), number


def _register(word: str) -> int | None:
    return int(word[1]) if re.fullmatch(r"r[0-7]", word) else None


def _operand(word: str) -> Operand:
    register = _register(word)
    return Operand(register=register) if register is not None else Operand(int(word, 0) % WORD)


@dataclass(frozen=True)
class Local:
    """The place of a thread in its program, and its registers."""

    at: int = 0
    registers: tuple[int, ...] = (0,) * REGISTERS

    def set(self, register: int | None, value: int) -> Local:
        """Return the state with one register changed (None: no register)."""
        values = list(self.registers)
        if register is not None:
            values[register] = value % WORD
        return Local(self.at, tuple(values))

    def jump(self, at: int) -> Local:
        """Return the state at another place."""
        return Local(at, self.registers)
