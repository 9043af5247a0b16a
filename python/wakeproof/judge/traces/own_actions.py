# SPDX-License-Identifier: Apache-2.0
r"""The actions of a user's module by their names, and its next-state relation cut down to some.

SANY says how the next-state relation is composed: disjunctions, existential quantifiers, LET, IF,
and calls of definitions with primes, which are the actions.  ``Next`` cut down to ``Send`` is::

    Next == \/ \E p \in Procs : Send(p) \/ Receive(p)      of the module
            \/ Tick
    log__1 == \E p \in (Procs) : (Send(p))                 generated

So a step with that name is always a step of `Next`, with arguments that `Next` allows.  The text of
everything else is taken from the module, at its own columns, since lists of conjuncts depend on
them.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET  # of SANY's export
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wakeproof.errors import UsageError
from wakeproof.judge.prove.modules import ACTION, STANDARD, Module

STATE: Final = 1
_OR: Final = ("\\lor", "$DisjList")
_AND: Final = ("\\land", "$ConjList")
_COMMENT: Final = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)


@dataclass(frozen=True)
class Action:
    """A definition with primes that is a part of the next-state relation."""

    name: str
    uid: str
    arity: int
    takes_values: bool  # False: some argument is an operator
    is_leaf: bool  # False: it only chooses among other actions


@dataclass(frozen=True)
class Call:
    """Where the next-state relation takes an action."""

    action: Action | None  # None: a step without a name
    arguments: tuple[str, ...]
    text: str


Wrap = Callable[[Call], str | None]
"""Returns the text that stands for a call; None: this step is not taken."""


@dataclass
class Definitions:
    """The definitions that were generated so far."""

    texts: list[str] = field(default_factory=list)

    def add(self, parameters: list[str], body: str) -> str:
        """Define an operator; return its name."""
        name = f"log__{len(self.texts) + 1}"
        head = f"{name}({', '.join(parameters)})" if parameters else name
        self.texts.append(f"{head} ==\n{body}")
        return name


class Relation:
    """The initial predicate and the next-state relation that a configuration names."""

    def __init__(self, module: Module, folder: Path, settings: Mapping[str, str]) -> None:
        """Find them.

        Args:
            module: as SANY reads it.
            folder: of the module's file.
            settings: the sections of the configuration by keyword.

        Raises:
            UsageError: the configuration names no behaviours, or something that is not defined.
        """
        self.module, self._folder = module, folder
        self._texts: dict[str, list[str]] = {}
        self._visible = {self._name(uid): uid for uid in module.refs("UserDefinedOpKindRef")}
        if "SPECIFICATION" in settings:
            self._init, self._next = self._of_spec(settings["SPECIFICATION"])
        elif "INIT" in settings and "NEXT" in settings:
            self._init = [self.body(self._defined(settings["INIT"]))]
            self._next = self.body(self._defined(settings["NEXT"]))
        else:
            raise UsageError(
                "the configuration names no behaviours; write SPECIFICATION NAME, or INIT NAME and "
                "NEXT NAME"
            )
        names = [self._called(one) for one in self._init]
        self.init_name = names[0] if len(names) == 1 and names[0] else settings.get("INIT", "Init")
        self.actions: dict[str, Action] = {}
        self._collect(self._next, set(), is_top=True)

    @property
    def init(self) -> str:
        """Return the text of the initial predicate."""
        return " /\\ ".join(self.own(one) for one in self._init)

    @property
    def next(self) -> str:
        """Return the text of the next-state relation."""
        return self.own(self._next)

    def cut_to(self, wanted: frozenset[str], wrap: Wrap, made: Definitions) -> str:
        """Return the next-state relation with the calls of these actions alone, each wrapped.

        `wrap` is also asked for the text of steps without a name.
        """
        return _Cut(self, wanted, wrap, made).of(self._next) or "FALSE"

    def _name(self, uid: str) -> str:
        return self.module.name_of(uid)

    def _defined(self, name: str) -> str:
        if name not in self._visible:
            raise UsageError(f"the configuration names {name}, which {self.module.name}.tla does "
                             "not define")  # fmt: skip
        return self._visible[name]

    def body(self, uid: str) -> ET.Element:
        """Return what a definition says."""
        body = self.module.context[uid].find("body")
        assert body is not None
        return body[0]

    def _called(self, node: ET.Element) -> str:
        """Return the name of the definition that an expression is a call of; "": it is none."""
        uid = node.findtext("operator/UserDefinedOpKindRef/UID")
        return self._name(uid) if uid else ""

    def _of_spec(self, name: str) -> tuple[list[ET.Element], ET.Element]:
        """Take apart a spec: its initial predicates, [][Next]_vars, and fairness."""
        init: list[ET.Element] = []
        steps: list[ET.Element] = []

        def visit(node: ET.Element) -> None:
            operator = self.operator(node)
            parts = children(node, "operands")
            if int(node.findtext("level") or 0) <= STATE:
                init.append(node)
            elif operator in _AND:
                for part in parts:
                    visit(part)
            elif operator == "[]" and self.operator(parts[0]) == "$SquareAct":
                steps.append(children(parts[0], "operands")[0])
            elif self._called(node) and not parts:
                visit(self.body(node.findtext("operator/UserDefinedOpKindRef/UID") or ""))

        visit(self.body(self._defined(name)))
        if len(steps) != 1 or not init:
            raise UsageError(
                f"{name} is not Init /\\ [][Next]_vars, with or without fairness: write INIT NAME "
                "and NEXT NAME into the configuration"
            )
        return init, steps[0]

    def operator(self, node: ET.Element) -> str:
        """Return the built-in operator of an expression; "": it has none."""
        return self._name(node.findtext("operator/BuiltInKindRef/UID") or "")

    def action_of(self, node: ET.Element) -> str:
        """Return the UID of the action that an expression calls; "": it is no action."""
        uid = node.findtext("operator/UserDefinedOpKindRef/UID") or ""
        if not uid:
            return ""
        found = self.module.context[uid]
        is_action = int(found.findtext("level") or 0) == ACTION
        is_own = found.findtext("location/filename") not in STANDARD
        return uid if is_action and is_own else ""

    def _collect(self, node: ET.Element, above: set[str], *, is_top: bool = False) -> bool:
        """Add the actions in an expression; return whether it does no more than choose them."""
        core = node
        while core.tag == "LetInNode" or self.operator(core) == "$BoundedExists":
            core = children(core, "body" if core.tag == "LetInNode" else "operands")[0]
        uid = self.action_of(core)
        if uid:
            self._add(uid, above, is_top=is_top)
            return True
        operator = self.operator(core)
        if operator not in (*_OR, *_AND, "$IfThenElse"):
            return False
        inner = is_top and operator not in _AND
        found = [self._collect(one, above, is_top=inner) for one in children(core, "operands")]
        return any(found) and (is_top or operator not in _AND)

    def _add(self, uid: str, above: set[str], *, is_top: bool) -> None:
        name, found = self._name(uid), self.module.context[uid]
        if name in self.actions or uid in above:
            return
        kinds = [self.module.context[one] for one in _parameters(found)]
        takes_values = all((one.findtext("arity") or "0") == "0" for one in kinds)
        self.actions[name] = Action(name, uid, len(kinds), takes_values, is_leaf=True)  # its place
        is_next = is_top and not above
        chooses = self._collect(self.body(uid), above | {uid}, is_top=is_next)
        self.actions[name] = Action(name, uid, len(kinds), takes_values, is_leaf=not chooses)

    def source(self, node: ET.Element, end: ET.Element | None = None) -> str:
        """Return the text of an expression on lines of its own; `end`: up to where that begins."""
        line, column = _number(node, "line/begin"), _number(node, "column/begin")
        last, stop = _number(node, "line/end"), _number(node, "column/end")
        if end is not None:
            last, stop = _number(end, "line/begin"), _number(end, "column/begin") - 1
        lines = self._lines(node.findtext("location/filename") or "")
        taken = list(lines[line - 1 : last])
        taken[-1] = taken[-1][:stop]
        taken[0] = " " * (column - 1) + taken[0][column - 1 :]
        return "\n".join(taken)

    def own(self, node: ET.Element) -> str:
        """Return the text of an expression in parentheses."""
        return f"(\n{self.source(node)}\n)"

    def _lines(self, module: str) -> list[str]:
        """Return the lines of a module, with tabs as SANY counts them."""
        if module not in self._texts:
            file = self._folder / f"{module}.tla"
            text = file.read_text(encoding="utf-8", errors="replace")
            self._texts[module] = [line.expandtabs(8) for line in text.split("\n")]
        return self._texts[module]


class _Cut:
    """The next-state relation with some of its actions alone."""

    def __init__(
        self, relation: Relation, wanted: frozenset[str], wrap: Wrap, made: Definitions
    ) -> None:
        self._relation, self._wrap, self._made = relation, wrap, made
        self.module = relation.module
        self._wanted = {relation.actions[name].uid: relation.actions[name] for name in wanted}
        self._reaching: dict[str, bool] = {}
        self._names: dict[str, str] = {}

    def reaches(self, node: ET.Element) -> bool:
        """Return whether a wanted action is among those that an expression takes."""
        relation = self._relation
        if node.tag == "LetInNode":
            return self.reaches(children(node, "body")[0])
        uid = relation.action_of(node)
        if uid:
            if uid not in self._reaching:
                self._reaching[uid] = uid in self._wanted
                self._reaching[uid] = uid in self._wanted or self.reaches(relation.body(uid))
            return self._reaching[uid]
        if relation.operator(node) not in (*_OR, *_AND, "$BoundedExists", "$IfThenElse"):
            return False
        return any(self.reaches(one) for one in children(node, "operands"))

    def of(self, node: ET.Element) -> str | None:
        """Return the text of an expression; None: it has no wanted step."""
        relation = self._relation
        if not self.reaches(node):
            return self._wrap(Call(None, (), relation.own(node)))
        if node.tag == "LetInNode":
            body = children(node, "body")[0]
            head = _COMMENT.sub(_blank, relation.source(node, body)).rstrip(" \n(")
            return f"(\n{head}\n{self.of(body)})"
        operands = children(node, "operands")
        if uid := relation.action_of(node):
            return self._call(uid, node, operands)
        operator = relation.operator(node)
        if operator in _OR:
            parts = [text for text in map(self.of, operands) if text is not None]
            return "(" + " \\/ ".join(parts) + ")"
        if operator in _AND:
            parts = [
                self.of(one) or "" if self.reaches(one) else relation.own(one)
                for one in operands
            ]  # fmt: skip
            return "(" + " /\\ ".join(parts) + ")"
        if operator == "$IfThenElse":
            test, then, other = operands
            yes, no = (self.of(one) or "FALSE" for one in (then, other))
            return f"(IF {relation.own(test)} THEN {yes} ELSE {no})"
        bounds = ", ".join(self._bound(one) for one in children(node, "boundSymbols"))
        return f"(\\E {bounds} : {self.of(operands[0])})"

    def _call(self, uid: str, node: ET.Element, operands: list[ET.Element]) -> str | None:
        relation = self._relation
        arguments = tuple(relation.own(one) for one in operands)
        if uid in self._wanted:
            return self._wrap(Call(self._wanted[uid], arguments, relation.own(node)))
        if uid not in self._names:
            found = self.module.context[uid]
            parameters = [self._parameter(one) for one in _parameters(found)]
            self._names[uid] = self._made.add(parameters, self.of(relation.body(uid)) or "FALSE")
        name = self._names[uid]
        return f"{name}({', '.join(arguments)})" if arguments else name

    def _parameter(self, uid: str) -> str:
        places = int(self.module.context[uid].findtext("arity") or 0)
        name = self.module.name_of(uid)
        return f"{name}({', '.join('_' * places)})" if places else name

    def _bound(self, bound: ET.Element) -> str:
        names = [
            self.module.name_of(one.findtext("UID") or "")
            for one in bound if one.tag == "FormalParamNodeRef"
        ]  # fmt: skip
        over = next(one for one in bound if one.tag not in ("FormalParamNodeRef", "tuple"))
        is_tuple = bound.find("tuple") is not None
        listed = f"<<{', '.join(names)}>>" if is_tuple else ", ".join(names)
        return f"{listed} \\in {self._relation.own(over)}"


def children(node: ET.Element, tag: str) -> list[ET.Element]:
    """Return the elements in the part of a node with this tag."""
    part = node.find(tag)
    return [] if part is None else list(part)


def _parameters(definition: ET.Element) -> list[str]:
    return [one.findtext("FormalParamNodeRef/UID") or "" for one in children(definition, "params")]


def _number(node: ET.Element, path: str) -> int:
    return int(node.findtext(f"location/{path}") or 0)


def _blank(comment: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", comment[0])
