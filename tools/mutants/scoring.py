# SPDX-License-Identifier: Apache-2.0
"""Runs the judges that reach a defect, the cheapest one first, until one sees the defect."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.building import Overlay
from tools.mutants.judging import HANGS, Baseline, Bench, Judge, Verdict
from tools.mutants.keeping import Kept
from tools.mutants.rules import Mutant

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import Model

KILLED, SURVIVED, EXPLAINED = "killed", "survived", "explained"
EQUAL, BROKEN = "equal", "does not compile"
COUNTED = (KILLED, EXPLAINED, SURVIVED)
YET_KILLED = "explained, yet killed"

BUDGET_S = {"sc": 8.0, "native": 30.0, "python": 25.0, "address": 5.0, "thread": 3.0, "weak": 12.0}
"""Seconds that the judges of each kind take on the kernel as it is: for one defect, no more."""

ORDER = {"": ("sc", "native", "python", "address", "thread", "weak"),
         "weaker": ("weak", "sc", "native"),
         "swap": ("sc", "native", "weak", "python", "address", "thread")}  # fmt: skip
"""The judges of a rule (and of other rules): weak memory matters most to orders and places."""

_WINDOWS = ((2, 1), (4, 2))  # lines before and after: a statement is counted at one of its own
_LABEL = re.compile(r"\[[a-z]\w*\.\d+\]")
_KEPT = re.compile(r"\bkept:\s*(.*?)[\s*/]*$")


@dataclass(frozen=True)
class Score:
    """The result of one defect."""

    mutant: Mutant
    status: str
    judge: str = ""  # that killed it
    said: str = ""
    seconds: float = 0.0
    asked: int = 0  # judges
    why: str = ""  # the reason of one that is explained

    def row(self) -> dict[str, object]:
        """Return the score as plain data."""
        mutant = self.mutant
        return {
            "name": mutant.name, "file": mutant.file, "line": mutant.line,
            "function": mutant.function, "rule": mutant.rule, "code": mutant.code,
            "becomes": mutant.becomes, "nth": mutant.nth, "status": self.status,
            "judge": self.judge, "said": self.said, "seconds": round(self.seconds, 2),
            "asked": self.asked, "why": self.why,
        }  # fmt: skip


def shuffled(mutants: Sequence[Mutant], seed: int) -> list[Mutant]:
    """Return the defects in the order of a seed; a new defect does not change this order."""

    def place(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed}:{mutant.name}".encode()).hexdigest()

    return sorted(mutants, key=place)


def kept_orders(file: str, text: str, mutants: Sequence[Mutant]) -> dict[Mutant, str]:
    """Return the reason of each weaker order if the comment of its site has ``kept:``.

    A fence is removed and not weaker, so its ``kept:`` does not explain that.
    """
    found = {}
    for mutant in mutants:
        if mutant.file != file or mutant.rule != "weaker" or "_fence_" in mutant.code:
            continue
        comments = [m.group() for m in re.finditer(r"/\*.*?\*/", text[: mutant.start], re.DOTALL)]
        label = next((c for c in reversed(comments) if _LABEL.search(c)), "")
        kept = _KEPT.search(re.sub(r"\s+\*?\s*", " ", label))
        if kept:
            found[mutant] = f"kept: {kept[1]}"
    return found


def kind(judge: Judge) -> str:
    """Return a judge's kind: sc, weak; native, or the build with a sanitizer; python."""
    if judge.is_python:
        return "python"
    if judge.scenario is None:
        return "native" if judge.build == "plain" else judge.build
    return "sc" if judge.model is Model.SC else "weak"


def reaching(
    mutant: Mutant, text: str, judges: Sequence[tuple[Judge, Baseline]]
) -> list[tuple[Judge, Baseline]]:
    """Return the judges that reach a defect, in the order in which they run."""
    last = text.count("\n", 0, mutant.end) + 1
    holding = [pair for pair in judges if pair[1].holds and mutant.file in pair[1].lines]
    here: list[tuple[Judge, Baseline]] = []
    for before, after in _WINDOWS:
        near = range(mutant.line - before, last + after + 1)
        here = [pair for pair in holding if not pair[1].lines[mutant.file].isdisjoint(near)]
        if here:
            break
    stem = Path(mutant.file).stem
    order = ORDER.get(mutant.rule, ORDER[""])
    here = [pair for pair in here if kind(pair[0]) in order]
    here.sort(key=lambda p: (order.index(kind(p[0])), not p[0].is_of(stem), p[1].seconds))
    left, chosen = dict(BUDGET_S), []
    for judge, baseline in here:
        left[kind(judge)] -= baseline.seconds
        if left[kind(judge)] >= 0:
            chosen.append((judge, baseline))
    return chosen


class Judging:
    """Judges defects, one at a time; each thread has an object of its own."""

    def __init__(
        self, bench: Bench, folder: Path, judges: Sequence[tuple[Judge, Baseline]],
        ended: threading.Event,
    ) -> None:  # fmt: skip
        self._bench, self._folder, self._judges, self._ended = bench, folder, judges, ended

    def score(self, mutant: Mutant, text: str, kernel: Path, why: str = "") -> Score:
        """Judge a defect of the file with this text; `why`: the reason that explains it."""
        kept = Kept(self._folder, mutant)
        with Overlay(self._folder / "work", kernel, mutant.file, mutant.applied(text)) as overlay:
            self._bench.lay(overlay)
            try:
                return self._score(mutant, text, overlay, kept, why)
            finally:
                self._bench.lay(None)

    def _score(self, mutant: Mutant, text: str, overlay: Overlay, kept: Kept, why: str) -> Score:
        code = self._code(overlay, kept)
        if code:
            return Score(mutant, code)
        seconds, asked = 0.0, 0
        for judge, baseline in reaching(mutant, text, self._judges):
            verdict = self._verdict(judge, baseline, overlay, kept)
            seconds, asked = seconds + verdict.seconds, asked + 1
            if verdict.killed:
                status = YET_KILLED if why else KILLED
                return Score(mutant, status, judge.name, verdict.said, seconds, asked, why)
        status = EXPLAINED if why else SURVIVED
        said = "" if asked else "no cheap judge comes here"
        return Score(mutant, status, "", said, seconds, asked, why)

    def _code(self, overlay: Overlay, kept: Kept) -> str:
        """Return why the defect does not count: equal machine code, or none."""
        native = self._bench.native
        key = native.key(overlay)
        found = kept.get("code", key)
        if found is None:
            try:
                code = EQUAL if native.has_equal_code(overlay) else ""
            except UsageError:
                code = BROKEN
            self._end()
            kept.put("code", key, {"code": code})
            return code
        return str(found["code"])

    def _verdict(self, judge: Judge, baseline: Baseline, overlay: Overlay, kept: Kept) -> Verdict:
        key = self._bench.key(judge, overlay)
        found = kept.get(judge.name, key)
        if found:
            return Verdict(bool(found["killed"]), str(found["said"]), float(str(found["seconds"])))
        try:
            if kind(judge) not in ("sc", "native", "python") and not self._holds(judge):
                return Verdict(False, "fails without the defect", 0.0)
            verdict = self._bench.ask(judge, baseline.seconds)
        except UsageError as error:
            verdict = Verdict(False, f"does not compile: {str(error)[-200:]}", 0.0)
        self._end()
        if verdict.said.startswith(HANGS):  # try again: perhaps it had no CPU
            verdict = self._bench.ask(judge, baseline.seconds)
            self._end()
        if verdict.killed and judge.scenario is None:  # it must still hold without the defect
            self._bench.lay(None)
            again = self._bench.ask(judge, baseline.seconds)
            self._bench.lay(overlay)
            self._end()
            if again.killed:
                return Verdict(False, f"fails without the defect: {again.said}", verdict.seconds)
        kept.put(judge.name, key, {"killed": verdict.killed, "said": verdict.said,
                                   "seconds": verdict.seconds})  # fmt: skip
        return verdict

    def _holds(self, judge: Judge) -> bool:
        """Return whether a judge of a weak model, or of another build, holds without a defect."""
        overlay = self._bench.overlay
        self._bench.lay(None)
        try:
            key = self._bench.key(judge)
            file = self._folder / "weak" / f"{key}.json"
            if not file.exists():
                verdict = self._bench.ask(judge)
                self._end()
                file.parent.mkdir(exist_ok=True)
                locations.write_atomically(file, json.dumps({"holds": not verdict.killed}))
            return bool(json.loads(file.read_text(encoding="utf-8"))["holds"])
        finally:
            self._bench.lay(overlay)

    def _end(self) -> None:
        """Stop if the job was ended, because a judge that was killed has no verdict."""
        if self._ended.is_set():
            raise InterruptedError("the job was ended")
