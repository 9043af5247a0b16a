# SPDX-License-Identifier: Apache-2.0
"""Runs TLC on one configuration and returns its state graph."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from wakeproof.errors import JudgeError
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import dot
from wakeproof.judge.tlc import run as tlc
from wakeproof.judge.tlc.dot import StateGraph

TIMEOUT_S: Final = 900.0


def graph(
    module: Path, config: str, children: Children, *, deadlock: bool = False,
    jvm: tuple[str, ...] = tlc.SHORT_JVM,
) -> StateGraph:  # fmt: skip
    """Return TLC's graph of a module under a configuration.

    Args:
        module: a .tla file; the modules that it extends are beside it.
        config: the text of the configuration (`config_text`).
        children: child processes that the caller may kill to end the job.
        deadlock: whether a state without a step is an error.
        jvm: options of Java.

    Raises:
        JudgeError: TLC did not come to its end, found an error, or wrote what is no graph.
        MissingToolError: no Java or no TLC.
    """
    with tempfile.TemporaryDirectory(prefix="wakeproof-dump-") as folder:
        settings, dump = Path(folder) / f"{module.stem}.cfg", Path(folder) / "graph.dot"
        settings.write_text(config, encoding="utf-8")
        options = ["-dump", "dot,actionlabels", str(dump), *["-deadlock"] * (not deadlock)]
        result = tlc.run(
            module, settings, children=children, timeout_s=TIMEOUT_S, jvm=jvm,
            options=tuple(options),
        )  # fmt: skip
        if result.outcome is not tlc.Outcome.OK:
            raise JudgeError(f"TLC: {result.outcome.value} {result.message}".strip())
        with dump.open(encoding="utf-8") as stream:
            return dot.read(stream)


def config_text(init: str, next_: str, constants: Mapping[str, str]) -> str:
    """Return a configuration that checks nothing: the constants, each with its expression."""
    lines = [f"INIT {init}", f"NEXT {next_}"]
    if constants:
        lines += ["CONSTANTS", *(f"  {name} = {value}" for name, value in constants.items())]
    return "\n".join([*lines, ""])
