# SPDX-License-Identifier: Apache-2.0
"""IdleSet: compares bits and parked members.  Choosing a found member is one step with its try."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from wakeproof.judge.conform.code import At, Step
from wakeproof.judge.conform.concept import WAIT, Concept, labels_of

THREADS = ("0", "1", "2", "s1")
WORDS, PARKED, PER_WORD = (0, 8), 128, 2


LABELS = {
    "idle_set.1": "Add", "idle_set.2": "Remove", "idle_set.3": "Read", "Pick": "Try",
    "Woken": "Woken", "Advertise": "Advertise", "Recheck": "Recheck", "Exit": "Exit",
    "Begin": "Begin",
}  # fmt: skip


def code_label(step: Step) -> str:
    """Return the spec's step for an access; a read of `parked` that ends no sleep is no step."""
    if step.site == "Woken" and step.value != 0:
        return WAIT
    return f"{LABELS[step.site]} {THREADS[step.thread]}"


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return the members with a bit, and the members that are parked."""
    bits = {
        PER_WORD * word + bit
        for word, offset in enumerate(WORDS) for bit in range(64) if at.word(offset) >> bit & 1
    }  # fmt: skip
    return frozenset(bits), frozenset(m for m in range(3) if at.word(PARKED + 8 * m))


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    return state["bits"], state["parked"]


IDLE_SET = Concept(
    name="idle_set",
    bounds="3 members in 2 words, a searcher",
    threads=THREADS,
    constants={"Count": "3", "PerWord": "2", "Searchers": '{"s1"}'},
    arguments={
        **dict.fromkeys(("Advertise", "Add", "Recheck", "Woken", "Remove", "Exit"), "{0,1,2}"),
        **dict.fromkeys(("Begin", "Read", "Try", "End"), "Searchers"),
    },
    spec_label=labels_of({"End": ""}),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    joins=(("Pick", "Try"),),
    joined="the choice of a found member, with its try",
    spec_twin="one_word",
    code_twins=("idle_set_plain_set",),
)
