# SPDX-License-Identifier: Apache-2.0
"""The proofs that `wakeproof prove` has kept of these sources, for the audit's page."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from wakeproof.errors import MissingToolError
from wakeproof.judge.prove import run, subjects
from wakeproof.judge.tlc import models
from wakeproof.judge.verdicts import Rows


def kept(root: Path) -> dict[str, str]:
    """Return a sentence for each claim that is proved in every mode that is to be proved.

    Nothing is proved here.  A claim has none if a proof was not made of these sources, or failed.
    """
    specs, rows = root / "specs", Rows()
    made = models.folder(specs)
    modes: dict[str, list[str]] = defaultdict(list)
    lacking: set[str] = set()
    try:
        for _, subject in subjects.every(specs):
            inputs = run.inputs_of(made, subject.module, subject)
            row = rows.find("prove", subject.name, inputs)
            own = [f"{subject.module.removeprefix('MC')}!{claim}" for claim in subject.claims]
            if row is None or row.verdict != run.PROVED:
                lacking |= {*own}
            for claim in own:
                modes[claim].append(subject.name)
    except MissingToolError:  # without solvers there is no proof of these sources
        return {}
    return {
        claim: "Specification: z3 and cvc5 proved it for any number of threads "
        f"({', '.join(names)})."
        for claim, names in modes.items() if claim not in lacking
    }  # fmt: skip
