# SPDX-License-Identifier: Apache-2.0
"""Readers of what users and contributors see: tests, litmus programs, names, commands, sizes."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import typer
from tests.support.litmus import COUNTS, LITMUS, STATES, VERDICTS
from tools import public_headers
from tools.inventory import c_names as declarations
from tools.inventory.sections import Facts
from tools.inventory.tree import Tree

import wakeproof
from wakeproof import cli, errors
from wakeproof._native import build
from wakeproof._native.ffi import ffi, lib
from wakeproof.cli.app import add, app

Declared = Iterator[tuple[str, Facts]]

PROTOCOLS = frozenset({
    "__aenter__", "__aexit__", "__await__", "__bool__", "__call__", "__contains__", "__enter__",
    "__exit__", "__getitem__", "__iter__", "__len__", "__next__",
})  # fmt: skip
"""Methods by which an object takes part in the language."""


def tests(tree: Tree) -> Declared:
    """Yield each test, by its node id."""
    for test in tree.tests:
        yield test, {"function": test.partition("[")[0].rpartition("::")[2]}


def litmus(_tree: Tree) -> Declared:
    """Yield each program as text: a hash of its statements, and the expected outcomes."""
    rows = {"counts": COUNTS, "verdict": VERDICTS, "found": STATES}
    for name in sorted(LITMUS.keys() | {name for table in rows.values() for name in table}):
        expected = {what: _without_note(table[name])
                    for what, table in rows.items() if name in table}  # fmt: skip
        yield name, {"program": _hash(LITMUS[name]), **expected}


def _without_note(row: Facts) -> Facts:
    return {name: value for name, value in row.items() if name != "note"}


def _hash(program: str) -> str:
    """Return a hash of a program's statements, without its name, comments and layout."""
    lines = [" ".join(line.partition("#")[0].split()) for line in program.splitlines()]
    kept = [line for line in lines if line and not line.startswith("program ")]
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()[:16]


def c_names(tree: Tree) -> Declared:
    """Yield the public names of the kernel's headers, and whether the public headers have them."""
    headers = sorted(tree.kernel.rglob("*.h"))
    every = declarations.merged(declarations.of_headers(headers, tree.kernel, [tree.kernel]))
    shown = {name for chunk in public_headers.Kernel(tree.kernel).kept for name in chunk.names}
    for name, facts in every.items():
        if re.match(r"wp_(?!_)", name, re.IGNORECASE) and not re.fullmatch(r"WP_\w+_H", name):
            kept = {fact: value for fact, value in facts.items() if fact != "fields"}
            yield name, {**kept, "umbrella": name in shown}


def cdef(_tree: Tree) -> Declared:
    """Yield the names that the cdef gives to Python."""
    yield from declarations.merged(declarations.of_text(build.declarations())).items()


def python_names(_tree: Tree) -> Declared:
    """Yield the public names of the package, of its public modules and of its classes."""
    modules = [name for name, module in wakeproof._HOME.items() if name == module]
    for name in wakeproof.__all__:
        yield from _described(name, getattr(wakeproof, name))
    for name in modules:
        module = importlib.import_module(f"wakeproof.{name}")
        yield name, {"kind": "module"}
        for own in _public(module):
            yield from _described(f"{name}.{own}", getattr(module, own))


def _public(module: ModuleType) -> list[str]:
    """Return the public names of a module: its ``__all__``, else what it defines itself."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [name for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
            and not isinstance(value, TypeVar | ParamSpec)]  # fmt: skip


def _described(name: str, value: Any) -> Declared:
    if not inspect.isclass(value):
        kind = "function" if callable(value) else "value"
        yield name, {"kind": kind, "signature": _signature(value) if callable(value) else None}
        return
    own = [base for base in value.__mro__ if base.__module__.startswith("wakeproof")]
    defined = {attribute for base in own for attribute in vars(base)}
    yield (
        name,
        {
            "kind": "class",
            "signature": _signature(value),
            "bases": [base.__name__ for base in value.__mro__[1:-1] if "._" not in base.__module__],
            "protocols": sorted(defined & PROTOCOLS),
        },
    )
    for attribute in sorted(defined):
        if not attribute.startswith("_"):
            yield f"{name}.{attribute}", _member(inspect.getattr_static(value, attribute))


def _member(value: Any) -> Facts:
    if isinstance(value, property):
        return {"kind": "property", "signature": _signature(value.fget)}
    if isinstance(value, staticmethod | classmethod):
        return {"kind": type(value).__name__, "signature": _signature(value.__func__)}
    if isinstance(value, Enum):
        return {"kind": "member", "value": repr(value.value)}
    return (
        {"kind": "method", "signature": _signature(value)} if callable(value) else {"kind": "value"}
    )


def _signature(value: Any) -> str | None:
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(value)))
    except (TypeError, ValueError):  # a function in C has no signature
        return None


def commands(tree: Tree) -> Declared:
    """Yield each command of the command line with its options and arguments; targets of make."""
    add(cli.COMMANDS)
    group: Any = typer.main.get_command(app)
    for command in group.commands.values():
        yield command.name, {}
        for parameter in command.params:
            spelled = parameter.opts if parameter.param_type_name == "option" else [parameter.name]
            yield (
                f"{command.name} {'/'.join([*spelled, *parameter.secondary_opts])}",
                {
                    "kind": parameter.param_type_name,
                    "type": _type(parameter.type_descriptor.annotation),
                    "default": None if parameter.default is None else str(parameter.default),
                    "is_required": parameter.required,
                    "takes": 0 if getattr(parameter, "is_flag", False) else parameter.nargs,
                    "is_multiple": parameter.multiple,
                },
            )

    for target, said in tree.targets.items():
        yield f"make {target}", {"options": re.findall(r"\[([^]]+)\]", said)}


def _type(annotation: Any) -> str:
    return annotation.__name__ if inspect.isclass(annotation) else str(annotation)


def errors_(_tree: Tree) -> Declared:
    """Yield each code of the kernel with its text and its exception, and each exit code."""
    binding: Any = ffi  # its stub has what the package needs
    for name, code in binding.typeof("enum wp_error").relements.items():
        raised = errors.BY_CODE.get(code)
        text = binding.string(lib.wp_error_text(code)).decode()
        yield name, {"value": code, "text": text, "raises": raised.__name__ if raised else None}
    for name, value in vars(errors).items():
        if name.startswith("EXIT_"):
            yield name, {"value": value}
    for name in wakeproof.__all__:
        kind = getattr(wakeproof, name)
        if inspect.isclass(kind) and issubclass(kind, errors.WakeproofError):
            yield name, {"exits": kind.exit_code}


def lines(tree: Tree) -> Declared:
    """Yield each top-level folder with its lines of text."""
    for folder, count in tree.folders.items():
        yield folder, {"lines": count}
