# SPDX-License-Identifier: Apache-2.0
"""What a preloaded recorder has seen of waits and wakes, and what it hints at.

``record.c`` is the recorder: it keeps a ring of events for each thread in the memory of the
process.  A hint is no verdict.  A signal to nobody is usual: its sender has changed what it guards,
and the later waiter saw that.  It explains a hang only if the waiter did not look.
"""

from __future__ import annotations

import os
import shutil
import struct
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from wakeproof import locations
from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge.builds import compiler
from wakeproof.judge.process import Children
from wakeproof.judge.source_texts import digest
from wakeproof.judge.watch.process import Process
from wakeproof.judge.watch.symbols import Symbols

SOURCE: Final = Path(__file__).with_name("record.c")
_NAME: Final = "wakeproof-record-"
_COMPILE_S: Final = 60.0
_HEAD: Final = struct.Struct("<IIQqq")  # wakeproof_record
_RING: Final = struct.Struct("<QQQqqII")  # struct ring before its events
_EVENT: Final = struct.Struct("<QQQHHi")
_MOST_RINGS: Final = 4096
_WAIT, _END, _WAKE, _WAKE_ALL = 1, 2, 3, 4
_CONDITION, _SEMAPHORE, _EVENTFD, _FUTEX, _OWN_CONDITION, _VTHREAD = 1, 2, 3, 4, 5, 6
_TOLD: Final = {_CONDITION: "signalled", _SEMAPHORE: "posted", _EVENTFD: "written",
                _FUTEX: "woken", _OWN_CONDITION: "signalled", _VTHREAD: "unparked"}  # fmt: skip
_SETTLES_S: Final = 1.0
"""A thread that was woken may take so long until it runs."""
_KEEPS: Final = (_SEMAPHORE, _EVENTFD, _VTHREAD)
"""Objects that keep a wake for a later wait."""
_SHARED: Final = (_CONDITION, _SEMAPHORE, _EVENTFD, _OWN_CONDITION)
"""Objects of which another waiter can take the wake."""


KINDS: Final = {
    "after": "woken after its wait began, and it sleeps on",
    "nobody": "woken before its wait began, when nobody waited",
    "taken": "another thread took the last wake",
}
"""The kinds of hints, the strongest first."""


@dataclass(frozen=True)
class Hint:
    """What the recorder has seen of one sleeper."""

    kind: str  # a key of KINDS
    tid: int | None  # None: a virtual thread
    who: str
    why: str


@dataclass(frozen=True)
class Event:
    """One event, in the time of this machine's monotonic clock."""

    at_s: float
    tid: int
    object: int
    who: int
    kind: int
    of: int
    result: int


@dataclass(frozen=True)
class _Stay:
    """A wait: from its begin until its end, if it has one."""

    begin: Event
    end: Event | None

    def covers(self, at_s: float) -> bool:
        """Return whether it lasted at a time."""
        return self.begin.at_s < at_s and (self.end is None or at_s < self.end.at_s)


def library() -> Path:
    """Return the recorder's library, which is compiled once.

    Raises:
        MissingToolError: there is no C compiler, or it does not compile the library.
    """
    command = compiler()
    folder = locations.cache() / "watch"
    folder.mkdir(exist_ok=True)
    target = folder / f"{_NAME}{digest(SOURCE.read_text(encoding='utf-8'), *command)}.so"
    if not target.exists():
        partial = target.with_suffix(f".{os.getpid()}")
        with Children() as children:
            built = children.run([*command, "-std=gnu11", "-O2", "-fPIC", "-shared",
                                  "-fvisibility=hidden", "-pthread", str(SOURCE), "-o",
                                  str(partial), "-ldl"], timeout_s=_COMPILE_S)  # fmt: skip
        if built.code != 0:
            raise MissingToolError(f"the recorder does not compile: {built.output}")
        partial.replace(target)
    return target


def environment() -> dict[str, str]:
    """Return the environment of a program that is to be recorded."""
    others = os.environ.get("LD_PRELOAD", "")
    return {**os.environ, "LD_PRELOAD": f"{library()} {others}".strip()}


def run(command: Sequence[str]) -> NoReturn:
    """Become a program, with the recorder in it.

    Raises:
        UsageError: there is no such program.
    """
    program = shutil.which(command[0])
    if program is None:
        raise UsageError(f"there is no program {command[0]}")
    its = environment()
    os.execve(program, list(command), its)  # noqa: S606  # that is what --record is for


class Recording:
    """The rings of one process, as they are now."""

    def __init__(self, process: Process, symbols: Symbols) -> None:
        self._process = process
        self._symbols = symbols
        self._numbers = process.own_numbers()
        self._since_s = 0.0  # the rings are complete from then on
        self._settled_s = time.monotonic() - _SETTLES_S
        self.events = sorted(self._read(), key=lambda one: one.at_s)
        self._stays = dict[int, list[_Stay]]()  # by object
        self._of: dict[tuple[int, int], _Stay] = {}  # the newest, by thread
        self._pair()

    @staticmethod
    def place(symbols: Symbols) -> int | None:
        """Return where the recorder's data begin, or None: the process has no recorder."""
        for region in symbols.regions:
            if Path(region.path).name.startswith(_NAME):
                image = symbols.image(region)
                value = image.address("wakeproof_record") if image is not None else None
                if image is not None and value is not None:
                    return region.begin - image.offset(region.offset) + value
        return None

    def hints(
        self, calm: Collection[int], stuck: Collection[int], names: Mapping[int, str],
        task: Callable[[int], str],
    ) -> Iterator[Hint]:  # fmt: skip
        """Yield a hint for each wait that explains itself.

        `calm` are threads that have slept for a while; virtual threads need not be among them.
        `stuck` are those that only a signal helps: for them it is also told who took the last wake.
        `task` says a virtual thread in words.
        """
        for (tid, who), stay in self._of.items():
            if stay.end is not None or not (who or tid in calm):
                continue
            found = self._why(stay, is_stuck=bool(stuck) if who else tid in stuck)
            if found is not None:
                name = task(who) if who else f"{tid} ({names.get(tid, '?')})"
                yield Hint(found[0], None if who else tid, name, found[1])

    def _why(self, stay: _Stay, *, is_stuck: bool) -> tuple[str, str] | None:
        """Return what the wakes of its object say of a wait that has not ended, if they do."""
        begin = stay.begin
        told = _TOLD[begin.of]
        name = self._named(begin)
        wakes = [one for one in self.events if one.of == begin.of and one.object == begin.object
                 and one.kind in (_WAKE, _WAKE_ALL)]  # fmt: skip
        later = [one for one in wakes if begin.at_s < one.at_s < self._settled_s]
        if begin.of not in (_SEMAPHORE, _EVENTFD):
            for wake in later:
                if wake.kind == _WAKE_ALL or begin.of == _VTHREAD or wake.result == 0:
                    how = "broadcast" if wake.kind == _WAKE_ALL else told
                    return "after", (f"{name} was {how}{self._by(wake)} "
                                     f"{_s(wake.at_s - begin.at_s)} after its wait began, and it "
                                     "sleeps on")  # fmt: skip
            ended = sum(one.end is not None and one.end.at_s > begin.at_s
                        for one in self._stays[begin.object])  # fmt: skip
            if len(later) > ended:
                return "after", (f"{name} was {told} {len(later)} times since its wait began, and "
                                 f"{ended} waits have ended")  # fmt: skip
        last = wakes[-1] if wakes else None
        if last is None or last.at_s < self._since_s:
            return None
        if not later and begin.of not in _KEEPS and self._is_to_nobody(last):
            return "nobody", (f"{name} was {told} to nobody{self._by(last)} "
                              f"{_s(begin.at_s - last.at_s)} before its wait began")  # fmt: skip
        taker = self._taker(last) if is_stuck and begin.of in _SHARED else None
        if taker is None:
            return None
        distance = last.at_s - begin.at_s
        return "taken", (f"{name} was last {told}{self._by(last)} {_s(abs(distance))} "
                         f"{'after' if distance > 0 else 'before'} its wait began, and thread "
                         f"{taker} took that")  # fmt: skip

    def _named(self, begin: Event) -> str:
        if begin.of == _VTHREAD:
            return "it"
        if begin.of == _EVENTFD:
            return f"eventfd {begin.object}"
        return self._symbols.words(begin.object)

    def _by(self, wake: Event) -> str:
        place = self._symbols.place(wake.who)
        return f" by {place.words}" if place is not None else ""

    def _is_to_nobody(self, wake: Event) -> bool:
        return wake.result <= 0 and not any(
            one.covers(wake.at_s) for one in self._stays.get(wake.object, ())
        )

    def _taker(self, wake: Event) -> int | None:
        """Return the thread whose wait was the first that ended after a wake."""
        ends = [one.end for one in self._stays.get(wake.object, ()) if one.end is not None]
        later = [one for one in ends if one.at_s > wake.at_s and one.result >= 0]
        return min(later, key=lambda one: one.at_s).tid if later else None

    def _pair(self) -> None:
        """Find the end of each wait."""
        begun: dict[tuple[int, int], Event] = {}
        for event in self.events:
            key = (0 if event.who else event.tid, event.who)
            if event.kind == _WAIT:
                begun[key] = event
                self._of[key] = _Stay(event, None)
            elif event.kind == _END and key in begun:
                stay = _Stay(begun.pop(key), event)
                self._of[key] = stay
                self._stays.setdefault(event.object, []).append(stay)
        for stay in self._of.values():
            if stay.end is None:
                self._stays.setdefault(stay.begin.object, []).append(stay)

    def _read(self) -> Iterator[Event]:
        place = self.place(self._symbols)
        head = self._process.read(place, _HEAD.size) if place is not None else None
        if head is None:
            return
        size, many, ring, ticks, ns = _HEAD.unpack(head)
        rings = list[tuple[int, int, bytes]]()
        newest = (ticks, ns)
        while ring and len(rings) < _MOST_RINGS:
            got = self._process.read(ring, size)
            if got is None:
                break
            ring, _, count, its_ticks, its_ns, tid, _ = _RING.unpack_from(got)
            newest = max(newest, (its_ticks, its_ns))
            rings.append((tid, count, got))
        if newest[0] == ticks:
            return  # nobody has waited
        ns_per_tick = (newest[1] - ns) / (newest[0] - ticks)
        for tid, count, got in rings:
            oldest = None
            for number in range(max(0, count - many), count):
                at, thing, who, kind, of, result = _EVENT.unpack_from(
                    got, _RING.size + number % many * _EVENT.size
                )
                at_s = (ns + (at - ticks) * ns_per_tick) / 1e9
                oldest = at_s if oldest is None else oldest
                yield Event(at_s, self._numbers.get(tid, tid), thing, who, kind, of, result)
            if count > many and oldest is not None:
                self._since_s = max(self._since_s, oldest)


def hints(
    process: Process, symbols: Symbols, calm: Collection[int], stuck: Collection[int],
    names: Mapping[int, str], task: Callable[[int], str],
) -> tuple[Hint, ...]:  # fmt: skip
    """Return the hints of a process; () if it has no recorder."""
    symbols.renew()  # the first look may have come before the recorder was loaded
    if Recording.place(symbols) is None:
        return ()
    found = Recording(process, symbols).hints(calm, stuck, names, task)
    return tuple(sorted(found, key=lambda one: list(KINDS).index(one.kind)))


def _s(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.01 else f"{1e6 * seconds:.0f} us"
