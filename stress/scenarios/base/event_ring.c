/* SPDX-License-Identifier: Apache-2.0
 * event_ring.c - a reader gets a whole event or none, even while its slot is overwritten.
 *
 *   writer                 reader
 *   add event 1            get event 0
 *   (into the slot of 0)   get event 1
 *
 * Result        `event_ring`: "events torn or of another number, got".
 * Why it works  The ring has one slot, and each word of event n is n + 1.
 * Spec          specs/base/EventRing.tla. */
#include "base/event_ring.h"
#include "stress.h"

struct state {
	wp_event_ring_slot slot;
	wp_event_ring ring;
};

static void add(struct state *state, uint64_t number)
{
	uint64_t words[WP_EVENT_RING_WORDS];

	for (int word = 0; word < WP_EVENT_RING_WORDS; word++)
		words[word] = number + 1;
	wp_event_ring_add(&state->ring, words);
}

STRESS_INIT(init)
{
	wp_event_ring_init(&state->ring, &state->slot, 1, 0);
	add(state, 0);
}

static void writer(void *at, stress_result *result)
{
	add(at, 1);
}

static void get(struct state *state, uint64_t number, stress_result *result)
{
	uint64_t words[WP_EVENT_RING_WORDS];

	if (!wp_event_ring_get(&state->ring, number, words))
		return;
	result->r[1] += number + 1;
	for (int word = 0; word < WP_EVENT_RING_WORDS; word++)
		result->r[0] |= words[word] != number + 1;
}

static void reader(void *at, stress_result *result)
{
	get(at, 0, result);
	get(at, 1, result);
}

STRESS_TEST(event_ring, .claim = "Every event that a reader gets was written, and is complete.",
	    .upholds = "EventRing!NoTornEvent", .state_size = sizeof(struct state), .init = init,
	    .actors = {writer, reader}, .results = 2, .min_samples = 200000,
	    .outcomes = {
		    {"0,0", ACCEPTABLE,
		     "the old event was overwritten, and the new one is not published yet"},
		    {"0,1", REQUIRED, "the old event was read before it was overwritten"},
		    {"0,2", REQUIRED, "the new event was read"},
		    {"0,3", ACCEPTABLE, "both events were read, one after the other"},
		    {"*,*", FORBIDDEN, "torn: the reader got an event that no writer wrote"},
	    });

/* A count that was read covers only events that can be read. Result: "events missing". */
STRESS_ACTOR(counter)
{
	uint64_t count = wp_event_ring_count(&state->ring), words[WP_EVENT_RING_WORDS];

	result->r[0] = count == 2 && !wp_event_ring_get(&state->ring, 1, words);
}

STRESS_TEST(event_ring_count, .claim = "Every counted event can be read.",
	    .upholds = "EventRing!NoInventedEvent", .state_size = sizeof(struct state),
	    .init = init, .actors = {writer, counter}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the event can be read, or is not counted yet"},
		    {"*", FORBIDDEN, "the event is counted, but cannot be read"},
	    });

/* The trace is switched on while a carrier checks the switch: the carrier finds initialized rings,
 * or none. Result: "the writer and the reader found the rings; the written event is there". */
struct turned {
	wp_event_ring_slot slot, elsewhere;
	wp_event_ring ring;
	wp_event_ring_switch at;
};

STRESS_INIT_OF(turned, init_turned)
{
	wp_event_ring_init(&state->ring, &state->elsewhere, 1,
			   0); /* memory that was used for something else before */
}

static void turn(struct turned *state)
{
	wp_event_ring_switch_to(&state->at, &state->ring);
}

STRESS_ACTOR_OF(turned, switcher)
{
	if (wp_twin(event_ring_shown_first))
		turn(state);
	wp_event_ring_is_on(&state->at); /* a step between, for the twin */
	wp_event_ring_init(&state->ring, &state->slot, 1, 1);
	if (!wp_twin(event_ring_shown_first))
		turn(state);
}

STRESS_ACTOR_OF(turned, carrier)
{
	wp_event_ring *to = wp_event_ring_is_on(&state->at) ? wp_event_ring_on(&state->at) : NULL;
	uint64_t words[WP_EVENT_RING_WORDS];

	for (int word = 0; word < WP_EVENT_RING_WORDS; word++)
		words[word] = 2;
	if (to == NULL)
		return;
	wp_event_ring_add(to, words);
	result->r[0] = 1;
}

STRESS_ACTOR_OF(turned, lies_there)
{
	uint64_t words[WP_EVENT_RING_WORDS];

	result->r[1] =
		wp_event_ring_count(&state->ring) == 2 && wp_event_ring_get(&state->ring, 1, words);
}

STRESS_TEST(event_ring_switch,
	    .claim = "A carrier that finds the switch on writes into an initialized ring.",
	    .upholds = "Trace!RingsAreThere", .state_size = sizeof(struct turned),
	    .init = init_turned, .actors = {switcher, carrier}, .arbiter = lies_there, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the switch was still off"},
		    {"1,1", REQUIRED, "the event was written into the ring"},
		    {"*,*", FORBIDDEN, "the event was written outside the ring"},
	    });

STRESS_TWIN(event_ring_shown_first, .of = "event_ring_switch",
	    .defect = "The switch is on before the rings are initialized.", .shows = "1,0",
	    .seen_by = SEEN_EXPLORED, .chance = SEEN_CORES);
