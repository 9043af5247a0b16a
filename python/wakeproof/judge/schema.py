# SPDX-License-Identifier: Apache-2.0
"""Data that a program or a table has written, read as a dataclass, which pydantic checks.

The dataclass is the schema: its fields, their types and which of them may be left out.  Fields that
it does not have are ignored, unless the dataclass says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

T = TypeVar("T")
_made: dict[type[Any], TypeAdapter[Any]] = {}


class SchemaError(ValueError):
    """What was read is not what the dataclass says: where, what is there, what is allowed."""


def of(kind: type[T]) -> TypeAdapter[T]:
    """Return what reads and checks a dataclass; it is made once, when it is first needed."""
    found: TypeAdapter[T] | None = _made.get(kind)
    if found is None:
        found = _made[kind] = TypeAdapter(kind)
    return found


def from_json(kind: type[T], text: str | bytes) -> T:
    """Return a text of JSON as a dataclass; no value is converted, as "1" to 1.

    Raises:
        SchemaError: it is none.
    """
    try:
        return of(kind).validate_json(text, strict=True)
    except ValidationError as error:
        raise SchemaError(first(error)) from None


def from_values(kind: type[T], values: Mapping[str, Any]) -> T:
    """Return values as a dataclass that are, or could be, JSON.

    Raises:
        SchemaError: they are none.
    """
    return from_json(kind, to_json(values))


def first(error: ValidationError) -> str:
    """Return the first problem in a line: ``outcomes.0.count: Input should be a valid integer``."""
    found = error.errors(include_url=False)[0]
    where = ".".join(map(str, found["loc"]))
    given = "" if found["type"] == "missing" else f", not {str(found['input'])[:80]!r}"
    return f"{where}: {found['msg']}{given}" if where else f"{found['msg']}{given}"
