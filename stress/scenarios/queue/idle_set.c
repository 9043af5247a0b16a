/* SPDX-License-Identifier: Apache-2.0
 * idle_set.c - two members of one word join and leave at the same time.
 *
 *   member 0          member 1
 *   add               add            (idleset)
 *   add               remove         (idle_set_leave)
 *
 * Result        "bits left".
 * Why it works  The arbiter reads the word when both are done.
 * Spec          specs/queue/IdleSet.tla. */
#include <string.h>

#include "queue/idle_set.h"
#include "stress.h"

struct state {
	wp_idle_set set;
	wp_atomic(uint32_t) is_parked; /* stored before a member sets its bit */
};

STRESS_INIT(init)
{
	memset(&state->set, 0xff, sizeof(state->set)); /* as memory may hold that was used before */
	wp_idle_set_init(&state->set);
}

STRESS_ACTOR_CALL(member_0, wp_idle_set_add(&state->set, 0))
STRESS_ACTOR_CALL(member_1, wp_idle_set_add(&state->set, 1))
STRESS_ACTOR_CALL(read_bits, result->r[0] = (int64_t)wp_idle_set_word(&state->set, 0))

STRESS_TEST(idle_set, .claim = "Setting one member's bit never loses another member's bit.",
	    .upholds = "IdleSet!NoLostBit", .state_size = sizeof(struct state), .init = init,
	    .actors = {member_0, member_1}, .arbiter = read_bits, .results = 1,
	    .outcomes = {
		    {"3", ACCEPTABLE, "both members are in"},
		    {"*", FORBIDDEN, "a bit was lost"},
	    });

/* Member 1 is idle before, and leaves to work. */
STRESS_INIT(init_idle)
{
	init(state);
	wp_idle_set_add(&state->set, 1);
}

STRESS_ACTOR_CALL(leaver, wp_idle_set_remove(&state->set, 1))

STRESS_TEST(idle_set_leave, .claim = "A member's bit is set as long as the member is parked.",
	    .upholds = "IdleSet!BitSetWhileParked", .state_size = sizeof(struct state),
	    .init = init_idle, .actors = {member_0, leaver}, .arbiter = read_bits, .results = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "one member is in, the other is out"},
		    {"*", FORBIDDEN, "a bit was lost, or came back"},
	    });

/* One member parks while a searcher scans. Result: "bit seen, member parked". */
STRESS_ACTOR(parker)
{
	wp_store_relaxed(&state->is_parked, 1);
	wp_idle_set_add(&state->set, 0);
}

STRESS_ACTOR(searcher)
{
	result->r[0] = wp_idle_set_has(&state->set, 0);
	result->r[1] = wp_load_relaxed(&state->is_parked);
}

STRESS_TEST(idle_set_word,
	    .claim = "A searcher that sees a member's bit sees that the member is parked.",
	    .upholds = "IdleSet!ScanFindsParked", .state_size = sizeof(struct state), .init = init,
	    .actors = {parker, searcher}, .results = 2,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the searcher found the member, and saw it parked"},
		    {"0,*", ACCEPTABLE, "the member is not yet in"},
		    {"1,0", FORBIDDEN,
		     "the searcher found the member, and does not see that it is parked"},
	    });

/* A member in the second word parks while one in the first word leaves. Result: "a scan finds
 * exactly the parked member". */
enum { FAR = WP_IDLESET_BITS + 6 };

STRESS_ACTOR_CALL(far_parker, wp_idle_set_add(&state->set, FAR))

STRESS_ACTOR(scan)
{
	wp_idle_set *set = &state->set;

	result->r[0] = !wp_idle_set_is_empty(set, FAR + 1) && wp_idle_set_has(set, FAR) &&
		       wp_idle_set_word(set, 0) == 0;
}

STRESS_TEST(idle_set_far, .claim = "A scan finds a parked member in any word.",
	    .upholds = "IdleSet!ScanFindsParked", .state_size = sizeof(struct state),
	    .init = init_idle, .actors = {far_parker, leaver}, .arbiter = scan, .results = 1,
	    .outcomes = {
		    {"1", REQUIRED, "the scan finds the member"},
		    {"*", FORBIDDEN, "lost wakeup: the member sleeps, and no scan finds it"},
	    });
