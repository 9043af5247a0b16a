# SPDX-License-Identifier: Apache-2.0
"""The proofs of these sources, for the audit: kept here by `wakeproof prove`, or locked.

The audit proves nothing that takes long.  CI proves an eighth of the quick ones again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from wakeproof.errors import MissingToolError
from wakeproof.judge.prove import run, solvers, subjects
from wakeproof.judge.prove.subjects import Subject, TwinOf
from wakeproof.judge.tlc import models
from wakeproof.judge.verdicts import Rows

QUICK_S = 10.0
"""A proof that took both solvers no longer than these seconds is made again in CI."""


def again(root: Path, rows: Rows) -> None:
    """Prove again what is quick among the locked proofs that CI is to judge again."""
    try:
        solvers.versions()
    except MissingToolError:
        return
    specs = root / "specs"
    made = models.folder(specs)
    names = []
    for _, subject in subjects.every(specs):
        inputs = run.inputs_of(made, subject.module, subject)
        locked = rows.locked("prove", subject.name, inputs)
        is_due = locked is not None and rows.lacks("prove", subject.name, inputs)
        if locked is not None and is_due and locked.detail["seconds"] <= QUICK_S:
            names.append(re.escape(subject.name))
    if names:
        run.prove(f"^({'|'.join(names)})$", twins=False, specs=specs, rows=rows)


def known(root: Path, rows: Rows) -> dict[str, str]:
    """Return a sentence for each claim that is proved in every mode that is to be proved.

    Nothing is proved here.  A claim has none if a proof was not made of these sources, or failed.

    Args:
        root: the folder of the sources.
        rows: gets the rows of the proofs and of the twins that break them.
    """
    specs = root / "specs"
    made = models.folder(specs)
    proved: dict[str, list[Subject]] = defaultdict(list)
    twins: dict[str, list[str]] = defaultdict(list)
    lacking: set[str] = set()
    again = {row.name: row for row in rows.all if row.judge == "prove"}
    try:
        for _, subject in subjects.every(specs):
            inputs = run.inputs_of(made, subject.module, subject)
            row = again.get(subject.name) or rows.known("prove", subject.name, inputs)
            own = [f"{subject.module.removeprefix('MC')}!{claim}" for claim in subject.claims]
            if row is None or row.verdict != run.PROVED:
                lacking |= {*own}
            for claim in own:
                proved[claim].append(subject)
        for module, twin in _addressed(specs):
            name = run.twin_name(module, twin)
            if rows.known("prove", name, run.inputs_of_twin(made, module, twin)):
                twins[f"{module.removeprefix('MC')}!{twin.claim}"].append(name)
    except MissingToolError:  # without solvers there is no proof of these sources
        return {}
    return {
        claim: f"Specification: z3 and cvc5 proved it for any number of threads{_modes(own)}"
        f"{_twins(twins[claim])}."
        for claim, own in proved.items() if claim not in lacking
    }  # fmt: skip


def _addressed(specs: Path) -> Iterator[tuple[str, TwinOf]]:
    """Yield each twin that must break a proof, with its module."""
    chosen = list(subjects.every(specs))
    for table in {table.file: table for table, _ in chosen}.values():
        own = [subject for one, subject in chosen if one.file == table.file]
        for twin in subjects.twins(table, own):
            if twin.subject is not None:
                yield own[0].module, twin


def _modes(own: list[Subject]) -> str:
    """Return the modes in which a claim was proved: `` in 4 modes (Memory: SC, TSO)``."""
    values: dict[str, dict[str, None]] = defaultdict(dict)
    for subject in own:
        for name, value in subject.modes.items():
            values[name][str(value)] = None
    several = [f"{name}: {', '.join(of)}" for name, of in values.items() if len(of) > 1]
    return f" in {len(own)} modes ({'; '.join(several)})" if several else ""


def _twins(names: list[str]) -> str:
    if not names:
        return ""
    return f"; {', '.join(names)} {'breaks' if len(names) == 1 else 'break'} the proof"
