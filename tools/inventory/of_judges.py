# SPDX-License-Identifier: Apache-2.0
"""Readers of everything that judges use: claims, configurations, twins, scenarios, labels.

Each reader returns the items of one section, by the APIs that the judges themselves use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tools.inventory.sections import Facts
from tools.inventory.tree import Tree

from wakeproof.judge.audit import run as audit
from wakeproof.judge.conform import spec_twins as conform_twins
from wakeproof.judge.conform.concept import Concept
from wakeproof.judge.conform.maps import CONCEPTS
from wakeproof.judge.conform.undetectable_twins import EQUAL, TOO_LARGE, TOO_LARGE_TWINS
from wakeproof.judge.explore.options import MODELS
from wakeproof.judge.linear.cases import CASES, Case
from wakeproof.judge.paths.run import built
from wakeproof.judge.tlc import manifest
from wakeproof.judge.tlc.manifest import Entry
from wakeproof.judge.traces.maps import TRACED

Declared = Iterator[tuple[str, Facts]]


def concepts(tree: Tree) -> Declared:
    """Yield the kernel's concepts: a header and its source are one item."""
    for concept in tree.concepts:
        yield concept, {}


def specs(tree: Tree) -> Declared:
    """Yield each module, with the number of claims in its header."""
    promised = Counter(claim.partition("!")[0] for claim in audit.promised(tree.specs))
    for module in sorted(file.stem for file in tree.specs.rglob("*.tla")):
        if not module.startswith("MC"):
            yield module, {"claims": promised[module]}


def claims(tree: Tree) -> Declared:
    """Yield each promised claim: what judges it, how many configurations, scenarios and twins."""
    scenarios, twins = tree.declared
    alone = audit.tlc_alone(tree.specs)
    sites = Counter(site.upholds for site in tree.links.sites.values())
    for claim in audit.promised(tree.specs):
        module, _, name = claim.partition("!")
        passing = sum(claim in entry.claims for entry in tree.entries)
        own = {scenario.name for scenario in scenarios if scenario.upholds == claim}
        compared = [c for c in CONCEPTS if c.module == module and name not in c.blind]
        seen = Counter(judge for twin in twins if twin.of in own for judge in twin.seen_by)
        seen["check"] = sum(entry.claim == claim for entry in tree.entries)
        judges = ["check"] * bool(passing) + ["conform"] * bool(compared)
        judges += [*(model.value for model in MODELS), "stress", "delayed"] * bool(own)
        yield (
            claim,
            {
                "judges": judges,
                "configurations": passing,
                "conform": len(compared),
                "scenarios": len(own),
                "sites": sites[claim],
                "twins": dict(sorted(seen.items())),
                "tlc_alone": claim in alone,
            },
        )


def configurations(tree: Tree) -> Declared:
    """Yield each configuration of TLC: its settings, its checks, and the expected result."""
    for entry in tree.entries:
        spec = entry.module.removeprefix("MC")
        settings = cfg(entry.file(tree.models))
        constants = constants_of(settings.pop("CONSTANTS", []))
        lists = manifest.listed(entry.file(tree.models))
        yield (
            entry.name,
            {
                "spec": spec,
                "twin": twin_of(entry),
                "constants": constants,
                "settings": {name: " ".join(words) for name, words in settings.items()},
                "invariants": sorted(f"{spec}!{name}" for name in lists["INVARIANTS"]),
                "properties": sorted(f"{spec}!{name}" for name in lists["PROPERTIES"]),
                "set": entry.set,
                "expect": entry.expect,
                "claims": sorted(entry.claims),
                "violates": entry.claim or None,
                "workers": entry.workers,
                "budget_s": entry.budget_s,
                "states": entry.states,
                "depth": entry.depth,
                "trace": entry.trace,
            },
        )


def spec_twins(tree: Tree) -> Declared:
    """Yield each twin of a spec: the claim that it violates, and its result by `conform`."""
    _, twins = tree.declared
    in_code = {twin.name for twin in twins if "check" in twin.seen_by}
    for entry in tree.entries:
        if entry.expect == "violates":
            module, twin = entry.module.removeprefix("MC"), twin_of(entry)
            name = audit.twin_of(entry)
            yield (
                name,
                {
                    "spec": module,
                    "twin": twin,
                    "violates": entry.claim,
                    "trace": entry.trace,
                    "in_code": name in in_code,
                    "conform": compared(module, twin, tree.models),
                },
            )


def compared(module: str, twin: str | None, specs: Path) -> dict[str, str]:
    """Return the result of each comparison of the module's twin: differs, equal, too large."""
    if twin not in conform_twins.twins_of(module, specs):
        return {}
    return {concept.name: _verdict(concept.name, twin or "")
            for concept in CONCEPTS if concept.module == module}  # fmt: skip


def _verdict(concept: str, twin: str) -> str:
    if concept in TOO_LARGE or twin in TOO_LARGE_TWINS.get(concept, ()):
        return "too large"
    return "equal" if twin in EQUAL.get(concept, {}) else "differs"


def code_twins(tree: Tree) -> Declared:
    """Yield each twin of the code: its place, its scenario, and the judges that must see it."""
    _, twins = tree.declared
    declared = {twin.name: twin for twin in twins}
    by_parameter: dict[str, list[str]] = {}
    for test in tree.tests:
        for word in set(re.findall(r"\w+", test.partition("[")[2])):
            by_parameter.setdefault(word, []).append(test)
    for name in sorted(declared.keys() | tree.twins.keys()):
        twin = declared.get(name)
        facts: Facts = {
            "concepts": sorted(tree.twins.get(name, ())),
            "conform": [c.name for c in CONCEPTS if name in c.code_twins] or None,
            "traces": [t.name for t in TRACED if name in t.twins] or None,
            "linear": [_checked(case) for case in CASES if case.twin == name] or None,
        }
        if twin:
            facts |= {"scenario": twin.of, "shows": twin.shows, "seen_by": sorted(twin.seen_by),
                      "chance": sorted(twin.chance)}  # fmt: skip
        else:
            facts["tests"] = sorted(by_parameter.get(name, ())) or _naming(tree, name) or None
        yield name, facts


def _naming(tree: Tree, twin: str) -> list[str]:
    """Return the test modules that name a twin, as a whole or in parts, but not as a parameter."""
    begins = [twin[:at] for at, letter in enumerate(twin) if letter == "_"]
    parts = "|".join(f"{begin}_{{" for begin in begins)  # "-DWP_TWIN_fiber_{}=1"
    named = re.compile(rf"(?:\b|WP_TWIN_){twin}\b|WP_TWIN_(?:{parts})")
    return [stem for stem, text in tree.test_texts.items()
            if ("WP_TWIN_" in text or twin in text) and named.search(text)]  # fmt: skip


def scenarios(tree: Tree) -> Declared:
    """Yield each scenario: its graded outcomes, bounds and twins."""
    every, twins = tree.declared
    for scenario in every:
        yield (
            scenario.name,
            {
                "upholds": scenario.upholds,
                "actors": scenario.actors,
                "results": scenario.results,
                "blocking": scenario.blocking,
                "min_samples": scenario.min_samples,
                "preemptions": scenario.preemptions,
                "whole": sorted(scenario.whole),
                "failing_heavy": scenario.failing_heavy,
                "outcomes": [
                    [outcome.pattern, "LOST_WORK" if outcome.lost_work else outcome.grade]
                    for outcome in scenario.outcomes
                ],
                "twins": sorted(twin.name for twin in twins if twin.of == scenario.name),
            },
        )


def conform(_tree: Tree) -> Declared:
    """Yield each comparison of code and spec: its bounds and its twins."""
    for concept in CONCEPTS:
        yield concept.name, {
            "scenario": concept.test,
            "spec": concept.module,
            "threads": list(concept.threads),
            "constants": dict(concept.constants),
            "actions": _actions(concept),
            "bounded": dict(concept.bounded),
            "flags": list(concept.flags),
            "joins": [list(join) for join in concept.joins],
            "spec_twin": [concept.spec_twin] if concept.spec_twin else [],
            "code_twins": sorted(concept.code_twins),
            "blind": sorted(concept.blind),
            "is_quick": concept.is_quick,
            "is_long": concept.is_long,
        }  # fmt: skip


def _actions(concept: Concept) -> dict[str, list[str]]:
    plain: dict[str, list[str]] = {name: [] for name in (*concept.plain, *concept.added)}
    return plain | {name: sorted(", ".join(one) for one in tuples)
                    for name, tuples in concept.arguments.items()}  # fmt: skip


def traces(_tree: Tree) -> Declared:
    """Yield the concepts that `conform --traces` records."""
    for table in TRACED:
        yield table.name, {"twins": sorted(table.twins), "hidden": len(table.hidden),
                           "limit": table.limit}  # fmt: skip


def paths(_tree: Tree) -> Declared:
    """Yield the concepts that `conform --paths` follows."""
    for concept in CONCEPTS:
        if concept.has_paths:
            yield concept.name, {"twins": sorted(built(concept)), "is_quick": concept.is_quick,
                                 "spec_twin": bool(concept.spec_twin)}  # fmt: skip


def linear(_tree: Tree) -> Declared:
    """Yield each check of `linear`."""
    for case in CASES:
        yield (
            _checked(case),
            {
                "object": case.name,
                "must_fail": case.must_fail,
                "is_quick": case.is_quick,
                "shows": sorted(case.shows),
            },
        )


def _checked(case: Case) -> str:
    twin = f"{case.twin}, a twin of " if case.twin else ""
    return f"{twin}{case.test} under {case.model} against {case.against}"


def labels(tree: Tree) -> Declared:
    """Yield each labelled atomic access: order, partners, claim."""
    for label, site in tree.links.sites.items():
        yield (
            label,
            {
                "concept": tree.concept(tree.kernel / site.file),
                "order": site.order,
                "pairs": sorted(site.pairs),
                "upholds": site.upholds,
                "kept": bool(site.kept),
            },
        )


_SECTION = {
    "INVARIANT": "INVARIANTS", "PROPERTY": "PROPERTIES", "CONSTANT": "CONSTANTS",
    "CONSTRAINT": "CONSTRAINTS", "ACTION_CONSTRAINT": "ACTION_CONSTRAINTS",
}  # fmt: skip
_SECTIONS = {*_SECTION.values(), "SPECIFICATION", "INIT", "NEXT", "SYMMETRY", "VIEW",
             "CHECK_DEADLOCK"}  # fmt: skip


def cfg(config: Path) -> dict[str, list[str]]:
    """Return the words of each section of a cfg file, except for those with its checks."""
    text = re.sub(r"\\\*.*|\(\*.*?\*\)", "", config.read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for word in text.split():
        section = _SECTION.get(word, word)
        if section in _SECTIONS:
            current = found.setdefault(section, [])
        else:
            current.append(word)
    return {name: words for name, words in found.items()
            if name not in ("INVARIANTS", "PROPERTIES")}  # fmt: skip


def constants_of(words: list[str]) -> dict[str, str]:
    """Return the constants that a cfg sets: name -> value, or ``<- operator``."""
    starts = [at - 1 for at, word in enumerate(words) if word in ("=", "<-")]
    found = {}
    for at, end in zip(starts, [*starts[1:], len(words)], strict=True):
        value = " ".join(words[at + 2 : end])
        found[words[at]] = value if words[at + 1] == "=" else f"<- {value}"
    return found


def twin_of(entry: Entry) -> str | None:
    """Return the defect of a configuration that must violate a claim; None: it has none."""
    return entry.name.partition("_")[2] if entry.expect == "violates" else None
