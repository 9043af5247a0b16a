# SPDX-License-Identifier: Apache-2.0
"""Each bug beside what others see of it: plain runs on real cores, and ThreadSanitizer."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wakeproof.judge.builds import Build
from wakeproof.judge.museum import run
from wakeproof.judge.museum.exhibits import Exhibit
from wakeproof.judge.museum.run import Judged, Progress
from wakeproof.judge.own.repeat import Repeater, Runs
from wakeproof.judge.process import Children

RUNS_S: Final = 1.0
"""How long each build is run again and again."""
PLAIN: Final = Build("O2")
SANITIZED: Final = Build("O1", sanitizer="thread")
_REPORT: Final = "WARNING: ThreadSanitizer: "
_LEAK: Final = f"{_REPORT}thread leak"
"""That a thread was not joined says nothing of a lost wakeup."""


@dataclass(frozen=True)
class Row:
    """One exhibit: judged, run as it is, and run under ThreadSanitizer."""

    judged: Judged
    plain: Runs
    sanitized: Runs

    @property
    def hits(self) -> int:
        """Return how many plain runs showed the bug."""
        return sum(end.runs for end in self.plain.ends if end.is_bad)

    @property
    def races(self) -> int:
        """Return how many runs ThreadSanitizer has found something in, as a data race."""
        return sum(end.runs for end in self.sanitized.ends
                   if _REPORT in end.printed and _LEAK not in end.printed)  # fmt: skip


def rows(exhibits: Sequence[Exhibit], progress: Progress | None = None) -> list[Row]:
    """Judge each exhibit as shipped and as fixed, and run it as shipped on real cores."""
    shows = progress or (lambda _next, _done, _total: None)
    found = []
    with Children() as children, tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        for at, one in enumerate(exhibits):
            shows(one.name, at, len(exhibits))
            (judged,) = run.run([one], run.options())
            place = Path(folder) / one.name
            place.mkdir()
            repeater = Repeater(children, place, RUNS_S, 1, RUNS_S)
            found.append(
                Row(judged, *(repeater.runs(one.shipped, build) for build in (PLAIN, SANITIZED)))
            )
    return found
