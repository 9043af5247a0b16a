#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that every edit in stress/twins/ applies: exactly once, in the definition that it names.

Each twin has a sentence, `defect`. The scenario that must show the twin is one of
stress/scenarios/. A twin that edits a spec has a row in [twins] of the table in specs/, and each
such row has an edit.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.tlc import models
from wakeproof.judge.twins import edits as twins


def problems(root: Path) -> list[str]:
    """Return a sentence for each twin that is wrong in the tables below `root`."""
    found = []
    texts = (file.read_text("utf-8") for file in (root / "stress" / "scenarios").rglob("*.c"))
    scenarios = {name for text in texts for name in re.findall(r"\bSTRESS_TEST\(\s*(\w+)", text)}
    try:
        found += [f"{twin.table}: twin {twin.defect}: {models.NO_SENTENCE}"
                  for twin in twins.read(root) if not twin.about and not twin.spec]  # fmt: skip
        for twin in twins.of_code(root).values():
            try:
                twins.edited(twin, root)
            except UsageError as error:
                found.append(str(error))
            if twin.scenario and twin.scenario not in scenarios:
                wrong = f"{twin.table}: twin {twin.name}: no scenario is called {twin.scenario}"
                found.append(f"{wrong}: no STRESS_TEST of stress/scenarios/ has that name")
        found += models.problems(root / "specs")
    except UsageError as error:
        found.append(str(error))
    return found


if __name__ == "__main__":
    wrong = problems(locations.sources())
    print("\n".join(wrong), end="\n" * bool(wrong), file=sys.stderr)
    sys.exit(bool(wrong))
