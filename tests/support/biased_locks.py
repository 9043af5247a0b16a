# SPDX-License-Identifier: Apache-2.0
"""Events of a biased lock, as threads on real cores record them."""

from __future__ import annotations

from dataclasses import replace

from wakeproof.judge.traces.events import Event


def ticket(who: int, site: str, begin: int, result: int = 0, *, happened: bool = True) -> Event:
    return Event(who, begin, begin + 1, site, 0, 0, result, happened)


TAKEN = [
    ticket(0, "biased_lock.1", 1),
    ticket(0, "biased_lock.2", 3),
    replace(ticket(0, "biased_lock.5", 5, 1), operand=1),
]
"""The owner takes the ticket and gives it back."""
LOST = [ticket(1, "biased_lock.3", 4), ticket(1, "biased_lock.4", 9, 1, happened=False)]
"""A stealer fails to take it."""
