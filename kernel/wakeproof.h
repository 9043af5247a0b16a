/* SPDX-License-Identifier: Apache-2.0
 * wakeproof.h - the public headers in reading order, nothing else. */
#ifndef WAKEPROOF_H
#define WAKEPROOF_H

#include "error.h"
#include "order.h"
#include "futex.h"
#include "parker.h"
#include "guard.h"
#include "mpsc.h"
#include "ticket.h"
#include "idleset.h"
#include "search.h"
#include "carrier.h"
#include "ring.h"
#include "task.h"
#include "timer.h"
#include "home.h"
#include "group.h"
#include "topology.h"
#include "vthread.h"
#include "waitq.h"
#include "latch.h"
#include "mutex.h"
#include "condition.h"
#include "semaphore.h"
#include "channel.h"
#include "fiber.h"
#include "stack.h"
#include "overflow.h"
#include "vthreads.h"
#include "scope.h"

#endif
