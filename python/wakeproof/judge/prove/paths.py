# SPDX-License-Identifier: Apache-2.0
"""Splits an action into paths: each has guards, and the new value of each variable.

An action is a disjunction, however deep its disjunctions, choices and quantifiers stand.  On a path
every variable has one new value, so what holds afterwards is an expression of the state before, and
no formula has to say what stays the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from wakeproof.judge.prove import shapes, smt, values
from wakeproof.judge.prove.evaluate import (
    NO_GUARD,
    Evaluator,
    Later,
    Meaning,
    Scope,
    State,
    arms,
    unchanged,
)
from wakeproof.judge.prove.modules import (
    ACTION,
    Apply,
    Bound,
    Node,
    OutsideFragmentError,
    Where,
)
from wakeproof.judge.prove.shapes import Shape
from wakeproof.judge.prove.smt import Term
from wakeproof.judge.prove.values import (
    SETS,
    AnySet,
    SetValue,
    UndefinedError,
    UntranslatableError,
    Value,
)

_SPLITTING = ("$DisjList", "\\lor", "$BoundedExists")


@dataclass(frozen=True)
class Chosen:
    """A variable of an outer quantifier: any term of its sort; numbers have their bounds."""

    term: Term
    name: str
    within: tuple[Term, Term] | None


@dataclass(frozen=True)
class Open:
    """A new value that is any element of a set without generators, as a function is of [A -> B]."""

    name: str  # of the functions of logic that stand for it (`shapes.declared`)
    shape: Shape
    among: AnySet


@dataclass(frozen=True)
class Call:
    """A definition on the way to a path, with its operands."""

    name: str
    operands: tuple[Meaning, ...]
    splits: bool  # it only chooses between others


@dataclass(frozen=True)
class Path:
    """One way to take an action."""

    guards: tuple[Term, ...] = ()
    next: Mapping[str, Value] = field(default_factory=dict)
    chosen: tuple[Chosen, ...] = ()
    open: tuple[Open, ...] = ()
    calls: tuple[Call, ...] = ()
    fits: tuple[tuple[str, Term], ...] = ()
    """Of each variable that got a value, what must hold for it to keep its shape."""

    def guarded(self, *guards: Term) -> Path:
        """Return the path with more guards."""
        return replace(self, guards=(*self.guards, *(one for one in guards if one is not smt.TRUE)))

    @property
    def action(self) -> Call | None:
        """Return the definition that says what the path does: the first that does not split."""
        whole = [call for call in self.calls if not call.splits]
        return whole[0] if whole else (self.calls[-1] if self.calls else None)


@dataclass(frozen=True)
class Unreachable:
    """Where TLA+ does not say what an expression is: the guards must never hold together."""

    guards: tuple[Term, ...]
    where: Where
    why: str
    action: Call | None


class Splitter:
    """Splits the actions of one module.

    Args:
        evaluator: of the module.
        state: the value of each variable before.
        kinds: the shape of each variable.
        initial: split Init, where variables without a prime get their first values.
    """

    def __init__(
        self, evaluator: Evaluator, state: State, kinds: Mapping[str, Shape], *,
        initial: bool = False,
    ) -> None:  # fmt: skip
        self._evaluator = evaluator
        self._state = state
        self._kinds = kinds
        self._initial = initial
        self.unreachable: list[Unreachable] = []

    def split(self, name: str) -> list[Path]:
        """Return the paths of the action `name`.

        Raises:
            OutsideFragmentError: it cannot be translated, or a path leaves a variable open.
        """
        module = self._evaluator.module
        found = list(self._walk(module.named(name).body, Scope(self._state), Path()))
        for path in found:
            missing = [one for one in module.variables if one not in path.next]
            if missing:
                action = path.action.name if path.action else name
                raise OutsideFragmentError(
                    None, f"{module.name}.tla: {action} gives no new value to {missing[0]}"
                )
        return found

    def _walk(self, node: Node, scope: Scope, path: Path) -> list[Path]:
        """Return the ways to go on from `path` by `node`."""
        now = {**path.next} if self._initial else self._state
        scope = replace(scope, now=now, next={} if self._initial else path.next)
        before = len(self._evaluator.demands)
        try:
            return list(self._ways(node, scope, path))
        except UndefinedError as error:
            self.unreachable.append(Unreachable(path.guards, node.where, str(error), path.action))
            return []
        except UntranslatableError as error:
            raise OutsideFragmentError(node.where, str(error)) from None
        finally:
            for demand in self._evaluator.demands[before:]:
                guards = (*path.guards, smt.negation(demand.condition))
                self.unreachable.append(Unreachable(guards, demand.where, demand.why, path.action))
            del self._evaluator.demands[before:]

    def _ways(self, node: Node, scope: Scope, path: Path) -> Iterator[Path]:
        if isinstance(node, Apply) and (self._initial or node.level >= ACTION):
            if node.is_defined and not self._evaluator.module.is_standard(node.uid):
                definition = self._evaluator.module.definition(node.uid)
                operands = self._evaluator.operands(node, scope)
                splits = isinstance(definition.body, Apply) and (
                    definition.body.name in _SPLITTING or definition.body.is_defined
                )
                called = replace(path, calls=(*path.calls, Call(definition.name, operands, splits)))
                meanings = dict(zip(definition.parameters, operands, strict=True))
                yield from self._walk(definition.body, scope.bind(meanings), called)
                return
            split = getattr(self, _BY_NAME.get(node.name, ""), None)
            if split is not None:
                yield from split(node, scope, path)
                return
            assigned = self._assigned(node, path)
            if assigned:
                yield from self._assign(assigned, node, scope, path)
                return
        guard = self._evaluator.formula(node, scope)
        if guard is not smt.FALSE:
            yield path.guarded(guard)

    def _conjunction(self, node: Apply, scope: Scope, path: Path) -> Iterator[Path]:
        paths = [path]
        for one in node.operands:
            paths = [way for path in paths for way in self._walk(one, scope, path)]
        yield from paths

    def _disjunction(self, node: Apply, scope: Scope, path: Path) -> Iterator[Path]:
        for one in node.operands:
            yield from self._walk(one, scope, path)

    def _choice(self, node: Apply, scope: Scope, path: Path) -> Iterator[Path]:
        test = self._evaluator.formula(node.operands[0], scope)
        for guard, one in ((test, node.operands[1]), (smt.negation(test), node.operands[2])):
            if guard is not smt.FALSE:
                yield from self._walk(one, scope, path.guarded(guard))

    def _case(self, node: Apply, scope: Scope, path: Path) -> Iterator[Path]:
        for guard, one in arms(self._evaluator, node, scope):
            if guard is smt.FALSE:
                continue
            if one is node:
                guards = path.guarded(guard).guards
                self.unreachable.append(Unreachable(guards, node.where, NO_GUARD, path.action))
            else:
                yield from self._walk(one, scope, path.guarded(guard))

    def _exists(self, node: Apply, scope: Scope, path: Path) -> Iterator[Path]:
        pairs = [(uid, bound) for bound in node.bounds for uid in bound.uids]

        def over(left: list[tuple[str, Bound]], inner: Scope, path: Path) -> Iterator[Path]:
            if not left:
                yield from self._walk(node.operands[0], inner, path)
                return
            uid, bound = left[0]
            name = self._evaluator.module.name_of(uid)
            for value, way in _elements(self._evaluator.domain(bound, scope), name, path):
                yield from over(left[1:], inner.bind({uid: value}), way)

        yield from over(pairs, scope, path)

    def _unchanged(self, node: Apply, scope: Scope, path: Path) -> Iterator[Path]:
        new, guards = dict(path.next), []
        for name in unchanged(self._evaluator.module, node.operands[0]):
            if name in new:
                guards.append(values.equal(new[name], scope.now[name]))
            else:
                new[name] = scope.now[name]
        if smt.FALSE not in guards:
            yield replace(path, next=new).guarded(*guards)

    def _assigned(self, node: Apply, path: Path) -> str:
        """Return the variable that an equation or membership gives its first value; "": none."""
        if node.name not in ("=", "\\in"):
            return ""
        left = node.operands[0]
        if not self._initial:
            if not isinstance(left, Apply) or left.name != "'":
                return ""
            left = left.operands[0]
        if not isinstance(left, Apply) or left.name not in self._evaluator.module.variables:
            return ""
        return left.name if left.is_variable and left.name not in path.next else ""

    def _assign(self, name: str, node: Apply, scope: Scope, path: Path) -> Iterator[Path]:
        value = self._evaluator.value(node.operands[1], scope)
        if node.name == "=":
            yield self._given(path, name, value)
        elif isinstance(value, SetValue):
            for one, way in _elements(value, name, path):
                yield self._given(way, name, one)
        else:
            assert isinstance(value, SETS)
            left = Open(f"some {name}", self._kinds[name], value)
            some = shapes.declared(left.shape, left.name)
            way = replace(path, open=(*path.open, left))
            yield self._given(way, name, some).guarded(values.member(some, value))

    def _given(self, path: Path, name: str, value: Value) -> Path:
        try:
            requirement = shapes.fits(value, self._kinds[name])
        except UntranslatableError as error:
            raise UntranslatableError(
                f"the new value of {name} has another type: {error}"
            ) from None
        fits = path.fits if requirement is smt.TRUE else (*path.fits, (name, requirement))
        value = shapes.coerced(value, self._kinds[name])
        return replace(path, next={**path.next, name: value}, fits=fits)


def _elements(found: SetValue, name: str, path: Path) -> Iterator[tuple[Value, Path]]:
    """Yield any element of a set, for each of its generators."""
    for one in found.generators:
        term = values.skolem(one.sort, name) if one.sort else smt.TRUE
        guard = one.guard(term)
        if guard is smt.FALSE:
            continue
        chosen = (*path.chosen, Chosen(term, name, one.within)) if one.sort else path.chosen
        yield one.value(term), replace(path, chosen=chosen).guarded(guard)


_BY_NAME = {
    "$ConjList": "_conjunction", "\\land": "_conjunction", "$DisjList": "_disjunction",
    "\\lor": "_disjunction", "$IfThenElse": "_choice", "$Case": "_case",
    "$BoundedExists": "_exists", "UNCHANGED": "_unchanged",
}  # fmt: skip


def described(call: Call | None, meaning: Mapping[Term, str]) -> str:
    """Return "Claim(p1)", with the operands that are plain values named by `meaning`."""
    if call is None:
        return ""
    names = []
    for one in call.operands:
        try:
            value = one.value() if isinstance(one, Later) else one
        except (UndefinedError, OutsideFragmentError):
            value = None
        if isinstance(value, Term):
            names.append(meaning.get(value, value.name if value.op in ("string", "int") else "..."))
    return f"{call.name}({', '.join(names)})" if names else call.name
