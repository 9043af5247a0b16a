# SPDX-License-Identifier: Apache-2.0
"""The names and lines of addresses in a program."""

from __future__ import annotations

import re
import shutil
from bisect import bisect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wakeproof.judge.explore.explored import shown
from wakeproof.judge.explore.results import Event, Found, Result, Site
from wakeproof.judge.process import Children

TOOL_S = 120.0
ARENA = 0x200000000000  # stress/own/own.h: OWN_BASE; the next ones, too
SLOT, HEAP, STACK_END, THREADS = 1 << 22, 1 << 21, 7 << 19, 16
STD_THREADS = (
    "execute_native_thread_routine", "<std::sys::thread::unix::Thread>::new::thread_start",
)  # fmt: skip
"""The function of each thread of the standard libraries of C++ and Rust."""
_SYSTEM = ("/usr/", "/rustc/")
"""Files of libraries that come compiled."""
_ADDRESS = re.compile(r"#([0-9a-f]{5,16})\b")
_THREAD = re.compile(r"\bthread (\d+)\b")
_SYMBOL = re.compile(r"^([0-9a-f]+) (?:([0-9a-f]+) )?([A-Za-z]) (.+)$", re.MULTILINE)


def inlined(
    children: Children, built: Path, addresses: Sequence[int]
) -> dict[int, list[tuple[str, str, int]]]:
    """Return the function, file and line at each address, innermost first.

    A function that was inlined comes before the one into which it was.
    """
    if not addresses or shutil.which("addr2line") is None:
        return {}
    asked = [f"{at:#x}" for at in addresses]
    listed = children.output(["addr2line", "-afiC", "-e", str(built), *asked], timeout_s=TOOL_S)
    found = {}
    texts = re.split(r"^0x[0-9a-f]+$", listed, flags=re.MULTILINE)[1:]
    for at, text in zip(addresses, texts, strict=True):
        lines = text.strip("\n").split("\n")
        frames = []
        for name, where in zip(lines[::2], lines[1::2], strict=False):
            file, _, number = where.split(" ")[0].rpartition(":")
            if number.isdigit() and int(number):
                frames.append((name, file, int(number)))
        found[at] = frames
    return found


class Symbols:
    """The names and lines of addresses in a program that was built."""

    def __init__(self, children: Children, built: Path) -> None:
        self._children, self._built = children, built
        listed = children.output(["nm", "-n", "-S", "-C", str(built)], timeout_s=TOOL_S)
        self._found: list[tuple[int, int, str, str]] = [
            (int(at, 16), int(size or "0", 16), kind, name)
            for at, size, kind, name in _SYMBOL.findall(listed)
        ]
        self._starts = [at for at, _, _, _ in self._found]
        self._lines: dict[int, tuple[str, int]] = {}

    def find_lines(self, results: Sequence[Result]) -> None:
        """Find the line of each address of code in the results.

        Of functions that were inlined into one another, it is the innermost one outside the
        headers of the system.
        """
        texts = [result.error for result in results]
        for event in (e for result in results for o in result.outcomes for e in o.example):
            texts += [event.text, event.site.file if event.site else ""]
        every = {int(at, 16) for at in _ADDRESS.findall(" ".join(texts))}
        calls = [at - 1 for at in sorted(every) if self._is_code(at)]  # at: the one after the call
        for at, frames in inlined(self._children, self._built, calls).items():
            known = [(file, number) for _, file, number in frames]
            own = [frame for frame in known if not frame[0].startswith(_SYSTEM)] or known
            if own:
                self._lines[at + 1] = (shown(Path(own[0][0])), own[0][1])

    def _is_code(self, at: int) -> bool:
        index = bisect(self._starts, at) - 1
        return index >= 0 and self._found[index][2] in "tTwW" and at < ARENA

    def of_address(self, at: int) -> str:
        """Return ``race.c:12``, ``head``, ``table+8``, ``heap of thread 1 + 32``; or a number."""
        if at in self._lines:
            return "{}:{}".format(*self._lines[at])
        if ARENA <= at < ARENA + THREADS * SLOT:
            thread, offset = divmod(at - ARENA, SLOT)
            if offset < HEAP:
                return f"heap of thread {thread} + {offset}"
            return f"stack of thread {thread} - {STACK_END - offset}"
        index = bisect(self._starts, at) - 1
        if index >= 0:
            start, size, _, name = self._found[index]
            if at < start + max(size, 1):
                return name.removeprefix("own__") + (f"+{at - start}" if at > start else "")
        return f"{at:#x}"

    def named(self, text: str) -> str:
        """Return a text with the names of the addresses in it."""
        return _ADDRESS.sub(lambda match: self.of_address(int(match[1], 16)), text)

    def of_result(self, result: Result) -> Result:
        """Return a result with names for lines, locations and threads."""
        actors = tuple(self.of_address(int(at[1:], 16)) for at in result.actors)
        actors = tuple(f"thread {at}" if name in STD_THREADS else name.partition("(")[0]
                       for at, name in enumerate(actors))  # fmt: skip
        actors = tuple(
            name if actors.count(name) == 1 else f"{name} ({at})" for at, name in enumerate(actors)
        )
        outcomes = tuple(self._of_found(found, actors) for found in result.outcomes)
        return replace(result, outcomes=outcomes, actors=actors)

    def _of_found(self, found: Found, actors: tuple[str, ...]) -> Found:
        def named(text: str) -> str:
            return _THREAD.sub(lambda match: _actor(actors, match), self.named(text))

        def of_event(event: Event) -> Event:
            location = named(event.location) if event.location else event.location
            return replace(
                event, location=location, text=named(event.text), offset=-1,
                site=self._of_site(event.site),
            )  # fmt: skip

        events = [of_event(event) for event in found.example]
        races = [at for at, event in enumerate(events) if event.racing]
        for at in races[:-1]:  # both threads have found the race; the last one tells of it
            events[at] = replace(events[at], racing=False)
        return replace(found, example=tuple(events), actors=actors)

    def _of_site(self, site: Site | None) -> Site | None:
        address = _ADDRESS.match(site.file) if site else None
        if site is None or address is None:
            return site
        file, line = self._lines.get(int(address[1], 16), ("", 0))
        return replace(site, file=file, line=line) if line else None


def _actor(actors: tuple[str, ...], match: re.Match[str]) -> str:
    at = int(match[1])
    return actors[at] if at < len(actors) else f"thread {at}"
