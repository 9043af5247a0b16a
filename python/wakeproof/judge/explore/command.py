# SPDX-License-Identifier: Apache-2.0
"""`wakeproof explore`: try every interleaving and reordering of compiled code, or of programs."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from wakeproof import locations
from wakeproof.cli.panels import (
    BOUNDS,
    MODEL,
    OUTPUT,
    WHAT,
    AsDask,
    AsFormat,
    AsJson,
    AsPage,
    InSandbox,
)
from wakeproof.cli.progress import StressProgress
from wakeproof.errors import UsageError
from wakeproof.judge import labels as explore_labels
from wakeproof.judge import report, scenarios
from wakeproof.judge.explore import formats, shards
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
from wakeproof.judge.own import run as own_judge
from wakeproof.judge.own.driver import linked, listing
from wakeproof.judge.own.program import (
    CXX,
    LINKED,
    RUST,
    Program,
    has_main,
    is_scenario,
    of_files,
    without_flags,
)
from wakeproof.judge.own.scenarios import needs_program
from wakeproof.judge.page import of_explore, output, render
from wakeproof.judge.process import Children


def explore(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Explore your own programs (.c with a main, and its other files), scenarios (.c "
            "with STRESS_TEST) or programs as text. What begins with - and stands after -- is a "
            "flag of the compiler. Default: all scenarios of wakeproof.",
            show_default=False,
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "-t",
            metavar="REGEX",
            help="Explore the scenarios, programs and twins whose name matches. Default: all.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Use these memory models: sc, tso, rc11, joined by commas, or all of these. "
            "armv8: of litmus tests, by enumeration. Default: all that the engine has.",
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(help="Stop each run after this processor time in seconds; 0: no limit."),
    ] = 60.0,
    twins: Annotated[bool, typer.Option(help="Explore the twins of each scenario, too.")] = True,
    as_json: AsJson = False,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Choose how to search. graphs: execution graphs; states: states of the machine, "
            "without rc11; auto: states for sc and tso, graphs for rc11; both: run both, and fail "
            "where they differ.",
            rich_help_panel=WHAT,
        ),
    ] = "auto",
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Draw random executions instead of exploring all: random:n=5000 or "
            "pct:d=3,n=5000 (n executions, default 10000; d: the depth of PCT).",
            rich_help_panel=WHAT,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Set the seed of --sample.", rich_help_panel=WHAT)] = 1,
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Draw the samples of --sample for each of N seeds, from --seed on, and merge what "
            "they show. With --dask the seeds are shared among workers.",
            rich_help_panel=WHAT,
        ),
    ] = 1,
    parts: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Cut each search of graphs into N parts, and merge what they show. With --dask "
            "they are shared among workers, which need not be of one machine.",
            rich_help_panel=WHAT,
        ),
    ] = 1,
    estimate: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Estimate the number of executions by N random descents, and explore nothing "
            "(engine graphs); 0: explore.",
            rich_help_panel=WHAT,
        ),
    ] = 0,
    order: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SITE=ORDER",
            help="Replace the memory order at a label or at FILE:LINE, as in guard.2=relaxed. "
            "May be given more than once.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    futex: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Choose what futex wait and wake order. none: nothing; linux: all accesses "
            "around them, as Linux does.",
            rich_help_panel=MODEL,
        ),
    ] = "none",
    release_sequence: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Choose the release sequences of RC11: c++20 or c11.",
            rich_help_panel=MODEL,
        ),
    ] = "c++20",
    mapping: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Choose the instructions of ARMv8: lse+ldar, lse+ldapr, pair+ldar or pair+ldapr "
            "(an update by one instruction or by an exclusive pair; an acquire load by LDAR or "
            "LDAPR). all: whatever one of them allows.",
            rich_help_panel=MODEL,
        ),
    ] = "all",
    scb: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Choose the relation scb of RC11: genmc, as GenMC has it, or paper.",
            rich_help_panel=MODEL,
        ),
    ] = "genmc",
    loop_bound: Annotated[
        int,
        typer.Option(
            help="Bound the passes through each loop that writes; 0: no bound.",
            rich_help_panel=BOUNDS,
        ),
    ] = 4,
    preemptions: Annotated[
        str | None,
        typer.Option(
            metavar="N|grow",
            help="Bound the number of preemptions (engine states). grow: 0, then 1, and so on "
            "until the bound leaves nothing out. Default: no bound.",
            rich_help_panel=BOUNDS,
        ),
    ] = None,
    spurious: Annotated[
        int,
        typer.Option(
            help="Let each wait end spuriously up to this many times, and the waits of each actor "
            "by up to this many signals.",
            rich_help_panel=BOUNDS,
        ),
    ] = 0,
    failing_heavy: Annotated[
        int,
        typer.Option(
            help="Let up to this many heavy fences of each actor fail.", rich_help_panel=BOUNDS
        ),
    ] = 0,
    include: Annotated[
        list[Path] | None,
        typer.Option(
            "-I",
            metavar="DIR",
            help="Look for included files of your program in this folder, too.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    argument: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            metavar="TEXT",
            help="Give this argument to your program's main.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    cargo: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEST",
            help="Explore a test of a package in Rust, as cargo test names it. FILE is the folder "
            "of the package, by default the current one. May be given more than once.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    volatile: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Choose what a volatile access of your program is. plain: as in C11, so it can "
            "race; relaxed: an atomic access, as kernel-style code means it.",
            rich_help_panel=MODEL,
        ),
    ] = "plain",
    leaks: Annotated[
        bool,
        typer.Option(
            help="Count it as a defect of your program if memory is never freed and no pointer "
            "to it is left.",
            rich_help_panel=MODEL,
        ),
    ] = True,
    timeouts: Annotated[
        bool,
        typer.Option(help="Let a wait with a deadline time out.", rich_help_panel=BOUNDS),
    ] = True,
    max_bytes: Annotated[
        str,
        typer.Option(
            metavar="BYTES",
            help="Limit the memory of each run, as in 500M or 2G; 0: no limit.",
            rich_help_panel=BOUNDS,
        ),
    ] = "2G",
    jobs: Annotated[
        int,
        typer.Option(
            help="Use this many processes. If there are fewer scenarios than processes, they "
            "share the graphs of each scenario, and threads share its states.",
            rich_help_panel=BOUNDS,
        ),
    ] = 1,
    parallel: Annotated[
        bool,
        typer.Option(
            "--parallel", help="Use one process per CPU instead of --jobs.", rich_help_panel=BOUNDS
        ),
    ] = False,
    dask: AsDask = None,
    _sandbox: InSandbox = False,
    strict: Annotated[
        bool,
        typer.Option(
            help="Fail on a scenario that was not judged, or only in part.", rich_help_panel=OUTPUT
        ),
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the counterexamples to this folder. Default: build/explore.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write JUnit XML to this file, too: a case for each scenario, program and twin.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    sarif: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write SARIF to this file, too: a result for each problem, with its lines.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    html: AsPage = None,
    form: AsFormat = output.TEXT,
) -> None:
    """Explore every interleaving and reordering under SC, x86-TSO and RC11; litmus on ARMv8.

    Examples:

      wakeproof explore                              all scenarios, with their twins

      wakeproof explore -t guard --model rc11        one concept under one model

      wakeproof explore litmus.txt --model armv8     load buffering too: ARM's own model

      wakeproof explore test.c queue.c -I include -- -DN=3  your program, with its threads

      wakeproof explore queue.rs                     your program in Rust

      wakeproof explore --cargo tests::pops_once     a test of the package in this folder

      wakeproof explore path/to/race.c               your own race, written with stress.h

      wakeproof explore race.c --strict --sarif found.sarif  for code review, in CI

      wakeproof explore path/to/litmus.txt           programs as text: stress/explorer/data.c

      wakeproof explore -t guard --order guard.2=relaxed  is that order needed?

      wakeproof explore --dask tcp://10.0.0.1:8786   all of them, on many machines

      wakeproof explore -t search --sample pct:d=3   10000 at random, where all are too many

      wakeproof explore -t search --sample random --seeds 64 --dask local:4  of 64 seeds

      wakeproof explore test.c --parts 256 --dask tcp://10.0.0.1:8786  one search, in parts
    """
    out = output.checked(html, form, as_json=as_json)
    render.check_folder("--junit", junit)
    render.check_folder("--sarif", sarif)
    labels = explore_labels.read(locations.sources())
    samples, depth = sample_of(sample) if sample else (0, 0)
    bound, grows = preemptions_of(preemptions) if preemptions is not None else (None, False)
    if preemptions is not None and engine == "auto":
        engine = "states"  # the only engine that has preemptions
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
        mapping=mapping, max_bytes=bytes_of(max_bytes), seconds=seconds, estimate=estimate,
        orders=tuple(o for text in order or () for o in _orders(text, labels)),
    ).checked()  # fmt: skip
    if save is not None:
        save.mkdir(
            parents=True, exist_ok=True
        )  # a folder that cannot be made fails now, not after minutes
    if cargo and (include or argument or volatile != "plain"):
        raise UsageError("--cargo takes no -I, --arg or --volatile, which are for a program")
    given, programs = (
        _tests(files or [], cargo) if cargo
        else _given(files or [], include or [], argument or [], volatile)
    )  # fmt: skip
    screen = report.console(stderr=as_json)
    with StressProgress(screen) as progress:
        kept = save or locations.cache() / "explore"
        programs = [replace(program, may_leak=not leaks) for program in programs]
        found: ExploreReport | None
        is_cut = seeds != 1 or parts != 1
        if dask is not None or is_cut:
            if dask is None and (parallel or jobs > 1):
                raise UsageError(
                    "--seeds and --parts take --dask local:N instead of --jobs and --parallel"
                )
            files_given = given if given is not None or not programs else []
            found = shards.run(
                files_given, programs, pattern, options, dask, twins=twins, save=kept,
                progress=progress.show, seeds=seeds, parts=parts,
            )  # fmt: skip
        else:
            found = None if programs and not given else judge.explore(
                given, pattern, options, twins=twins, progress=progress.show,
                jobs=len(os.sched_getaffinity(0)) if parallel else jobs, save=kept,
            )  # fmt: skip
        if programs and dask is None and not is_cut:
            own = own_judge.report(
                programs, options, regex=pattern, twins=twins, save=kept, progress=progress.show
            )
            found = own.beside(found) if found else own
    assert found is not None
    if junit is not None:
        locations.write_atomically(junit, formats.to_junit(found, strict=strict))
    if sarif is not None:
        text = report.to_json(formats.to_sarif(found, Path.cwd()))
        locations.write_atomically(sarif, text + "\n")
    printed = out.given(
        screen, "wakeproof explore", lambda to: explore_print.show(to, found, labels),
        lambda: of_explore.with_sources(found.counterexamples, labels),
    )  # fmt: skip
    report.end(
        lambda: summary(found, strict), printed, as_json=as_json, holds=found.ok(strict)
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


def _given(
    files: list[Path], include: list[Path], arguments: list[str], volatile: str
) -> tuple[list[Path] | None, list[Program]]:
    """Return the scenarios and programs as text (None: none was given), and the programs in C."""
    named, flags = without_flags(files)
    flags += [f"-I{folder}" for folder in include]
    given = scenarios.find(named)
    is_relaxed = _one_of("--volatile", volatile, ("plain", "relaxed")) == "relaxed"
    if not files:
        return None, []
    built = [file for file in given if listing(file).is_file()]
    code = [
        file for file in given
        if file.suffix in (*LINKED, *CXX, RUST) or (file.suffix == ".c" and not is_scenario(file))
    ]  # fmt: skip
    races = [file for file in given if file.suffix == ".c" and is_scenario(file)]
    if races and (flags or is_relaxed or any(not has_main(file) for file in code)):
        code += races
    elif races:
        with Children() as children:
            code += [file for file in races if needs_program(file, children)]
    if not code + built and (flags or arguments):
        raise UsageError(f"{(flags + arguments)[0]} is for programs with a main, and there is none")
    if built and flags:
        raise UsageError(f"{flags[0]} is for sources, and {built[0]} is linked already")
    if arguments and any(file in code for file in races):
        raise UsageError(f"--arg {arguments[0]} is for programs with a main, not for scenarios")
    programs = of_files(code, flags, arguments, volatile_is_relaxed=is_relaxed) if code else []
    for file in built:
        of_build = of_files(linked(file), (), arguments, volatile_is_relaxed=is_relaxed)
        programs += [replace(program, called=file.name) for program in of_build]
    return [file for file in given if file not in code + built], programs


def _tests(files: list[Path], names: list[str]) -> tuple[list[Path] | None, list[Program]]:
    """Return the tests of a package in Rust as programs."""
    package = files[0] if files else Path()
    if len(files) > 1 or not (package / "Cargo.toml").is_file():
        shown = ", ".join(map(str, files)) or "the current folder"
        raise UsageError(f"--cargo takes one folder with a Cargo.toml; there is none in {shown}")
    manifest = (package / "Cargo.toml").resolve()
    return [], [Program((manifest,), test=name) for name in names]


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UsageError(f"{option} is {value!r}; allowed: {', '.join(allowed)}")
    return value


def _orders(text: str, labels: Labels) -> list[tuple[str, int, str]]:
    """Return the memory orders that ``guard.2=relaxed`` or ``guard.h:120=relaxed`` replaces."""
    site, equals, order = text.partition("=")
    file, colon, line = site.rpartition(":")
    if not equals or (colon and not line.isdigit()):
        raise UsageError(
            f"--order is {text!r}; allowed: SITE=ORDER, as in guard.2=relaxed or "
            "guard.h:120=relaxed"
        )
    if colon:
        return [(file, int(line), order)]
    return [(name, at, order) for name, at in labels.lines(site)]
