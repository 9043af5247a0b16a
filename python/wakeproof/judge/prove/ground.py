# SPDX-License-Identifier: Apache-2.0
"""z3 repeats the steps of a proof of cvc5: a text without quantifiers, which it must refute, too.

Of cvc5 only the choice of the steps is taken.  The instances are made here, from the formulas and
the terms; that a rewritten formula equals the one before is proved by z3, and is left out if z3
does not prove it; a name must be new.  So each step follows from the text, or says only what a new
name means, and what refutes them refutes the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REWRITE_MS = 1000
"""For the proof that a rewritten formula equals the one before."""


class NotNewError(Exception):
    """A name that is to stand for something new occurs in what was said before."""


def recheck(text: str, steps: Mapping[str, Any], timeout_ms: int) -> dict[str, Any]:
    """Return z3's answer to the ground text, the text, and how many rewrites z3 did not prove.

    Raises:
        NotNewError: the steps name one thing twice, or before it is known.
    """
    import z3  # type: ignore[import-untyped]

    text = text.replace("(check-sat)", "")
    original = list(z3.parse_smt2_string(text))
    ground = _Ground(z3, original)
    read = _read(z3, text, steps)
    for names, formula, kind in read["names"]:
        ground.name(names, formula, kind)
    for formula, terms in read["instances"]:
        ground.instance(formula, terms)
    lost = sum(not ground.rewrite(one) for one in read["rewrites"])
    solver = z3.Solver()
    solver.set("timeout", timeout_ms)
    solver.add(ground.formulas)
    return {"answer": str(solver.check()), "ground": solver.to_smt2(), "lost": lost}


def _read(z3: Any, text: str, steps: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the steps with z3's formulas in place of texts."""
    lines = [line for line in text.split("\n") if line.startswith(("(set-logic", "(declare-"))]
    lines += [f"(declare-fun {name} () {sort})" for name, sort in steps["constants"]]

    def say(formula: str) -> None:
        lines.append(f"(assert {formula})")

    for one in steps["names"]:
        for name in one["names"]:
            say(f"(= {name} {name})")
        say(one["formula"] if one["kind"] != "equal" else f"(= {one['formula']} {one['names'][0]})")
    for formula, terms in steps["instances"]:
        say(formula)
        for term in terms:
            say(f"(= {term} {term})")
    for one in steps["rewrites"]:
        say(one)
    said = iter(z3.parse_smt2_string("\n".join(lines)))

    def terms_of(count: int) -> list[Any]:
        return [next(said).arg(0) for _ in range(count)]

    names = [(terms_of(len(one["names"])), next(said), one["kind"]) for one in steps["names"]]
    instances = []
    for _, terms in steps["instances"]:
        formula = next(said)
        instances.append((formula, terms_of(len(terms))))
    return {"names": names, "instances": instances, "rewrites": list(said)}


class _Ground:
    """Formulas in which each quantified formula is a name for itself."""

    def __init__(self, z3: Any, original: list[Any]) -> None:
        self._z3 = z3
        self._plain: dict[int, tuple[Any, Any]] = {}  # with the key, so that z3 keeps its number
        self._quantified: dict[int, tuple[Any, Any]] = {}
        self._known: set[str] = set()
        self.formulas: list[Any] = []
        for one in original:
            self._learn(one)
            self._add(one)

    def name(self, names: list[Any], formula: Any, kind: str) -> None:
        """Add what new names mean: a counterexample to what is not true for all, or a term."""
        new = {one.decl().name() for one in names}
        self._learn(formula.arg(0) if kind == "equal" else formula)
        if len(new) < len(names) or new & self._known:
            raise NotNewError(f"no new names: {', '.join(map(str, names))}")
        self._known |= new
        if kind == "equal":
            self._add(formula)
            return
        z3 = self._z3
        body = z3.substitute_vars(formula.body(), *names[::-1])
        self._add(z3.Implies(z3.Not(formula), z3.Not(body)) if formula.is_forall()
                  else z3.Implies(formula, body))  # fmt: skip

    def instance(self, formula: Any, terms: list[Any]) -> None:
        """Add that a formula, if it holds for all, holds for these terms."""
        z3 = self._z3
        if not (z3.is_quantifier(formula) and formula.is_forall()):
            raise ValueError(f"no formula about all: {formula}")
        self._add(z3.Implies(formula, z3.substitute_vars(formula.body(), *terms[::-1])))

    def rewrite(self, equality: Any) -> bool:
        """Add that two formulas are equal, if z3 proves it from what is said so far."""
        z3 = self._z3
        solver = z3.Solver()
        solver.set("timeout", REWRITE_MS)
        solver.add(self.formulas)
        solver.add(z3.Not(equality))
        if solver.check() != z3.unsat:
            return False
        self._add(equality)
        return True

    def _add(self, formula: Any) -> None:
        self.formulas.append(self._opaque(formula))

    def _opaque(self, term: Any) -> Any:
        """Return a term in which a name stands for each quantified formula."""
        found = self._plain.get(term.get_id())
        if found is None:
            z3 = self._z3
            if z3.is_quantifier(term):
                found = term, self._named(z3.simplify(term))
            elif term.num_args() == 0:
                found = term, term
            else:
                found = term, term.decl()(*map(self._opaque, term.children()))
            self._plain[term.get_id()] = found
        return found[1]

    def _named(self, short: Any) -> Any:
        """Return the name of a quantified formula, or the formula if it is none any more."""
        if not self._z3.is_quantifier(short):
            return self._opaque(short)
        name = self._z3.Bool(f"quantified {len(self._quantified)}")
        return self._quantified.setdefault(short.get_id(), (short, name))[1]

    def _learn(self, term: Any) -> None:
        """Note each name in a term."""
        todo, seen = [term], set()
        while todo:
            one = todo.pop()
            if one.get_id() in seen:
                continue
            seen.add(one.get_id())
            if self._z3.is_app(one) and one.decl().kind() == self._z3.Z3_OP_UNINTERPRETED:
                self._known.add(one.decl().name())
            todo += one.children()
