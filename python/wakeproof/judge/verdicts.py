# SPDX-License-Identifier: Apache-2.0
"""The rows of an audit: each verdict, a hash of all that it rests on, and when it was judged.

A row is what one judge says of one configuration, scenario, twin or site.  One that holds is kept
(`store`), and is not judged again while its inputs are the same.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from wakeproof.judge import store
from wakeproof.judge.store import Inputs


@dataclass(frozen=True)
class Row:
    """One verdict.

    `counts` come out the same of the same inputs; `detail` may come out otherwise, as what was
    seen within some seconds does.  Both are plain data, from which a judge makes its report again;
    `more`, which may be large, is what it shows besides.
    """

    judge: str
    name: str  # of what was judged; no two rows of a judge share one
    inputs: str  # hash
    verdict: str
    counts: Any
    detail: Any
    more: Any = None
    date: str = ""  # when it was judged; "": now


class Rows:
    """What one job has judged, and what it took from before.

    Threads: any.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._found: dict[tuple[str, str], Row] = {}

    def find(self, judge: str, name: str, inputs: Inputs) -> Row | None:
        """Return the row of `name` that was judged before on the same inputs; None: judge now."""
        kept = store.look(inputs)
        if kept is None:
            return None
        verdict, counts, detail, more = kept.value
        return self._take(
            Row(judge, name, store.key(inputs), verdict, counts, detail, more, kept.date)
        )

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
        """Take a row that was judged now, and keep it if it `holds`."""
        value = json.loads(json.dumps([verdict, counts, detail, more]))  # as it comes back
        if holds:
            store.keep(inputs, value)
        self._take(Row(judge, name, store.key(inputs), *value))

    def since(self, names: Collection[str]) -> str:
        """Return when the oldest of the rows of these names was judged; "": all were judged now."""
        return store.oldest(row.date for row in self.all if row.name in names)

    @property
    def summary(self) -> str:
        """Return how many rows were judged now, and how many when: ``7 of 900 rows ...``."""
        every = self.all
        before = [row.date for row in every if row.date]
        text = f"{len(every) - len(before)} of {len(every)} rows were judged now"
        if not before:
            return text
        return f"{text}, {len(before)} before, since {min(before)} (FRESH=1 judges all)"

    @property
    def all(self) -> list[Row]:
        """Return every row, in the order of judges and names."""
        with self._guard:
            return [self._found[key] for key in sorted(self._found)]

    def _take(self, row: Row) -> Row:
        with self._guard:
            self._found[row.judge, row.name] = row
        return row
