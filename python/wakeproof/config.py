# SPDX-License-Identifier: Apache-2.0
"""What a group is made with: arguments, else WAKEPROOF_* environment variables, else defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from wakeproof import trace
from wakeproof._native.ffi import ffi, lib
from wakeproof.errors import UsageError
from wakeproof.topology import LinuxTopology, Scope, Topology, default_carriers

if TYPE_CHECKING:
    from wakeproof._native.ffi import PlacementPolicy

T = TypeVar("T")
YIELD_US = 50
MAX_YIELD_US = 1_000_000
MAX_IDLE_SPINS = 1_000_000
MAX_MONITOR_MS = 3_600_000
_SWITCH = {"0": False, "1": True, "false": False, "true": True}
_SCOPES: dict[str, Scope] = {"global": "global", "cluster": "cluster"}
_TOPOLOGIES = {"none": False, "linux": True}
POLICIES = {
    ffi.string(lib.wp_placement_policy_name(policy)).decode(): policy
    for policy in range(lib.WP_PLACE_POLICIES)
}
"""The number of each placement policy in the kernel, by its name."""
Queue = Literal["unbounded", "bounded"]
_QUEUES = {"unbounded": False, "bounded": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stealing:
    """Which siblings an idle carrier helps, in a group with `work_stealing`.

    Attributes:
        scope: "global", all of them; or "cluster", those of its own cluster.  None:
            WAKEPROOF_STEALING_SCOPE; an object given as `topology` goes before the variable, with
            its `steal_scope`.  Default "global".  Another value raises UsageError.
    """

    scope: Scope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a task or thread starts that is given no carrier; ``docs/placement.md`` compares.

    Attributes:
        policy: "home", see `CarrierGroup.submit`; or by load, which is what is queued and what
            runs: "two_choices", of two carriers that are drawn the one with less;
            "least_loaded", the one with the least; "cluster_two_choices", of two clusters that are
            drawn the one with less per carrier, and in it two choices.  None:
            WAKEPROOF_PLACEMENT_POLICY, else "home".  Another value raises UsageError.
        at_resume: whether a thread that was parked is placed anew, by load, where it goes on,
            unless it is pinned, or runs a callable, which stays where it began.  None:
            WAKEPROOF_PLACEMENT_AT_RESUME, else False.  What is not a bool raises UsageError.
    """

    policy: PlacementPolicy | None = None
    at_resume: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compensation:
    """What a group does about carriers that block; `wakeproof.blocking` says that one will.

    Attributes:
        monitor_ms: milliseconds, 0 to 3,600,000.  A carrier whose step takes longer, while
            something is queued there, is treated as one in `blocking` until the step ends; that
            begins at the latest after twice the time.  0: no carrier is watched.  None:
            WAKEPROOF_COMPENSATION_MONITOR_MS, else 0.  Another value raises UsageError.
        spare_carriers: how many more carriers, at most, run tasks in place of those that block,
            each in a steal domain of its own; 0 to 1,024 less `carriers`.  None:
            WAKEPROOF_COMPENSATION_SPARE_CARRIERS, else 0.  Another value raises UsageError.
    """

    monitor_ms: int | None = None
    spare_carriers: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracing:
    """Which events a group keeps from its start on; `CarrierGroup.trace_on` begins later.

    Attributes:
        events: how many of each carrier, 0 to 1,048,576, rounded up to a power of two; 0: none,
            which costs nothing.  None: as many as ``wakeproof trace`` or
            `wakeproof.trace.switch_on` asks for, else 0.  Another value raises UsageError.
    """

    events: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """For measurements and tests: what nobody has found a better value for than the default.

    Attributes:
        yield_us: microseconds that a carrier runs its queue before it looks up, 1 to 1,000,000.
            None: WAKEPROOF_TUNING_YIELD_US, else 50.  Another value raises UsageError.
        idle_spins: looks in vain before a poller of `wakeproof.io` blocks, 0 to 1,000,000.  None:
            WAKEPROOF_TUNING_IDLE_SPINS, else 0.  Another value raises UsageError.
        queue: "bounded": what a carrier queues for itself is in a ring of 256; a sibling steals
            half at once, and half of a full one goes to its run queue.  None:
            WAKEPROOF_TUNING_QUEUE, else "unbounded".  Another value raises UsageError.
    """

    yield_us: int | None = None
    idle_spins: int | None = None
    queue: Queue | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The arguments of `CarrierGroup`, checked and filled in."""

    carriers: int
    work_stealing: bool = False
    topology: Topology | None = None
    scope: Scope = "global"
    policy: int = lib.WP_PLACE_HOME
    at_resume: bool = False
    monitor_ms: int = 0
    spare_carriers: int = 0
    trace_events: int = 0
    yield_us: int = YIELD_US
    idle_spins: int = 0
    is_bounded: bool = False


def settle(
    carriers: int | None = None,
    *,
    work_stealing: bool | None = None,
    topology: Topology | Literal["linux"] | None = None,
    stealing: Stealing | None = None,
    placement: Placement | None = None,
    compensation: Compensation | None = None,
    tracing: Tracing | None = None,
    tuning: Tuning | None = None,
) -> Settings:
    """Return the settings; None stands for what is not given.  An empty variable is not set.

    Raises:
        UsageError: a bad value; the message names argument or variable, value and range.
        SystemCallError: as `read_places`.
    """
    steals, places = _theme(Stealing, stealing), _theme(Placement, placement)
    compensates, traces = _theme(Compensation, compensation), _theme(Tracing, tracing)
    tuned = _theme(Tuning, tuning)
    own = None if topology is None or isinstance(topology, str) else topology
    if own is not None and not isinstance(own, Topology):
        raise UsageError(f"topology is {own!r}; allowed: 'linux', or bind, cluster, core and so on")
    most = lib.WP_GROUP_CARRIERS
    count = _number("carriers", carriers, most) or default_carriers()
    scope = steals.scope if own is None or steals.scope is not None else own.steal_scope
    scope = _choice("stealing.scope", scope, _SCOPES) or "global"
    if own is None and _choice("topology", topology, _TOPOLOGIES):
        own = LinuxTopology(count, steal_scope=scope)
    spares, spins = compensates.spare_carriers, tuned.idle_spins
    return Settings(
        carriers=count,
        work_stealing=_switch("work_stealing", work_stealing),
        topology=own,
        scope=scope,
        policy=_choice("placement.policy", places.policy, POLICIES) or lib.WP_PLACE_HOME,
        at_resume=_switch("placement.at_resume", places.at_resume),
        monitor_ms=_number("compensation.monitor_ms", compensates.monitor_ms, MAX_MONITOR_MS, 0),
        spare_carriers=_number("compensation.spare_carriers", spares, most - count, 0),
        trace_events=trace.size(traces.events),
        yield_us=_number("tuning.yield_us", tuned.yield_us, MAX_YIELD_US) or YIELD_US,
        idle_spins=_number("tuning.idle_spins", spins, MAX_IDLE_SPINS, 0),
        is_bounded=_choice("tuning.queue", tuned.queue, _QUEUES) or False,
    )


def _theme(kind: type[T], given: T | None) -> T:
    """Return the object that is given as the argument named like its class, or an empty one."""
    if given is not None and not isinstance(given, kind):
        name = kind.__name__
        raise UsageError(f"{name.lower()} is {given!r}; allowed: a {name}")
    return kind() if given is None else given


def _source(name: str, given: object) -> tuple[str, object]:
    """Return what the value is to be called, and the value; None: it is not given.

    The variable of `tuning.queue` is WAKEPROOF_TUNING_QUEUE.
    """
    if given is not None:
        return name, given
    variable = f"WAKEPROOF_{name.replace('.', '_').upper()}"
    return variable, os.environ.get(variable) or None


def _number(name: str, given: int | None, most: int, least: int = 1) -> int:
    """Return the number; 0: it is not given, or it is 0, where that is allowed."""
    source, said = _source(name, given)
    value = said
    if given is None and isinstance(said, str) and re.fullmatch("[0-9]{1,9}", said):
        value = int(said)
    if value is None:
        return 0
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
