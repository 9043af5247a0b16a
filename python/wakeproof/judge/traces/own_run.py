# SPDX-License-Identifier: Apache-2.0
"""The judge `traces`: a user's log must be a behaviour of the user's spec.

TLC searches breadth-first.  Its states are those of the spec, each with the number of lines that
are explained, so one level of the search is one line.  The first line that no behaviour explains
is the one after the largest number in a state.  A second run of TLC takes one step from each of
these last states, to show which steps there are.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.process import Children
from wakeproof.judge.prove import modules
from wakeproof.judge.tlc import config as tlc_config
from wakeproof.judge.tlc import run as tlc
from wakeproof.judge.tlc.messages import read_messages
from wakeproof.judge.tlc.run import Outcome, TlcResult
from wakeproof.judge.traces import own_module
from wakeproof.judge.traces.own_actions import Relation
from wakeproof.judge.traces.own_log import Line, Reader, Vocabulary, model_value
from wakeproof.judge.traces.own_module import CALL, FROM, LINE, Spec

JVM: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx2g", "-Xss512m")
"""The stack is large because SANY and TLC go down a list of 10,000 lines one by one."""
LAST: Final = 10
"""The last states that are reported, of those that explain all lines before the rejected one."""
MOST_INTERNAL: Final = 1000
_EXCEPTION: Final = 1000
"""The code of TLC's message about an expression that it cannot evaluate."""
_WORD: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\w!])[A-Za-z_]\w*(?!\s*\|->)')
_PART: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<<|>>|[^"<>\[\](){},]+|.')


@dataclass(frozen=True)
class Step:
    """A step that the spec can take from a last state."""

    action: str  # "": it has no name
    arguments: tuple[str, ...]
    values: Mapping[str, str]  # of all variables after it

    @property
    def name(self) -> str:
        """Return the step as a call: ``Send(p1)``."""
        return self.action + (f"({', '.join(self.arguments)})" if self.arguments else "")


@dataclass(frozen=True)
class State:
    """A state in which all lines before the rejected one are explained."""

    values: Mapping[str, str]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class LogReport:
    """What TLC says of a log."""

    module: Path
    config: Path
    log: Path
    lines: int
    stutter: int
    rejected: Line | None  # the first line that no behaviour explains
    last: tuple[State, ...]  # at most LAST
    of_last: int  # how many there are
    states: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Say whether all lines are explained."""
        return self.rejected is None


def check_log(
    module: Path,
    log: Path,
    config: Path | None = None,
    *,
    stutter: int = 0,
    seconds: float = 600.0,
) -> LogReport:
    """Judge whether some behaviour of `module` under `config` has the steps of `log`.

    Args:
        module: the .tla file; what it extends lies beside it.
        log: newline-delimited JSON: one object for each step.
        config: the .cfg file (None: the one of the module's name beside it).  Of it only the
            constants and the behaviours count: INIT and NEXT, or SPECIFICATION.
        stutter: how many steps the spec may take before each line that the log does not tell.
        seconds: how long TLC may take.

    Raises:
        UsageError: a file is missing or malformed, or a value cannot be compared by TLC.
        JudgeError: TLC failed, or did not come to its end.
        MissingToolError: no Java or no TLC.
    """
    config = _files(module, log, config)
    if not 0 <= stutter <= MOST_INTERNAL:
        raise UsageError(f"stutter is {stutter}; allowed: 0 to {MOST_INTERNAL}")
    begin = time.monotonic()
    with Children() as children:
        spec = _spec(module, config, children)
        words = Vocabulary(
            spec.variables, spec.relation.actions, spec.relation.init_name, spec.model_values
        )
        lines = Reader(log, words).read()
        judge = _Judge(module, log, spec, children, seconds)
        with tempfile.TemporaryDirectory(prefix="wakeproof-log-") as folder:
            private = Path(folder)
            for file in module.absolute().parent.glob("*.tla"):
                shutil.copy(file, private)
            explained, states, count = judge.explained(private, lines, stutter)
            if explained == len(lines):
                return LogReport(module, config, log, len(lines), stutter, None, (), 0, count,
                                 time.monotonic() - begin)  # fmt: skip
            last = judge.steps(private, states[:LAST])
    return LogReport(
        module, config, log, len(lines), stutter, lines[explained], last, len(states), count,
        time.monotonic() - begin,
    )  # fmt: skip


def _files(module: Path, log: Path, config: Path | None) -> Path:
    """Check all three, and return the configuration."""
    if module.suffix != ".tla":
        raise UsageError(f"{module}: no .tla file: wakeproof traces MODULE.tla LOG.ndjson")
    config = config or module.with_suffix(".cfg")
    for file in (module, log):
        if not file.is_file():
            raise UsageError(f"{file}: there is no such file")
    if not config.is_file():
        raise UsageError(f"{config}: there is no such file; write the constants and SPECIFICATION "
                         "NAME into it, or name another with --config")  # fmt: skip
    return config


def _spec(module: Path, config: Path, children: Children) -> Spec:
    read = modules.read(module.absolute(), children)
    settings: dict[str, str] = {}
    for head, body in tlc_config.sections(config):
        key = "CONSTANTS" if head == "CONSTANT" else head
        settings[key] = f"{settings[key]}\n{body}" if key in settings else body
    try:
        named = {key: body.strip() for key, body in settings.items()}
        relation = Relation(read, module.absolute().parent, named)
    except UsageError as error:
        raise UsageError(f"{config}: {error}") from None
    constants = settings.get("CONSTANTS", "")
    values = tlc_config.model_values(constants)
    return Spec(module.stem, read.variables, relation, constants, values)


class _Judge:
    """Runs TLC on the generated modules."""

    def __init__(
        self, module: Path, log: Path, spec: Spec, children: Children, seconds: float
    ) -> None:
        self._module, self._log, self._spec = module, log, spec
        self._children, self._seconds = children, seconds
        self._values = {name: model_value(n) for n, name in enumerate(spec.model_values)}

    def explained(
        self, folder: Path, lines: Sequence[Line], stutter: int
    ) -> tuple[int, list[dict[str, str]], int]:
        """Return how many lines are explained, the states after them, and the count of states."""
        texts = own_module.judge(self._spec, lines, stutter)
        result, dump = self._run(folder, own_module.JUDGE, texts)
        if result.outcome is Outcome.EVALUATION or (result.outcome is Outcome.CONFIG and dump):
            self._explain_error(result, lines, dump)
        explained, states = _furthest(dump)
        if explained < len(lines):  # otherwise TLC need not see every behaviour
            self._end(result, explained)
        own = [{name: one[name] for name in self._spec.variables} for one in states]
        distinct = {tuple(one.items()): one for one in own}
        return explained, list(distinct.values()), result.states

    def steps(self, folder: Path, states: Sequence[Mapping[str, str]]) -> tuple[State, ...]:
        """Return the states, each with the steps that the spec can take."""
        if not states:
            return ()
        written = [{name: self._written(text) for name, text in one.items()} for one in states]
        result, dump = self._run(folder, own_module.AFTER, own_module.after(self._spec, written))
        self._end(result, 0)
        found: list[list[Step]] = [[] for _ in states]
        for values in map(_variables, _blocks(dump)):
            if call := _items(values[CALL]):
                name, arguments = call[0].strip('"'), _items(call[1])
                own = {one: values[one] for one in self._spec.variables}
                found[int(values[FROM]) - 1].append(Step(name, tuple(arguments), own))
        return tuple(
            State(state, tuple(sorted(steps, key=lambda one: (one.name, str(one.values)))))
            for state, steps in zip(states, found, strict=True)
        )

    def _run(self, folder: Path, name: str, texts: Mapping[str, str]) -> tuple[TlcResult, str]:
        for one, text in texts.items():
            (folder / f"{one}.tla").write_text(text, encoding="utf-8")
        config, dump = folder / f"{name}.cfg", folder / f"{name}.dump"
        config.write_text(self._spec.config(), encoding="utf-8")
        result = tlc.run(
            folder / f"{name}.tla", config, children=self._children, timeout_s=self._seconds,
            jvm=JVM, options=("-deadlock", "-dump", str(dump)),
        )  # fmt: skip
        return result, dump.read_text(encoding="utf-8") if dump.is_file() else ""

    def _written(self, text: str) -> str:
        """Return a value that TLC printed, as the generated modules write it."""
        return _WORD.sub(lambda match: self._values.get(match[0], match[0]), text)

    def _explain_error(self, result: TlcResult, lines: Sequence[Line], dump: str) -> None:
        told = int(result.trace[-1].values[LINE]) if result.trace else _furthest(dump)[0]
        if told < len(lines):
            raise UsageError(
                f"{self._log}:{lines[told].number}: a value does not fit the spec, or TLC cannot "
                f"evaluate a step here: {_reason(result)}"
            )

    def _end(self, result: TlcResult, explained: int) -> None:
        match result.outcome:
            case Outcome.OK:
                return
            case Outcome.PARSE | Outcome.CONFIG | Outcome.ASSUME | Outcome.EVALUATION:
                raise UsageError(f"{self._module}: TLC: {result.outcome.value}: {result.message}")
            case Outcome.TIMEOUT:
                raise JudgeError(
                    f"{self._log}: not decided in {self._seconds:g} s; {explained} lines are "
                    "explained so far: log more variables, or give more --seconds"
                )
        raise JudgeError(f"{self._log}: TLC: {result.outcome.value}: {result.message}")


def _reason(result: TlcResult) -> str:
    """Return what TLC says of an expression that it cannot evaluate."""
    errors = (one.text for one in read_messages(result.output) if one.code == _EXCEPTION)
    said = next((text.partition("\n: ")[2] for text in errors if "\n: " in text), "")
    return " ".join(said.split()) or result.message


def _furthest(dump: str) -> tuple[int, list[dict[str, str]]]:
    """Return the most lines that are explained in a state, and the states in which they are."""
    told = [int(number) for number in re.findall(rf"^/\\ {LINE} = (\d+)$", dump, re.MULTILINE)]
    most = max(told, default=0)
    line = rf"/\ {LINE} = {most}" + "\n"
    return most, [_variables(one) for one in _blocks(dump) if line in one]


def _blocks(dump: str) -> list[str]:
    """Return the texts of the states that TLC dumped."""
    return re.split(r"^State \d+:\n", dump, flags=re.MULTILINE)[1:]


def _variables(block: str) -> dict[str, str]:
    """Return the values of a printed state by name; a value may go on in further lines."""
    _, *parts = re.split(r"^/\\ (\w+) = ", block, flags=re.MULTILINE)
    return {
        name: " ".join(line.strip() for line in text.strip().splitlines())
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


def _items(text: str) -> list[str]:
    """Return the texts of the items of a printed sequence."""
    found, depth = [""], 0
    for part in _PART.findall(text[2:-2]):
        if part == "," and not depth:
            found.append("")
            continue
        depth += (part in ("<<", "[", "(", "{")) - (part in (">>", "]", ")", "}"))
        found[-1] += part
    return [one.strip() for one in found if one.strip()]
