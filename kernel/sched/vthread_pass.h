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

/* Prefetches, before `next` runs, what the switch after its run will use: two lines of the control
 * block of the thread that is queued behind it, and two lines of the top of that thread's stack.
 * Where that top is stands in the control block, which is still being fetched. So this function
 * assumes that both threads have left their stacks at the same depth, as threads do that run the
 * same function. A wrong address costs no more than lines that nobody uses. It is inlined
 * always, because GCC removes a call of a function that only prefetches. [the carrier of `next` |
 * wait-free] */
WP_INLINED void wp__vthread_fetch_behind(const wp_vthread *next)
{
	char *behind = (char *)wp__worker_here->home.carrier.private_fifo.first;
	char *top;

	if (behind == NULL)
		return;
	top = behind - ((const char *)next - (const char *)next->fiber.sp);
	__builtin_prefetch(behind, 1);
	__builtin_prefetch(behind + WP_STACK_LINE, 1);
	__builtin_prefetch(top, 1);
	__builtin_prefetch(top + WP_STACK_LINE, 1);
}

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
	wp__vthread_fetch_behind(&next->thread);
	wp__body_leaves(body);
	wp__body_enters(next);
	wp__vthread_begin(&next->thread);
	next->thread.under = body->thread.under;
	wp__vthread_here = &next->thread;
	return next;
}

#endif
