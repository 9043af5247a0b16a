# SPDX-License-Identifier: Apache-2.0
"""The proofs that `wakeproof prove` has kept of these sources, for the audit's page."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from wakeproof.errors import MissingToolError
from wakeproof.judge.prove import run, subjects
from wakeproof.judge.prove.subjects import Subject
from wakeproof.judge.tlc import models
from wakeproof.judge.verdicts import Rows


def kept(root: Path) -> dict[str, str]:
    """Return a sentence for each claim that is proved in every mode that is to be proved.

    Nothing is proved here.  A claim has none if a proof was not made of these sources, or failed.
    """
    specs, rows = root / "specs", Rows()
    made = models.folder(specs)
    proved: dict[str, list[Subject]] = defaultdict(list)
    lacking: set[str] = set()
    try:
        for _, subject in subjects.every(specs):
            inputs = run.inputs_of(made, subject.module, subject)
            row = rows.find("prove", subject.name, inputs)
            own = [f"{subject.module.removeprefix('MC')}!{claim}" for claim in subject.claims]
            if row is None or row.verdict != run.PROVED:
                lacking |= {*own}
            for claim in own:
                proved[claim].append(subject)
    except MissingToolError:  # without solvers there is no proof of these sources
        return {}
    return {
        claim: f"Specification: z3 and cvc5 proved it for any number of threads{_modes(own)}."
        for claim, own in proved.items() if claim not in lacking
    }  # fmt: skip


def _modes(own: list[Subject]) -> str:
    """Return the modes in which a claim was proved: `` in 4 modes (Memory: SC, TSO)``."""
    values: dict[str, dict[str, None]] = defaultdict(dict)
    for subject in own:
        for name, value in subject.modes.items():
            values[name][str(value)] = None
    several = [f"{name}: {', '.join(of)}" for name, of in values.items() if len(of) > 1]
    return f" in {len(own)} modes ({'; '.join(several)})" if several else ""
