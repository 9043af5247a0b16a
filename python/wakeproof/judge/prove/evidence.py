# SPDX-License-Identifier: Apache-2.0
"""The evidence of a proof, kept in one archive for each subject.

For each formula the archive holds the text that was asked, cvc5's proof of it, and the ground text:
without quantifiers, made of the instances that the proof uses.  z3 must refute it, too; any solver
can repeat that, without choosing an instance.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wakeproof.judge.prove import solvers
from wakeproof.judge.prove.obligations import Obligation
from wakeproof.judge.prove.solvers import Answer, Solver


@dataclass(frozen=True)
class Evidence:
    """What is kept of one proof."""

    file: str
    formulas: int
    proofs: int  # of cvc5, without a step for which it gives no reason
    ground: int  # of which z3 refutes the ground text


def keep(
    folder: Path, name: str, claims: Sequence[str], asked: Sequence[tuple[Obligation, Answer]],
    z3: Solver, cvc5: Solver, timeout_s: float,
) -> Evidence:  # fmt: skip
    """Write the archive `folder/name.zip`, or nothing if this is interrupted.

    Args:
        folder: made if there is none.
        name: the subject's.
        claims: that are proved.
        asked: each formula, and what cvc5 has said of it.
        z3: repeats the steps.
        cvc5: proves anew, and writes down how.
        timeout_s: for one formula and solver.

    Raises:
        OSError: the archive cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{re.sub('[^A-Za-z0-9._-]+', '_', name)}.zip"
    part = file.with_suffix(".part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            rows = list(_rows(archive, asked, z3, cvc5, timeout_s))
            index = {"name": name, "claims": list(claims), "solvers": solvers.versions(),
                     "formulas": rows}  # fmt: skip
            archive.writestr("index.json", json.dumps(index, indent=1))
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    proofs = sum(bool(one["proof"]) and not one["steps without a reason"] for one in rows)
    return Evidence(str(file), len(rows), proofs, sum(one["ground"] == "unsat" for one in rows))


def _rows(
    archive: zipfile.ZipFile, asked: Sequence[tuple[Obligation, Answer]], z3: Solver, cvc5: Solver,
    timeout_s: float,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Write each formula's files, and yield what they say; cvc5 works ahead of z3."""

    def prove(answer: Answer) -> Answer:
        if answer.answer != "unsat":
            return answer
        return cvc5.ask(answer.asked, timeout_s, wants="proof")

    ahead = ThreadPoolExecutor(1)
    try:
        proofs = ahead.map(prove, [answer for _, answer in asked])
        for number, ((obligation, answer), proved) in enumerate(zip(asked, proofs, strict=True)):
            stem = f"{number:04}"
            checked = Answer("no proof")
            archive.writestr(f"{stem}.smt2", f"; {obligation.what}\n{answer.asked}")
            if proved.proof:
                archive.writestr(f"{stem}.cpc", proved.proof)
                checked = z3.ask(answer.asked, timeout_s, wants="ground", steps=proved.steps)
            if checked.ground:
                archive.writestr(f"{stem}.ground.smt2", checked.ground)
            yield {
                "formula": obligation.what, "file": stem, "cvc5": proved.answer,
                "proof": bool(proved.proof),
                "steps without a reason": proved.proof.count(" :rule trust"),
                "instances": len(proved.steps.get("instances", ())),
                "ground": checked.answer, "not repeated": checked.lost, "why": checked.why,
            }  # fmt: skip
    finally:
        ahead.shutdown(wait=False, cancel_futures=True)
