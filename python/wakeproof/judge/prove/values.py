# SPDX-License-Identifier: Apache-2.0
"""Symbolic values of TLA+: what an expression is in all states at once.

A number, truth value, string or thread is a term (`smt`).  A set is a list of generators, each of
which gives one element or, for each term of a sort, an element that satisfies a guard.  Functions
and sequences are Python functions from terms to values.  So nothing is ever written out for some
number of threads: a quantifier over a set becomes a quantifier over its sort.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from wakeproof.judge.prove import smt
from wakeproof.judge.prove.smt import BOOL, INT, TEXT, THREAD, Term


class UntranslatableError(Exception):
    """A value is used in a way that has no translation; the evaluator adds the place."""


class UndefinedError(Exception):
    """TLA+ does not say which value this is: a CASE without a true arm, a CHOOSE from nothing."""


class _Sample:
    """Any term of a sort, the same one each time; inside of itself, another."""

    depth = 0

    def __init__(self, sort: str) -> None:
        self._sort = sort

    def __enter__(self) -> Term:
        _Sample.depth += 1
        return smt.bound(f"sample {_Sample.depth}", self._sort)

    def __exit__(self, *_: object) -> None:
        _Sample.depth -= 1


@dataclass(frozen=True, eq=False)
class Generator:
    """Elements of a set: `value(x)` for each term x of `sort` with `guard(x)`; without a sort one.

    `within` has the bounds of numbers, for evaluation in a finite model.
    """

    sort: str
    guard: Callable[[Term], Term]
    value: Callable[[Term], Value]
    within: tuple[Term, Term] | None = None

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Return what tells this generator from others, as far as terms do."""
        with _Sample(self.sort) as sample:
            value = self.value(sample)
            return self.sort, self.guard(sample), value if isinstance(value, Term) else id(self)

    @cached_property
    def is_whole(self) -> bool:
        """Say whether the elements are the terms of the sort themselves."""
        with _Sample(self.sort) as sample:
            return bool(self.sort) and self.value(sample) is sample


@dataclass(frozen=True, eq=False)
class SetValue:
    """A set by its generators."""

    generators: tuple[Generator, ...]

    @property
    def elements(self) -> list[Value] | None:
        """Return the elements if they are listed one by one and all are in the set."""
        if all(not one.sort and one.guard(smt.TRUE) is smt.TRUE for one in self.generators):
            return [one.value(smt.TRUE) for one in self.generators]
        return None

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Return what tells this set from others, as far as terms do."""
        return tuple(one.key for one in self.generators)


@dataclass(frozen=True, eq=False)
class PowerSet:
    """SUBSET base."""

    base: AnySet


@dataclass(frozen=True, eq=False)
class FunctionSet:
    """[domain -> range]."""

    domain: SetValue
    range: AnySet


@dataclass(frozen=True, eq=False)
class RecordSet:
    """[name : set, ..]."""

    fields: dict[str, AnySet]


@dataclass(frozen=True, eq=False)
class SequenceSet:
    """Seq(elements)."""

    elements: AnySet


@dataclass(frozen=True, eq=False)
class ProductSet:
    """The product of sets."""

    parts: tuple[AnySet, ...]


@dataclass(frozen=True, eq=False)
class UnionSet:
    """The union of sets of which not all have generators; `tests` say when each is part of it."""

    parts: tuple[AnySet, ...]
    tests: tuple[Term, ...]


AnySet = SetValue | PowerSet | FunctionSet | RecordSet | SequenceSet | ProductSet | UnionSet
SETS: Final = (SetValue, PowerSet, FunctionSet, RecordSet, SequenceSet, ProductSet, UnionSet)


@dataclass(frozen=True, eq=False)
class FunctionValue:
    """A function."""

    domain: SetValue
    at: Callable[[Term], Value]


@dataclass(frozen=True, eq=False)
class RecordValue:
    """A record, or any function whose domain is a list of strings."""

    fields: dict[str, Value]


@dataclass(frozen=True, eq=False)
class SequenceValue:
    """A sequence: its items, or its length and what stands at each place from 1 on."""

    length: Term
    at: Callable[[Term], Value]
    items: tuple[Value, ...] | None = None


@dataclass(frozen=True, eq=False)
class NumberOrThread:
    """A value that is a number where `is_number` holds, and a thread elsewhere."""

    is_number: Term
    number: Term
    thread: Term


@dataclass(frozen=True, eq=False)
class Count:
    """The sum of the cardinalities of sets, plus a number: it is only ever compared."""

    of: tuple[SetValue, ...]
    plus: Term


Value = Term | AnySet | FunctionValue | RecordValue | SequenceValue | NumberOrThread | Count

_numbers = itertools.count()


def fresh(sort: str) -> Term:
    """Return a new variable for a quantifier."""
    return smt.bound(str(next(_numbers)), sort)


def skolem(sort: str, name: str) -> Term:
    """Return a new constant of the translator's."""
    return smt.made(f"{name} {next(_numbers)}", sort)


def new_name() -> str:
    """Return a new name for a function of the translator's."""
    return str(next(_numbers))


# Sets.


def _always(_: Term) -> Term:
    return smt.TRUE


def itself(term: Term) -> Value:
    """Return the term as a value."""
    return term


def listed(values: Iterable[Value]) -> SetValue:
    """Return the set of these values."""
    return SetValue(
        tuple(Generator("", _always, lambda _, value=value: value) for value in values)  # type: ignore[misc]
    )


def whole(sort: str, guard: Callable[[Term], Term] = _always) -> SetValue:
    """Return the set of all terms of a sort that satisfy a guard."""
    return SetValue((Generator(sort, guard, itself),))


def interval(low: Term, high: Term) -> SetValue:
    """Return low .. high."""
    if low.op == high.op == "int":
        return listed(smt.integer(one) for one in range(int(low.name), int(high.name) + 1))

    def guard(one: Term) -> Term:
        at_least = smt.arithmetic("<=", low, one)
        return smt.conjunction((at_least, smt.arithmetic("<=", one, high)))

    return SetValue((Generator(INT, guard, itself, (low, high)),))


NATURALS: Final = whole(INT, lambda one: smt.arithmetic("<=", smt.integer(0), one))
INTEGERS: Final = whole(INT)
BOOLEANS: Final = listed((smt.TRUE, smt.FALSE))


def each(found: SetValue, formula: Callable[[Value], Term], *, some: bool = False) -> Term:
    """Return `formula` of each element of a set, or of some."""
    parts = []
    for one in found.generators:
        variable = fresh(one.sort) if one.sort else smt.TRUE
        guard = one.guard(variable)
        if guard is smt.FALSE:
            continue
        body = formula(one.value(variable))
        part = smt.conjunction((guard, body)) if some else smt.implication(guard, body)
        if one.sort:
            part = smt.quantified("exists" if some else "forall", variable, part, one.within)
        parts.append(part)
    return smt.disjunction(parts) if some else smt.conjunction(parts)


def filtered(found: SetValue, test: Callable[[Value], Term]) -> SetValue:
    """Return the elements that pass a test."""

    def narrowed(one: Generator) -> Generator:
        def guard(term: Term) -> Term:
            first = one.guard(term)
            return first if first is smt.FALSE else smt.conjunction((first, test(one.value(term))))

        return Generator(one.sort, guard, one.value, one.within)

    return SetValue(tuple(narrowed(one) for one in found.generators))


def mapped(found: SetValue, image: Callable[[Value], Value]) -> SetValue:
    """Return the set of the images of all elements."""
    return SetValue(tuple(
        Generator(one.sort, one.guard, lambda term, one=one: image(one.value(term)), one.within)  # type: ignore[misc]
        for one in found.generators
    ))  # fmt: skip


def under(test: Term, found: SetValue) -> SetValue:
    """Return the set where `test` holds, and the empty set elsewhere."""
    return filtered(found, lambda _: test)


def union(one: AnySet, other: AnySet) -> AnySet:
    """Return the union of two sets."""
    if isinstance(one, SetValue) and isinstance(other, SetValue):
        return SetValue((*one.generators, *other.generators))
    return UnionSet((one, other), (smt.TRUE, smt.TRUE))


def member(value: Value, found: Value) -> Term:
    """Return whether a value is an element of a set."""
    match found:
        case SetValue():
            return smt.disjunction(_generates(one, value) for one in found.generators)
        case PowerSet():
            return each(_set(value), lambda one: member(one, found.base))
        case FunctionSet():
            if isinstance(value, RecordValue):
                return smt.conjunction(member(one, found.range) for one in value.fields.values())
            if not isinstance(value, FunctionValue):
                raise UntranslatableError("a value that is no function is looked up in [D -> R]")
            same = same_set(value.domain, found.domain)
            return smt.conjunction(
                (same, each(found.domain, lambda one: member(value.at(_term(one)), found.range)))
            )
        case RecordSet():
            if not isinstance(value, RecordValue) or value.fields.keys() != found.fields.keys():
                raise UntranslatableError("a record is compared with other fields than it has")
            parts = (member(value.fields[name], part) for name, part in found.fields.items())
            return smt.conjunction(parts)
        case SequenceSet():
            items = _sequence(value)
            return every_item(items, lambda one: member(one, found.elements))
        case ProductSet():
            items = _sequence(value)
            if items.items is None or len(items.items) != len(found.parts):
                raise UntranslatableError("a value that is no tuple is looked up in a product")
            return smt.conjunction(map(member, items.items, found.parts))
        case UnionSet():
            return smt.disjunction(
                smt.conjunction((test, member(value, part)))
                for test, part in zip(found.tests, found.parts, strict=True)
                if test is not smt.FALSE
            )
    raise UntranslatableError("something that is no set stands right of \\in")


def _generates(one: Generator, value: Value) -> Term:
    if not one.sort:
        guard = one.guard(smt.TRUE)
        return smt.conjunction((guard, equal(value, one.value(smt.TRUE)))) \
            if guard is not smt.FALSE else smt.FALSE  # fmt: skip
    if one.is_whole:
        if isinstance(value, NumberOrThread):
            part = value.number if one.sort == INT else value.thread
            is_one = value.is_number if one.sort == INT else smt.negation(value.is_number)
            return smt.conjunction((is_one, one.guard(part)))
        term = smt.of_sort(_term(value), one.sort)
        return one.guard(term) if term.sort == one.sort else smt.FALSE
    variable = fresh(one.sort)
    body = smt.conjunction((one.guard(variable), equal(value, one.value(variable))))
    return smt.quantified("exists", variable, body, one.within)


def subset(one: Value, other: Value) -> Term:
    """Return whether each element of one set is in another."""
    return each(_set(one), lambda value: member(value, other))


def same_set(one: SetValue, other: SetValue) -> Term:
    """Return whether two sets have the same elements."""
    if one is other or one.key == other.key:
        return smt.TRUE
    return smt.conjunction((subset(one, other), subset(other, one)))


def _set(value: Value) -> SetValue:
    if not isinstance(value, SetValue):
        raise UntranslatableError("a set is needed whose elements are known")
    return value


def _term(value: Value) -> Term:
    if not isinstance(value, Term):
        raise UntranslatableError(f"a plain value is needed, not a {type(value).__name__}")
    return value


# Sequences.


def items(values: Iterable[Value]) -> SequenceValue:
    """Return the sequence, or tuple, of these values."""
    known = tuple(values)

    def at(place: Term) -> Value:
        if place.op == "int":
            if not 1 <= int(place.name) <= len(known):
                raise UndefinedError(f"item {place.name} of {len(known)}")
            return known[int(place.name) - 1]
        if not known:
            raise UndefinedError("an item of the empty sequence")
        found = known[-1]
        for number in range(len(known) - 1, 0, -1):
            found = choice(smt.equal(place, smt.integer(number)), known[number - 1], found)
        return found

    return SequenceValue(smt.integer(len(known)), at, known)


def _sequence(value: Value) -> SequenceValue:
    if not isinstance(value, SequenceValue):
        raise UntranslatableError("a sequence is needed")
    return value


def places(sequence: SequenceValue) -> SetValue:
    """Return DOMAIN sequence."""
    return interval(smt.integer(1), sequence.length)


def every_item(sequence: SequenceValue, formula: Callable[[Value], Term]) -> Term:
    """Return `formula` of each item of a sequence; its length is not negative."""
    if sequence.items is not None:
        return smt.conjunction(map(formula, sequence.items))
    return smt.conjunction((
        smt.arithmetic("<=", smt.integer(0), sequence.length),
        each(places(sequence), lambda place: formula(sequence.at(_term(place)))),
    ))  # fmt: skip


# Equality and choice.


def equal(one: Value, other: Value) -> Term:
    """Return whether two values are the same."""
    if one is other:
        return smt.TRUE
    match one, other:
        case (Count(), _) | (_, Count()):
            return compare("=", one, other)
        case NumberOrThread(), NumberOrThread():
            both = smt.equal(one.is_number, other.is_number)
            number = smt.implication(one.is_number, smt.equal(one.number, other.number))
            thread = smt.disjunction((one.is_number, smt.equal(one.thread, other.thread)))
            return smt.conjunction((both, number, thread))
        case Term(), NumberOrThread():
            return equal(other, one)
        case NumberOrThread() as mixed, Term() as term:
            if term.sort == INT:
                return smt.conjunction((mixed.is_number, smt.equal(mixed.number, term)))
            return smt.conjunction((smt.negation(mixed.is_number), smt.equal(mixed.thread, term)))
        case Term(), Term():
            return smt.equal(one, other)
        case SetValue(), SetValue():
            return same_set(one, other)
        case RecordValue(), RecordValue():
            if one.fields.keys() != other.fields.keys():
                return smt.FALSE
            return smt.conjunction(equal(one.fields[k], other.fields[k]) for k in one.fields)
        case FunctionValue(), FunctionValue():
            domains = same_set(one.domain, other.domain)
            same = each(one.domain, lambda x: equal(one.at(_term(x)), other.at(_term(x))))
            return smt.conjunction((domains, same))
        case SequenceValue(), SequenceValue():
            return _equal_sequences(one, other)
    raise UntranslatableError(f"a {type(one).__name__} is compared with a {type(other).__name__}")


def _equal_sequences(one: SequenceValue, other: SequenceValue) -> Term:
    length = smt.equal(one.length, other.length)
    if length is smt.FALSE:
        return length
    known = one.items if one.items is not None else other.items
    if known is not None:
        numbers = [smt.integer(number + 1) for number in range(len(known))]
        return smt.conjunction((length, *(equal(one.at(at), other.at(at)) for at in numbers)))
    same = each(places(one), lambda at: equal(one.at(_term(at)), other.at(_term(at))))
    return smt.conjunction((length, same))


def choice(test: Term, one: Value, other: Value) -> Value:
    """Return IF test THEN one ELSE other."""
    if test is smt.TRUE or one is other:
        return one
    if test is smt.FALSE:
        return other
    match one, other:
        case Term(), Term() if one.sort == other.sort or smt.LITERAL in (one.sort, other.sort):
            return smt.choice(test, one, other)
        case ((Term() | NumberOrThread()), (Term() | NumberOrThread())):
            left, right = number_or_thread(one), number_or_thread(other)
            return NumberOrThread(
                smt.choice(test, left.is_number, right.is_number),
                smt.choice(test, left.number, right.number),
                smt.choice(test, left.thread, right.thread),
            )
        case SetValue(), SetValue():
            parts = under(test, one).generators, under(smt.negation(test), other).generators
            return SetValue((*parts[0], *parts[1]))
        case RecordValue(), RecordValue() if one.fields.keys() == other.fields.keys():
            both = {name: (value, other.fields[name]) for name, value in one.fields.items()}
            return RecordValue({name: choice(test, *pair) for name, pair in both.items()})
        case FunctionValue(), FunctionValue() if same_set(one.domain, other.domain) is smt.TRUE:
            return FunctionValue(one.domain, lambda at: choice(test, one.at(at), other.at(at)))
        case SequenceValue(), SequenceValue():
            if one.items is not None and other.items is not None \
                    and len(one.items) == len(other.items):  # fmt: skip
                return items(map(lambda a, b: choice(test, a, b), one.items, other.items))
            length = smt.choice(test, one.length, other.length)
            return SequenceValue(length, lambda at: _choice_at(test, one, other, at))
    if isinstance(one, SETS) and isinstance(other, SETS):
        return UnionSet((one, other), (test, smt.negation(test)))
    raise UntranslatableError(
        f"a choice between a {type(one).__name__} and a {type(other).__name__}"
    )


def _choice_at(test: Term, one: SequenceValue, other: SequenceValue, at: Term) -> Value:
    """Return the item of a chosen sequence; where one has no items, that of the other."""
    if one.items == ():
        return other.at(at)
    return one.at(at) if other.items == () else choice(test, one.at(at), other.at(at))


def number_or_thread(value: Value) -> NumberOrThread:
    """Return a plain value as one of either kind; the part that it is not may be anything."""
    if isinstance(value, NumberOrThread):
        return value
    term = smt.of_sort(_term(value), THREAD)
    if term.sort == INT:
        return NumberOrThread(smt.TRUE, term, smt.string("no thread", THREAD))
    if term.sort != THREAD:
        raise UntranslatableError(f"a value of sort {term.sort} where a number or thread is needed")
    return NumberOrThread(smt.FALSE, smt.integer(0), term)


# Numbers.


def compare(op: str, one: Value, other: Value) -> Term:
    """Return one = other, one < other or one <= other (op: = < <=)."""
    if isinstance(one, Count) and isinstance(other, Count):
        raise UntranslatableError("two cardinalities are compared with one another")
    if isinstance(one, Count):
        bound = smt.arithmetic("-", _term(other), one.plus)
        if op == "<":
            bound = smt.arithmetic("-", bound, smt.integer(1))
        at_most = _at_most(one.of, bound)
        return smt.conjunction((at_most, _at_least(one.of, bound))) if op == "=" else at_most
    if isinstance(other, Count):
        bound = smt.arithmetic("-", _term(one), other.plus)
        if op == "<":
            bound = smt.arithmetic("+", bound, smt.integer(1))
        at_least = _at_least(other.of, bound)
        return smt.conjunction((at_least, _at_most(other.of, bound))) if op == "=" else at_least
    if op == "=":
        return equal(one, other)
    return smt.arithmetic(op, _term(one), _term(other))


def _at_most(sets: tuple[SetValue, ...], bound: Term) -> Term:
    """Return whether the sets have `bound` elements or fewer: exact for 0 and 1, else unknown."""
    return smt.conjunction((
        smt.arithmetic("<=", smt.integer(0), bound),
        smt.implication(_is(bound, 0), smt.negation(_is_inhabited(sets))),
        smt.implication(_is(bound, 1), _has_at_most_one(sets)),
        _unknown(sets, bound, 2),
    ))  # fmt: skip


def _at_least(sets: tuple[SetValue, ...], bound: Term) -> Term:
    """Return whether the sets have `bound` elements or more: exact for up to 2, else unknown."""
    return smt.conjunction((
        smt.implication(_is(bound, 1), _is_inhabited(sets)),
        smt.implication(_is(bound, 2), smt.negation(_has_at_most_one(sets))),
        _unknown(sets, bound, 3),
    ))  # fmt: skip


def _is(term: Term, number: int) -> Term:
    return smt.equal(term, smt.integer(number))


def _unknown(sets: tuple[SetValue, ...], bound: Term, least: int) -> Term:
    """Return TRUE where the bound is below `least`, and elsewhere an unknown truth value, each new.

    It may be what makes a proof fail, never what makes it succeed.  Below a quantifier one value
    would stand for many, so there it is refused.
    """
    is_more = smt.arithmetic("<=", smt.integer(least), bound)
    if is_more is smt.FALSE:
        return smt.TRUE
    if is_more is smt.TRUE or bound.free or _is_inhabited(sets).free:
        raise UntranslatableError("a cardinality is compared with more than 0 or 1")
    return smt.implication(is_more, skolem(BOOL, "count"))


def _is_inhabited(sets: tuple[SetValue, ...]) -> Term:
    return smt.disjunction(each(one, lambda _: smt.TRUE, some=True) for one in sets)


def _has_at_most_one(sets: tuple[SetValue, ...]) -> Term:
    """Return whether there is at most one element, which is in one of the sets."""
    single = [each(one, lambda x, one=one: each(one, lambda y: equal(x, y))) for one in sets]  # type: ignore[misc]
    apart = [
        each(one, lambda _, other=other: each(other, lambda _: smt.FALSE))  # type: ignore[misc]
        for one, other in itertools.combinations(sets, 2)
    ]
    return smt.conjunction((*single, *apart))


def sort_of(found: SetValue) -> str:
    """Return the one sort of the elements of a set.

    Raises:
        UntranslatableError: they have several, or are no plain values.
    """
    sorts = set()
    for one in found.generators:
        with _Sample(one.sort) as sample:
            value = one.value(sample)
        if not isinstance(value, Term | Count):
            raise UntranslatableError("a set of a type has elements that are no plain values")
        sorts.add(value.sort if isinstance(value, Term) else INT)
    if sorts == {smt.LITERAL}:
        return TEXT
    if smt.LITERAL in sorts and sorts <= {smt.LITERAL, THREAD, TEXT}:
        sorts.discard(smt.LITERAL)
    if len(sorts) != 1:
        raise UntranslatableError(f"a set of a type has elements of several sorts: {sorted(sorts)}")
    return sorts.pop()
