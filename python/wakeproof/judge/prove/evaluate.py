# SPDX-License-Identifier: Apache-2.0
"""Evaluates expressions of TLA+ to symbolic values.

Modes, which are constants with a fixed value, fold away: what is left is the text that TLC would
evaluate in that mode.  An operator's operands are evaluated when they are needed, as TLC does, so
an operand that is undefined does no harm where a guard before it is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from wakeproof.judge.prove import smt, values
from wakeproof.judge.prove.modules import (
    Apply,
    Bound,
    Module,
    Node,
    Numeral,
    Old,
    OperatorArgument,
    Otherwise,
    OutsideFragmentError,
    Text,
    Where,
)
from wakeproof.judge.prove.smt import BOOL, INT, Axiom, Term
from wakeproof.judge.prove.values import (
    SETS,
    AnySet,
    Count,
    FunctionSet,
    FunctionValue,
    PowerSet,
    ProductSet,
    RecordSet,
    RecordValue,
    SequenceSet,
    SequenceValue,
    SetValue,
    UntranslatableError,
    Value,
)

State = Mapping[str, Value]


@dataclass(frozen=True)
class Closure:
    """An operator that was passed to another, with what its free parameters mean."""

    uid: str
    scope: Scope


@dataclass(frozen=True)
class Demand:
    """What must hold where an expression is evaluated, for TLA+ says nothing of its value else."""

    condition: Term
    where: Where
    why: str


class Later:
    """An operand that is evaluated when it is first needed."""

    def __init__(self, evaluator: Evaluator, node: Node, scope: Scope) -> None:
        self._evaluator, self.node, self.scope = evaluator, node, scope
        self._value: Value | None = None
        self._demands: list[Demand] = []

    def value(self) -> Value:
        """Return its value; what must hold for it to have one is demanded wherever it is used."""
        demands = self._evaluator.demands
        if self._value is None:
            before = len(demands)
            self._value = self._evaluator.value(self.node, self.scope)
            self._demands = demands[before:]
        else:
            demands += self._demands
        return self._value


Meaning = Value | Later | Closure


@dataclass(frozen=True)
class Selection:
    """The items of a sequence that pass a test; item and test are terms of the place."""

    length: Term
    place: Term
    item: Term
    passes: Term


@dataclass(frozen=True)
class Scope:
    """What names mean: parameters by their ids, variables now, and those that are set for next."""

    now: State
    next: State = field(default_factory=dict)
    parameters: Mapping[str, Meaning] = field(default_factory=dict)
    old: Value | None = None

    def bind(self, meanings: Mapping[str, Meaning]) -> Scope:
        """Return the scope with more parameters."""
        return replace(self, parameters={**self.parameters, **meanings})


class Evaluator:
    """Evaluates the expressions of one module.

    Args:
        module: the module.
        constants: the value of each constant.
    """

    def __init__(self, module: Module, constants: Mapping[str, Value]) -> None:
        self.module = module
        self.constants = constants
        self.axioms: list[Axiom] = []
        """What holds of the functions that SelectSeq gave names to."""
        self.selections: dict[str, Selection] = {}
        """What each of them is, by its name."""
        self.demands: list[Demand] = []
        """What must hold, of all that was evaluated since the caller emptied this list."""
        self._selected: dict[tuple[object, ...], SequenceValue] = {}

    def formula(self, node: Node, scope: Scope) -> Term:
        """Return a formula as a term.

        Raises:
            OutsideFragmentError: it cannot be translated.
        """
        with _at(node):
            return _truth(self.value(node, scope))

    def value(self, node: Node, scope: Scope) -> Value:
        """Return the value of an expression.

        Raises:
            OutsideFragmentError: it cannot be translated.
            UndefinedError: TLA+ does not say what it is.
        """
        match node:
            case Numeral():
                return smt.integer(node.value)
            case Text():
                return smt.string(node.value)
            case Old() if scope.old is not None:
                return scope.old
            case Apply():
                with _at(node):
                    return self._apply(node, scope)
        raise OutsideFragmentError(node.where, f"{type(node).__name__} has no value here")

    def call(self, uid: str, operands: tuple[Meaning, ...], scope: Scope) -> Value:
        """Return the value of a defined operator for these operands."""
        definition = self.module.definition(uid)
        meanings = dict(zip(definition.parameters, operands, strict=True))
        return self.value(definition.body, scope.bind(meanings))

    def demand(self, condition: Term, node: Node, why: str) -> None:
        """Note what must hold for `node` to have a value."""
        if condition is smt.TRUE:
            return
        if condition.free:
            raise UntranslatableError(f"{why}, below a quantifier")
        self.demands.append(Demand(condition, node.where, why))

    def operands(self, node: Apply, scope: Scope) -> tuple[Meaning, ...]:
        """Return the operands of a call, not yet evaluated."""
        return tuple(self._operand(one, scope) for one in node.operands)

    def _operand(self, node: Node, scope: Scope) -> Meaning:
        if not isinstance(node, OperatorArgument):
            return Later(self, node, scope)
        meaning = scope.parameters.get(node.uid)
        return meaning if isinstance(meaning, Closure) else Closure(node.uid, scope)

    def _apply(self, node: Apply, scope: Scope) -> Value:
        match node.kind:
            case "FormalParamNodeRef":
                meaning = scope.parameters[node.uid]
                if isinstance(meaning, Closure):
                    return self.call(
                        meaning.uid, self.operands(node, scope), _merged(meaning, scope)
                    )
                return meaning.value() if isinstance(meaning, Later) else meaning
            case "OpDeclNodeRef":
                if node.name in self.constants:
                    return self.constants[node.name]
                return scope.now[node.name]
            case "UserDefinedOpKindRef" if not self.module.is_standard(node.uid):
                return self.call(node.uid, self.operands(node, scope), scope)
        table = LIBRARY if node.is_defined else BUILT_IN
        if node.name not in table:
            known = sorted(one for one in {**BUILT_IN, **LIBRARY} if not one.startswith("$"))
            raise UntranslatableError(
                f"the operator {node.name} is outside the fragment; allowed: {' '.join(known)}"
            )
        return table[node.name](self, node, scope)

    # What the operators need.

    def part(self, node: Apply, number: int, scope: Scope) -> Value:
        """Return an operand."""
        return self.value(node.operands[number], scope)

    def all_parts(self, node: Apply, scope: Scope) -> list[Value]:
        """Return all operands."""
        return [self.value(one, scope) for one in node.operands]

    def domain(self, bound: Bound, scope: Scope) -> SetValue:
        """Return the set of a bound."""
        found = self.value(bound.domain, scope)
        if not isinstance(found, SetValue):
            raise UntranslatableError("a variable ranges over a set that cannot be enumerated")
        return found

    def quantified(self, node: Apply, scope: Scope, *, some: bool) -> Term:
        """Return a quantified formula."""
        pairs = [(uid, bound) for bound in node.bounds for uid in bound.uids]

        def over(left: list[tuple[str, Bound]], inner: Scope) -> Term:
            if not left:
                return self.formula(node.operands[0], inner)
            (uid, bound), rest = left[0], left[1:]
            found = self.domain(bound, scope)
            return values.each(found, lambda one: over(rest, inner.bind({uid: one})), some=some)

        return over(pairs, scope)

    def selected(self, sequence: SequenceValue, test: Callable[[Value], Term]) -> SequenceValue:
        """Return SelectSeq(sequence, test): a sequence of which the axioms say what it is."""
        if sequence.items is not None:
            tests = [test(one) for one in sequence.items]
            if all(one in (smt.TRUE, smt.FALSE) for one in tests):
                pairs = zip(sequence.items, tests, strict=True)
                return values.items(item for item, passes in pairs if passes is smt.TRUE)
            raise UntranslatableError("SelectSeq of a tuple")
        sample = smt.bound("item", INT)
        item = sequence.at(sample)
        if not isinstance(item, Term):
            raise UntranslatableError("SelectSeq of a sequence whose items are no plain values")
        passes = test(item)
        if (sequence.length.free | item.free | passes.free) - {sample}:
            raise UntranslatableError("SelectSeq below a quantifier")
        key = sequence.length, item, passes
        if key not in self._selected:
            name = values.new_name()
            found, axiom = _selection(name, sequence, test, item.sort)
            self._selected[key] = found
            self.selections[name] = Selection(sequence.length, sample, item, passes)
            self.axioms.append(axiom)
        return self._selected[key]


def _selection(
    name: str, sequence: SequenceValue, test: Callable[[Value], Term], sort: str
) -> tuple[SequenceValue, Axiom]:
    """Return a named sequence, and that it has the items which pass, in their order.

    Each of its items stands at a place of the source, places keep their order, and each item of
    the source that passes has a place in the result.
    """
    length = smt.made(f"selected {name} length", INT)

    def place_of(at: Term) -> Term:
        return smt.made(f"selected {name} from", INT, (at,))

    def place_in(at: Term) -> Term:
        return smt.made(f"selected {name} to", INT, (at,))

    found = SequenceValue(length, lambda at: smt.made(f"selected {name}", sort, (at,)))

    def within(at: Term, last: Term) -> Term:
        first = smt.arithmetic("<=", smt.integer(1), at)
        return smt.conjunction((first, smt.arithmetic("<=", at, last)))

    def kept(at: Value) -> Term:
        assert isinstance(at, Term)
        item = sequence.at(place_of(at))
        return smt.conjunction((
            within(place_of(at), sequence.length), values.equal(found.at(at), item), test(item),
            smt.equal(place_in(place_of(at)), at),
        ))  # fmt: skip

    def comes(at: Value) -> Term:
        assert isinstance(at, Term)
        there = smt.conjunction(
            (within(place_in(at), length), smt.equal(place_of(place_in(at)), at))
        )
        return smt.implication(test(sequence.at(at)), there)

    def ordered(one: Value, other: Value) -> Term:
        assert isinstance(one, Term)
        assert isinstance(other, Term)
        keeps = smt.arithmetic("<", place_of(one), place_of(other))
        return smt.implication(smt.arithmetic("<", one, other), keeps)

    out = values.places(found)
    axiom = smt.conjunction((
        smt.arithmetic("<=", smt.integer(0), length),
        smt.arithmetic("<=", length, sequence.length),
        values.each(out, kept),
        values.each(values.places(sequence), comes),
        values.each(out, lambda one: values.each(out, lambda other: ordered(one, other))),
    ))  # fmt: skip
    names = (f"selected {name}{part}" for part in ("", " length", " from", " to"))
    return found, Axiom(frozenset(names), axiom)


@contextmanager
def _at(node: Node) -> Iterator[None]:
    try:
        yield
    except UntranslatableError as error:
        name = f" (in {node.name})" if isinstance(node, Apply) and node.name else ""
        raise OutsideFragmentError(node.where, f"{error}{name}") from None


def _merged(closure: Closure, scope: Scope) -> Scope:
    """Return the scope of a closure, in the states of the place where it is called."""
    parameters = {**scope.parameters, **closure.scope.parameters}
    return replace(scope, parameters=parameters, old=closure.scope.old)


def _truth(value: Value) -> Term:
    if not isinstance(value, Term) or value.sort != BOOL:
        raise UntranslatableError("a truth value is needed")
    return value


def _number(value: Value) -> Term:
    if isinstance(value, values.NumberOrThread):
        return value.number
    if not isinstance(value, Term) or value.sort != INT:
        raise UntranslatableError("a number is needed")
    return value


def _sequence(value: Value) -> SequenceValue:
    if not isinstance(value, SequenceValue):
        raise UntranslatableError("a sequence is needed")
    return value


def _set(value: Value) -> AnySet:
    if not isinstance(value, SETS):
        raise UntranslatableError("a set is needed")
    return value


def _listed(value: Value) -> SetValue:
    if not isinstance(value, SetValue):
        raise UntranslatableError("a set is needed whose elements are known")
    return value


def _name(node: Node) -> str:
    if not isinstance(node, Text):
        raise UntranslatableError("a field's name is needed")
    return node.value


# Built-in operators.


def _and(self: Evaluator, node: Apply, scope: Scope) -> Value:
    parts = []
    for one in node.operands:
        part = self.formula(one, scope)
        if part is smt.FALSE:
            return part
        parts.append(part)
    return smt.conjunction(parts)


def _or(self: Evaluator, node: Apply, scope: Scope) -> Value:
    parts = []
    for one in node.operands:
        part = self.formula(one, scope)
        if part is smt.TRUE:
            return part
        parts.append(part)
    return smt.disjunction(parts)


def _implies(self: Evaluator, node: Apply, scope: Scope) -> Value:
    left = self.formula(node.operands[0], scope)
    if left is smt.FALSE:
        return smt.TRUE
    return smt.implication(left, self.formula(node.operands[1], scope))


def _equals(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return values.equal(*self.all_parts(node, scope))


def _differs(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return smt.negation(values.equal(*self.all_parts(node, scope)))


def _not(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return smt.negation(self.formula(node.operands[0], scope))


def _if(self: Evaluator, node: Apply, scope: Scope) -> Value:
    test = self.formula(node.operands[0], scope)
    if test in (smt.TRUE, smt.FALSE):
        return self.part(node, 1 if test is smt.TRUE else 2, scope)
    try:
        one = self.part(node, 1, scope)
    except values.UndefinedError as error:
        self.demand(smt.negation(test), node, str(error))
        return self.part(node, 2, scope)
    try:
        other = self.part(node, 2, scope)
    except values.UndefinedError as error:
        self.demand(test, node, str(error))
        return one
    return values.choice(test, one, other)


NO_GUARD: Final = "a CASE of which no guard is true"


def arms(self: Evaluator, node: Apply, scope: Scope) -> Iterator[tuple[Term, Node]]:
    """Yield the arms of a CASE that may be taken: the guard, and no earlier one; and the result.

    The last is `node` itself, where no guard is true, unless one always is.
    """
    before: list[Term] = []
    for pair in node.operands:
        assert isinstance(pair, Apply)
        test, result = pair.operands
        guard = smt.TRUE if isinstance(test, Otherwise) else self.formula(test, scope)
        if guard is smt.FALSE:
            continue
        yield smt.conjunction((*before, guard)), result
        before.append(smt.negation(guard))
        if guard is smt.TRUE:
            return
    yield smt.conjunction(before), node


def _case(self: Evaluator, node: Apply, scope: Scope) -> Value:
    taken = list(arms(self, node, scope))
    if taken[-1][1] is node:
        none_is_true, _ = taken.pop()
        if not taken:
            raise values.UndefinedError(NO_GUARD)
        self.demand(smt.negation(none_is_true), node, NO_GUARD)
    result = self.value(taken[-1][1], scope)
    for guard, node_of in reversed(taken[:-1]):
        result = values.choice(guard, self.value(node_of, scope), result)
    return result


def _in(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return values.member(*self.all_parts(node, scope))


def _not_in(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return smt.negation(values.member(*self.all_parts(node, scope)))


def _subset(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return values.subset(*self.all_parts(node, scope))


def _union(self: Evaluator, node: Apply, scope: Scope) -> Value:
    one, other = map(_set, self.all_parts(node, scope))
    return values.union(one, other)


def _intersection(self: Evaluator, node: Apply, scope: Scope) -> Value:
    one, other = self.all_parts(node, scope)
    return values.filtered(_listed(one), lambda value: values.member(value, other))


def _difference(self: Evaluator, node: Apply, scope: Scope) -> Value:
    one, other = self.all_parts(node, scope)
    without = lambda value: smt.negation(values.member(value, other))  # noqa: E731
    return values.filtered(_listed(one), without)


def _enumeration(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return values.listed(self.all_parts(node, scope))


def _tuple(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return values.items(self.all_parts(node, scope))


def _product(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return ProductSet(tuple(map(_set, self.all_parts(node, scope))))


def _power_set(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return PowerSet(_set(self.part(node, 0, scope)))


def _functions(self: Evaluator, node: Apply, scope: Scope) -> Value:
    domain, range_ = self.all_parts(node, scope)
    names = _names(_listed(domain))
    if names is not None:
        return RecordSet({name: _set(range_) for name in names})
    return FunctionSet(_listed(domain), _set(range_))


def _names(domain: SetValue) -> list[str] | None:
    """Return the strings of a set that has no other elements."""
    found = domain.elements
    if not found or not all(isinstance(one, Term) and one.op == "string" for one in found):
        return None
    return [one.name for one in found if isinstance(one, Term)]


def _pairs(node: Apply) -> Iterator[tuple[str, Node]]:
    for pair in node.operands:
        assert isinstance(pair, Apply)
        yield _name(pair.operands[0]), pair.operands[1]


def _records(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return RecordSet({name: _set(self.value(one, scope)) for name, one in _pairs(node)})


def _record(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return RecordValue({name: self.value(one, scope) for name, one in _pairs(node)})


def _field(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return apply(self.part(node, 0, scope), smt.string(_name(node.operands[1])))


def _application(self: Evaluator, node: Apply, scope: Scope) -> Value:
    function, place = self.all_parts(node, scope)
    return apply(function, place)


def apply(function: Value, place: Value) -> Value:
    """Return function[place]."""
    if not isinstance(place, Term):
        raise UntranslatableError("a function is applied to something that is no plain value")
    match function:
        case FunctionValue():
            return function.at(place)
        case SequenceValue():
            return function.at(_number(place))
        case RecordValue():
            if place.op == "string":
                if place.name not in function.fields:
                    raise values.UndefinedError(f"a record has no field {place.name}")
                return function.fields[place.name]
            *others, last = function.fields.items()
            result = last[1]
            for name, value in reversed(others):
                result = values.choice(smt.equal(place, smt.string(name)), value, result)
            return result
    raise UntranslatableError("something that is no function is applied")


def _domain(self: Evaluator, node: Apply, scope: Scope) -> Value:
    function = self.part(node, 0, scope)
    match function:
        case FunctionValue():
            return function.domain
        case SequenceValue():
            return values.places(function)
        case RecordValue():
            return values.listed(map(smt.string, function.fields))
    raise UntranslatableError("DOMAIN of something that is no function")


def _function(self: Evaluator, node: Apply, scope: Scope) -> Value:
    if len(node.bounds) != 1 or len(node.bounds[0].uids) != 1:
        raise UntranslatableError("a function of several parameters")
    uid, domain = node.bounds[0].uids[0], self.domain(node.bounds[0], scope)

    def at(place: Value) -> Value:
        return self.value(node.operands[0], scope.bind({uid: place}))

    names = _names(domain)
    if names is not None:
        return RecordValue({name: at(smt.string(name)) for name in names})
    length = _length(domain)
    if length is None:
        return FunctionValue(domain, at)
    if length.op == "int":
        return values.items(at(smt.integer(number + 1)) for number in range(int(length.name)))
    return SequenceValue(length, at)


def _length(domain: SetValue) -> Term | None:
    """Return n of the set 1 .. n, which is the domain of a sequence; None: another set."""
    found = domain.elements
    if found is not None:
        is_one = all(one is smt.integer(number + 1) for number, one in enumerate(found))
        return smt.integer(len(found)) if is_one else None
    if len(domain.generators) == 1 and (within := domain.generators[0].within) is not None:
        return within[1] if within[0] is smt.integer(1) else None
    return None


def _except(self: Evaluator, node: Apply, scope: Scope) -> Value:
    function = self.part(node, 0, scope)
    for change in node.operands[1:]:
        assert isinstance(change, Apply)
        path, value = change.operands
        assert isinstance(path, Apply)
        places = [self.value(one, scope) for one in path.operands]
        function = _changed(self, function, places, value, scope)
    return function


def _changed(
    self: Evaluator, function: Value, places: list[Value], value: Node, scope: Scope
) -> Value:
    if not places:
        return self.value(value, replace(scope, old=function))
    place, rest = places[0], places[1:]
    if not isinstance(place, Term):
        raise UntranslatableError("EXCEPT at something that is no plain value")
    match function:
        case RecordValue() if place.op == "string":
            if place.name not in function.fields:
                return function
            inner = _changed(self, function.fields[place.name], rest, value, scope)
            return RecordValue({**function.fields, place.name: inner})
        case FunctionValue():
            new = _changed(self, function.at(place), rest, value, scope)
            return FunctionValue(
                function.domain,
                lambda at: values.choice(values.equal(at, place), new, function.at(at)),
            )
        case SequenceValue():
            new = _changed(self, function.at(place), rest, value, scope)
            at = lambda at: values.choice(values.equal(at, place), new, function.at(at))  # noqa: E731
            return SequenceValue(function.length, at)
    raise UntranslatableError("EXCEPT of something that is no function")


def _for_all(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return self.quantified(node, scope, some=False)


def _exists(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return self.quantified(node, scope, some=True)


def _filter(self: Evaluator, node: Apply, scope: Scope) -> Value:
    bound = node.bounds[0]
    uid = bound.uids[0]
    return values.filtered(
        self.domain(bound, scope),
        lambda one: self.formula(node.operands[0], scope.bind({uid: one})),
    )


def _image(self: Evaluator, node: Apply, scope: Scope) -> Value:
    if len(node.bounds) != 1 or len(node.bounds[0].uids) != 1:
        raise UntranslatableError("a set of images over several variables")
    uid = node.bounds[0].uids[0]
    found = self.domain(node.bounds[0], scope)
    return values.mapped(found, lambda one: self.value(node.operands[0], scope.bind({uid: one})))


def _choose(self: Evaluator, node: Apply, scope: Scope) -> Value:
    found = self.domain(node.bounds[0], scope).elements if node.bounds else None
    if found is None:
        raise UntranslatableError("CHOOSE from a set that is not fixed")
    for one in found:
        test = self.formula(node.operands[0], scope.bind({node.bounds[0].uids[0]: one}))
        if test is smt.TRUE:
            return one
        if test is not smt.FALSE:
            raise UntranslatableError("CHOOSE that depends on the state")
    raise values.UndefinedError("CHOOSE finds nothing")


def _prime(self: Evaluator, node: Apply, scope: Scope) -> Value:
    (inner,) = node.operands
    if isinstance(inner, Apply) and inner.is_variable:
        if inner.name in self.constants:
            return self.constants[inner.name]
        if inner.name not in scope.next:
            raise UntranslatableError(f"{inner.name}' is read before it is set")
        return scope.next[inner.name]
    missing = self.module.uses(inner) - scope.next.keys()
    if missing:
        raise UntranslatableError(f"{min(missing)}' is read before it is set")
    return self.value(inner, replace(scope, now={**scope.now, **scope.next}, next={}))


def _unchanged(self: Evaluator, node: Apply, scope: Scope) -> Value:
    same = []
    for name in unchanged(self.module, node.operands[0]):
        if name not in scope.next:
            raise UntranslatableError(f"{name}' is read before it is set")
        same.append(values.equal(scope.next[name], scope.now[name]))
    return smt.conjunction(same)


def unchanged(module: Module, node: Node) -> Iterator[str]:
    """Yield the variables that UNCHANGED names, through tuples and definitions."""
    if not isinstance(node, Apply):
        raise OutsideFragmentError(node.where, "UNCHANGED of something that is no variable")
    if node.is_variable:
        if node.name in module.variables:
            yield node.name
    elif node.is_defined and not node.operands:
        yield from unchanged(module, module.definition(node.uid).body)
    elif node.name == "$Tuple":
        for one in node.operands:
            yield from unchanged(module, one)
    else:
        raise OutsideFragmentError(node.where, "UNCHANGED of something that is no variable")


Operator = Callable[[Evaluator, Apply, Scope], Value]

BUILT_IN: Final[dict[str, Operator]] = {
    "TRUE": lambda *_: smt.TRUE, "FALSE": lambda *_: smt.FALSE,
    "BOOLEAN": lambda *_: values.BOOLEANS,
    "$ConjList": _and, "\\land": _and, "$DisjList": _or, "\\lor": _or, "=>": _implies,
    "=": _equals, "\\equiv": _equals, "/=": _differs, "#": _differs, "\\lnot": _not,
    "$IfThenElse": _if, "$Case": _case, "\\in": _in, "\\notin": _not_in, "\\subseteq": _subset,
    "\\union": _union, "\\cup": _union, "\\intersect": _intersection, "\\cap": _intersection,
    "\\": _difference, "$SetEnumerate": _enumeration, "$Tuple": _tuple,
    "$CartesianProd": _product, "SUBSET": _power_set, "$SetOfFcns": _functions,
    "$SetOfRcds": _records, "$RcdConstructor": _record, "$RcdSelect": _field,
    "$FcnApply": _application, "DOMAIN": _domain, "$FcnConstructor": _function,
    "$Except": _except, "$BoundedForall": _for_all, "$BoundedExists": _exists,
    "$SubsetOf": _filter, "$SetOfAll": _image, "$BoundedChoose": _choose, "'": _prime,
    "UNCHANGED": _unchanged,
}  # fmt: skip
"""Operators of TLA+ itself, by the names that SANY gives them."""


# Operators of the standard modules.


def _sum(self: Evaluator, node: Apply, scope: Scope) -> Value:
    one, other = self.all_parts(node, scope)
    if isinstance(one, Count) and isinstance(other, Count):
        return Count((*one.of, *other.of), smt.arithmetic("+", one.plus, other.plus))
    if isinstance(one, Count):
        return Count(one.of, smt.arithmetic("+", one.plus, _number(other)))
    if isinstance(other, Count):
        return Count(other.of, smt.arithmetic("+", other.plus, _number(one)))
    return smt.arithmetic("+", _number(one), _number(other))


def _minus(self: Evaluator, node: Apply, scope: Scope) -> Value:
    one, other = self.all_parts(node, scope)
    if isinstance(one, Count):
        return Count(one.of, smt.arithmetic("-", one.plus, _number(other)))
    return smt.arithmetic("-", _number(one), _number(other))


def _times(self: Evaluator, node: Apply, scope: Scope) -> Value:
    one, other = self.all_parts(node, scope)
    return smt.arithmetic("*", _number(one), _number(other))


def _negative(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return smt.arithmetic("-", smt.integer(0), _number(self.part(node, 0, scope)))


def _comparison(op: str, *, turned: bool = False) -> Operator:
    def compare(self: Evaluator, node: Apply, scope: Scope) -> Value:
        one, other = self.all_parts(node, scope)
        return values.compare(op, other, one) if turned else values.compare(op, one, other)

    return compare


def _interval(self: Evaluator, node: Apply, scope: Scope) -> Value:
    low, high = self.all_parts(node, scope)
    if isinstance(high, Count):
        return values.whole(INT, _no_range)  # good for the type of a variable
    return values.interval(_number(low), _number(high))


def _no_range(_: Term) -> Term:
    raise UntranslatableError("a range up to a cardinality says no more than that it is a number")


def _length_of(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return _sequence(self.part(node, 0, scope)).length


def _head(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return _sequence(self.part(node, 0, scope)).at(smt.integer(1))


def _tail(self: Evaluator, node: Apply, scope: Scope) -> Value:
    sequence = _sequence(self.part(node, 0, scope))
    if sequence.items is not None:
        if not sequence.items:
            raise values.UndefinedError("Tail of the empty sequence")
        return values.items(sequence.items[1:])
    one = smt.integer(1)
    length = smt.arithmetic("-", sequence.length, one)
    return SequenceValue(length, lambda at: sequence.at(smt.arithmetic("+", at, one)))


def _part(self: Evaluator, node: Apply, scope: Scope) -> Value:
    sequence = _sequence(self.part(node, 0, scope))
    first, last = (_number(self.part(node, number, scope)) for number in (1, 2))
    before = smt.arithmetic("-", first, smt.integer(1))
    length = smt.arithmetic("-", last, before)
    is_none = smt.arithmetic("<", length, smt.integer(0))
    length = smt.choice(is_none, smt.integer(0), length)
    return SequenceValue(length, lambda at: sequence.at(smt.arithmetic("+", at, before)))


def _append(self: Evaluator, node: Apply, scope: Scope) -> Value:
    sequence, item = _sequence(self.part(node, 0, scope)), self.part(node, 1, scope)
    return _concatenated(sequence, values.items((item,)))


def _concatenation(self: Evaluator, node: Apply, scope: Scope) -> Value:
    one, other = self.all_parts(node, scope)
    return _concatenated(_sequence(one), _sequence(other))


def _concatenated(one: SequenceValue, other: SequenceValue) -> SequenceValue:
    if one.items is not None and other.items is not None:
        return values.items((*one.items, *other.items))

    def at(place: Term) -> Value:
        if one.items == ():
            return other.at(place)
        if other.items is not None and len(other.items) == 1:
            second = other.items[0]
        else:
            second = other.at(smt.arithmetic("-", place, one.length))
        first = smt.arithmetic("<=", place, one.length)
        if first in (smt.TRUE, smt.FALSE):
            return one.at(place) if first is smt.TRUE else second
        return values.choice(first, one.at(place), second)

    return SequenceValue(smt.arithmetic("+", one.length, other.length), at)


def _select(self: Evaluator, node: Apply, scope: Scope) -> Value:
    test = self._operand(node.operands[1], scope)
    if not isinstance(test, Closure):
        raise UntranslatableError("SelectSeq needs an operator")

    def passes(one: Value) -> Term:
        return _truth(self.call(test.uid, (one,), _merged(test, scope)))

    return self.selected(_sequence(self.part(node, 0, scope)), passes)


def _sequences(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return SequenceSet(_set(self.part(node, 0, scope)))


def _cardinality(self: Evaluator, node: Apply, scope: Scope) -> Value:
    return Count((_listed(self.part(node, 0, scope)),), smt.integer(0))


LIBRARY: Final[dict[str, Operator]] = {
    "BOOLEAN": lambda *_: values.BOOLEANS, "Nat": lambda *_: values.NATURALS,
    "Int": lambda *_: values.INTEGERS, "+": _sum, "-": _minus, "*": _times, "-.": _negative,
    "<": _comparison("<"), "\\leq": _comparison("<="), ">": _comparison("<", turned=True),
    "\\geq": _comparison("<=", turned=True), "..": _interval, "Len": _length_of, "Head": _head,
    "Tail": _tail, "Append": _append, "\\o": _concatenation, "SelectSeq": _select,
    "SubSeq": _part,
    "Seq": _sequences, "Cardinality": _cardinality,
    "IsFiniteSet": lambda *_: smt.TRUE,
}  # fmt: skip
"""Operators of the standard modules Naturals, Integers, Sequences and FiniteSets."""
