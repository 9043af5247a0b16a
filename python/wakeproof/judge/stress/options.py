# SPDX-License-Identifier: Apache-2.0
"""How a stress job is run: budgets, builds, places; each value checked where it comes in."""

from __future__ import annotations

from dataclasses import dataclass

from wakeproof.errors import UsageError
from wakeproof.judge.builds import Build

MODES = {"sanity": 0.0, "quick": 0.2, "default": 1.0, "tough": 10.0}
"""Seconds per scenario or twin and build, over all places."""
OPTS = ("O0", "O1", "O2", "O3")
SANITIZERS = ("address", "undefined", "thread", "address,undefined")


@dataclass(frozen=True)
class StressOptions:
    """How to run; the defaults are those of the command line.

    `seconds`, instead of a mode's, are those of a scenario or twin over all its builds and places.
    """

    mode: str = "default"
    seconds: float | None = None
    affinity: tuple[str, ...] = ("none", "global", "local")
    opt: tuple[str, ...] = ("O0", "O2", "O3")
    plain: bool = True
    delayed: bool = True
    twins: bool = True
    stride: int | None = None
    seed: int | None = None
    sanitizer: str | None = None
    computed: bool = True  # compare with the sets that the models allow; not in sanity mode

    def checked(self) -> StressOptions:
        """Return self.

        Raises:
            UsageError: a value is not allowed; the message says which are.
        """
        if self.mode not in MODES:
            raise UsageError(f"unknown mode {self.mode!r}; there are {', '.join(MODES)}")
        if self.seconds is not None and not 0 <= self.seconds <= 86400:
            raise UsageError(f"seconds must be from 0 to 86400, not {self.seconds}")
        for opt in self.opt:
            if opt not in OPTS:
                raise UsageError(f"unknown optimisation {opt!r}; there are {', '.join(OPTS)}")
        if not self.opt or not (self.plain or self.delayed):
            raise UsageError("nothing to build: give an optimisation, and plain or delayed")
        if self.stride is not None and not 1 <= self.stride <= 4096:
            raise UsageError(f"stride must be from 1 to 4096, not {self.stride}")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise UsageError(f"seed must be from 0 to 2**63 - 1, not {self.seed}")
        if self.sanitizer is not None and self.sanitizer not in SANITIZERS:
            raise UsageError(
                f"unknown sanitizer {self.sanitizer!r}; there are {'; '.join(SANITIZERS)}"
            )
        return self

    def budget_s(self, twin: str | None = None) -> float:
        """Return the seconds of each build of a scenario, or of `twin`, over all places."""
        if self.seconds is None:
            return MODES[self.mode]
        return self.seconds / len(self.builds(twin))

    def builds(self, twin: str | None = None) -> list[Build]:
        """Return what to compile; twins and delayed builds are compiled once, at O2 if allowed."""
        once = "O2" if "O2" in self.opt else self.opt[0]
        opts = (once,) if twin else self.opt
        found = [Build(opt, False, twin, self.sanitizer) for opt in opts if self.plain]
        return found + [Build(once, True, twin, self.sanitizer)] * self.delayed
