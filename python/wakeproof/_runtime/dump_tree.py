# SPDX-License-Identifier: Apache-2.0
"""The parts of a dump: the entry of each thread, the shared stacks, and the tree of scopes.

Spec: ``specs/inspect/Dump.tla``.  Source: ``dump.py``, ``stacks.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import lib
from wakeproof._runtime import stacks as _stacks

if TYPE_CHECKING:
    from wakeproof._runtime.stacks import Stack
    from wakeproof.scope import Scope
    from wakeproof.vthread import VirtualThread

ROOT = "<root>"
STACKS = 1024  # the most different stacks that are counted separately
NAMES = 4  # how many names of threads with the same stack are shown at most
_UNTOUCHED: Stack = ()


@dataclass
class _Same:
    """The threads that have the same state and the same stack."""

    count: int = 0
    names: list[str] = field(default_factory=list)


@dataclass
class Listing:
    """One dump in progress."""

    running: dict[int, Stack]
    left: int  # the number of threads that may still be listed one by one
    count: int = 0
    listed: int = 0
    others: int = 0
    same: dict[tuple[str, Stack], _Same] = field(default_factory=dict)
    # the thread that each carrier runs, by group
    carriers: dict[tuple[int, str], int] = field(default_factory=dict)

    def look(self, thread: VirtualThread) -> dict[str, Any] | None:
        """Return the entry of a thread, and count it; None if it has ended."""
        stack, state = _stacks.parked(thread), thread.state
        if state == "terminated":
            return None
        if stack is not None:  # parked when its stack was read; perhaps unparked after that
            state = "queued" if state == "queued" else "parked"
        else:  # not parked when it was read, whatever its state is now
            state = "running" if state == "parked" else state
            stack = self.running.get(thread._number, _UNTOUCHED)
        home, carrier = _name(thread, lib.wp__vthread_home), None
        if state in ("running", "pinned"):
            carrier = _name(thread, lib.wp_dump_carrier)
        if carrier is not None:
            self.carriers[id(thread._group), carrier] = thread._number
        self._count(thread, state, stack)
        return {"tid": str(thread._number), "name": thread.name, "state": state, "home": home,
                "carrier": carrier, "stack": stack}  # fmt: skip

    def _count(self, thread: VirtualThread, state: str, stack: Stack) -> None:
        self.count += 1
        key = (state, stack)
        same = self.same.get(key)
        if same is None and len(self.same) == STACKS:
            self.others += 1
            return
        if same is None:
            same = self.same[key] = _Same()
        same.count += 1
        if len(same.names) < NAMES:
            same.names.append(thread.name)

    def each(self, members: Iterable[VirtualThread]) -> Iterator[dict[str, Any]]:
        """Yield the entries of threads that are listed one by one; count the others."""
        for thread in members:
            said = self.look(thread)
            if said is not None and self.listed < self.left:
                self.listed += 1
                yield said | {"stack": lines(said["stack"])}

    def by_stack(self) -> list[dict[str, Any]]:
        """Return the stacks; a stack that more threads have comes first."""
        ordered = sorted(self.same.items(), key=lambda item: -item[1].count)
        return [
            {"count": str(same.count), "state": state, "names": same.names, "stack": lines(stack)}
            for (state, stack), same in ordered
        ]


def lines(stack: Stack) -> list[str]:
    """Return a line for each frame, the innermost first."""
    return [f"{code.co_qualname} ({code.co_filename}:{line})" for code, line in stack]


def _name(thread: VirtualThread, asked: Callable[..., int]) -> str | None:
    """Return the name of a carrier; the kernel's function `asked` returns its index."""
    group, index = thread._group, thread._tell(asked)
    return None if group is None or index is None or index < 0 else group._all[index].name


def label(scope: Scope | None) -> str:
    """Return the name of a scope in a dump."""
    return ROOT if scope is None else f"{scope.name}@{id(scope):x}"


def owner(scope: Scope | None) -> str | None:
    """Return the owner of the scope: the number of a virtual thread, or of an OS thread."""
    if scope is None:
        return None
    who = scope._owner
    return str(who if isinstance(who, int) else getattr(who, "_number", who))


def tree(alive: list[VirtualThread]) -> Iterator[tuple[Scope | None, list[VirtualThread]]]:
    """Yield each scope and the threads forked in it, parents first; None stands for the root."""
    members: dict[Scope | None, list[VirtualThread]] = {None: []}
    inside: dict[Scope | None, list[Scope]] = {}

    def enter(scope: Scope | None) -> None:
        path: list[Scope] = []
        while scope not in members:
            assert scope is not None
            members[scope] = []
            path.append(scope)
            scope = scope.parent
        for one in reversed(path):
            inside.setdefault(one.parent, []).append(one)

    for thread in alive:
        enter(thread._scope)
        members[thread._scope].append(thread)
        for scope in list(thread._scopes):
            enter(scope)
    left: list[Scope | None] = [None]
    while left:
        scope = left.pop()
        yield scope, members[scope]
        left += reversed(inside.get(scope, []))
