# SPDX-License-Identifier: Apache-2.0
"""The tables of `wakeproof conform --traces`, one module per concept."""

from __future__ import annotations

from wakeproof.judge.traces.concept import TraceConcept
from wakeproof.judge.traces.maps.biased_lock import BIASED_LOCK_TRACES
from wakeproof.judge.traces.maps.carrier import CARRIER_TRACES
from wakeproof.judge.traces.maps.guard import GUARD_ASYMMETRIC_TRACES, GUARD_TRACES
from wakeproof.judge.traces.maps.idle_set import IDLE_SET_TRACES
from wakeproof.judge.traces.maps.mpsc import MPSC_TRACES
from wakeproof.judge.traces.maps.parker import PARKER_TRACES
from wakeproof.judge.traces.maps.rendezvous import RENDEZVOUS_TRACES
from wakeproof.judge.traces.maps.search import SEARCH_TRACES
from wakeproof.judge.traces.maps.task import TASK_TRACES

TRACED: tuple[TraceConcept, ...] = (
    PARKER_TRACES, BIASED_LOCK_TRACES, IDLE_SET_TRACES, GUARD_TRACES, GUARD_ASYMMETRIC_TRACES,
    RENDEZVOUS_TRACES, MPSC_TRACES, CARRIER_TRACES, SEARCH_TRACES, TASK_TRACES,
)  # fmt: skip
