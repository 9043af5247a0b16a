# SPDX-License-Identifier: Apache-2.0
"""How to run a stress job: time, builds and places.  Each value is checked when it is given."""

from __future__ import annotations

from dataclasses import dataclass

from wakeproof.errors import UsageError
from wakeproof.judge.builds import Build

MODES = {"sanity": 0.0, "quick": 0.2, "default": 1.0, "tough": 10.0}
"""The seconds of each build of a scenario or twin, shared by all places."""
OPTS = ("O0", "O1", "O2", "O3")
SANITIZERS = ("address", "undefined", "thread", "address,undefined")


@dataclass(frozen=True)
class StressOptions:
    """How to run a stress job.  The defaults are those of the command line.

    `seconds` replaces the time of the mode: the builds and places of a scenario or twin share it.
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
            UsageError: a value is not allowed; the message lists the allowed values.
        """
        if self.mode not in MODES:
            raise UsageError(f"mode is {self.mode!r}; allowed: {', '.join(MODES)}")
        if self.seconds is not None and not 0 <= self.seconds <= 86400:
            raise UsageError(f"seconds is {self.seconds:g}; allowed: 0 to 86,400")
        for opt in self.opt:
            if opt not in OPTS:
                raise UsageError(f"opt is {opt!r}; allowed: {', '.join(OPTS)}")
        if not self.opt or not (self.plain or self.delayed):
            raise UsageError(
                f"nothing to build: give at least one of {', '.join(OPTS)}, and plain or delayed"
            )
        if self.stride is not None and not 1 <= self.stride <= 4096:
            raise UsageError(f"stride is {self.stride}; allowed: 1 to 4,096")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise UsageError(f"seed is {self.seed}; allowed: 0 to 2**63 - 1")
        if self.sanitizer is not None and self.sanitizer not in SANITIZERS:
            raise UsageError(f"sanitizer is {self.sanitizer!r}; allowed: {'; '.join(SANITIZERS)}")
        return self

    def budget_s(self, twin: str | None = None) -> float:
        """Return the seconds of each build of a scenario, or of `twin`, shared by all places."""
        if self.seconds is None:
            return MODES[self.mode]
        return self.seconds / len(self.builds(twin))

    def builds(self, twin: str | None = None) -> list[Build]:
        """Return the builds.  Twins and delayed builds are compiled once, at O2 if allowed."""
        once = "O2" if "O2" in self.opt else self.opt[0]
        opts = (once,) if twin else self.opt
        found = [Build(opt, False, twin, self.sanitizer) for opt in opts if self.plain]
        return found + [Build(once, True, twin, self.sanitizer)] * self.delayed
