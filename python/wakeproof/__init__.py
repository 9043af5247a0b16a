# SPDX-License-Identifier: Apache-2.0
"""A concurrency kernel whose wakeups are proven not to be missed.

The bindings load when one of their names is first used, so the judges run without them.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

from wakeproof.errors import (
    AbandonedError,
    CancelledScopeError,
    ChangedError,
    ClosedError,
    DeadlineError,
    ForkedError,
    InterruptedWaitError,
    JudgeError,
    MissingToolError,
    NoFilesWarning,
    PollerClosedError,
    StateError,
    StructureError,
    SubtaskError,
    SystemCallError,
    ThreadInterruptedError,
    TopologyWarning,
    TwoCopiesError,
    UnsupportedError,
    UsageError,
    WakeproofError,
    WrongThreadError,
)

if TYPE_CHECKING:
    __version__: str
    from wakeproof import coroutine as coroutine
    from wakeproof import io as io
    from wakeproof import joiner as joiner
    from wakeproof._runtime.dump import dump, dump_on_signal
    from wakeproof._runtime.jobs import Unfinished
    from wakeproof.carrier import Carrier
    from wakeproof.channel import Channel
    from wakeproof.condition import Condition
    from wakeproof.config import Compensation, Placement, Stealing, Tracing
    from wakeproof.counts import (
        CarrierCounts,
        DomainStatistics,
        PlacementStatistics,
        SpareCarrierCounts,
    )
    from wakeproof.default import default_group
    from wakeproof.executor import VirtualThreadExecutor
    from wakeproof.factory import ThreadFactory
    from wakeproof.group import CarrierGroup
    from wakeproof.guard import GuardStatistics, RendezvousGuard, WakeupGuard
    from wakeproof.joiner import Joiner
    from wakeproof.mpsc import MpscQueue, MpscStatistics
    from wakeproof.mutex import Mutex
    from wakeproof.parker import Parker
    from wakeproof.parking import (
        blocking,
        current,
        interrupted,
        park,
        pinned,
        sleep,
        yield_now,
    )
    from wakeproof.poller import Poller
    from wakeproof.queued_pool import QueuedThreadPool, QueuedThreadPoolStatistics
    from wakeproof.scope import Scope
    from wakeproof.scoped import ScopedValue
    from wakeproof.semaphore import Semaphore
    from wakeproof.strategy import (
        ExecutionStrategy,
        StrategyStatistics,
        combine_kinds,
        invoke_non_blocking,
        is_non_blocking,
    )
    from wakeproof.subtask import Subtask
    from wakeproof.topology import LinuxTopology, Topology
    from wakeproof.virtual_pool import VirtualThreadPool, VirtualThreadPoolStatistics
    from wakeproof.vthread import VirtualThread

__all__ = [
    "AbandonedError",
    "CancelledScopeError",
    "Carrier",
    "CarrierCounts",
    "CarrierGroup",
    "ChangedError",
    "Channel",
    "ClosedError",
    "Compensation",
    "Condition",
    "DeadlineError",
    "DomainStatistics",
    "ExecutionStrategy",
    "ForkedError",
    "GuardStatistics",
    "InterruptedWaitError",
    "Joiner",
    "JudgeError",
    "LinuxTopology",
    "MissingToolError",
    "MpscQueue",
    "MpscStatistics",
    "Mutex",
    "NoFilesWarning",
    "Parker",
    "Placement",
    "PlacementStatistics",
    "Poller",
    "PollerClosedError",
    "QueuedThreadPool",
    "QueuedThreadPoolStatistics",
    "RendezvousGuard",
    "Scope",
    "ScopedValue",
    "Semaphore",
    "SpareCarrierCounts",
    "StateError",
    "Stealing",
    "StrategyStatistics",
    "StructureError",
    "Subtask",
    "SubtaskError",
    "SystemCallError",
    "ThreadFactory",
    "ThreadInterruptedError",
    "Topology",
    "TopologyWarning",
    "Tracing",
    "TwoCopiesError",
    "Unfinished",
    "UnsupportedError",
    "UsageError",
    "VirtualThread",
    "VirtualThreadExecutor",
    "VirtualThreadPool",
    "VirtualThreadPoolStatistics",
    "WakeproofError",
    "WakeupGuard",
    "WrongThreadError",
    "blocking",
    "combine_kinds",
    "current",
    "default_group",
    "dump",
    "dump_on_signal",
    "interrupted",
    "invoke_non_blocking",
    "is_non_blocking",
    "park",
    "pinned",
    "sleep",
    "yield_now",
]

_HOME = {
    "Semaphore": "semaphore",
    "Mutex": "mutex",
    "Condition": "condition",
    "Channel": "channel",
    "Carrier": "carrier",
    "CarrierCounts": "counts",
    "CarrierGroup": "group",
    "DomainStatistics": "counts",
    "SpareCarrierCounts": "counts",
    "PlacementStatistics": "counts",
    "Unfinished": "_runtime.jobs",
    "GuardStatistics": "guard",
    "MpscQueue": "mpsc",
    "MpscStatistics": "mpsc",
    "Parker": "parker",
    "Poller": "poller",
    "QueuedThreadPool": "queued_pool",
    "QueuedThreadPoolStatistics": "queued_pool",
    "RendezvousGuard": "guard",
    "LinuxTopology": "topology",
    "Topology": "topology",
    "Joiner": "joiner",
    "Scope": "scope",
    "ScopedValue": "scoped",
    "Subtask": "subtask",
    "ExecutionStrategy": "strategy",
    "StrategyStatistics": "strategy",
    "combine_kinds": "strategy",
    "invoke_non_blocking": "strategy",
    "is_non_blocking": "strategy",
    "ThreadFactory": "factory",
    "VirtualThread": "vthread",
    "VirtualThreadExecutor": "executor",
    "VirtualThreadPool": "virtual_pool",
    "VirtualThreadPoolStatistics": "virtual_pool",
    "WakeupGuard": "guard",
    "default_group": "default",
    **dict.fromkeys(("dump", "dump_on_signal"), "_runtime.dump"),
    **dict.fromkeys(("Compensation", "Placement", "Stealing", "Tracing"), "config"),
    **dict.fromkeys(("blocking", "current", "interrupted", "park", "pinned"), "parking"),
    **dict.fromkeys(("sleep", "yield_now"), "parking"),
}


_MODULES = ("coroutine", "io", "joiner")  # to be named without an import of their own


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"wakeproof.{name}")
    if name == "__version__":
        return version("wakeproof")
    if name not in _HOME:
        raise AttributeError(f"module 'wakeproof' has no attribute {name!r}")
    value: object = getattr(import_module(f"wakeproof.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
