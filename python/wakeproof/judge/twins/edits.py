# SPDX-License-Identifier: Apache-2.0
"""Twins as data: edits of the product's text, which make one named defect when a judge takes it.

Source: ``stress/twins/<layer>/<concept>.toml``.  A section is one defect, by its edits of C, of
TLA+, or of both::

    [no_fence]
    defect = "neither side fences"
    scenario = "guard"
    shows = "0,0"
    seen_by = ["check", "stress", "tso", "rc11"]
    chance = ["delayed"]
    code = [
      { file = "wakeup/guard.h", in = "wp_guard_signal", find = "wp_fence();", replace = "" },
    ]
    spec = [
      { file = "wakeup/Guard.tla", in = "Order", find = '"fence", ', replace = "" },
    ]

`find` occurs once in the text that `in` names: a C function; an operator of TLA+, from its head to
the next definition at the margin, box comment or separator; or the paragraph VARIABLES or
CONSTANTS.  If there is no C function (assembly, a constant, a declaration), `in` is left out, and
`find` occurs once in the file.  The name of a file is its path below ``kernel/`` or ``specs/``; a
file of ``examples/`` has that folder in its name.  `code` is the twin ``guard_no_fence`` of a
build.  `spec` has the changes of the configuration ``MCGuard_no_fence``, which is in
``specs/<layer>/<concept>.models.toml``.

`scenario` is the STRESS_TEST that must show the outcome `shows`.  Each judge in `seen_by` must see
the twin, and a judge in `chance` may.  A test must see a twin of code without a scenario, and names
the twin.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.source_texts import digest

_TEXTS: Final = ("defect", "scenario", "shows")
_SETS: Final = ("seen_by", "chance")
_SECTION: Final = (*_TEXTS, *_SETS, "code", "spec")
JUDGES: Final = ("check", "stress", "delayed", "sc", "tso", "rc11")
"""Those that a scenario's twin may name; sc, tso and rc11 are models of `explore`."""
_ROW: Final = ("file", "in", "find", "replace")
_EXAMPLES: Final = "examples"
_LINE: Final = re.compile(r"#line (\d+) ")
EDITED: Final = 1_000_001
"""The first number of a line that an edit adds: no file of the product is as long."""


@dataclass(frozen=True)
class Edit:
    """One change: `find`, which occurs once in `within` of `file`, becomes `replace`."""

    file: str  # from kernel/ or specs/ on, or examples/x.c
    within: str  # a C function, or a definition of TLA+; empty: the whole file
    find: str
    replace: str


@dataclass(frozen=True)
class Twin:
    """One defect, as its table describes it."""

    defect: str  # "no_fence"
    table: Path
    code: tuple[Edit, ...] = ()
    spec: tuple[Edit, ...] = ()
    about: str = ""  # the defect in a sentence
    scenario: str = ""  # that must show it; "": a test does
    shows: str = ""  # the pattern of the outcome that betrays it
    seen_by: frozenset[str] = frozenset()
    chance: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The name by which a build includes the twin's code."""
        return f"{self.table.stem}_{self.defect}"


Place = tuple[int, int, str]
"""The text from the first offset to the second becomes the third."""


def read(root: Path) -> list[Twin]:
    """Return the twins in the tables below `root`.

    Raises:
        UsageError: a table is malformed.
    """
    found = []
    for table in sorted((root / "stress" / "twins").rglob("*.toml")):
        try:
            sections = tomllib.loads(table.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{table}: not TOML: {error}") from None
        found += [_twin(table, defect, section) for defect, section in sections.items()]
    return found


def of_code(root: Path) -> dict[str, Twin]:
    """Return the twins that change C, by their name in a build.

    Raises:
        UsageError: a table is malformed, or two twins have one name.
    """
    found: dict[str, Twin] = {}
    for twin in read(root):
        if twin.code and found.setdefault(twin.name, twin) is not twin:
            raise UsageError(f"twin {twin.name} is in {found[twin.name].table} and in {twin.table}")
    return found


def _twin(table: Path, defect: str, section: Any) -> Twin:
    where = f"{table}: twin {defect}"
    if not isinstance(section, dict):
        raise UsageError(f"{where}: a section is needed: [{defect}]")
    if unknown := sorted(section.keys() - set(_SECTION)):
        raise UsageError(f"{where}: unknown key {unknown[0]}; allowed: {', '.join(_SECTION)}")
    edits = {kind: tuple(_edit(where, row) for row in section.get(kind, ()))
             for kind in ("code", "spec")}  # fmt: skip
    for key in _TEXTS:
        if not isinstance(text := section.get(key, ""), str):
            raise UsageError(f"{where}: {key} is {text!r}: a text is needed")
    twin = Twin(
        defect, table, **edits, about=section.get("defect", ""),
        scenario=section.get("scenario", ""), shows=section.get("shows", ""),
        seen_by=_judges(where, section, "seen_by"), chance=_judges(where, section, "chance"),
    )  # fmt: skip
    if bool(twin.scenario) != bool(twin.shows):
        raise UsageError(f"{where}: scenario and shows go together: which outcome of what shows it")
    if (twin.scenario or twin.seen_by or twin.chance) and not twin.code:
        raise UsageError(f"{where}: a scenario shows an edit of code, and there is none")
    return twin


def _judges(where: str, section: dict[str, Any], key: str) -> frozenset[str]:
    judges = section.get(key, [])
    if not isinstance(judges, list) or any(judge not in JUDGES for judge in judges):
        raise UsageError(f"{where}: {key} is {judges!r}; allowed: a list of {', '.join(JUDGES)}")
    return frozenset(judges)


def _edit(where: str, row: Any) -> Edit:
    if not isinstance(row, dict) or {"in", *row} != set(_ROW):
        raise UsageError(f"{where}: an edit has {', '.join(_ROW)}, and nothing else")
    edit = Edit(*(str(row.get(key, "")) for key in _ROW))
    if edit.find == edit.replace:
        raise UsageError(f"{where}: {edit.file}: the edit of {edit.find!r} changes nothing")
    return edit


def edited(twin: Twin, root: Path) -> dict[Path, str]:
    """Return the texts of the kernel's files that the twin changes, by the product's path.

    ``#line`` keeps the product's names and line numbers.

    Raises:
        UsageError: an edit does not apply; the message names the twin and the file.
    """
    found = _places(twin, twin.code, root / "kernel")
    return {path: _changed(path, text, places) for path, (text, places) in found.items()}


def edited_specs(twin: Twin, specs: Path) -> dict[Path, str]:
    """Return the texts of the modules below `specs` that the twin changes, by their path there.

    Raises:
        UsageError: an edit does not apply; the message names the twin and the file.
    """
    found = _places(twin, twin.spec, specs)
    return {path: _replaced(text, places) for path, (text, places) in found.items()}


def texts(twin: Twin, root: Path) -> dict[Path, tuple[str, str]]:
    """Return for each file that the twin changes the product's text and the twin's text.

    Raises:
        UsageError: an edit does not apply; the message names the twin and the file.
    """
    found = _places(twin, twin.code, root / "kernel") | _places(twin, twin.spec, root / "specs")
    return {path: (text, _replaced(text, places)) for path, (text, places) in found.items()}


def _replaced(text: str, places: list[Place]) -> str:
    for begin, end, replacement in reversed(places):
        text = text[:begin] + replacement + text[end:]
    return text


def _places(
    twin: Twin, edits: tuple[Edit, ...], folder: Path
) -> dict[Path, tuple[str, list[Place]]]:
    """Return the text of each edited file, and the places of the edits, in order."""
    found: dict[Path, tuple[str, list[Place]]] = {}
    for edit in edits:
        path = (folder.parent if edit.file.startswith(f"{_EXAMPLES}/") else folder) / edit.file
        wrong = f"{twin.table}: twin {twin.name}: {edit.file}"
        if not path.is_file():
            raise UsageError(f"{wrong}: no such file in {folder.name}/")
        if path not in found:
            found[path] = path.read_text(encoding="utf-8"), []
        text, places = found[path]
        find_span = _definition if path.suffix == ".tla" else _body
        begin, end = find_span(text, edit.within, wrong)
        if (times := text.count(edit.find, begin, end)) != 1:
            where = edit.within or "the file"
            raise UsageError(f"{wrong}: {edit.find!r} is {times} times in {where}, not once")
        at = text.index(edit.find, begin)
        places.append((at, at + len(edit.find), edit.replace))
        places.sort()
        if any(after[0] < before[1] for before, after in pairwise(places)):
            raise UsageError(f"{wrong}: {edit.find!r} overlaps another edit in {edit.within}")
    return found


def texts_of(name: str | None, root: Path) -> dict[Path, str]:
    """Return the texts that the twin of a build changes, by the product's path; "": no twin."""
    found = of_code(root).get(name or "")
    return edited(found, root) if found else {}


def needed(changed: dict[Path, str], texts: dict[str, str]) -> dict[str, str]:
    """Return the edited texts by the product's path; nothing if none of `texts` is edited.

    It returns all or none, so that the overlay is the same for every object of the twin.
    """
    is_needed = not texts.keys().isdisjoint(map(str, changed))
    return {str(path): text for path, text in changed.items()} if is_needed else {}


def place(path: Path, root: Path) -> Path:
    """Return the path of a product's file in an overlay."""
    kernel = root / "kernel"
    return path.relative_to(kernel if kernel in path.parents else root)


def overlay(texts: dict[str, str], root: Path, into: Path) -> Path:
    """Write the texts, by the product's paths, to a folder below `into`, and return the folder.

    The name of the folder is a hash of its contents.  The folder comes first in the include path,
    so an include of a kernel file finds the text in the folder.
    """
    rows = sorted((str(place(Path(path), root)), text) for path, text in texts.items())
    folder = into / digest(*(part for row in rows for part in row))
    for name, text in rows:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        locations.write_atomically(folder / name, text)
    return folder


def overlay_of(name: str) -> Path:
    """Return the folder with each file of the product that the twin edits.

    Raises:
        UsageError: there is no such twin, or an edit does not apply.
    """
    root = locations.sources()
    known = of_code(root)
    if name not in known:
        raise UsageError(f"no twin {name}: stress/twins/ has {len(known)} twins of code")
    texts = {str(path): text for path, text in edited(known[name], root).items()}
    return overlay(texts, root, locations.cache() / "overlays")


def _body(text: str, function: str, wrong: str) -> tuple[int, int]:
    """Return where the definition of a C function begins and ends; no function: the whole file."""
    if not function:
        return 0, len(text)
    head = rf"^\w[^\n;{{}}]*\b{function}\([^;{{}}]*\)(?: /\*[^\n]*\*/)?\n"
    found = re.search(rf"{head}{{.*?^}}$", text, re.M | re.S)
    if found is None:
        raise UsageError(f"{wrong}: no function {function}")
    return found.span()


_AT_MARGIN = re.compile(
    r"^(?:(?P<name>VARIABLES?\b|CONSTANTS?\b|[A-Za-z_]\w*(?=(?:\((?:[^()]|\([^()]*\))*\)|\[[^]]*\])?"
    r"\s*==))|ASSUME\b|THEOREM\b|LOCAL\b|RECURSIVE\b|INSTANCE\b|EXTENDS\b|\(\*|-{4}|={4})",
    re.MULTILINE,
)


def _definition(text: str, name: str, wrong: str) -> tuple[int, int]:
    """Return where a definition of TLA+ begins, and where the next one at the margin begins."""
    heads = list(_AT_MARGIN.finditer(text))
    spans = [(a.start(), b.start()) for a, b in pairwise(heads) if a["name"] == name]
    if len(spans) != 1:
        raise UsageError(f"{wrong}: {len(spans)} definitions of {name} at the margin, not one")
    return spans[0]


def _changed(path: Path, text: str, rows: list[Place]) -> str:
    """Replace [begin, end) by text in each row; number all other lines as in the product.

    If an edit adds or removes lines, its lines are numbered from `EDITED` on.
    """
    parts: list[str] = []
    numbers = [1]  # of each line of the result so far
    last, own = 0, EDITED
    for begin, end, replacement in rows:
        _add(text[last:begin], parts, numbers)
        if replacement.count("\n") == text.count("\n", begin, end):
            _add(replacement, parts, numbers)
        else:
            numbers[-1] = own
            _add(replacement, parts, numbers)
            own = numbers[-1] + 1
            after = text.index("\n", end) + 1  # its line ends as the product's
            parts.append(text[end:after])
            numbers.append(text.count("\n", 0, after) + 1)
            end = after
        last = end
    _add(text[last:], parts, numbers)
    return _with_numbers("".join(parts), numbers, path)


def _add(piece: str, parts: list[str], numbers: list[int]) -> None:
    parts.append(piece)
    numbers += [numbers[-1] + n for n in range(1, piece.count("\n") + 1)]


def _with_numbers(text: str, numbers: list[int], path: Path) -> str:
    """Put ``#line`` before lines with a number out of sequence, but not in comments or macros."""
    lines, expected, is_comment, is_continued = [], 0, False, False
    for line, number in zip(text.split("\n"), numbers, strict=True):
        if number != expected and not is_comment and not is_continued:
            lines.append(f'#line {number} "{path}"')
            expected = number
        lines.append(line)
        expected += 1
        for mark in re.findall(r"/\*|\*/", line):
            is_comment = mark == "/*"
        is_continued = line.endswith("\\")
    return "\n".join(lines)


def numbered(text: str) -> list[int]:
    """Return the number of each line of `text`, as a compiler sees it."""
    numbers, next_one = [], 1
    for line in text.split("\n"):
        numbers.append(next_one)
        found = _LINE.match(line)
        next_one = int(found[1]) if found else next_one + 1
    return numbers
