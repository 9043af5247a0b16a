# SPDX-License-Identifier: Apache-2.0
"""Lets calls of the judges to the system fail, one in each run of a command, and prints a table.

    make campaign-judges      a quarter of an hour

Of each function the first calls of each process of a command fail, then fewer and fewer of the
later ones.  *whole*: the command gave its usual result.  *said*: a message, an exit code that is
not 0, and no verdict.  Exit code 1: a wrong verdict, a traceback, a hang, or a file that is left or
half-written.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.support import refusing_judges as refusing

MOST = 4  # of one function in one process of one command


def main() -> int:
    """Run every command; return the exit code."""
    print("A call of a command's processes to the system fails, one in each run. whole: the usual")
    print("result. said: a message, an exit code that is not 0, and no verdict.\n")
    wrong = []
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        preloaded = refusing.library(Path(folder))
        print(f"{'command':10}{'process':16}{'call':16}{'whole':>7}{'said':>7}{'wrong':>7}")
        for name, job in refusing.JOBS.items():
            for process in job.processes:
                for call in job.calls:
                    found: Counter[str] = Counter()
                    for at in refusing.numbers(MOST):
                        ended = refusing.run(preloaded, job, process, call, at)
                        if ended is None:
                            break
                        found[ended.how if ended.is_good else "wrong"] += 1
                        if not ended.is_good:
                            wrong.append(f"{name}, {process}, {call} {at}: {ended.how}")
                    if found:
                        counts = (found[how] or "-" for how in ("whole", "said", "wrong"))
                        print(f"{name:10}{process.strip():16}{call:16}", end="")
                        print("".join(f"{count:>7}" for count in counts))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
