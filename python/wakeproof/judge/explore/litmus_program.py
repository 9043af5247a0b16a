# SPDX-License-Identifier: Apache-2.0
"""Small programs as data: each class is one line of the language in ``stress/explorer/data.c``.

A register is ``"r0"`` to ``"r7"``, an operand a number or a register, an order one of the words
below; a place is a location's name, or ``"a[r0]"``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wakeproof.judge.explore.options import ORDERS

Operand = int | str

PLAIN, RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST = ORDERS
LIGHT, HEAVY = "light", "heavy"


@dataclass(frozen=True)
class Load:
    """``into = load place``."""

    into: str
    place: str
    order: str = RELAXED

    def __str__(self) -> str:
        return f"{self.into} = load {self.place} {self.order}"


@dataclass(frozen=True)
class Store:
    """``place := value``."""

    place: str
    value: Operand
    order: str = RELAXED

    def __str__(self) -> str:
        return f"store {self.place} {self.value} {self.order}"


@dataclass(frozen=True)
class Update:
    """``into = what(place, value)``: exchange, add, or, and; gives the old value."""

    what: str
    place: str
    value: Operand
    order: str = RELAXED
    into: str | None = None

    def __str__(self) -> str:
        return f"{_into(self.into)}{self.what} {self.place} {self.value} {self.order}"


@dataclass(frozen=True)
class Cas:
    """Compare-and-swap; gives the old value; a weak one sets r7 to 1 if it took place, else 0."""

    place: str
    expected: Operand
    desired: Operand
    order: str = RELAXED
    fail_order: str = RELAXED
    into: str | None = None
    weak: bool = False

    def __str__(self) -> str:
        word = "cas_weak" if self.weak else "cas"
        values = f"{self.expected} {self.desired}"
        return f"{_into(self.into)}{word} {self.place} {values} {self.order} {self.fail_order}"


@dataclass(frozen=True)
class Fence:
    """A fence: acquire, release, acq_rel, seq_cst, light or heavy."""

    order: str = SEQ_CST

    def __str__(self) -> str:
        return f"fence {self.order}"


@dataclass(frozen=True)
class Wait:
    """Futex wait while `place` is `expected`: 0 woken, 1 it was not, 2 timed out."""

    place: str
    expected: Operand
    into: str | None = None
    deadline: bool = False

    def __str__(self) -> str:
        word = "wait_until" if self.deadline else "wait"
        return f"{_into(self.into)}{word} {self.place} {self.expected}"


@dataclass(frozen=True)
class Wake:
    """Futex wake of up to `count` sleepers; gives how many."""

    place: str
    count: Operand = 1
    into: str | None = None

    def __str__(self) -> str:
        return f"{_into(self.into)}wake {self.place} {self.count}"


@dataclass(frozen=True)
class Step:
    """A scheduling point that touches no memory."""

    def __str__(self) -> str:
        return "step"


@dataclass(frozen=True)
class Let:
    """``into = a``, or ``into = a + b``: ``+ - & | ^ *``; local."""

    into: str
    a: Operand
    operator: str = ""
    b: Operand = 0

    def __str__(self) -> str:
        rest = f" {self.operator} {self.b}" if self.operator else ""
        return f"{self.into} = {self.a}{rest}"


@dataclass(frozen=True)
class Comparison:
    """``a operator b``: ``== != < <= > >=``, unsigned; local."""

    a: Operand
    operator: str
    b: Operand

    def __str__(self) -> str:
        return f"{self.a} {self.operator} {self.b}"


@dataclass(frozen=True)
class If(Comparison):
    """Jump to `label` if the comparison holds."""

    label: str

    def __str__(self) -> str:
        return f"if {super().__str__()} goto {self.label}"


@dataclass(frozen=True)
class Goto:
    """Jump to `label`; local."""

    label: str

    def __str__(self) -> str:
        return f"goto {self.label}"


@dataclass(frozen=True)
class Label:
    """The target of a jump."""

    name: str

    def __str__(self) -> str:
        return f"{self.name}:"


class Assume(Comparison):
    """Ignore the executions in which this does not hold."""

    def __str__(self) -> str:
        return f"assume {super().__str__()}"


class Assert(Comparison):
    """Count the executions in which this does not hold as failures."""

    def __str__(self) -> str:
        return f"assert {super().__str__()}"


Operation = (
    Load
    | Store
    | Update
    | Cas
    | Fence
    | Wait
    | Wake
    | Step
    | Let
    | If
    | Goto
    | Label
    | Assume
    | Assert
)
"""One line of a thread; its text is the line."""


@dataclass(frozen=True)
class Thread:
    """One thread."""

    operations: tuple[Operation, ...]


@dataclass(frozen=True)
class Program:
    """One program.  `observe` names the outcome: ``0:r0`` a register of thread 0, ``x`` a value."""

    name: str
    threads: tuple[Thread, ...]
    observe: tuple[str, ...] = ()
    initial: dict[str, int] = field(default_factory=dict)
    arrays: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"program {self.name}"]
        lines += [f"array {name} {size}" for name, size in self.arrays.items()]
        lines += [f"init {name} {value}" for name, value in self.initial.items()]
        for thread in self.threads:
            lines.append("thread")
            lines += map(str, thread.operations)
        seen = self.observe
        lines += ["observe " + " ".join(seen[at : at + 8]) for at in range(0, len(seen), 8)]
        return "\n".join(lines) + "\n"


def _into(register: str | None) -> str:
    return f"{register} = " if register else ""
