/* SPDX-License-Identifier: Apache-2.0
 * sqpoll.c - a thread of the kernel polls the submission queue, and sleeps when it is empty; the main
 * thread submits two requests.  The kernel's side is ours.
 * Claim: each request is completed, and a kernel that sleeps is woken.
 * BUG: the kernel does not look at the queue again after it has said that it sleeps. */
#include "kernel.h"
#include <assert.h>
#include <liburing.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { ENTRIES = 2, REQUESTS = 2 };

static struct io_uring ring;
static struct io_uring_sqe sqes[ENTRIES];
static struct io_uring_cqe cqes[ENTRIES];
static unsigned sq_head, sq_tail, sq_mask = ENTRIES - 1, sq_entries = ENTRIES, sq_array[ENTRIES];
static unsigned cq_head, cq_tail, cq_mask = ENTRIES - 1, cq_entries = ENTRIES;
static unsigned sq_flags, sq_dropped, cq_flags, cq_overflow;
static sem_t kernel_wakes;

int __sys_io_uring_enter(int fd, unsigned submitted, unsigned waits_for, unsigned flags,
			 sigset_t *mask)
{
	return __sys_io_uring_enter2(fd, submitted, waits_for, flags, mask, 0);
}

int __sys_io_uring_enter2(int fd, unsigned submitted, unsigned waits_for, unsigned flags,
			  sigset_t *mask, size_t size)
{
	(void)fd;
	(void)waits_for;
	(void)mask;
	(void)size;
	if (flags & IORING_ENTER_SQ_WAKEUP)
		sem_post(&kernel_wakes);
	return (int)submitted;
}

static bool has_request(void)
{
	return __atomic_load_n(&sq_tail, __ATOMIC_ACQUIRE) != sq_head;
}

static void complete(void)
{
	const struct io_uring_sqe *request = &sqes[sq_array[sq_head & sq_mask]];

	cqes[cq_tail & cq_mask].user_data = request->user_data;
	__atomic_store_n(&sq_head, sq_head + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&cq_tail, cq_tail + 1, __ATOMIC_RELEASE);
}

static void *poll_requests(void *unused)
{
	for (int completed = 0; completed < REQUESTS;) {
		if (has_request()) {
			complete();
			completed++;
			continue;
		}
		__atomic_fetch_or(&sq_flags, IORING_SQ_NEED_WAKEUP, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
#ifdef BUG
		sem_wait(&kernel_wakes);
#else
		if (!has_request())
			sem_wait(&kernel_wakes);
#endif
		__atomic_fetch_and(&sq_flags, ~IORING_SQ_NEED_WAKEUP, __ATOMIC_RELAXED);
	}
	return unused;
}

int main(void)
{
	pthread_t kernel;
	struct io_uring_cqe *found;

	sem_init(&kernel_wakes, 0, 0);
	ring.flags = IORING_SETUP_SQPOLL;
	ring.sq = (struct io_uring_sq){
		.khead = &sq_head,
		.ktail = &sq_tail,
		.kring_mask = &sq_mask,
		.kring_entries = &sq_entries,
		.kflags = &sq_flags,
		.kdropped = &sq_dropped,
		.array = sq_array,
		.sqes = sqes,
		.ring_mask = ENTRIES - 1,
		.ring_entries = ENTRIES,
	};
	ring.cq = (struct io_uring_cq){
		.khead = &cq_head,
		.ktail = &cq_tail,
		.kring_mask = &cq_mask,
		.kring_entries = &cq_entries,
		.kflags = &cq_flags,
		.koverflow = &cq_overflow,
		.cqes = cqes,
		.ring_mask = ENTRIES - 1,
		.ring_entries = ENTRIES,
	};
	for (unsigned at = 0; at < ENTRIES; at++)
		sq_array[at] = at;
	pthread_create(&kernel, NULL, poll_requests, NULL);
	for (unsigned at = 0; at < REQUESTS; at++) {
		struct io_uring_sqe *request = io_uring_get_sqe(&ring);

		assert(request != NULL);
		io_uring_prep_nop(request);
		request->user_data = at + 1;
		assert(io_uring_submit(&ring) >= 0);
	}
	pthread_join(kernel, NULL);
	for (unsigned at = 0; at < REQUESTS; at++) {
		assert(io_uring_peek_cqe(&ring, &found) == 0);
		assert(found->user_data == at + 1);
		io_uring_cqe_seen(&ring, found);
	}
	return 0;
}
