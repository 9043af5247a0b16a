/* stress.h - declares a race: state, actors, arbiter, graded outcomes and twins.
 *
 * A scenario is data. It names the claim that it tries to break, and the invariant in specs/ of
 * which this claim is an instance. Its actors run the real kernel functions, at the same time, on
 * one fresh state. An actor records what it saw in the result; when all actors have ended, the
 * arbiter may add to the result. The first `results` numbers, joined by commas, are the outcome. An
 * actor that would sleep for ever makes the outcome "asleep", one that would loop for ever "stuck".
 *
 * A scenario file does not depend on the engine that runs it, and has no main and no mutable static
 * data. A twin is one named defect. A defect in the kernel is an edit of its text (stress/twins/);
 * one in the actors is a branch on wp_twin(<name>). A twin must show an outcome that the scenario
 * forbids.
 *
 * Spec      none: this is the language. Evidence  tests/judge/stress/test_stress.py. */
#ifndef WP_STRESS_H
#define WP_STRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/order.h"
#include "twin.h"

enum { STRESS_RESULTS = 8, STRESS_ACTORS = 16, STRESS_OUTCOMES = 64 };

/* Zeroed for each actor. The numbers that several actors store in the same place are added up. */
typedef struct stress_result {
	int64_t r[STRESS_RESULTS];
} stress_result;

typedef void stress_actor(void *state, stress_result *result);

enum stress_grade {
	ACCEPTABLE = 1, /* expected by the claim */
	INTERESTING,    /* allowed, and worth a look */
	FORBIDDEN,      /* breaks the claim: one sample fails */
	REQUIRED,       /* must be seen within min_samples on at least 2 CPUs; not judged before */
	LOST_WORK, /* FORBIDDEN, because an accepted task was not run: the class of the failure */
};

/* "0,1" matches exactly these numbers; "*" in a place stands for any number there; "*" alone stands
 * for all other numbers; "asleep" and "stuck" are above. The first pattern that matches grades an
 * outcome, so "*" alone comes last. */
typedef struct stress_outcome {
	const char *pattern;
	enum stress_grade grade;
	const char *reason;
} stress_outcome;

/* The judges that must see a twin. A judge that is neither in seen_by nor in chance must not see
 * it. */
enum stress_judge {
	SEEN_CHECK = 1 << 0,   /* TLC: MC<Concept>_<defect> is in specs/ and fails */
	SEEN_STRESS = 1 << 1,  /* real cores, plain build (x86-64) */
	SEEN_DELAYED = 1 << 2, /* real cores, each access delayed at random */
	SEEN_SC = 1 << 3,      /* explorer, sequential consistency */
	SEEN_TSO = 1 << 4,     /* explorer, x86-TSO */
	SEEN_RC11 = 1 << 5,    /* explorer, RC11 */
	SEEN_CORES = SEEN_STRESS | SEEN_DELAYED,
	SEEN_EXPLORED = SEEN_SC | SEEN_TSO | SEEN_RC11,
	SEEN_ALL = SEEN_CHECK | SEEN_CORES | SEEN_EXPLORED,
};

typedef struct stress_test {
	const char *name;    /* <concept>_<what>; unique */
	const char *claim;   /* a whole sentence */
	const char *upholds; /* "Module!Claim" in specs/, if there is one */
	size_t state_size;   /* bytes; a state is zeroed before init */
	void (*init)(void *state);
	/* Runs after the arbiter, and also when an actor was rescued from its sleep. */
	void (*fini)(void *state);
	/* Here and in outcomes the array has one place more than is allowed, so that one entry too
	 * many is refused by name, where the compiler would only warn and drop it. */
	stress_actor *actors[STRESS_ACTORS + 1];
	/* Runs alone after all actors; not after "asleep" or "stuck". Its result starts with the
	 * sum of the actors' results. */
	stress_actor *arbiter;
	int results;  /* how many of r[] make the outcome */
	int blocking; /* 1: an actor may sleep (futex): one state at a time, watched */
	/* Not 0: the scenario is too large to be explored whole. SC is explored with at most this
	 * number of preemptions, TSO with one less; RC11 is sampled. */
	int preemptions;
	/* The models, of SEEN_SC and SEEN_TSO, under which it is explored whole nevertheless. Twins
	 * are searched for within the bound first. */
	unsigned whole;
	/* In the explorer, at most this number of each actor's heavy fences fail; any may. */
	int failing_heavy;
	uint64_t min_samples; /* REQUIRED is judged only from this number of samples on */
	stress_outcome outcomes[STRESS_OUTCOMES + 1];
	const struct stress_loops *loops; /* the engine's, made by STRESS_TEST */
} stress_test;

typedef struct stress_twin {
	const char *name;   /* <concept>_<defect>; the macro is WP_TWIN_<name> */
	const char *of;     /* the scenario that must show it */
	const char *defect; /* what is wrong, in one sentence */
	const char *shows;  /* the outcome pattern that betrays it */
	unsigned seen_by;   /* judges that must see it */
	unsigned chance;    /* judges that see it by chance only */
} stress_twin;

void stress_add_test(const stress_test *test);
void stress_add_twin(const stress_twin *twin);

/* STRESS_ACTOR(carrier) { ... }: an actor, or an arbiter, in a file whose state is a `struct
 * state`, with its two parameters: `state` and `result`. STRESS_INIT(init) { ... }: an init, with
 * `state`. STRESS_ACTOR_OF(turns, carrier), STRESS_INIT_OF: where the state is a `struct turns`.
 * STRESS_ACTOR_CALL(producer_1, produce(state, 0)): an actor that is one call. */
#define STRESS_ACTOR(name_) STRESS_ACTOR_OF(state, name_)
#define STRESS_INIT(name_) STRESS_INIT_OF(state, name_)
#define STRESS_ACTOR_OF(state_, name_)                                         \
	static void name_##_acts(struct state_ *state, stress_result *result); \
	static void name_(void *at, stress_result *result)                     \
	{                                                                      \
		name_##_acts(at, result);                                      \
	}                                                                      \
	static void name_##_acts(struct state_ *state, stress_result *result)
#define STRESS_ACTOR_CALL(name_, call_) \
	STRESS_ACTOR(name_)             \
	{                               \
		call_;                  \
	}
#define STRESS_INIT_OF(state_, name_)                       \
	static void name_##_prepares(struct state_ *state); \
	static void name_(void *at)                         \
	{                                                   \
		name_##_prepares(at);                       \
	}                                                   \
	static void name_##_prepares(struct state_ *state)

#include "harness/engine/loops.h"

/* STRESS_TEST(guard, .claim = ..., ...): one scenario. STRESS_TWIN(race_early, .of = "race", ...):
 * a defect in this file, as a branch on wp_twin(race_early). Edits of the kernel are in twins/. */
#define STRESS_TEST(name_, ...)                                                 \
	static const stress_test stress__test_##name_;                          \
	STRESS__LOOPS(name_)                                                    \
	static const stress_test stress__test_##name_ = {                       \
		.name = #name_, .loops = &stress__loops_##name_, __VA_ARGS__};  \
	__attribute__((constructor)) static void stress__add_test_##name_(void) \
	{                                                                       \
		stress_add_test(&stress__test_##name_);                         \
	}                                                                       \
	typedef int stress__test_##name_##_declared
#define STRESS_TWIN(name_, ...)                                                        \
	static const stress_twin stress__twin_##name_ = {.name = #name_, __VA_ARGS__}; \
	__attribute__((constructor)) static void stress__add_twin_##name_(void)        \
	{                                                                              \
		stress_add_twin(&stress__twin_##name_);                                \
	}                                                                              \
	typedef int stress__twin_##name_##_declared

#endif
