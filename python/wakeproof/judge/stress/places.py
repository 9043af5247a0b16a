# SPDX-License-Identifier: Apache-2.0
"""The CPUs of a scenario's actors: not pinned, far apart, close together, or every pair."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from wakeproof.errors import UsageError

AFFINITIES = ("none", "global", "local", "pairs")
MOST_PAIRS = 28
_CPU_FOLDER = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Place:
    """A name, and the CPUs to which actors are pinned in turn; none: the scheduler decides."""

    name: str
    cpus: tuple[int, ...] = ()


def allowed() -> tuple[int, ...]:
    """Return the CPUs that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))


def choose(affinities: tuple[str, ...], cpus: tuple[int, ...]) -> list[Place]:
    """Return the places for `affinities` on `cpus`, without two that have the same CPUs.

    Raises:
        UsageError: an unknown affinity.
    """
    chosen: list[Place] = []
    for name in affinities:
        if name not in AFFINITIES:
            raise UsageError(f"affinity is {name!r}; allowed: {', '.join(AFFINITIES)}")
        if name == "pairs":
            pairs = list(combinations(cpus, 2))[:MOST_PAIRS]
            places = [Place(f"{a}+{b}", (a, b)) for a, b in pairs]
        elif name == "global":
            places = [Place(name, _spread(cpus))]
        elif name == "local":
            places = [Place(name, _close(cpus))]
        else:
            places = [Place(name)]
        taken = {frozenset(place.cpus) for place in chosen}
        chosen += [place for place in places if frozenset(place.cpus) not in taken]
    return chosen


def _spread(cpus: tuple[int, ...]) -> tuple[int, ...]:
    """Order the CPUs so that neighbours in the list have different clusters and cores."""
    clusters: dict[frozenset[int], list[int]] = {}
    seen_cores: set[frozenset[int]] = set()
    first: list[int] = []
    second: list[int] = []
    for cpu in cpus:
        core = _cpus_of(cpu, "topology/thread_siblings_list")
        (second if core in seen_cores else first).append(cpu)
        seen_cores.add(core)
    for cpu in first + second:
        clusters.setdefault(_cluster(cpu), []).append(cpu)
    spread: list[int] = []
    while any(clusters.values()):
        spread += [members.pop(0) for members in clusters.values() if members]
    return tuple(spread)


def _close(cpus: tuple[int, ...]) -> tuple[int, ...]:
    """Return two CPUs of one core, else of one last-level cache, else any two."""
    for same in (lambda cpu: _cpus_of(cpu, "topology/thread_siblings_list"), _cluster):
        for cpu in cpus:
            near = tuple(sorted(same(cpu) & set(cpus)))
            if len(near) >= 2:
                return near[:2]
    return cpus[:2]


def _cluster(cpu: int) -> frozenset[int]:
    caches = sorted((_CPU_FOLDER / f"cpu{cpu}" / "cache").glob("index*"))
    return _cpus_of(cpu, f"cache/{caches[-1].name}/shared_cpu_list") if caches else frozenset()


def _cpus_of(cpu: int, file: str) -> frozenset[int]:
    """Read a list like ``0-3,8`` from sysfs; without such a file, return only the CPU itself."""
    try:
        text = (_CPU_FOLDER / f"cpu{cpu}" / file).read_text().strip()
    except OSError:
        return frozenset({cpu})
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        low, _, high = part.partition("-")
        found.update(range(int(low), int(high or low) + 1))
    return frozenset(found)
