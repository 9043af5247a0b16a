# SPDX-License-Identifier: Apache-2.0
"""The code's side of a comparison: the explorer's graph of states, with names.

Source: ``stress/explorer/dump.c`` (the format).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from wakeproof.errors import JudgeError
from wakeproof.judge.explore.explored import shown
from wakeproof.judge.labels import TWIN, Labels, sites
from wakeproof.judge.twins import edits

LOAD, STORE, CAS, CHOOSE, WAIT, END = 1, 2, 7, 19, 11, 16
"""Kinds in ``program.h``."""
ACQUIRING, RELEASING = (2, 4, 5), (3, 4, 5)
"""Memory orders in ``program.h``: acquire, release; acq_rel and seq_cst are both."""
_NAMED = re.compile(r"/\* \[([\w.]+)\] \*/\s*$")
_CALL = re.compile(r'WP__SITE\("(\w+)"\)')


@dataclass(frozen=True, slots=True)
class Position:
    """The next step of a thread at a place of its program."""

    kind: int
    site: str  # a label, as parker.1; in a scenario, the name in its comment; else file:line
    offset: int  # of the place in the scenario's state; -1: none
    operand: int
    expected: int
    order: int = 0  # memory order, as in program.h
    fail_order: int = 0  # of a compare-and-swap that fails


@dataclass
class Dump:
    """A graph of states."""

    threads: int = 0
    asleep: array[int] = field(default_factory=lambda: array("I"))  # per state, a bit per thread
    states: list[tuple[int, ...]] = field(default_factory=list)  # positions, then values
    source: array[int] = field(default_factory=lambda: array("I"))
    target: array[int] = field(default_factory=lambda: array("I"))
    thread: bytearray = field(default_factory=bytearray)
    value: list[int] = field(default_factory=list)
    is_drain: bytearray = field(default_factory=bytearray)  # TSO: a buffered store reaches memory
    positions: list[dict[int, Position]] = field(default_factory=list)  # per thread
    offsets: dict[int, int] = field(default_factory=dict)  # offset in the state -> location
    places: dict[str, int] = field(default_factory=dict)  # how the code names it -> offset
    initial: tuple[int, ...] = ()

    def at(self, state: int) -> At:
        """Return a state."""
        return At(self, state)

    def step(self, edge: int, memory: Any = None) -> Step:
        """Return an edge as a step, with the ghost's memory before it."""
        thread = self.thread[edge]
        return Step(self, thread, self.value[edge], self.at(self.source[edge]),
                    self.at(self.target[edge]), memory)  # fmt: skip


@dataclass(frozen=True)
class At:
    """A state of the code."""

    dump: Dump
    state: int

    def word(self, offset: int, unset: int = 0) -> int:
        """Return the value at `offset` of the scenario's state; `unset` if no thread goes there."""
        location = self.dump.offsets.get(offset)
        if location is None:
            return unset
        return self.dump.states[self.state][self.dump.threads + location]

    def named(self, place: str) -> int:
        """Return the value of a place by its name in the code: "ticket->next"."""
        return self.word(self.dump.places.get(place, -1))

    def is_asleep(self, thread: int) -> bool:
        """Return whether the thread sleeps in a futex."""
        return bool(self.dump.asleep[self.state] >> thread & 1)

    def position(self, thread: int) -> int:
        """Return the number of the thread's position."""
        return self.dump.states[self.state][thread]

    def pending(self, thread: int) -> Position:
        """Return the thread's next step, or the wait that it is in."""
        return self.dump.positions[thread][self.dump.states[self.state][thread]]

    @property
    def text(self) -> str:
        """The state in words: the memory, then the place of each thread."""
        dump = self.dump
        memory = ", ".join(f"+{o}: {self.word(o)}" for o in sorted(dump.offsets))
        threads = ", ".join(
            f"{t} {'sleeps in' if self.is_asleep(t) else 'at'} {self.pending(t).site}"
            for t in range(dump.threads)
        )
        return f"{memory}; {threads}"


@dataclass(frozen=True)
class Step:
    """An edge of the code; with joined steps, `site` is the first's and `value` the last's."""

    dump: Dump
    thread: int
    value: int
    pre: At
    post: At
    memory: Any  # the ghost's, before the step

    @cached_property
    def what(self) -> Position:
        """The step that the thread was about to take."""
        return self.pre.pending(self.thread)

    @property
    def site(self) -> str:
        """The site of the step: a label, or a name that the scenario gives."""
        return self.what.site

    @property
    def ends_sleep(self) -> str:
        """Return how a sleep ended without a wake: "late", "spurious"; "": the thread was awake."""
        if not self.pre.is_asleep(self.thread):
            return ""
        return "late" if self.value == 2 else "spurious"

    @property
    def takes_place(self) -> bool:
        """Return whether the step takes effect: any step but a compare-and-swap that fails."""
        what = self.what
        return what.kind != CAS or self.pre.word(what.offset) == what.expected

    @property
    def acquires(self) -> bool:
        """Return whether the step acquires, by its memory order in the code."""
        what = self.what
        return (what.order if self.takes_place else what.fail_order) in ACQUIRING

    @property
    def releases(self) -> bool:
        """Return whether the step releases, by its memory order in the code."""
        return self.what.order in RELEASING and self.takes_place

    def tells(self, mark: str) -> int | None:
        """Return the value at the ``litmus_return`` named `mark`, if the thread is there now."""
        then = self.post.pending(self.thread)
        return then.operand if then.site == mark else None

    @property
    def moves(self) -> bool:
        """Return whether the thread is somewhere else afterwards."""
        return self.pre.position(self.thread) != self.post.position(self.thread) or (
            self.pre.is_asleep(self.thread) != self.post.is_asleep(self.thread)
        )


def lies(step: Step, mark: str, *, truth: bool) -> bool:
    """Return whether the thread is at this ``litmus_return`` with a value other than `truth`."""
    then = step.post.pending(step.thread)
    return then.site == mark and bool(then.operand) != truth


def wakes_next(step: Step, offset: int) -> bool:
    """Return whether the thread's next step is the system call that wakes sleepers at `offset`."""
    then = step.post.pending(step.thread)
    return then.site == "futex_wake" and then.offset == offset


def site_names(
    labels: Labels, kernel: Path, scenario: Path, twin: str | None = None
) -> dict[tuple[str, int], str]:
    """Return names by (file, line).

    The names are the labels of the kernel, its system calls (``futex_wait``), and the names in
    comments of `scenario`: ``/* [Write] */``.  The line of a twin has the name of the site that the
    line replaces (``TWIN``).
    """
    edited = edits.texts_of(twin, kernel.parent)
    changed = {shown(path) for path in edited}
    names = {place: name for place, name in labels.by_line.items() if place[0] not in changed}
    for path, text in edited.items():
        names |= {(site.file, n): site.label for site in sites(path, text)
                  for n in range(site.first, site.last + 1)}  # fmt: skip
    system = kernel.parent / "stress" / "explorer" / "compiled_system.c"
    places = [(path, _CALL) for path in (*sorted(kernel.rglob("*.c")), system)]
    places += [(path, TWIN) for path in edited]
    for path, pattern in [*places, (scenario, _NAMED)]:
        text = edited.get(path) or path.read_text(encoding="utf-8")
        for number, line in zip(edits.numbered(text), text.split("\n"), strict=True):
            found = pattern.search(line)
            if found and found.group(1):
                names[shown(path), number] = found.group(1)
    return names


def read(lines: Iterable[str], names: Mapping[tuple[str, int], str]) -> Dump:
    """Read a dump.

    Raises:
        JudgeError: the dump is not complete.
    """
    dump = Dump()
    steps: list[tuple[int, int, list[int]]] = []
    sites: dict[int, str] = {}
    places: dict[int, int] = {}
    end = ""
    for line in lines:
        mark, _, rest = line.partition(" ")
        if mark == "s":
            asleep, *numbers = map(int, rest.split())
            dump.asleep.append(asleep)
            dump.states.append(tuple(numbers))
        elif mark in ("e", "d"):
            target, thread, value = map(int, rest.split())
            dump.source.append(len(dump.states) - 1)
            dump.target.append(target)
            dump.thread.append(thread)
            dump.value.append(value)
            dump.is_drain.append(mark == "d")
        elif mark == "p":
            thread, position, *step = map(int, rest.split())
            steps.append((thread, position, step))
        elif mark == "l":
            location, offset, what = rest.split(" ", 2)
            places[int(location)] = int(offset)
            dump.places[what.strip().rpartition("&")[2]] = int(offset)
        elif mark == "i":
            index, file, at, _ = rest.split(" ", 3)
            sites[int(index)] = names.get((file, int(at)), f"{file}:{at}")
        else:
            end = rest.strip()
    if end != f"{len(dump.states)} {len(dump.source)}":
        raise JudgeError(f"the explorer's dump is not complete: {end!r}")
    dump.threads = 1 + max(thread for thread, _, _ in steps)
    dump.positions = [{} for _ in range(dump.threads)]
    for thread, position, (kind, number, where, operand, expected, order, failed) in steps:
        name = "end" if kind == END else sites[number]
        dump.positions[thread][position] = Position(
            kind, name, places.get(where, -1), operand, expected, order, failed
        )
    dump.offsets = {offset: location for location, offset in places.items()}
    return dump
