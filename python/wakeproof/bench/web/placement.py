# SPDX-License-Identifier: Apache-2.0
"""The CPUs of server, backend and load, and whether a latency can be measured on them."""

from __future__ import annotations

from dataclasses import dataclass

FLOATING, PINNED, SPARE = "none", "each", "spare"
"""Carriers on any of the server's CPUs, each on one, and with one CPU more than carriers."""

OTHERS = 2  # load and backend: on one CPU, the work of each would be in the latency of the other


@dataclass(frozen=True)
class Placement:
    """The CPUs of the server, the CPUs of load and backend, and the number of carriers.

    `reason`: why a measured latency would mean nothing here; empty: it means something.
    """

    server: tuple[int, ...]
    backend: tuple[int, ...]
    load: tuple[int, ...]
    carriers: int
    reason: str

    @property
    def is_shared(self) -> bool:
        """Return whether load and backend take time from the server."""
        return bool({*self.server} & {*self.backend, *self.load})


def place(cpus: tuple[int, ...], carriers: int, pin: str) -> Placement:
    """Give the server a CPU per carrier (SPARE: one more), the rest to load and backend.

    With too few CPUs, server, load and backend share all of them.  With fewer CPUs than carriers
    there are fewer carriers.  The counts mean something in both cases.
    """
    extra = 1 if pin == SPARE else 0
    wanted = carriers + extra
    rest = cpus[wanted:]
    if len(rest) >= OTHERS:
        return Placement(cpus[:wanted], rest[:1], rest[1:], carriers, "")
    reason = f"not measurable here: {len(cpus)} CPUs"
    if rest:
        return Placement(cpus[:wanted], rest, rest, carriers, reason)
    server = cpus[:wanted]
    return Placement(server, cpus, cpus, max(1, len(server) - extra), reason)
