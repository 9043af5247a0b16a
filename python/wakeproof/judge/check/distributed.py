# SPDX-License-Identifier: Apache-2.0
"""Model-check large configurations by TLC's server and workers, on one machine or several.

TLC checks invariants there, with symmetry and constraints, but neither properties nor simulation,
and it explains no violation.  So twins and configurations that list properties run in one process,
as without ``--distributed``; so does a configuration in which the workers find something wrong.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from wakeproof.errors import UsageError
from wakeproof.judge import store
from wakeproof.judge.check import own_spec
from wakeproof.judge.check import run as specs
from wakeproof.judge.check.own_spec import OwnReport
from wakeproof.judge.check.run import CheckReport, ConfigResult, Progress
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import distributed, manifest, models
from wakeproof.judge.tlc.distributed import Cluster, State
from wakeproof.judge.tlc.jvm import Machines
from wakeproof.judge.tlc.manifest import Entry
from wakeproof.judge.tlc.run import Outcome, TlcResult

Watch = Callable[[str, State], None]
"""Called with a configuration's name and how far its run is."""


class Runner(specs.Runner):
    """Judges configurations as its base does, each by a server and workers."""

    cluster: Cluster
    watch: Watch = staticmethod(lambda _name, _state: None)

    def judge(self, entry: Entry) -> ConfigResult:
        """Judge as its base does; the depth is a matter of luck with several workers.

        Raises:
            UsageError: the configuration lists properties.
        """
        listed = manifest.listed(entry.file(self.specs))["PROPERTIES"]
        if listed:
            raise UsageError(f"{entry.config} lists PROPERTY {listed[0]}: TLC's distributed mode "
                             "checks no properties; leave out --distributed")  # fmt: skip
        return super().judge(replace(entry, workers=max(2, entry.workers)))

    def _run(self, entry: Entry, config: Path, machines: Machines | None) -> TlcResult:
        options = tuple(option for option in self.options if option == "-deadlock")
        inputs = {
            **specs.inputs_of(self.specs, entry), **store.code("tlc/distributed.py"),
            "options": " ".join(options),
        }  # fmt: skip
        found = distributed.run(
            entry.home(self.specs) / f"{entry.module}.tla", config, store.key(inputs), self.cluster,
            children=self.children, timeout_s=entry.budget_s or specs.FULL_S, options=options,
            tick=lambda state: self.watch(entry.name, state),
        )  # fmt: skip
        if found.outcome in (Outcome.OK, Outcome.TIMEOUT):
            return found
        return super()._run(entry, config, machines)  # it says what is wrong, and how it comes


def why_not(entry: Entry, specs_: Path) -> str:
    """Return why a configuration runs in one process; "": it can be distributed."""
    if entry.expect == "violates":
        return "a twin"
    if manifest.listed(entry.file(specs_))["PROPERTIES"]:
        return "lists properties"
    if entry.set == "short" and entry.workers == 1:
        return "small"
    return ""


def split(pattern: str | None, *, full: bool) -> tuple[list[Entry], dict[str, str]]:
    """Return the chosen configurations that are distributed, and why each of the others is not."""
    made = models.own()
    chosen = manifest.select(manifest.load(made), pattern, full=full)
    reasons = {entry.name: why_not(entry, made) for entry in chosen}
    return (
        [entry for entry in chosen if not reasons[entry.name]],
        {name: reason for name, reason in reasons.items() if reason},
    )


def check(
    cluster: Cluster,
    pattern: str | None = None,
    *,
    full: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> CheckReport:
    """Model-check as `specs.check` does, the large configurations by `cluster`, one by one.

    Raises:
        UsageError: nothing matches, or a value is not allowed.
        MissingToolError: no Java or no TLC.
    """
    cluster.checked()
    begin = time.monotonic()
    shared, others = split(pattern, full=full)
    total = len(shared) + len(others)
    shows = progress or (lambda _result, _done, _total: None)
    results: list[ConfigResult] = []
    if others:
        names = "|".join(map(re.escape, others))
        found = specs.check(
            f"^({names})$", full=True, jobs=jobs,
            progress=lambda result, done, _: shows(result, done, total),
        )  # fmt: skip
        results += found.results
    with Children() as children:
        runner = Runner(models.own(), children, update=False)
        runner.cluster, runner.watch = cluster, watch or runner.watch
        for entry in shared:
            results.append(runner.judge(entry))
            shows(results[-1], len(results), total)
    return CheckReport(tuple(results), time.monotonic() - begin)


def check_own(
    cluster: Cluster,
    module: Path,
    config: Path | None = None,
    *,
    deadlock: bool = True,
    seconds: float = specs.FULL_S,
    watch: Watch | None = None,
) -> OwnReport:
    """Model-check a module of the user's own by `cluster`.

    Raises:
        UsageError: a file is missing, TLC does not accept it, or it lists a property.
        MissingToolError: no Java or no TLC.
    """
    cluster.checked()

    def runner(*arguments: object, **named: object) -> Runner:
        made = Runner(*arguments, **named)  # type: ignore[arg-type]
        made.cluster, made.watch = cluster, watch or made.watch
        return made

    return own_spec.check_own(
        module, config, deadlock=deadlock, workers=max(1, cluster.workers), seconds=seconds,
        make=runner,
    )  # fmt: skip
