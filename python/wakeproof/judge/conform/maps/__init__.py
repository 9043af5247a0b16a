# SPDX-License-Identifier: Apache-2.0
"""The tables of `wakeproof conform`, one module per concept."""

from __future__ import annotations

from wakeproof.judge.conform.concept import Concept
from wakeproof.judge.conform.maps.biased_lock import BIASED_LOCK
from wakeproof.judge.conform.maps.block import GUARD_INTERRUPTED, GUARD_NAP
from wakeproof.judge.conform.maps.carrier import CARRIER_HIT, CARRIER_ONE, CARRIER_TWO
from wakeproof.judge.conform.maps.channel import CHANNEL, CHANNEL_NONE
from wakeproof.judge.conform.maps.condition import CONDITION, CONDITION_WANTED
from wakeproof.judge.conform.maps.descriptor import DESCRIPTOR, DESCRIPTOR_OPEN
from wakeproof.judge.conform.maps.group_close import (
    GROUP_CLOSE,
    GROUP_CLOSE_IN_TIME,
    GROUP_CLOSE_THREE,
)
from wakeproof.judge.conform.maps.guard import GUARD, GUARD_ASYMMETRIC, GUARD_RENDEZVOUS
from wakeproof.judge.conform.maps.idle_set import IDLE_SET
from wakeproof.judge.conform.maps.latch import LATCH
from wakeproof.judge.conform.maps.mpsc import MPSC, MPSC_THREE
from wakeproof.judge.conform.maps.mutex import MUTEX
from wakeproof.judge.conform.maps.parker import PARKER
from wakeproof.judge.conform.maps.search import (
    SEARCH,
    SEARCH_LONG,
    SEARCH_PINNED,
    SEARCH_PINNED_LONG,
    SEARCH_SPAWN,
    SEARCH_TWO_TOKENS,
    SEARCH_YIELD,
)
from wakeproof.judge.conform.maps.semaphore import SEMAPHORE, SEMAPHORE_THREE
from wakeproof.judge.conform.maps.task import TASK
from wakeproof.judge.conform.maps.timer import TIMER, TIMER_TWO
from wakeproof.judge.conform.maps.vthread import VTHREAD
from wakeproof.judge.conform.maps.wait_queue import WAIT_QUEUE

CONCEPTS: tuple[Concept, ...] = (
    PARKER, BIASED_LOCK, IDLE_SET, GUARD, GUARD_ASYMMETRIC, GUARD_RENDEZVOUS, GUARD_NAP,
    GUARD_INTERRUPTED, MPSC, MPSC_THREE, CARRIER_ONE, CARRIER_TWO, CARRIER_HIT, SEARCH, SEARCH_LONG,
    SEARCH_PINNED, SEARCH_PINNED_LONG, SEARCH_SPAWN, SEARCH_TWO_TOKENS, SEARCH_YIELD, TASK,
    VTHREAD, TIMER, TIMER_TWO,
    LATCH, SEMAPHORE, SEMAPHORE_THREE, CHANNEL, CHANNEL_NONE, MUTEX, CONDITION, CONDITION_WANTED,
    WAIT_QUEUE, DESCRIPTOR, DESCRIPTOR_OPEN, GROUP_CLOSE, GROUP_CLOSE_IN_TIME, GROUP_CLOSE_THREE,
)  # fmt: skip
