/* SPDX-License-Identifier: Apache-2.0
 * wakeproof.h - the public headers in reading order, nothing else. */
#ifndef WAKEPROOF_H
#define WAKEPROOF_H

#include "base/error.h"
#include "base/event_ring.h"
#include "base/futex.h"
#include "base/order.h"
#include "base/topology.h"
#include "queue/biased_lock.h"
#include "queue/idle_set.h"
#include "queue/mpsc.h"
#include "sched/carrier.h"
#include "sched/carrier_tasks.h"
#include "sched/group.h"
#include "sched/search.h"
#include "sched/timer.h"
#include "sched/vthread_start.h"
#include "scope/scope.h"
#include "sync/channel.h"
#include "sync/condition.h"
#include "sync/mutex.h"
#include "sync/semaphore.h"
#include "thread/fiber.h"
#include "thread/latch.h"
#include "thread/overflow.h"
#include "thread/stack.h"
#include "thread/task.h"
#include "thread/vthread.h"
#include "thread/wait_queue.h"
#include "wakeup/guard.h"
#include "wakeup/parker.h"

#endif
