/* A futex mutex (0 free, 1 taken, 2 taken and a thread may sleep) that three threads take twice
 * each; a thread that waits for another in a loop; and values that a thread has read and no longer
 * needs. */
#include "stress.h"

#include "base/futex.h"
#include "litmus.h"

struct state {
	wp_atomic(uint32_t) lock;
	int inside;
	wp_atomic(int) flag, seen[4];
};

static void acquire(struct state *state)
{
	uint32_t was = 0;

	if (litmus_cas(&state->lock, &was, 1, acquire, relaxed))
		return;
	while (litmus_exchange(&state->lock, 2, acquire) != 0)
		wp_futex_wait(&state->lock, 2, WP_FOREVER);
}

static void release(struct state *state)
{
	if (litmus_exchange(&state->lock, 0, release) == 2 && !wp_twin(mutexes_silent))
		wp_futex_wake(&state->lock, 1);
}

STRESS_ACTOR(locker)
{
	for (int turn = 0; turn < 2; turn++) {
		acquire(state);
		result->r[0] += state->inside;
		state->inside = 1;
		litmus_step();
		state->inside = 0;
		release(state);
	}
}

STRESS_TEST(mutexes, .claim = "One at a time is inside.", .state_size = sizeof(struct state),
	    .actors = {locker, locker, locker}, .results = 1, .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "one at a time"}, {"asleep", FORBIDDEN, "forgotten"}});

STRESS_TWIN(mutexes_silent, .of = "mutexes", .defect = "a release wakes nobody", .shows = "asleep",
	    .seen_by = SEEN_SC | SEEN_TSO);

/* The values that it has read lie on its stack, but only whether all were 1 matters. */
STRESS_ACTOR(reader)
{
	volatile int read[4];

	for (int at = 0; at < 4; at++)
		read[at] = litmus_load(&state->seen[at], relaxed);
	result->r[0] = read[0] && read[1] && read[2] && read[3];
	for (int at = 0; at < 4; at++)
		litmus_step();
}

STRESS_ACTOR(writer)
{
	for (int at = 0; at < 4; at++)
		litmus_store(&state->seen[at], 1, relaxed);
}

STRESS_TEST(leftovers, .claim = "What was read and is not needed makes no states.",
	    .state_size = sizeof(struct state), .actors = {reader, writer}, .results = 1,
	    .outcomes = {{"0", ACCEPTABLE, "some were read before"},
			 {"1", ACCEPTABLE, "none was"}});

/* No thread sets the flag. The waiter goes round for ever, with other things on its stack in each
 * second turn. */
STRESS_ACTOR(waiter)
{
	volatile int turn = 0;

	while (!litmus_load(&state->flag, relaxed))
		turn ^= 1;
	result->r[0] = 1;
}

STRESS_ACTOR_CALL(bystander, litmus_store(&state->seen[0], 1, relaxed))

STRESS_TEST(turns, .claim = "It ends.", .state_size = sizeof(struct state),
	    .actors = {waiter, bystander}, .results = 1,
	    .outcomes = {{"1", ACCEPTABLE, "it ended"}, {"stuck", ACCEPTABLE, "it went round"}});
