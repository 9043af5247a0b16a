# SPDX-License-Identifier: Apache-2.0
"""`wakeproof prove`: safety for any number of threads, by inductive invariants and two solvers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from wakeproof import locations
from wakeproof.cli.panels import BOUNDS, AsJson
from wakeproof.errors import UsageError
from wakeproof.judge import lock, report, store
from wakeproof.judge.prove import hints
from wakeproof.judge.prove import run as judge
from wakeproof.judge.prove.run import Broken, Proof, ProveReport
from wakeproof.judge.prove.shown import Failure
from wakeproof.judge.prove.solvers import TIMEOUT_S
from wakeproof.judge.verdicts import Rows


def prove(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[MODULE.tla [CONFIG.cfg]]",
            help="Prove your own module, which has an IndInv. Default: all of wakeproof's specs.",
            show_default=False,
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option("-t", metavar="REGEX", help="Prove the modules and modes whose name matches."),
    ] = None,
    twins: Annotated[
        bool, typer.Option(help="Let each twin of a proved claim break the proof, too.")
    ] = True,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show where each twin breaks the proof, as a state.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--evidence",
            metavar="FOLDER",
            help="Keep cvc5's proof of each formula there, and let z3 repeat it.",
        ),
    ] = None,
    locked: Annotated[
        bool, typer.Option("--lock", help="Write the verdicts to verdicts.lock, if all hold.")
    ] = False,
    as_json: AsJson = False,
    seconds: Annotated[
        float,
        typer.Option(
            help="Give each solver this many seconds for one formula.", rich_help_panel=BOUNDS
        ),
    ] = TIMEOUT_S,
) -> None:
    """Prove safety for any number of threads: an inductive invariant of the spec implies the claim.

    z3 and cvc5 must both refute each formula: that the invariant fails at first, that a step breaks
    it, or that it holds and the claim does not. Each twin of a proved claim must break the proof.
    With a file, the command proves your own module: its IndInv implies the invariants that the
    configuration lists, for constant sets of any size.

    Examples:

      wakeproof prove                    all specs that have an IndInv, and their twins

      wakeproof prove -t Guard           one module, in each of its modes

      wakeproof prove -t Guard --trace   with the state in which each twin breaks the proof

      wakeproof prove my.tla             your own module, with my.cfg beside it

      wakeproof prove -t Guard --no-twins --evidence proofs   keep the proofs, one archive a mode
    """
    if not 0 < seconds <= judge.LONGEST_S:
        raise UsageError(f"seconds is {seconds:g}; allowed: more than 0, up to {judge.LONGEST_S:g}")
    if folder is not None and folder.exists() and not folder.is_dir():
        raise UsageError(f"--evidence {folder}: it is a file; name a folder, or one to be made")
    if locked and (files or pattern is not None or not twins):
        raise UsageError("--lock is for all proofs and twins: leave out -t, --no-twins and files")
    if locked and not locations.is_checkout():
        raise UsageError(
            f"--lock writes {lock.NAME} of a checkout, and this is an installed package"
        )
    screen = report.console(stderr=as_json)
    rows = Rows()
    if files:
        if pattern is not None:
            raise UsageError("-t is for wakeproof's own specs: leave out the file")
        if len(files) > 2:
            raise UsageError("one module at a time: wakeproof prove MODULE.tla [CONFIG.cfg]")
        with screen.status(f"z3, cvc5: {files[0].name}"):
            found = judge.prove_own(*files, timeout_s=seconds, folder=folder)
    else:
        found = judge.prove(
            pattern, twins=twins, timeout_s=seconds, folder=folder, rows=rows,
            progress=lambda one: report.line(screen, line(one), good=one.holds),
        )  # fmt: skip
    if locked:
        if found.holds:
            lock.replace_judge(locations.sources() / lock.NAME, "prove", rows.all, store.now())
            specs = locations.sources() / "specs"
            hints.write(specs, found.hints(before=hints.read(specs)))
        said = "has these verdicts" if found.holds else "is left as it is: not everything is proved"
        screen.print(f"{lock.NAME} {said}", markup=False, soft_wrap=True)
    report.end(
        lambda: summary(found), lambda: _print(screen, found, traced=trace), as_json=as_json,
        holds=found.holds,
    )  # fmt: skip


def line(one: Proof | Broken) -> str:
    """Return one result in a line."""
    since = f", of {one.since}" if one.since else ""
    if isinstance(one, Broken):
        return f"twin {one.name}, violates {one.claim}: {one.verdict}{since}"
    seconds = f"z3 {one.z3_s:.1f} s, cvc5 {one.cvc5_s:.1f} s"
    return f"{one.name}: {one.verdict}, {one.obligations} formulas, {seconds}{since}"


def _print(screen: Console, found: ProveReport, *, traced: bool) -> None:
    for one in found.results:
        for what in one.alone if isinstance(one, Proof) else ():
            screen.print(f"{one.name}: proved by one solver alone, {what}", style="yellow",
                         markup=False, soft_wrap=True)  # fmt: skip
        for failed in one.failures if traced or not one.holds else ():
            _print_failure(screen, failed, one.name)
    for proof in found.proofs:
        if kept := proof.kept:
            screen.print(
                f"{kept.file}: {kept.proofs} proofs of cvc5 for {kept.formulas} formulas; z3 "
                f"refutes {kept.ground} of them by cvc5's instances alone",
                markup=False, soft_wrap=True,
            )  # fmt: skip
    screen.print()
    columns = ("proof", "claims", ">paths", ">conjuncts", ">formulas", ">unchanged", ">z3 s",
               ">cvc5 s", "")  # fmt: skip
    screen.print(report.table("", columns, [_row(one) for one in found.proofs]))
    if found.twins:
        rows = [_twin_row(one) for one in found.twins]
        screen.print()
        screen.print(report.table("", ("twin", "violates", "the proof"), rows))
        screen.print(_WHAT_IT_SHOWS, markup=False)
    addressed = sum(one.is_addressed for one in found.twins)
    report.total(screen, counted(len(found.proofs), addressed), found)


def counted(proofs: int, twins: int) -> str:
    """Return what was judged, in words."""
    one, it = ("1 proof", "it") if proofs == 1 else (f"{proofs} proofs", "them")
    return f"{one}, {twins} twin{'s' * (twins != 1)} that must break {it}"


_WHAT_IT_SHOWS = (
    "\nThe state in which a twin breaks a proof may be one that is never reached. That the twin is "
    "a\ndefect is shown by TLC: wakeproof check --trace MCGuard_no_fence."
)


def _row(one: Proof) -> list[object]:
    return [
        one.name, "\n".join(one.claims), one.paths, len(one.conjuncts), one.obligations,
        one.skipped, f"{one.z3_s:.1f}", f"{one.cvc5_s:.1f}",
        report.verdict(one.verdict, good=one.holds),
    ]  # fmt: skip


def _twin_row(one: Broken) -> list[object]:
    if not one.is_addressed:
        return [one.name, one.claim, f"not addressed: {one.verdict}"]
    return [one.name, one.claim, report.verdict(one.verdict, good=one.holds)]


def _print_failure(screen: Console, failed: Failure, name: str) -> None:
    """Print a counterexample to induction: step, state before, and what the step changes."""
    screen.print(f"\n{name}: {failed.what}", style="bold", markup=False, soft_wrap=True)
    if not failed.has_example:
        screen.print("  no solver knows", markup=False)
        return
    if not failed.before:
        screen.print("  cvc5 says that there is such a state, and z3 finds none to show",
                     markup=False)  # fmt: skip
        return
    screen.print(f"  {failed.step or 'at first'} breaks {failed.conjunct}", markup=False)
    state = "; ".join(f"{variable} = {value}" for variable, value in failed.before)
    screen.print(f"  before: {state}", markup=False, soft_wrap=True)
    for what, old, new in failed.changes:
        screen.print(f"  {what}: {old} -> {new}", markup=False, soft_wrap=True)


def summary(found: ProveReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "judge": "prove", "holds": found.holds, "seconds": round(found.seconds, 1),
        "proofs": [
            {
                "name": one.name, "module": one.module, "claims": one.claims,
                "verdict": one.verdict, "holds": one.holds, "paths": one.paths,
                "conjuncts": one.conjuncts, "formulas": one.obligations, "unchanged": one.skipped,
                "z3_seconds": round(one.z3_s, 1), "cvc5_seconds": round(one.cvc5_s, 1),
                "cvc5_by_enumeration": one.enumerated, "alone": one.alone,
                "failures": one.failures, "evidence": one.kept, "since": one.since,
            }
            for one in found.proofs
        ],
        "twins": [
            {
                "name": one.name, "violates": one.claim, "verdict": one.verdict,
                "is_addressed": one.is_addressed, "is_decided": one.is_decided,
                "holds": one.holds, "failures": one.failures, "since": one.since,
            }
            for one in found.twins
        ],
    }  # fmt: skip
