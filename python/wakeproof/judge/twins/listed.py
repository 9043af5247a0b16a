# SPDX-License-Identifier: Apache-2.0
"""All twins by concept: the place of each defect, and the judges that must see it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wakeproof.errors import UsageError
from wakeproof.judge import source_texts
from wakeproof.judge.conform.maps import CONCEPTS
from wakeproof.judge.linear.cases import CASES
from wakeproof.judge.tlc import models
from wakeproof.judge.tlc.models import Model
from wakeproof.judge.traces.maps import TRACED
from wakeproof.judge.twins import edits as twins
from wakeproof.judge.twins.edits import Twin

JUDGES: Final[tuple[str, ...]] = (
    "check", "conform", "sc", "tso", "rc11", "stress", "delayed", "traces", "linear",
)  # fmt: skip
"""Judges in the order of the audit's columns; sc, tso and rc11 are models of `explore`."""
TESTS: Final[str] = "tests"
"""The judge of a twin of C that no scenario declares."""

_SETS: Final = {
    "cores": ("stress", "delayed"),
    "explored": ("sc", "tso", "rc11"),
    "all": twins.JUDGES,
}
"""What stress.h calls several judges at once."""

_DECLARED: Final = re.compile(r"\bSTRESS_TWIN\(\s*(\w+),(.*?)\);", re.DOTALL)
_FIELD: Final = r"\.{}\s*=\s*((?:\"(?:[^\"\\]|\\.)*\"\s*|\w+\s*\|?\s*)+)"


@dataclass(frozen=True)
class Listed:
    """One defect of a concept, in its spec, in its code, or in both."""

    concept: str  # "guard"
    defect: str  # "no_fence"
    about: str  # the defect in a sentence
    violates: str = ""  # of a spec: the claim, "Guard!NoLostWakeup"
    configuration: str = ""  # of a spec: "MCGuard_no_fence"
    code: str = ""  # the name that a build gives it: "guard_no_fence"
    scenario: str = ""  # of code: what declares it
    seen_by: tuple[str, ...] = ()
    chance: tuple[str, ...] = ()  # judges that may or may not see it
    edits: Twin | None = None  # None: the defect is no edit

    @property
    def name(self) -> str:
        """As people type it: ``guard.no_fence``."""
        return f"{self.concept}.{self.defect}"


@dataclass(frozen=True)
class _Declaration:
    """The scenario and judges of a twin of code, from its table or its STRESS_TWIN."""

    of: str
    defect: str
    seen_by: frozenset[str]
    chance: frozenset[str]


def read(root: Path) -> list[Listed]:
    """Return all twins of the sources in `root`, by name.

    Raises:
        UsageError: a table or a declaration is malformed.
    """
    edits = {(twin.table.stem, twin.defect): twin for twin in twins.read(root)}
    declared = _declarations(root / "stress" / "scenarios")
    declared |= {twin.name: _Declaration(twin.scenario, twin.about, twin.seen_by, twin.chance)
                 for twin in edits.values() if twin.scenario}  # fmt: skip
    found: dict[str, Listed] = {}
    of_code = {twin.name for twin in edits.values() if twin.code} | _branches(root)
    for concept, model in _broken(root / "specs"):
        twin = edits.get((concept, model.defect))
        code = f"{concept}_{model.defect}"  # the same defect in C
        code = code if code in of_code else twin.name if twin and twin.code else ""
        claim = model.entry()["claim"]
        about = twin.about if twin else ""
        one = Listed(concept, model.defect, about, claim, model.name, code, edits=twin)
        found[one.name] = _with_judges(one, declared)
    named = {one.code for one in found.values()}
    concepts = {concept for concept, _ in edits} | {file.stem for file in _files(root / "kernel")}
    for code in sorted(of_code - named):
        twin = next((twin for twin in edits.values() if twin.code and twin.name == code), None)
        concept, defect = (twin.table.stem, twin.defect) if twin else _split(code, concepts)
        about = declared[code].defect if code in declared else twin.about if twin else ""
        one = Listed(concept, defect, about, code=code, edits=twin)
        found[one.name] = _with_judges(one, declared)
    return [found[name] for name in sorted(found)]


def find(root: Path, name: str) -> Listed:
    """Return the twin of that name.

    Raises:
        UsageError: there is none; the message has names that are close.
    """
    known = {one.name: one for one in read(root)}
    for one in known.values():
        if name in (one.name, one.code, one.configuration):
            return one
    near = [other for other in known if name in other]
    near += difflib.get_close_matches(name, known, 5)
    shown = ", ".join(list(dict.fromkeys(near))[:5])
    hint = f"; near: {shown}" if near else ": `wakeproof twins` lists all"
    raise UsageError(f"no twin is {name}{hint}")


def difference(one: Listed, root: Path) -> str:
    """Return the twin's edits as a unified diff; "" if it has none.

    Raises:
        UsageError: an edit does not apply.
    """
    if one.edits is None:
        return ""
    parts: list[str] = []
    for path, (old, new) in sorted(twins.texts(one.edits, root).items()):
        name = path.relative_to(root)
        lines = old.splitlines(True), new.splitlines(True)
        parts += difflib.unified_diff(*lines, f"a/{name}", f"b/{name}")
    return "".join(parts)


def own_settings(one: Listed, root: Path) -> str:
    """Return the settings of a spec's twin that replace the defaults; "": none."""
    for _, model in _broken(root / "specs"):
        if model.name == one.configuration:
            specification = model.row.get("specification", "")
            rows = [f"SPECIFICATION {specification}"] if specification else []
            constants = model.row.get("constants", {})
            return "\n".join([*rows, *(f"{name} = {value}" for name, value in constants.items())])
    return ""


def branches(one: Listed, root: Path) -> list[Path]:
    """Return the files in which the defect is a branch beside the product's code."""
    files = [*_files(root / "kernel"), *_files(root / "stress")]
    return [file for file in files if one.code and source_texts.uses_twin(_text(file), one.code)]


def _with_judges(one: Listed, declared: dict[str, _Declaration]) -> Listed:
    own = declared.get(one.code)
    seen = {"check"} if one.configuration else set()
    seen |= own.seen_by - {"check"} if own else set()
    module = one.configuration.removeprefix("MC").partition("_")[0]
    if any((c.module, c.spec_twin) == (module, one.defect) or one.code in c.code_twins
           for c in CONCEPTS):  # fmt: skip
        seen.add("conform")
    if any(one.code in table.twins for table in TRACED):
        seen.add("traces")
    if one.code and any(case.twin == one.code for case in CASES):
        seen.add("linear")
    judges = tuple(judge for judge in JUDGES if judge in seen)
    judges += (TESTS,) if one.code and own is None else ()
    chance = tuple(judge for judge in JUDGES if own and judge in own.chance)
    fields = {**vars(one), "seen_by": judges, "chance": chance, "scenario": own.of if own else ""}
    return Listed(**fields)


def _broken(specs: Path) -> Iterator[tuple[str, Model]]:
    for table in models.tables(specs):
        concept = table.file.name.removesuffix(models.SUFFIX)
        yield from ((concept, model) for model in table.models.values() if model.defect)


def _declarations(folder: Path) -> dict[str, _Declaration]:
    found = {}
    for file in _files(folder):
        for name, fields in _DECLARED.findall(_text(file)):
            texts = {key: match[1] if (match := re.search(_FIELD.format(key), fields)) else ""
                     for key in ("of", "defect", "seen_by", "chance")}  # fmt: skip
            found[name] = _Declaration(
                _string(texts["of"]), _string(texts["defect"]),
                _judges(file, name, texts["seen_by"]), _judges(file, name, texts["chance"]),
            )  # fmt: skip
    return found


def _judges(file: Path, twin: str, flags: str) -> frozenset[str]:
    names = [flag.strip().removeprefix("SEEN_").lower() for flag in flags.split("|")]
    found = frozenset(judge for name in names if name for judge in _SETS.get(name, (name,)))
    if unknown := found - set(JUDGES):
        raise UsageError(f"{file}: twin {twin}: {', '.join(unknown)} is no judge")
    return found


def _string(text: str) -> str:
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def _branches(root: Path) -> set[str]:
    """Return the twins that are branches of the code itself."""
    texts = (_text(file) for file in _files(root / "kernel") + _files(root / "stress/scenarios"))
    return {name for text in texts for name in source_texts.twins_in(text)}


def _split(code: str, concepts: Iterable[str]) -> tuple[str, str]:
    """Return the concept and the defect of a name in C, by the longest concept that begins it."""
    fitting = [concept for concept in concepts if code.startswith(f"{concept}_")]
    concept = max(fitting, key=len) if fitting else code.partition("_")[0]
    return concept, code.removeprefix(concept).removeprefix("_")


def _files(folder: Path) -> list[Path]:
    """Return the C files below a folder, without those that define the macros of twins."""
    files = sorted(folder.rglob("*.[chS]"))
    return [file for file in files if file.name not in ("twin.h", "stress.h")]


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
