# SPDX-License-Identifier: Apache-2.0
"""The checks of `wakeproof linear`: scenarios against specs, and checks that must fail.

A check that must fail has a twin of the code, or a spec that promises too much.  Such a spec
promises that no pop misses a pushed node (FIFO), or that no operation is late under x86-TSO.
Source: ``stress/linear``, ``linear.objects``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from wakeproof.judge.linear.objects import FIFO, biased_lock, local_queue, mpsc, overflowing
from wakeproof.judge.linear.spec import Spec


@dataclass(frozen=True)
class Case:
    """One check: a scenario of ``stress/linear``, perhaps a twin, against a spec."""

    name: str  # of the object, and of the file: stress/linear/**/linear_<name>.c
    test: str  # in that file
    model: str  # "sc" | "tso"
    against: str  # the spec, in words
    spec: Spec
    shows: tuple[str, ...]  # returns that must occur, or the check says nothing
    twin: str = ""
    must_fail: bool = False
    is_quick: bool = True  # seconds

    @property
    def title(self) -> str:
        """Return a text that no other case has."""
        return f"{self.test} {self.twin} under {self.model} against {self.against}"


def _must_fail(case: Case, twins: Iterable[str]) -> Iterable[Case]:
    return (replace(case, twin=twin, must_fail=True) for twin in twins)


SHOWS = ("push 0", "pop 0", "pop 1", "pop 2")
ASKED = ("is_published 0", "is_published 1", "is_quiescent 0", "is_quiescent 1")
MPSC = Case("mpsc", "linear_mpsc", "sc", "run queue", mpsc(), SHOWS)
TWO = replace(MPSC, test="linear_mpsc_two")
LATE = replace(TWO, model="tso", against="run queue, late", spec=mpsc(1))
FENCED = replace(MPSC, test="linear_mpsc_fenced", model="tso")
QUESTIONS = replace(MPSC, test="linear_mpsc_asked", shows=(*SHOWS, *ASKED))
BIASED_LOCK = Case("biased_lock", "linear_biased_lock", "sc", "biased lock", biased_lock(),
              ("acquire 0", "try 0", "try 1", "release 0"))  # fmt: skip
LOCAL_QUEUE = Case("local_queue", "linear_local_queue", "sc", "bounded queue", local_queue(),
             ("push 0", "keep 0", "keep 1", "pop 0", "pop 1", "steal 0", "steal 1",
              "steal 2"))  # fmt: skip
LOCAL_QUEUE_ASKED = replace(
    LOCAL_QUEUE, test="linear_local_queue_asked", shows=(*LOCAL_QUEUE.shows, "has 0", "has 1")
)
OVERFLOW = Case("overflow", "linear_overflow", "sc", "bounded queue, full", overflowing(),
                ("push 0", "push 1", "pop 2", "pop 3", "steal 0", "steal 1", "steal 2", "take 0",
                 "take 1"))  # fmt: skip
CASES: tuple[Case, ...] = (
    MPSC,
    replace(MPSC, against="FIFO", spec=FIFO, must_fail=True),
    *_must_fail(TWO, ("mpsc_split_reserve", "mpsc_ignores_hostage", "mpsc_plain_clear",
                      "linear_shy_pop")),
    LATE,
    replace(LATE, against="run queue", spec=mpsc(), must_fail=True),
    *_must_fail(LATE, ("mpsc_ignores_hostage",)),
    FENCED,
    QUESTIONS,
    *_must_fail(QUESTIONS, ("mpsc_asks_tail",)),
    replace(QUESTIONS, model="tso", against="run queue, late", spec=mpsc(1), is_quick=False),
    replace(LATE, test="linear_mpsc", is_quick=False),
    BIASED_LOCK,
    *_must_fail(BIASED_LOCK, ("biased_lock_no_cas", "linear_skips_number")),
    replace(BIASED_LOCK, model="tso", against="biased lock, late", spec=biased_lock(1)),
    replace(BIASED_LOCK, model="tso", must_fail=True),
    LOCAL_QUEUE,
    *_must_fail(LOCAL_QUEUE, ("local_queue_takes_split", "local_queue_publishes_first")),
    replace(LOCAL_QUEUE, model="tso", must_fail=True),
    replace(LOCAL_QUEUE, test="linear_local_queue_fenced", model="tso"),
    LOCAL_QUEUE_ASKED,
    *_must_fail(LOCAL_QUEUE_ASKED, ("local_queue_asks_tail_first",)),
    OVERFLOW,
    *_must_fail(OVERFLOW, ("local_queue_overflow_unread", "local_queue_overflow_forgets")),
)  # fmt: skip
