# SPDX-License-Identifier: Apache-2.0
"""Names in a counterexample of compiled code: functions for actors, paths for the state."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from wakeproof.judge.explore import places as explore_places
from wakeproof.judge.explore.places import Types
from wakeproof.judge.explore.results import Event, Found, Result
from wakeproof.judge.process import Children

TOOL_S = 60.0
EVENT_BYTES = 64  # stress/explorer/compiled.h: what an eventfd takes, behind the state
MACRO = re.compile(r"^WP__EXPLORE_\w+ &?")
"""instrument.h's name of an operation before its place."""
_SYMBOL = re.compile(r"^([0-9a-f]+) ([tT]) (\w+)", re.MULTILINE)
_ACTOR = re.compile(r"\bactor (\d+) of\b")
_CALLS = ("futex_wait", "futex_wake", "event_signal", "event_take")  # spell no place


class Namer:
    """Adds names to the results of programs; each program is read once."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._types: dict[Path, Types] = {}

    def named(self, program: Path, result: Result, found: Found) -> Found:
        """Return `found`, an outcome of `result`, with names from the debug data of `program`."""
        events = [event for event in found.example if event.offset >= 0]
        places = {(event.offset, event.size) for event in events}
        if program not in self._types:
            self._types[program] = explore_places.read(self._children, program)
        inside = {place for place in places if place[0] < result.state_size}
        paths = self._types[program].named(result.state_size, inside) if inside else {}
        return replace(
            distinct(found, paths, result.state_size), actors=self.actors(program, result)
        )

    def in_error(self, program: Path, result: Result) -> Result:
        """Return `result` with the names of actors in its error, in place of their numbers."""
        names = self.actors(program, result) if _ACTOR.search(result.error) else ()

        def name(match: re.Match[str]) -> str:
            at = int(match[1])
            bare = names[at].split(" ")[0] if at < len(names) else ""
            return f"actor {at} ({bare}) of" if bare else match[0]

        return replace(result, error=_ACTOR.sub(name, result.error))

    def actors(self, program: Path, result: Result) -> tuple[str, ...]:
        """Return the names of the actors' functions; equal names get a number."""
        if not result.actors or shutil.which("nm") is None:
            return ()
        listed = self._children.output(["nm", str(program)], timeout_s=TOOL_S)
        symbols = {at: name for at, _, name in _SYMBOL.findall(listed)}
        names = [symbols.get(address.lstrip("@").zfill(16), "") for address in result.actors]
        if not all(names):
            return ()
        return tuple(
            name if names.count(name) == 1 else f"{name} ({at})" for at, name in enumerate(names)
        )


def distinct(found: Found, paths: dict[tuple[int, int], str], state_size: int) -> Found:
    """Return `found` with the paths of locations; one without a path gets its offset."""
    spelled: dict[str, set[int]] = defaultdict(set)
    for event in found.example:
        if event.location is not None:
            spelled[_bare(event)].add(event.place)

    def name(event: Event) -> Event:
        if event.location is None or event.offset < 0:
            return event
        path = paths.get((event.offset, event.size))
        bare = _bare(event)
        if path:
            text = path
        elif event.offset >= state_size:
            text = f"event at {event.offset // EVENT_BYTES % EVENT_BYTES}"
        elif bare in _CALLS:
            text = f"state+{event.offset}"
        elif len(spelled[bare]) > 1:
            text = f"{bare} (state+{event.offset})"
        else:
            text = bare
        return replace(event, location=text)

    return replace(found, example=tuple(name(event) for event in found.example))


def _bare(event: Event) -> str:
    return MACRO.sub("", event.location or "")
