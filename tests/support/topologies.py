# SPDX-License-Identifier: Apache-2.0
"""Fake machines under a root of their own, and a custom topology."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wakeproof import CarrierGroup


@dataclass(frozen=True)
class Machine:
    """Cores are numbered first, then their siblings, as Linux does on most servers."""

    sockets: int = 1
    clusters: int = 1  # of each socket
    cores: int = 1  # of each cluster
    threads: int = 1  # of each core

    @property
    def all_cores(self) -> int:
        return self.sockets * self.clusters * self.cores

    @property
    def cpus(self) -> range:
        return range(self.all_cores * self.threads)

    def cluster(self, cpu: int) -> int:
        return cpu % self.all_cores // self.cores

    def package(self, cpu: int) -> int:
        return self.cluster(cpu) // self.clusters


def listed(cpus: Iterable[int]) -> str:
    """Write CPUs as the system does: 0-3,8."""
    found: list[list[int]] = []
    for cpu in sorted(cpus):
        if found and found[-1][-1] == cpu - 1:
            found[-1][1:] = [cpu]
        else:
            found.append([cpu])
    return ",".join("-".join(map(str, ends)) for ends in found) + "\n"


def write(root: Path, name: str, text: object) -> None:
    path = root / "sys/devices/system/cpu" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n" if isinstance(text, int) else str(text))


def build(root: Path, machine: Machine) -> Path:
    write(root, "online", listed(machine.cpus))
    for cpu in machine.cpus:
        core = cpu % machine.all_cores
        siblings = [core + n * machine.all_cores for n in range(machine.threads)]
        sharing = [n for n in machine.cpus if machine.cluster(n) == machine.cluster(cpu)]
        write(root, f"cpu{cpu}/topology/thread_siblings_list", listed(siblings))
        write(root, f"cpu{cpu}/topology/physical_package_id", machine.package(cpu))
        levels = [(2, siblings), (3, sharing)]
        for index, (level, shared) in enumerate(levels):
            write(root, f"cpu{cpu}/cache/index{index}/level", level)
            write(root, f"cpu{cpu}/cache/index{index}/shared_cpu_list", listed(shared))
    return root


class Halves:
    """A custom topology: two clusters that alternate; at most one carrier is pinned."""

    def __init__(
        self,
        scope: Literal["global", "cluster"] = "cluster",
        bind: Callable[[int], int | None] = id,
    ) -> None:
        self.steal_scope = scope
        self._bind = bind

    def cluster(self, carrier: int) -> int:
        return 7 + carrier % 2

    def core(self, carrier: int) -> int | None:
        return None if carrier == 3 else 100 + carrier

    def bind(self, carrier: int) -> int | None:
        return self._bind(carrier)


def nowhere(carrier: int) -> int | None:  # noqa: ARG001
    return None


def indices(group: CarrierGroup) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(carrier.index for carrier in domain) for domain in group.domains)
