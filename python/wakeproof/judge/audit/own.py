# SPDX-License-Identifier: Apache-2.0
"""The audit of a project of the user's own: its modules and scenarios, in the same report.

The judges are those of `wakeproof check`, `prove`, `explore` and `stress`, with a file each.  A
claim is an invariant or a property that a configuration lists, or a scenario.  A file that cannot
be judged is a row that says why.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wakeproof import locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import labels, store
from wakeproof.judge.audit import collected, formats
from wakeproof.judge.audit.run import HOLDS, NOT_JUDGED, NOW, VIOLATED
from wakeproof.judge.check import own_spec
from wakeproof.judge.check.own_spec import OwnReport
from wakeproof.judge.explore import run as explore
from wakeproof.judge.explore.report import RACE, TwinReport
from wakeproof.judge.explore.report import ScenarioReport as Explored
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.own import run as own_programs
from wakeproof.judge.own import scenarios as own_scenarios
from wakeproof.judge.own.program import of_files
from wakeproof.judge.page import data, graphs, of_check, of_explore, plots
from wakeproof.judge.page.excerpts import Excerpts
from wakeproof.judge.process import Children
from wakeproof.judge.prove import run as prove
from wakeproof.judge.prove.run import Proof
from wakeproof.judge.report import to_json
from wakeproof.judge.stress import grading, outcome_sets
from wakeproof.judge.stress import run as native
from wakeproof.judge.stress.run import StressOptions
from wakeproof.judge.tlc import models
from wakeproof.judge.tlc.manifest import INVARIANT
from wakeproof.judge.tlc.run import Outcome

LEFT_OUT: Final = ("build", "node_modules", "__pycache__")
"""Folders that hold no sources; those whose names begin with a dot are left out, too."""
_INCLUDES = re.compile(r'^\s*#\s*include\s+["<]stress\.h[">]', re.MULTILINE)
_INVARIANT = re.compile(rf"^\s*{INVARIANT}\s*==", re.MULTILINE)


REFUSALS: Final = (UsageError, JudgeError)
NO_JUDGE: Final = "none"
COLUMNS: Final = ("claim", "kind", "known", "how", "verdict")


@dataclass(frozen=True)
class Files:
    """What a folder has to judge."""

    modules: tuple[Path, ...]  # with a configuration beside them
    scenarios: tuple[Path, ...]
    others: tuple[tuple[Path, str], ...]  # and why they are not judged

    @property
    def count(self) -> int:
        """Return how many files are judged."""
        return len(self.modules) + len(self.scenarios)


def find(folder: Path) -> Files:
    """Return the files of a folder and of the folders in it.

    Raises:
        UsageError: it is no folder, or has nothing to judge.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder; to judge one file, use `wakeproof "
                         "check`, `prove`, `explore` or `stress`")  # fmt: skip
    modules, scenarios, others = [], [], []
    for file in _files(folder):
        if file.suffix == ".tla" and file.with_suffix(".cfg").is_file():
            modules.append(file)
        elif file.suffix == ".tla":
            others.append((file, f"no {file.stem}.cfg beside it: part of another module"))
        else:
            why = _why_no_scenario(file)
            scenarios += [file] * (not why)
            others += [(file, why)] * bool(why)
    if not modules and not scenarios:
        raise UsageError(
            f"{folder}: nothing to judge; a module of TLA+ needs a .cfg beside it, and a scenario "
            "in C includes stress.h"
        )
    return Files(tuple(modules), tuple(scenarios), tuple(others))


def _why_no_scenario(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    return "" if _INCLUDES.search(text) else "no scenario: it does not include stress.h"


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            one for one in folders if not one.startswith(".") and one not in LEFT_OUT
        )
        yield from (Path(place, name) for name in sorted(names) if name.endswith((".tla", ".c")))


def audit(
    folder: Path, files: Files, options: StressOptions, announce: Callable[[str], None], *,
    deadlock: bool = True,
) -> data.Report:  # fmt: skip
    """Judge the files, and return the report.

    Args:
        folder: where they are; names in the report are relative to it.
        files: as `find` has found them.
        options: of stress.
        announce: called with what is judged next.
        deadlock: whether a state without a next step is a violation.

    Raises:
        MissingToolError: no Java, no TLC or no C compiler.
    """
    job = _Job(folder, options, announce, deadlock)
    for module in files.modules:
        job.module(module)
    for file in files.scenarios:
        job.scenarios(file)
    for file, why in files.others:
        job.row(NO_JUDGE, job.name(file), why)
    return job.report()


def _explored(file: Path) -> ExploreReport:
    """Explore the scenarios of a file, as programs if they have atomics or memory of their own."""
    with Children() as children:
        is_program = own_scenarios.needs_program(file, children)
    if is_program:
        return own_programs.report(of_files([file]))
    return explore.explore([file], jobs=2)


@dataclass
class _Job:
    folder: Path
    options: StressOptions
    announce: Callable[[str], None]
    deadlock: bool
    excerpts: Excerpts = field(default_factory=Excerpts)
    claims: list[data.Claim] = field(default_factory=list)
    twins: dict[str, data.Twin] = field(default_factory=dict)
    counterexamples: list[data.Counterexample] = field(default_factory=list)
    graphs: list[data.StateGraph] = field(default_factory=list)
    rows: list[data.Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def name(self, file: Path) -> str:
        return file.relative_to(self.folder).as_posix()

    def row(self, judge: str, name: str, verdict: str) -> None:
        self.rows.append(data.Row(judge=judge, name=name, verdict=verdict, judged=NOW))

    def _refused(self, judge: str, file: Path, error: Exception) -> None:
        """Add a file that a judge cannot judge: a row, and a problem."""
        said = str(error).removeprefix(f"{file}: ")
        self.row(judge, self.name(file), f"{NOT_JUDGED}: {said}")
        self.problems.append(f"{self.name(file)}: {said}")

    # Modules.

    def module(self, file: Path) -> None:
        self.announce(f"TLC: {self.name(file)}")
        try:
            found = own_spec.check_own(file, deadlock=self.deadlock)
        except REFUSALS as error:
            self._refused("check", file, error)
            return
        said = found.result.got if not found.holds else HOLDS
        self.row("check", self.name(file), f"{said}; {found.result.tlc.states:,} states")
        proof = self._proof(file)
        module = self.name(file).removesuffix(".tla")
        texts = models.modules(file.absolute().parent, file.stem)
        if found.result.tlc.trace:
            self.counterexamples.append(
                of_check.converted(found.result, self.excerpts, texts, name=self.name(file))
            )
        names = (*found.invariants, *found.properties)
        for name in names:
            self.claims.append(self._claim(found, proof, module, name, texts))
        if not found.holds and not set(names) & {*found.result.violated}:
            said = found.result.tlc.message or "the configuration's claims were not judged"
            if found.result.tlc.outcome is Outcome.DEADLOCK:
                said = "nobody has a step; if that is right: --no-deadlock"
            self.problems.append(f"{self.name(file)}: {found.result.got}: {said}")
        self._graph(found)

    def _proof(self, file: Path) -> Proof | str:
        """Return the proof of a module that has an invariant to prove, or why there is none."""
        if not _INVARIANT.search(file.read_text(encoding="utf-8", errors="replace")):
            return f"The module has no {INVARIANT}, so nothing is proved."
        self.announce(f"z3, cvc5: {self.name(file)}")
        try:
            (proof,) = prove.prove_own(file).proofs
        except REFUSALS as error:
            said = str(error).removeprefix(f"{file}: ")
            self.row("prove", self.name(file), f"{NOT_JUDGED}: {said}")
            return f"It is not proved for any number of threads: {said}."
        self.row("prove", self.name(file), proof.verdict)
        if not proof.holds:
            self.problems.append(f"{self.name(file)}: {proof.verdict}")
            return f"It is not proved for any number of threads: {proof.verdict}."
        return proof

    def _claim(
        self, found: OwnReport, proof: Proof | str, module: str, name: str,
        texts: Mapping[str, str],
    ) -> data.Claim:  # fmt: skip
        run, file = found.result.tlc, self.name(found.module)
        is_proved = isinstance(proof, Proof) and name in proof.claims
        status = HOLDS if found.holds else VIOLATED if name in found.result.violated else NOT_JUDGED
        known, open_ = [], ["No judge compares code with this module."]
        if is_proved:
            known.append("z3 and cvc5 proved it for constant sets of any size, by "
                         f"{INVARIANT}.")  # fmt: skip
        elif isinstance(proof, str):
            open_.insert(0, proof)
        if found.holds:
            known.append(f"TLC checked every state of {file} with {found.config.name}: "
                         f"{run.states:,} distinct states, at most {run.depth} steps deep."
                         )  # fmt: skip
        elif status == VIOLATED:
            said = f"TLC found a counterexample of {len(run.trace)} steps."
            self.problems.append(f"{module}!{name}: {said}")
            open_.insert(0, said)
        else:
            open_.insert(0, f"TLC did not judge it: {found.result.got}.")
        return data.Claim(
            name=f"{module}!{name}", kind="invariant" if name in found.invariants else "property",
            sentence=_sentence(texts.get(found.module.stem, ""), name), status=status,
            strength="proved" if is_proved else "specification", known=tuple(known),
            open=tuple(open_),
            spec=self.excerpts.of_claim(found.module.stem, texts.get(found.module.stem, ""), name),
            files=(), sites=(), scenarios=(), compared=(), twins=(), judged=NOW,
            counterexamples=(file,) if status == VIOLATED and run.trace else (),
            configurations=(data.Configuration(
                name=found.config.name, about=f"{file}", states=run.states, depth=run.depth,
                seconds=round(run.seconds, 1), judged=NOW,
            ),),
        )  # fmt: skip

    def _graph(self, found: OwnReport) -> None:
        if found.holds and found.result.tlc.states <= graphs.LARGEST:
            with Children() as children:
                graph = graphs.dumped(
                    found.module.absolute(), found.config.absolute(), children,
                    name=self.name(found.module), deadlock=self.deadlock,
                )  # fmt: skip
            self.graphs += [graph] if graph else []

    # Scenarios.

    def scenarios(self, file: Path) -> None:
        self.announce(f"explorer: {self.name(file)}")
        try:
            explored = _explored(file)
            self.announce(f"real cores: {self.name(file)}")
            ran = native.stress(
                [file], options=self.options, allowed=outcome_sets.of_report(explored)
            )
        except REFUSALS as error:
            self._refused("explore", file, error)
            return
        reports = {one.name: one for one in explored.scenarios}
        known = labels.read(locations.sources())
        for kept in explored.counterexamples:
            shown = of_explore.converted(kept, known, self.excerpts)
            # two files may have scenarios or twins of one name
            own = f"{self.name(file)}!{shown.name}"
            self.counterexamples.append(shown.model_copy(update={"name": own}))
        for twin in explored.twins:
            self._twin(file, twin)
        for one in ran.scenarios:
            self._scenario(file, one, reports[one.name])

    def _scenario(self, file: Path, ran: grading.ScenarioReport, explored: Explored) -> None:
        name = f"{self.name(file)}!{ran.name}"
        self.row("explore", name, explored.verdict)
        self.row("stress", name, ran.status)
        statuses = {explored.status, ran.status, explored.verdict}
        status = (
            VIOLATED if statuses & {grading.VIOLATED, RACE}
            else NOT_JUDGED if grading.NOT_JUDGED in statuses else HOLDS
        )  # fmt: skip
        shown = collected.scenario(ran, explored, NOW)
        whole = [one.model for one in shown.explored if collected.is_whole(one)]
        parts = [one for one in shown.explored if not collected.is_whole(one)]
        known = [f"Every execution was explored under {', '.join(whole)}."] if whole else []
        known.append(f"Real cores: {ran.samples:,} samples.")
        open_ = [f"It was not explored whole under {one.model}: {one.extent}." for one in parts]
        wrong = [*explored.messages, *ran.messages]
        open_ = [f"{said}." for said in wrong[:1]] + open_
        self.problems += [f"{name}: {said}" for said in wrong]
        self.claims.append(data.Claim(
            name=name, kind="scenario", sentence=ran.claim, status=status,
            strength=collected.by_code([shown]), known=tuple(known), open=tuple(open_), spec=(),
            files=(self.name(file),), sites=(), configurations=(), scenarios=(shown,), compared=(),
            twins=tuple(twin for twin, one in self.twins.items() if one.violates == name),
            judged=NOW, counterexamples=self._shown(name),
        ))  # fmt: skip

    def _shown(self, name: str) -> tuple[str, ...]:
        """Return the names of the executions that show a scenario or a twin broken."""
        return tuple(
            one.name for one in self.counterexamples if one.name.rpartition("-")[0] == name
        )

    def _twin(self, file: Path, twin: TwinReport) -> None:
        name = f"{self.name(file)}!{twin.name}"
        self.row("explore", name, twin.status)
        if twin.status == grading.VIOLATED:
            self.problems += [f"{name}: {said}" for said in twin.messages]
        sights = tuple(
            data.Sight(judge=model, must=saw, saw=saw, judged=NOW,
                       how=f"shows {twin.shows}" if saw else f"does not show {twin.shows}")
            for model, saw in twin.killed.items()
        )  # fmt: skip
        self.twins[name] = data.Twin(
            name=name, about=twin.defect, violates=f"{self.name(file)}!{twin.of}", diff="",
            seen=sights, counterexamples=self._shown(name),
        )  # fmt: skip

    # The report.

    def report(self) -> data.Report:
        bad = sum(claim.status != HOLDS for claim in self.claims)
        problems = tuple(dict.fromkeys(self.problems))
        holds = not bad and not problems
        verdict = f"{len(self.claims) - bad} of {len(self.claims)} claims hold"
        if problems:
            verdict += f", {len(problems)} problem{'s' * (len(problems) > 1)}"
        return data.Report(
            title=f"wakeproof: the audit of {self.folder.absolute().name}", made=store.now(),
            verdict=verdict, holds=holds, problems=problems,
            environment=_environment(), not_shown=tuple(self._not_shown()),
            claims=tuple(self.claims), twins=self.twins, graphs=tuple(self.graphs),
            counterexamples=tuple({one.name: one for one in self.counterexamples}.values()),
            rows=tuple(self.rows), sources=self.excerpts.all, plot=plots.strengths(self.claims),
        )  # fmt: skip

    def _not_shown(self) -> Iterable[str]:
        proved = sum(claim.strength == "proved" for claim in self.claims)
        if proved < len(self.claims):
            yield (f"{len(self.claims) - proved} of {len(self.claims)} claims are not proved for "
                   "any number of threads.")  # fmt: skip
        left = [row for row in self.rows if row.judge == NO_JUDGE]
        if left:
            yield f"{len(left)} files were not judged; the rows say why."


def _environment() -> tuple[tuple[str, str], ...]:
    return (
        ("Machine", f"{platform.machine()}, {collected.processor()}"),
        ("System", f"{platform.system()} {platform.release()}"),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
    )


def _sentence(text: str, name: str) -> str:
    """Return the comment above a definition, as far as there is one."""
    found = re.search(rf"((?:^[ \t]*\\\*[^\n]*\n)+)^\s*{re.escape(name)}\s*==", text, re.MULTILINE)
    lines = found[1].splitlines() if found else []
    return " ".join(line.strip().removeprefix("\\*").strip() for line in lines)


def table(report: data.Report) -> list[tuple[str, ...]]:
    """Return a row for each claim: how it is known, or what is wrong."""
    return [
        (one.name, one.kind, data.STRENGTHS[one.strength] if one.status == HOLDS else "",
         " ".join(one.known if one.status == HOLDS else one.open[:1] or one.known), one.status)
        for one in report.claims
    ]  # fmt: skip


def to_markdown(report: data.Report) -> str:
    """Return the claims, what is wrong and what was not judged as Markdown."""
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in (COLUMNS, *table(report))]
    lines.insert(1, "|" + "---|" * len(COLUMNS))
    lines += ["", *(f"- {_cell(problem)}" for problem in report.problems)]
    left = [row for row in report.rows if row.judge == NO_JUDGE]
    lines += [f"- {_cell(row.name)}: {_cell(row.verdict)}" for row in left]
    return "\n".join([*lines, "", f"{report.verdict}.", ""])


def _cell(text: str) -> str:
    """Return text that Markdown neither reads as HTML nor as the end of a cell."""
    return re.sub(r"([\\|<>&`*_\[\]])", r"\\\1", text).replace("\n", " ")


def to_sarif(folder: Path) -> Callable[[data.Report], str]:
    """Return what writes a report on this folder as SARIF."""
    modules = [file for file in _files(folder) if file.suffix == ".tla"]
    return lambda report: to_json(formats.to_sarif(report, folder, modules)) + "\n"
