# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: makes defects in the kernel by rule, and runs cheap judges on each defect.

A judge *kills* a defect if the judge holds on the kernel as it is, and fails with the defect.
A defect that survives is explained in tools/mutants/explained.json, or a judge is missing.

Exit code 0: each defect was killed or is explained; 1: one survived, or was explained and is
killed; 2: wrong usage, such as a reason for a defect that no rule makes any more.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from tools.mutants import keeping, scoring
from tools.mutants.judging import (
    Baseline,
    Baselines,
    Bench,
    Judge,
    native_judges,
    python_judges,
    scenario_judges,
)
from tools.mutants.rules import RULES, Mutant, mutants
from tools.mutants.scoring import COUNTED, EXPLAINED, KILLED, SURVIVED, YET_KILLED, Score

from wakeproof import locations
from wakeproof.errors import (
    EXIT_ENVIRONMENT,
    EXIT_HOLDS,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    EXIT_VIOLATED,
    MissingToolError,
    UsageError,
)
from wakeproof.judge.process import Children

JUDGED_APART = ("instrument.h", "order.h", "api.h")
"""Files of judges, and the vocabulary itself."""


class Kernel:
    """The files of a kernel and their defects."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        files = locations.kernel_files(root=folder.parent)
        every = {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in files}
        self.texts = {f: text for f, text in every.items() if Path(f).name not in JUDGED_APART}
        known = frozenset(re.findall(r"[A-Za-z_]\w*", " ".join(every.values())))
        self.mutants = [m for name, text in self.texts.items() for m in mutants(name, text, known)]

    def reasons(self, explained: Path) -> dict[Mutant, str]:
        """Return the reasons of explained defects, from `explained` or by ``kept:`` in the source.

        Raises:
            UsageError: a reason is stale.
        """
        found: dict[Mutant, str] = {}
        for name, text in self.texts.items():
            found |= scoring.kept_orders(name, text, self.mutants)
        return found | keeping.explanations(explained, self.mutants)


class Run:
    """One run of the tool over a kernel, with folders for kept results."""

    def __init__(self, root: Path, folder: Path, explained: Path, jobs: int) -> None:
        self._root, self._folder, self._jobs = root, folder, jobs
        self.kernel = Kernel(root / "kernel")
        self._reasons = self.kernel.reasons(explained)
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._idle: list[scoring.Judging] = []
        self.found: list[Score] = []

    def judges(self, children: Children, programs: Path,
               scenarios: list[Path] | None = None) -> list[tuple[Judge, Baseline]]:  # fmt: skip
        """Return every cheap judge with its verdict on the kernel as it is."""
        bench = Bench(children, self._folder, self._root)
        judges = scenario_judges(bench.explorer, children, scenarios)
        judges += native_judges(programs, bench.native)
        judges += python_judges(self._root)
        baselines = Baselines(children, self._folder, self._root)
        found = []
        for at, judge in enumerate(judges):
            _progress(f"judges as they are: {at + 1} of {len(judges)}: {judge.name}")
            baseline = baselines.find(judge)
            found += [(one, baseline) for one in (judge, *judge.others())]
        return found

    def scores(self, chosen: list[Mutant], judges: list[tuple[Judge, Baseline]],
               children: Children, most: int) -> list[Score]:  # fmt: skip
        """Judge these defects until `most` of them count (0: judge all)."""
        found = self.found
        waiting = iter(chosen)
        under_way: set[Future[Score]] = set()
        counted = 0
        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                while True:
                    while len(under_way) < self._jobs and not (most and counted >= most):
                        mutant = next(waiting, None)
                        if mutant is None:
                            break
                        under_way.add(pool.submit(self._score, mutant, judges, children))
                    if not under_way:
                        return found
                    done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    for future in done:
                        score = future.result()
                        found.append(score)
                        counted += score.status in COUNTED
                        _progress(f"{counted} of {most or len(chosen)}: {line_of(score)}", end=True)
            except BaseException:
                self._ended.set()
                children.kill_all()
                raise

    def _score(
        self, mutant: Mutant, judges: list[tuple[Judge, Baseline]], children: Children
    ) -> Score:
        with self._lock:
            judging = self._idle.pop() if self._idle else None
        judging = judging or scoring.Judging(
            Bench(children, self._folder, self._root), self._folder, judges, self._ended
        )
        try:
            return judging.score(mutant, self.kernel.texts[mutant.file], self.kernel.folder,
                                 self._reasons.get(mutant, ""))  # fmt: skip
        finally:
            with self._lock:
                self._idle.append(judging)


def line_of(score: Score) -> str:
    """Return a score as a line of text."""
    mutant = score.mutant
    by = f" by {score.judge}: {score.said}" if score.judge else f" {score.said or score.why}"
    took = f"({score.seconds:.1f} s)"
    return f"{mutant.name} {mutant.file}:{mutant.line} {score.status}{by} {took}"


def shown(mutant: Mutant) -> str:
    """Return a defect as a diff of two lines."""
    return (f"{mutant.name}  kernel/{mutant.file}:{mutant.line} {mutant.function}, {mutant.rule}"
            f" {mutant.nth}\n- {mutant.code}\n+ {mutant.becomes}")  # fmt: skip


def summary(scores: list[Score], seed: int, seconds: float) -> dict[str, object]:
    """Return the score as plain data."""
    counts = Counter(score.status for score in scores)
    return {
        "judge": "mutants", "seed": seed, "seconds": round(seconds, 1),
        "counted": sum(counts[status] for status in COUNTED),
        **dict(sorted(counts.items())), "defects": [score.row() for score in scores],
    }  # fmt: skip


def show(scores: list[Score]) -> None:
    """Print survivors, then a row for each rule, then the score."""
    for score in scores:
        if score.status in (SURVIVED, YET_KILLED):
            print(f"{score.status}: {shown(score.mutant)}")
            print(f"  {score.said or f'{score.asked} judges hold'} {score.judge}\n")
    by_rule = {rule: Counter(s.status for s in scores if s.mutant.rule == rule) for rule in RULES}
    print(f"{'rule':12}" + "".join(f"{status:>11}" for status in COUNTED))
    for rule, counts in by_rule.items():
        if counts:
            print(f"{rule:12}" + "".join(f"{counts[status]:>11}" for status in COUNTED))
    counts = Counter(score.status for score in scores)
    total = sum(counts[status] for status in COUNTED)
    out = len(scores) - total - counts[YET_KILLED]
    print(f"\n{total} defects: {counts[KILLED]} killed, {counts[EXPLAINED]} explained, "
          f"{counts[SURVIVED]} survived; {out} more are none: equal machine code, or they do not "
          "compile")  # fmt: skip
    if total:
        good = counts[KILLED] + counts[EXPLAINED]
        print(f"score: {100 * counts[KILLED] / total:.1f} % killed, "
              f"{100 * good / total:.1f} % killed or explained")  # fmt: skip


def _progress(text: str, end: bool = False) -> None:
    if sys.stderr.isatty() or end:
        print(text, end="\n" if end else "\x1b[K\r", file=sys.stderr, flush=True)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("mutants", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--sample", type=int, default=0, metavar="N",
                        help="so many that count, in an order by seed (0: all)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--file", default="", metavar="REGEX", help="only files of such a name")
    parser.add_argument("--rule", choices=RULES, help="only this rule")
    parser.add_argument("--name", default="", metavar="REGEX", help="only defects of such a name")
    parser.add_argument("--jobs", type=int, default=1, help="defects at once")
    parser.add_argument("--list", action="store_true", help="print the defects, judge none")
    parser.add_argument("--show", metavar="NAME", help="print one defect")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the tool; return its exit code."""
    options = _options(arguments)
    root, folder = locations.sources(), locations.cache() / "mutants"
    started = time.monotonic()
    run: Run | None = None
    try:
        run = Run(root, folder, Path(__file__).with_name("explained.json"), max(1, options.jobs))
        found = [
            m for m in run.kernel.mutants
            if re.search(options.file, m.file) and re.search(options.name, m.name)
            and options.rule in (None, m.rule) and options.show in (None, m.name)
        ]  # fmt: skip
        if options.list or options.show:
            print("\n".join(shown(mutant) for mutant in found))
            return EXIT_HOLDS if found else EXIT_USAGE
        with Children() as children:
            judges = run.judges(children, root / "tests" / "programs")
            for judge, baseline in judges:
                if not baseline.holds:
                    _progress(f"no judge: {judge.name}: {baseline.said[:200]}", end=True)
            order = scoring.shuffled(found, options.seed)
            scores = run.scores(order, judges, children, options.sample)
    except UsageError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return EXIT_USAGE
    except MissingToolError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return EXIT_ENVIRONMENT
    except KeyboardInterrupt:
        show(run.found if run else [])
        print("mutants: interrupted; what was judged is kept", file=sys.stderr)
        return EXIT_INTERRUPTED
    scores.sort(key=lambda s: (s.mutant.file, s.mutant.start, s.mutant.rule))
    said = json.dumps(summary(scores, options.seed, time.monotonic() - started), indent=1)
    locations.write_atomically(folder / "score.json", said)
    print(said) if options.json else show(scores)
    bad = any(score.status in (SURVIVED, YET_KILLED) for score in scores)
    return EXIT_VIOLATED if bad else EXIT_HOLDS


if __name__ == "__main__":
    sys.exit(main())
