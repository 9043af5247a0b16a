# SPDX-License-Identifier: Apache-2.0
"""A counterexample as a sequence diagram in text, for terminals and tickets.

Source: https://mermaid.js.org/syntax/sequenceDiagram.html, which GitHub and GitLab draw.
"""

from __future__ import annotations

import re

from wakeproof.judge.page.data import Counterexample, Step

_SPECIAL = re.compile(r"[#;<>%]")
MEMORY = "memory"


def diagram(one: Counterexample) -> str:
    """Return the diagram: a participant for each thread, a message for each step.

    An arrow from one thread to another is a value that the other reads.
    """
    lines = [f"%% {_text(one.title)}", "sequenceDiagram"]
    lines += [f"  participant t{at} as {_text(name)}" for at, name in enumerate(one.lanes)]
    if any(step.lands for step in one.steps):
        lines.append(f"  participant {MEMORY}")
    if not one.lanes:
        lines.append("  participant t0 as system")
    for number, step in enumerate(one.steps, start=1):
        lines += [f"  {line}" for line in _lines(one, number, step)]
    if one.ending:
        lines.append(f"  note over {_all(one)}: {_text(one.ending)}")
    return "\n".join(lines) + "\n"


def _lines(one: Counterexample, number: int, step: Step) -> list[str]:
    own = f"t{step.lane}"
    text = _text(f"{number}. {step.text}")
    if step.lane < 0:
        return [f"note over {_all(one)}: {_breaks([text, *_changes(step)])}"]
    if step.lands:
        return [f"{own}-){MEMORY}: {text}"]
    got = [_text(step.got)] if step.got else []
    writer = one.steps[step.reads - 1].lane if step.reads else step.lane
    if writer in (step.lane, -1):
        return [f"{own}->>{own}: {_breaks([text, *got, *_changes(step)])}"]
    return [f"t{writer}-->>{own}: {_breaks([text, *got])}"]


def _changes(step: Step) -> list[str]:
    if step.got:
        return []
    return [_text(f"{one.place}: {one.before} → {one.after}") for one in step.changes]


def _all(one: Counterexample) -> str:
    last = len(one.lanes) - 1
    return f"t0,t{last}" if last > 0 else "t0"


def _breaks(parts: list[str]) -> str:
    return "<br/>".join(parts)


def _text(text: str) -> str:
    """Return text that Mermaid shows as it is: its own marks are written as numbers."""
    return _SPECIAL.sub(lambda mark: f"#{ord(mark[0])};", " ".join(text.split()))
