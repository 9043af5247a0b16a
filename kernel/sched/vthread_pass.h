/* SPDX-License-Identifier: Apache-2.0
 * vthread_pass.h - how a virtual thread that leaves its stack passes the carrier on to the next
 * one, without the carrier's loop.
 *
 *   a thread yields, parks or ends              its carrier
 *   the next thread of the private FIFO, or     every 16th time, or if others have pushed
 *   the loop                                    something: the loop
 *   switch to it; on its stack: park or end
 *   the one that has left
 *
 * Why it works  Only the carrier takes from its private FIFO, and the thread that leaves still runs on
 *               the carrier.
 * Evidence      tests/sched/test_vthread_stackful.py; wakeproof bench -t vthread. */
#ifndef WP_VTHREAD_PASS_H
#define WP_VTHREAD_PASS_H

#include "sched/vthread_stackful.h"
#include "sched/worker.h"

/* For functions that read variables of the OS thread. A virtual thread may continue in another OS
 * thread, so the compiler must not keep the address of such a variable across a switch: these
 * functions are not inlined, and read no such variable after a switch. */
#define OF_THIS_OS_THREAD __attribute__((noinline))

/* The virtual thread that is mounted. With the model initial-exec the variable is at a fixed
 * offset, so no call is needed to read it. */
extern _Thread_local wp_vthread *wp__vthread_here __attribute__((tls_model("initial-exec")));

/* Called for a thread that is about to leave its stack. Returns the thread to which it must switch;
 * that may be itself, if it yields. Returns NULL if it must leave through the loop. The caller is
 * OF_THIS_OS_THREAD. [a virtual thread that may leave its carrier | wait-free] */
WP_INLINED wp_body *wp__vthread_pass(wp_body *body, bool yields)
{
	wp_body *next = NULL;

	if (body->thread.scheduler == NULL)
		next = (wp_body *)(void *)wp__worker_pass(&body->thread.task, yields);
	if (next == NULL || next == body)
		return next;
	wp__body_leaves(body);
	wp__body_enters(next);
	wp__vthread_begin(&next->thread);
	next->thread.under = body->thread.under;
	wp__vthread_here = &next->thread;
	return next;
}

#endif
