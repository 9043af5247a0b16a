# SPDX-License-Identifier: Apache-2.0
"""Small programs as data, and their exploration: thousands in one run of the explorer.

    sb = Program("SB", (
        Thread((Store("x", 1), Load("r0", "y"))),
        Thread((Store("y", 1), Load("r0", "x"))),
    ), observe=("0:r0", "1:r0"))
    results = explore([sb], (Model.TSO,))

The operations are in ``explore.litmus_program``.
Source: the language is in the header of ``stress/explorer/data.c``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from wakeproof.errors import JudgeError
from wakeproof.judge.builds import Builder
from wakeproof.judge.explore import explorer as explore_run
from wakeproof.judge.explore.litmus_program import Program
from wakeproof.judge.explore.options import MODELS, ExploreOptions, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.process import Children


def explore(
    programs: Iterable[Program | str],
    models: Sequence[Model] = MODELS,
    options: ExploreOptions | None = None,
    *,
    examples: bool = False,
    explorer: Explorer | None = None,
) -> list[dict[Model, Result]]:
    """Explore each program, given as data or as text, under each model, by one engine.

    The engine is ``graphs`` unless `options` names another; `examples`: with the shortest
    execution of each outcome; `explorer` keeps the built program between calls.

    Raises:
        JudgeError: the explorer failed.
        UsageError: an option makes no sense.
        MissingToolError: no C compiler.
    """
    texts = [str(program) for program in programs]
    chosen = options or ExploreOptions(engine="graphs", loop_bound=0, timeouts=False)
    chosen = replace(chosen, models=tuple(m for m in Model if m in models)).checked()
    if not texts:
        return []
    results = (explorer or Explorer()).run(texts, chosen, examples)
    each = len(chosen.models)
    if len(results) != each * len(texts):
        raise JudgeError(f"the explorer gave {len(results)} results for {len(texts)} programs "
                         f"under {each} models: engine both is not for this function")  # fmt: skip
    return [
        {result.model: result for result in results[at : at + each]}
        for at in range(0, len(results), each)
    ]


class Explorer:
    """The explorer for programs as text, built at its first use."""

    def __init__(self) -> None:
        self._program: Path | None = None

    def run(
        self,
        texts: Sequence[str],
        options: ExploreOptions,
        examples: bool,
        tick: explore_run.Tick | None = None,
    ) -> list[Result]:
        """Explore each text under each model: results in that order."""
        with Children() as children:
            if self._program is None:
                self._program = Builder(children).explorer()
            return explore_run.run_programs(
                children, self._program, texts, options, tick, examples=examples
            )
