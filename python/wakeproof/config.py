# SPDX-License-Identifier: Apache-2.0
"""The settings of a group: arguments first, then WAKEPROOF_* variables, then defaults."""

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
"""The kernel's number of each placement policy, by the policy's name."""
Queue = Literal["unbounded", "bounded"]
Load = Literal["all", "queued"]
_LOADS = {"all": False, "queued": True}
_QUEUES = {"unbounded": False, "bounded": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stealing:
    """Choose from which carriers an idle carrier steals, in a `CarrierGroup` with `work_stealing`.

    Attributes:
        scope: "global": all carriers of the group; "cluster": the carriers of its own cluster,
            which share a last-level cache.  None: WAKEPROOF_STEALING_SCOPE, else "global".  If a
            `Topology` object is given as `topology`, its `steal_scope` has precedence over the
            variable.  Another value raises UsageError.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup, Stealing
        >>> with CarrierGroup(2, work_stealing=True, stealing=Stealing(scope="global")) as group:
        ...     [len(domain) for domain in group.domains]
        [2]
    """

    scope: Scope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Choose on which carrier of a `CarrierGroup` a task or virtual thread starts.

    This decides only if the caller has not named a carrier.  The load of a carrier is the number of
    its queued tasks and threads, plus the one that runs (see `load`).  ``docs/guide/placement.md``
    compares the policies.

    Attributes:
        policy: "home": the carrier of the caller, see `CarrierGroup.submit`.  "two_choices": draw
            two carriers, and take the less loaded one.  "least_loaded": take the least loaded
            carrier.  "cluster_two_choices": draw two clusters (`Carrier.cluster`), take the one
            with the lower load per carrier, draw two carriers in it, and take the less loaded one.
            None: WAKEPROOF_PLACEMENT_POLICY, else "home".  Another value raises UsageError.
        at_resume: whether the policy also chooses a carrier for a parked virtual thread when that
            thread is woken.  This concerns coroutine functions only: a callable stays on the
            carrier that runs it, and a pinned thread on its own.  None:
            WAKEPROOF_PLACEMENT_AT_RESUME, else False.  A value that is not a bool raises
            UsageError.
        load: "all": the load includes the task that runs.  "queued": it is the number of queued
            ones alone.  None: WAKEPROOF_PLACEMENT_LOAD, else "all".  Another value raises
            UsageError.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup, Placement
        >>> with CarrierGroup(2, placement=Placement(policy="least_loaded")) as group:
        ...     group.submit(len, "abc").result()
        3
    """

    policy: PlacementPolicy | None = None
    at_resume: bool | None = None
    load: Load | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compensation:
    """Choose what a `CarrierGroup` does about blocked carriers; see also `wakeproof.blocking`.

    A carrier is *blocked* while the task that it runs waits in the system or computes for long:
    whatever is queued at that carrier is delayed.  The wait of a virtual thread in a `pinned`
    section blocks the carrier as well.  A *spare carrier* is one more OS thread, which runs tasks
    while another carrier is blocked.  By default there is none, because a group with spare carriers
    has no pollers, which the sockets of `wakeproof.io` need.

    Attributes:
        monitor_ms: milliseconds, 0 to 3,600,000.  If one step of a task takes longer than this
            while others are queued at its carrier or for all carriers, the group acts as if the
            step were in `blocking`.  It notices this after at most twice this time, and acts until
            the step ends.  0: no carrier is monitored.  None: WAKEPROOF_COMPENSATION_MONITOR_MS,
            else 0.  Another value raises UsageError.
        spare_carriers: the largest number of spare carriers, 0 to 1,024 less `carriers`.  None:
            WAKEPROOF_COMPENSATION_SPARE_CARRIERS, else 0.  Another value raises UsageError.  A
            spare carrier steals from no carrier, and none steals from it.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup, Compensation
        >>> with CarrierGroup(1, compensation=Compensation(spare_carriers=1)) as group:
        ...     group.spare_carriers().most
        1
    """

    monitor_ms: int | None = None
    spare_carriers: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracing:
    """Choose how many events a `CarrierGroup` records from its start.

    An event tells what a carrier did, such as one step of a task (`wakeproof.trace.Event`).  To
    begin later, use `CarrierGroup.trace_on`.

    Attributes:
        events: how many of its newest events each carrier keeps, 0 to 1,048,576, rounded up to a
            power of two.  0: no events are recorded, which costs nothing.  None: the number that
            ``wakeproof trace`` or `wakeproof.trace.switch_on` requests, else 0.  Another value
            raises UsageError.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup, Tracing
        >>> with CarrierGroup(1, tracing=Tracing(events=100)) as group:
        ...     group.tracing
        128
    """

    events: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Settings for measurements and tests; no value is known to be better than the defaults.

    Attributes:
        yield_us: the microseconds for which a carrier runs its own queue before it checks for
            events and for other queues, 1 to 1,000,000.  None: WAKEPROOF_TUNING_YIELD_US, else 50.
            Another value raises UsageError.
        idle_spins: how often a poller of `wakeproof.io` looks in vain before it blocks, 0 to
            1,000,000.  None: WAKEPROOF_TUNING_IDLE_SPINS, else 0.  Another value raises UsageError.
        queue: "bounded": a carrier has a ring of 256 slots for the tasks that it queues for itself,
            beside its run queue.  Another carrier that steals takes half of the ring at once, and
            half of a full ring moves to the run queue.  "unbounded": there are no rings.  None:
            WAKEPROOF_TUNING_QUEUE, else "unbounded".  Another value raises UsageError.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup
        >>> from wakeproof.config import Tuning
        >>> with CarrierGroup(1, tuning=Tuning(yield_us=100)) as group:
        ...     group.submit(len, "abc").result()
        3
    """

    yield_us: int | None = None
    idle_spins: int | None = None
    queue: Queue | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The arguments of `CarrierGroup`, checked and completed."""

    carriers: int
    work_stealing: bool = False
    topology: Topology | None = None
    scope: Scope = "global"
    policy: int = lib.WP_PLACE_HOME
    at_resume: bool = False
    load_at_dequeue: bool = False
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
    """Return the settings of a group; None stands for an argument that is not given.

    A variable that is set to an empty string counts as not set.

    Raises:
        UsageError: a bad value; the message names argument or variable, value and range.
        SystemCallError: as `read_places`.
    """
    steals, places = _theme(Stealing, stealing), _theme(Placement, placement)
    compensates, traces = _theme(Compensation, compensation), _theme(Tracing, tracing)
    tuned = _theme(Tuning, tuning)
    own = None if topology is None or isinstance(topology, str) else topology
    if own is not None and not isinstance(own, Topology):
        raise UsageError(f"topology is {own!r}; allowed: 'linux', or a Topology with its methods")
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
        load_at_dequeue=_choice("placement.load", places.load, _LOADS) or False,
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
    """Return the name of a value in messages, and the value, which is None if it is not given.

    The variable of `tuning.queue` is WAKEPROOF_TUNING_QUEUE.
    """
    if given is not None:
        return name, given
    variable = f"WAKEPROOF_{name.replace('.', '_').upper()}"
    return variable, os.environ.get(variable) or None


def _number(name: str, given: int | None, most: int, least: int = 1) -> int:
    """Return the number; 0 if it is not given, or if it is 0 where that is allowed."""
    source, said = _source(name, given)
    value = said
    if given is None and isinstance(said, str) and re.fullmatch("[0-9]{1,9}", said):
        value = int(said)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UsageError(f"{source} is {said!r}; allowed: {least} to {most:,}")
    return value


def number(name: str, most: int) -> int:
    """Return the number of an environment variable, 1 to `most`; 0 if it is not set.

    Raises:
        UsageError: it is no such number.
    """
    return _number(name, None, most)


def switch(name: str) -> bool:
    """Return whether an environment variable switches something on.

    Raises:
        UsageError: it is not 0, 1, false or true.
    """
    return _switch(name, None)


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
