/* SPDX-License-Identifier: Apache-2.0
 * wakeproof.h - the public headers in reading order, nothing else. */
#ifndef WAKEPROOF_H
#define WAKEPROOF_H

#include "base/error.h"
#include "base/order.h"
#include "base/futex.h"
#include "wakeup/parker.h"
#include "wakeup/guard.h"
#include "queue/mpsc.h"
#include "queue/biased_lock.h"
#include "queue/idle_set.h"
#include "sched/search.h"
#include "sched/carrier.h"
#include "base/event_ring.h"
#include "thread/task.h"
#include "sched/timer.h"
#include "sched/carrier_tasks.h"
#include "sched/group.h"
#include "base/topology.h"
#include "thread/vthread.h"
#include "thread/wait_queue.h"
#include "thread/latch.h"
#include "sync/mutex.h"
#include "sync/condition.h"
#include "sync/semaphore.h"
#include "sync/channel.h"
#include "thread/fiber.h"
#include "thread/stack.h"
#include "thread/overflow.h"
#include "sched/vthread_start.h"
#include "scope/scope.h"

#endif
