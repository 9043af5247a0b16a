# SPDX-License-Identifier: Apache-2.0
"""Input that `prove` refuses, each with one line that says what is allowed; and Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.conftest import Command

from wakeproof.errors import UsageError
from wakeproof.judge.prove import run as judge

from .toys import written

pytestmark = pytest.mark.slow  # most tests start SANY


def refused(module: Path, config: Path | None = None) -> str:
    """Return the error of a module that is refused, without the folder."""
    with pytest.raises(UsageError) as caught:
        judge.prove_own(module, config)
    said = str(caught.value)
    assert "\n" not in said
    return said.replace(f"{module.parent}/", "")


def test_an_operator_outside_the_fragment_is_named_with_its_line_and_what_is_allowed(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, ("IndTypes == taken <= 2", "IndTypes == taken <= 2 /\\ ENABLED Next"))
    said = refused(file)
    assert said.startswith("Toy.tla:42: the operator ENABLED is outside the fragment; allowed: ")
    allowed = said.partition("allowed: ")[2].partition(" (in")[0].split()
    assert {"Cardinality", "Append", "\\in", "UNCHANGED", "+"} <= {*allowed}
    assert "ENABLED" not in allowed


def test_a_module_without_an_inductive_invariant_says_what_to_define(tmp_path: Path) -> None:
    assert refused(written(tmp_path, ("IndInv == IndTypes", "Inv == IndTypes"))) == (
        "Toy.tla: IndInv is not defined; define it as an inductive invariant that implies Exclusive"
    )


def test_an_inductive_invariant_that_no_state_satisfies_says_nothing(tmp_path: Path) -> None:
    change = ("LineIsDistinct /\\ taken >= 0", "LineIsDistinct /\\ taken > 2")
    (proof,) = judge.prove_own(written(tmp_path, change)).proofs
    assert proof.verdict == "says nothing: no state satisfies IndInv"
    assert not proof.holds


def test_an_invariant_that_only_the_first_states_break_is_not_called_unsatisfiable(
    tmp_path: Path,
) -> None:
    change = ("LineIsDistinct /\\ taken >= 0", "LineIsDistinct /\\ taken > 1")
    (proof,) = judge.prove_own(written(tmp_path, change)).proofs
    assert proof.verdict.startswith("not proved: ")


def test_a_syntax_error_is_sanys_with_its_line(tmp_path: Path) -> None:
    said = refused(written(tmp_path, ("Exclusive == Card", "Exclusive = = Card")))
    assert said.startswith("Toy.tla: ***Parse Error***; ")
    assert "at line 40" in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("CONSTANTS\n", "CONSTANTS\n  Nope = 3\n",
         "Toy.cfg: Nope is no constant of Toy.tla; allowed: Mode, Threads"),
        ('  Mode = "right"\n', "",
         "Toy.cfg: no value for the constant Mode of Toy.tla; write Mode = value below CONSTANTS"),
        ("Threads =", "Threads <-", "Toy.cfg: Threads <- {a, b}: write each constant as Name = "
         "value"),
        ("{a, b}", "{a, b",
         "Toy.cfg: Threads = {a, b is no plain value: TLC printed something that is not a value: "
         "'{a, b'; allowed: a number, a string, TRUE, FALSE, a model value, a set of these"),
        ("  Exclusive\n", "  Exclusiv\n",
         "Toy.cfg: Exclusiv is not defined by Toy.tla; it defines Exclusive"),
        ("NEXT Next", "NEXT Step", "Toy.cfg: Step is not defined by Toy.tla"),
        ("INIT Init\nNEXT Next", "SPECIFICATION Spec",
         "Toy.cfg: SPECIFICATION Spec: Toy.tla does not define Spec"),
        ("INIT Init\nNEXT Next", "SPECIFICATION Counts",
         "Toy.cfg: SPECIFICATION Counts is not Init /\\ [][Next]_vars, of names, with or without "
         "fairness; write INIT NAME and NEXT NAME instead"),
        ("INIT Init", "INTI Init",
         "Toy.cfg: INTI: no section; allowed: SPECIFICATION, INIT, NEXT, CONSTANT, CONSTANTS, "
         "INVARIANT, INVARIANTS, PROPERTY, PROPERTIES, SYMMETRY, CONSTRAINT, CONSTRAINTS, "
         "ACTION_CONSTRAINT, ACTION_CONSTRAINTS, CHECK_DEADLOCK, VIEW, ALIAS, POSTCONDITION"),
    ],
)  # fmt: skip
def test_a_configuration_that_does_not_fit_is_named_with_what_is_allowed(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    file = written(tmp_path)
    config = file.with_suffix(".cfg")
    text = config.read_text(encoding="utf-8")
    assert old in text
    config.write_text(text.replace(old, new), encoding="utf-8")
    assert refused(file) == said


def test_a_specification_names_the_behaviours_that_are_proved(tmp_path: Path) -> None:
    other = (
        "Exclusive == Card",
        (
            "vars == <<holder, pc, line, taken>>\n"
            "Grow == Next \\/ (taken' = taken + 1 /\\ UNCHANGED <<holder, pc, line>>)\n"
            "Spec == Init /\\ [][Next]_vars /\\ WF_vars(Next)\n"
            "Fast == Init /\\ [][Grow]_vars\nExclusive == Card"
        ),
    )
    file = written(tmp_path, other)
    config = file.with_suffix(".cfg")
    text = config.read_text(encoding="utf-8")
    verdicts = {}
    for spec in ("Spec", "Fast"):
        new = text.replace("INIT Init\nNEXT Next", f"SPECIFICATION {spec}")
        config.write_text(new, encoding="utf-8")
        (proof,) = judge.prove_own(file).proofs
        verdicts[spec] = proof.holds
    assert verdicts == {"Spec": True, "Fast": False}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    file = written(tmp_path)
    assert refused(tmp_path / "No.tla") == "No.tla: there is no such .tla file"
    assert refused(file.with_suffix(".cfg")) == "Toy.cfg: there is no such .tla file"
    assert refused(file, tmp_path / "No.cfg") == (
        "No.cfg: there is no such file: it gives constants and invariants"
    )


def test_the_command_prints_one_line_and_ends_with_2(wakeproof: Command, tmp_path: Path) -> None:
    ended = wakeproof("prove", str(written(tmp_path, ("IndInv == IndTypes", "Inv == IndTypes"))))
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "IndInv is not defined" in ended.stderr
    assert "Traceback" not in ended.stderr


def descendants(parent: int) -> list[int]:
    """Return the ids of all processes below `parent`."""
    found = []
    for thread in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            own = [int(child) for child in thread.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += own + [one for child in own for one in descendants(child)]
    return found


def is_solver(process: int) -> bool:
    """Say whether it is a solver's process."""
    try:
        return "solver_child" in Path(f"/proc/{process}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


PROVE = """
import sys
from pathlib import Path
from wakeproof import cli, locations
folder = Path(sys.argv.pop(1))
locations.cache = lambda: folder
cli.main()
"""


def prove(caches: Path, pattern: str) -> subprocess.Popen[str]:
    """Start a proof of our own modules that keeps its results in a folder of its own."""
    caches.mkdir(exist_ok=True)
    options = ["prove", "-t", pattern, "--no-twins", "--json"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", PROVE, str(caches), *options], stdout=pipe, stderr=pipe, text=True
    )


def results(caches: Path) -> list[Path]:
    """Return the files with results, whole or not."""
    return [one for one in (caches / "judged").rglob("*") if one.is_file()]


@pytest.mark.rotates
def test_an_interrupted_proof_leaves_no_solver_and_no_result(tmp_path: Path) -> None:
    caches = tmp_path / "caches"
    with prove(caches, "^Search") as run:
        solvers: list[int] = []
        try:
            pause, deadline = threading.Event(), time.monotonic() + 300
            while len(solvers) < 2 and time.monotonic() < deadline:
                assert not pause.wait(0.02)
                assert run.poll() is None, "it has ended"
                solvers = [one for one in descendants(run.pid) if is_solver(one)]
        finally:
            run.send_signal(signal.SIGINT)
        printed, message = run.communicate(timeout=30)
    assert len(solvers) == 2
    assert (run.returncode, message, printed) == (130, "wakeproof: interrupted\n", "")
    assert [one for one in solvers if is_solver(one)] == []
    assert results(caches) == []


def test_a_proof_that_is_not_interrupted_keeps_its_result(tmp_path: Path) -> None:
    caches = tmp_path / "caches"
    with prove(caches, "^BiasedLock") as run:
        _, message = run.communicate(timeout=300)
    assert (run.returncode, message.count("not proved")) == (0, 0)
    kept = results(caches)  # the verdict, and the formulas that were refuted
    assert len(kept) == 2
    assert {result.suffix for result in kept} == {".json"}
