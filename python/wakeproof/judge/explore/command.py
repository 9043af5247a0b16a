# SPDX-License-Identifier: Apache-2.0
"""`wakeproof explore`: every interleaving and reordering of the compiled code, or of programs."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from wakeproof import locations
from wakeproof.cli.progress import StressProgress
from wakeproof.errors import UsageError
from wakeproof.judge import labels as explore_labels
from wakeproof.judge import report, scenarios
from wakeproof.judge.explore import run as judge
from wakeproof.judge.explore import show as explore_print
from wakeproof.judge.explore.options import (
    ExploreOptions,
    bytes_of,
    models_of,
    preemptions_of,
    sample_of,
)
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.labels import Labels


def explore(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Scenarios (.c) or programs (text) of your own."),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option("-t", metavar="REGEX", help="Only what has such a name."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="sc, tso, rc11, joined by commas; or all (what engine knows)."),
    ] = None,
    engine: Annotated[str, typer.Option(help="auto, graphs, states, or both.")] = "auto",
    sample: Annotated[
        str | None, typer.Option(help="Random executions instead of all: random, pct:d=3,n=5000.")
    ] = None,
    preemptions: Annotated[
        str | None,
        typer.Option(metavar="N|grow", help="At most so many (engine states); grow: 0, 1, ..."),
    ] = None,
    spurious: Annotated[int, typer.Option(help="Spurious wakeups per wait, and signals.")] = 0,
    failing_heavy: Annotated[
        int, typer.Option(help="Heavy fences of each actor that fail, at the most.")
    ] = 0,
    timeouts: Annotated[bool, typer.Option(help="Waits with a deadline may time out.")] = True,
    loop_bound: Annotated[
        int, typer.Option(help="Passes through a loop that writes (0: no bound).")
    ] = 4,
    futex: Annotated[
        str, typer.Option(help="What wait and wake order: none (default), or linux: all.")
    ] = "none",
    release_sequence: Annotated[str, typer.Option(help="RC11: c++20 or c11.")] = "c++20",
    scb: Annotated[str, typer.Option(help="RC11: genmc, or as in the paper: paper.")] = "genmc",
    order: Annotated[
        list[str] | None,
        typer.Option(metavar="SITE=ORDER", help="Another order at a label or FILE:LINE."),
    ] = None,
    parallel: Annotated[bool, typer.Option("--parallel", help="One process per CPU.")] = False,
    jobs: Annotated[
        int, typer.Option(help="So many processes; fewer scenarios share out their graphs.")
    ] = 1,
    estimate: Annotated[
        int, typer.Option(help="Explore nothing: estimate the size by so many descents (graphs).")
    ] = 0,
    seconds: Annotated[float, typer.Option(help="Processor time of a run (0: no limit).")] = 60.0,
    max_bytes: Annotated[str, typer.Option(help="Memory of each run (0: no limit).")] = "2G",
    seed: Annotated[int, typer.Option(help="Seed of samples.")] = 1,
    twins: Annotated[bool, typer.Option(help="Explore the twins as well.")] = True,
    strict: Annotated[
        bool, typer.Option(help="Fail on what was not judged, or not whole.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Counterexamples (default build/explore).")
    ] = None,
) -> None:
    """Explore every interleaving and reordering under SC, x86-TSO and RC11.

    Examples:

      wakeproof explore                              all scenarios, with their twins

      wakeproof explore -t guard --model rc11        one concept, one model

      wakeproof explore path/to/race.c               a race of your own, written with stress.h

      wakeproof explore path/to/litmus.txt           programs as text: stress/explorer/data.c

      wakeproof explore -t guard --order guard.2=relaxed  is that order needed?

      wakeproof explore -t search --sample pct:d=3   too large for all: so many at random
    """
    labels = explore_labels.read(locations.sources())
    samples, depth = sample_of(sample) if sample else (0, 0)
    bound, grows = preemptions_of(preemptions) if preemptions is not None else (None, False)
    if preemptions is not None and engine == "auto":
        engine = "states"  # the only one that has preemptions
    if estimate and engine == "auto":
        engine = "graphs"
    options = ExploreOptions(
        models=models_of(("sc,tso" if engine == "states" else "all") if model is None else model),
        engine=engine, loop_bound=loop_bound, preemptions=bound, grows=grows,
        timeouts=timeouts, spurious=spurious, failing_heavy=failing_heavy,
        sample=samples, pct_depth=depth, seed=seed,
        linux_futex=_one_of("--futex", futex, ("none", "linux")) == "linux",
        c11_release_sequence=_one_of(
            "--release-sequence", release_sequence, ("c++20", "c11")
        ) == "c11",
        paper_scb=_one_of("--scb", scb, ("genmc", "paper")) == "paper",
        max_bytes=bytes_of(max_bytes), seconds=seconds, estimate=estimate,
        orders=tuple(o for text in order or () for o in _orders(text, labels)),
    ).checked()  # fmt: skip
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)  # or fail now, not after minutes
    given = scenarios.find(files) if files else None
    screen = report.console(stderr=as_json)
    with StressProgress(screen) as progress:
        found = judge.explore(
            given, pattern, options, twins=twins, progress=progress.show,
            jobs=len(os.sched_getaffinity(0)) if parallel else jobs,
            save=save or locations.cache() / "explore",
        )  # fmt: skip
    report.end(
        lambda: summary(found, strict), lambda: explore_print.show(screen, found, labels),
        as_json=as_json, holds=found.ok(strict),
    )  # fmt: skip


def summary(found: ExploreReport, strict: bool = False) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "judge": "explore", "holds": found.ok(strict), "strict": strict,
        "not_judged": found.not_judged, "in_part": found.in_part, "options": asdict(found.options),
        "seconds": round(found.seconds, 3), "warnings": found.warnings,
        "scenarios": [
            {"line": s.line, "verdict": s.verdict, **s.__dict__} for s in found.scenarios
        ],
        "twins": found.twins,
        "counterexamples": [
            {"token": c.token.text, "saved": c.saved, **asdict(c.token)}
            for c in found.counterexamples
        ],
    }  # fmt: skip


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UsageError(f"{option} {value!r}: there are {', '.join(allowed)}")
    return value


def _orders(text: str, labels: Labels) -> list[tuple[str, int, str]]:
    """Return the overrides that ``guard.2=relaxed`` or ``guard.h:120=relaxed`` means."""
    site, equals, order = text.partition("=")
    file, colon, line = site.rpartition(":")
    if not equals or (colon and not line.isdigit()):
        raise UsageError(f"--order {text!r}: write guard.2=relaxed or guard.h:120=relaxed")
    if colon:
        return [(file, int(line), order)]
    return [(name, at, order) for name, at in labels.lines(site)]
