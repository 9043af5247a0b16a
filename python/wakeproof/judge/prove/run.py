# SPDX-License-Identifier: Apache-2.0
"""The judge `prove`: each claim of a subject follows from an inductive invariant, for any number.

z3 and cvc5 must both refute every obligation.  A twin that violates a proved claim must break the
proof, at a conjunct that says more than a type: otherwise the invariant does not rest on what the
twin takes away.  That the twin is a defect is shown by TLC's trace, for the state in which a proof
breaks may be one that is never reached.

What was judged is kept under a hash of all inputs (`verdicts`).
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import store
from wakeproof.judge.lock import Row
from wakeproof.judge.process import Children
from wakeproof.judge.prove import evidence, hints, modules, reached, smt, solvers, subjects
from wakeproof.judge.prove.evidence import Evidence
from wakeproof.judge.prove.hints import Hints
from wakeproof.judge.prove.modules import ACTION, Apply, Module, OutsideFragmentError
from wakeproof.judge.prove.obligations import Obligation, Problem
from wakeproof.judge.prove.shown import Failure, failure
from wakeproof.judge.prove.solvers import TIMEOUT_S, Answer, Solver
from wakeproof.judge.prove.subjects import Subject, TwinOf
from wakeproof.judge.results import Results
from wakeproof.judge.tlc import config as tlc_config
from wakeproof.judge.tlc import models, toolchain
from wakeproof.judge.verdicts import Rows

PROVED: Final = "proved"
TWIN_S: Final = 20.0
"""For one obligation of a twin: it must find a counterexample, which is quick."""
REACHED_S: Final = 120.0
"""For TLC, where no solver decides a twin."""
FOCUSED_S: Final = {"z3": 0.5, "cvc5": 0.1}
"""The share of an obligation's time that each solver has for its weaker text."""
RESTING_S: Final = 4.0
"""For the same text with those hypotheses alone on which a proof rests."""
SLOW_S: Final = 60.0
"""A proof that takes the solvers longer keeps hints for the next one."""
EXAMPLES: Final = 12
"""The steps that are tried for one that the invariant enables."""
LONGEST_S: Final = 600.0
"""The most seconds for one obligation."""
JUDGE: Final = tuple(
    f"prove/{name}.py" for name in (
        "evaluate", "focus", "hints", "modules", "obligations", "paths", "reached", "run", "shapes",
        "smt", "solver_child", "solvers", "subjects", "values",
    )
)  # fmt: skip
"""The modules on which a verdict depends."""
SHOWN: Final = 5
"""The obligations that are shown of those that failed."""


@dataclass(frozen=True)
class Proof:
    """One subject: what the solvers say of its obligations."""

    name: str
    module: str
    claims: tuple[str, ...]
    verdict: str  # "proved", "proved by z3 alone", or what is wrong
    obligations: int = 0
    skipped: int = 0  # that nothing a step changes could break
    paths: int = 0
    conjuncts: tuple[str, ...] = ()
    z3_s: float = 0.0
    cvc5_s: float = 0.0
    enumerated: int = 0  # which cvc5 proved only with another way of choosing instances
    alone: tuple[str, ...] = ()  # "z3: Claim keeps Paid": what one solver alone has proved
    failures: tuple[Failure, ...] = ()
    kept: Evidence | None = None
    rests: Hints = field(default_factory=dict)  # the hypotheses of obligations, where asked for
    since: str = ""

    @property
    def holds(self) -> bool:
        """Say whether both solvers have proved all."""
        return self.verdict == PROVED


@dataclass(frozen=True)
class Broken:
    """One twin: where it breaks the proof, or why no proof addresses it."""

    name: str  # "Guard_no_fence"
    claim: str
    verdict: str  # "breaks WorkIsSeen", or what is wrong
    is_addressed: bool = True
    is_decided: bool = True  # a solver answered, within its time
    breaks: bool = False
    failures: tuple[Failure, ...] = ()
    since: str = ""

    @property
    def holds(self) -> bool:
        """Say whether the twin breaks the proof as it must, if it must."""
        return self.breaks or not self.is_addressed


class ProveReport(Results[Proof | Broken]):
    """All subjects and twins."""

    @property
    def verdict(self) -> str:
        """Return the verdict: how many results are wrong, and how many twins are not decided."""
        open_ = sum(not one.is_decided for one in self.twins)
        wrong = sum(not one.holds for one in self.results) - open_
        parts = [f"{wrong} WRONG"] * bool(wrong) + [f"{open_} not decided"] * bool(open_)
        return ", ".join(parts) or "all as expected"

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """Return the subjects."""
        return tuple(one for one in self.results if isinstance(one, Proof))

    @property
    def twins(self) -> tuple[Broken, ...]:
        """Return the twins."""
        return tuple(one for one in self.results if isinstance(one, Broken))

    def hints(self, before: Collection[str] = ()) -> dict[str, Hints]:
        """Return the hints of each module whose proof was slow, or that had hints `before`."""
        slow = {one.module for one in self.proofs if one.z3_s + one.cvc5_s > SLOW_S} | {*before}
        return {
            module: hints.merged(one.rests for one in self.proofs if one.module == module)
            for module in sorted(slow)
            if any(one.rests for one in self.proofs if one.module == module)
        }


Progress = Callable[[Proof | Broken], None]


@dataclass
class _Work:
    """What one job shares."""

    children: Children
    z3: Solver
    cvc5: Solver
    rows: Rows
    folder: Path | None = None  # for the evidence
    is_own: bool = True  # one of our specifications: formulas that are refuted are kept
    hints: dict[str, Hints] = field(default_factory=dict)  # by module


def prove(
    pattern: str | None = None, *, twins: bool = True, specs: Path | None = None,
    progress: Progress | None = None, rows: Rows | None = None, timeout_s: float = TIMEOUT_S,
    folder: Path | None = None,
) -> ProveReport:  # fmt: skip
    """Prove the subjects whose name matches `pattern` (None: all), and break the proofs by twins.

    Args:
        pattern: regular expression, any case, found anywhere in a subject's name.
        twins: also the twins of the claims.
        specs: folder with tables (None: our own).
        progress: called after each result.
        rows: what is in them is not judged again, and new ones are added (None: the store's).
        timeout_s: for one obligation and solver.
        folder: for the evidence of each proof, which is then made anew (None: none is kept).

    Raises:
        UsageError: nothing matches, or a module is outside the fragment.
        MissingToolError: no Java, no TLC, or no solver.
    """
    tables = specs or locations.sources() / "specs"
    chosen = list(subjects.every(tables, pattern))
    solvers.versions()
    made = models.folder(tables)
    begin = time.monotonic()
    results: list[Proof | Broken] = []

    def add(result: Proof | Broken) -> None:
        results.append(result)
        if progress:
            progress(result)

    with Children() as children, Solver("z3", children) as z3, Solver("cvc5", children) as cvc5:
        work = _Work(children, z3, cvc5, rows or Rows(), folder, hints=dict(hints.read(tables)))
        for table in dict.fromkeys(one.file for one, _ in chosen):
            own = [(one, subject) for one, subject in chosen if one.file == table]
            problems: dict[str, Problem] = {}
            for _, subject in own:
                found = _proof(work, made, subject, problems, timeout_s)
                known = work.hints.get(subject.module, {})
                work.hints[subject.module] = hints.merged([known, found.rests])
                add(found)
            if twins:
                for twin in subjects.twins(own[0][0], [subject for _, subject in own]):
                    add(_twin(work, made, twin, own[0][1].module, problems))
    return ProveReport(tuple(results), time.monotonic() - begin)


def prove_own(
    module: Path, config: Path | None = None, *, timeout_s: float = TIMEOUT_S,
    folder: Path | None = None,
) -> ProveReport:  # fmt: skip
    """Prove a user's own module, which has an IndInv, for the invariants that its .cfg lists.

    Raises:
        UsageError: a file is missing, or the module is outside the fragment.
        MissingToolError: no Java, no TLC, or no solver.
    """
    if module.suffix != ".tla" or not module.is_file():
        raise UsageError(f"{module}: there is no such .tla file")
    config = config or module.with_suffix(".cfg")
    if not config.is_file():
        raise UsageError(f"{config}: there is no such file: it gives constants and invariants")
    subject = subjects.of_config(module, config)
    named = {head: body.strip() for head, body in tlc_config.sections(config)}
    solvers.versions()
    begin = time.monotonic()
    with Children() as children, Solver("z3", children) as z3, Solver("cvc5", children) as cvc5:
        work = _Work(children, z3, cvc5, Rows(), folder, is_own=False)
        text = modules.read(module.absolute(), children)
        if "SPECIFICATION" in named:
            init, next_ = _behaviours(text, config, named["SPECIFICATION"])
            subject = replace(subject, init=init, next=next_)
        _fits(text, module, config, subject)
        types = tuple(name for name in ("TypeOK", "IndTypes") if text.has(name))
        problem = Problem(text, replace(subject, types=types or (subject.invariant,)))
        found = _judged(work, problem, timeout_s)
    return ProveReport((found,), time.monotonic() - begin)


def _behaviours(text: Module, config: Path, name: str) -> tuple[str, str]:
    """Return the names of the initial predicate and the next-state relation of a spec."""
    if not text.has(name):
        raise UsageError(f"{config}: SPECIFICATION {name}: {text.name}.tla does not define {name}")
    parts, init, steps = [text.named(name).body], [], []
    while parts:
        one = parts.pop(0)
        if not isinstance(one, Apply):
            continue
        if one.name in ("\\land", "$ConjList"):
            parts += one.operands
        elif one.level < ACTION:
            init.append(one.name * one.is_defined)
        elif one.name == "[]" and isinstance(inner := one.operands[0], Apply):
            step = inner.operands[0]
            is_named = inner.name == "$SquareAct" and isinstance(step, Apply) and step.is_defined
            steps.append(step.name if is_named and isinstance(step, Apply) else "")
    if len(init) != 1 or len(steps) != 1 or not init[0] or not steps[0]:
        raise UsageError(
            f"{config}: SPECIFICATION {name} is not Init /\\ [][Next]_vars, of names, with or "
            "without fairness; write INIT NAME and NEXT NAME instead"
        )
    return init[0], steps[0]


def _fits(text: Module, module: Path, config: Path, subject: Subject) -> None:
    """Check that a user's module has what its configuration names, and what is proved.

    Raises:
        UsageError: it has not.
    """
    given = {
        *subject.modes, *subject.sets, *subject.numbers, *subject.switches, *subject.elements,
    }  # fmt: skip
    allowed = ", ".join(text.constants) or "none, for it has no constants"
    for name in sorted(given - {*text.constants}):
        raise UsageError(f"{config}: {name} is no constant of {module.name}; allowed: {allowed}")
    for name in text.constants:
        if name not in given:
            raise UsageError(f"{config}: no value for the constant {name} of {module.name}; write "
                             f"{name} = value below CONSTANTS")  # fmt: skip
    for name in (subject.init, subject.next, *subject.claims):
        if not text.has(name):
            near = ", ".join(difflib.get_close_matches(name, text.names, 3))
            raise UsageError(f"{config}: {name} is not defined by {module.name}"
                             f"{'; it defines ' + near if near else ''}")  # fmt: skip
    if not text.has(subject.invariant):
        implied = " and ".join(subject.claims) or "what the configuration lists as INVARIANT"
        raise UsageError(
            f"{module}: {subject.invariant} is not defined; define it as an inductive invariant "
            f"that implies {implied}"
        )


def inputs_of(made: Path, module: str, subject: Subject) -> dict[str, str]:
    """Return all on which a verdict depends, each with its content."""
    return {
        **{f"module {name}": text for name, text in models.modules(made, module).items()},
        **_solvers(),
        "TLC": store.file_hash(toolchain.find().jar),
        "subject": subject.key,
        **store.code(*JUDGE),
    }


def twin_name(module: str, twin: TwinOf) -> str:
    """Return the name of a twin's row: ``Guard_no_fence``."""
    return f"{module}_{twin.defect}"


def inputs_of_twin(made: Path, module: str, twin: TwinOf) -> dict[str, str]:
    """Return all on which the verdict on a twin that a proof addresses depends."""
    assert twin.subject is not None
    home = models.home(made, module, twin.defect)
    right = models.modules(made, module)
    return inputs_of(home, module, twin.subject) | {f"right {n}": text for n, text in right.items()}


def _problem(work: _Work, made: Path, subject: Subject) -> Problem:
    return Problem(modules.read(made / f"{subject.module}.tla", work.children), subject)


def _proof(
    work: _Work, made: Path, subject: Subject, problems: dict[str, Problem], timeout_s: float
) -> Proof:
    inputs = inputs_of(made, subject.module, subject)
    row = work.rows.find("prove", subject.name, inputs)
    if row is not None and row.more and work.folder is None:
        return _proof_of(row)
    problem = problems[subject.name] = _problem(work, made, subject)
    found = _judged(work, problem, timeout_s)
    counts = {"obligations": found.obligations, "skipped": found.skipped, "paths": found.paths}
    seconds, more = round(found.z3_s + found.cvc5_s, 1), asdict(replace(found, kept=None))
    work.rows.judged(
        "prove", subject.name, inputs, found.verdict, counts, {"seconds": seconds}, more,
        holds=found.holds,
    )  # fmt: skip
    return found


def _judged(work: _Work, problem: Problem, timeout_s: float) -> Proof:
    """Ask both solvers for each obligation, at the same time."""
    subject = problem.subject
    obligations = list(problem.obligations())
    # evidence is of what is asked now
    known = _known(subject) if work.is_own and work.folder is None else {}
    todo = [one for one in obligations if one.digest not in known]
    by_z3_first: list[Future[tuple[Answer, list[str]]]] = [Future() for _ in todo]
    with ThreadPoolExecutor(2) as pool:
        try:
            first = pool.submit(_ask_z3, work, subject.module, todo, by_z3_first, timeout_s)
            second = pool.submit(_ask_cvc5, work, todo, by_z3_first, timeout_s)
            new_z3, rests = first.result()
            new_cvc5 = [
                _by_core(work, *one, timeout_s)
                for one in zip(todo, new_z3, second.result(), strict=True)
            ]
        except BaseException:
            work.children.kill_all()  # or leaving the pool would wait for the solvers
            raise
    answers = {one.digest: both for one, *both in zip(todo, new_z3, new_cvc5, strict=True)}
    answers |= {digest: [Answer(**one) for one in both] for digest, both in known.items()}
    if work.is_own:
        _keep_known(subject, answers)
    by_z3, by_cvc5 = zip(*(answers[one.digest] for one in obligations), strict=True)
    failed = []
    alone: list[tuple[str, str]] = []
    contradicted = ""
    for obligation, one, other in zip(obligations, by_z3, by_cvc5, strict=True):
        said = {"z3": one.answer, "cvc5": other.answer}
        if set(said.values()) == {"sat", "unsat"}:
            contradicted = obligation.what
        elif "unsat" in said.values() and len({*said.values()}) == 2:
            by = next(name for name, answer in said.items() if answer == "unsat")
            alone.append((by, obligation.what))
        elif set(said.values()) != {"unsat"}:
            failed.append((obligation, one if one.answer == "sat" else other))
    shown = []
    for obligation, answer in failed[:SHOWN]:
        if answer.answer == "sat":
            answer = work.z3.ask(obligation.text, timeout_s, wants="model")
        shown.append(failure(problem, obligation, answer))
    verdict = _verdict(failed, {by for by, _ in alone})
    if failed and not _is_satisfiable(work, problem, timeout_s):
        verdict = f"says nothing: no state satisfies {subject.invariant}"
    if contradicted:
        verdict = f"z3 and cvc5 contradict one another: {contradicted}"
    if verdict.startswith(PROVED) and not _has_example(work, problem, timeout_s):
        verdict = "says nothing: no state is known that satisfies the invariant and has a next step"
    kept = None
    if work.folder is not None:
        kept = evidence.keep(
            work.folder, subject.name, subject.claims,
            list(zip(obligations, by_cvc5, strict=True)), work.z3, work.cvc5, timeout_s,
        )  # fmt: skip
    return Proof(
        subject.name, subject.module, subject.claims, verdict, len(obligations), problem.skipped,
        len(problem.paths), tuple(dict.fromkeys(one.name for one in problem.conjuncts)),
        sum(one.seconds for one in by_z3), sum(one.seconds for one in by_cvc5),
        sum(bool(one.by) for one in by_cvc5), tuple(f"{by}: {what}" for by, what in alone),
        tuple(shown), kept, rests,
    )  # fmt: skip


def _known(subject: Subject) -> dict[str, list[dict[str, Any]]]:
    """Return what both solvers have refuted before, by the hash of the formula's text."""
    kept = store.look(_formulas(subject))
    return kept.value if kept else {}


def _keep_known(subject: Subject, answers: dict[str, list[Answer]]) -> None:
    proved = {
        digest: [{"answer": one.answer, "seconds": one.seconds, "by": one.by} for one in both]
        for digest, both in answers.items() if all(one.answer == "unsat" for one in both)
    }  # fmt: skip
    store.keep(_formulas(subject), proved)


def _formulas(subject: Subject) -> dict[str, str]:
    """Return the inputs under which the formulas of a subject are kept: not its specification."""
    return {"formulas of": subject.name, **_solvers(), **store.code("prove/solver_child.py")}


def _solvers() -> dict[str, str]:
    return {name: f"solver {version}" for name, version in solvers.versions().items()}


def _ask_z3(
    work: _Work, module: str, obligations: Sequence[Obligation],
    into: Sequence[Future[tuple[Answer, list[str]]]], timeout_s: float,
) -> tuple[list[Answer], Hints]:  # fmt: skip
    """Return z3's answers, and for obligations with a weaker text on which hypotheses they rest.

    Each answer is also put `into` a future, for cvc5.
    """
    known = work.hints.get(module, {})
    try:
        for one, answered in zip(obligations, into, strict=True):
            answered.set_result(_by_z3(work, one, known.get(one.what), timeout_s))
    except BaseException as error:
        for answered in into:
            if not answered.done():
                answered.set_exception(error)
        raise
    both = [one.result() for one in into]
    rests = [{one.what: names} for one, (_, names) in zip(obligations, both, strict=True) if names]
    return [answer for answer, _ in both], hints.merged(rests)


def _by_z3(
    work: _Work, obligation: Obligation, hint: list[str] | None, timeout_s: float
) -> tuple[Answer, list[str]]:
    """Ask for weaker texts first: that one has no state decides, and nothing else does."""
    spent = 0.0
    if obligation.focus:
        if hint is not None:
            answer = work.z3.ask(obligation.focus.text(hint), RESTING_S)
            spent += answer.seconds
            if answer.answer == "unsat":
                return answer, hint
        answer = work.z3.ask(obligation.focused, FOCUSED_S["z3"] * timeout_s, wants="core")
        spent += answer.seconds
        if answer.answer == "unsat":
            return replace(answer, seconds=spent), obligation.focus.rests(answer.core)
    answer = work.z3.ask(obligation.text, timeout_s)
    return replace(answer, seconds=answer.seconds + spent), []


def _ask_cvc5(
    work: _Work, obligations: Sequence[Obligation],
    z3_first: Sequence[Future[tuple[Answer, list[str]]]], timeout_s: float,
) -> list[Answer]:  # fmt: skip
    """Return cvc5's answers; for a weaker text it waits until z3 has said on what it rests."""
    return [
        _by_cvc5(work, one, z3.result()[1] if one.focus else [], timeout_s)
        for one, z3 in zip(obligations, z3_first, strict=True)
    ]


def _by_cvc5(work: _Work, obligation: Obligation, rests: list[str], timeout_s: float) -> Answer:
    if obligation.focus is None:
        return work.cvc5.ask(obligation.text, timeout_s)
    spent = 0.0
    if rests:
        answer = work.cvc5.ask(obligation.focus.text(rests), RESTING_S)
        spent = answer.seconds
        if answer.answer == "unsat":
            return answer
    answer = work.cvc5.ask(obligation.focused, FOCUSED_S["cvc5"] * timeout_s)
    if answer.answer != "unsat":
        answer = replace(answer, answer="unknown")  # z3's core comes before the whole text
    return replace(answer, seconds=answer.seconds + spent)


def _by_core(
    work: _Work, obligation: Obligation, by_z3: Answer, by_cvc5: Answer, timeout_s: float
) -> Answer:
    """Ask cvc5 anew for what it does not know, by the assertions alone that z3 has used.

    z3 only chooses the assertions. That no state satisfies them is found by cvc5 itself.
    """
    if by_cvc5.answer != "unknown":
        return by_cvc5
    spent = by_cvc5.seconds
    if by_z3.answer == "unsat":
        text = obligation.focused or obligation.text
        if core := work.z3.ask(text, timeout_s, wants="core").core:
            answer = work.cvc5.ask(smt.reduced(text, core), timeout_s)
            spent += answer.seconds
            if answer.answer == "unsat":
                return replace(answer, seconds=spent)
    if not obligation.focused:
        return replace(by_cvc5, seconds=spent)
    answer = work.cvc5.ask(obligation.text, timeout_s)
    return replace(answer, seconds=spent + answer.seconds)


def _verdict(failed: list[tuple[Obligation, Answer]], alone: set[str]) -> str:
    if failed:
        unknown = sum(answer.answer != "sat" for _, answer in failed)
        if len(failed) == 1:
            return "not proved: 1 obligation fails" + ", unknown to both solvers" * unknown
        some = f", {unknown} of them unknown to both solvers" if unknown else ""
        return f"not proved: {len(failed)} obligations fail{some}"
    if not alone:
        return PROVED
    return f"{PROVED} by {' or '.join(sorted(alone))} alone"


def _is_satisfiable(work: _Work, problem: Problem, timeout_s: float) -> bool:
    """Say whether some state may satisfy the invariant; a solver that does not know says so."""
    text = problem.printer([*problem.assumptions, *problem.before]).text()
    return work.z3.ask(text, timeout_s).answer != "unsat"


def _has_example(work: _Work, problem: Problem, timeout_s: float) -> bool:
    """Say whether some state satisfies the invariant and has a step that changes it."""
    for number, (_, printer) in enumerate(problem.example()):
        if number == EXAMPLES:
            break
        if work.z3.ask(printer.text(), timeout_s, wants="model").answer == "sat":
            return True
    return False


def _twin(
    work: _Work, made: Path, twin: TwinOf, module: str, problems: dict[str, Problem]
) -> Broken:
    name = twin_name(module, twin)
    if twin.subject is None:
        return Broken(name, twin.claim, twin.why, is_addressed=False)
    home = models.home(made, module, twin.defect)
    inputs = inputs_of_twin(made, module, twin)
    row = work.rows.find("prove", name, inputs)
    if row is not None and row.more:
        return _broken_of(row.more, row.date)
    if twin.subject.name not in problems:
        problems[twin.subject.name] = _problem(work, made, twin.subject)
    right = problems[twin.subject.name].digests
    try:
        problem = _problem(work, home, twin.subject)
        found = _broken(work, name, twin, problem, right)
        if not found.is_decided:
            found = _reached(work, found, problem, home, module) or found
    except OutsideFragmentError as error:
        found = Broken(name, twin.claim, f"cannot be translated: {error}")
    work.rows.judged(
        "prove", name, inputs, found.verdict, None, None, asdict(found), holds=found.holds
    )
    return found


def _broken(
    work: _Work, name: str, twin: TwinOf, problem: Problem, right: frozenset[str]
) -> Broken:
    """Ask for what the twin changes until a conjunct breaks that is no type."""
    changed = [one for one in problem.obligations() if one.digest not in right]
    inputs = {
        "twin": f"{name}, {twin.claim}",
        "changed formulas": "\n".join(
            f"{one.what}, {one.conjunct}, {one.is_type}: {one.digest}" for one in changed
        ),
        **_solvers(),
        **store.code("prove/run.py", "prove/shown.py", "prove/solver_child.py"),
    }  # fmt: skip
    if kept := store.look(inputs):
        return _broken_of(kept.value)
    found = _asked(work, name, twin, problem, changed)
    if found.holds:
        store.keep(inputs, asdict(found))
    return found


def _reached(
    work: _Work, undecided: Broken, problem: Problem, home: Path, module: str
) -> Broken | None:
    """Ask TLC for a step that breaks the invariant, where no solver has found one."""
    whole = problem.subject.invariant
    names = {one.name.partition(".")[0]: one.is_type for one in problem.conjuncts}
    conjuncts = [name for name, is_type in names.items() if not is_type and name != whole]
    types = [name for name, is_type in names.items() if is_type and name != whole]
    failed = reached.broken(
        home / f"MC{module}.tla", home / f"MC{undecided.name}.cfg", conjuncts, [*types, whole],
        work.children, REACHED_S,
    )  # fmt: skip
    if failed is None:
        return None
    return replace(
        undecided, verdict=f"breaks {failed.conjunct}, in a state that TLC reaches",
        is_decided=True, breaks=True, failures=(failed,),
    )  # fmt: skip


def _asked(
    work: _Work, name: str, twin: TwinOf, problem: Problem, changed: Sequence[Obligation]
) -> Broken:
    known = work.hints.get(twin.subject.module, {}) if twin.subject else {}
    weaker = {one: _weaker(work, one, known.get(one.what)) for one in changed}
    left = [one for one in changed if weaker[one] != "unsat"]
    seen: list[Failure] = []
    for obligation in sorted(left, key=lambda one: weaker[one] != "sat"):  # the likely ones first
        answer = work.z3.ask(obligation.text, TWIN_S)
        if answer.answer == "unknown":
            answer = work.cvc5.ask(obligation.text, TWIN_S)
        if answer.answer == "unsat":
            continue
        if answer.answer == "sat":
            shown = work.z3.ask(obligation.text, TWIN_S, wants="model")
            answer = shown if shown.answer == "sat" else answer
        seen.append(failure(problem, obligation, answer))
        if answer.answer == "sat" and not obligation.is_type:
            verdict = f"breaks {obligation.conjunct}"
            return Broken(name, twin.claim, verdict, breaks=True, failures=(seen[-1],))
    if not seen:
        return Broken(name, twin.claim, "the proof holds all the same")
    failures = tuple(seen[:SHOWN])
    if all(one.is_type for one in seen):
        return Broken(name, twin.claim, "breaks no more than a type", failures=failures)
    what = f"not decided: no solver found a counterexample in {TWIN_S:g} s a formula"
    return Broken(name, twin.claim, what, is_decided=False, failures=failures)


def _weaker(work: _Work, obligation: Obligation, hint: list[str] | None) -> str:
    """Return what z3 says of an obligation's weaker text; "sat" if it has none."""
    if obligation.focus is None:
        return "sat"
    if hint and work.z3.ask(obligation.focus.text(hint), RESTING_S).answer == "unsat":
        return "unsat"
    return work.z3.ask(obligation.focused, TWIN_S / 4).answer


def _failures(rows: list[dict[str, Any]]) -> Iterator[Failure]:
    for one in rows:
        before = tuple((name, value) for name, value in one["before"])
        changes = tuple((name, old, new) for name, old, new in one["changes"])
        yield Failure(**{**one, "before": before, "changes": changes})


def _proof_of(row: Row) -> Proof:
    values = {**row.more, "since": row.date, "failures": tuple(_failures(row.more["failures"]))}
    for name in ("claims", "conjuncts", "alone"):
        values[name] = tuple(values[name])
    return Proof(**values)


def _broken_of(values: dict[str, Any], since: str = "") -> Broken:
    failures = tuple(_failures(values["failures"]))
    return Broken(**{**values, "since": since, "failures": failures})
