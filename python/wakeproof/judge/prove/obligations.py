# SPDX-License-Identifier: Apache-2.0
"""What must be proved of a module: formulas that no state satisfies.

The invariant holds at first; each path of the next-state relation keeps each conjunct of it; and it
implies each claim.  Besides, each value that a variable gets must have the variable's shape, and no
expression that TLA+ leaves open may be evaluated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from wakeproof.errors import UsageError
from wakeproof.judge.prove import focus, shapes, smt, values
from wakeproof.judge.prove.evaluate import Evaluator, Scope
from wakeproof.judge.prove.modules import Apply, Module, Node, OutsideFragmentError
from wakeproof.judge.prove.paths import Call, Path, Splitter, Unreachable
from wakeproof.judge.prove.shapes import Shape
from wakeproof.judge.prove.smt import BOOL, INT, THREAD, Printer, Term
from wakeproof.judge.prove.subjects import Subject
from wakeproof.judge.prove.values import UntranslatableError, Value


@dataclass(frozen=True)
class Conjunct:
    """A part of an invariant: its name, and the variables that it reads."""

    name: str
    node: Node
    reads: frozenset[str]
    is_type: bool


@dataclass(frozen=True, eq=False)
class Obligation:
    """A formula that must be unsatisfiable, in words and as a text."""

    what: str  # "Claim keeps Paid"
    conjunct: str  # "Paid", a claim, or what else must hold
    is_type: bool  # the conjunct says only which values a variable has
    path: Path | None
    call: Call | None
    printer: Printer = field(repr=False)
    focus: Focused | None = field(default=None, repr=False)

    @cached_property
    def text(self) -> str:
        """Return the text for the solvers."""
        return self.printer.text()

    @cached_property
    def focused(self) -> str:
        """Return a weaker text that is easier to refute (`focus`); empty: there is none."""
        return self.focus.text() if self.focus else ""

    @cached_property
    def digest(self) -> str:
        """Return the hash of the text."""
        return smt.digest(self.text)


class Focused:
    """The weaker texts of one goal: with all hypotheses, or with some."""

    def __init__(self, problem: Problem, goal: Sequence[Term]) -> None:
        self._problem = problem
        self._opened, self._elements = focus.opened(goal)

    def text(self, names: Collection[str] | None = None) -> str:
        """Return the text with the hypotheses of these names (None: with all)."""
        return self._printer(names).text()

    def rests(self, core: Iterable[int]) -> list[str]:
        """Return the names of the hypotheses of which `text` has these assertions, by number."""
        printer = self._printer()
        lines = [one for one in printer.text().split("\n") if one.startswith(smt.ASSERT)]
        used = {lines[number] for number in core}
        return [name for name, term in self._hypotheses() if not used.isdisjoint(
            printer.written([term])
        )]  # fmt: skip

    def _printer(self, names: Collection[str] | None = None) -> Printer:
        chosen = (term for name, term in self._hypotheses() if names is None or name in names)
        return self._problem.printer([*self._problem.assumptions, *chosen, *self._opened])

    def _hypotheses(self) -> Iterator[tuple[str, Term]]:
        """Yield each assertion by its name, such as "Paid/2": the second one that Paid gives."""
        for name, term in self._problem.hypotheses:
            parts = smt.parts(focus.at_names(term, self._elements))
            for number, part in enumerate(parts, 1):
                yield f"{name}/{number}" if len(parts) > 1 else name, part


class Problem:
    """One subject, translated.

    Args:
        module: as SANY reads it.
        subject: the modes, the invariant and the claims.

    Raises:
        OutsideFragmentError: something cannot be translated.
        UsageError: a name is not defined, or a constant has no value.
    """

    def __init__(self, module: Module, subject: Subject) -> None:
        self.module, self.subject = module, subject
        self.evaluator = Evaluator(module, constants(module, subject))
        self.shapes: Mapping[str, Shape] = shapes.of_variables(self.evaluator, subject.types)
        self.state: dict[str, Value] = {
            name: shapes.declared(self.shapes[name], name) for name in module.variables
        }
        self.conjuncts = tuple(self._conjuncts())
        split = Splitter(self.evaluator, self.state, self.shapes)
        self.paths = split.split(subject.next)
        first = Splitter(self.evaluator, self.state, self.shapes, initial=True)
        self.initial = first.split(subject.init)
        self.unreachable = split.unreachable
        self._never = first.unreachable
        self.skipped = 0
        """How many obligations there are none of, because a path changes nothing that a conjunct
        reads."""
        facts = {
            f"type of {name}": shapes.facts(self.state[name], self.shapes[name])
            for name in module.variables
        }
        self.hypotheses = [(name, one) for name, one in facts.items() if one is not smt.TRUE]
        """What holds before a step, each with its name."""
        self.hypotheses += [
            (one.name, self._holds(one, Scope(self.state))) for one in self.conjuncts
        ]
        self.before = [one for _, one in self.hypotheses]
        self.assumptions = list(self._assumptions())

    def _conjuncts(self) -> Iterator[Conjunct]:
        name = self.subject.invariant
        yield from self._parts(name, self.module.named(name).body, name in self.subject.types)

    def _parts(self, name: str, node: Node, is_type: bool) -> Iterator[Conjunct]:
        if isinstance(node, Apply) and node.is_defined and not node.operands \
                and not self.module.is_standard(node.uid):  # fmt: skip
            body = self.module.definition(node.uid).body
            is_type = is_type or node.name in self.subject.types
            yield from self._parts(node.name, body, is_type)
        elif isinstance(node, Apply) and node.name in ("$ConjList", "\\land"):
            for number, one in enumerate(node.operands, 1):
                own = f"{name}.{number}" if name != self.subject.invariant else name
                yield from self._parts(own, one, is_type)
        else:
            yield Conjunct(name, node, self.module.uses(node), is_type)

    def _holds(self, conjunct: Conjunct, scope: Scope) -> Term:
        found = self.evaluator.formula(conjunct.node, scope)
        if self.evaluator.demands:
            demand = self.evaluator.demands[0]
            raise OutsideFragmentError(demand.where, f"{demand.why}, in an invariant")
        return found

    def _assumptions(self) -> Iterator[Term]:
        """Yield what the modules assume; what cannot be translated is not used."""
        for node in self.module.assumptions:
            try:
                yield self.evaluator.formula(node, Scope({}))
            except OutsideFragmentError:
                continue

    def printer(self, formulas: Iterable[Term], start: Printer | None = None) -> Printer:
        """Return a text of formulas, with what holds of the functions and strings in them."""
        printer = start.copy() if start else Printer()
        todo = list(formulas)
        names, found = _occurring(todo)
        for axiom in self.evaluator.axioms:
            if not axiom.symbols.isdisjoint(names):
                todo.append(axiom.formula)
                found |= _occurring([axiom.formula])[1]
        # in an order that is the same in every process, for the text is kept by its hash
        strings = sorted(found, key=lambda one: one.name)
        for name, value in self.evaluator.constants.items():
            if isinstance(value, values.SetValue) and name in self.subject.sets:
                todo += [smt.negation(values.member(one, value)) for one in strings]
            elif name in self.subject.elements:
                todo += [smt.negation(values.equal(one, value)) for one in strings]
        printer.add(todo)
        return printer

    @cached_property
    def _start(self) -> Printer:
        return self.printer([*self.assumptions, *self.before])

    def obligations(self) -> Iterator[Obligation]:
        """Yield all that must be proved."""
        yield from self._at_first()
        for path in self.paths:
            yield from self._kept(path)
        for gap in self.unreachable:
            yield self._gap(gap, self._start)
        for claim in self.subject.claims:
            yield from self._claim(claim)

    @cached_property
    def digests(self) -> frozenset[str]:
        """Return the hashes of all texts."""
        return frozenset(one.digest for one in self.obligations())

    def _at_first(self) -> Iterator[Obligation]:
        start = self.printer(self.assumptions)
        for path in self.initial:
            yield from self._shaped(path, start)
            for conjunct in self.conjuncts:
                holds = self._holds(conjunct, Scope(path.next))
                yield self._made(
                    f"{self.subject.init} => {conjunct.name}", conjunct, path,
                    self.printer([*path.guards, smt.negation(holds)], start),
                )  # fmt: skip
        for gap in self._never:
            yield self._gap(gap, start)

    def _kept(self, path: Path) -> Iterator[Obligation]:
        name = path.action.name if path.action else self.subject.next
        yield from self._shaped(path, self._start)
        for conjunct in self.conjuncts:
            if all(path.next[one] is self.state[one] for one in conjunct.reads):
                self.skipped += 1
                continue
            self.evaluator.demands.clear()
            holds = self.evaluator.formula(conjunct.node, Scope(path.next))
            for demand in self.evaluator.demands:
                guards = (*path.guards, smt.negation(demand.condition))
                yield self._gap(Unreachable(guards, demand.where, demand.why, path.action),
                                self._start)  # fmt: skip
            self.evaluator.demands.clear()
            if holds is smt.TRUE:
                self.skipped += 1
                continue
            goal = [*path.guards, smt.negation(holds)]
            yield self._made(
                f"{name} keeps {conjunct.name}", conjunct, path,
                self.printer(goal, self._start), self._focus(goal),
            )  # fmt: skip

    def _made(
        self, what: str, conjunct: Conjunct, path: Path, printer: Printer,
        focused: Focused | None = None,
    ) -> Obligation:  # fmt: skip
        return Obligation(
            what, conjunct.name, conjunct.is_type, path, path.action, printer, focused
        )

    @cached_property
    def _makes_elements(self) -> bool:
        return any(map(focus.makes_elements, self.before))

    def _focus(self, goal: Sequence[Term]) -> Focused | None:
        """Return the weaker texts, if the state before makes elements without end."""
        return Focused(self, goal) if self._makes_elements else None

    def _shaped(self, path: Path, start: Printer) -> Iterator[Obligation]:
        name = path.action.name if path.action else self.subject.next
        for variable, requirement in path.fits:
            printer = self.printer([*path.guards, smt.negation(requirement)], start)
            what = f"{name} keeps the type of {variable}"
            yield Obligation(what, f"type of {variable}", True, path, path.action, printer)

    def _gap(self, gap: Unreachable, start: Printer) -> Obligation:
        what = f"{gap.where} is not reached: {gap.why}"
        return Obligation(what, "defined", False, None, gap.action, self.printer(gap.guards, start))

    def _claim(self, name: str) -> Iterator[Obligation]:
        action = self._action(self.module.named(name).body)
        if action is None:
            holds = self.evaluator.formula(self.module.named(name).body, Scope(self.state))
            goal = [smt.negation(holds)]
            yield Obligation(
                f"{self.subject.invariant} => {name}", name, False, None, None,
                self.printer(goal, self._start), self._focus(goal),
            )  # fmt: skip
            return
        for path in self.paths:
            holds = self.evaluator.formula(action, Scope(self.state, path.next))
            if holds is smt.TRUE:
                self.skipped += 1
                continue
            step = path.action.name if path.action else self.subject.next
            goal = [*path.guards, smt.negation(holds)]
            yield Obligation(
                f"{step} obeys {name}", name, False, path, path.action,
                self.printer(goal, self._start), self._focus(goal),
            )  # fmt: skip

    def _action(self, node: Node) -> Node | None:
        """Return A of a claim [][A]_v; None: the claim is about states."""
        if not isinstance(node, Apply) or node.name != "[]":
            return None
        inner = node.operands[0]
        if isinstance(inner, Apply) and inner.name == "$SquareAct":
            return inner.operands[0]
        raise OutsideFragmentError(node.where, "a claim that is no invariant and no [][A]_v")

    def example(self) -> Iterator[tuple[Path, Printer]]:
        """Yield texts that should be satisfiable: the invariant, and a step that is enabled."""
        for path in self.paths:
            if any(path.next[one] is not self.state[one] for one in path.next):
                yield path, self.printer(path.guards, self._start)


_FOUND: dict[Term, tuple[frozenset[str], frozenset[Term]]] = {}


def _occurring(terms: Iterable[Term]) -> tuple[set[str], set[Term]]:
    """Return the names that the translator has made, and the strings beside threads, in terms."""
    names: set[str] = set()
    strings: set[Term] = set()
    for term in terms:
        if term not in _FOUND:
            below = list(smt.subterms([term]))
            made = frozenset(one.name for one in below if one.op == "made")
            texts = (one for one in below if one.op == "string" and one.sort == THREAD)
            _FOUND[term] = made, frozenset(texts)
        names |= _FOUND[term][0]
        strings |= _FOUND[term][1]
    return names, strings


def constants(module: Module, subject: Subject) -> dict[str, Value]:
    """Return the value of each constant: a mode is fixed, and all others may be anything.

    Raises:
        UsageError: a constant is neither.
    """
    found: dict[str, Value] = {}
    for name in module.constants:
        if name in subject.modes:
            found[name] = _fixed(subject.modes[name])
        elif name in subject.sets:
            found[name] = values.whole(THREAD, partial(_is_in, name))
        elif name in subject.numbers:
            found[name] = smt.symbol(name, INT)
        elif name in subject.switches:
            found[name] = smt.symbol(name, BOOL)
        elif name in subject.elements:
            found[name] = smt.symbol(name, THREAD)
        else:
            raise UsageError(
                f"{module.name}: {name} is a constant, and the configuration gives it no value"
            )
    return found


def _is_in(name: str, one: Term) -> Term:
    return smt.symbol(name, BOOL, (one,))


def _fixed(value: object) -> Value:
    if isinstance(value, bool):
        return smt.boolean(value)
    if isinstance(value, int):
        return smt.integer(value)
    if isinstance(value, str):
        return smt.string(value)
    if isinstance(value, frozenset):
        return values.listed(map(_fixed, sorted(value, key=str)))
    raise UntranslatableError(f"{value!r} is no mode")
