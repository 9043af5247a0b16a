# SPDX-License-Identifier: Apache-2.0
"""Terms of first-order logic, and the text of SMT-LIB that both solvers read.

There are four sorts: Bool, Int, `Text` (the strings of the module) and `Thread` (the elements of
constant sets, and the strings that stand beside them, as "poller" does).  The last two are
uninterpreted, and the strings of a sort are distinct.  So nothing bounds the number of threads.

A text is the same whatever else was translated before: what the translator has named is numbered
in the order in which it occurs there.

Terms are shared: two terms with the same content are one object.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

BOOL: Final = "Bool"
INT: Final = "Int"
TEXT: Final = "Text"
THREAD: Final = "Thread"
ASSERT: Final = "(assert "
"""How the line of an assertion begins."""
LITERAL: Final = "literal"
"""The sort of strings until something that they are compared with says which sort they have."""

_SYMBOLS: Final = ("symbol", "bound", "made", "string")


class Term:
    """A term; make one by the functions below, never by itself.

    `op` is "symbol" (a declared function with its arguments), "made" (the same, but named by the
    translator), "bound" (a variable of a quantifier), "string", "int", "true", "false", "forall",
    "exists", or an operator of SMT-LIB.
    """

    __slots__ = ("arguments", "free", "name", "number", "op", "sort")
    op: str
    sort: str
    name: str
    arguments: tuple[Term, ...]
    free: frozenset[Term]
    number: int

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, self.arguments))
        name = self.name if self.op in (*_SYMBOLS, "int") else self.op
        return f"{name}({inner})" if inner else name


_known: dict[tuple[str, str, str, tuple[int, ...]], Term] = {}
_NONE: Final[frozenset[Term]] = frozenset()


def _term(op: str, sort: str, name: str = "", arguments: tuple[Term, ...] = ()) -> Term:
    key = op, sort, name, tuple(one.number for one in arguments)
    found = _known.get(key)
    if found is None:
        found = Term()
        found.op, found.sort, found.name, found.arguments = op, sort, name, arguments
        found.number = len(_known)
        if op == "bound":
            found.free = frozenset((found,))
        elif op in ("forall", "exists"):
            found.free = arguments[-1].free - {arguments[0]}
            for one in arguments[1:]:
                found.free |= one.free - {arguments[0]}
        else:
            found.free = _NONE.union(*(one.free for one in arguments))
        _known[key] = found
    return found


TRUE: Final = _term("true", BOOL)
FALSE: Final = _term("false", BOOL)


def boolean(value: bool) -> Term:
    """Return a truth value as a term."""
    return TRUE if value else FALSE


def integer(value: int) -> Term:
    """Return a number as a term."""
    return _term("int", INT, str(value))


def string(value: str, sort: str = LITERAL) -> Term:
    """Return a string of the module."""
    return _term("string", sort, value)


def symbol(name: str, sort: str, arguments: Iterable[Term] = ()) -> Term:
    """Return an application of a function that stands for a constant or variable of the module."""
    return _term("symbol", sort, name, tuple(arguments))


def made(name: str, sort: str, arguments: Iterable[Term] = ()) -> Term:
    """Return an application of a function that the translator has named; texts number it anew."""
    return _term("made", sort, name, tuple(arguments))


def bound(name: str, sort: str) -> Term:
    """Return a variable for a quantifier."""
    return _term("bound", sort, name)


def negation(term: Term) -> Term:
    """Return not `term`."""
    if term is TRUE:
        return FALSE
    if term is FALSE:
        return TRUE
    return term.arguments[0] if term.op == "not" else _term("not", BOOL, "", (term,))


def conjunction(terms: Iterable[Term]) -> Term:
    """Return the conjunction of all `terms`."""
    return _junction(terms, "and", TRUE, FALSE)


def disjunction(terms: Iterable[Term]) -> Term:
    """Return the disjunction of all `terms`."""
    return _junction(terms, "or", FALSE, TRUE)


def _junction(terms: Iterable[Term], op: str, unit: Term, zero: Term) -> Term:
    parts: dict[Term, None] = {}
    for term in terms:
        if term is zero:
            return zero
        if term.op == op:
            parts |= dict.fromkeys(term.arguments)
        elif term is not unit:
            parts[term] = None
    if not parts:
        return unit
    return next(iter(parts)) if len(parts) == 1 else _term(op, BOOL, "", tuple(parts))


def implication(left: Term, right: Term) -> Term:
    """Return left => right."""
    if left is TRUE:
        return right
    if left is FALSE or right is TRUE:
        return TRUE
    return negation(left) if right is FALSE else _term("=>", BOOL, "", (left, right))


def equal(left: Term, right: Term) -> Term:
    """Return left = right; a string takes the sort of the other side."""
    if left is right:
        return TRUE
    left, right = same_sort(left, right)
    if left is right:
        return TRUE
    if left.op == right.op == "string" or left.op == right.op == "int":
        return FALSE
    if left.sort == BOOL:
        for one, other in ((left, right), (right, left)):
            if one in (TRUE, FALSE):
                return other if one is TRUE else negation(other)
    if left.sort != right.sort:
        return FALSE  # a number is no string, and no thread is a number
    return _term("=", BOOL, "", (left, right))


def same_sort(left: Term, right: Term) -> tuple[Term, Term]:
    """Return both with one sort, if a string's sort is the only difference."""
    if left.sort == right.sort == LITERAL:
        return of_sort(left, TEXT), of_sort(right, TEXT)
    if left.sort == LITERAL:
        return of_sort(left, right.sort), right
    if right.sort == LITERAL:
        return left, of_sort(right, left.sort)
    return left, right


def of_sort(term: Term, sort: str) -> Term:
    """Give a string, or a choice between strings, its sort; any other term stays as it is."""
    if term.sort != LITERAL or sort not in (TEXT, THREAD):
        return term
    if term.op == "ite":
        test, one, other = term.arguments
        return choice(test, of_sort(one, sort), of_sort(other, sort))
    return string(term.name, sort)


def choice(test: Term, one: Term, other: Term) -> Term:
    """Return IF test THEN one ELSE other."""
    if one.sort != other.sort:
        one, other = same_sort(one, other)
    if test is TRUE or one is other:
        return one
    if test is FALSE:
        return other
    if one.sort == BOOL:
        if one is TRUE:
            return disjunction((test, other))
        if one is FALSE:
            return conjunction((negation(test), other))
        if other is TRUE:
            return disjunction((negation(test), one))
        if other is FALSE:
            return conjunction((test, one))
    return _term("ite", one.sort, "", (test, one, other))


_FOLD: Final[dict[str, Callable[[int, int], int | bool]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


def shifted(term: Term) -> tuple[Term, int]:
    """Return a term and a number of which the sum is `term`."""
    if term.op in ("+", "-") and term.arguments[1].op == "int":
        number = int(term.arguments[1].name)
        return term.arguments[0], number if term.op == "+" else -number
    return term, 0


def shift(term: Term, number: int) -> Term:
    """Return term + number."""
    if number == 0:
        return term
    return _term("+" if number > 0 else "-", INT, "", (term, integer(abs(number))))


def arithmetic(op: str, left: Term, right: Term) -> Term:
    """Return a sum, difference, product or comparison (+ - * < <=) of two numbers."""
    if left.op == right.op == "int":
        value = _FOLD[op](int(left.name), int(right.name))
        return boolean(value) if isinstance(value, bool) else integer(value)
    if op in ("+", "-") and right.op == "int":
        base, number = shifted(left)
        return shift(base, number + (int(right.name) if op == "+" else -int(right.name)))
    if op == "+" and left.op == "-" and left.arguments[1] is right:
        return left.arguments[0]
    return _term(op, BOOL if op.startswith("<") else INT, "", (left, right))


def quantified(kind: str, variable: Term, body: Term, within: tuple[Term, Term] | None) -> Term:
    """Return a quantifier, "forall" or "exists".

    Args:
        kind: which.
        variable: what it binds.
        body: the formula, with the guard of the variable in it.
        within: the least and the greatest number, of a variable of sort Int: the guard is in the
            body, and these are for evaluation in a finite model (`interpret`) alone.
    """
    if variable.sort == INT:
        body, within = _recentred(variable, body, within)
    if variable not in body.free:
        if body is (TRUE if kind == "forall" else FALSE):
            return body  # also where nothing is in its range
        if variable.sort != INT and within is None:
            return body
    return _term(kind, BOOL, "", (variable, *(within or ()), body))


def _recentred(
    variable: Term, body: Term, within: tuple[Term, Term] | None
) -> tuple[Term, tuple[Term, Term] | None]:
    """Move a variable so that functions are applied to it, and not to it plus a number.

    The places of a tail are those of the whole sequence plus one.  A solver finds instances of
    `line(i)` among the terms that there are, and none of `line(i + 1)`.
    """
    places = {
        place
        for one in subterms([body]) if one.op in ("symbol", "made") and variable in one.free
        for place in one.arguments if variable in place.free
    }  # fmt: skip
    moved = {_offset(place, variable) for place in places if place.sort == INT}
    others = {other for other, _ in moved}
    numbers = {number for _, number in moved}
    if len(others) != 1 or others == {variable}:
        return body, within
    (other,) = others
    if other is not None:
        body, within = _moved(variable, body, within, other)
    if 0 not in numbers:
        body, within = _moved(variable, body, within, integer(min(numbers)))
    return body, within


def _offset(place: Term, variable: Term) -> tuple[Term | None, int]:
    """Return what is added to a variable: a term or None, and a number; (variable, 0): no sum."""
    base, number = shifted(place)
    if base is variable:
        return None, number
    if base.op == "+" and base.arguments[0] is variable \
            and variable not in base.arguments[1].free:  # fmt: skip
        return base.arguments[1], number
    return variable, 0


def _moved(
    variable: Term, body: Term, within: tuple[Term, Term] | None, number: Term
) -> tuple[Term, tuple[Term, Term] | None]:
    """Put the variable minus a number in place of the variable."""
    body = replaced(body, variable, arithmetic("-", variable, number))
    if within is not None:
        low, high = (arithmetic("+", one, number) for one in within)
        within = low, high
    return body, within


def replaced(term: Term, old: Term, new: Term) -> Term:
    """Return a term with a variable replaced."""
    if term is old:
        return new
    if old not in term.free:
        return term
    arguments = tuple(replaced(one, old, new) for one in term.arguments)
    if term.op in _FOLD:
        return arithmetic(term.op, *arguments)
    return _term(term.op, term.sort, term.name, arguments)


@dataclass(frozen=True)
class Axiom:
    """What holds of a function that the translator has made, by the function's name."""

    symbols: frozenset[str]
    formula: Term


@dataclass(frozen=True)
class Declared:
    """A function of a text: the name of its terms, and its sorts."""

    name: str
    sort: str
    arguments: tuple[str, ...]
    is_string: bool = False


def subterms(terms: Iterable[Term]) -> Iterator[Term]:
    """Yield each term below `terms` once, in a fixed order."""
    seen: set[Term] = set()
    todo = list(terms)[::-1]
    while todo:
        term = todo.pop()
        if term not in seen:
            seen.add(term)
            yield term
            todo += term.arguments[::-1]


def digest(script: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(script.encode()).hexdigest()


def reduced(script: str, core: Iterable[int]) -> str:
    """Return a text with all its declarations and those of its assertions that `core` numbers."""
    numbers = itertools.count()
    kept = frozenset(core)
    lines = script.split("\n")
    return "\n".join(line for line in lines if not line.startswith(ASSERT) or next(numbers) in kept)


def parts(term: Term) -> tuple[Term, ...]:
    """Return the formulas of a conjunction, or the formula."""
    return term.arguments if term.op == "and" else (term,)


class Printer:
    """Writes formulas as one text; a copy goes on where the first has got to."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._made: dict[str, int] = {}
        self._written: dict[Term, str] = {}
        self.symbols: dict[str, Declared] = {}
        """Each declared function by the name that the text gives it."""

    def copy(self) -> Printer:
        """Return a printer that has written the same so far."""
        other = Printer()
        other._lines = list(self._lines)
        other._made, other._written = dict(self._made), dict(self._written)
        other.symbols = dict(self.symbols)
        return other

    def add(self, formulas: Iterable[Term]) -> None:
        """Assert more formulas, each part of a conjunction by itself."""
        self._lines += self.written(formulas)

    def written(self, formulas: Iterable[Term]) -> list[str]:
        """Return the assertions of formulas."""
        return [f"{ASSERT}{self._write(one)})" for term in formulas for one in parts(term)]

    def text(self) -> str:
        """Return all declarations, that strings are distinct, and the assertions."""
        head = ["(set-logic ALL)", f"(declare-sort {TEXT} 0)", f"(declare-sort {THREAD} 0)"]
        for name, one in self.symbols.items():
            head.append(f"(declare-fun {name} ({' '.join(one.arguments)}) {one.sort})")
        for sort in (TEXT, THREAD):
            strings = [n for n, one in self.symbols.items() if one.is_string and one.sort == sort]
            if len(strings) > 1:
                head.append(f"(assert (distinct {' '.join(strings)}))")
        return "\n".join([*head, *self._lines, "(check-sat)", ""])

    def _write(self, term: Term) -> str:
        found = self._written.get(term)
        if found is None:
            found = self._written[term] = self._written_anew(term)
        return found

    def _written_anew(self, term: Term) -> str:
        arguments = term.arguments
        match term.op:
            case "true" | "false":
                return term.op
            case "int":
                return term.name if not term.name.startswith("-") else f"(- {term.name[1:]})"
            case "string":
                sort = TEXT if term.sort == LITERAL else term.sort
                return self._declare(f"|{sort} {term.name}|", Declared(term.name, sort, (), True))
            case "bound":
                return f"{term.sort[0].lower()}!{self._number(f'bound {term.name}')}"
            case "symbol" | "made":
                name = f"|{term.name}|"
                if term.op == "made":
                    name = f"|made {self._number(f'made {term.name}')}|"
                sorts = tuple(one.sort for one in arguments)
                self._declare(name, Declared(term.name, term.sort, sorts))
            case "forall" | "exists":
                variable = self._write(arguments[0])
                body = self._write(arguments[-1])
                return f"({term.op} (({variable} {arguments[0].sort})) {body})"
            case _:
                name = term.op
        inner = " ".join(self._write(one) for one in arguments)
        return f"({name} {inner})" if inner else name

    def _declare(self, name: str, declared: Declared) -> str:
        self.symbols.setdefault(name, declared)
        return name

    def _number(self, name: str) -> int:
        return self._made.setdefault(name, len(self._made))
