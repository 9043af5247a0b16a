# SPDX-License-Identifier: Apache-2.0
"""The explorer's options for steps of the code that another step includes (joins).

Source: ``stress/explorer/joins.h``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wakeproof.errors import UsageError


def join_options(
    joins: Iterable[tuple[str, str]], names: Mapping[tuple[str, int], str]
) -> list[str]:
    """Return ``--join FILE:LINE=FILE:LINE`` for each pair of labels.

    Raises:
        UsageError: no line has such a label.
    """
    lines: dict[str, list[str]] = {}
    for (file, line), name in names.items():
        lines.setdefault(name, []).append(f"{file}:{line}")
    options: list[str] = []
    for before, after in joins:
        if before not in lines or after not in lines:
            raise UsageError(f"no line is labelled {before if before not in lines else after}")
        for first in lines[before]:
            options += [o for then in lines[after] for o in ("--join", f"{first}={then}")]
    return options
