# SPDX-License-Identifier: Apache-2.0
"""Counterexamples of TLC in the form of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wakeproof.judge.check.run import ConfigResult
from wakeproof.judge.labels import Labels
from wakeproof.judge.page.data import Change, Counterexample, Group, Step, Value
from wakeproof.judge.page.excerpts import Excerpts, labels_in
from wakeproof.judge.tlc import counterexample, values
from wakeproof.judge.tlc.run import TlcResult


def converted(
    result: ConfigResult,
    excerpts: Excerpts,
    modules: Mapping[str, str],
    labels: Labels | None = None,
    name: str = "",
) -> Counterexample:
    """Return what TLC found.

    Args:
        result: of a configuration that is violated.
        excerpts: takes the definitions of the actions, and the sites that they name.
        modules: the texts of the modules that TLC read, by name.
        labels: where the sites are; None: no site is shown.
        name: of a module of the user's own; "": the configuration's.
    """
    run, entry = result.tlc, result.entry
    table = counterexample.rows(run)[: len(run.trace)]
    lanes = tuple(dict.fromkeys(row.thread for row in table if row.thread))
    steps = []
    changed = [_values(run, at) for at in range(len(run.trace))]
    for row, own in zip(table, changed, strict=True):
        step = run.trace[row.number - 1]
        changes = [] if row.number == 1 else _changes(run, row.number - 1)
        key = excerpts.of_definition(modules, step.action or "Init", entry.name)
        text = excerpts.all[key].text if key else ""
        sites = _sites(excerpts, labels, labels_in(text)) if labels else []
        steps.append(Step(
            lane=lanes.index(row.thread) if row.thread else -1, text=row.action,
            changes=tuple(changes), values=own, sources=tuple(filter(None, [key, *sites])),
        ))  # fmt: skip
    shown = name or entry.name
    return Counterexample(
        name=shown, judge="check", title=f"{shown} {result.got}",
        notes=(entry.defect,) if entry.defect else (), lanes=lanes, steps=tuple(steps),
        back_to=run.back_to, ending=_ending(run),
        command=f"wakeproof check {name}" if name else f"wakeproof check --trace {entry.name}",
    )  # fmt: skip


def _values(run: TlcResult, at: int) -> dict[str, Value]:
    """Return the variables that a state has changed; the first state: all."""
    before = run.trace[at - 1].values if at else {}
    return {
        name: value_of(values.parse(text))
        for name, text in run.trace[at].values.items() if before.get(name) != text
    }  # fmt: skip


def _changes(run: TlcResult, at: int) -> list[Change]:
    before, after = run.trace[at - 1].values, run.trace[at].values
    return [
        Change(variable=name, place=place, before=old, after=new)
        for name, text in after.items() if (was := before.get(name, text)) != text
        for place, old, new in values.changes(values.parse(was), values.parse(text), name)
    ]  # fmt: skip


def _ending(run: TlcResult) -> str:
    if run.stuttering:
        return "Nothing moves any more."
    return f"Back to step {run.back_to}, for ever." if run.back_to else ""


def state_of(text: str) -> dict[str, Value]:
    """Return a state that TLC printed as one line of conjuncts."""
    parts = (line.partition(" = ") for line in text.split("/\\ ") if line.strip())
    return {name.strip(): value_of(values.parse(value)) for name, _, value in parts}


def value_of(value: values.Value) -> Value:
    """Return a value of TLA+ as data."""
    if value.entries is not None:
        entries = tuple((key, value_of(part)) for key, part in value.entries.items())
        return Group(kind="function", entries=entries)
    if value.items is not None:
        is_set = value.text.startswith("{")
        items = tuple(map(value_of, value.items))
        return Group(kind="set" if is_set else "sequence", items=items)
    return value.text


def _sites(excerpts: Excerpts, labels: Labels, names: Iterable[str]) -> list[str]:
    found = []
    for name in names:
        places = sorted(place for place, label in labels.by_line.items() if label == name)
        if places:
            (file, first), (_, last) = places[0], places[-1]
            found.append(excerpts.of_line(file, first, last=last))
    return found
