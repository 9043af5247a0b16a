# SPDX-License-Identifier: Apache-2.0
"""Twins of the specs that make no difference to a comparison, each with the reason.

A twin that is in this table and differs fails, so the table stays true.
"""

from __future__ import annotations

from collections.abc import Mapping

FAIRNESS = "only the fairness of the spec is another; graphs have none"
ASKED_OF = "only what the claims ask of a state is another, no step"
CONDITION = "nobody waits at a condition there"
FAILS = "the heavy fence does not fail there"
HANDLER = "no handler ends a wait there"
TOLD = "what the poller is told is not compared there"
LIGHT = "the producer's fence is a light one there already"
STICKY = {
    **dict.fromkeys(("lock_barges", "nap_restarts"), FAIRNESS),
    "interrupt_leaves": CONDITION,
    "interrupt_waits_on": CONDITION,
    "signal_outside_lock": CONDITION,
    "timeout_unlooked": CONDITION,
    "wait_once": CONDITION,
    "wait_unconfirmed": CONDITION,
}
PINNED = "no task is pinned there"
SPAWNS = "no carrier submits a task itself there"
YIELDS = "no task yields there"
ONE_TASK = "the woken carrier and the one that gives up its park have one task between them there"
NOT_WAKING = "no carrier is WAKING there when a thief looks at its queue"
ONE_TIMER = "there is one timer, and the lock is taken only where it is due"
NONE_LEFT = "there is one timer: after its withdrawal none is left"
ORDER = "only a memory order is another: its ghosts are not compared (explore, orders)"
RELAXED = dict.fromkeys(("begin_relaxed", "park_relaxed", "unpark_relaxed"), ORDER)
NO_SLOT = "there is no slot"
TWO = "of two threads one holds while the other waits: nobody overtakes, one is served"
ONE_IN_LINE = "of two threads one holds while the other waits: nobody stands behind the first"
NO_LEAVER = "no thread of that comparison leaves the line"
NO_SCHEDULER = "no task has a scheduler there: a hand-back never waits"
GROUP_CLOSE = dict.fromkeys(("parks_silently", "waits_for_ever"), NO_SCHEDULER)
NONE_CANCELS = "no close cancels there"
NO_TASKS = "no task is listed there, and each close cancels"
NOTHING_ENDS = "its poller does not end there"
NO_GROUP = "no group of a reader is closed there"
NOT_CLOSED = "nobody closes it there"
NONE_TO_STEAL = "the one task is pinned: nobody finds one to steal, and nobody searches"
NO_PUSH_WAKES = "carriers alone submit there: a push to the own queue wakes no owner"
CARRIERS_ALONE = {
    **dict.fromkeys(("count_pinned", "pinned_leaves"), PINNED),
    **dict.fromkeys(("late_alone", "wake_and_leave", "waking_ignored"), NO_PUSH_WAKES),
    "hit_inbox_late": NOT_WAKING,
}
SEARCH = {
    "count_pinned": PINNED,
    "pinned_leaves": PINNED,
    "silent_internal": SPAWNS,
    "silent_reenqueue": YIELDS,
    "yield_wakes": YIELDS,
}
DESCRIPTOR = {
    **dict.fromkeys(("adds_late", "ends_silent", "leaves_unlocked"), NOTHING_ENDS),
    **dict.fromkeys(("dies_in_line", "dies_inside", "dies_told"), NO_GROUP),
}

NO_PARKS = "of virtual threads, which have parks; these are OS threads"

EQUAL: Mapping[str, Mapping[str, str]] = {
    "guard symmetric": {**STICKY, "failure_unread": FAILS},
    "guard asymmetric": {**STICKY, "failure_unread": FAILS, "no_producer_fence": LIGHT},
    "guard rendezvous": {
        "failure_unread": FAILS,
        "interrupt_leaves": HANDLER,
        "interrupt_waits_on": HANDLER,
        **dict.fromkeys(("lock_barges", "nap_restarts"), FAIRNESS),
        "timeout_unlooked": TOLD,
    },
    "guard nap": {**STICKY, "no_producer_fence": LIGHT},
    "guard interrupted": {
        "failure_unread": FAILS,
        **dict.fromkeys(("lock_barges", "nap_restarts"), FAIRNESS),
    },
    "mpsc": {"asks_tail": ASKED_OF},
    "search": {**SEARCH, "waking_ignored": ONE_TASK},
    "search long": {**SEARCH, "hit_inbox_late": NOT_WAKING},
    "search spawn": {**CARRIERS_ALONE, "silent_reenqueue": YIELDS, "yield_wakes": YIELDS},
    "search yield": {**CARRIERS_ALONE, "silent_internal": SPAWNS},
    "search pinned": {
        **dict.fromkeys(
            (
                *("hit_inbox_late", "hit_itself", "hit_not_taken", "idle_bit_only"),
                *("no_recheck_release", "token_kept", "token_stays", "waking_ignored"),
            ),
            NONE_TO_STEAL,
        ),
        "silent_internal": SPAWNS,
        "silent_reenqueue": YIELDS,
        "yield_wakes": YIELDS,
    },
    **dict.fromkeys(("task", "vthread"), RELAXED),
    "timer": {"early": ONE_TIMER, "withdraw_forever": NONE_LEFT},
    "channel without slots": dict.fromkeys(("sender_first", "senders_forgotten"), NO_SLOT),
    "semaphore": dict.fromkeys(("overtakes", "serves_one"), TWO),
    "mutex": dict.fromkeys(("any_takes", "leaves_silent"), ONE_IN_LINE),
    "group_close": GROUP_CLOSE,
    "group_close in time": {**GROUP_CLOSE, "cancel_unasked": NONE_CANCELS},
    "group_close three": {
        **GROUP_CLOSE,
        **dict.fromkeys(("gives_up_early", "stops_forgotten"), NO_TASKS),
    },
    "descriptor": DESCRIPTOR,
    "descriptor open": {
        **DESCRIPTOR,
        **dict.fromkeys(
            ("begins_late", "close_silent", "closes_now", "frees_at_once", "frees_in_use"),
            NOT_CLOSED,
        ),
    },
    "semaphore three": dict.fromkeys(("grant_ignored", "leaves_silent"), NO_LEAVER),
    "wait_queue": dict.fromkeys(
        ("any_park", "number_kept", "refused_kept", "renewed_and_left"), NO_PARKS
    ),
}
"""Name of a concept -> twin -> why spec and code are equal with this twin."""

TOO_LARGE: Mapping[str, str] = {
    "mpsc three": "its twins have millions of states; those of mpsc are compared",
    "search pinned long": "half a minute each; those of search long are compared",
    "timer two": "each takes a minute; those of timer are compared",
}
"""Name of a concept -> why its twins are not compared."""

TOO_LARGE_TWINS: Mapping[str, tuple[str, ...]] = {
    "mpsc": ("publish_first", "split_reserve"),
    "channel": ("grant_ignored",),
    "channel without slots": ("grant_ignored",),
}
"""Name of a concept -> its twins with graphs that are too large (over half a million states):
those of mpsc break the queue, which then has many more shapes; that of a channel sends an item
again and again, and the ghost that lists what was accepted has no end."""
