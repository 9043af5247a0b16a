# SPDX-License-Identifier: Apache-2.0
"""What a check of Search with more carriers and submitters would cost on so many machines.

    build/venv/bin/python -m tools.cluster_cost

It checks small configurations by TLC, and one of them by TLC's server and workers, takes their CPU
time, which the neighbours disturb least, and prints two tables in Markdown: what was measured, and
what follows for MACHINES machines of CPUS processors each.

The law of growth: another submitter multiplies the states by a factor that depends on the number of
carriers; with the factor from one submitter to two, the third one is a guess from below.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from wakeproof import locations
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import distributed, manifest, models
from wakeproof.judge.tlc import run as tlc
from wakeproof.judge.tlc.run import TlcResult

SMALL = ((2, 1), (3, 1), (2, 2))
"""Carriers and submitters of the configurations that are checked."""
SHARED, WORKERS = (2, 2), 2
"""The configuration that is checked by a server and so many workers."""
LARGE = "MCSearchFull"
"""Three carriers and two submitters: the specification's table has what it took."""
MACHINES, CPUS = (1, 10, 100), 2
FINGERPRINT, TRACE = 8, 12
"""Bytes of a state that TLC keeps in memory or in files, and in the file of the trace."""
LOOK_S, LONGEST_S, DAY_S = 0.2, 3600.0, 86400.0
ROLES = ("TLCServer", "TLCWorker")


@dataclass
class Cost:
    """What a check has found, and the processor time that it took, in seconds."""

    states: int
    cpu_s: float

    @property
    def each_us(self) -> float:
        """Return the processor time of a state, in microseconds."""
        return self.cpu_s / self.states * 1e6


class Looker(threading.Thread):
    """Looks how much processor time the server and the workers have had."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self._of: dict[tuple[str, int], float] = {}

    def run(self) -> None:
        """Look until it is told that it is over."""
        while not self.over.wait(LOOK_S):
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    words = (folder / "cmdline").read_text().split("\0")
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                for role in ROLES:
                    if any(word.endswith(f".{role}") for word in words):
                        ticks = int(fields[11]) + int(fields[12])
                        self._of[role, int(folder.name)] = ticks / os.sysconf("SC_CLK_TCK")

    def seconds(self, role: str) -> float:
        """Return the sum of all processes that play this role."""
        return sum(seconds for (name, _), seconds in self._of.items() if name == role)


def _configuration(folder: Path, carriers: int, submitters: int) -> Path:
    text = (folder / "MCSearch.cfg").read_text()
    for name, letter, count in (("Carriers", "c", carriers), ("Submitters", "s", submitters)):
        made = ", ".join(f"{letter}{n + 1}" for n in range(count))
        text, found = re.subn(rf"(?m)^( *{name} *=).*$", rf"\1 {{{made}}}", text)
        if found != 1:
            sys.exit(f"MCSearch.cfg gives {name} {found} times")
    file = folder / f"cost_{carriers}_{submitters}.cfg"
    file.write_text(text)
    return file


def _states(result: TlcResult, which: str) -> int:
    if result.outcome is not tlc.Outcome.OK:
        sys.exit(f"{which}: {result.outcome}: {result.message}")
    return result.states


def _alone(children: Children, module: Path, config: Path) -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = tlc.run(module, config, children=children, timeout_s=LONGEST_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(_states(result, config.stem), used)


def _shared(children: Children, module: Path, config: Path) -> tuple[Cost, Cost]:
    """Return what the server took, and what the workers took together."""
    looker = Looker()
    looker.start()
    key = f"cost-{os.getpid()}-{time.time_ns()}"
    result = distributed.run(module, config, key, distributed.Cluster(WORKERS), children=children,
                             timeout_s=LONGEST_S)  # fmt: skip
    looker.over.set()
    looker.join()
    states = _states(result, config.stem)
    server, workers = (Cost(states, looker.seconds(role)) for role in ROLES)
    return server, workers


def _duration(seconds: float) -> str:
    if seconds >= DAY_S:
        return f"{seconds / DAY_S:.1f} days"
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.0f} minutes"


def main() -> None:
    """Measure, and print."""
    specs = locations.sources() / "specs"
    with Children() as children, tempfile.TemporaryDirectory(prefix="wakeproof-") as made:
        folder = models.export(specs, Path(made) / "specs")
        module = next(folder.rglob("MCSearch.tla"))
        large = manifest.load(folder)[f"{LARGE}.cfg"].states
        assert large is not None
        configs = {of: _configuration(module.parent, *of) for of in (*SMALL, SHARED)}
        costs = {of: _alone(children, module, configs[of]) for of in SMALL}
        server, workers = _shared(children, module, configs[SHARED])
    print("| carriers | submitters | states | states a second of CPU time |")
    print("|---|---|---|---|")
    for (carriers, submitters), cost in sorted(costs.items()):
        print(f"| {carriers} | {submitters} | {cost.states:,} | {1e6 / cost.each_us:,.0f} |")
    print(f"| 3 | 2 | {large:,} ({LARGE}) | |")
    factor = large / costs[3, 1].states
    guess = large * factor
    print(f"\nTwo carriers: another submitter makes {costs[2, 2].states / costs[2, 1].states:.0f} "
          f"times the states; three: {factor:.0f} times. Three and three: {guess:.1e} states or "
          f"more; {guess * FINGERPRINT / 1e9:.0f} GB of fingerprints, {guess * TRACE / 1e9:.0f} GB "
          "for the trace.")  # fmt: skip
    print(f"\nA state takes {server.each_us:.0f} us of the server and {workers.each_us:.0f} us of "
          f"a worker ({server.states:,} states, {WORKERS} workers).\n")  # fmt: skip
    print("| machines of two CPUs | by the workers alone | with TLC's one server |")
    print("|---|---|---|")
    for machines in MACHINES:
        free = guess * workers.each_us / 1e6 / (machines * CPUS)
        whole = guess * (server.each_us + workers.each_us) / 1e6 / (machines * CPUS)
        bound = max(whole, guess * server.each_us / 1e6)  # the server is one process
        print(f"| {machines} | {_duration(free)} | {_duration(bound)} |")


if __name__ == "__main__":
    main()
