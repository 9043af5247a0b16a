/* Outcomes of real cores against outcomes of the models: one scenario for each way to differ. */
#include "litmus.h"
#include "stress.h"

struct state {
	wp_atomic(uint32_t) x, y;
};

#define ACTOR(name, ...)    \
	STRESS_ACTOR(name)  \
	{                   \
		__VA_ARGS__ \
	}
#define BASE(claim_, ...)                                                            \
	.claim = claim_, .upholds = "None!None", .state_size = sizeof(struct state), \
	.actors = {__VA_ARGS__}, .results = 2
#define TEST(name_, ...)                      \
	STRESS_TEST(name_, BASE(__VA_ARGS__), \
		    .outcomes = {{"*,*", ACCEPTABLE, "judged by the models"}})

ACTOR(send, litmus_store(&state->x, 1, relaxed); litmus_store(&state->y, 1, relaxed);)
ACTOR(receive, result->r[0] = litmus_load(&state->y, relaxed);
      result->r[1] = litmus_load(&state->x, relaxed);)

TEST(allowed_message, "Relaxed, the flag may come before the message: not on x86.", send, receive);

ACTOR(write_x, litmus_store(&state->x, 1, relaxed);)
ACTOR(write_y, litmus_store(&state->y, 1, relaxed);)
ACTOR(read_xy, uint32_t x = litmus_load(&state->x, relaxed);
      result->r[0] = x * 2 + litmus_load(&state->y, relaxed);)
ACTOR(read_yx, uint32_t y = litmus_load(&state->y, relaxed);
      result->r[1] = litmus_load(&state->x, relaxed) * 2 + y;)

TEST(allowed_readers, "Relaxed, two readers may disagree on an order: not on x86.", write_x,
     write_y, read_xy, read_yx);

/* Natively these are plain loads, and the compiler drops the second load of x. Explored, they are
 * relaxed. */
#ifdef WP_EXPLORE
#define MAYBE_PLAIN(p) litmus_load(p, relaxed)
#else
#define MAYBE_PLAIN(p) (*(uint32_t *)(void *)(p))
#endif

STRESS_ACTOR(receive_twice)
{
	if (MAYBE_PLAIN(&state->x)) {
		result->r[0] = result->r[1] = 2;
		return;
	}
	result->r[0] = MAYBE_PLAIN(&state->y);
	result->r[1] = MAYBE_PLAIN(&state->x);
}

STRESS_TEST(allowed_reordered,
	    BASE("x is read after y, but a compiler may know it from before.", send, receive_twice),
	    .min_samples = 1000000,
	    .outcomes = {
		    {"1,0", REQUIRED, "x is from before y"},
		    {"*,*", ACCEPTABLE, "in order"},
	    });

/* Two builds that differ: the code that runs natively is not the code that was explored. */
#ifdef WP_EXPLORE
#define TWO 1
#else
#define TWO 2
#endif

ACTOR(write_two, litmus_store(&state->x, wp_twin(allowed_twice) ? TWO * 2 + 1 : TWO, relaxed);)

TEST(allowed_other_build, "What is explored must be what runs.", write_two, receive);

STRESS_TWIN(allowed_twice, .of = "allowed_other_build", .defect = "More is written.",
	    .shows = "asleep", .chance = SEEN_STRESS | SEEN_SC | SEEN_TSO | SEEN_RC11);

/* Natively it runs. The explorer finds that its plain accesses race, so nothing is forbidden. */
ACTOR(write_plainly, *(volatile uint32_t *)(void *)&state->x = 1;)

TEST(allowed_race, "A data race has no allowed set.", write_plainly, receive);
