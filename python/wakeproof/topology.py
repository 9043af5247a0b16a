# SPDX-License-Identifier: Apache-2.0
"""Where carriers sit: CPUs, physical cores, and clusters that share a last-level cache.

Source: ``kernel/base/topology.h``.
"""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from errno import EBADMSG, ENODEV
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from wakeproof import cgroup
from wakeproof._native.ffi import ffi, lib
from wakeproof.errors import TopologyWarning, UsageError, WakeproofError, error_for

if TYPE_CHECKING:
    from wakeproof._native.ffi import CNumber, Null

Scope = Literal["global", "cluster"]
_REASONS = {
    ENODEV: "none of the allowed CPUs is listed",
    EBADMSG: "malformed: neither a number nor a list such as 0-3,8",
}


@runtime_checkable
class Topology(Protocol):
    """What a group asks about its carriers, each known by its index; implement it as you like.

    A group calls `cluster` and `core` for each carrier before it starts them.
    """

    @property
    def steal_scope(self) -> Scope:
        """Who helps whom: "global", each carrier every other one; "cluster", those of its own."""

    def cluster(self, carrier: int) -> int:
        """Return the number of its cluster, 0 or more."""

    def core(self, carrier: int) -> int | None:
        """Return the number of its physical core; None: it has no fixed one."""

    def bind(self, carrier: int) -> int | None:
        """Pin the calling thread, which is this carrier's; return its CPU, None: it floats.

        What it raises becomes the group's one warning, and the carrier floats.
        """


@dataclass(frozen=True)
class Place:
    """One CPU.

    Attributes:
        cpu: its number in the system.
        core: the lowest CPU number of its physical core.
        smt: how many allowed CPUs of that core come before it.
        package: its socket.
        cluster: who shares its last-level cache, from 0 on; also 0 for all without caches.
    """

    cpu: int
    core: int
    smt: int
    package: int
    cluster: int


def read_places(root: Path = Path("/"), allowed: Iterable[int] | None = None) -> list[Place]:
    """Return the online CPUs among `allowed`, in the order in which carriers are placed.

    First the first CPUs of all physical cores, then their siblings; within that by cluster, and
    clusters by package.

    Args:
        root: the folder that holds ``sys/devices/system/cpu``.
        allowed: CPU numbers; None: those that the calling thread may use.

    Raises:
        SystemCallError: a file cannot be read or is malformed, or no CPU is left; names the file.
        UsageError: an impossible CPU number.
    """
    cpus = sorted(set(os.sched_getaffinity(0) if allowed is None else allowed))
    if not all(0 <= cpu < lib.WP_TOPOLOGY_CPUS for cpu in cpus):
        raise UsageError(f"allowed is {cpus}; allowed: CPUs 0 to {lib.WP_TOPOLOGY_CPUS - 1:,}")
    places = ffi.new("wp_place[]", max(1, len(cpus)))
    path = ffi.new("char[]", lib.WP_TOPOLOGY_PATH)
    numbers, top = ffi.new("uint32_t[]", cpus), os.fsencode(root).rstrip(b"/")
    count = lib.wp_topology_read(top, numbers, len(cpus), places, path)
    if count < 0:
        error = ffi.errno
        why = _REASONS.get(error) or os.strerror(error)
        raise error_for(count, f"topology: {os.fsdecode(ffi.string(path))}: {why}")
    found = (places[index] for index in range(count))
    return [Place(p.cpu, p.core, p.smt, p.package, p.cluster) for p in found]


def default_carriers(root: Path = Path("/"), allowed: Iterable[int] | None = None) -> int:
    """Return the smaller of the allowed CPUs and the cgroup quota, rounded up: at least 1.

    `root` holds ``proc`` and ``sys``; `allowed` as in `read_places`.
    """
    cpus = len(os.sched_getaffinity(0) if allowed is None else set(allowed))
    quota = cgroup.quota(root)
    most = min(cpus, lib.WP_GROUP_CARRIERS)
    return max(1, most if quota is None else min(most, math.ceil(quota)))


class LinuxTopology:
    """One carrier per allowed CPU, physical cores before their SMT siblings, neighbours near.

    More carriers than CPUs: all float, in cluster 0, and the group warns.  Threads and processes
    that a task starts inherit its carrier's CPU.

    Args:
        carriers: how many the group has.
        steal_scope: as in `Topology`.
        root, allowed: as in `read_places`, which also says what is raised.
    """

    def __init__(
        self,
        carriers: int,
        *,
        steal_scope: Scope = "global",
        root: Path = Path("/"),
        allowed: Iterable[int] | None = None,
    ) -> None:
        self.carriers = carriers
        self.steal_scope: Scope = steal_scope
        self.places = read_places(root, allowed)

    @property
    def floats(self) -> bool:
        """Whether there are more carriers than CPUs."""
        return self.carriers > len(self.places)

    def cluster(self, carrier: int) -> int:
        """Return the number of its last-level-cache cluster."""
        return 0 if self.floats else self._place(carrier).cluster

    def core(self, carrier: int) -> int | None:
        """Return the lowest CPU number of its physical core."""
        return None if self.floats else self._place(carrier).core

    def bind(self, carrier: int) -> int:
        """Pin the calling thread to its CPU."""
        if self.floats:
            raise WakeproofError(f"{self.carriers} carriers, {len(self.places)} CPUs")
        cpu = self._place(carrier).cpu
        code = lib.wp_topology_pin(cpu)
        if code != lib.WP_OK:
            raise error_for(code, f"pin to CPU {cpu}: {os.strerror(ffi.errno)}")
        return cpu

    def _place(self, carrier: int) -> Place:
        if not 0 <= carrier < self.carriers:
            raise UsageError(f"carrier is {carrier}; this topology was made for {self.carriers}")
        return self.places[carrier]


class Seats:
    """Where the carriers of one group sit: planned before they start, final once they are bound."""

    def __init__(
        self,
        topology: Topology | None,
        carriers: int,
        *,
        stealing: bool,
        scope: Scope,
        spares: int = 0,
    ) -> None:
        everyone = range(carriers)
        self._topology, self._scope = topology, scope
        self._bound = threading.Semaphore(0)
        self._refused: dict[int, str] = {}
        self.clusters = [0 if topology is None else topology.cluster(n) for n in everyone]
        self.cores = [None if topology is None else topology.core(n) for n in everyone]
        self.cpus: list[int | None] = [None] * (carriers + spares)
        groups: dict[int, list[int]] = {}
        for number in everyone:
            shares = self.clusters[number] if scope == "cluster" else 0
            groups.setdefault(shares if stealing else number, []).append(number)
        self.domains = tuple(map(tuple, groups.values()))
        self._size = carriers  # the spare carriers float
        self.clusters += [0] * spares
        self.cores += [None] * spares
        self.callback = ffi.NULL
        if topology is not None:
            self.callback = ffi.callback("void(void *, uint32_t)", self._bind)

    def numbers(self) -> tuple[CNumber | Null, CNumber | Null]:
        """Return the kernel's domain_of and cluster_of; one of them at least is NULL."""
        clusters = self.clusters[: self._size]
        number_of = {cluster: n for n, cluster in enumerate(sorted(set(clusters)))}
        numbers = ffi.new("uint32_t[]", [number_of[cluster] for cluster in clusters])
        return (numbers, ffi.NULL) if self._scope == "cluster" else (ffi.NULL, numbers)

    def name(self, carrier: int) -> str:
        """Return its full name: ``carrier-0-cluster0-core2``, as far as there is such a thing."""
        floats = self._topology is None or carrier >= self._size
        cluster = "" if floats else f"-cluster{self.clusters[carrier]}"
        core = self.cores[carrier]
        return f"carrier-{carrier}{cluster}" + ("" if core is None else f"-core{core}")

    def wait(self) -> None:
        """Wait until all carriers are bound; warn once if some float that should not."""
        if self._topology is None:
            return
        for _ in range(self._size):
            self._bound.acquire()
        if self._refused:
            first = min(self._refused)
            warnings.warn(
                f"{len(self._refused)} of {self._size} carriers float: {self._refused[first]}",
                TopologyWarning,
                stacklevel=3,
            )

    def _bind(self, _: object, carrier: int) -> None:
        """Bind the calling thread and name it; the kernel calls this on each carrier, first."""
        assert self._topology is not None
        try:
            self.cpus[carrier] = self._topology.bind(carrier)
        except BaseException as error:
            self._refused[carrier] = str(error) or repr(error)
            self.cores[carrier] = None
        short = self.name(carrier).replace("arrier-", "").replace("luster", "l").replace("ore", "o")
        lib.wp__thread_name((short if len(short) < 16 else f"carrier-{carrier}").encode())
        self._bound.release()
