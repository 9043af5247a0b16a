# SPDX-License-Identifier: Apache-2.0
"""Where carriers run: CPUs, physical cores, and clusters that share a last-level cache.

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
from wakeproof._runtime.here import drop_at_end
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
    """The interface by which a `CarrierGroup` places its carriers; implement it for your own.

    A carrier is one OS thread of the group.  The methods get the index of the carrier in the group,
    from 0.  The group calls `cluster` and `core` for each carrier before the carriers start.

    Threads: `bind` runs on each carrier's own thread; the thread that makes the group calls the
    others.

    Example:
        >>> from wakeproof import CarrierGroup
        >>> class Pairs:
        ...     steal_scope = "cluster"
        ...     def cluster(self, carrier):
        ...         return carrier // 2
        ...     def core(self, carrier):
        ...         return None
        ...     def bind(self, carrier):
        ...         return None
        >>> with CarrierGroup(4, topology=Pairs(), work_stealing=True) as group:
        ...     [len(domain) for domain in group.domains]
        [2, 2]
    """

    @property
    def steal_scope(self) -> Scope:
        """Which carriers steal from one another: "global": all; "cluster": those of one cluster."""

    def cluster(self, carrier: int) -> int:
        """Return the number of the carrier's cluster, 0 or more."""

    def core(self, carrier: int) -> int | None:
        """Return the number of the carrier's physical core; None if it has no fixed one."""

    def bind(self, carrier: int) -> int | None:
        """Pin the calling thread, which is the carrier's; return its CPU, or None if it has none.

        If it raises an exception, the carrier is not pinned, and the group warns once.
        """


@dataclass(frozen=True)
class Place:
    """One CPU.

    Attributes:
        cpu: its number in the system.
        core: the lowest CPU number of its physical core.
        smt: how many of the allowed CPUs of the same core come before this CPU.
        package: the number of its socket.
        cluster: the number, from 0, of the cluster of CPUs that share its last-level cache; 0 for
            all CPUs if the system does not describe its caches.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> read_places()[0].smt
        0
    """

    cpu: int
    core: int
    smt: int
    package: int
    cluster: int


def read_places(root: Path = Path("/"), allowed: Iterable[int] | None = None) -> list[Place]:
    """Return the online CPUs among `allowed`, in the order in which carriers get them.

    The first CPU of each physical core comes first, and then the SMT siblings of these CPUs.  Both
    parts are sorted by package, and within a package by cluster.

    Args:
        root: the folder that holds ``sys/devices/system/cpu``.
        allowed: CPU numbers; default None: those that the calling thread may use.

    Raises:
        SystemCallError: a file cannot be read or is malformed, or no CPU is left; the message names
            the file.
        UsageError: a CPU number is impossible.
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
    """Return the number of allowed CPUs or the cgroup quota, rounded up, whichever is smaller.

    The result is at least 1.

    Args:
        root: the folder that holds ``proc`` and ``sys``.
        allowed: as in `read_places`.

    Example:
        >>> default_carriers() >= 1
        True
    """
    cpus = len(os.sched_getaffinity(0) if allowed is None else set(allowed))
    quota = cgroup.quota(root)
    most = min(cpus, lib.WP_GROUP_CARRIERS)
    return max(1, most if quota is None else min(most, math.ceil(quota)))


class LinuxTopology:
    """Pins each carrier of a `CarrierGroup` to an allowed CPU of its own.

    A carrier is one OS thread of the group.  The first carriers get the physical cores, and the
    others get the SMT siblings of these; carriers with neighbouring numbers share caches.  If there
    are more carriers than CPUs, no carrier is pinned, all are in cluster 0, and the group warns.
    Threads and processes that a task starts inherit the CPU of the task's carrier.

    Args:
        carriers: the number of carriers of the group.
        steal_scope: as in `Topology`; default "global".
        root: as in `read_places`.
        allowed: as in `read_places`.

    Errors are those of `read_places`.

    Threads: as `Topology`.

    Example:
        >>> from wakeproof import CarrierGroup, LinuxTopology
        >>> topology = LinuxTopology(1)
        >>> with CarrierGroup(1, topology=topology) as group:
        ...     group[0].core == topology.core(0)
        True
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
        """Whether no carrier is pinned, because there are more carriers than CPUs."""
        return self.carriers > len(self.places)

    def cluster(self, carrier: int) -> int:
        """Return the number of the carrier's last-level-cache cluster."""
        return 0 if self.floats else self._place(carrier).cluster

    def core(self, carrier: int) -> int | None:
        """Return the lowest CPU number of the carrier's physical core."""
        return None if self.floats else self._place(carrier).core

    def bind(self, carrier: int) -> int:
        """Pin the calling thread to the carrier's CPU."""
        if self.floats:
            raise WakeproofError(f"{self.carriers} carriers, {len(self.places)} CPUs")
        cpu = self._place(carrier).cpu
        code = lib.wp_topology_pin(cpu)
        if code != lib.WP_OK:
            raise error_for(code, f"pin to CPU {cpu}: {os.strerror(ffi.errno)}")
        return cpu

    def _place(self, carrier: int) -> Place:
        if not 0 <= carrier < self.carriers:
            raise UsageError(f"carrier is {carrier}; allowed: 0 to {self.carriers - 1}")
        return self.places[carrier]


class Seats:
    """The places of the carriers of one group: planned first, and final when they are pinned."""

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
        self._size = carriers  # spare carriers are not pinned
        self.clusters += [0] * spares
        self.cores += [None] * spares
        self.callback = ffi.NULL
        if topology is not None:
            self.callback = ffi.callback("void(void *, uint32_t)", self._bind)

    def numbers(self) -> tuple[CNumber | Null, CNumber | Null]:
        """Return the kernel's domain_of and cluster_of; at least one of them is NULL."""
        clusters = self.clusters[: self._size]
        number_of = {cluster: n for n, cluster in enumerate(sorted(set(clusters)))}
        numbers = ffi.new("uint32_t[]", [number_of[cluster] for cluster in clusters])
        return (numbers, ffi.NULL) if self._scope == "cluster" else (ffi.NULL, numbers)

    def name(self, carrier: int) -> str:
        """Return the carrier's full name, ``carrier-0-cluster0-core2`` if all parts are known."""
        floats = self._topology is None or carrier >= self._size
        cluster = "" if floats else f"-cluster{self.clusters[carrier]}"
        core = self.cores[carrier]
        return f"carrier-{carrier}{cluster}" + ("" if core is None else f"-core{core}")

    def wait(self) -> None:
        """Wait until each carrier has called `bind`; warn once if some carriers are not pinned."""
        if self._topology is None:
            return
        for _ in range(self._size):
            self._bound.acquire()
        if self._refused:
            why = self._refused[min(self._refused)]
            warnings.warn(
                f"{len(self._refused)} of {self._size} carriers are not pinned: {why}",
                TopologyWarning,
                stacklevel=3,
            )

    def _bind(self, _: object, carrier: int) -> None:
        """Pin the calling thread and name it; each carrier calls this before it runs anything."""
        drop_at_end()
        assert self._topology is not None
        try:
            self.cpus[carrier] = self._topology.bind(carrier)
        except BaseException as error:
            self._refused[carrier] = str(error) or repr(error)
            self.cores[carrier] = None
        short = self.name(carrier).replace("arrier-", "").replace("luster", "l").replace("ore", "o")
        lib.wp__thread_name((short if len(short) < 16 else f"carrier-{carrier}").encode())
        self._bound.release()
