# SPDX-License-Identifier: Apache-2.0
"""How to explore: models, engine, bounds and limits.  Each value is checked when it is given."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from enum import Enum

from wakeproof.errors import UsageError

ENGINES = ("auto", "graphs", "states", "both")
ENUMERATED = "axioms"
"""The engine of ARMv8, which `auto` takes; it has no other model."""
MAPPINGS = ("lse+ldar", "lse+ldapr", "pair+ldar", "pair+ldapr", "all")
"""From C11 to the instructions of ARMv8; ``oracle/armv8.py`` has them."""
ORDERS = ("plain", "relaxed", "acquire", "release", "acq_rel", "seq_cst")
MOST_SECONDS = 1e7
JOBS = 64
PARTS = 4096
PCT_DEPTH = 17  # as stress/explorer/explore.h has it
_SAMPLE = re.compile(r"random(?::n=(?P<random_n>\d+))?|pct:d=(?P<d>\d+)(?:,n=(?P<pct_n>\d+))?")
SAMPLES = 10_000


class Model(Enum):
    """A memory model.  Its value is its name in commands and scenarios."""

    SC = "sc"
    TSO = "tso"
    RC11 = "rc11"
    ARMV8 = "armv8"  # of litmus tests, by enumeration: ``explore/enumerated.py``

    @property
    def label(self) -> str:
        """Return the name as reports print it."""
        return "ARMv8" if self is Model.ARMV8 else self.value.upper()


MODELS = (Model.SC, Model.TSO, Model.RC11)
"""The models of the explorer, which are those that `all` names."""


@dataclass(frozen=True)
class ExploreOptions:
    """How to explore.  The defaults are those of the command line.

    `grows`: the bound on preemptions is 0, then 1, and so on, until it excludes nothing.
    `jobs`: this many processes share one search of graphs, or so many threads one of states; the
    result is the same.
    `parts`: the search of graphs is cut into this many parts (0: it is not), and only number `part`
    of them is explored, from 0 on.
    `estimate`: only estimate the number of executions, by this many random descents (0: explore).
    `keep_positions`: do not merge positions of compiled code that behave equally (states).
    `minimal`: find the smallest example of this outcome, not only a shortest one (graphs).
    `replay`: run one execution only, the one with this schedule (states).
    `orders`: replace the memory orders at these places of the source: (file, line, order).
    `mapping`: the instructions that ARMv8 takes for C11's operations; ``all``: any of them.
    """

    models: tuple[Model, ...] = MODELS
    engine: str = "auto"
    loop_bound: int = 4
    preemptions: int | None = None
    grows: bool = False
    timeouts: bool = True
    spurious: int = 0
    failing_heavy: int = 0
    linux_futex: bool = False
    c11_release_sequence: bool = False
    paper_scb: bool = False
    sample: int = 0
    pct_depth: int = 0
    seed: int = 1
    max_executions: int = 0
    max_bytes: int = 2 << 30
    seconds: float = 60.0
    check_duplicates: bool = False
    jobs: int = 1
    parts: int = 0
    part: int = 0
    estimate: int = 0
    keep_positions: bool = False
    minimal: str = ""
    replay: str = ""
    orders: tuple[tuple[str, int, str], ...] = ()
    mapping: str = "all"

    def checked(self) -> ExploreOptions:
        """Return self.

        Raises:
            UsageError: a value is not allowed; the message lists the allowed values.
        """
        if not self.models:
            raise UsageError(
                "model is empty; allowed: sc, tso, rc11, armv8, joined by commas, or all"
            )
        if Model.ARMV8 in self.models:
            self._check_enumerated()
        elif self.engine not in ENGINES:
            raise UsageError(f"engine is {self.engine!r}; allowed: {', '.join(ENGINES)}")
        if self.engine == "states" and Model.RC11 in self.models:
            raise UsageError(
                "engine states has no model rc11: give --model sc,tso or --engine graphs"
            )
        if self.mapping not in MAPPINGS:
            raise UsageError(f"mapping is {self.mapping!r}; allowed: {', '.join(MAPPINGS)}")
        _within("loop bound", self.loop_bound, 0, 1_000_000)
        _within("spurious wakeups", self.spurious, 0, 100)
        _within("failing heavy fences", self.failing_heavy, 0, 100)
        _within("samples", self.sample, 0, 2**63 - 1)
        _within("pct depth", self.pct_depth, 0, PCT_DEPTH)
        _within("seed", self.seed, 0, 2**63 - 1)
        _within("executions", self.max_executions, 0, 2**63 - 1)
        _within("bytes", self.max_bytes, 0, 2**63 - 1)
        _within("processes", self.jobs, 1, JOBS)
        _within("descents", self.estimate, 0, 2**63 - 1)
        self._check_parts()
        if self.estimate and self.engine != "graphs":
            raise UsageError(
                "an estimate needs engine graphs, for it counts executions: give --engine graphs"
            )
        if self.preemptions is not None or self.grows:
            _within("preemptions", self.preemptions or 0, 0, 1000)
            if self.engine != "states":
                raise UsageError(
                    "a bound on preemptions needs engine states, for graphs have none: "
                    "give --engine states"
                )
        if not 0 <= self.seconds <= MOST_SECONDS:
            raise UsageError(f"seconds is {self.seconds:g}; allowed: 0 to {MOST_SECONDS:,.0f}")
        if self.pct_depth and not self.sample:
            raise UsageError("a pct depth needs a number of samples: give sample, 1 or more")
        for _, line, order in self.orders:
            _within("line", line, 1, 1_000_000)
            if order not in ORDERS:
                raise UsageError(f"order is {order!r}; allowed: {', '.join(ORDERS)}")
        return self

    def _check_parts(self) -> None:
        _within("parts", self.parts, 0, PARTS)
        _within("part", self.part, 0, max(0, self.parts - 1))
        if not self.parts:
            return
        if self.engine != "graphs":
            raise UsageError("parts need engine graphs, for states have none: give --engine graphs")
        if self.sample or self.estimate or self.minimal or self.max_executions or self.jobs > 1:
            raise UsageError(
                "parts are of a whole search: give no sample, estimate, limit of executions or jobs"
            )

    def _check_enumerated(self) -> None:
        """Refuse what ARMv8's search by enumeration does not have."""
        alone = self.models == (Model.ARMV8,)
        if self.engine not in ("auto", "both") and not (alone and self.engine == ENUMERATED):
            raise UsageError(
                f"engine {self.engine} has no model armv8, which is enumerated: leave --engine out"
            )
        if self.sample or self.estimate or self.preemptions is not None or self.grows:
            raise UsageError(
                "model armv8 is enumerated: it has no samples, no estimate and no bound on "
                "preemptions"
            )

    def arguments(self, *, examples: bool = True) -> list[str]:
        """Return the explorer's arguments."""
        found = [
            "--model", ",".join(model.value for model in self.models), "--engine", self.engine,
            "--loop-bound", str(self.loop_bound), "--spurious", str(self.spurious),
            "--futex", "linux" if self.linux_futex else "none",
            "--release-sequence", "c11" if self.c11_release_sequence else "c++20",
            "--scb", "paper" if self.paper_scb else "genmc", "--seed", str(self.seed),
            "--sample", str(self.sample), "--pct", str(self.pct_depth),
            "--max-executions", str(self.max_executions), "--max-bytes", str(self.max_bytes),
            "--max-seconds", f"{self.seconds:.3f}",
        ]  # fmt: skip
        found += ["--jobs", str(self.jobs)] if self.jobs > 1 else []
        found += ["--parts", str(self.parts), "--part", str(self.part)] if self.parts else []
        found += ["--failing-heavy", str(self.failing_heavy)] if self.failing_heavy else []
        found += ["--estimate", str(self.estimate)] if self.estimate else []
        found += ["--replay", self.replay] if self.replay else []
        found += ["--minimal", self.minimal] if self.minimal else []
        found += ["--keep-positions"] * self.keep_positions
        if self.preemptions is not None or self.grows:
            found += ["--preemptions", "grow" if self.grows else str(self.preemptions)]
        found += ["--timeouts"] * self.timeouts
        found += ["--check-duplicates"] * self.check_duplicates
        found += ["--no-examples"] * (not examples)
        for file, line, order in self.orders:
            found += ["--order", f"{file}:{line}={order}"]
        found += ["--sites"] * bool(self.orders)  # to report orders whose place is not explored
        return found

    def changed(self) -> dict[str, object]:
        """Return the options that differ from the defaults, as plain data.

        The models are reported separately, and the number of processes makes no difference.
        """
        plain = ExploreOptions()
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("models", "jobs")
            and getattr(self, field.name) != getattr(plain, field.name)
        }


def models_of(text: str) -> tuple[Model, ...]:
    """Return the models that `text` names: one, several joined by commas, or ``all`` of MODELS.

    Raises:
        UsageError: `text` has a word that names no model.
    """
    found: set[Model] = set()
    for word in filter(None, (word.strip().lower() for word in text.split(","))):
        if word == "all":
            found.update(MODELS)
        elif word in {model.value for model in Model}:
            found.add(Model(word))
        else:
            raise UsageError(f"model is {word!r}; allowed: sc, tso, rc11, armv8, all")
    return tuple(model for model in Model if model in found)


def sample_of(text: str) -> tuple[int, int]:
    """Return number of samples and PCT depth (0: uniform) of ``random`` or ``pct:d=3,n=500``.

    Raises:
        UsageError: `text` has neither of these forms, or a number in it is 0.
    """
    found = _SAMPLE.fullmatch(text)
    if not found:
        raise UsageError(
            f"sample is {text!r}; allowed: random[:n=N] or pct:d=D[,n=N], as in pct:d=3,n=5000"
        )
    number = int(found["random_n"] or found["pct_n"] or SAMPLES)
    depth = int(found["d"] or 0)
    if number < 1 or (found["d"] and depth < 1):
        raise UsageError(f"sample is {text!r}; allowed for n and d: 1 or more")
    return number, depth


def preemptions_of(text: str) -> tuple[int | None, bool]:
    """Return the bound on preemptions, and whether it grows, of ``2`` or ``grow``.

    Raises:
        UsageError: `text` is neither a number nor ``grow``.
    """
    if text != "grow" and not text.isdigit():
        raise UsageError(f"preemptions is {text!r}; allowed: a number, or grow")
    return (None, True) if text == "grow" else (int(text), False)


def bytes_of(text: str) -> int:
    """Return the number of bytes that ``500M``, ``2G`` or ``1000000`` means.

    Raises:
        UsageError: `text` is no such number.
    """
    found = re.fullmatch(r"(\d{1,15})([KMGT]?)", text.strip().upper())
    if not found:
        raise UsageError(
            f"max-bytes is {text!r}; allowed: a number of bytes, as in 500M, 2G or 1000000"
        )
    return int(found[1]) << 10 * " KMGT".index(found[2] or " ")


def _within(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(f"{what} is {value:,}; allowed: {least:,} to {most:,}")
