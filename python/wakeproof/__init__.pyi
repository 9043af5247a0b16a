# SPDX-License-Identifier: Apache-2.0
"""The public names of `wakeproof`: one line for each, which names the module that defines it.

Type checkers read this file, and `__init__.py` imports names by it.
"""

from wakeproof import coroutine as coroutine
from wakeproof import io as io
from wakeproof import joiner as joiner
from wakeproof._runtime.dump import dump as dump
from wakeproof._runtime.dump import dump_on_signal as dump_on_signal
from wakeproof._runtime.jobs import Unfinished as Unfinished
from wakeproof.carrier import Carrier as Carrier
from wakeproof.channel import Channel as Channel
from wakeproof.condition import Condition as Condition
from wakeproof.config import Compensation as Compensation
from wakeproof.config import Placement as Placement
from wakeproof.config import Stealing as Stealing
from wakeproof.config import Tracing as Tracing
from wakeproof.counts import CarrierCounts as CarrierCounts
from wakeproof.counts import DomainStatistics as DomainStatistics
from wakeproof.counts import PlacementStatistics as PlacementStatistics
from wakeproof.counts import SpareCarrierCounts as SpareCarrierCounts
from wakeproof.default import default_group as default_group
from wakeproof.errors import AbandonedError as AbandonedError
from wakeproof.errors import CancelledScopeError as CancelledScopeError
from wakeproof.errors import ChangedError as ChangedError
from wakeproof.errors import ClosedError as ClosedError
from wakeproof.errors import DeadlineError as DeadlineError
from wakeproof.errors import ForkedError as ForkedError
from wakeproof.errors import InterruptedWaitError as InterruptedWaitError
from wakeproof.errors import JudgeError as JudgeError
from wakeproof.errors import MissingToolError as MissingToolError
from wakeproof.errors import NoFilesWarning as NoFilesWarning
from wakeproof.errors import PartlyInstalledWarning as PartlyInstalledWarning
from wakeproof.errors import PollerClosedError as PollerClosedError
from wakeproof.errors import StateError as StateError
from wakeproof.errors import StructureError as StructureError
from wakeproof.errors import SubtaskError as SubtaskError
from wakeproof.errors import SystemCallError as SystemCallError
from wakeproof.errors import ThreadInterruptedError as ThreadInterruptedError
from wakeproof.errors import TopologyWarning as TopologyWarning
from wakeproof.errors import TwoCopiesError as TwoCopiesError
from wakeproof.errors import UnsupportedError as UnsupportedError
from wakeproof.errors import UsageError as UsageError
from wakeproof.errors import WakeproofError as WakeproofError
from wakeproof.errors import WrongThreadError as WrongThreadError
from wakeproof.executor import VirtualThreadExecutor as VirtualThreadExecutor
from wakeproof.factory import ThreadFactory as ThreadFactory
from wakeproof.group import CarrierGroup as CarrierGroup
from wakeproof.guard import GuardStatistics as GuardStatistics
from wakeproof.guard import RendezvousGuard as RendezvousGuard
from wakeproof.guard import WakeupGuard as WakeupGuard
from wakeproof.joiner import Joiner as Joiner
from wakeproof.mpsc import MpscQueue as MpscQueue
from wakeproof.mpsc import MpscStatistics as MpscStatistics
from wakeproof.mutex import Mutex as Mutex
from wakeproof.parker import Parker as Parker
from wakeproof.parking import blocking as blocking
from wakeproof.parking import current as current
from wakeproof.parking import interrupted as interrupted
from wakeproof.parking import park as park
from wakeproof.parking import pinned as pinned
from wakeproof.parking import sleep as sleep
from wakeproof.parking import yield_now as yield_now
from wakeproof.poller import Poller as Poller
from wakeproof.queued_pool import QueuedThreadPool as QueuedThreadPool
from wakeproof.queued_pool import QueuedThreadPoolStatistics as QueuedThreadPoolStatistics
from wakeproof.scope import Scope as Scope
from wakeproof.scoped import ScopedValue as ScopedValue
from wakeproof.semaphore import Semaphore as Semaphore
from wakeproof.standard import install as install
from wakeproof.standard import is_installed as is_installed
from wakeproof.standard import uninstall as uninstall
from wakeproof.strategy import ExecutionStrategy as ExecutionStrategy
from wakeproof.strategy import StrategyStatistics as StrategyStatistics
from wakeproof.strategy import combine_kinds as combine_kinds
from wakeproof.strategy import invoke_non_blocking as invoke_non_blocking
from wakeproof.strategy import is_non_blocking as is_non_blocking
from wakeproof.subtask import Subtask as Subtask
from wakeproof.topology import LinuxTopology as LinuxTopology
from wakeproof.topology import Topology as Topology
from wakeproof.virtual_pool import VirtualThreadPool as VirtualThreadPool
from wakeproof.virtual_pool import VirtualThreadPoolStatistics as VirtualThreadPoolStatistics
from wakeproof.vthread import VirtualThread as VirtualThread

__version__: str
