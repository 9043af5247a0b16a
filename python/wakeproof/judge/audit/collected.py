# SPDX-License-Identifier: Apache-2.0
"""What an audit found, as the data of its page: claims, twins, counterexamples and rows."""

from __future__ import annotations

import os
import platform
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from wakeproof.judge import labels, store
from wakeproof.judge.audit import claims, run
from wakeproof.judge.audit.run import AuditReport, ClaimRow
from wakeproof.judge.check.run import ConfigResult
from wakeproof.judge.conform.run import ConformResult
from wakeproof.judge.explore import report as explored
from wakeproof.judge.labels import LabelledSite, Labels
from wakeproof.judge.orders.report import SiteReport, extent
from wakeproof.judge.page import data, of_check, of_conform, of_explore, of_linear, plots
from wakeproof.judge.page.excerpts import Excerpts
from wakeproof.judge.stress import allowed, grading
from wakeproof.judge.tlc import models, toolchain
from wakeproof.judge.twins import listed
from wakeproof.judge.twins.listed import TESTS, Listed

AGAIN = "run make audit FRESH=1 for its steps"
NO_PROOFS: Mapping[str, str] = MappingProxyType({})
_PAIRS = re.compile(r"\bpairs ((?:[a-z]\w*\.\d+(?:, | and )?)+)")
_WHOLE = ("whole", "bounded")
"""Extents of explorations that saw every execution to their bounds."""


def collected(
    found: AuditReport,
    root: Path,
    proofs: Mapping[str, str] = NO_PROOFS,
    graphs: tuple[data.StateGraph, ...] = (),
) -> data.Report:
    """Return the data of the page of an audit of the sources at `root`.

    Args:
        found: what the judges said.
        root: the folder of the sources.
        proofs: a sentence for each claim that is proved for any number of threads.
        graphs: state graphs to look at.
    """
    report = _Audit(found, root, proofs).report()
    return report.model_copy(update={"graphs": graphs})


_Seen = tuple[bool | None, str, tuple[str, str], str]
"""Whether a judge saw a twin, how, in which row, and the name of its counterexample."""
NO_ROW = ("", "")
NOT_JUDGED: _Seen = (None, "not part of this audit", NO_ROW, "")


@dataclass
class _Audit:
    found: AuditReport
    root: Path
    proofs: Mapping[str, str]
    excerpts: Excerpts = field(default_factory=Excerpts)
    counterexamples: dict[str, data.Counterexample] = field(default_factory=dict)

    def report(self) -> data.Report:
        found = self.found
        twins = {one.name: self._twin(one) for one in self._listed}
        wanted = {one.name: one for one in claims.read(self.root)}
        rows = {row.claim: row for row in found.rows}
        shown = tuple(
            self._claim(one, rows[name], twins) for name, one in wanted.items() if name in rows
        )
        for result in found.check.results:  # what is violated and should not be
            if result.wrong and result.tlc.trace:
                self._checked(result)
        for one in found.explore.counterexamples:
            if not one.token.twin:
                self._add(of_explore.converted(one, self._labels, self.excerpts))
        return data.Report(
            title="wakeproof: the audit", made=store.now(), verdict=self._verdict,
            holds=found.holds,
            problems=(*(f"{row.claim}: {problem}" for row in found.rows for problem in
                        row.problems), *found.problems),
            environment=self._environment(), not_shown=tuple(self._not_shown(shown)),
            summaries=self._summaries(), claims=shown, twins=twins,
            counterexamples=tuple(self.counterexamples.values()),
            rows=tuple(
                data.Row(judge=row.judge, name=row.name, verdict=row.verdict,
                         judged=row.date or run.NOW)
                for row in found.judged.all
            ),
            sources=self.excerpts.all, plot=plots.strengths(shown),
        )  # fmt: skip

    # What every part looks up.

    @cached_property
    def _labels(self) -> Labels:
        return labels.read(self.root)

    @cached_property
    def _sites(self) -> dict[str, LabelledSite]:
        files = labels.kernel_files(self.root)
        return {site.label: site for file in files for site in labels.sites(file)}

    @cached_property
    def _listed(self) -> list[Listed]:
        return listed.read(self.root)

    @cached_property
    def _specs(self) -> Path:
        return models.folder(self.root / "specs")

    @cached_property
    def _modules(self) -> dict[str, str]:
        return {file.stem: file.read_text("utf-8") for file in sorted(self._specs.glob("*.tla"))}

    @cached_property
    def _dates(self) -> dict[tuple[str, str], str]:
        return {(row.judge, row.name): row.date or run.NOW for row in self.found.judged.all}

    @cached_property
    def _configs(self) -> dict[str, ConfigResult]:
        return {result.entry.name: result for result in self.found.check.results}

    @cached_property
    def _orders(self) -> dict[str, SiteReport]:
        return {site.label: site for site in self.found.orders.sites}

    @cached_property
    def _compared(self) -> defaultdict[str, list[ConformResult]]:
        by_module = defaultdict(list)
        for result in self.found.conform.results:
            by_module[result.concept.module].append(result)
        return by_module

    @cached_property
    def _explored(self) -> dict[str, explored.ScenarioReport]:
        return {one.name: one for one in self.found.explore.scenarios}

    def _judged(self, judge: str, name: str) -> str:
        return self._dates.get((judge, name), run.NOW)

    def _add(self, one: data.Counterexample) -> str:
        self.counterexamples.setdefault(one.name, one)
        return one.name

    # A claim.

    def _claim(
        self, one: claims.Claim, row: ClaimRow, twins: Mapping[str, data.Twin]
    ) -> data.Claim:
        module, _, name = one.name.partition("!")
        results = [self._configs[config] for config in row.configs]
        scenarios = [
            scenario(s, self._explored.get(s.name), self._judged("stress", s.name))
            for s in self.found.stress.scenarios
            if s.upholds == one.name
        ]
        compared = [
            data.Compared(
                concept=r.concept.name, bounds=r.concept.bounds,
                verdict="equal" if r.difference is None else "differs",
                spec_states=r.spec_states, code_states=r.code_states,
                judged=self._judged("conform", f"{r.concept.name}; no twin"),
            )
            for r in self._compared[module] if not r.twin and name not in r.concept.blind
        ]  # fmt: skip
        own = sorted(
            twin.name for twin in self._listed
            if twin.violates == one.name or twin.scenario in row.scenarios
        )  # fmt: skip
        return data.Claim(
            name=one.name, kind=one.kind, sentence=one.sentence, status=row.status,
            strength=self._strength(row, scenarios, compared),
            known=tuple(self._known(row, results, scenarios, compared, [twins[t] for t in own])),
            open=tuple(self._open(row, scenarios)),
            spec=self.excerpts.of_claim(module, self._modules.get(module, ""), name),
            files=tuple(code for code in one.code if code not in self._sites),
            sites=tuple(self._site(label) for label in one.code if label in self._sites),
            configurations=tuple(map(self._configuration, results)), scenarios=tuple(scenarios),
            compared=tuple(compared), twins=tuple(own), judged=row.judged,
        )  # fmt: skip

    def _strength(
        self, row: ClaimRow, scenarios: list[data.Scenario], compared: list[data.Compared]
    ) -> data.Strength:
        if row.status == run.SPECIFICATION_ONLY:
            return "specification"
        if row.claim in self.proofs:
            return "proved"
        strength = by_code(scenarios)
        return "every" if strength == "observed" and compared else strength

    def _known(
        self,
        row: ClaimRow,
        results: list[ConfigResult],
        scenarios: list[data.Scenario],
        compared: list[data.Compared],
        twins: list[data.Twin],
    ) -> Iterable[str]:
        if row.claim in self.proofs:
            yield self.proofs[row.claim]
        if results:
            many = f"{len(results)} configurations" if len(results) > 1 else row.configs[0]
            yield (
                f"Specification: TLC checked every state of {many}: {row.states:,} distinct "
                f"states, at most {row.depth} steps deep."
            )
        equal = [one.concept for one in compared if one.verdict == "equal"]
        if equal:
            yield (
                "Code and specification: under SC the state graph of the compiled code is "
                f"branching bisimilar to the specification's ({', '.join(equal)})."
            )
        for concept in (one.concept for one in compared if one.verdict != "equal"):
            yield f"Code and specification differ: {concept}."
        whole: dict[str, list[str]] = defaultdict(list)
        for scenario in scenarios:
            under = ", ".join(one.model for one in scenario.explored if is_whole(one))
            whole[under] += [scenario.name] if under else []
        for under, names in whole.items():
            yield f"Code: every execution of {', '.join(names)} was explored under {under}."
        if row.samples:
            yield f"Real cores: {row.samples:,} samples, none of them forbidden."
        due = [
            sight for twin in twins for sight in twin.seen if sight.must and sight.saw is not None
        ]
        if due:
            saw = sum(bool(sight.saw) for sight in due)
            yield (
                f"{len(twins)} twins, copies with one defect each, show that these checks can "
                f"fail: the judges saw them {saw} of {len(due)} times that they had to."
            )

    def _open(self, row: ClaimRow, scenarios: list[data.Scenario]) -> Iterable[str]:
        if row.status == run.SPECIFICATION_ONLY:
            yield f"No judge sees the code keep this claim: {row.reason}."
        elif not row.scenarios:
            yield "No scenario runs it on real cores, or under TSO and RC11."
        for scenario in scenarios:
            parts = [one for one in scenario.explored if not is_whole(one)]
            if parts:
                names = ", ".join(one.model for one in parts)
                yield f"{scenario.name} was not explored whole under {names}: {parts[0].extent}."
        if row.claim in self.proofs:
            yield (
                "The proof is of the specification. That the code takes its steps is judged to the "
                "bounds below."
            )
        else:
            yield "It is not proved for any number of threads: the bounds below are those judged."

    def _configuration(self, result: ConfigResult) -> data.Configuration:
        model = self._models.get(result.entry.name)
        return data.Configuration(
            name=result.entry.name, about=model.about if model else "", states=result.tlc.states,
            depth=result.tlc.depth, seconds=round(result.tlc.seconds, 1),
            judged=self._judged("check", result.entry.name),
        )  # fmt: skip

    @cached_property
    def _models(self) -> dict[str, models.Model]:
        tables = models.tables(self.root / "specs")
        return {name: model for table in tables for name, model in table.models.items()}

    def _site(self, label: str) -> data.Site:
        site = self._sites[label]
        pairs = _PAIRS.search(site.comment)
        return data.Site(
            label=label, place=f"{site.file}:{site.first}", order=site.order,
            pairs=tuple(re.findall(r"[a-z]\w*\.\d+", pairs[1])) if pairs else (),
            comment=site.comment, weaker=tuple(_weaker(self._orders.get(label))),
            source=self.excerpts.of_line(site.file, site.first, last=site.last),
        )  # fmt: skip

    # A twin.

    def _twin(self, one: Listed) -> data.Twin:
        sights, names = [], []
        for sight, name in self._sights(one):
            sights.append(sight)
            names += [name] if name else []
        return data.Twin(
            name=one.name, about=one.about, violates=one.violates,
            diff=listed.difference(one, self.root), seen=tuple(sights),
            counterexamples=tuple(dict.fromkeys(names)),
        )  # fmt: skip

    def _sights(self, one: Listed) -> Iterable[tuple[data.Sight, str]]:
        """Yield what each judge said of a twin, with the name of its counterexample, if any."""
        for judge in (*one.seen_by, *one.chance):
            must = judge in one.seen_by
            saw, how, row, name = self._sight(one, judge)
            yield data.Sight(
                judge=judge, must=must, saw=saw, how=how,
                judged=self._dates.get(row, "") if saw is not None else "",
            ), name  # fmt: skip

    def _sight(self, one: Listed, judge: str) -> _Seen:
        if judge == "check":
            return self._by_tlc(one)
        if judge == "conform":
            return self._conformed(one)
        if judge in ("stress", "delayed"):
            return self._by_cores(one, judge)
        if judge == "traces":
            return self._by_traces(one)
        if judge == "linear":
            return self._by_histories(one)
        if judge == TESTS:
            return None, "a test", NO_ROW, ""
        return self._by_explorer(one, judge)

    def _by_tlc(self, one: Listed) -> _Seen:
        result = self._configs.get(one.configuration)
        if result is None:
            return NOT_JUDGED
        how = f"{result.got} in {len(result.tlc.trace)} steps"
        return result.holds, how, ("check", one.configuration), self._checked(result)

    def _checked(self, result: ConfigResult) -> str:
        """Add TLC's counterexample; return its name, "" where its steps are not known."""
        if not any(step.values for step in result.tlc.trace):
            return ""
        modules = models.modules(result.entry.home(self._specs), result.entry.module)
        return self._add(of_check.converted(result, self.excerpts, modules, self._labels))

    def _conformed(self, one: Listed) -> _Seen:
        module = one.configuration.removeprefix("MC").partition("_")[0]
        of_spec = f"spec: {one.defect}"
        for result in self.found.conform.results:
            is_spec = result.concept.module == module and result.twin == of_spec
            if is_spec or result.twin == f"code: {one.code}":
                how = f"{result.differences:,} states of spec and code differ"
                row = ("conform", f"{result.concept.name}; {result.twin}")
                is_known = result.difference is not None and result.difference.spec_state
                name = self._add(of_conform.converted(result)) if is_known else ""
                return result.difference is not None, how, row, name
        return NOT_JUDGED

    def _by_explorer(self, one: Listed, model: str) -> _Seen:
        for twin in self.found.explore.twins:
            if twin.name == one.code and model in twin.killed:
                saw = twin.killed[model]
                how = f"shows {twin.shows}" if saw else f"does not show {twin.shows}"
                name = ""
                if twin.first_killer and twin.first_killer.value == model:
                    name = self._execution(twin.name, model)
                return saw, how, ("explore", twin.name), name
        return NOT_JUDGED

    def _execution(self, twin: str, model: str) -> str:
        """Add the execution that shows a twin: of now, or as it was kept when that was judged."""
        row = next((row for row in self.found.judged.all
                    if (row.judge, row.name) == ("explore", twin)), None)  # fmt: skip
        inputs = {
            "execution": f"{row.inputs if row else ''} {model}",
            **store.code("page/data.py", "page/of_explore.py"),
        }
        for kept in self.found.explore.counterexamples:
            if (kept.token.twin, kept.token.model) == (twin, model):
                one = of_explore.converted(kept, self._labels, self.excerpts)
                store.keep(inputs, self.excerpts.with_sources(one).model_dump(mode="json"))
                return self._add(one)
        before = store.look(inputs)
        if before is None:
            return ""
        known = data.Counterexample.model_validate(before.value)
        self.excerpts.all |= known.sources
        return self._add(known.model_copy(update={"sources": {}}))

    def _by_cores(self, one: Listed, judge: str) -> _Seen:
        for twin in self.found.stress.twins:
            if twin.name == one.code and judge in twin.samples:
                shown, of = twin.shown.get(judge, 0), twin.samples[judge]
                how = f"{twin.shows} in {shown:,} of {of:,} samples"
                return bool(shown), how, ("stress", twin.name), ""
        return NOT_JUDGED

    def _by_traces(self, one: Listed) -> _Seen:
        for result in self.found.traces.results:
            if result.twin == one.code:
                how = f"{len(result.rejected)} of {result.traces} recorded runs rejected"
                row = next((key for key in self._dates
                            if key[0] == "traces" and one.code in key[1]), NO_ROW)  # fmt: skip
                shown = data.Counterexample(
                    name=f"traces-{one.code}", judge="traces", notes=result.stuck,
                    title=f"{one.name}: a recorded run that the specification does not allow",
                )  # fmt: skip
                return bool(result.rejected), how, row, self._add(shown) if result.stuck else ""
        return NOT_JUDGED

    def _by_histories(self, one: Listed) -> _Seen:
        for result in self.found.linearized.results:
            if result.case.twin == one.code:
                saw = bool(result.counterexample)
                how = "a history that no order of its operations explains"
                name = self._add(of_linear.converted(result)) if saw else ""
                return saw, how, ("linear", result.case.title), name
        return NOT_JUDGED

    # The overview.

    @property
    def _verdict(self) -> str:
        found = self.found
        if found.holds:
            alone = found.count(run.SPECIFICATION_ONLY)
            return (
                f"{len(found.rows)} claims hold, {alone} of them of the specification only"
                if alone else f"{len(found.rows)} claims hold"
            )  # fmt: skip
        bad = sum(row.status not in run.GOOD for row in found.rows)
        return f"{bad} of {len(found.rows)} claims do not hold, or were not judged"

    def _environment(self) -> tuple[tuple[str, str], ...]:
        stress = self.found.stress
        return (
            ("Sources judged", self.found.judged.summary),
            ("Machine", f"{stress.machine}, {processor()}, {stress.cpus_allowed} CPUs allowed"),
            ("System", f"{platform.system()} {platform.release()}, {platform.libc_ver()[0]} "
                       f"{platform.libc_ver()[1]}"),
            ("C compiler", stress.compiler),
            ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
            ("TLC", f"the jar with SHA-256 {toolchain.JAR_SHA256[:16]}..., Java "
                    f"{toolchain.find().java_version}"),
            ("Stress", f"mode {stress.mode}, seed {stress.seed}, places "
                       f"{', '.join(stress.places)}"),
        )  # fmt: skip

    def _summaries(self) -> tuple[tuple[str, str], ...]:
        found = self.found
        good, total = found.orders.score
        return (
            ("Memory orders", f"{good} of {total} labelled sites that have a weaker order need "
                              f"theirs, or say why they keep it. {found.orders.rests}."),
            ("Recorded traces", found.traces.text),
            ("Linearizability", f"{sum(r.holds for r in found.linearized.results)} of "
                                f"{len(found.linearized.results)} checks came out as they must."),
            ("Allowed outcomes", "; ".join(allowed.summary(found.allowed)[:1]) + "."),
            *((f"Judged by {judge}", f"{now:,} rows now, {before:,} before"
               + (f", since {since}" if since else ""))
              for judge, (now, before, since) in found.judged.by_judge.items()),
        )  # fmt: skip

    def _not_shown(self, shown: Iterable[data.Claim]) -> Iterable[str]:
        every = list(shown)
        counts = Counter(claim.strength for claim in every)
        proved = counts["proved"]
        yield (
            f"{len(every) - proved} of {len(every)} claims are not proved for any number of "
            "threads. TLC and the explorer judge the bounds that each claim's page lists."
        )
        alone: tuple[tuple[data.Strength, str], ...] = (
            ("specification", "claims hold of the specification, and no judge sees the code keep "
                              "them; each says why"),
            ("sampled", "claims rest on scenarios that were sampled, or cut off by time or memory"),
            ("observed", "claims were observed on real cores, and no model was explored"),
        )  # fmt: skip
        for strength, sentence in alone:
            if counts[strength]:
                yield f"{counts[strength]} {sentence}."
        stress = self.found.stress
        yield (
            f"Real cores are those of one machine ({stress.machine}). What no sample showed may "
            "still happen; RC11 is explored for that reason."
        )
        doubts = [site.label for site in self.found.orders.sites if site.doubt]
        if doubts:
            yield (
                f"{len(doubts)} memory orders survive one step weaker in scenarios that were not "
                f"explored whole: {', '.join(doubts)}."
            )
        yield (
            "Traces are kept on the machine that judged. A twin that was judged elsewhere, and is "
            f"taken from verdicts.lock, has no steps here: {AGAIN}."
        )


def scenario(
    of: grading.ScenarioReport, report: explored.ScenarioReport | None, judged: str
) -> data.Scenario:
    """Return what cores showed of a scenario, and what the explorer says of it."""
    outcomes = [
        data.Outcome(
            outcome=one.outcome, samples=one.samples, grade=one.grade.lower(), reason=one.reason,
            allowed_by=standing.allowed_by if standing else "",
            meaning=standing.means if standing else "",
        )
        for one in of.rows for standing in [of.allowed.of(one.outcome)]
    ]  # fmt: skip
    graded = {one.outcome for one in outcomes}
    outcomes += [
        data.Outcome(outcome=one.outcome, samples=0, grade="", reason="",
                     allowed_by=one.allowed_by, meaning=one.means)
        for one in of.allowed.outcomes if one.outcome not in graded
    ]  # fmt: skip
    return data.Scenario(
        name=of.name, claim=of.claim, verdict=of.status, samples=of.samples,
        explored=tuple(map(_exploration, report.judged if report else ())),
        outcomes=tuple(outcomes), plot=plots.outcomes(of.name, outcomes), judged=judged,
    )  # fmt: skip


def by_code(scenarios: Sequence[data.Scenario]) -> data.Strength:
    """Return how a claim is known that scenarios have judged."""
    ran = [run for one in scenarios for run in one.explored]
    if not ran:
        return "observed"
    return "every" if all(map(is_whole, ran)) else "sampled"


def _exploration(judged: explored.Judged) -> data.Explored:
    result = judged.result
    how = judged.coverage
    return data.Explored(
        model=result.model.label, engine=result.engine, verdict=judged.verdict, ends=result.ends,
        states=result.states, extent="whole" if how == "exhaustive" else how,
    )  # fmt: skip


def is_whole(one: data.Explored) -> bool:
    """Return whether the exploration saw every execution, up to bounds that it names."""
    return one.extent == "whole" or extent(one.extent) in _WHOLE


def _weaker(site: SiteReport | None) -> Iterable[str]:
    """Yield what the audit of the orders found, a sentence for each weaker order."""
    if site is None:
        yield "Not part of this audit."
        return
    if not site.mutants:
        yield "Relaxed: nothing is weaker."
    for mutant in site.mutants:
        kill = mutant.kill
        if kill:
            reason = f", {kill.reason}" if kill.reason else ""
            yield (
                f"With {mutant.weaker} instead, {kill.scenario} shows {kill.outcome} under "
                f"{kill.model.label}{reason}. As it is, {kill.scenario} holds (explored: "
                f"{extent(kill.baseline)})."
            )
        else:
            runs = f"{mutant.judged_by} of {len(mutant.runs)} runs explored a scenario whole"
            kept = f" Kept: {site.kept}" if site.kept else ""
            yield f"With {mutant.weaker} instead, no scenario fails ({runs}).{kept}"


def processor() -> str:
    """Return the processor's name, or ""."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    named = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return named[1] if named else f"{os.cpu_count()} CPUs"
