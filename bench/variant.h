/* SPDX-License-Identifier: Apache-2.0
 * variant.h - names for another copy of the kernel's carrier.c, run_queues.c and search.c, with a
 * twin set. The including file has defined VARIANT(name), and includes those files next. */
#define wp__carrier_wake VARIANT(wp__carrier_wake)
#define wp__carrier_signal_shipped VARIANT(wp__carrier_signal_shipped)
#define wp__local_queue_carrier_next VARIANT(wp__local_queue_carrier_next)
#define wp__local_queue_carrier_steal VARIANT(wp__local_queue_carrier_steal)
#define wp__local_queue_carrier_steal_more VARIANT(wp__local_queue_carrier_steal_more)
#define wp__carrier_is_hit VARIANT(wp__carrier_is_hit)
#define wp__carrier_take_left VARIANT(wp__carrier_take_left)
#define wp__search_around VARIANT(wp__search_around)
#define wp__search_recheck VARIANT(wp__search_recheck)
#define wp_search VARIANT(wp_search)
#define wp_carrier_get_help VARIANT(wp_carrier_get_help)
#define wp_carrier_init VARIANT(wp_carrier_init)
#define wp_carrier_submit VARIANT(wp_carrier_submit)
#define wp_carrier_submit_pinned VARIANT(wp_carrier_submit_pinned)
#define wp_carrier_submit_internal VARIANT(wp_carrier_submit_internal)
#define wp_carrier_reenqueue VARIANT(wp_carrier_reenqueue)
#define wp_carrier_poll VARIANT(wp_carrier_poll)
#define wp_carrier_steal VARIANT(wp_carrier_steal)
#define wp_carrier_leave VARIANT(wp_carrier_leave)
#define wp_carrier_advertise VARIANT(wp_carrier_advertise)
#define wp_carrier_put_off VARIANT(wp_carrier_put_off)
#define wp__carrier_puts_off VARIANT(wp__carrier_puts_off)
#define wp_carrier_sleep_until VARIANT(wp_carrier_sleep_until)
#define wp_carrier_park VARIANT(wp_carrier_park)

#include "sched/run_queues.h"
