# SPDX-License-Identifier: Apache-2.0
"""Run a test under every schedule of its threads: `schedules`.

modelled    what threads do that others can notice: locks, queues, sleeps, threads
loop        the event loop of asyncio
execution   one run, whose threads are greenlets, in the order that a scheduler gives
search      the scheduler that gives each order once: partial order reduction, preemption bounds
given       the schedulers of a known order, and of one by lot;  strategies: of hypothesis
data        reads and writes as operations
run         the decorator;  explore: all runs, and the verdict;  lanes: a schedule for a reader
waits       why threads wait;  awaits: why tasks of asyncio wait
stall       ends what does not come to a synchronisation point
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.schedules.run import schedules as schedules
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
