# SPDX-License-Identifier: Apache-2.0
"""What a group is made with: arguments, else WAKEPROOF_* environment variables, else defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from wakeproof._native.ffi import ffi, lib
from wakeproof.errors import UsageError
from wakeproof.topology import LinuxTopology, Scope, Topology, default_carriers

T = TypeVar("T")
YIELD_US = 50
MAX_YIELD_US = 1_000_000
MAX_IDLE_SPINS = 1_000_000
MAX_MONITOR_MS = 3_600_000
_SWITCH = {"0": False, "1": True, "false": False, "true": True}
_SCOPES: dict[str, Scope] = {"global": "global", "cluster": "cluster"}
_TOPOLOGIES = {"none": False, "linux": True}
Placement = Literal["home", "two_choices", "least_loaded", "cluster_two_choices"]
_PLACEMENTS = {
    ffi.string(lib.wp_placement_policy_name(policy)).decode(): policy
    for policy in range(lib.WP_PLACE_POLICIES)
}
Queue = Literal["unbounded", "bounded"]
_QUEUES = {"unbounded": False, "bounded": True}


@dataclass(frozen=True)
class Settings:
    """The arguments of `CarrierGroup`, checked and filled in."""

    carriers: int
    work_stealing: bool
    yield_us: int
    steal_scope: Scope
    topology: Topology | None
    idle_spins: int
    placement: int = lib.WP_PLACE_HOME
    monitor_ms: int = 0
    place_at_resume: bool = False
    spare_carriers: int = 0
    bounded: bool = False


def settle(
    carriers: int | None = None,
    work_stealing: bool | None = None,
    yield_us: int | None = None,
    steal_scope: Scope | None = None,
    topology: Topology | Literal["linux"] | None = None,
    idle_spins: int | None = None,
    placement: Placement | None = None,
    monitor_ms: int | None = None,
    place_at_resume: bool | None = None,
    spare_carriers: int | None = None,
    queue: Queue | None = None,
) -> Settings:
    """Return the settings; None stands for what is not given.  An empty variable is not set.

    Raises:
        UsageError: a bad value; the message names argument or variable, value and range.
        SystemCallError: as `read_places`.
    """
    own = None if topology is None or isinstance(topology, str) else topology
    if own is not None and not isinstance(own, Topology):
        raise UsageError(f"topology is {own!r}; allowed: 'linux', or bind, cluster, core and so on")
    count = _number("carriers", carriers, lib.WP_GROUP_CARRIERS)
    us = _number("yield_us", yield_us, MAX_YIELD_US)
    spins = _number("idle_spins", idle_spins, MAX_IDLE_SPINS, least=0) or 0
    stealing = _switch("work_stealing", work_stealing)
    chosen = steal_scope if own is None or steal_scope is not None else own.steal_scope
    scope = _choice("steal_scope", chosen, _SCOPES) or "global"
    count = default_carriers() if count is None else count
    if own is None and _choice("topology", topology, _TOPOLOGIES):
        own = LinuxTopology(count, steal_scope=scope)
    us = YIELD_US if us is None else us
    policy = _choice("placement", placement, _PLACEMENTS) or lib.WP_PLACE_HOME
    ms = _number("monitor_ms", monitor_ms, MAX_MONITOR_MS, least=0) or 0
    resumes = _switch("place_at_resume", place_at_resume)
    more = _number("spare_carriers", spare_carriers, lib.WP_GROUP_CARRIERS - count, least=0) or 0
    bounded = _choice("queue", queue, _QUEUES) or False
    return Settings(count, stealing, us, scope, own, spins, policy, ms, resumes, more, bounded)


def _source(name: str, given: object) -> tuple[str, object]:
    """Return what the value is to be called, and the value; None: it is not given."""
    if given is not None:
        return name, given
    variable = f"WAKEPROOF_{name.upper()}"
    return variable, os.environ.get(variable) or None


def _number(name: str, given: int | None, most: int, least: int = 1) -> int | None:
    source, said = _source(name, given)
    value = said
    if given is None and isinstance(said, str) and re.fullmatch("[0-9]{1,9}", said):
        value = int(said)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UsageError(f"{source} is {said!r}; allowed: {least} to {most:,}")
    return value


def _switch(name: str, given: bool | None) -> bool:
    if given is not None and not isinstance(given, bool):
        raise UsageError(f"{name} is {given!r}; allowed: False, True")
    return _choice(name, None if given is None else str(given).lower(), _SWITCH) or False


def _choice(name: str, given: object, choices: Mapping[str, T]) -> T | None:
    source, value = _source(name, given)
    if value is None:
        return None
    if not isinstance(value, str) or value not in choices:
        raise UsageError(f"{source} is {value!r}; allowed: {', '.join(choices)}")
    return choices[value]
