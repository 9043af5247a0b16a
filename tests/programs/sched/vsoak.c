/* SPDX-License-Identifier: Apache-2.0
 * vsoak.c SECONDS SEED PATIENCE_S THREADS stealing/private - virtual threads send one another mail,
 * park until some comes, sleep, time out, are interrupted, stolen, pinned, settle, all at random.
 *
 *   sender                     receiver
 *   mail + 1; unpark           no mail: park, for ever or not
 *
 * Why it works  A parked thread with mail was unparked after the mail came, and is queued. Queues
 *               are first come, first served. So if the threads of each carrier have parked several
 *               times and the thread is still in the same park, an unpark is lost. Each carrier
 *               counts, because the system may let one wait while the others go on. Time alone
 *               proves nothing, as a turn of a million threads on a busy machine takes many
 *               seconds. Every thread must end when it is asked to, and all mail that was sent is
 *               received or still there.
 * Spec          specs/thread/VThread.tla.
 *
 * With NEAR_WRAP the number of each thread's parks begins so many parks before its end, and the
 * group's count of submits near its end, so that both wrap. With FORGOTTEN nobody unparks or interrupts
 * that thread, as if each of its unparks were lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../chance.h"
#include "base/error.h"
#include "sched/vthread_start.h"
#include "sched/worker.h"

enum { CARRIERS = 4, PINNED_MOST = 2, LOOK_S = 2, TURNS_LOST = 4 };

/* mail belongs to senders and the thread, the rest to the thread. */
typedef struct peer {
	wp_vthread *thread;
	wp_atomic(uint64_t) mail;
	int settled_at;   /* -1: nowhere yet */
	uint32_t suspect; /* 1 + the park in which it had mail at the last look; 0: none */
	uint32_t since;   /* the round in which that was first seen */
	bool is_over;
} peer;

/* The parks at one carrier: in all, and before this round. */
typedef struct tally {
	_Alignas(WP_LINE) wp_atomic(uint64_t) parks;
	uint64_t before;
} tally;

static peer *peers;
static uint32_t count;
static wp_group *group;
static uint32_t wrapped; /* threads whose number of parks began again at 0 */
static wp_atomic(uint32_t) over, pinned_now;
static wp_atomic(uint64_t) sent, received, timeouts, interrupts, children;
static tally tallies[CARRIERS];
static uint32_t rounds; /* in each, each carrier has seen its share of the threads park */

static void fail(const char *what)
{
	printf("seed %llu: %s\n", (unsigned long long)seed, what);
	fflush(stdout);
	_exit(1);
}

#ifndef FORGOTTEN
#define FORGOTTEN UINT32_MAX
#endif

static bool is_forgotten(const peer *one)
{
	return one - peers == FORGOTTEN;
}

static void send(peer *to)
{
	wp_fetch_add_relaxed(&sent, 1);
	wp_fetch_add_release(&to->mail, 1);
	if (!is_forgotten(to))
		wp_vthread_unpark(to->thread);
}

static void interrupt(peer *whom)
{
	if (!is_forgotten(whom))
		wp_vthread_interrupt(whom->thread);
}

static void receive(peer *self)
{
	uint64_t mail = wp_exchange_acquire(&self->mail, 0);

	wp_fetch_add_relaxed(&received, mail);
}

static int64_t soon(uint64_t *random)
{
	return wp_clock_ns() + (int64_t)draw(random, 2000000);
}

static void park(peer *self, int64_t deadline_ns)
{
	int64_t now_ns;
	int code, carrier = wp_group_running(group);

	if (carrier < 0)
		fail("a thread runs on no carrier");
	wp_fetch_add_relaxed(&tallies[carrier].parks, 1);
	code = wp_vthread_park_until(deadline_ns);
	now_ns = wp_clock_ns();
	if (code == WP_TIMEOUT) {
		wp_fetch_add_relaxed(&timeouts, 1);
		if (now_ns < deadline_ns)
			fail("a timeout came too early");
	} else if (code == WP_INTERRUPTED) {
		if (!wp_vthread_clear_interrupt())
			fail("an interrupt without its flag");
		wp_fetch_add_relaxed(&interrupts, 1);
	}
	if (wp_vthread_current() != self->thread)
		fail("a thread is another one after its park");
	if (self->settled_at >= 0 && self->settled_at != wp_group_running(group))
		fail("a thread that has settled runs elsewhere");
}

/* With its carrier; a few at once, because otherwise no thread would be left to unpark them. */
static void park_pinned(peer *self, uint64_t *random)
{
	if (wp_fetch_add_relaxed(&pinned_now, 1) < PINNED_MOST) {
		wp_vthread_pin();
		park(self, soon(random));
		wp_vthread_unpin();
	}
	wp_fetch_add_relaxed(&pinned_now, (uint32_t)-1);
}

static int child(void *arg)
{
	wp_vthread_yield();
	return *(int *)arg;
}

static void have_child(void)
{
	int seven = 7, failure = 0;
	wp_vthread_config config = {.run = child, .arg = &seven, .carrier = WP_VTHREAD_HERE};
	wp_vthread *thread;

	if (wp_vthread_new(group, &config, &thread) != WP_OK)
		return; /* there are as many as there may be */
	if (wp_vthread_start(thread) != WP_OK)
		fail("a child was refused");
	while (wp_vthread_join(thread, WP_FOREVER, &failure) != WP_OK)
		wp_vthread_clear_interrupt();
	if (failure != 7)
		fail("a join does not tell how its thread ended");
	wp_vthread_free(thread);
	wp_fetch_add_relaxed(&children, 1);
}

static int live(void *arg)
{
	peer *self = arg;
	uint64_t random = seed + (uint64_t)(self - peers) * 0x9e3779b97f4a7c15u + 1;

	self->settled_at = (self - peers) % 8 == 1 ? wp_vthread_settle() : -1;
	while (wp_load_relaxed(&over) == 0) {
		switch (draw(&random, 16)) {
		case 0:
			wp_vthread_yield();
			break;
		case 1:
			park_pinned(self, &random);
			break;
		case 2:
			interrupt(&peers[draw(&random, count)]);
			break;
		case 3:
			have_child();
			break;
		case 4:
		case 5:
			park(self, soon(&random));
			break;
		default:
			send(&peers[draw(&random, count)]);
			send(&peers[draw(&random, count)]);
			break;
		}
		receive(self);
		if (wp_load_relaxed(&self->mail) == 0 && wp_load_relaxed(&over) == 0)
			park(self, WP_FOREVER);
		receive(self);
	}
	self->is_over = true;
	return 0;
}

/* [the main thread] */
static void count_round(void)
{
	for (int k = 0; k < CARRIERS; k++)
		if (wp_load_relaxed(&tallies[k].parks) - tallies[k].before < count / CARRIERS)
			return;
	for (int k = 0; k < CARRIERS; k++)
		tallies[k].before = wp_load_relaxed(&tallies[k].parks);
	rounds++;
}

static uint64_t parks(void)
{
	uint64_t sum = 0;

	for (int k = 0; k < CARRIERS; k++)
		sum += wp_load_relaxed(&tallies[k].parks);
	return sum;
}

/* [the main thread] */
static void look_for_the_lost(void)
{
	for (uint32_t at = 0; at < count; at++) {
		peer *one = &peers[at];
		uint32_t word = wp__vthread_look(one->thread);
		uint32_t number =
			word / WP_VTHREAD_NUMBER + 1; /* 0 is a number too, after a wrap */
		bool has_mail = (word & WP_VTHREAD_STATE) == WP_TASK_PARKED &&
				wp_load_acquire(&one->mail) != 0;

		if (!has_mail || one->suspect != number)
			one->since = rounds;
		else if (rounds - one->since > TURNS_LOST)
			fail("a thread is parked and has mail");
		one->suspect = has_mail ? number : 0;
	}
}

static void start_all(void)
{
	for (uint32_t at = 0; at < count; at++) {
		wp_vthread_config config = {.run = live,
					    .arg = &peers[at],
					    .carrier = (int)(at % CARRIERS),
					    .is_pinned = at % 8 == 0};

		if (wp_vthread_new(group, &config, &peers[at].thread) != WP_OK)
			fail("no memory for a thread");
#ifdef NEAR_WRAP /* nobody else knows the thread yet */
		wp_fetch_add_relaxed(&peers[at].thread->task.word,
				     0u - (NEAR_WRAP + at % 50) * WP_VTHREAD_NUMBER);
#endif
	}
#ifdef NEAR_WRAP
	wp_store_relaxed(&group->next, UINT32_MAX - 100u);
#endif
	for (uint32_t at = 0; at < count; at++)
		if (wp_vthread_start(peers[at].thread) != WP_OK)
			fail("a thread was refused");
}

static void end_all(int64_t patience_ns)
{
	int failure;

	wp_store_relaxed(&over, 1);
	for (uint32_t at = 0; at < count; at++)
		wp_vthread_unpark(peers[at].thread);
	for (uint32_t at = 0; at < count; at++) {
		int64_t until_ns = wp_clock_ns() + patience_ns;

		if (wp_vthread_join(peers[at].thread, until_ns, &failure) != WP_OK)
			fail("it hangs: a thread does not end");
	}
}

int main(int argc, char **argv)
{
	wp_group_config config = {.carriers = CARRIERS, .yield_us = 50};
	uint64_t left = 0;
	int64_t until_ns, patience_ns, next_ns;

	if (argc != 6)
		return 2;
	seed = strtoull(argv[2], NULL, 10);
	patience_ns = atoll(argv[3]) * 1000000000;
	count = (uint32_t)atoll(argv[4]);
	config.work_stealing = strcmp(argv[5], "stealing") == 0; /* otherwise private FIFOs */
	config.max_stacks = count + count / 8 + 64;
	peers = calloc(count, sizeof(*peers));
	if (peers == NULL || wp_group_new(&group, &config) != WP_OK)
		fail("no memory");
	start_all();
	next_ns = wp_clock_ns();
	until_ns = next_ns + atoll(argv[1]) * 1000000000;
	while (wp_clock_ns() < until_ns) {
		count_round();
		if (wp_clock_ns() >= next_ns) {
			look_for_the_lost();
			next_ns = wp_clock_ns() + LOOK_S * 1000000000ll;
		}
		send(&peers[wp_load_relaxed(&sent) % count]);
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	end_all(patience_ns);
	for (uint32_t at = 0; at < count; at++) {
		left += wp_load_relaxed(&peers[at].mail);
		if (!peers[at].is_over)
			fail("a thread has not ended");
		wrapped += wp__vthread_look(peers[at].thread) / WP_VTHREAD_NUMBER < 1u << 26;
		wp_vthread_free(peers[at].thread);
	}
	if (wp_load_relaxed(&sent) != wp_load_relaxed(&received) + left)
		fail("mail is lost");
	if (wp_group_close(group, wp_clock_ns() + patience_ns, false, NULL, NULL) != WP_OK)
		fail("it hangs: the close");
	wp_group_free(group);
	free(peers);
	printf("parks %llu, timeouts %llu, interrupts %llu, children %llu, mail %llu\n",
	       (unsigned long long)parks(), (unsigned long long)wp_load_relaxed(&timeouts),
	       (unsigned long long)wp_load_relaxed(&interrupts),
	       (unsigned long long)wp_load_relaxed(&children),
	       (unsigned long long)wp_load_relaxed(&sent));
#ifdef NEAR_WRAP
	if (wrapped != count)
		fail("a number of parks has not wrapped");
#endif
	return 0;
}
