# SPDX-License-Identifier: Apache-2.0
"""Finite relations as bit sets, with the operators in which memory models are written."""

from __future__ import annotations

from functools import cached_property, reduce
from operator import or_


class Relation:
    """A relation on the numbers 0 .. n-1: for each number, the set of its successors as bits."""

    def __init__(self, rows: list[int]) -> None:
        self.rows = rows

    def __or__(self, other: Relation) -> Relation:
        return Relation([a | b for a, b in zip(self.rows, other.rows, strict=True)])

    def __sub__(self, other: Relation) -> Relation:
        return Relation([a & ~b for a, b in zip(self.rows, other.rows, strict=True)])

    def __and__(self, other: Relation) -> Relation:
        return Relation([a & b for a, b in zip(self.rows, other.rows, strict=True)])

    def __matmul__(self, other: Relation) -> Relation:
        """Return the composition: first self, then other."""
        rows = other.rows
        return Relation(
            [reduce(or_, [rows[b] for b in _bits(row)], 0) if row else 0 for row in self.rows]
        )

    def restricted(self, sources: int, targets: int) -> Relation:
        """Return the pairs that lead from one set to another."""
        return Relation(
            [row & targets if sources >> a & 1 else 0 for a, row in enumerate(self.rows)]
        )

    @cached_property
    def inverse(self) -> Relation:
        """The pairs in the opposite direction."""
        rows = [0] * len(self.rows)
        for a, row in enumerate(self.rows):
            for b in _bits(row):
                rows[b] |= 1 << a
        return Relation(rows)

    @cached_property
    def closure(self) -> Relation:
        """The transitive closure."""
        rows = list(self.rows)
        for b in range(len(rows)):
            through = rows[b]
            if through:
                bit = 1 << b
                rows = [row | through if row & bit else row for row in rows]
        return Relation(rows)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs, in order."""
        return [(a, b) for a, row in enumerate(self.rows) for b in _bits(row)]

    @property
    def maybe(self) -> Relation:
        """The reflexive closure."""
        return Relation([row | 1 << a for a, row in enumerate(self.rows)])

    @property
    def is_irreflexive(self) -> bool:
        """Return whether no number is related to itself."""
        return not any(row >> a & 1 for a, row in enumerate(self.rows))

    @property
    def is_acyclic(self) -> bool:
        """Return whether no path leads back to where it began."""
        return self.closure.is_irreflexive


def _bits(row: int) -> list[int]:
    bits = []
    while row:
        low = row & -row
        bits.append(low.bit_length() - 1)
        row ^= low
    return bits


def identity(size: int) -> Relation:
    """Return each number related to itself."""
    return Relation([1 << a for a in range(size)])
