# SPDX-License-Identifier: Apache-2.0
"""The judge `check`: TLC checks every configuration of specs/; the results must match the tables.

A passing configuration must pass with the recorded number of states.  A twin must violate the claim
that it names before any other, in a counterexample of the recorded length.

Most of the time of a small configuration is the start of Java, so small configurations share Java
machines.  The result of a shared machine counts only if it is as the manifest expects, in verdict
and numbers.  Any other result is run again in a machine of its own, and the new result counts; a
difference between the two is a defect of the runner.

A result of TLC that is as the manifest expects is kept under a hash of all its inputs (`store`).
A kept result is compared with the manifest again in each job.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import store
from wakeproof.judge.lock import Row
from wakeproof.judge.process import Children
from wakeproof.judge.results import Results
from wakeproof.judge.tlc import jvm, manifest, models, toolchain
from wakeproof.judge.tlc import run as tlc
from wakeproof.judge.tlc.jvm import JvmError, Machines
from wakeproof.judge.tlc.manifest import Entry
from wakeproof.judge.tlc.run import Outcome, Step, TlcResult
from wakeproof.judge.verdicts import Rows

SHORT_S = 600.0
FULL_S = 6 * 3600.0
LONG_S = 30.0
"""A configuration that took longer than this last time has a JVM of its own, started for it."""
_PARSED = re.compile(r"^Parsing file .*?(\w+)\.tla", re.MULTILINE)


@dataclass(frozen=True)
class ConfigResult:
    """One configuration: what was expected, what TLC found, and what is wrong ("": nothing)."""

    entry: Entry
    tlc: TlcResult
    violated: tuple[str, ...]  # names of the violated invariants or properties, as in the cfg
    wrong: str
    runner: str = ""  # what a shared JVM said instead; "": the same, or it was not asked
    since: str = ""  # when TLC said so; "": now

    @property
    def holds(self) -> bool:
        """Return whether the configuration showed what the manifest expects."""
        return not self.wrong

    @property
    def got(self) -> str:
        """The result in a few words."""
        if self.tlc.outcome.is_violation:
            return "violates " + (", ".join(self.violated) or self.tlc.outcome.value)
        return self.tlc.outcome.value


class CheckReport(Results[ConfigResult]):
    """All configurations that were run, in the manifest's order."""

    @property
    def runner_defects(self) -> tuple[ConfigResult, ...]:
        """Return the configurations with another result in a shared JVM than in their own."""
        return tuple(result for result in self.results if result.runner)


Progress = Callable[[ConfigResult, int, int], None]
"""Called after each configuration with its result, the number done, and the number of all."""


def check(
    pattern: str | None = None,
    *,
    full: bool = False,
    update: bool = False,
    alone: bool = False,
    jobs: int | None = None,
    specs: Path | None = None,
    progress: Progress | None = None,
    rows: Rows | None = None,
) -> CheckReport:
    """Model-check the configurations with a name that matches `pattern` (None: all).

    Args:
        pattern: regular expression, any case, found anywhere in a configuration's name.
        full: also check the large configurations (up to an hour).
        update: record the measured numbers instead of comparing them; each has a JVM of its own.
        alone: start a JVM for each configuration instead of running many in one.
        jobs: how many one-worker runs at a time (None: the allowed CPUs, at most 2).
        specs: folder with tables (see `models`), or one that was made of them (None: our own).
        progress: called in the caller's thread after each configuration.
        rows: configurations with a row here are not checked again, and the others get one (None:
            the rows of the store).

    Raises:
        UsageError: nothing matches, or manifest and files do not fit together.
        MissingToolError: no Java or no TLC.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs is {jobs}; allowed: 1 or more")
    tables = specs or locations.sources() / "specs"
    specs = models.folder(tables)
    if update and specs == tables:
        raise UsageError(f"{specs} was made from tables; update those")
    entries = manifest.load(specs)
    chosen = manifest.select(entries, pattern, full=full)
    found = manifest.problems(specs, chosen, entries)
    if pattern is None:
        found += manifest.strays(specs, entries)
    if found:
        raise UsageError("; ".join(found))
    begin = time.monotonic()
    store.prune()
    shared = not alone and not update and jvm.can_share()
    with Children() as children, Machines(children, tlc.SHORT_JVM) as machines:
        runner = Runner(
            specs, children, update=update, machines=machines if shared else None,
            rows=rows or Rows(),
        )  # fmt: skip
        done = _run_all(runner, chosen, jobs or min(2, len(os.sched_getaffinity(0))), progress)
    results = tuple(done[entry.config] for entry in chosen)
    if update:
        models.save_measured(tables, {r.entry.config: _measured(r) for r in results if r.holds})
    return CheckReport(results, time.monotonic() - begin)


def _run_all(
    runner: Runner, chosen: list[Entry], jobs: int, progress: Progress | None
) -> dict[str, ConfigResult]:
    """Run one-worker configurations `jobs` at a time, longest first, then the others alone."""
    done: dict[str, ConfigResult] = {}
    order = sorted(chosen, key=lambda entry: -(entry.seconds or 0))
    small = [entry for entry in order if entry.workers == 1]
    large = [entry for entry in order if entry.workers > 1]
    for batch, width in ((small, jobs), (large, 1)):
        with ThreadPoolExecutor(width) as pool:
            try:  # around the submits, too: the first has a TLC before the last has begun
                futures: list[Future[ConfigResult]] = [pool.submit(runner.judge, e) for e in batch]
                for future in as_completed(futures):
                    result = future.result()
                    done[result.entry.config] = result
                    if progress:
                        progress(result, len(done), len(chosen))
            except BaseException:
                runner.children.kill_all()  # or leaving the pool would wait for them
                pool.shutdown(cancel_futures=True)
                raise
        if runner.machines is not None:
            runner.machines.end()  # the next batch needs the memory
    return done


class Runner:
    """Judges one configuration at a time; may be used from several threads."""

    def __init__(
        self,
        specs: Path,
        children: Children,
        *,
        update: bool,
        options: tuple[str, ...] = (),
        machines: Machines | None = None,
        rows: Rows | None = None,
    ) -> None:
        self.specs = specs
        self.machines = machines  # None: each in a JVM of its own
        self.options = options  # of TLC
        self.children = children
        self.update = update
        self.rows = rows  # no module may come from elsewhere than `specs`; None: nothing is kept

    def judge(self, entry: Entry) -> ConfigResult:
        """Compare TLC's result on `entry`, a new one or a kept one, with the manifest."""
        if self.rows is None:
            return self._run_and_compare(entry)
        inputs = inputs_of(self.specs, entry)
        row = None if self.update else self.rows.find("check", entry.name, inputs)
        if row is not None:
            result = self._compared(entry, *_read(row))
            if result.holds:
                return replace(result, since=row.date)
        result = self._run_and_compare(entry)
        parsed = {f"module {name}" for name in _PARSED.findall(result.tlc.output)}
        own = {f"module {file.stem}" for file in self.specs.rglob("*.tla")}
        known = bool(parsed) and parsed & own <= inputs.keys()
        is_whole = result.tlc.outcome is not Outcome.TIMEOUT
        self.rows.judged(
            "check", entry.name, inputs, result.tlc.outcome.value, *_plain(entry, result),
            holds=result.holds and known and is_whole,
        )  # fmt: skip
        return result

    def _run_and_compare(self, entry: Entry) -> ConfigResult:
        if self.machines is None or not _is_small(entry):
            return self._judge(entry, None)
        try:
            shared = self._judge(entry, self.machines)
            said = shared.wrong or _doubted(shared.tlc)
            if not said or shared.tlc.outcome is Outcome.TIMEOUT:
                return shared
        except JvmError as error:
            said = str(error)
        self.machines.end()  # the next one gets a machine that has not gone wrong
        alone = self._judge(entry, None)
        return alone if said == alone.wrong else replace(alone, runner=said)

    def _judge(self, entry: Entry, machines: Machines | None) -> ConfigResult:
        result = self._run(entry, entry.file(self.specs), machines)
        return self._compared(entry, result, self._violated(entry, result, machines))

    def _compared(self, entry: Entry, result: TlcResult, violated: tuple[str, ...]) -> ConfigResult:
        wrong = _wrong(entry, result, violated) or ("" if self.update else _changed(entry, result))
        return ConfigResult(entry, result, violated, wrong)

    def _run(self, entry: Entry, config: Path, machines: Machines | None) -> TlcResult:
        module = entry.home(self.specs) / f"{entry.module}.tla"
        timeout_s = entry.budget_s or (SHORT_S if entry.set == "short" else FULL_S)
        if machines is not None:
            fresh = _is_temporal(config)
            return tlc.run_shared(
                module, config, machines=machines, fresh=fresh, timeout_s=timeout_s,
                options=self.options,
            )  # fmt: skip
        return tlc.run(
            module,
            config,
            children=self.children,
            workers=entry.workers,
            timeout_s=timeout_s,
            jvm=tlc.LARGE_JVM if _is_large(entry) else tlc.SHORT_JVM,
            options=self.options,
        )

    def _violated(
        self, entry: Entry, result: TlcResult, machines: Machines | None
    ) -> tuple[str, ...]:
        """Return the violated names; if TLC gives none, check the properties one by one.

        TLC 2.15 names no temporal property, and for a part of a property it gives a place instead
        of a name.
        """
        lists = manifest.listed(entry.file(self.specs))
        if not result.outcome.is_violation or result.outcome is Outcome.DEADLOCK:
            return ()
        if result.violated in lists["INVARIANTS"] + lists["PROPERTIES"]:
            return (result.violated,)
        names = lists["PROPERTIES"]
        claim = entry.claim.partition("!")[2]
        others = [name for name in names if name != claim]
        if claim in names and (not others or self._of(entry, others, machines) is Outcome.OK):
            return (claim,)
        return tuple(name for name in names if self._of(entry, [name], machines).is_violation)

    def _of(self, entry: Entry, properties: list[str], machines: Machines | None) -> Outcome:
        text = manifest.with_properties(entry.file(self.specs), properties)
        with tempfile.NamedTemporaryFile("w", suffix=".cfg", prefix="wakeproof-") as config:
            config.write(text)
            config.flush()
            return self._run(entry, Path(config.name), machines).outcome


def inputs_of(specs: Path, entry: Entry) -> dict[str, str]:
    """Return the inputs of TLC's verdict on `entry`, each with its content."""
    return {
        **modules(entry.home(specs), entry.module),
        **tools(),
        "config": entry.file(specs).read_text(encoding="utf-8"),
        "claim": entry.claim.partition("!")[2],  # which property is asked for by itself
        "workers": "1" if entry.workers == 1 else "several",
        **store.code(
            "check/run.py",
            "tlc/run.py",
            "tlc/messages.py",
            "tlc/jvm.py",
            "tlc/jvm_child.py",
            "store.py",
        ),
    }


def tools() -> dict[str, str]:
    """Return TLC and Java as inputs of a verdict."""
    found = toolchain.find()
    return {"TLC": store.file_hash(found.jar), "Java": str(found.java_version)}


def modules(specs: Path, name: str) -> dict[str, str]:
    """Return the texts of module `name` and of the modules that it extends or instances."""
    return {f"module {one}": text for one, text in models.modules(specs, name).items()}


def _plain(
    entry: Entry, result: ConfigResult
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return TLC's result as plain data: the fixed counts, the other counts, and everything."""
    run = result.tlc
    counted = {"states": run.states, "depth": run.depth, "trace": len(run.trace)}
    exact = {"violated": result.violated, **_numbers(entry, run)}
    return exact, counted, asdict(run) | {"outcome": run.outcome.value}


def _read(row: Row) -> tuple[TlcResult, tuple[str, ...]]:
    """Return TLC's result, and the names of the violated claims.

    If only the counts are known, the trace has the right number of steps, all of them empty.
    """
    fields = row.more or {
        **dict.fromkeys(("violated", "message"), ""), **dict.fromkeys(("back_to", "seconds"), 0),
        **row.detail, "outcome": row.verdict, "stuttering": False,
        "trace": [{"action": "", "values": {}}] * row.detail["trace"],
    }  # fmt: skip
    trace = tuple(Step(**step) for step in fields["trace"])
    result = TlcResult(**{**fields, "outcome": Outcome(fields["outcome"]), "trace": trace})
    return result, tuple(row.counts["violated"])


def _is_temporal(config: Path) -> bool:
    """Return whether TLC may check a temporal formula; any property counts, also [][A]_v."""
    return bool(manifest.listed(config)["PROPERTIES"])


def _doubted(result: TlcResult) -> str:
    """Return the error that a run reports although its exit code is good; "": none."""
    return result.message if result.outcome is Outcome.OK else ""


def _is_small(entry: Entry) -> bool:
    return not _is_large(entry) and (entry.seconds or 0) <= LONG_S


def _is_large(entry: Entry) -> bool:
    return entry.set == "full" or entry.workers > 1 or (entry.states or 0) > 50_000


def _wrong(entry: Entry, result: TlcResult, violated: tuple[str, ...]) -> str:
    """Return what contradicts the expected verdict, or ""."""
    got = "; ".join(filter(None, (result.outcome.value, result.message)))
    named = ", ".join(violated) or got
    if entry.expect == "violates":
        if not result.outcome.is_violation:
            return f"the twin was not caught: {got}; it must violate {entry.claim}"
        if violated != (entry.claim.partition("!")[2],):
            return f"violates {named} instead of {entry.claim}"
        return ""
    if result.outcome is Outcome.OK:
        return ""
    if entry.expect == "bounded" and result.outcome is Outcome.TIMEOUT:
        return ""
    if result.outcome.is_violation:
        return f"violates {named}"
    return f"{got} at depth {result.depth}" if result.depth else got


def _changed(entry: Entry, result: TlcResult) -> str:
    """Return which recorded number is different now, or ""."""
    now = _numbers(entry, result)
    for field in now:
        recorded = getattr(entry, field)
        if recorded is None:
            return f"{field} is not recorded: run `wakeproof check --update`"
        if recorded != now[field]:
            return f"{field}: {now[field]:,}, the table says {recorded:,}"
    return ""


def _numbers(entry: Entry, result: TlcResult) -> dict[str, int]:
    """Return the numbers that must not change.

    With several workers the depth is a matter of luck.  So is the length of a liveness
    counterexample: TLC searches one each minute, in the states that it has explored by then.
    """
    if entry.expect == "violates":
        return {} if result.outcome is Outcome.PROPERTY else {"trace": len(result.trace)}
    if result.outcome is not Outcome.OK:
        return {}
    states = {"states": result.states}
    return {**states, "depth": result.depth} if entry.workers == 1 else states


def _measured(result: ConfigResult) -> dict[str, int | float]:
    numbers: dict[str, int | float] = dict(_numbers(result.entry, result.tlc))
    if result.entry.expect == "violates":
        numbers = {"trace": len(result.tlc.trace)}
    else:
        numbers = {"states": result.tlc.states, "depth": result.tlc.depth}
    return {**numbers, "seconds": round(result.tlc.seconds, 1)}
