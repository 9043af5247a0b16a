# SPDX-License-Identifier: Apache-2.0
"""The class of a broken claim, decided by the final state of an execution and the steps to it.

docs/inside/explorer.md defines each class, with an example.  Pure: no clock, no process, no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wakeproof.judge.explore.results import Event, Found

LOST_WAKEUP, DEADLOCK, LIVELOCK = "lost wakeup", "deadlock", "livelock"
LOST_WORK, RACE, ASSERTION, CRASH = "lost work", "race", "failed assertion", "crash"
FORBIDDEN = "forbidden outcome"
ASLEEP = (1 << 64) - 1  # the value of a wait that never ends
_FIXED = {"race": RACE, "assertion": ASSERTION, "crash": CRASH}


@dataclass(frozen=True)
class Class:
    """The class of a broken claim, with sentences on the thread, the place and the evidence."""

    name: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Blocked:
    """A thread that can never continue: its place, and the word for which it waits."""

    thread: int
    at: int  # its last event: the wait in which it sleeps, or the read by which it spins
    sleeps: bool


def classify(found: Found, others: Sequence[Found] = (), *, lost_work: bool = False) -> Class:
    """Return the class of a bad outcome.

    Args:
        found: the outcome, with the execution that is shown.
        others: outcomes of the same program, which show what a thread does if it can continue.
        lost_work: the scenario declares that this outcome lost work.
    """
    name = _FIXED.get(found.verdict)
    if name:
        return Class(name, tuple(_Reader(found, others).ends(name)))
    if not found.example:
        bare = {"lost_wakeup": LOST_WAKEUP, "asleep": DEADLOCK, "stuck": LIVELOCK}
        return Class(LOST_WORK if lost_work else bare.get(found.verdict, FORBIDDEN))
    decided = _Reader(found, others).decide() if found.verdict != "ended" else Class(FORBIDDEN)
    return Class(LOST_WORK, decided.evidence) if lost_work else decided


def actor(found: Found, thread: int) -> str:
    """Return a thread's name: that of its function, or its number."""
    if found.actors and thread == len(found.actors):
        return "arbiter"
    return found.actors[thread] if thread < len(found.actors) else f"thread {thread}"


class _Reader:
    """Reads an execution.  Events are numbered from 0, and shown from 1."""

    def __init__(self, found: Found, others: Sequence[Found]) -> None:
        self._found = found
        self._elsewhere: set[tuple[int, int]] = set()
        self._others = {
            (event.thread, event.place)
            for other in others
            for event in other.example
            if other is not found and (event.written is not None or event.kind == "wake")
        }
        self._events = [*enumerate(found.example)]
        self._acts = [(at, event) for at, event in self._events if not event.drain]

    # Evidence.

    def decide(self) -> Class:
        """Return the class of an execution in which a thread cannot continue."""
        blocked = self._blocked()
        sleepers = [one for one in blocked if one.sleeps]
        looks = (
            *(self._changed(one) for one in sleepers),
            *(self._woken_too_early(one) for one in sleepers),
        )
        for sentence in filter(None, looks):
            return Class(LOST_WAKEUP, (sentence,))
        if self._found.verdict == "stuck" and (round_ := self._round()):
            return Class(LIVELOCK, (round_, *map(self._stands, sleepers)))
        if cycle := self._cycle(blocked):
            return Class(DEADLOCK, (cycle, *map(self._stands, blocked)))
        for sentence in filter(None, map(self._looked, sleepers)):
            return Class(LOST_WAKEUP, (sentence,))
        self._elsewhere = self._others
        if cycle := self._cycle(blocked):
            return Class(DEADLOCK, (cycle, *map(self._stands, blocked)))
        nobody = [f"{self._stands(one)}, and nobody is left who could "
                  f"{'wake it' if one.sleeps else 'change that'}" for one in blocked]  # fmt: skip
        return Class(LIVELOCK if self._found.verdict == "stuck" else DEADLOCK, tuple(nobody))

    def ends(self, name: str) -> Iterable[str]:
        """Return the place of a race, a failed assertion or a crash."""
        if name == RACE:
            pair = racing(self._found.example)
            if len(pair) == 2:
                yield f"{self._what(pair[0])} and {self._what(pair[1])}: nothing orders them"
            elif self._events and self._found.example[-1].text:
                yield self._found.example[-1].text
        elif self._events:
            at, event = self._events[-1]
            yield f"{actor(self._found, event.thread)}: {event.text}{self._where(at)}"

    def _blocked(self) -> list[_Blocked]:
        last = {event.thread: (at, event) for at, event in self._acts}
        sleeping = {
            thread: _Blocked(thread, at, sleeps=True)
            for thread, (at, event) in last.items()
            if event.kind == "wait" and event.value == ASLEEP
        }
        spinning = [] if self._found.verdict != "stuck" else [
            _Blocked(thread, at, sleeps=False)
            for thread in last
            if thread not in sleeping and self._spins(thread)
            for at in [self._last_read(thread)] if at >= 0
        ]  # fmt: skip
        return [*sleeping.values(), *spinning]

    def _spins(self, thread: int) -> bool:
        if self._found.cycle_from >= 0:
            return any(e.thread == thread for _, e in self._acts if _ >= self._found.cycle_from)
        return bool(self._found.spinning >> thread & 1)

    def _last_read(self, thread: int) -> int:
        return max((at for at, e in self._acts if e.thread == thread and _reads(e)), default=-1)

    def _changed(self, one: _Blocked) -> str:
        """Return the evidence that a sleeper's word changed later without a wake, or ""."""
        wait = self._found.example[one.at]
        change = self._last_change(wait.place, besides=one.thread, after=one.at)
        if change < 0:
            return ""
        writer = self._found.example[change]
        wakes = [at for at, e in self._acts if at > one.at and _wakes(e, wait.place)]
        is_other = self._value_at_end(wait.place) not in (None, wait.expected)
        if not is_other and (wakes or self._found.verdict == "stuck"):
            return ""
        if is_other and self._found.verdict == "stuck" and any(at > change for at in wakes):
            return ""
        woke = [f"the wake of #{at + 1} went to another" for at in wakes if at > change]
        return (
            f"{self._stands(one)}; {actor(self._found, writer.thread)} changed that word to "
            f"{writer.written} (#{change + 1}{self._where(change)}), and "
            f"{woke[0] if woke else 'no wake followed'}"
        )

    def _woken_too_early(self, one: _Blocked) -> str:
        """Return the evidence that change and wake came between a thread's check and its sleep."""
        wait = self._found.example[one.at]
        for wake, event in self._acts:
            is_before = wake < one.at and event.thread != one.thread
            if not is_before or not _wakes(event, wait.place):
                continue
            if any(_reads(e) for at, e in self._acts if wake < at < one.at
                   and e.thread == one.thread):  # fmt: skip
                continue
            for look, change in self._outdated(one, before=wake):
                return (
                    f"{self._saw(look)}, {self._then(change)} and sent the wake "
                    f"(#{wake + 1}) before it fell asleep (#{one.at + 1}): {self._stands(one)}"
                )
        return ""

    def _looked(self, one: _Blocked) -> str:
        """Return the evidence that a value changed after a check, and no wake came, or ""."""
        for look, change in self._outdated(one, before=len(self._events)):
            return (
                f"{self._saw(look)}, {self._then(change)}, and no wake came after that: "
                f"{self._stands(one)}"
            )
        return ""

    def _outdated(self, one: _Blocked, before: int) -> Iterable[tuple[int, int]]:
        """Yield a sleeper's reads of other words, latest first, each with a change that it missed.

        A change may come before the read: it was still in a buffer, or nothing ordered it.
        """
        word = self._found.example[one.at].place
        own = [(at, e) for at, e in self._acts if e.thread == one.thread and at < one.at]
        began = max((at for at, e in own if e.kind == "wait" and e.place == word), default=-1)
        wrote = {e.place for _, e in own if e.written is not None}
        met: set[int] = set()
        for look, event in reversed(own):
            if look < began or not _reads(event) or event.place in {word, *wrote, *met}:
                continue
            met.add(event.place)
            for change, other in self._acts:
                is_unseen = event.read_from < change < before and other.thread != one.thread
                if is_unseen and other.place == event.place and self._changes(change):
                    yield look, change
                    break

    def _round(self) -> str:
        """Return the evidence that steps repeat for ever and change memory or wake, or ""."""
        start = self._found.cycle_from
        cycle = [(at, e) for at, e in self._acts if at >= start >= 0]
        written: dict[int, set[int]] = {}
        for _, event in cycle:
            if event.written is not None:
                written.setdefault(event.place, set()).add(event.written)
        changing = {place for place, values in written.items() if len(values) > 1}
        woken = any(event.kind == "wake" and event.value for _, event in cycle)
        if not changing and not woken:
            return ""
        who = _listed(sorted({actor(self._found, event.thread) for _, event in cycle}))
        names = {e.location or "": None for _, e in cycle if e.place in changing}
        what = f"changing {_listed(sorted(names))}" if names else "waking one another"
        lines = _listed([*{self._line(at): None for at, _ in cycle if self._line(at)}])
        return (
            f"{who} go{'es' * (who.count(' and ') == 0)} round for ever, {what}, and come"
            f"{'s' * (who.count(' and ') == 0)} back to the same state: #{start + 1} to "
            f"#{len(self._events)}{f' ({lines})' if lines else ''}"
        )

    def _cycle(self, blocked: Sequence[_Blocked]) -> str:
        """Return the evidence that blocked threads wait for one another in a cycle, or ""."""
        waits = {one.thread: one for one in blocked}
        for first in waits:
            way = self._way_round(first, first, waits, ())
            if way:
                return "a cycle: " + ", ".join(
                    f"{actor(self._found, thread)} waits for {actor(self._found, other)}, which "
                    f"{self._holds(waits[thread], other)}"
                    for thread, other in way
                )
        return ""

    def _way_round(
        self, at: int, first: int, waits: Mapping[int, _Blocked], way: tuple[tuple[int, int], ...]
    ) -> tuple[tuple[int, int], ...]:
        for other in waits:
            if other == at or not self._holds(waits[at], other):
                continue
            longer = (*way, (at, other))
            if other == first:
                return longer
            if other not in {thread for thread, _ in longer}:
                found = self._way_round(other, first, waits, longer)
                if found:
                    return found
        return ()

    def _holds(self, one: _Blocked, other: int) -> str:
        """Return why only `other` could let `one` continue; "": it could not."""
        place = self._found.example[one.at].place
        change = self._last_change(place, besides=one.thread)
        if change >= 0 and self._found.example[change].kind != "plain_store":  # that one makes it
            is_it = self._found.example[change].thread == other
            return f"has {self._word(one)} (#{change + 1}{self._where(change)})" if is_it else ""
        does = "wakes" if one.sleeps else "changes"
        return (
            f"{does} {self._word(one)} in other executions"
            if (other, place) in self._elsewhere
            else ""
        )

    # What events tell.

    def _changes(self, at: int) -> bool:
        event = self._found.example[at]
        if event.written is None:
            return False
        if event.kind in ("store", "plain_store"):
            before = [e.written for n, e in self._acts
                      if n < at and e.place == event.place and e.written is not None]  # fmt: skip
            return not before or before[-1] != event.written
        return event.written != event.value

    def _last_change(self, place: int, besides: int, after: int = -1) -> int:
        changes = (at for at, e in self._acts if at > after and e.place == place >= 0
                   and e.thread != besides and self._changes(at))  # fmt: skip
        return max(changes, default=-1)

    def _value_at_end(self, place: int) -> int | None:
        written = [e.written for _, e in self._acts if e.place == place and e.written is not None]
        return written[-1] if written else None

    # Sentences.

    def _stands(self, one: _Blocked) -> str:
        event = self._found.example[one.at]
        name = actor(self._found, one.thread)
        if one.sleeps:
            how = f"sleeps on {self._word(one)} while it is {event.expected}"
        else:
            how = f"spins on {self._word(one)}, which is {event.value}"
        return f"{name} {how} (#{one.at + 1}{self._where(one.at)})"

    def _word(self, one: _Blocked) -> str:
        return self._found.example[one.at].location or "its word"

    def _saw(self, look: int) -> str:
        event = self._found.example[look]
        name = actor(self._found, event.thread)
        return f"{name} saw {event.location} = {event.value} (#{look + 1}{self._where(look)})"

    def _then(self, change: int) -> str:
        event = self._found.example[change]
        name = actor(self._found, event.thread)
        return f"{name} made it {event.written} (#{change + 1}{self._where(change)})"

    def _what(self, at: int) -> str:
        event = self._found.example[at]
        name = actor(self._found, event.thread)
        does = "writes" if event.written is not None or "store" in event.kind else "reads"
        return f"{name} {does} {event.location} (#{at + 1}{self._where(at)})"

    def _line(self, at: int) -> str:
        site = self._found.example[at].site
        return f"{site.file}:{site.line}" if site and site.line else ""

    def _where(self, at: int) -> str:
        return f", {self._line(at)}" if self._line(at) else ""


def racing(events: Sequence[Event]) -> tuple[int, ...]:
    """Return the two events that race: the marked ones, else the last two that conflict."""
    marked = tuple(at for at, event in enumerate(events) if event.racing)
    if marked:
        return marked
    for second in range(len(events) - 1, 0, -1):
        for first in range(second - 1, -1, -1):
            a, b = events[first], events[second]
            if a.thread != b.thread and a.place == b.place >= 0 and not a.drain | b.drain \
                    and "plain" in a.kind + b.kind and "store" in a.kind + b.kind:  # fmt: skip
                return first, second
    return ()


def _reads(event: Event) -> bool:
    return event.read_from != -2 and event.kind not in ("wait", "wake")


def _wakes(event: Event, place: int) -> bool:
    return event.kind == "wake" and event.place == place


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""
