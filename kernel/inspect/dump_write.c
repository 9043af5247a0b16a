/* SPDX-License-Identifier: Apache-2.0
 * dump_write.c - writes a dump as text or JSON; see dump.h.
 *
 * It first writes the threads one by one, up to a limit, and then the stacks, each with the threads
 * that share it. Not explored, because it writes. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "inspect/dump_text.h"

enum { BUCKETS = 2 * WP_DUMP_STACKS };

static const char *const states[] = {"new",    "queued", "given", "running",
				     "parked", "pinned", "closed"};

/* Threads that have the same state and the same stack. If count is 0, the bucket is free. */
typedef struct same {
	uint64_t hash, count;
	enum wp_dump_state state;
	uint32_t depth;
	uintptr_t frames[WP_DUMP_FRAMES];
	char names[WP_DUMP_NAMES][WP_VTHREAD_NAME];
} same;

typedef struct listing {
	wp_dump_out out;
	bool is_json, is_listing;
	uint64_t count, listed, max_threads;
	uint64_t others; /* threads with a stack that has no bucket */
	uint32_t stacks, carriers;
	int64_t *runs; /* by carrier: a thread's id, or -1 */
	same *order[WP_DUMP_STACKS];
	same buckets[BUCKETS];
} listing;

_Static_assert(sizeof(listing) <= 1 << 20, "a dump's memory does not grow with the threads");

const char *wp_dump_state_name(enum wp_dump_state state)
{
	return states[state];
}

/* FNV-1a over words. */
static uint64_t hash_of(const wp_dump_thread *thread)
{
	uint64_t hash = 14695981039346656037u ^ (uint64_t)thread->state;

	for (uint32_t at = 0; at < thread->depth; at++) {
		hash = (hash ^ thread->frames[at]) * 1099511628211u;
		hash ^= hash >> 32;
	}
	return hash;
}

static bool is_same(const same *one, const wp_dump_thread *thread, uint64_t hash)
{
	return one->hash == hash && one->state == thread->state && one->depth == thread->depth &&
	       memcmp(one->frames, thread->frames, one->depth * sizeof(uintptr_t)) == 0;
}

static void count_one(listing *list, const wp_dump_thread *thread)
{
	uint64_t hash = hash_of(thread);
	same *one = &list->buckets[hash % BUCKETS];

	while (one->count > 0 && !is_same(one, thread, hash))
		one = one + 1 == &list->buckets[BUCKETS] ? list->buckets : one + 1;
	if (one->count == 0 && list->stacks == WP_DUMP_STACKS) {
		list->others++;
		return;
	}
	if (one->count == 0) {
		list->order[list->stacks++] = one;
		one->hash = hash;
		one->state = thread->state;
		one->depth = thread->depth;
		memcpy(one->frames, thread->frames, one->depth * sizeof(uintptr_t));
	}
	if (one->count < WP_DUMP_NAMES)
		memcpy(one->names[one->count], thread->name, WP_VTHREAD_NAME);
	one->count++;
}

static void print_frames(listing *list, const uintptr_t *frames, uint32_t depth)
{
	for (uint32_t at = 0; at < depth; at++) {
		const char *text = wp__dump_symbol(&list->out, frames[at]);

		if (!list->is_json) {
			wp__dump_print(&list->out, "    %s\n", text);
			continue;
		}
		wp__dump_print(&list->out, at == 0 ? "" : ",");
		wp__dump_quote(&list->out, text);
	}
}

static void print_thread_text(listing *list, const wp_dump_thread *thread)
{
	wp__dump_print(&list->out, "#%" PRIu64 " ", thread->id);
	wp__dump_quote(&list->out, thread->name);
	wp__dump_print(&list->out, " virtual, %s", states[thread->state]);
	if (thread->carrier >= 0)
		wp__dump_print(&list->out, " on carrier-%d", thread->carrier);
	wp__dump_print(&list->out, ", home carrier-%d", thread->home);
	if (thread->stack_used != 0)
		wp__dump_print(&list->out, ", stack %" PRIu64 " of %" PRIu64, thread->stack_used,
			       thread->stack_bytes);
	wp__dump_print(&list->out, "\n");
	print_frames(list, thread->frames, thread->depth);
}

static void print_thread_json(listing *list, const wp_dump_thread *thread)
{
	wp__dump_print(&list->out,
		       "%s\n  {\"tid\":\"%" PRIu64 "\",\"name\":", list->listed == 0 ? "" : ",",
		       thread->id);
	wp__dump_quote(&list->out, thread->name);
	wp__dump_print(&list->out, ",\"state\":\"%s\",\"home\":\"carrier-%d\",\"carrier\":",
		       states[thread->state], thread->home);
	if (thread->carrier < 0)
		wp__dump_print(&list->out, "null");
	else
		wp__dump_print(&list->out, "\"carrier-%d\"", thread->carrier);
	wp__dump_print(&list->out,
		       ",\"stackUsed\":%" PRIu64 ",\"stackSize\":%" PRIu64 ",\"stack\":[",
		       thread->stack_used, thread->stack_bytes);
	print_frames(list, thread->frames, thread->depth);
	wp__dump_print(&list->out, "]}");
}

static bool take(void *arg, const wp_dump_thread *thread)
{
	listing *list = arg;
	uint64_t max_bytes = list->out.config->max_bytes;

	list->count++;
	if (thread->carrier >= 0)
		list->runs[thread->carrier] = (int64_t)thread->id;
	count_one(list, thread);
	if (list->listed == list->max_threads || (max_bytes != 0 && list->out.bytes >= max_bytes))
		return true;
	if (list->is_json)
		print_thread_json(list, thread);
	else
		print_thread_text(list, thread);
	list->listed++;
	return !list->out.has_failed;
}

/* Prints UTC, in seconds. */
static void print_time(wp_dump_out *out)
{
	char text[32];
	time_t now = time(NULL);
	struct tm parts;

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
	wp__dump_print(out, "%s", text);
}

static void begin(listing *list)
{
	const char *container = list->out.config->container;
	wp_dump_out *out = &list->out;

	container = container == NULL ? "<root>" : container;
	wp__dump_print(
		out, list->is_json ? "{\"threadDump\":{\"processId\":\"%ld\",\"time\":\"" : "%ld\n",
		(long)getpid());
	print_time(out);
	wp__dump_print(out, list->is_json ? "\",\"runtimeVersion\":\"wakeproof\","
					    "\"threadContainers\":[{\"container\":"
					  : "\nwakeproof\n\n");
	wp__dump_quote(out, container);
	wp__dump_print(out, list->is_json ? ",\"parent\":null,\"owner\":null,\"threads\":[" : "\n");
}

/* Orders by count, the largest first. */
static int compare(const void *left, const void *right)
{
	const same *one = *(same *const *)left, *other = *(same *const *)right;

	return (one->count < other->count) - (one->count > other->count);
}

static void print_names(listing *list, const same *one)
{
	uint64_t shown = one->count < WP_DUMP_NAMES ? one->count : WP_DUMP_NAMES;

	for (uint64_t at = 0; at < shown; at++) {
		wp__dump_print(&list->out, at == 0 ? "" : list->is_json ? "," : " ");
		wp__dump_quote(&list->out, one->names[at]);
	}
}

static void print_same(listing *list, const same *one, bool is_first)
{
	wp_dump_out *out = &list->out;

	if (!list->is_json) {
		wp__dump_print(out, "\n%" PRIu64 " %s: ", one->count, states[one->state]);
		print_names(list, one);
		wp__dump_print(out, one->count > WP_DUMP_NAMES ? " ...\n" : "\n");
		print_frames(list, one->frames, one->depth);
		return;
	}
	wp__dump_print(out, "%s\n  {\"count\":\"%" PRIu64 "\",\"state\":\"%s\",\"names\":[",
		       is_first ? "" : ",", one->count, states[one->state]);
	print_names(list, one);
	wp__dump_print(out, "],\"stack\":[");
	print_frames(list, one->frames, one->depth);
	wp__dump_print(out, "]}");
}

static void print_carrier(listing *list, uint32_t index)
{
	int64_t runs = list->runs[index];
	wp_dump_out *out = &list->out;

	if (list->is_json) {
		wp__dump_print(out, "%s{\"carrier\":\"carrier-%" PRIu32 "\",\"thread\":",
			       index == 0 ? "" : ",", index);
		if (runs < 0)
			wp__dump_print(out, "null}");
		else
			wp__dump_print(out, "\"%" PRId64 "\"}", runs);
	} else if (runs < 0) {
		wp__dump_print(out, "\ncarrier-%" PRIu32 " runs none", index);
	} else {
		wp__dump_print(out, "\ncarrier-%" PRIu32 " runs #%" PRId64, index, runs);
	}
}

static void end(listing *list)
{
	wp_dump_out *out = &list->out;

	if (list->is_json)
		wp__dump_print(out, "],\"threadCount\":\"%" PRIu64 "\"}],\n \"stacks\":[",
			       list->count);
	else
		wp__dump_print(out, "\n%" PRIu64 " threads, %" PRIu64 " listed; by stack:\n",
			       list->count, list->listed);
	qsort(list->order, list->stacks, sizeof(list->order[0]), compare);
	for (uint32_t at = 0; at < list->stacks; at++)
		print_same(list, list->order[at], at == 0);
	wp__dump_print(out,
		       list->is_json ? "],\"others\":\"%" PRIu64 "\",\n \"carriers\":["
				     : "\n%" PRIu64 " with other stacks\n",
		       list->others);
	for (uint32_t index = 0; index < list->carriers; index++)
		print_carrier(list, index);
	wp__dump_print(out, list->is_json ? "]}}\n" : "\n");
	wp__dump_flush(out);
}

int wp_dump(wp_group *group, const wp_dump_config *config)
{
	uint32_t carriers = wp_group_size(group);
	int64_t *runs = calloc(1, carriers * sizeof(*runs) +
					  sizeof(listing)); /* first: sanitizers catch [-1] */
	listing *list;
	int error;

	if (runs == NULL)
		return WP_SYSTEM;
	list = (listing *)(void *)(runs + carriers);
	list->out.config = config;
	list->is_json = config->format == WP_DUMP_JSON;
	list->max_threads = config->max_threads == 0 ? WP_DUMP_THREADS : config->max_threads;
	list->carriers = carriers;
	list->runs = runs;
	memset(runs, 0xff, carriers * sizeof(*runs)); /* -1 */
	begin(list);
	wp_dump_each(group, take, list);
	end(list);
	error = list->out.has_failed ? list->out.error : 0;
	free(runs);
	errno = error == 0 ? errno : error;
	return error == 0 ? WP_OK : WP_SYSTEM;
}
