# SPDX-License-Identifier: Apache-2.0
"""The examples of docstrings run as written, and each public name has one."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
import time
from importlib import import_module

import pytest

import wakeproof

LONGEST_S = 1.0
NOT_IMPORTED = {"__main__", "gunicorn"}  # it runs the command; it needs gunicorn
FOLDERS = {"": wakeproof.__path__, "_runtime.": [f"{wakeproof.__path__[0]}/_runtime"]}
MODULES = ["wakeproof"] + [
    f"wakeproof.{prefix}{found.name}"
    for prefix, path in FOLDERS.items()
    for found in pkgutil.iter_modules(path)
    if not found.ispkg and found.name not in NOT_IMPORTED
]


def examples_of(module: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(exclude_empty=True).find(import_module(module), module)
    return [test for test in found if test.examples]


EXAMPLES = [test for module in MODULES for test in examples_of(module)]


def needs_an_example(name: str) -> bool:
    # The function that raises an exception has the example for it.
    public = getattr(wakeproof, name)
    return not (inspect.isclass(public) and issubclass(public, BaseException))


@pytest.mark.parametrize("example", EXAMPLES, ids=[test.name for test in EXAMPLES])
def test_the_example_of_a_docstring_runs_in_a_second(example: doctest.DocTest) -> None:
    said: list[str] = []
    begin = time.monotonic()
    failed, _ = doctest.DocTestRunner().run(example, out=said.append)
    assert failed == 0, "".join(said)
    assert time.monotonic() - begin < LONGEST_S


@pytest.mark.parametrize("name", [*filter(needs_an_example, wakeproof.__all__)])
def test_a_public_name_has_an_example(name: str) -> None:
    doc = inspect.getdoc(getattr(wakeproof, name)) or ""
    assert doctest.DocTestParser().get_examples(doc), f"wakeproof.{name} has no example"


@pytest.mark.parametrize("name", wakeproof.__all__)
def test_a_public_name_has_a_docstring_of_its_own(name: str) -> None:
    public = getattr(wakeproof, name)
    assert public.__doc__
    assert public.__doc__.partition("\n")[0].endswith(".")
