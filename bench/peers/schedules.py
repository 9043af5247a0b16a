# SPDX-License-Identifier: Apache-2.0
"""Print what wakeproof.schedules and frontrun find in the same programs, and how long it takes.

Usage: python schedules.py wakeproof [NAME...]
       frontrun python schedules.py frontrun [NAME...]     (pip install frontrun)

The programs are those of tests/schedules/bugs.py that start their threads at once.  frontrun
starts the threads itself, so a program runs in a greenlet up to there, and goes on when they have
ended.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import greenlet

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "schedules"))

import bugs  # noqa: E402

SECONDS = 30.0


def by_wakeproof(bug: Any, mended: bool) -> tuple[str, float]:
    """Return what wakeproof says, and after how many seconds."""
    from wakeproof.judge.schedules.explore import Options, explore

    found = explore(lambda: bug.program(mended), Options(**bug.options, seconds=SECONDS))
    return found.verdict, found.seconds


def by_frontrun(bug: Any, mended: bool) -> tuple[str, float]:
    """Return what frontrun says, and after how many seconds."""
    import frontrun

    if "together(" not in inspect.getsource(bug.program):
        return "starts its threads itself", 0.0
    hub = greenlet.getcurrent()
    calls: list[list[Callable[[], object]]] = []

    def together(*those: Callable[[], object]) -> None:
        calls.append(list(those))
        hub.switch()

    def setup() -> Any:
        program = greenlet.greenlet(lambda: bug.program(mended))
        program.switch()
        return program, calls.pop()

    def invariant(state: Any) -> bool:
        try:
            state[0].switch()
        except AssertionError:
            return False
        return True

    before, bugs.together = bugs.together, together
    begin = time.perf_counter()
    try:
        _, those = setup()
        found = frontrun.explore(
            setup=setup,
            workers=[lambda state, at=at: state[1][at]() for at in range(len(those))],
            invariant=invariant,
            total_timeout=SECONDS,
        )
        said = {True: "holds", False: "fails", None: "inconclusive"}[found.property_holds]
        if found.property_holds is None:
            said += f": {found.inconclusive_reason}"
        said += f" ({found.num_explored} runs)"
    except Exception as error:
        said = f"{type(error).__name__}: {str(error).split(chr(10))[0]}"
    finally:
        bugs.together = before
    return said[:90], time.perf_counter() - begin


TOOLS = {"wakeproof": by_wakeproof, "frontrun": by_frontrun}


def main() -> None:
    """Print a line for each program."""
    tool, *names = sys.argv[1:]
    for name in names or bugs.BUGS:
        for mended in False, True:
            said, took = TOOLS[tool](bugs.BUGS[name], mended)
            how = "mended" if mended else "broken"
            print(f"{name:45}{how:8}{tool:11}{took:7.2f} s  {said}", flush=True)


if __name__ == "__main__":
    main()
