# SPDX-License-Identifier: Apache-2.0
"""A TLA+ module as SANY reads it: its XML export becomes a small tree of typed nodes.

SANY parses the module, so what is proved is the text that TLC checks.  When SANY rejects a module,
its own message is the error.
"""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET  # of a program that we started ourselves
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.process import Children, Finished
from wakeproof.judge.tlc import toolchain
from wakeproof.judge.tlc.messages import parse_error

SANY_S: Final = 120.0
ACTION: Final = 2
"""The level of an expression with primes: constants have 0, states 1, temporal formulas 3."""
STANDARD: Final = ("Naturals", "Integers", "Sequences", "FiniteSets", "TLC")
NO_INSTANCE: Final = -1
"""Of the module itself, which stands below no instance."""
_CONSTANT, _VARIABLE = "2", "3"
_BINDERS: Final = ("FormalParamNodeRef", "tuple")


@dataclass(frozen=True)
class Where:
    """A place in a module."""

    module: str
    line: int

    def __str__(self) -> str:
        return f"{self.module}.tla:{self.line}"


class OutsideFragmentError(UsageError):
    """The module uses something that cannot be translated; says what, and where."""

    def __init__(self, where: Where | None, what: str) -> None:
        super().__init__(f"{where}: {what}" if where else what)


@dataclass(frozen=True, eq=False)
class Node:
    """An expression."""

    where: Where
    level: int


@dataclass(frozen=True, eq=False)
class Numeral(Node):
    """A number."""

    value: int


@dataclass(frozen=True, eq=False)
class Text(Node):
    """A string literal."""

    value: str


@dataclass(frozen=True, eq=False)
class Otherwise(Node):
    """The guard OTHER of a CASE."""


@dataclass(frozen=True, eq=False)
class Old(Node):
    """The `@` of an EXCEPT."""


@dataclass(frozen=True, eq=False)
class OperatorArgument(Node):
    """An operator, or a LAMBDA, that is passed to another."""

    uid: str


@dataclass(frozen=True, eq=False)
class Bound(Node):
    """Variables of a quantifier, function or set, and the set that they range over."""

    uids: tuple[str, ...]
    domain: Node


@dataclass(frozen=True, eq=False)
class Apply(Node):
    """An operator with its operands: built in, declared, defined, or a formal parameter."""

    kind: str
    uid: str
    name: str
    operands: tuple[Node, ...] = ()
    bounds: tuple[Bound, ...] = ()

    @property
    def is_variable(self) -> bool:
        """Say whether this is a declared constant or variable."""
        return self.kind == "OpDeclNodeRef"

    @property
    def is_defined(self) -> bool:
        """Say whether this calls a definition."""
        return self.kind == "UserDefinedOpKindRef"


@dataclass(frozen=True)
class Definition:
    """An operator that a module defines."""

    name: str
    parameters: tuple[str, ...]
    body: Node


@dataclass
class Module:
    """All that SANY says of one module and those that it extends."""

    name: str
    context: dict[str, ET.Element]
    _nodes: dict[str, Definition] = field(default_factory=dict)
    _uses: dict[str, frozenset[str]] = field(default_factory=dict)
    _instances: list[Mapping[str, Node]] = field(default_factory=list)
    """Of each instance, what stands for the constants and variables of its module."""
    _of_instances: dict[str, int] = field(default_factory=dict)
    """The definitions of modules below an instance, each with the instance."""

    @cached_property
    def _names(self) -> dict[str, str]:
        return {uid: found.findtext("uniquename") or "" for uid, found in self.context.items()}

    def refs(self, tag: str) -> list[str]:
        """Return the UIDs that the module's own node refers to: its parts, and what it extends.

        The parts of modules that it only makes instances of are not among them.
        """
        root = next(
            one for one in self.context.values()
            if one.tag == "ModuleNode" and one.findtext("uniquename") == self.name
        )  # fmt: skip
        return [ref.findtext("UID") or "" for ref in root.findall(tag)]

    @cached_property
    def _by_name(self) -> dict[str, str]:
        return {self._names[uid]: uid for uid in self.refs("UserDefinedOpKindRef")}

    def _declared(self, kind: str) -> tuple[str, ...]:
        found = [
            (int(self.context[uid].findtext("location/line/begin") or 0), self._names[uid])
            for uid in self.refs("OpDeclNodeRef")
            if self.context[uid].findtext("kind") == kind
        ]
        return tuple(name for _, name in sorted(found))

    @cached_property
    def constants(self) -> tuple[str, ...]:
        """Return the names of the constants."""
        return self._declared(_CONSTANT)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Return the names of the variables, in the order of the text."""
        return self._declared(_VARIABLE)

    @cached_property
    def assumptions(self) -> tuple[Node, ...]:
        """Return what the modules assume of their constants."""
        bodies = (self.context[uid].find("body") for uid in self.refs("AssumeNodeRef"))
        return tuple(self._node(body[0], NO_INSTANCE) for body in bodies if body is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """Return what the module defines."""
        return tuple(self._by_name)

    def has(self, name: str) -> bool:
        """Say whether the module defines `name`."""
        return name in self._by_name

    def named(self, name: str) -> Definition:
        """Return the definition of `name`.

        Raises:
            UsageError: there is none.
        """
        if name not in self._by_name:
            raise UsageError(f"{self.name}.tla does not define {name}")
        return self.definition(self._by_name[name])

    def name_of(self, uid: str) -> str:
        """Return the name of a parameter or an operator."""
        return self._names.get(uid, "")

    def is_standard(self, uid: str) -> bool:
        """Say whether a standard module defines the operator, or TLA+ itself."""
        found = self.context[uid]
        module = found.findtext("location/filename")
        return found.find("body") is None or module in STANDARD

    def definition(self, uid: str) -> Definition:
        """Return the definition that a node refers to."""
        if uid not in self._nodes:
            found, instance = self.context[uid], self._of_instances.get(uid, NO_INSTANCE)
            body, parameters = found.find("body"), found.find("params")
            if body is None:
                raise OutsideFragmentError(None, f"{self._names[uid]} has no body")
            uids = [one.findtext(".//UID") or "" for one in parameters if parameters is not None] \
                if parameters is not None else []  # fmt: skip
            node = self._node(body[0], instance)
            self._nodes[uid] = Definition(self._names[uid], tuple(uids), node)
        return self._nodes[uid]

    def uses(self, node: Node) -> frozenset[str]:
        """Return the variables on which an expression depends, through all definitions."""
        if isinstance(node, OperatorArgument):
            is_parameter = self.context[node.uid].tag == "FormalParamNode"
            return frozenset() if is_parameter else self._uses_of(node.uid)
        if isinstance(node, Bound):
            return self.uses(node.domain)
        if not isinstance(node, Apply):
            return frozenset()
        found: set[str] = set()
        if node.is_variable and node.name in self.variables:
            found.add(node.name)
        elif node.is_defined and not self.is_standard(node.uid):
            found |= self._uses_of(node.uid)
        for part in (*node.operands, *node.bounds):
            found |= self.uses(part)
        return frozenset(found)

    def _uses_of(self, uid: str) -> frozenset[str]:
        if uid not in self._uses:
            self._uses[uid] = frozenset()  # of an operator that calls itself
            self._uses[uid] = self.uses(self.definition(uid).body)
        return self._uses[uid]

    def _node(self, xml: ET.Element, instance: int) -> Node:
        """Return an expression of the module, or of a module below this instance."""
        where = Where(
            xml.findtext("location/filename") or "", int(xml.findtext("location/line/begin") or 0)
        )
        at = where, int(xml.findtext("level") or 0)
        match xml.tag:
            case "NumeralNode":
                return Numeral(*at, int(xml.findtext("IntValue") or 0))
            case "StringNode":
                value = xml.find("StringValue")
                return Otherwise(*at) if value is None else Text(*at, value.text or "")
            case "AtNode":
                return Old(*at)
            case "OpArgNode":
                uid = xml.findtext("argument//UID") or ""
                return OperatorArgument(*at, self._below(uid, instance))
            case "LetInNode":
                body = xml.find("body")
                assert body is not None
                return self._node(body[0], instance)
            case "SubstInNode":
                return self._substituted(xml, instance)
            case "OpApplNode":
                return self._apply(xml, *at, instance)
        raise OutsideFragmentError(where, f"{xml.tag} is outside the fragment that can be proved")

    def _substituted(self, xml: ET.Element, instance: int) -> Node:
        """Return an expression of the module of which ``INSTANCE .. WITH ..`` makes an instance."""
        meanings, body = xml.find("substs"), xml.find("body")
        assert meanings is not None
        assert body is not None
        found = {one.findtext("OpDeclNodeRef/UID") or "": self._node(one[1], instance)
                 for one in meanings}  # fmt: skip
        self._instances.append(found)
        return self._node(body[0], len(self._instances) - 1)

    def _below(self, uid: str, instance: int) -> str:
        """Return the UID of a definition below an instance: its body has other meanings there."""
        is_defined = self.context[uid].tag == "UserDefinedOpKind"
        if instance == NO_INSTANCE or not is_defined or self.is_standard(uid):
            return uid
        below = f"{uid} of instance {instance}"
        self._of_instances[below] = instance
        self.context[below], self._names[below] = self.context[uid], self._names[uid]
        return below

    def _apply(self, xml: ET.Element, where: Where, level: int, instance: int) -> Node:
        operator, operands = xml.find("operator"), xml.find("operands")
        assert operator is not None
        assert operands is not None
        uid = operator[0].findtext("UID") or ""
        if instance != NO_INSTANCE and operator[0].tag == "OpDeclNodeRef":
            meaning = self._instances[instance].get(uid)
            if meaning is None or isinstance(meaning, OperatorArgument):
                raise OutsideFragmentError(
                    where, f"an instance with an operator for {self._names[uid]} is outside the "
                    "fragment; allowed: values for constants and variables"
                )  # fmt: skip
            return meaning
        return Apply(
            where, level, operator[0].tag, self._below(uid, instance), self._names.get(uid, ""),
            tuple(self._node(one, instance) for one in operands),
            tuple(self._bounds(xml.find("boundSymbols"), where, instance)),
        )  # fmt: skip

    def _bounds(self, xml: ET.Element | None, where: Where, instance: int) -> Iterator[Bound]:
        for one in xml if xml is not None else ():
            if one.tag != "bound" or one.find("tuple") is not None:
                raise OutsideFragmentError(where, "a bound without a set, or over tuples")
            uids = tuple(part.findtext("UID") or "" for part in one if part.tag in _BINDERS)
            domain = next(part for part in one if part.tag not in _BINDERS)
            yield Bound(where, 0, uids, self._node(domain, instance))


def read(file: Path, children: Children) -> Module:
    """Return the module in `file` as SANY reads it; what it extends lies beside it.

    Each run has a folder of its own: SANY unpacks the standard modules into it, so two runs at the
    same time would read what the other has half written.

    Raises:
        UsageError: SANY rejects it, with its message.
        MissingToolError: no Java or no TLC.
    """
    tools = toolchain.find()
    with tempfile.TemporaryDirectory(prefix="wakeproof-sany-") as private:

        def run(program: str, *options: str) -> Finished:
            command = [str(tools.java), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                       f"-Djava.io.tmpdir={private}", "-cp", str(tools.jar), program, *options,
                       file.name]  # fmt: skip
            return children.run(command, cwd=file.parent, timeout_s=SANY_S)

        exported = run("tla2sany.xml.XMLExporter", "-o")
        begin = exported.output.find("<?xml")
        end = exported.output.rfind("</modules>")
        if exported.code == 0 and 0 <= begin < end:
            return parse(exported.output[begin : end + len("</modules>")])
        said = run("tla2sany.SANY").output
    lines = [line.strip() for line in parse_error(said) if line.strip()]
    if not lines:
        lines = [line for line in (said or exported.output).splitlines() if line.strip()][-3:]
    raise UsageError(f"{file}: {'; '.join(lines[:4])}")


def parse(text: str) -> Module:
    """Return the module of an XML export.

    Raises:
        JudgeError: the text is no export of SANY.
    """
    try:
        root = ET.fromstring(text)  # noqa: S314
    except ET.ParseError as error:
        raise JudgeError(f"SANY's export is no XML: {error}") from None
    context, name = root.find("context"), root.findtext("RootModule")
    if context is None or name is None:
        raise JudgeError("SANY's export names no root module")
    return Module(name, {entry[0].text or "": entry[1] for entry in context})
