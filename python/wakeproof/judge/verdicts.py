# SPDX-License-Identifier: Apache-2.0
"""The rows of an audit: each verdict, a hash of all its inputs, and when it was judged.

A row is the verdict of one judge on one configuration, scenario, twin or site.  A row that holds is
kept (`store`), and is not judged again while its inputs are the same.  CI keeps nothing: it takes
rows from the file `lock` instead, and judges an eighth of them again.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wakeproof.judge import lock, store
from wakeproof.judge.lock import SHARES, Lock, Row
from wakeproof.judge.store import Inputs

CI = "WAKEPROOF_CI"


class Rows:
    """The rows that one job has judged, and those that it took from earlier jobs.

    Args:
        known: the rows of the lock; a new verdict on the same inputs must be the same.
        due: the shares that are judged again, while the other rows are taken from `known`; None:
            rows are taken from the store instead.
        why: why these shares, in words.

    Threads: any thread may call all methods.
    """

    def __init__(
        self,
        known: Lock | None = None,
        due: Collection[int] | None = None,
        why: str = "FRESH=1 judges all",
    ) -> None:
        self._guard = threading.Lock()
        self._found: dict[tuple[str, str], Row] = {}
        self._known, self._due, self._why = known or Lock(), due, why
        self._contradicted: set[tuple[str, str]] = set()

    def find(self, judge: str, name: str, inputs: Inputs) -> Row | None:
        """Return the row of `name` that was judged before on the same inputs; None: judge now."""
        row = self._before(judge, name, inputs)
        return None if row is None else self._take(row)

    def known(self, judge: str, name: str, inputs: Inputs) -> Row | None:
        """Return the row of `name` on the same inputs, kept or locked, whatever is due; or None.

        It is for what the audit does not judge.
        """
        key = store.key(inputs)
        kept = store.look(inputs)
        row = self._known.find(judge, name, key) if kept is None \
            else _row(judge, name, key, kept.value, kept.date)  # fmt: skip
        return None if row is None else self._take(row)

    def lacks(self, judge: str, name: str, inputs: Inputs) -> bool:
        """Return whether `name` is judged now."""
        return self._before(judge, name, inputs) is None

    def locked(self, judge: str, name: str, inputs: Inputs) -> Row | None:
        """Return the row of the lock on the same inputs, even if CI judges it again now."""
        return None if self._due is None else self._known.find(judge, name, store.key(inputs))

    def judged(
        self,
        judge: str,
        name: str,
        inputs: Inputs,
        verdict: str,
        counts: object,
        detail: object = None,
        more: object = None,
        *,
        holds: bool,
    ) -> None:
        """Add a row that was judged now, and keep it if it `holds`."""
        value = json.loads(json.dumps([verdict, counts, detail, more]))  # as it comes back
        if holds:
            store.keep(inputs, value)
        row = self._take(replace(_row(judge, name, store.key(inputs), value), holds=holds))
        if self._known.contradicts(row):
            self._contradicted.add((judge, name))

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Return a line for each row that contradicts the lock."""
        pairs = [(self._known.rows[key], self._found[key]) for key in sorted(self._contradicted)]
        return tuple(
            f"{new.judge} {new.name}: {_said(old, new)} now, "
            f"{_said(new, old)} in {lock.NAME} ({old.date}), on the same inputs"
            for old, new in pairs
        )

    def since(self, names: Collection[str]) -> str:
        """Return when the oldest of the rows of these names was judged; "": all were judged now."""
        return store.oldest(row.date for row in self.all if row.name in names)

    @property
    def summary(self) -> str:
        """Return how many rows were judged now, and when the others: ``7 of 900 rows ...``."""
        every = self.all
        before = [row.date for row in every if row.date]
        text = f"{len(every) - len(before)} of {len(every)} rows were judged now"
        if self._due is None:
            since = f", {len(before)} before, since {store.oldest(before)} ({self._why})"
            return f"{text}{since if before else ''}"
        due = sum(row.share in self._due and not row.date for row in every)
        lacks = len(every) - len(before) - due
        since = f", judged since {store.oldest(before)}" if before else ""
        return (
            f"{text}: {due} of {self._why} and {lacks} that {lock.NAME} lacks; {len(before)} were "
            f"taken from it{since}{self._damaged}"
        )

    @property
    def _damaged(self) -> str:
        lines = self._known.damaged
        return f"; {lines} of its lines are damaged" if lines else ""

    @property
    def by_judge(self) -> dict[str, tuple[int, int, str]]:
        """Return for each judge the numbers of rows judged now and before, and since when."""
        every = self.all
        own = {row.judge: [r.date for r in every if r.judge == row.judge] for row in every}
        return {
            judge: (dates.count(""), len(dates) - dates.count(""), store.oldest(dates))
            for judge, dates in own.items()
        }

    @property
    def all(self) -> list[Row]:
        """Return every row, in the order of judges and names."""
        with self._guard:
            return [self._found[key] for key in sorted(self._found)]

    def _before(self, judge: str, name: str, inputs: Inputs) -> Row | None:
        key = store.key(inputs)
        if self._due is not None:
            row = self._known.find(judge, name, key)
            return None if row is None or row.share in self._due else row
        kept = store.look(inputs)
        return None if kept is None else _row(judge, name, key, kept.value, kept.date)

    def _take(self, row: Row) -> Row:
        with self._guard:
            self._found[row.judge, row.name] = row
        return row


def of_audit(root: Path) -> Rows:
    """Return the rows of an audit of the sources at `root`, before any is judged.

    In CI an eighth of the rows is judged again in any case; the commit decides which share.
    Outside of a repository all rows are judged again.
    """
    known = lock.read(root / lock.NAME)
    if os.environ.get(CI) != "1" or store.is_fresh():
        return Rows(known)
    found = lock.share_of(root)
    if found is None:
        return Rows(known, range(SHARES), "all shares, for no commit says which,")
    share, commit = found
    return Rows(known, (share,), f"share {share + 1} of {SHARES}, by commit {commit[:10]},")


def _row(judge: str, name: str, inputs: str, value: Sequence[Any], date: str = "") -> Row:
    verdict, counts, detail, more = value
    return Row(judge, name, inputs, verdict, counts, detail, more, date)


def _said(one: Row, other: Row) -> str:
    """Return the parts of `other` that differ from `one`."""
    same = one.verdict == other.verdict
    return f"{other.verdict} {json.dumps(other.counts)}" if same else other.verdict
