# SPDX-License-Identifier: Apache-2.0
"""The shapes of variables: which functions of logic stand for a variable of a given type.

`TypeOK` gives each variable its set, and the set a shape.  That a variable keeps its shape is no
assumption: each value that an action gives it must fit, which is proved with all else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wakeproof.judge.prove import smt, values
from wakeproof.judge.prove.evaluate import Evaluator, Scope
from wakeproof.judge.prove.modules import Apply, Node, OutsideFragmentError
from wakeproof.judge.prove.smt import BOOL, INT, THREAD, Term
from wakeproof.judge.prove.values import (
    AnySet,
    FunctionSet,
    FunctionValue,
    NumberOrThread,
    PowerSet,
    ProductSet,
    RecordSet,
    RecordValue,
    SequenceSet,
    SequenceValue,
    SetValue,
    UnionSet,
    UntranslatableError,
    Value,
)


@dataclass(frozen=True)
class Plain:
    """A number, truth value, string or thread."""

    sort: str


@dataclass(frozen=True)
class Mixed:
    """A number or a thread."""


@dataclass(frozen=True)
class Threads:
    """A set of elements of one sort."""

    sort: str


@dataclass(frozen=True)
class Names:
    """A set of some of these strings."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Function:
    """A function over a set of threads or numbers."""

    domain: SetValue
    sort: str
    result: Shape


@dataclass(frozen=True)
class Record:
    """A record."""

    fields: Mapping[str, Shape]


@dataclass(frozen=True)
class Sequence:
    """A sequence of any length."""

    item: Shape


@dataclass(frozen=True)
class Tuple:
    """A tuple."""

    items: tuple[Shape, ...]


Shape = Plain | Mixed | Threads | Names | Function | Record | Sequence | Tuple


def shape_of(found: AnySet) -> Shape:
    """Return the shape of the elements of a set.

    Raises:
        UntranslatableError: they have none.
    """
    match found:
        case SetValue():
            return Plain(values.sort_of(found))
        case PowerSet(base=SetValue() as base):
            names = _names(base)
            return Threads(values.sort_of(base)) if names is None else Names(names)
        case FunctionSet():
            return Function(found.domain, values.sort_of(found.domain), shape_of(found.range))
        case RecordSet():
            return Record({name: shape_of(part) for name, part in found.fields.items()})
        case SequenceSet():
            return Sequence(shape_of(found.elements))
        case ProductSet():
            return Tuple(tuple(map(shape_of, found.parts)))
        case UnionSet():
            first, *others = map(shape_of, found.parts)
            for other in others:
                first = _joined(first, other)
            return first
    raise UntranslatableError("a type of sets of sets")


def _names(base: SetValue) -> tuple[str, ...] | None:
    found = base.elements
    if found is None or not all(isinstance(one, Term) and one.op == "string" for one in found):
        return None
    return tuple(one.name for one in found if isinstance(one, Term))


def _joined(one: Shape, other: Shape) -> Shape:
    match one, other:
        case Tuple(), Tuple() if len(one.items) == len(other.items):
            return Tuple(tuple(map(_joined, one.items, other.items)))
        case ((Plain() | Mixed()), (Plain() | Mixed())):
            if one == other:
                return one
            if isinstance(one, Mixed) or isinstance(other, Mixed) \
                    or {one.sort, other.sort} == {INT, THREAD}:  # fmt: skip
                return Mixed()
            if {one.sort, other.sort} == {smt.TEXT, THREAD}:
                return Plain(THREAD)
    raise UntranslatableError("a type that joins values of different kinds")


def declared(shape: Shape, name: str, arguments: tuple[Term, ...] = ()) -> Value:
    """Return the value of a variable in any state; `name` names the functions that it takes."""
    match shape:
        case Plain():
            return smt.symbol(name, shape.sort, arguments)
        case Mixed():
            kind = smt.symbol(f"{name} is a number", BOOL, arguments)
            number = smt.symbol(f"{name} number", INT, arguments)
            return NumberOrThread(kind, number, smt.symbol(f"{name} thread", THREAD, arguments))
        case Threads():
            has = lambda one: smt.symbol(f"{name} has", BOOL, (*arguments, one))  # noqa: E731
            return values.whole(shape.sort, has)
        case Names():
            parts = [(smt.symbol(f"{name} has {one}", BOOL, arguments), smt.string(one))
                     for one in shape.names]  # fmt: skip
            generators = (g for test, one in parts
                          for g in values.under(test, values.listed([one])).generators)  # fmt: skip
            return SetValue(tuple(generators))
        case Function():

            def at(place: Term) -> Value:
                place = smt.of_sort(place, shape.sort)
                if place.sort != shape.sort:
                    raise UntranslatableError(f"{name} is applied to a value of another sort")
                return declared(shape.result, name, (*arguments, place))

            return FunctionValue(shape.domain, at)
        case Record():
            return RecordValue({
                field: declared(part, f"{name}.{field}", arguments)
                for field, part in shape.fields.items()
            })  # fmt: skip
        case Sequence():
            length = smt.symbol(f"{name} length", INT, arguments)
            item = lambda at: declared(shape.item, name, (*arguments, at))  # noqa: E731
            return SequenceValue(length, item)
        case Tuple():
            parts_of = enumerate(shape.items, 1)
            return values.items(declared(one, f"{name}[{at}]", arguments) for at, one in parts_of)


def facts(value: Value, shape: Shape) -> Term:
    """Return what holds of every value of a shape: a sequence's length is not negative."""
    match value, shape:
        case FunctionValue(), Function():
            return values.each(shape.domain, lambda x: facts(value.at(_term(x)), shape.result))
        case RecordValue(), Record():
            return smt.conjunction(facts(value.fields[n], part) for n, part in shape.fields.items())
        case SequenceValue(), Sequence():
            is_length = smt.arithmetic("<=", smt.integer(0), value.length)
            items = values.each(
                values.places(value), lambda at: facts(value.at(_term(at)), shape.item)
            )
            return smt.conjunction((is_length, items))
        case SequenceValue(), Tuple():
            return smt.conjunction(map(facts, value.items or (), shape.items))
    return smt.TRUE


def fits(value: Value, shape: Shape) -> Term:
    """Return whether a value has a shape: it must hold of what an action gives a variable.

    Raises:
        UntranslatableError: it never has.
    """
    match value, shape:
        case Term(), Plain() if smt.of_sort(value, shape.sort).sort == shape.sort:
            return smt.TRUE
        case NumberOrThread(), Plain() if shape.sort in (INT, THREAD):
            return value.is_number if shape.sort == INT else smt.negation(value.is_number)
        case ((Term() | NumberOrThread()), Mixed()):
            values.number_or_thread(value)
            return smt.TRUE
        case SetValue(), Threads():
            return values.each(value, lambda one: fits(one, Plain(shape.sort)))
        case SetValue(), Names():
            base = values.listed(map(smt.string, shape.names))
            return values.each(value, lambda one: values.member(one, base))
        case FunctionValue(), Function():
            same = values.same_set(value.domain, shape.domain)
            inner = values.each(shape.domain, lambda x: fits(value.at(_term(x)), shape.result))
            return smt.conjunction((same, inner))
        case RecordValue(), Record() if value.fields.keys() == shape.fields.keys():
            return smt.conjunction(fits(value.fields[n], part) for n, part in shape.fields.items())
        case SequenceValue(), Sequence():
            return values.every_item(value, lambda one: fits(one, shape.item))
        case SequenceValue(), Tuple() if value.items and len(value.items) == len(shape.items):
            return smt.conjunction(map(fits, value.items, shape.items))
    raise UntranslatableError(f"a {type(value).__name__} is no {type(shape).__name__}")


def _term(value: Value) -> Term:
    assert isinstance(value, Term)
    return value


def coerced(value: Value, shape: Shape) -> Value:
    """Return a value that fits, with the sorts of the shape."""
    match value, shape:
        case Term(), Plain():
            return smt.of_sort(value, shape.sort)
        case NumberOrThread(), Plain():
            return value.number if shape.sort == INT else value.thread
        case ((Term() | NumberOrThread()), Mixed()):
            return values.number_or_thread(value)
        case FunctionValue(), Function():
            return FunctionValue(shape.domain, lambda at: coerced(value.at(at), shape.result))
        case RecordValue(), Record():
            return RecordValue({n: coerced(value.fields[n], s) for n, s in shape.fields.items()})
        case SequenceValue(), Sequence():
            if value.items is not None:
                return values.items(coerced(one, shape.item) for one in value.items)
            return SequenceValue(value.length, lambda at: coerced(value.at(at), shape.item))
        case SequenceValue(), Tuple():
            return values.items(map(coerced, value.items or (), shape.items))
    return value


def of_variables(evaluator: Evaluator, types: tuple[str, ...]) -> dict[str, Shape]:
    """Return the shape of each variable, from the definitions that say its type.

    Raises:
        OutsideFragmentError: a variable has no type, or one without a shape.
    """
    module = evaluator.module
    found: dict[str, Shape] = {}
    for name in types:
        _collect(evaluator, module.named(name).body, found)
    missing = [name for name in module.variables if name not in found]
    if missing:
        raise OutsideFragmentError(
            None, f"{module.name}.tla: {', '.join(types)} gives no type to {', '.join(missing)}"
        )
    return found


def _collect(evaluator: Evaluator, node: Node, found: dict[str, Shape]) -> None:
    if not isinstance(node, Apply):
        return
    if node.name in ("$ConjList", "\\land"):
        for one in node.operands:
            _collect(evaluator, one, found)
    elif node.is_defined and not node.operands and evaluator.module.uses(node):
        _collect(evaluator, evaluator.module.definition(node.uid).body, found)
    elif node.name in ("\\in", "\\subseteq"):
        left, right = node.operands
        assert isinstance(left, Apply)
        is_list = left.name == "$SetEnumerate"
        names = [
            one.name for one in (left.operands if is_list else (left,))
            if isinstance(one, Apply) and one.is_variable and one.name in evaluator.module.variables
        ]  # fmt: skip
        names = [name for name in names if name not in found]
        if not names or (is_list and node.name == "\\in"):
            return
        try:
            domain = evaluator.value(right, Scope({}))
            if not isinstance(domain, values.SETS):
                raise UntranslatableError("a type that is no set")
            if node.name == "\\subseteq" and not is_list:
                domain = PowerSet(domain)
            found |= dict.fromkeys(names, shape_of(domain))
        except UntranslatableError as error:
            raise OutsideFragmentError(node.where, f"type of {', '.join(names)}: {error}") from None
