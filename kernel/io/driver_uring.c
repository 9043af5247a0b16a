/* SPDX-License-Identifier: Apache-2.0
 * driver_uring.c - reads and writes files by io_uring; see wp_file_driver in file_queue.h.
 *
 * Not explored, because it talks to the system. Without WP_URING, which says that liburing can be
 * linked, no ring can be made. */
#define _GNU_SOURCE
#include "io/file_queue.h"

#include <stdlib.h>
#ifdef WP_URING

#include <liburing.h>

enum {
	ENTRIES = 64,  /* entries of one submission; more take several submissions */
	RESULTS = 128, /* completions that fit before they are read */
};

/* A completion interrupts no running thread, and each event comes with its result.
 * docs/inside/decisions.md says why it is not IORING_SETUP_DEFER_TASKRUN. The flag needs Linux
 * 5.19, as does IORING_ASYNC_CANCEL_ANY, without which driver_end would wait for operations that
 * never end. */
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

/* Makes a ring. Returns 0; or -errno, and leaves nothing open. */
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

static wp_file_queue *driver_open(int event, const char **why)
{
	size_t bytes = (sizeof(wp_file_queue) + WP_LINE - 1) / WP_LINE * WP_LINE;
	wp_file_queue *queue = aligned_alloc(WP_LINE, bytes);
	struct io_uring *ring = malloc(sizeof(*ring));
	int code = -ENOMEM;

	*why = NULL;
	if (getenv("WAKEPROOF_NO_URING") != NULL)
		*why = "WAKEPROOF_NO_URING is set";
	else if (queue != NULL && ring != NULL)
		code = make(ring, event);
	if (code == 0) {
		wp__file_queue_init(queue);
		queue->system = ring;
		return queue;
	}
	if (*why == NULL)
		*why = text(-code);
	free(ring);
	free(queue);
	return NULL;
}

static void driver_close(wp_file_queue *queue)
{
	io_uring_queue_exit(queue->system);
	free(queue->system);
	free(queue);
}

static const uint8_t codes[] = {
	[WP_FILE_OPEN] = IORING_OP_OPENAT,
	[WP_FILE_READ] = IORING_OP_READ,
	[WP_FILE_WRITE] = IORING_OP_WRITE,
	[WP_FILE_SYNC] = IORING_OP_FSYNC,
};

/* Fills the next submission entry. There must be room for it. */
static void prepare(wp_file_queue *queue, wp_file_op *op, bool is_begun)
{
	struct io_uring_sqe *entry = io_uring_get_sqe(queue->system);

	wp__file_queue_enter(queue);
	if (is_begun) {
		io_uring_prep_cancel(entry, op, 0);
		io_uring_sqe_set_data(entry, NULL);
		return;
	}
	wp__count(&queue->begun);
	io_uring_prep_rw(codes[op->what], entry, op->fd, op->at, op->size, op->offset);
	entry->rw_flags = (int)op->flags; /* all operations share this place */
	io_uring_sqe_set_data(entry, op);
}

/* Finishes the operations that have a completion in the ring, and returns their number. */
static uint32_t reap_entered(wp_file_queue *queue)
{
	struct io_uring_cqe *entry;
	uint32_t count = 0;

	for (; io_uring_peek_cqe(queue->system, &entry) == 0; count++) {
		wp_file_op *op = io_uring_cqe_get_data(entry);
		int32_t result = entry->res;

		io_uring_cqe_seen(queue->system, entry);
		queue->inside--;
		if (op != NULL)
			wp__file_queue_finish(queue, op, result);
	}
	return count;
}

/* Finishes all operations that have completed. Returns true if there was at least one. */
static bool reap(wp_file_queue *queue)
{
	uint32_t count = reap_entered(queue);
	bool did = count != 0;

	/* The ring was full. Completions that Linux kept back send no event of their own. */
	while (count >= RESULTS) {
		io_uring_get_events(queue->system);
		count = reap_entered(queue);
	}
	return did;
}

static bool driver_is_wanted(wp_file_queue *queue)
{
	return wp__file_queue_is_asked(queue) || io_uring_sq_ready(queue->system) != 0;
}

static bool driver_turn(wp_file_queue *queue, bool is_told)
{
	bool did = false, is_begun;

	if (is_told)
		did = reap(queue);
	while (driver_is_wanted(queue)) {
		wp_file_op *op;

		while (io_uring_sq_space_left(queue->system) != 0 &&
		       (op = wp__file_queue_take(queue, &is_begun)) != NULL)
			prepare(queue, op, is_begun);
		if (io_uring_submit(queue->system) < 0)
			break; /* the system has no room now; the next turn tries again */
		reap(queue);
		did = true;
	}
	return did;
}

/* Submits until the system has taken all prepared entries. */
static void submit_all(wp_file_queue *queue)
{
	while (io_uring_sq_ready(queue->system) != 0) {
		io_uring_submit(queue->system);
		reap(queue);
	}
}

static void driver_end(wp_file_queue *queue)
{
	struct io_uring_sqe *entry;

	wp__file_queue_shut(queue);
	submit_all(queue);
	if (!wp__file_queue_is_inside(queue))
		return;
	entry = io_uring_get_sqe(queue->system);
	io_uring_prep_cancel64(entry, 0, IORING_ASYNC_CANCEL_ANY);
	io_uring_sqe_set_data(entry, NULL);
	wp__file_queue_enter(queue);
	submit_all(queue);
	while (wp__file_queue_is_inside(queue)) {
		io_uring_submit_and_wait(queue->system, 1);
		reap(queue);
	}
}

WP_FILE_DRIVER(uring);

#else

static wp_file_queue *driver_open(int event, const char **why)
{
	(void)event;
	*why = "this was built without liburing (Debian: apt install liburing-dev)";
	return NULL;
}

/* No queue is ever opened, so no other function is called. */
const wp_file_driver wp__file_driver_uring = {.open = driver_open};

#endif
