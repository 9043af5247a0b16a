# SPDX-License-Identifier: Apache-2.0
"""The tables ``specs/**/*.models.toml``: under which bounds TLC checks a module, and what it finds.

A table belongs to one module.  Its head says what is added to the module for TLC, ``[defaults]``
what all its configurations share, and each further section is a configuration, by its name::

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
    Twin = '"none"'

    [MCGuard]
    about = "Two producers."
    measured = { states = 1234, depth = 20, seconds = 1.5 }

    [MCGuardThree]
    about = "Three producers."
    like = "MCGuard"                               # a configuration above, instead of the defaults
    constants = { Producers = "{p1, p2, p3}" }     # those that differ

    [MCGuard_no_fence]                             # a twin: Twin is what follows the underscore
    about = "Neither side fences."
    breaks = "NoLostWakeup"
    measured = { trace = 12, seconds = 1.1 }

From these TLC's files are made (`folder`): a flat folder of all modules, a ``.cfg`` for each
configuration, and ``manifest.json``, which `manifest` reads.  Nobody edits them.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.manifest import NO_CLAIMS

SUFFIX: Final = ".models.toml"
KEPT_S: Final = 86400.0
"""How long the files of earlier texts stay."""
_HEAD: Final = ("module", "extends", "about", "definitions", "defaults")
_SHARED: Final = ("specification", "symmetry", "constants", "invariants", "properties")
_ROW: Final = (
    "about", "like", "set", "workers", "budget_s", "claims", "breaks", "measured",
)  # fmt: skip
_MEASURED: Final = ("states", "depth", "trace", "seconds")


@dataclass(frozen=True)
class Model:
    """One configuration of TLC, with all that it inherits."""

    name: str  # "MCGuard_no_fence"
    module: str  # "MCGuard"
    about: str  # in one sentence: the bounds, or a twin's defect
    settings: Mapping[str, Any]  # of `_SHARED`
    row: Mapping[str, Any]  # of `_ROW`, what stands in its own section

    @property
    def twin(self) -> str:
        """The twin's name, "none" for what must hold."""
        return self.name.partition("_")[2] if "breaks" in self.row else "none"

    def cfg(self) -> str:
        """Return the file of settings that TLC reads."""
        constants = dict(self.settings["constants"])
        if "Twin" in constants:
            constants["Twin"] = f'"{self.twin}"'
        lines = [f"\\* {self.about}", f"SPECIFICATION {self.settings['specification']}"]
        if constants:
            lines.append("CONSTANTS")
            lines += [f"  {_assignment(name, value)}" for name, value in constants.items()]
        if self.settings["symmetry"]:
            lines.append(f"SYMMETRY {self.settings['symmetry']}")
        for section in ("invariants", "properties"):
            if self.settings[section]:
                lines += [section.upper(), *(f"  {name}" for name in self.settings[section])]
        return "\n".join(lines) + "\n"

    def entry(self) -> dict[str, Any]:
        """Return what the table says of it (`manifest.Entry`)."""
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
        return entry

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
    models: dict[str, Model] = field(default_factory=dict)

    def text(self) -> str:
        """Return the module that is made."""
        head = f" MODULE {self.module} ".center(78, "-")
        lines = [head, f"(* {self.about} *)", f"EXTENDS {', '.join(self.extends)}"]
        if self.definitions:
            lines += ["", self.definitions.strip("\n")]
        return "\n".join([*lines, "=" * 77, ""])


def read(file: Path) -> Table:
    """Read one table.

    Raises:
        UsageError: no TOML, or a key that is unknown, lacks, or has a value of another kind.
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
        file, raw["module"], tuple(raw["extends"]), raw["about"], raw.get("definitions", "")
    )
    settings = {table.module: {"specification": "Spec", **empty, **defaults}}
    base = settings[table.module]
    for name, row in raw.items():
        if name in _HEAD:
            continue
        where = f"{file.name}: {name}"
        if not isinstance(row, dict) or not name.startswith(table.module):
            raise UsageError(f"{where}: a configuration's name begins with {table.module}")
        _check(where, row, _SHARED + _ROW)
        _check(f"{where}: measured", row.get("measured", {}), _MEASURED)
        if "about" not in row:
            raise UsageError(f"{where}: lacks about")
        like = row.get("like")
        if like is not None and like not in table.models:
            raise UsageError(f"{where}: like = {like!r}: no configuration above has that name")
        if "breaks" in row and "_" not in name:
            raise UsageError(f"{where}: breaks a claim, so its name is {table.module}_<defect>")
        inherited = table.models[like].settings if like else base
        constants = {**inherited["constants"], **row.get("constants", {})}
        own = {key: row[key] for key in _SHARED if key in row}
        merged = {**inherited, **own, "constants": constants}
        table.models[name] = Model(name, table.module, row["about"], merged, row)
    return table


def _check(where: str, values: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    kinds: dict[str, type] = {"constants": dict, "measured": dict, "workers": int}
    kinds |= dict.fromkeys(("invariants", "properties", "claims"), list)
    for key, value in values.items():
        if key not in allowed:
            raise UsageError(f"{where}: unknown key {key}; allowed: {', '.join(allowed)}")
        kind = kinds.get(key)
        if kind is not None and not isinstance(value, kind):
            raise UsageError(f"{where}: {key} is {value!r}; a {kind.__name__} is needed")


def tables(specs: Path) -> list[Table]:
    """Read all tables of the folder `specs`.

    Raises:
        UsageError: there is none, one cannot be read, or two have a module or a name in common.
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
    """Return the folder of TLC's files for `specs`; made once for what the tables and modules say.

    A folder that has a ``manifest.json`` is one that was made (`export`), and is returned as it is.

    Raises:
        UsageError: the tables cannot be read.
    """
    if (specs / "manifest.json").is_file():
        return specs
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for file in _sources(specs):
        digest.update(f"{file.relative_to(specs).as_posix()}\n".encode())
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


def _write(specs: Path, into: Path) -> None:
    found = tables(specs)
    modules = {file.name: file for file in sorted(specs.rglob("*.tla"))}
    for name, file in modules.items():
        shutil.copyfile(file, into / name)
    entries: dict[str, Any] = {}
    for table in found:
        if f"{table.module}.tla" in modules:
            raise UsageError(f"{table.file.name} makes {table.module}.tla, which exists")
        (into / f"{table.module}.tla").write_text(table.text(), encoding="utf-8")
        for model in table.models.values():
            (into / f"{model.name}.cfg").write_text(model.cfg(), encoding="utf-8")
            entries[f"{model.name}.cfg"] = model.entry()
    text = json.dumps(dict(sorted(entries.items())), indent=1)
    (into / "manifest.json").write_text(text + "\n", encoding="utf-8")


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


def show(specs: Path, name: str) -> tuple[str, str]:
    """Return the .cfg and the made module of the configuration `name`, as TLC gets them.

    Raises:
        UsageError: no configuration has that name.
    """
    made = folder(specs)
    entries = json.loads((made / "manifest.json").read_text(encoding="utf-8"))
    entry = entries.get(f"{name.removesuffix('.cfg')}.cfg")
    if entry is None:
        close = [known for known in entries if name.casefold() in known.casefold()]
        hint = ", ".join(known.removesuffix(".cfg") for known in close[:8])
        raise UsageError(f"no configuration is {name}" + (f"; near: {hint}" if hint else ""))
    cfg = (made / f"{name.removesuffix('.cfg')}.cfg").read_text(encoding="utf-8")
    return cfg, (made / f"{entry['module']}.tla").read_text(encoding="utf-8")


_MEASURED_LINE: Final = re.compile(r"^measured = .*\n", re.MULTILINE)


def save_measured(specs: Path, measured: Mapping[str, Mapping[str, float]]) -> None:
    """Write the numbers that were measured into the tables; all else stays as it is.

    Args:
        specs: the folder of the tables.
        measured: by configuration ("MCGuard.cfg"): states, depth, trace, seconds.
    """
    for table in tables(specs):
        text = old = table.file.read_text(encoding="utf-8")
        for config, numbers in measured.items():
            name = config.removesuffix(".cfg")
            if name in table.models:
                text = _with_measured(text, name, numbers)
        if text != old:
            locations.write_atomically(table.file, text)


def _with_measured(text: str, name: str, numbers: Mapping[str, float]) -> str:
    begin = text.index(f"[{name}]\n") + len(f"[{name}]\n")
    end = text.find("\n[", begin)
    end = len(text) if end < 0 else end + 1
    values = ", ".join(f"{key} = {value}" for key, value in numbers.items())
    line = f"measured = {{ {values} }}\n"
    row = _MEASURED_LINE.sub("", text[begin:end]).rstrip("\n") + "\n"
    return text[:begin] + row + line + ("\n" if end < len(text) else "") + text[end:]
