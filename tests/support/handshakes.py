# SPDX-License-Identifier: Apache-2.0
"""The kernel's store-fence-load handshakes as litmus programs, with the orders that its code has.

`{guard.2}` stands for the order at that label of ``kernel/``.  A wakeup is lost in a bad outcome;
`*` in it is any value.  Which orders these need, by model: `table`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from wakeproof import locations
from wakeproof.judge import labels
from wakeproof.judge.explore.options import Model
from wakeproof.judge.oracle import run
from wakeproof.judge.oracle.armv8 import armv8_any
from wakeproof.judge.oracle.models import AXIOMS

NONE = "none"
WEAKER = {
    "heavy": ("light",), "light": (NONE,), "seq_cst": ("acq_rel", NONE), "release": ("relaxed",),
    "acquire": ("relaxed",), "acq_rel": ("acquire", "release"), "relaxed": (),
}  # fmt: skip
"""One step, and for a full fence also its removal: acq_rel is the same instruction on ARMv8."""


@dataclass(frozen=True)
class Handshake:
    """One handshake: threads, what is observed, and the outcomes in which a wakeup is lost."""

    threads: tuple[str, ...]
    observe: str
    bad: tuple[str, ...]
    initial: str = ""

    @property
    def labels(self) -> list[str]:
        """The labels that it has, in order."""
        return re.findall(r"\{([\w.]+)\}", "".join(self.threads))

    def text(self, **weaker: str) -> str:
        """Return the program; `weaker`: another order, by label with _ for the dot."""
        body = ""
        for thread in self.threads:
            body += "thread\n"
            for line in thread.split(";"):
                found = re.search(r"\{([\w.]+)\}", line)
                label = found[1] if found else ""
                order = weaker.get(label.replace(".", "_"), orders().get(label, ""))
                if order != NONE:
                    body += "  " + line.strip().replace("{" + label + "}", order) + "\n"
        return f"program handshake\n{self.initial}{body}observe {self.observe}\n"

    def is_lost(self, outcome: str) -> bool:
        """Return whether a wakeup is lost."""
        return any(fnmatchcase(outcome, bad) for bad in self.bad)


HANDSHAKES = {
    "guard": Handshake(
        ("store asleep 1 {guard.1}; fence {guard.2}; r0 = load work {mpsc.9}",
         "store work 1 {mpsc.3}; fence {guard.4}; r0 = load asleep {guard.5}"),
        "0:r0 1:r0", ("0,0",),
    ),
    "guard, asymmetric": Handshake(
        ("store asleep 1 {guard.1}; fence {guard.9}; r0 = load work {mpsc.9}",
         "store work 1 {mpsc.3}; fence {guard.8}; r0 = load asleep {guard.5}"),
        "0:r0 1:r0", ("0,0",),
    ),
    "guard, the claimed wake": Handshake(
        ("r0 = exchange asleep 0 {guard.7}; r1 = load work relaxed",
         "store work 1 relaxed; fence {guard.8}; r0 = exchange asleep 0 {guard.6}"),
        "0:r0 0:r1", ("0,0",), "init asleep 1\n",
    ),
    "submission and release": Handshake(
        ("r7 = add token -1 {search.6}; fence {search.7}; r0 = load queue {mpsc.9}",
         "store queue 1 {mpsc.3}; fence {carrier.7}; r0 = cas token 0 1 {search.5} relaxed"),
        "0:r0 1:r0", ("0,1",), "init token 1\n",
    ),
    "submission and park": Handshake(
        ("store word 1 {carrier.1}; fence {carrier.6}; r0 = load queue {mpsc.9}",
         "store queue 1 {mpsc.3}; fence {carrier.7}; r0 = load word {carrier.4}"),
        "0:r0 1:r0", ("0,0",),
    ),
    "submission, release and park": Handshake(
        ("store queue 1 {mpsc.3}; fence {carrier.7}; r0 = cas token 0 1 {search.5} relaxed",
         "r7 = add token -1 {search.6}; fence {search.7}; r0 = load idle {idle_set.3}; "
         "r1 = load queue {mpsc.9}",
         "r1 = or idle 1 {idle_set.1}; fence {carrier.6}; r0 = load queue {mpsc.9}"),
        "0:r0 1:r0 1:r1 2:r0", ("1,0,*,0", "1,*,0,0"), "init token 1\n",
    ),
}  # fmt: skip


@cache
def orders() -> dict[str, str]:
    """Return the order at each label of the kernel's code."""
    files = labels.kernel_files(locations.sources())
    return {site.label: site.order for file in files for site in labels.sites(file)}


@dataclass(frozen=True)
class Row:
    """One weakening: under which models a wakeup can be lost."""

    handshake: str
    label: str  # "": nothing is weakened
    order: str
    weaker: str
    lost: tuple[Model, ...]

    def __str__(self) -> str:
        cells = ["sat" if model in self.lost else "unsat" for model in Model]
        what = [self.label or "-", self.order or "-", self.weaker or "as it is"]
        return f"| {' | '.join([self.handshake, *what, *cells])} |"


def lost(handshake: Handshake, **weaker: str) -> tuple[Model, ...]:
    """Return the models under which a wakeup can be lost, by enumeration."""
    text = handshake.text(**weaker)
    results = run.explore(text, AXIOMS) | run.explore(
        text, {Model.ARMV8: armv8_any}, buffering=True
    )
    return tuple(model for model in Model if any(map(handshake.is_lost, results[model].outcomes)))


def table() -> Iterator[Row]:
    """Yield each handshake as it is, then with each of its orders weakened."""
    for name, handshake in HANDSHAKES.items():
        yield Row(name, "", "", "", lost(handshake))
        for label in dict.fromkeys(handshake.labels):
            order = orders()[label]
            for weaker in WEAKER[order]:
                weakened = {label.replace(".", "_"): weaker}
                yield Row(name, label, order, weaker, lost(handshake, **weakened))
