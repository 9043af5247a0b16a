# SPDX-License-Identifier: Apache-2.0
"""What the enumeration runs: threads that stop at every shared operation and say what it is.

A place names all that a thread does from there on, given the values that it reads.  A small program
as text is such a machine (`Text`); compiled code is another (``explore/armv8.py``).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from wakeproof.errors import UsageError
from wakeproof.judge.oracle.graph import NONE, Dependencies, Identity
from wakeproof.judge.oracle.program import (
    CASES,
    COMPARE,
    COMPUTE,
    REGISTERS,
    UPDATES,
    Line,
    Local,
    Operand,
    Program,
)

READS = ("load", *UPDATES, *CASES)


@dataclass(frozen=True)
class Step:
    """The operation at which a thread stops, with the values that it takes from registers.

    `what` is load, store, one of UPDATES or CASES, fence; or assume or assert, which does not hold.
    """

    what: str
    order: str = ""
    fail_order: str = ""
    location: int = -1
    a: int = 0  # stored, desired
    b: int = 0  # expected
    bits: int = 64
    needs: Dependencies = NONE

    def written(self, old: int) -> list[int | None]:
        """Return what the operation may write over `old`; None: nothing."""
        match self.what:
            case "load":
                return [None]
            case "exchange":
                return [self.a]
            case "add":
                return [(old + self.a) % (1 << self.bits)]
            case "or":
                return [old | self.a]
            case "and":
                return [old & self.a]
        if old != self.b:
            return [None]
        return [self.a, None] if self.what == "cas_weak" else [self.a]


class Machine(Protocol):
    """Threads, from their starts to their ends."""

    @property
    def threads(self) -> int:
        """The number of threads."""

    @property
    def initial(self) -> Sequence[int]:
        """The value of each location before the first step."""

    def start(self, thread: int) -> Hashable:
        """Return where the thread begins."""

    def step(self, thread: int, place: Any) -> Step | None:
        """Return what the thread does there; None: it has ended."""

    def after(self, thread: int, place: Any, value: int, took: bool, by: Identity) -> Hashable:
        """Return where it goes on after that step, the event `by`, read `value`."""

    def outcome(self, ends: Sequence[Any], memory: Sequence[int]) -> str:
        """Return what is observed at the end."""


@dataclass(frozen=True)
class Tracked:
    """Where a thread of a text is, and which reads its registers and its place depend on."""

    local: Local
    registers: tuple[frozenset[Identity], ...] = field(
        default=(frozenset(),) * REGISTERS, compare=False
    )
    control: frozenset[Identity] = field(default=frozenset(), compare=False)


class Text:
    """A program as text.

    `dependencies`: remember on which reads an operation depends, as if each line were translated to
    instructions of its own; `paired`: a compare-and-swap to a pair, between which is a branch.
    """

    def __init__(
        self, program: Program, *, dependencies: bool = False, paired: bool = False
    ) -> None:
        self.program = program
        self.threads = len(program.threads)
        self.initial = program.initial
        self._tracks, self._branches = dependencies, dependencies and paired

    def start(self, thread: int) -> Tracked:
        """Return where the thread begins."""
        return self._settled(thread, Tracked(Local()))

    def step(self, thread: int, place: Tracked) -> Step | None:
        """Return what the thread does there; None: it has ended."""
        lines, local = self.program.threads[thread], place.local
        if local.at == len(lines):
            return None
        line = lines[local.at]
        location = line.location
        if line.location >= 0:
            location += line.index.of(local.registers)
            if location >= len(self.initial):
                raise UsageError(f"line {line.number}: an index beyond the last location")
        return Step(
            line.what, line.order, line.fail_order, location, line.a.of(local.registers),
            line.b.of(local.registers), needs=self._needs(line, place),
        )  # fmt: skip

    def after(self, thread: int, place: Tracked, value: int, took: bool, by: Identity) -> Tracked:
        """Return where it goes on after that step, the event `by`, read `value`."""
        local = place.local
        line = self.program.threads[thread][local.at]
        now = replace(place, local=local.jump(local.at + 1))
        if line.what in READS:
            now = self._set(now, line.into, value, frozenset([by]))
        if line.what in CASES and self._branches:
            from_ = self._reads(place, line.b) | {by}
            now = replace(now, control=place.control | from_)
        if line.what == "cas_weak":
            now = self._set(now, REGISTERS - 1, int(took), frozenset([by]))
        return self._settled(thread, now)

    def outcome(self, ends: Sequence[Tracked], memory: Sequence[int]) -> str:
        """Return what is observed at the end."""
        return self.program.outcome([end.local.registers for end in ends], list(memory))

    def _settled(self, thread: int, place: Tracked) -> Tracked:
        """Take local instructions until a shared one, a condition that fails, or the end."""
        lines = self.program.threads[thread]
        while place.local.at < len(lines):
            line, local = lines[place.local.at], place.local
            a, b = line.a.of(local.registers), line.b.of(local.registers)
            from_ = self._reads(place, line.a, line.b)
            holds = line.operator in COMPARE and COMPARE[line.operator](a, b)
            if line.what == "if":
                place = replace(place, control=place.control | from_)
            following = replace(place, local=local.jump(local.at + 1))
            if line.what == "local":
                place = self._set(following, line.into, COMPUTE[line.operator](a, b), from_)
            elif line.what == "goto" or (line.what == "if" and holds):
                place = replace(place, local=local.jump(line.target))
            elif line.what == "if" or (line.what in ("assume", "assert") and holds):
                place = following
            else:
                break
        return place

    def _set(
        self, place: Tracked, register: int | None, value: int, reads: frozenset[Identity]
    ) -> Tracked:
        registers = place.registers
        if self._tracks and register is not None:
            registers = (*registers[:register], reads, *registers[register + 1 :])
        return Tracked(place.local.set(register, value), registers, place.control)

    def _reads(self, place: Tracked, *operands: Operand) -> frozenset[Identity]:
        if not self._tracks:
            return frozenset()
        used = [place.registers[o.register] for o in operands if o.register is not None]
        return frozenset[Identity]().union(*used)

    def _needs(self, line: Line, place: Tracked) -> Dependencies:
        if not self._tracks:
            return NONE
        return Dependencies(
            self._reads(place, line.index), self._reads(place, line.a, line.b), place.control
        )
