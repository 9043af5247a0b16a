# SPDX-License-Identifier: Apache-2.0
"""The tables ``specs/**/*.models.toml``: the bounds of TLC for each module, and its results.

A table belongs to one module.  Its head has the additions to the module for TLC, ``[defaults]`` has
the settings that all its configurations share, ``[twins]`` has a row for each twin, and each other
section is a configuration, by its name::

    module  = "MCGuard"                            # made: EXTENDS, definitions
    extends = ["Guard", "TLC"]
    about   = "Bounds for Guard."
    definitions = "Symmetry == Permutations(Producers)"

    [defaults]
    specification = "Spec"
    invariants = ["TypeOK", "NoLostWakeup"]
    [defaults.constants]
    Producers = "{p1, p2}"                         # an expression of TLA+, or a number
    Memory = '"SC"'

    [MCGuard]
    about = "Two producers."
    measured = { states = 1234, depth = 20, seconds = 1.5 }

    [MCGuardThree]
    about = "Three producers."
    like = "MCGuard"                               # a configuration above, instead of the defaults
    constants = { Producers = "{p1, p2, p3}" }     # those that differ

    [twins]                                        # MCGuard_no_fence must violate what it breaks
    no_fence = { like = "MCGuardThree", breaks = "NoLostWakeup", trace = 12, seconds = 1.1 }

    [[prove]]                                      # for any number of threads (`wakeproof prove`)
    modes = { Memory = '"SC"' }                    # the other constants may be anything
    claims = ["NoLostWakeup"]

Each configuration that checks invariants, and is no twin, then checks the inductive invariant
``IndInv`` as well.

The twin's defect, an edit of the module's text and a sentence, is in ``stress/twins/`` (`twins`).

The tables are the source of TLC's files (`folder`): a flat folder of all modules, a ``.cfg`` for
each configuration, and ``manifest.json``, which `manifest` reads.  A twin has a folder below that
one, with its ``.cfg``, its edited modules and the modules that these need.  These files are never
edited.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import shutil
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.tlc.manifest import INVARIANT, NO_CLAIMS
from wakeproof.judge.twins import edits as twins
from wakeproof.judge.twins.edits import Twin

SUFFIX: Final = ".models.toml"
NO_SENTENCE: Final = "lacks defect, a sentence that says what is wrong"
KEPT_S: Final = 86400.0
"""The seconds that the files of earlier texts stay."""
_HEAD: Final = ("module", "extends", "about", "definitions", "defaults", "twins", "prove")
_SHARED: Final = ("specification", "symmetry", "constants", "invariants", "properties")
_ROW: Final = ("about", "like", "set", "workers", "budget_s", "claims", "measured")
_PROVE: Final = ("modes", "claims", "types")
_MEASURED: Final = ("states", "depth", "seconds")
_MEASURED_TWIN: Final = ("trace", "seconds")
_PARTS: Final = re.compile(r"\bEXTENDS\s+(\w+(?:\s*,\s*\w+)*)|\bINSTANCE\s+(\w+)")


@dataclass(frozen=True)
class Model:
    """One configuration of TLC, with all that it inherits."""

    name: str  # "MCGuard_no_fence"
    module: str  # "MCGuard"
    about: str  # in one sentence: the bounds, or the defect of a twin, which its edits' table has
    settings: Mapping[str, Any]  # of `_SHARED`
    row: Mapping[str, Any]  # what stands in its own section, or row
    is_proved: bool = False  # the table has rows [[prove]], and so an inductive invariant

    @property
    def defect(self) -> str:
        """The defect's name, "" for what must hold."""
        return self.name.partition("_")[2] if "breaks" in self.row else ""

    def cfg(self) -> str:
        """Return the file of settings that TLC reads."""
        constants = self.settings["constants"]
        lines = [f"\\* {self.about}", f"SPECIFICATION {self.settings['specification']}"]
        if constants:
            lines.append("CONSTANTS")
            lines += [f"  {_assignment(name, value)}" for name, value in constants.items()]
        if self.settings["symmetry"]:
            lines.append(f"SYMMETRY {self.settings['symmetry']}")
        for section in ("invariants", "properties"):
            names = list(self.settings[section])
            if section == "invariants" and names and self.is_proved and not self.defect:
                names.append(INVARIANT)
            if names:
                lines += [section.upper(), *(f"  {name}" for name in names)]
        return "\n".join(lines) + "\n"

    def entry(self) -> dict[str, Any]:
        """Return the configuration's entry of the manifest (`manifest.Entry`)."""
        row = self.row
        entry: dict[str, Any] = {"module": self.module, "set": row.get("set", "short")}
        if "breaks" in row:
            entry |= {"expect": "violates", "claim": self._claim(row["breaks"])}
            entry |= {"defect": self.about}
        else:
            names = [*self.settings["invariants"], *self.settings["properties"]]
            stated = row.get("claims", [name for name in names if name not in NO_CLAIMS])
            expect = "bounded" if "budget_s" in row else "ok"
            entry |= {"expect": expect, "claims": [self._claim(name) for name in stated]}
        entry["workers"] = row.get("workers", 1)
        if "budget_s" in row:
            entry["budget_s"] = row["budget_s"]
        entry |= row.get("measured", {})
        return entry | {key: row[key] for key in _MEASURED_TWIN if key in row}

    def _claim(self, name: str) -> str:
        return name if "!" in name else f"{self.module.removeprefix('MC')}!{name}"


def _assignment(name: str, value: str | int) -> str:
    """Return a line of CONSTANTS; "<- Operator" replaces one operator by another."""
    text = str(value)
    return f"{name} {text}" if text.startswith("<-") else f"{name} = {text}"


@dataclass(frozen=True)
class Table:
    """One file of configurations."""

    file: Path
    module: str  # that is made: "MCGuard"
    extends: tuple[str, ...]
    about: str
    definitions: str
    prove: tuple[Mapping[str, Any], ...] = ()  # the rows of [[prove]] (`prove/subjects.py`)
    models: dict[str, Model] = field(default_factory=dict)

    def text(self) -> str:
        """Return the text of the module that is made."""
        head = f" MODULE {self.module} ".center(78, "-")
        lines = [head, f"(* {self.about} *)", f"EXTENDS {', '.join(self.extends)}"]
        if self.definitions:
            lines += ["", self.definitions.strip("\n")]
        return "\n".join([*lines, "=" * 77, ""])


def read(file: Path) -> Table:
    """Read one table.

    Raises:
        UsageError: no TOML, or a key is unknown, is missing, or has a value of a wrong type.
    """
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: not TOML: {error}") from None
    for key in ("module", "extends", "about", "defaults"):
        if key not in raw:
            raise UsageError(f"{file.name}: lacks {key}")
    defaults = raw["defaults"]
    _check(f"{file.name}: defaults", defaults, _SHARED)
    empty = {"symmetry": "", "constants": {}, "invariants": [], "properties": []}
    table = Table(
        file, raw["module"], tuple(raw["extends"]), raw["about"], raw.get("definitions", ""),
        tuple(raw.get("prove", ())),
    )  # fmt: skip
    for number, row in enumerate(table.prove, 1):
        _check(f"{file.name}: prove {number}", row, _PROVE)
        if "claims" not in row:
            raise UsageError(f"{file.name}: prove {number}: lacks claims")
    base = {"specification": "Spec", **empty, **defaults}
    for name, row in raw.items():
        if name in _HEAD:
            continue
        where = f"{file.name}: {name}"
        if not isinstance(row, dict) or not name.startswith(table.module) or "_" in name:
            raise UsageError(
                f"{where}: a configuration's name begins with {table.module} and has no _: "
                "a twin is a row of [twins]"
            )
        _check(where, row, _SHARED + _ROW)
        _check(f"{where}: measured", row.get("measured", {}), _MEASURED)
        if "about" not in row:
            raise UsageError(f"{where}: lacks about")
        table.models[name] = _model(where, table, name, row, base)
    for defect, row in raw.get("twins", {}).items():
        where, name = f"{file.name}: twin {defect}", f"{table.module}_{defect}"
        if not isinstance(row, dict):
            raise UsageError(f"{where}: a row is needed: {defect} = {{ breaks = .. }}")
        _check(where, row, (*_SHARED, "like", "breaks", *_MEASURED_TWIN))
        if "breaks" not in row:
            raise UsageError(f"{where}: lacks breaks, the claim that it must violate")
        table.models[name] = _model(where, table, name, row, base)
    return table


def _model(
    where: str, table: Table, name: str, row: Mapping[str, Any], base: Mapping[str, Any]
) -> Model:
    """Return a configuration with what it inherits from one above, or from the defaults."""
    like = row.get("like")
    if like is not None and like not in table.models:
        raise UsageError(f"{where}: like = {like!r}: no configuration above has that name")
    inherited = table.models[like].settings if like else base
    constants = {**inherited["constants"], **row.get("constants", {})}
    own = {key: row[key] for key in _SHARED if key in row}
    merged = {**inherited, **own, "constants": constants}
    return Model(name, table.module, row.get("about", ""), merged, row, bool(table.prove))


def _check(where: str, values: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    kinds: dict[str, type] = {"constants": dict, "measured": dict, "workers": int}
    kinds |= dict.fromkeys(("invariants", "properties", "claims", "types"), list)
    kinds["modes"] = dict
    for key, value in values.items():
        if key not in allowed:
            raise UsageError(f"{where}: unknown key {key}; allowed: {', '.join(allowed)}")
        kind = kinds.get(key)
        if kind is not None and not isinstance(value, kind):
            raise UsageError(f"{where}: {key} is {value!r}; a {kind.__name__} is needed")


def tables(specs: Path) -> list[Table]:
    """Read all tables of the folder `specs`.

    Raises:
        UsageError: there is no table, one cannot be read, or two share a module or a name.
    """
    found = [read(file) for file in sorted(specs.rglob(f"*{SUFFIX}"))]
    if not found:
        raise UsageError(f"{specs} has no *{SUFFIX}")
    seen: dict[str, Path] = {}
    for table in found:
        for name in {table.module, *table.models}:
            if name in seen:
                raise UsageError(f"{name} is in {seen[name].name} and in {table.file.name}")
            seen[name] = table.file
    return found


def own() -> Path:
    """Return the folder of TLC's files for wakeproof's own specs."""
    return folder(locations.sources() / "specs")


def folder(specs: Path) -> Path:
    """Return the folder of TLC's files for `specs`, made once for these tables and modules.

    If `specs` has a ``manifest.json``, it is such a folder already (`export`), and is returned.

    Raises:
        UsageError: the tables cannot be read.
    """
    if (specs / "manifest.json").is_file():
        return specs
    digest = hashlib.sha256(Path(__file__).read_bytes() + Path(twins.__file__).read_bytes())
    for file in _sources(specs):
        digest.update(f"{file.relative_to(specs.parent).as_posix()}\n".encode())
        digest.update(file.read_bytes())
    made = locations.cache() / "specs" / digest.hexdigest()[:16]
    if not made.is_dir():
        made.parent.mkdir(parents=True, exist_ok=True)
        for old in made.parent.iterdir():
            if old.stat().st_mtime < time.time() - KEPT_S:  # no judge that runs reads from it
                shutil.rmtree(old, ignore_errors=True)
        part = Path(tempfile.mkdtemp(prefix=".part-", dir=made.parent))
        try:
            _write(specs, part)
            part.rename(made)
        except OSError:
            if not made.is_dir():  # another process was not faster: it is an error
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return made


def _sources(specs: Path) -> Iterator[Path]:
    yield from sorted([*specs.rglob("*.tla"), *specs.rglob(f"*{SUFFIX}")])
    yield from sorted(_twins(specs).rglob("*.toml"))


def _twins(specs: Path) -> Path:
    return specs.parent / "stress" / "twins"


def _write(specs: Path, into: Path) -> None:
    found = tables(specs)
    texts = _texts(specs, found)
    for name, text in texts.items():
        (into / f"{name}.tla").write_text(text, encoding="utf-8")
    edits, wrong = _edits(specs, found)
    if wrong:
        more = f"; and {len(wrong) - 1} more: tools/twins.py lists all" * bool(wrong[1:])
        raise UsageError(f"{wrong[0]}{more}")
    entries: dict[str, Any] = {}
    for model in (model for table in found for model in table.models.values()):
        entry, home = model.entry(), into
        if model.defect:
            about, changed = edits[model.name]
            model = replace(model, about=about)
            entry, home = model.entry() | {"folder": model.name}, into / model.name
            home.mkdir()
            for name, text in closure(texts | changed, model.module).items():
                (home / f"{name}.tla").write_text(text, encoding="utf-8")
        (home / f"{model.name}.cfg").write_text(model.cfg(), encoding="utf-8")
        entries[f"{model.name}.cfg"] = entry
    text = json.dumps(dict(sorted(entries.items())), indent=1)
    (into / "manifest.json").write_text(text + "\n", encoding="utf-8")


def _texts(specs: Path, found: list[Table]) -> dict[str, str]:
    """Return the texts of all modules: those in `specs`, and those that are made."""
    texts = {file.stem: file.read_text(encoding="utf-8") for file in sorted(specs.rglob("*.tla"))}
    for table in found:
        if table.module in texts:
            raise UsageError(f"{table.file.name} makes {table.module}.tla, which exists")
        texts[table.module] = table.text()
    return texts


def closure(texts: Mapping[str, str], module: str) -> dict[str, str]:
    """Return the texts of a module and of the modules that it extends or instances, by name."""
    found: dict[str, str] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        if name in texts and name not in found:
            found[name] = texts[name]
            for extended, instanced in _PARTS.findall(texts[name]):
                todo += re.findall(r"\w+", extended or instanced)
    return found


def modules(made: Path, module: str) -> dict[str, str]:
    """Return what `closure` returns, for the modules in one folder of TLC's files."""
    files = sorted(made.glob("*.tla"))
    return closure({file.stem: file.read_text(encoding="utf-8") for file in files}, module)


def home(made: Path, module: str, defect: str) -> Path:
    """Return the folder with the modules of a twin; without a defect, `made` itself.

    Args:
        made: TLC's files (`folder`).
        module: "Guard".
        defect: "no_fence"; "": the modules without a defect.
    """
    own = made / f"MC{module}_{defect}"
    return own if own.is_dir() else made


def problems(specs: Path) -> list[str]:
    """Return what is wrong with the twins of the tables of `specs`, a sentence for each."""
    return _edits(specs, tables(specs))[1]


def _edits(
    specs: Path, found: list[Table]
) -> tuple[dict[str, tuple[str, dict[str, str]]], list[str]]:
    """Return each twin's sentence and changed modules, by configuration, and what is wrong."""
    texts = _texts(specs, found)
    by_place = {table.file.relative_to(specs): table for table in found}
    edits: dict[str, tuple[str, dict[str, str]]] = {}
    wrong = []
    for twin in filter(lambda twin: twin.spec, twins.read(specs.parent)):
        place = twin.table.relative_to(_twins(specs)).with_suffix(SUFFIX)
        try:
            model = _configuration(twin, by_place.get(place))
            edits[model.name] = twin.about, {}
            edits[model.name] = twin.about, _edited(twin, model, specs, texts)
        except UsageError as error:
            wrong.append(str(error))
    wrong += [
        f"{table.file}: twin {model.defect}: has no edit: stress/twins/"
        f"{str(place).removesuffix(SUFFIX)}.toml has no [{model.defect}] with spec = [..]"
        for place, table in by_place.items() for model in table.models.values()
        if model.defect and model.name not in edits
    ]  # fmt: skip
    return edits, wrong


def _configuration(twin: Twin, table: Table | None) -> Model:
    """Return the configuration that has the twin's edits."""
    where = f"{twin.table}: twin {twin.defect}"
    if table is None:
        raise UsageError(f"{where}: edits a spec, and specs/ has no *{SUFFIX} of that path")
    model = table.models.get(f"{table.module}_{twin.defect}")
    if model is None:
        raise UsageError(f"{where}: {table.file} has no row {twin.defect} in [twins]")
    return model


def _edited(twin: Twin, model: Model, specs: Path, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the modules that a twin changes."""
    if not twin.about:
        raise UsageError(f"{twin.table}: twin {twin.defect}: {NO_SENTENCE}")
    changed = {file.stem: text for file, text in twins.edited_specs(twin, specs).items()}
    unused = sorted(changed.keys() - closure(texts, model.module).keys())
    if unused:
        raise UsageError(
            f"{twin.table}: twin {twin.defect}: {model.module} does not extend or instance "
            f"{', '.join(unused)}"
        )
    return changed


def export(specs: Path, target: Path) -> Path:
    """Write TLC's files for `specs` into the new folder `target`, as an editor of TLA+ opens them.

    Raises:
        UsageError: `target` exists, or the tables cannot be read.
    """
    if target.exists():
        raise UsageError(f"{target} exists; name a folder that does not")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(folder(specs), target)
    return target


def show(specs: Path, name: str) -> tuple[str, ...]:
    """Return the .cfg and the made module of the configuration `name`, as TLC gets them.

    For a twin with edits, the differences between its modules and the correct ones follow.

    Raises:
        UsageError: no configuration has that name.
    """
    made = folder(specs)
    entries = json.loads((made / "manifest.json").read_text(encoding="utf-8"))
    entry = entries.get(f"{name.removesuffix('.cfg')}.cfg")
    if entry is None:
        wanted = name.replace("_", "").casefold()
        close = [known for known in entries if wanted in known.replace("_", "").casefold()]
        hint = ", ".join(known.removesuffix(".cfg") for known in close[:8])
        raise UsageError(f"no configuration is {name}" + (f"; near: {hint}" if hint else ""))
    own = made / entry.get("folder", "")
    cfg = (own / f"{name.removesuffix('.cfg')}.cfg").read_text(encoding="utf-8")
    module = (own / f"{entry['module']}.tla").read_text(encoding="utf-8")
    files = sorted(own.glob("*.tla")) if own != made else ()
    texts = [(made / file.name, file) for file in files]
    return cfg, module, *filter(None, (_difference(*pair) for pair in texts))


def _difference(old: Path, new: Path) -> str:
    one, other = (file.read_text(encoding="utf-8").splitlines(True) for file in (old, new))
    return "".join(difflib.unified_diff(one, other, f"a/{old.name}", f"b/{new.name}"))


_MEASURED_LINE: Final = re.compile(r"^measured = .*\n", re.MULTILINE)


def save_measured(specs: Path, measured: Mapping[str, Mapping[str, float]]) -> None:
    """Write the measured numbers into the tables; everything else stays as it is.

    Args:
        specs: the folder of the tables.
        measured: by configuration ("MCGuard.cfg"): states, depth, trace, seconds.
    """
    for table in tables(specs):
        text = old = table.file.read_text(encoding="utf-8")
        for config, numbers in measured.items():
            model = table.models.get(config.removesuffix(".cfg"))
            if model is not None:
                values = ", ".join(f"{key} = {value}" for key, value in numbers.items())
                text = (_in_row if model.defect else _in_section)(text, model, values)
        if text != old:
            locations.write_atomically(table.file, text)


def _in_row(text: str, twin: Model, values: str) -> str:
    head, mark, rows = text.partition("\n[twins]\n")
    numbers = rf"(?:, (?:{'|'.join(_MEASURED_TWIN)}) = [\d.]+)*"
    row = re.compile(rf"^({twin.defect} *= *{{.*?){numbers} }}$", re.MULTILINE)
    return head + mark + row.sub(rf"\1, {values} }}", rows, count=1)


def _in_section(text: str, model: Model, values: str) -> str:
    begin = text.index(f"[{model.name}]\n") + len(f"[{model.name}]\n")
    end = text.find("\n[", begin)
    end = len(text) if end < 0 else end + 1
    section = _MEASURED_LINE.sub("", text[begin:end]).rstrip("\n") + "\n"
    line = f"measured = {{ {values} }}\n"
    return text[:begin] + section + line + ("\n" if end < len(text) else "") + text[end:]
