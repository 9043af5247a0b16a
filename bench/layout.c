/* SPDX-License-Identifier: Apache-2.0
 * layout.c - row 5: which words share a cache line. The same operations over both layouts.
 *
 *   ticket   the owner acquires and releases the lock, with a little work in between, while a
 *            stealer tries now and then: next and serving on one line (the kernel's layout) or on
 *            one line each
 *   token    a submitter checks whether any carrier is idle, while a searcher takes and returns the
 *            token: one line each (the kernel's layout) or on one line
 *
 * The ends of the queue, which are on one line each in the kernel, are measured as flows
 * (flow_ours.h). */
#include "bench.h"
#include "sched/search.h"
#include "queue/biased_lock.h"

enum {
	OWNER_WORK = 32,    /* empty steps, about 10 ns, so that the stealer gets its turns */
	STEALER_PAUSES = 8, /* a few hundred nanoseconds, for it looks at other queues as well */
};

typedef struct layout_run {
	wp_biased_lock ticket;
	struct {
		_Alignas(WP_LINE) wp_atomic(uint64_t) next;
		_Alignas(WP_LINE) wp_atomic(uint64_t) serving;
	} split;
	wp_domain domain;
	struct {
		_Alignas(WP_LINE) wp_atomic(uint32_t) token;
		wp_atomic(uint64_t) idle;
	} packed;
	_Alignas(WP_LINE) wp_atomic(uint32_t) stop;
	uint64_t ops;
	wp_atomic(uint64_t) *next, *serving, *idle;
	wp_atomic(uint32_t) *token;
} layout_run;

/* The operations of wp_biased_lock_acquire and wp_biased_lock_release. */
static void own_ticket(layout_run *run)
{
	uint64_t my = wp_fetch_add_relaxed(run->next, 1);
	unsigned spins = 0;

	while (wp_load_acquire(run->serving) != my)
		bench_spin(&spins);
	wp_store_release(run->serving, my + 1);
}

/* The operations of wp_biased_lock_try_acquire and wp_biased_lock_release. */
static void steal_ticket(layout_run *run)
{
	uint64_t serving = wp_load_acquire(run->serving), next = serving;

	if (wp_cas_relaxed(run->next, &next, serving + 1))
		wp_store_release(run->serving, serving + 1);
}

static void ticket_body(void *context, int index)
{
	layout_run *run = context;

	if (index != 0) {
		while (!wp_load_acquire(&run->stop)) {
			steal_ticket(run);
			for (int pause = 0; pause < STEALER_PAUSES; pause++)
				wp_pause();
		}
		return;
	}
	for (uint64_t k = 0; k < run->ops; k++) {
		own_ticket(run);
		for (int step = 0; step < OWNER_WORK; step++)
			bench_apart();
	}
	wp_store_release(&run->stop, 1);
}

/* The operations of wp_search_start, wp_search_stop and wp_idle_set_is_empty. */
static void token_body(void *context, int index)
{
	layout_run *run = context;

	if (index != 0) {
		while (!wp_load_acquire(&run->stop)) {
			uint32_t none = 0;

			if (!wp_cas_acquire(run->token, &none, 1))
				bench_fail("the token is gone");
			wp_store_release(run->token, 0);
		}
		return;
	}
	for (uint64_t k = 0; k < run->ops; k++) {
		if (wp_load_acquire(run->idle) != 0)
			bench_fail("nobody is idle, and yet a bit is set");
		bench_apart();
	}
	wp_store_release(&run->stop, 1);
}

static double run_layout(void (*body)(void *, int), bool is_kernels, uint64_t ops)
{
	static layout_run run;

	wp_biased_lock_init(&run.ticket);
	wp_domain_init(&run.domain, NULL, 2);
	wp_init(&run.split.next, 0);
	wp_init(&run.split.serving, 0);
	wp_init(&run.packed.token, 0);
	wp_init(&run.packed.idle, 0);
	wp_init(&run.stop, 0);
	run.ops = ops;
	run.next = is_kernels ? &run.ticket.next : &run.split.next;
	run.serving = is_kernels ? &run.ticket.serving : &run.split.serving;
	run.token = is_kernels ? &run.domain.searching : &run.packed.token;
	run.idle = is_kernels ? &run.domain.idle.words[0] : &run.packed.idle;
	return bench_together(2, body, &run);
}

BENCH_SIDE(ticket_ours, run_layout(ticket_body, true, ops))
BENCH_SIDE(ticket_split, run_layout(ticket_body, false, ops))
BENCH_SIDE(token_ours, run_layout(token_body, true, ops))
BENCH_SIDE(token_packed, run_layout(token_body, false, ops))

const bench_row bench_layout[] = {
	{.name = "layout_ticket", .sides = {{"ours", ticket_ours}, {"split", ticket_split}}},
	{.name = "layout_token", .sides = {{"ours", token_ours}, {"packed", token_packed}}},
	{.name = NULL},
};
