# SPDX-License-Identifier: Apache-2.0
"""Compares the outcomes of real cores with those that the memory models allow.  Pure.

The explorer computes the allowed set.  An incomplete set allows its outcomes, and forbids nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wakeproof.judge.explore.options import MODELS, Model

SEEN = "seen"
OUTSIDE = "outside RC11"
OUTSIDE_PART = "outside the part that was computed"
RACE = "a data race, which C11 gives no meaning"
CRASH = "an actor crashes, and C11 gives what it did no meaning"
RACY = "a data race, or a crash: no model allows or forbids it"
REORDERED = "compiler reordering"
WEAK = "beyond x86-TSO: this machine or the compiler"
UNSEEN = "allowed, not observed here"
ELSEWHERE = "not observable here (beyond x86-TSO)"
WEAKER = "allowed, weaker than this machine shows"


@dataclass(frozen=True)
class Computed:
    """The outcomes of one scenario under one model, and whether they are all that it allows."""

    model: Model
    outcomes: tuple[str, ...]
    whole: bool
    coverage: str  # "exhaustive", or what kept it from being so


@dataclass(frozen=True)
class Seen:
    """The count of one outcome on real cores, and the builds that showed it."""

    samples: int
    builds: tuple[str, ...]


@dataclass(frozen=True)
class Standing:
    """One outcome that was seen or is allowed, and its meaning on this machine."""

    outcome: str
    allowed_by: str  # the strongest model: SC, TSO, RC11; "": no explored execution gives it
    samples: int
    builds: tuple[str, ...]  # that showed it
    others: tuple[str, ...]  # that ran and did not
    means: str

    @property
    def flags(self) -> str:
        """Return which builds showed the outcome and which did not: ``-O2, -O3; not -O0``."""
        without = f"; not {_flags(self.others)}" if self.others else ""
        return f"{_flags(self.builds)}{without}"


@dataclass(frozen=True)
class Allowed:
    """One scenario: its computed sets, and the standing of each outcome in them."""

    sets: tuple[Computed, ...] = ()
    outcomes: tuple[Standing, ...] = ()
    not_whole: str = ""  # "not computed whole: RC11 sampled"; empty: every set is whole

    @property
    def is_judged(self) -> bool:
        """Return whether the set of RC11 is complete, so that an outcome can be outside."""
        return any(one.model is Model.RC11 and one.whole for one in self.sets)

    def of(self, outcome: str) -> Standing | None:
        """Return the standing of `outcome`; None if it was neither seen nor is allowed."""
        return next((s for s in self.outcomes if s.outcome == outcome), None)

    def meaning(self, *what: str) -> tuple[Standing, ...]:
        """Return the outcomes with one of the meanings in `what`."""
        return tuple(s for s in self.outcomes if s.means in what)

    @property
    def failures(self) -> tuple[str, ...]:
        """Return a message for each outcome that no execution under RC11 has."""
        return tuple(
            f"outcome {s.outcome} was seen ({s.samples:,} samples: {', '.join(s.builds)}) and no "
            "execution under RC11 gives it: what ran is not what was explored, or a judge is wrong"
            for s in self.meaning(OUTSIDE)
        )


def compare(
    sets: Iterable[Computed], seen: Mapping[str, Seen], builds: Iterable[str], is_x86: bool
) -> Allowed:
    """Return the standing of each outcome that was seen or is allowed.

    Args:
        sets: one for each model that was explored.
        seen: what real cores showed, by outcome.
        builds: every build that ran.
        is_x86: whether the cores are x86-64, which by themselves show nothing beyond x86-TSO.
    """
    by_model = {one.model: one for one in sets}
    if not by_model:
        return Allowed()
    ran = tuple(dict.fromkeys(builds))
    computed = [text for m in MODELS if m in by_model for text in by_model[m].outcomes]
    standings = []
    for text in dict.fromkeys([*seen, *computed]):
        model = _strongest(text, by_model)
        found = seen.get(text, Seen(0, ()))
        means = _meaning(model, by_model, is_seen=found.samples > 0, is_x86=is_x86)
        shown = tuple(dict.fromkeys(found.builds))
        others = tuple(build for build in ran if build not in shown)
        label = model.label if model else ""
        standings.append(Standing(text, label, found.samples, shown, others, means))
    return Allowed(tuple(by_model.values()), tuple(standings), _not_whole(by_model))


def summary(found: Mapping[str, Allowed]) -> list[str]:
    """Return lines on scenarios and twins: whether the sets allow the outcomes that were seen."""
    judged = [one for one in found.values() if one.is_judged]
    if not any(one.sets for one in found.values()):
        return ["allowed sets: not computed in this run"]
    seen = [s.allowed_by for one in judged for s in one.outcomes if s.samples]
    by = ", ".join(f"{seen.count(model.label)} by {model.label}" for model in MODELS)
    lines = [
        f"allowed sets: RC11's is computed whole for {len(judged)} of {len(found)} scenarios and "
        f"twins; {len(seen)} of its outcomes were seen (allowed {by}), {seen.count('')} outside it"
    ]
    for means in (OUTSIDE, OUTSIDE_PART, RACY, REORDERED, WEAK, UNSEEN, ELSEWHERE, WEAKER):
        texts = {name: [_named(s) for s in one.meaning(means)] for name, one in found.items()}
        named = "; ".join(f"{name} {' '.join(of)}" for name, of in texts.items() if of)
        lines += [f"{means}: {named}"] * bool(named)
    partly = [f"{name} ({one.not_whole.partition(': ')[2]})"
              for name, one in found.items() if one.not_whole]  # fmt: skip
    return lines + [f"not computed whole: {'; '.join(partly)}"] * bool(partly)


def _named(standing: Standing) -> str:
    """Return the outcome; if it is beyond x86-TSO, with the flags of the builds that showed it."""
    is_weak = standing.means in (REORDERED, WEAK)
    return f"{standing.outcome} ({standing.flags})" if is_weak else standing.outcome


def _strongest(text: str, sets: Mapping[Model, Computed]) -> Model | None:
    """Return the first model, of SC, TSO and RC11, under which some execution has this outcome."""
    return next((m for m in MODELS if m in sets and text in sets[m].outcomes), None)


def _is_beyond_tso(model: Model, sets: Mapping[Model, Computed]) -> bool:
    return model is Model.RC11 and Model.TSO in sets and sets[Model.TSO].whole


def _meaning(
    model: Model | None, sets: Mapping[Model, Computed], *, is_seen: bool, is_x86: bool
) -> str:
    if model is None and any(one.coverage in (RACE, CRASH) for one in sets.values()):
        return RACY
    if model is None:
        return OUTSIDE if Model.RC11 in sets and sets[Model.RC11].whole else OUTSIDE_PART
    if not _is_beyond_tso(model, sets):
        return SEEN if is_seen else UNSEEN
    if is_seen:
        return REORDERED if is_x86 else WEAK
    return ELSEWHERE if is_x86 else WEAKER


def _flags(builds: Iterable[str]) -> str:
    """Return builds as their flags: ``-O2, -O2 delayed``."""
    return ", ".join(f"-{build}" for build in builds)


def _not_whole(sets: Mapping[Model, Computed]) -> str:
    why: dict[str, list[str]] = {}
    for model, one in sets.items():
        if not one.whole:
            why.setdefault(one.coverage, []).append(model.label)
    parts = "; ".join(f"{', '.join(models)} {coverage}" for coverage, models in why.items())
    return f"not computed whole: {parts}" if parts else ""
