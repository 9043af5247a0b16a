# SPDX-License-Identifier: Apache-2.0
"""Executions that the explorer found in the form of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wakeproof.judge.explore import classes, trace
from wakeproof.judge.explore.kept import Counterexample as Kept
from wakeproof.judge.explore.names import MACRO
from wakeproof.judge.explore.options import Model
from wakeproof.judge.explore.results import Event, Found
from wakeproof.judge.labels import Labels
from wakeproof.judge.page.data import Change, Counterexample, Group, Step, Value
from wakeproof.judge.page.excerpts import Excerpts

_BUFFERED = ("store", "plain_store")


def with_sources(found: Iterable[Kept], labels: Labels) -> list[Counterexample]:
    """Return executions, each with the sources that its steps show."""
    excerpts = Excerpts()
    return [excerpts.with_sources(converted(one, labels, excerpts)) for one in found]


def converted(kept: Kept, labels: Labels, excerpts: Excerpts) -> Counterexample:
    """Return an execution that the explorer found."""
    token, found = kept.token, kept.found
    model = Model(token.model)
    broken = kept.broken or classes.classify(found)
    kind = "" if broken.name in (classes.FORBIDDEN, found.text) else f" ({broken.name})"
    table = trace.rows(found, labels, model)
    lanes = tuple(classes.actor(found, at) for at in range(len(table[0].cells) if table else 0))
    memory = _Memory(found, lanes, is_buffered=model is Model.TSO)
    folders = (token.path.parent,)
    steps = []
    for row, event in zip(table, found.example, strict=True):
        lands, changes, own = memory.after(row.number, event)
        site = event.site
        text = " ".join(filter(None, (row.label, trace.operation(event))))
        steps.append(Step(
            lane=row.thread, text=text, got=_got(row), changes=tuple(changes), values=own,
            reads=max(0, event.read_from + 1) if row.read_from else 0, lands=lands,
            is_stale=row.is_stale,
            sources=tuple(filter(None, [excerpts.of_line(site.file, site.line, folders)]))
            if site else (),
        ))  # fmt: skip
    twin = f" with the defect {token.twin}" if token.twin else ""
    return Counterexample(
        name=f"{token.twin or token.name}-{token.model}", judge=f"explore, {model.label}",
        title=f"{token.name}{twin} under {model.label}: {found.text}{kind}", notes=broken.evidence,
        lanes=lanes, steps=tuple(steps), buffers=memory.buffers,
        back_to=max(0, found.cycle_from + 1) if found.verdict == "stuck" else 0,
        ending=f"The outcome is {found.text}.", command=f"wakeproof replay {token.text}",
    )  # fmt: skip


def _got(row: trace.Row) -> str:
    read = f"read from {row.read_from}" if row.read_from.startswith("#") else row.read_from
    return ", ".join(filter(None, (row.value, read)))


class _Memory:
    """The memory and the store buffers along an execution."""

    def __init__(self, found: Found, lanes: Sequence[str], *, is_buffered: bool) -> None:
        self._memory: dict[str, str] = {}
        self._waiting: list[list[tuple[int, str]]] = [[] for _ in lanes]
        self.buffers = (
            tuple(f"store buffer of {lane}" for lane in lanes)
            if is_buffered and any(event.drain for event in found.example) else ()
        )  # fmt: skip

    def after(self, number: int, event: Event) -> tuple[int, list[Change], dict[str, Value]]:
        """Return the store that lands, what changed, and the new values of it."""
        if event.written is None or event.place < 0:
            first = {name: Group(kind="sequence") for name in self.buffers} if number == 1 else {}
            return 0, [], dict(first)
        place = MACRO.sub("", event.location or "")
        own: dict[str, Value] = {}
        if number == 1:
            own |= {name: Group(kind="sequence") for name in self.buffers}
        lands, changes, waiting = 0, [], self._waiting[event.thread]
        written = trace.number(event.written)
        if self.buffers and not event.drain and event.kind in _BUFFERED:
            waiting.append((number, f"{place} = {written}"))
        else:
            if event.drain and waiting:
                lands, _ = waiting.pop(0)
            before = self._memory.get(place, "initial")
            if before != written:
                changes.append(Change(variable=place, place=place, before=before, after=written))
            own[place] = self._memory[place] = written
        if self.buffers and (lands or event.kind in _BUFFERED):
            buffer = self.buffers[event.thread]
            own[buffer] = Group(kind="sequence", items=tuple(text for _, text in waiting))
        return lands, changes, own
