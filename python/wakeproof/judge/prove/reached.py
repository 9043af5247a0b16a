# SPDX-License-Identifier: Apache-2.0
"""A twin that breaks its proof in a state that TLC reaches, where no solver finds such a state.

A solver must find a state that satisfies the whole invariant, which for a large one may take hours.
TLC walks the states that the twin reaches.  Each satisfies the invariant until a step breaks a
conjunct of it.  That state and that step are a counterexample to induction.  They are more than
what a solver shows, because the state is reached.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from wakeproof.judge.process import Children
from wakeproof.judge.prove.shown import Failure
from wakeproof.judge.tlc import manifest
from wakeproof.judge.tlc import run as tlc
from wakeproof.judge.tlc.run import Outcome


def broken(
    module: Path, config: Path, conjuncts: Sequence[str], others: Sequence[str],
    children: Children, timeout_s: float,
) -> Failure | None:  # fmt: skip
    """Return the first step that breaks the invariant, if it breaks one of the conjuncts.

    None: TLC found none in its time, or it breaks another part of the invariant first.

    Args:
        module: the twin's .tla file.
        config: its .cfg file, whose invariants and properties are replaced.
        conjuncts: names that the module defines, of those that say more than a type.
        others: names of the other parts of the invariant, and of the invariant itself.
        children: of the job.
        timeout_s: for TLC.
    """
    names = (*conjuncts, *others)
    text = manifest.with_properties(config, names).replace("PROPERTIES", "INVARIANTS")
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        own = Path(folder, config.name)
        own.write_text(text, encoding="utf-8")
        found = tlc.run(module, own, children=children, timeout_s=timeout_s)
    if found.outcome is not Outcome.INVARIANT or found.violated not in conjuncts:
        return None
    if len(found.trace) < 2:
        return None
    before, after = found.trace[-2].values, found.trace[-1]
    changes = tuple(
        (name, before[name], value) for name, value in after.values.items() if before[name] != value
    )
    return Failure(
        f"{after.action} keeps {found.violated}", found.violated, False, "sat", after.action,
        tuple(before.items()), changes,
    )  # fmt: skip
