# SPDX-License-Identifier: Apache-2.0
"""What a proof of cvc5 rests on: its text, and the steps that make a quantified text ground.

A ground text has no quantifiers.  Three kinds of steps lead to it: instances of what holds for all,
names for what exists, and equalities of quantified formulas, of which cvc5 has rewritten one into
the other.  They are taken from the proof and written in SMT-LIB, so that z3 can repeat them
(`ground`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def of(solver: Any, terms: Any) -> dict[str, Any]:
    """Return the proof's text in cvc5's format CPC, and its steps.

    Args:
        solver: which has answered "unsat", with proofs on.
        terms: its term manager.
    """
    import cvc5  # type: ignore[import-untyped]

    (root,) = solver.getProof()
    text = solver.proofToString(root, cvc5.ProofFormat.CPC)
    return {"proof": text.decode() if isinstance(text, bytes) else text,
            "steps": _Steps(root, terms).plain()}  # fmt: skip


class _Steps:
    """The steps of one proof."""

    def __init__(self, root: Any, terms: Any) -> None:
        import cvc5

        self._terms = terms
        self._kind, self._rule, self._id = cvc5.Kind, cvc5.ProofRule, cvc5.SkolemId
        self._open: dict[Any, frozenset[Any]] = {}
        self._ours: dict[Any, Any] = {}  # a constant of cvc5's: our name for it
        self._names: list[dict[str, Any]] = []
        self._instances: list[tuple[str, list[str]]] = []
        self._rewrites: list[str] = []
        for node in self._nodes(root):
            self._see(node)

    def plain(self) -> dict[str, Any]:
        """Return the steps as plain data; each name stands after those on which it depends."""
        constants = [(str(one), str(one.getSort())) for one in self._ours.values()]
        return {"constants": constants, "names": self._names, "instances": self._instances,
                "rewrites": self._rewrites}  # fmt: skip

    def _nodes(self, root: Any) -> Iterator[Any]:
        """Yield each node once; how an equality of quantified formulas is found is left out."""
        seen, todo = set(), [root]
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                yield node
                if not self._is_rewrite(node.getResult()):
                    todo += node.getChildren()

    def _see(self, node: Any) -> None:
        if node.getRule() == self._rule.INSTANTIATE:
            (premise,) = node.getChildren()
            chosen = [self._text(one) for one in node.getArguments()[0]]
            self._instances.append((self._text(premise.getResult()), chosen))
        elif node.getRule() == self._rule.SKOLEMIZE:
            (premise,) = node.getChildren()
            said = premise.getResult()
            formula = said[0] if said.getKind() == self._kind.NOT else said
            self._name(self._skolem(formula, 0))
        elif self._is_rewrite(node.getResult()):
            self._rewrites.append(self._text(node.getResult()))

    def _is_rewrite(self, term: Any) -> bool:
        """Say whether a formula equates a quantified formula to another, with no free variable."""
        return (
            term.getKind() == self._kind.EQUAL and any(map(self._is_quantified, term))
            and term[0] != term[1] and not self._free(term)
        )  # fmt: skip

    def _is_quantified(self, term: Any) -> bool:
        if term.getKind() == self._kind.NOT:
            (term,) = term
        return term.getKind() in (self._kind.FORALL, self._kind.EXISTS)

    def _free(self, term: Any) -> frozenset[Any]:
        found = self._open.get(term)
        if found is None:
            if term.getKind() == self._kind.VARIABLE:
                found = frozenset((term,))
            elif self._is_quantified(term) and term.getKind() != self._kind.NOT:
                found = self._free(term[1]) - frozenset(term[0])
            else:
                found = frozenset[Any]().union(*map(self._free, term))
            self._open[term] = found
        return found

    def _text(self, term: Any) -> str:
        """Write a term, with names of our own for the constants that cvc5 has made."""
        made = list(self._made([term]))
        for one in made:
            self._name(one)
        return str(term.substitute(made, [self._ours[one] for one in made]) if made else term)

    def _made(self, todo: list[Any]) -> Iterator[Any]:
        seen = set()
        while todo:
            term = todo.pop()
            if term not in seen:
                seen.add(term)
                todo += term
                if term.getKind() == self._kind.SKOLEM:
                    yield term

    def _name(self, constant: Any) -> None:
        if constant in self._ours:
            return
        which = constant.getSkolemId()
        if which == self._id.QUANTIFIERS_SKOLEMIZE:
            formula, _ = constant.getSkolemIndices()
            places = range(len(list(formula[0])))
            together = [self._skolem(formula, place) for place in places]
            said = self._text(formula)
            kind = "other than"  # not for all: these are a counterexample
        elif which == self._id.PURIFY:
            together, said, kind = [constant], self._text(constant.getSkolemIndices()[0]), "equal"
        else:
            together, said, kind = [constant], "", "any"
        for one in together:
            self._ours[one] = self._terms.mkConst(one.getSort(), f"name {len(self._ours)}")
        if said:
            names = [str(self._ours[one]) for one in together]
            self._names.append({"kind": kind, "names": names, "formula": said})

    def _skolem(self, formula: Any, place: int) -> Any:
        """Return cvc5's constant for a variable of a formula."""
        number = self._terms.mkInteger(place)
        return self._terms.mkSkolem(self._id.QUANTIFIERS_SKOLEMIZE, formula, number)
