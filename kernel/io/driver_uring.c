/* SPDX-License-Identifier: Apache-2.0
 * driver_uring.c - see driver_uring.h. Not explored, for it talks to the system; without WP_URING,
 * which says that liburing is there to be linked, no ring can be made. */
#define _GNU_SOURCE
#include "io/driver_uring.h"

#include <stdlib.h>
#ifdef WP_URING

#include <liburing.h>

enum {
	ENTRIES = 64,  /* of a submission: more go in several */
	RESULTS = 128, /* that the system enters before they are read */
};

/* What has ended interrupts nobody who runs. Each event comes with a result. Why not
 * IORING_SETUP_DEFER_TASKRUN: docs/decisions.md. Linux 5.19: so is IORING_ASYNC_CANCEL_ANY, without
 * which wp__uring_end would wait for what never ends. */
enum { MANNERS = IORING_SETUP_COOP_TASKRUN };

static const char *text(int failed)
{
	switch (failed) {
	case EPERM:
	case EACCES:
		return "the system forbids io_uring (seccomp, or sysctl kernel.io_uring_disabled)";
	case ENOSYS:
	case EINVAL:
		return "the system has no io_uring, or too old a one (Linux 5.19)";
	case EMFILE:
	case ENFILE:
		return "no descriptor was left for io_uring";
	default:
		return "the system had no memory for io_uring";
	}
}

/* 0, or -errno: nothing is left. */
static int make(struct io_uring *ring, int event)
{
	int code = io_uring_queue_init(ENTRIES, ring, MANNERS);

	if (code != 0)
		return code;
	code = io_uring_register_eventfd(ring, event);
	if (code != 0)
		io_uring_queue_exit(ring);
	return code;
}

wp_uring *wp__uring_new(int event, const char **why)
{
	wp_uring *uring = aligned_alloc(WP_LINE, (sizeof(*uring) + WP_LINE - 1) / WP_LINE * WP_LINE);
	struct io_uring *ring = malloc(sizeof(*ring));
	int code = -ENOMEM;

	*why = NULL;
	if (getenv("WAKEPROOF_NO_URING") != NULL)
		*why = "WAKEPROOF_NO_URING is set";
	else if (uring != NULL && ring != NULL)
		code = make(ring, event);
	if (code == 0) {
		wp__uring_init(uring);
		uring->ring = ring;
		return uring;
	}
	if (*why == NULL)
		*why = text(-code);
	free(ring);
	free(uring);
	return NULL;
}

void wp__uring_free(wp_uring *uring)
{
	if (uring == NULL)
		return;
	io_uring_queue_exit(uring->ring);
	free(uring->ring);
	free(uring);
}

static const uint8_t codes[] = {
	[WP_URING_OPEN] = IORING_OP_OPENAT,
	[WP_URING_READ] = IORING_OP_READ,
	[WP_URING_WRITE] = IORING_OP_WRITE,
	[WP_URING_SYNC] = IORING_OP_FSYNC,
};

/* There is room for it. */
static void prepare(wp_uring *uring, wp_uring_op *op, bool is_begun)
{
	struct io_uring_sqe *entry = io_uring_get_sqe(uring->ring);

	wp__uring_enter(uring);
	if (is_begun) {
		io_uring_prep_cancel(entry, op, 0);
		io_uring_sqe_set_data(entry, NULL);
		return;
	}
	wp__count(&uring->begun);
	io_uring_prep_rw(codes[op->what], entry, op->fd, op->at, op->size, op->offset);
	entry->rw_flags = (int)op->flags; /* one place for the flags of all */
	io_uring_sqe_set_data(entry, op);
}

/* How many had ended. */
static uint32_t reap_entered(wp_uring *uring)
{
	struct io_uring_cqe *entry;
	uint32_t count = 0;

	for (; io_uring_peek_cqe(uring->ring, &entry) == 0; count++) {
		wp_uring_op *op = io_uring_cqe_get_data(entry);
		int32_t result = entry->res;

		io_uring_cqe_seen(uring->ring, entry);
		uring->inside--;
		if (op != NULL)
			wp__uring_finish(uring, op, result);
	}
	return count;
}

/* True: something had ended. */
static bool reap(wp_uring *uring)
{
	uint32_t count = reap_entered(uring);
	bool did = count != 0;

	/* There was no room: what the system kept back has no event of its own. */
	while (count >= RESULTS) {
		io_uring_get_events(uring->ring);
		count = reap_entered(uring);
	}
	return did;
}

bool wp__uring_is_wanted(wp_uring *uring)
{
	return wp__uring_is_asked(uring) || io_uring_sq_ready(uring->ring) != 0;
}

bool wp__uring_turn(wp_uring *uring, bool is_told)
{
	bool did = false, is_begun;

	if (is_told)
		did = reap(uring);
	while (wp__uring_is_wanted(uring)) {
		wp_uring_op *op;

		while (io_uring_sq_space_left(uring->ring) != 0 &&
		       (op = wp__uring_take(uring, &is_begun)) != NULL)
			prepare(uring, op, is_begun);
		if (io_uring_submit(uring->ring) < 0)
			break; /* the system has no room: in the next turn */
		reap(uring);
		did = true;
	}
	return did;
}

/* The system has all that was prepared. */
static void submit_all(wp_uring *uring)
{
	while (io_uring_sq_ready(uring->ring) != 0) {
		io_uring_submit(uring->ring);
		reap(uring);
	}
}

void wp__uring_end(wp_uring *uring)
{
	struct io_uring_sqe *entry;

	wp__uring_shut(uring);
	submit_all(uring);
	if (!wp__uring_is_inside(uring))
		return;
	entry = io_uring_get_sqe(uring->ring);
	io_uring_prep_cancel64(entry, 0, IORING_ASYNC_CANCEL_ANY);
	io_uring_sqe_set_data(entry, NULL);
	wp__uring_enter(uring);
	submit_all(uring);
	while (wp__uring_is_inside(uring)) {
		io_uring_submit_and_wait(uring->ring, 1);
		reap(uring);
	}
}

#else

wp_uring *wp__uring_new(int event, const char **why)
{
	(void)event;
	*why = "this was built without liburing (Debian: apt install liburing-dev)";
	return NULL;
}

void wp__uring_free(wp_uring *uring)
{
	(void)uring;
}

bool wp__uring_is_wanted(wp_uring *uring)
{
	return wp__uring_is_asked(uring);
}

bool wp__uring_turn(wp_uring *uring, bool is_told)
{
	(void)uring;
	return is_told;
}

void wp__uring_end(wp_uring *uring)
{
	(void)uring;
}

#endif
