# SPDX-License-Identifier: Apache-2.0
"""kernel/base/error.h and wakeproof.errors: every code has a text and a meaning in Python."""

from __future__ import annotations

import re

import pytest

import wakeproof
from wakeproof import errors, locations
from wakeproof._native.ffi import ffi, lib

HEADER = (locations.sources() / "kernel" / "base" / "error.h").read_text(encoding="utf-8")
TABLE = [
    (name, int(value), text)
    for name, value, text in re.findall(r'X\((WP_\w+), (-?\d+), "([^"]+)"\)', HEADER)
]


def text_of(code: int) -> str:
    return ffi.string(lib.wp_error_text(code)).decode()


def test_the_table_is_the_whole_of_the_codes() -> None:
    numbers = [value for _, value, _ in TABLE]
    failures = [value for value in numbers if value < 0]
    answers = [value for value in numbers if value > 0]
    assert numbers == [0, *range(-1, -1 - len(failures), -1), *range(1, 1 + len(answers))]
    assert set(errors.BY_CODE) == set(failures)
    assert len(answers) > 0


@pytest.mark.parametrize(("name", "value", "text"), TABLE)
def test_each_code_has_its_number_and_its_text(name: str, value: int, text: str) -> None:
    assert getattr(lib, name) == value
    assert text_of(value) == text


@pytest.mark.parametrize("value", [len(TABLE), -len(TABLE), 2**31 - 1])
def test_what_is_no_code_says_so(value: int) -> None:
    assert text_of(value) == "not a wakeproof code"
    assert type(errors.error_for(value, "what")) is errors.WakeproofError


@pytest.mark.parametrize(("name", "value"), [row[:2] for row in TABLE if row[1] < 0])
def test_each_failure_has_an_exception_that_documents_it(name: str, value: int) -> None:
    error = errors.error_for(value, "what happened")
    assert f"{name}:" in (type(error).__doc__ or "")
    assert str(error) == "what happened"


def test_no_two_codes_share_an_exception() -> None:
    assert len(set(errors.BY_CODE.values())) == len(errors.BY_CODE)


def test_every_error_can_be_caught_by_a_name_of_the_package() -> None:
    public = [
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and kind.__module__ == errors.__name__ and name[0] != "_"
    ]
    assert "DeadlineError" in public
    assert set(public) <= set(wakeproof.__all__)
    assert all(getattr(wakeproof, name) is getattr(errors, name) for name in public)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.UsageError, ValueError),
        (errors.DeadlineError, TimeoutError),
        (errors.InterruptedWaitError, InterruptedError),
        (errors.SystemCallError, OSError),
    ],
)
def test_callers_may_catch_pythons_own_exceptions(error: type, builtin: type) -> None:
    assert issubclass(error, builtin)
    assert issubclass(error, errors.WakeproofError)
