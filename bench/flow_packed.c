/* SPDX-License-Identifier: Apache-2.0
 * flow_packed.c - our queue in a layout that the kernel does not use: both ends on one cache
 * line. */
#include "base/order.h"

#undef WP_LINE
#define WP_LINE 8

#include "flow_ours.h"

_Static_assert(offsetof(wp_mpsc, first) - offsetof(wp_mpsc, tail) == 8, "the queue is not packed");

FLOW_CONSUMERS(plain_consumers, plain_take)

const flow_queue flow_packed = {plain_make, free, plain_produce, plain_consumers};
