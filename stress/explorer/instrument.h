/* SPDX-License-Identifier: Apache-2.0
 * explorer/instrument.h - turns each operation of the kernel into a call of the explorer
 * (compiled_steps.c).
 *
 * kernel/base/instrument.h, which names every macro, includes this file if -DWP_INSTRUMENT names
 * it. */
#ifndef WP_EXPLORER_INSTRUMENT_H
#define WP_EXPLORER_INSTRUMENT_H

#include <sched.h>
#include <stdint.h>

enum wp__explored { /* as enum explore_kind */
		    WP__EXPLORE_LOAD = 1,
		    WP__EXPLORE_STORE,
		    WP__EXPLORE_EXCHANGE,
		    WP__EXPLORE_ADD,
		    WP__EXPLORE_OR,
		    WP__EXPLORE_AND,
		    WP__EXPLORE_CAS,
		    WP__EXPLORE_FENCE,
		    WP__EXPLORE_LIGHT_FENCE,
		    WP__EXPLORE_HEAVY_FENCE,
		    WP__EXPLORE_WAIT,
		    WP__EXPLORE_WAKE,
		    WP__EXPLORE_PLAIN_STORE = 14,
		    WP__EXPLORE_LOCAL,
		    WP__EXPLORE_ABANDON = 17,
		    WP__EXPLORE_FAIL = 18,
		    WP__EXPLORE_CHOOSE = 19,
};

typedef struct wp__explore_site {
	const char *file;
	int line;
	const char *what;
} wp__explore_site;

/* Does one operation and returns its value. */
uint64_t wp__explore(int kind, const volatile void *place, unsigned size, int order,
		     uint64_t operand, uint64_t expected, const wp__explore_site *site);
/* The same for a compare-and-swap. On failure *expected receives the value that was there. */
_Bool wp__explore_cas(const volatile void *place, unsigned size, int order, int fail_order,
		      void *expected, uint64_t desired, _Bool is_weak,
		      const wp__explore_site *site);
/* An eventfd. The init of a scenario opens it; later it is signalled, or read and so emptied. */
int wp__explore_event_open(void);
uint64_t wp__explore_event(int event, _Bool takes, const wp__explore_site *site);

/* A loop waits for another thread and changes memory on each turn, so only a bounded number of
 * turns is explored. */
void wp__explore_yield(void);

#define WP__SITE(what) (&(const wp__explore_site){__FILE__, __LINE__, what})
#define WP__VALUE_OF(p) __typeof__(atomic_load_explicit((p), memory_order_relaxed))
/* `v` as the atomic holds it: a bool is 0 or 1, a float has its bits. */
#define WP__BITS(p, v)                                                      \
	__extension__({                                                     \
		WP__VALUE_OF(p) wp__value = (v);                            \
		uint64_t wp__bits = 0;                                      \
		__builtin_memcpy(&wp__bits, &wp__value, sizeof(wp__value)); \
		wp__bits;                                                   \
	})
#define WP__IS_WORD(p)                                                              \
	_Static_assert(sizeof(*(p)) <= 8 && !(sizeof(*(p)) & (sizeof(*(p)) - 1)) && \
			       sizeof(*(p)) == sizeof(WP__VALUE_OF(p)),             \
		       "the explorer takes atomics of 1, 2, 4 or 8 bytes, unpadded: " #p)
#define WP__IS_INTEGER(p)                              \
	_Static_assert(_Generic(*(WP__VALUE_OF(p) *)0, \
			       char: 1,                \
			       signed char: 1,         \
			       unsigned char: 1,       \
			       short: 1,               \
			       unsigned short: 1,      \
			       int: 1,                 \
			       unsigned: 1,            \
			       long: 1,                \
			       unsigned long: 1,       \
			       long long: 1,           \
			       unsigned long long: 1,  \
			       default: 0),            \
		       "fetch_add, fetch_or and fetch_and take integers, nothing else: " #p)
#define WP__ACT(kind, p, bits, order)                                                       \
	__extension__({                                                                     \
		WP__IS_WORD(p);                                                             \
		uint64_t wp__got = wp__explore(kind, (p), sizeof(*(p)), (order), (bits), 0, \
					       WP__SITE(#kind " " #p));                     \
		WP__VALUE_OF(p) wp__old;                                                    \
		__builtin_memcpy(&wp__old, &wp__got, sizeof(wp__old));                      \
		wp__old;                                                                    \
	})
#define WP__FETCH(kind, p, v, order)                     \
	__extension__({                                  \
		WP__IS_INTEGER(p);                       \
		WP__ACT(kind, p, WP__BITS(p, v), order); \
	})

#define WP__INIT(p, v) ((void)WP__ACT(WP__EXPLORE_PLAIN_STORE, p, WP__BITS(p, v), 0))
#define WP__LOAD(p, order) WP__ACT(WP__EXPLORE_LOAD, p, 0, order)
#define WP__STORE(p, v, order) ((void)WP__ACT(WP__EXPLORE_STORE, p, WP__BITS(p, v), order))
#define WP__EXCHANGE(p, v, order) WP__ACT(WP__EXPLORE_EXCHANGE, p, WP__BITS(p, v), order)
#define WP__FETCH_ADD(p, v, order) WP__FETCH(WP__EXPLORE_ADD, p, v, order)
#define WP__FETCH_OR(p, v, order) WP__FETCH(WP__EXPLORE_OR, p, v, order)
#define WP__FETCH_AND(p, v, order) WP__FETCH(WP__EXPLORE_AND, p, v, order)
#define WP__CAS_AS(p, expected, v, order, fail_order, is_weak)                             \
	__extension__({                                                                    \
		WP__IS_WORD(p);                                                            \
		_Bool wp__took = wp__explore_cas((p), sizeof(*(p)), (order), (fail_order), \
						 (expected), WP__BITS(p, v), (is_weak),    \
						 WP__SITE("WP__EXPLORE_CAS " #p));         \
		wp__took;                                                                  \
	})
#define WP__CAS(p, expected, v, order, fail_order) WP__CAS_AS(p, expected, v, order, fail_order, 0)
#define WP__CAS_WEAK(p, expected, v, order, fail_order) \
	WP__CAS_AS(p, expected, v, order, fail_order, 1)
#define WP__FENCE(order) \
	((void)wp__explore(WP__EXPLORE_FENCE, 0, 0, (order), 0, 0, WP__SITE("WP__EXPLORE_FENCE")))
#define WP__LIGHT_FENCE()                                                             \
	((void)wp__explore(WP__EXPLORE_LIGHT_FENCE, 0, 0, memory_order_seq_cst, 0, 0, \
			   WP__SITE("WP__EXPLORE_LIGHT_FENCE")))
#define WP__HEAVY_FENCE()                                                                          \
	__extension__({                                                                            \
		_Bool wp__works = wp__explore(WP__EXPLORE_HEAVY_FENCE, 0, 0, memory_order_seq_cst, \
					      0, 0, WP__SITE("WP__EXPLORE_HEAVY_FENCE")) != 0;     \
		wp__works;                                                                         \
	})

#define WP__STEP() \
	((void)wp__explore(WP__EXPLORE_LOCAL, 0, 0, 0, 0, 0, WP__SITE("WP__EXPLORE_LOCAL")))
#define WP__YIELD() wp__explore_yield()
/* Any of 0 .. n - 1; each is explored. For scenarios only: litmus.h has the native form. */
#define WP__CHOOSE(n) \
	((unsigned)wp__explore(WP__EXPLORE_CHOOSE, 0, 0, 0, (n), 0, WP__SITE("choose")))

#define WP__FENCE_SEQ_CST() WP__FENCE(memory_order_seq_cst)
#define WP__WAIT_A_TURN(turns) ((void)(turns)) /* a count would make each turn another state */
#define WP__COUNTED(count) ((void)0)           /* counts would multiply the states */

/* Sizes with which a queue is full, a number wraps and a bound is reached within few steps. */
#ifndef WP_LOCAL_CAPACITY
#define WP_LOCAL_CAPACITY 4
#endif
#define WP_TICKET_NUMBER uint8_t
#define WP_MUTEX_BYPASSES 2
#define WP_EVENT_RING_WORDS 6

#endif
