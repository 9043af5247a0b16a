# SPDX-License-Identifier: Apache-2.0
"""Model-check a module of the user's own, without a manifest and a folder of wakeproof."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wakeproof.errors import UsageError
from wakeproof.judge.check import run as specs
from wakeproof.judge.check.run import ConfigResult
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import manifest
from wakeproof.judge.tlc.manifest import Entry
from wakeproof.judge.tlc.messages import read_messages
from wakeproof.judge.tlc.run import Outcome

_ACTION = re.compile(
    r"^<(?P<name>\S+) line (?P<line>\d+), [^>]*? of module (?P<module>\w+)"
    r"(?: \((?P<at>\d+) [^)]*\))?>: (?P<distinct>\d+):(?P<all>\d+)", re.MULTILINE
)  # fmt: skip
_COVERED = 2772  # an action of the next-state relation
_COMMENT = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
_CONSTANTS = re.compile(
    r"^\s*CONSTANTS?\s+(.+?)(?=^\s*\w+.*==|^\s*(?:VARIABLE|ASSUME|EXTENDS|INST))",
    re.DOTALL | re.MULTILINE,
)
BROKEN = (Outcome.PARSE, Outcome.CONFIG)
"""What is wrong with the files, not with what they claim."""


@dataclass(frozen=True)
class Action:
    """How often a part of the next-state relation was taken: to new states, and to all states."""

    name: str
    line: int
    distinct: int
    taken: int


@dataclass(frozen=True)
class OwnReport:
    """One module under one configuration."""

    module: Path
    config: Path
    invariants: tuple[str, ...]
    properties: tuple[str, ...]
    result: ConfigResult
    actions: tuple[Action, ...]  # empty where TLC ended before it counted

    @property
    def holds(self) -> bool:
        """Return whether TLC saw every state and found nothing wrong."""
        return self.result.tlc.outcome is Outcome.OK


def check_own(
    module: Path,
    config: Path | None = None,
    *,
    deadlock: bool = True,
    workers: int = 1,
    seconds: float = 600.0,
    make: Callable[..., specs.Runner] = specs.Runner,
) -> OwnReport:
    """Model-check `module` under `config` (None: the .cfg of its name beside it).

    Args:
        module: the .tla file; what it extends lies beside it.
        config: the .cfg file.
        deadlock: whether a state without a step is a violation.
        workers: threads of TLC; more than one makes a counterexample's length a matter of luck.
        seconds: how long TLC may take.
        make: makes the runner, with the arguments of `specs.Runner`.

    Raises:
        UsageError: a file is missing, has another suffix, or TLC does not accept it.
        MissingToolError: no Java or no TLC.
    """
    config = _files(module, config)
    lists = manifest.listed(config)
    entry = Entry(
        str(config.absolute()), module.stem, set="full", workers=workers,
        budget_s=max(1, round(seconds)), claims=tuple(lists["INVARIANTS"] + lists["PROPERTIES"]),
    )  # fmt: skip
    options = (
        "-coverage",
        "60",
        *["-deadlock"] * (not deadlock),
    )
    with Children() as children:
        runner = make(module.absolute().parent, children, update=True, options=options)
        result = runner.judge(entry)
    if result.tlc.outcome in BROKEN:
        where = module if result.tlc.outcome is Outcome.PARSE else config
        raise UsageError(f"{where}: {result.tlc.message}")
    return OwnReport(
        module, config, tuple(lists["INVARIANTS"]), tuple(lists["PROPERTIES"]), result,
        covered(result.tlc.output),
    )  # fmt: skip


def covered(output: str) -> tuple[Action, ...]:
    """Return the actions as TLC counted them last, each part of an action by its line."""
    texts = [m.text for m in read_messages(output) if m.code == _COVERED]
    found: dict[tuple[str, int, str], Action] = {}
    for match in _ACTION.finditer("\n".join(texts)):
        line = int(match["at"] or match["line"])
        key = (match["name"], line, match.group(0).rpartition(">")[0])
        found[key] = Action(match["name"], line, int(match["distinct"]), int(match["all"]))
    return tuple(found.values())


def _files(module: Path, config: Path | None) -> Path:
    """Check both, and return the configuration."""
    if module.suffix == ".cfg" and config is None:
        raise UsageError(f"{module}: name its module first: wakeproof check MODULE.tla {module}")
    if module.suffix != ".tla":
        raise UsageError(f"{module}: no .tla file: wakeproof check MODULE.tla [CONFIG.cfg]")
    if not module.is_file():
        raise UsageError(f"{module}: there is no such file")
    if config is None:
        config = module.with_suffix(".cfg")
        if not config.is_file():
            raise UsageError(f"{module}: there is no {config.name} beside it; {_to_write(module)}")
    if config.suffix != ".cfg":
        raise UsageError(f"{config}: no .cfg file: wakeproof check MODULE.tla [CONFIG.cfg]")
    if not config.is_file():
        raise UsageError(f"{config}: there is no such file; {_to_write(module)}")
    return config


def _to_write(module: Path) -> str:
    """Return a hint what a configuration of the module should have, by what the module defines."""
    text = _COMMENT.sub("", module.read_text(encoding="utf-8", errors="replace"))
    has_spec = re.search(r"^\s*Spec\s*==", text, re.MULTILINE)
    lines = ["SPECIFICATION Spec" if has_spec else "INIT Init, NEXT Next"]
    constants = _CONSTANTS.search(text)
    names = re.findall(r"\w+", constants[1]) if constants else []
    lines += [f"CONSTANT {name} = .." for name in names]
    typed = re.search(r"^\s*(TypeOK|TypeInvariant|Inv\w*)\s*==", text, re.MULTILINE)
    lines.append(f"INVARIANT {typed[1] if typed else 'NAME (what must hold in every state)'}")
    lines.append("PROPERTY NAME (a temporal formula, if there is one)")
    return "write into it, a line each: " + "; ".join(lines)
