# SPDX-License-Identifier: Apache-2.0
"""A group of the C kernel, made from the settings of `wakeproof.config`.

Source: ``kernel/sched/group.h``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wakeproof._native.ffi import ffi, lib
from wakeproof.errors import error_for

if TYPE_CHECKING:
    from wakeproof._native.ffi import CGroup
    from wakeproof.config import Settings
    from wakeproof.topology import Seats


def native(chosen: Settings, seats: Seats) -> CGroup:
    """Make the kernel's group, and start its carriers.

    Raises:
        SystemCallError: there is no memory, or the system refused a thread.
    """
    config, made = ffi.new("wp_group_config *"), ffi.new("wp_group **")
    numbers = seats.numbers()  # they are read before wp_group_new returns
    config.carriers, config.yield_us = chosen.carriers, chosen.yield_us
    config.work_stealing, config.trace_events = chosen.work_stealing, chosen.trace_events
    config.placement, config.place_at_resume = chosen.policy, chosen.at_resume
    config.load_at_dequeue = chosen.load_at_dequeue
    config.monitor_ms, config.spare_carriers = chosen.monitor_ms, chosen.spare_carriers
    config.bounded = chosen.is_bounded
    config.domain_of, config.cluster_of = numbers
    config.bind = seats.callback
    code = lib.wp_group_new(made, config)
    if code == lib.WP_SYSTEM:
        why = os.strerror(ffi.errno)
        raise error_for(code, f"start {chosen.carriers} carriers: {why} (memory, or threads)")
    if code != lib.WP_OK:
        raise error_for(
            code, f"{chosen.carriers} carriers, {chosen.spare_carriers} spare carriers; allowed: "
            f"{lib.WP_GROUP_CARRIERS:,} in all",
        )  # fmt: skip
    return made[0]
