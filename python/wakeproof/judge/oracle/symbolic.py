# SPDX-License-Identifier: Apache-2.0
"""All runs of a small program at once, as constraints for z3: values, reads-from, last writes."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge.oracle.program import CASES, REGISTERS, Line, Program

try:
    z3: Any = importlib.import_module("z3")
except ModuleNotFoundError as missing:
    raise MissingToolError("no z3 for Python: pip install z3-solver") from missing

BITS = 16
"""Width of values; programs for this oracle use numbers below 2**12."""


@dataclass(eq=False)
class Happening:
    """An event that takes place if `guard` holds; an update is a read and then a write."""

    thread: int  # -1: an initial value
    place: int  # in the thread
    guard: Any
    order: str
    location: int = -1
    read: Any = None  # its value
    written: Any = None
    pair: Happening | None = None  # of an update's read: its write
    is_update: bool = False  # half of an update, or one that failed

    def is_before(self, other: Happening) -> bool:
        """Return whether the event is before `other` in the program, if both happen."""
        return self.thread == other.thread and self.place < other.place


class Symbolic:
    """All runs of a program at once, with a choice of reads-from and no constraint on order yet."""

    def __init__(self, program: Program) -> None:
        self.solver = z3.Solver()
        self._names = 0
        self.events: list[Happening] = []
        self.initial = [
            Happening(-1, n, z3.BoolVal(True), "plain", n, written=z3.BitVecVal(value, BITS))
            for n, value in enumerate(program.initial)
        ]
        ends = [self._run(n, thread) for n, thread in enumerate(program.threads)]
        self.rf = {read: self._sources(read) for read in self.events if read.read is not None}
        self.mo = {write: self.integer() for write in self.writes()}
        memory = [self._final(location) for location in range(len(program.locations))]
        self.observed = [memory[n] if t < 0 else ends[t][n] for t, n in program.observed]

    def integer(self) -> Any:
        """Return a new unknown number."""
        self._names += 1
        return z3.Int(f"i{self._names}")

    def boolean(self) -> Any:
        """Return a new unknown truth value."""
        self._names += 1
        return z3.Bool(f"b{self._names}")

    def _value(self) -> Any:
        self._names += 1
        return z3.BitVec(f"v{self._names}", BITS)

    def writes(self, location: int | None = None) -> list[Happening]:
        """Return the writes (to a location), initial values included."""
        return [
            event
            for event in (*self.initial, *self.events)
            if event.written is not None and location in (None, event.location)
        ]

    def add(self, *clauses: Any) -> None:
        """Add constraints."""
        self.solver.add(*clauses)

    def _run(self, thread: int, lines: tuple[Line, ...]) -> list[Any]:
        """Add the thread's events; return its registers at the end."""
        zero = [z3.BitVecVal(0, BITS)] * REGISTERS
        arrivals: list[list[tuple[Any, list[Any]]]] = [[] for _ in range(len(lines) + 1)]
        arrivals[0].append((z3.BoolVal(True), zero))
        for at, line in enumerate(lines):
            if not arrivals[at]:
                continue
            guard, registers = _merged(arrivals[at])
            a, b = (registers[o.register] if o.register is not None else o.number
                    for o in (line.a, line.b))  # fmt: skip
            holds = _compared(line.operator, a, b)
            if line.what == "if":
                arrivals[line.target].append((z3.And(guard, holds), registers))
                arrivals[at + 1].append((z3.And(guard, z3.Not(holds)), registers))
                continue
            if line.what == "goto":
                arrivals[line.target].append((guard, registers))
                continue
            if line.what == "assume":
                self.add(z3.Implies(guard, holds))
            elif line.what == "assert" or line.index.register is not None:
                raise UsageError(f"line {line.number}: not for this oracle")
            elif line.what == "local":
                registers = _set(registers, line.into, _computed(line.operator, a, b))
            else:
                registers = self._step(thread, line, guard, registers, a, b)
            arrivals[at + 1].append((guard, registers))
        return _merged(arrivals[len(lines)])[1]

    def _step(
        self, thread: int, line: Line, guard: Any, registers: list[Any], a: Any, b: Any
    ) -> list[Any]:
        place, location = 3 * len(self.events), line.location + line.index.number
        if line.what == "fence":
            self.events.append(Happening(thread, place, guard, line.order))
            return registers
        if line.what == "store":
            event = Happening(thread, place, guard, line.order, location, written=_number(a))
            self.events.append(event)
            return registers
        value = self._value()
        registers = _set(registers, line.into, value)
        if line.what == "load":
            self.events.append(Happening(thread, place, guard, line.order, location, value))
            return registers
        took = z3.BoolVal(True)
        if line.what in CASES:
            took = z3.And(value == b, self.boolean() if line.what == "cas_weak" else True)
            fails = z3.And(guard, z3.Not(took))
            failed = Happening(thread, place, fails, line.fail_order, location, value)
            failed.is_update = True
            self.events.append(failed)
        written = _number({"add": value + a, "or": value | a, "and": value & a}.get(line.what, a))
        write = Happening(thread, place + 2, z3.And(guard, took), line.order, location)
        write.written, write.is_update = written, True
        read = Happening(thread, place + 1, write.guard, line.order, location, value, pair=write)
        read.is_update = True
        self.events += [read, write]
        if line.what == "cas_weak":
            number = z3.If(took, z3.BitVecVal(1, BITS), z3.BitVecVal(0, BITS))
            registers = _set(registers, REGISTERS - 1, number)
        return registers

    def _sources(self, read: Happening) -> dict[Happening, Any]:
        sources = {
            write: self.boolean()
            for write in self.writes(read.location)
            if not read.is_before(write)
        }
        self.add(z3.Implies(read.guard, z3.Or(*sources.values())))
        for write, chosen in sources.items():
            self.add(
                z3.Implies(chosen, z3.And(read.guard, write.guard, read.read == write.written))
            )
            others = [other for source, other in sources.items() if source is not write]
            self.add(z3.Implies(chosen, z3.Not(z3.Or(*others))))
        return sources

    def _final(self, location: int) -> Any:
        """Order the location's writes; return the value of the last."""
        writes, value = self.writes(location), self._value()
        self.add(self.mo[writes[0]] == 0)
        for write in writes[1:]:
            self.add(self.mo[write] > 0)
        for write in writes:
            others = [other for other in writes if other is not write]
            self.add(*(self.mo[write] != self.mo[other] for other in others))
            is_last = [z3.Implies(o.guard, self.mo[o] < self.mo[write]) for o in others]
            self.add(z3.Implies(z3.And(write.guard, *is_last), value == write.written))
        for read, sources in self.rf.items():
            if read.pair is None or read.location != location:
                continue
            for source, chosen in sources.items():
                after = z3.Implies(chosen, self.mo[source] < self.mo[read.pair])
                between = [
                    z3.And(o.guard, self.mo[source] < self.mo[o], self.mo[o] < self.mo[read.pair])
                    for o in writes
                ]
                self.add(after, z3.Implies(chosen, z3.Not(z3.Or(*between))))
        return value


def _number(value: Any) -> Any:
    return z3.BitVecVal(value, BITS) if isinstance(value, int) else value


def _set(registers: list[Any], which: int | None, value: Any) -> list[Any]:
    return [_number(value) if n == which else old for n, old in enumerate(registers)]


def _merged(arrivals: list[tuple[Any, list[Any]]]) -> tuple[Any, list[Any]]:
    guard, registers = arrivals[0]
    for other, values in arrivals[1:]:
        registers = [
            old if old is new else z3.If(other, new, old)
            for old, new in zip(registers, values, strict=True)
        ]
        guard = z3.Or(guard, other)
    return guard, registers


def _compared(operator: str, a: Any, b: Any) -> Any:
    a, b = _number(a), _number(b)
    return {
        "==": lambda: a == b,
        "!=": lambda: a != b,
        "<": lambda: z3.ULT(a, b),
        "<=": lambda: z3.ULE(a, b),
        ">": lambda: z3.UGT(a, b),
        ">=": lambda: z3.UGE(a, b),
    }.get(operator, lambda: z3.BoolVal(True))()


def _computed(operator: str, a: Any, b: Any) -> Any:
    a, b = _number(a), _number(b)
    return {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "&": lambda: a & b,
        "|": lambda: a | b,
        "^": lambda: a ^ b,
        "*": lambda: a * b,
    }[operator]()
