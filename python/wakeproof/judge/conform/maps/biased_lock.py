# SPDX-License-Identifier: Apache-2.0
"""BiasedLock: an owner and two stealers.  The comparison sees the distance of the two counters."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from wakeproof.judge.conform.code import At, Step
from wakeproof.judge.conform.concept import WAIT, Concept, labels_of

THREADS = ("owner", "s1", "s2")


LABELS = {
    "biased_lock.1": "Acquire", "biased_lock.2": "Enter", "biased_lock.3": "Look {}",
    "biased_lock.4": "Claim {}", "biased_lock.5": "Release {}",
}  # fmt: skip


def code_label(step: Step) -> str:
    """Return the spec's step for an access; a read of `serving` that ends no wait is no step."""
    if step.site == "biased_lock.2" and not step.moves:
        return WAIT
    return LABELS[step.site].format(THREADS[step.thread])


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return the number of tickets that are drawn and not yet served."""
    return at.named("ticket->next") - at.named("ticket->serving")


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same number, a variable of the spec."""
    return int(state["next"])


SPENDS = "left[{0}] > 0 /\\ left' = [left EXCEPT ![{0}] = @ - 1]"
BIASED_LOCK = Concept(
    name="biased_lock",
    bounds="owner, 2 stealers, 2 rounds each",
    threads=THREADS,
    constants={"Stealers": '{"s1", "s2"}'},
    plain=("Acquire", "Enter"),
    arguments={
        "Look": "Stealers",
        "Claim": "Stealers",
        "Release": '{"owner"}+Stealers',
    },
    spec_label=labels_of({}),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    declares="VARIABLE left\nBoundInit == left = [t \\in Threads |-> 2]",
    bounded={
        "Acquire": SPENDS.format("Owner"),
        "Look": SPENDS.format("$1"),
        "*": "UNCHANGED left",
    },
    spec_twin="lazy_stealer",
    code_twins=("biased_lock_no_cas",),
)
