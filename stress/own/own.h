/* SPDX-License-Identifier: Apache-2.0
 * own.h - shared by the parts that explore a program in C or C++ as its author wrote it.
 *
 *   own_main.c      the program: options, models, one line of JSON for each
 *   own_replay.c    runs the program as an execution graph says; positions
 *   own_past.c      positions that follow from what has happened before
 *   own_fibers.c    threads as fibers: a stack and a block of thread-local storage for each
 *   own_hooks.c     the compiler's hooks: atomic operations, plain accesses
 *   own_memory.c    tracked memory: locations, races, what a thread has written
 *   own_heap.c      malloc and free
 *   own_threads.c   threads of POSIX and C11, keys
 *   own_locks.c     mutexes, conditions and the like
 *   own_futex.c     the system calls futex and membarrier
 *   own_cxx.c       what C++ compilers call: new, delete, guards of static variables
 *   own_libc.c      printing, time, string functions, the ends of a process
 *   own_files.c     descriptors that threads wait on: eventfd, pipes, poll, epoll
 *   own_history.c   the calls and returns of an object's operations, for wakeproof linear
 *   own_system.c    what the standard library of Rust asks of the system
 *   own_start.c     the `main` that is linked to the program
 *   own_stress.c    the `main` of a scenario
 *
 *   program                               engine
 *   an atomic operation: asks, pauses     takes the step, when and as the model allows
 *   goes on with the value                wants to know where the thread stands after a graph:
 *                                         runs all threads again, as that graph says
 *
 * Why it works  A graph says which step each thread takes, in which order, and what each read
 *               returns. Threads run one at a time, each up to its next step, in an order that keeps
 *               program order and reads-from. So a plain access without a race finds the bytes that
 *               it must find. A race is found by clocks, and ends the execution.
 * Spec          none.
 * Evidence      tests/judge/own. */
#ifndef WP_OWN_H
#define WP_OWN_H

#include "graph.h"

enum {
	OWN_HEAP = 1 << 21,  /* bytes of a thread's heap */
	OWN_STACK = 1 << 19, /* bytes of a thread's stack */
	OWN_FILES = 1 << 19, /* bytes behind the heap for the descriptors that a thread makes */
	OWN_SLOT = 1 << 22,  /* bytes of a thread's part of the arena */
	OWN_KEYS = 32,
	OWN_ENDS = 32,
	OWN_EXITS = 64,
	OWN_SITES = 4096,
	OWN_NOTHING = -1,
	OWN_MESSAGE = 320,
	OWN_PRINTED = 96,   /* bytes that a thread may print; of more, the last three are dots */
	OWN_SAID = 160,     /* to the standard error stream, by write */
	OWN_HISTORY = 1024, /* bytes of a thread's calls and returns */
	OWN_RETURNS = 32,
	OWN_PENDING = 256,
	OWN_AWAITS = 16,
	OWN_START_S = 1000000000, /* the time at which each execution begins */
	OWN_CODE_END = 1 << 28,   /* the code of a program, linked without -pie, lies below */
};

/* Fixed, so that an address means the same in each run. */
#define OWN_BASE ((char *)0x200000000000)
#define OWN_PC __builtin_return_address(0)
/* Words of the runtime's own: of own_files.c and of own_history.c. */
#define OWN_ANY_FILE (OWN_BASE + OWN_HEAP)
#define OWN_CLOCK (OWN_BASE + OWN_HEAP + 8)
/* A lock, and a word for each thread (own_futex.c). */
#define OWN_MOVED (OWN_BASE + OWN_SLOT + OWN_HEAP + OWN_FILES - 128)

typedef struct own_digest {
	uint64_t a, b;
} own_digest;

typedef struct own_written { /* a plain write that is announced, and done at the next step */
	char *at;
	size_t size;
	const void *from;
	bool is_marked; /* some of its bytes are a location */
	bool is_relaxed;
} own_written;

typedef struct own_await { /* a load in a loop that waits, however long it takes */
	const void *at, *from;
	uint64_t value;
	own_digest digest;
} own_await;

typedef struct own_exit { /* what is to be done when the program ends */
	void (*run)(void);
	void (*destroy)(void *); /* if there is no `run` */
	void *object;
} own_exit;

/* A thread of the program. */
typedef struct own_fiber {
	char *stack_end, *pointer; /* of the stack; where the paused fiber stands on it */
	char *lowest;              /* the lowest byte of the stack that was ever used */
	char *tcb;           /* thread control block, with the thread-local storage below it */
	explore_step asked;  /* the step that it wants to take */
	explore_clock clock; /* what happens before its next access */
	int segment;         /* the number of its nodes so far */
	uint32_t creates;    /* threads that it has created */
	const void *joined_from, *detached_from; /* where another thread has; NULL: none has */
	uint32_t keys_created, files_made;
	own_digest writes; /* of the bytes that it has written, as far as they have changed */
	own_written pending[OWN_PENDING];
	int pending_count;
	uint64_t clock_ns;
	void *keys[OWN_KEYS];
	struct { /* destructors of its thread_local objects */
		void (*destroy)(void *);
		void *object;
	} ends[OWN_ENDS];
	uint32_t ends_count;
	own_exit exits[OWN_EXITS]; /* own_cxx.c */
	int exits_count;
	char printed[OWN_PRINTED];
	uint32_t printed_size;
	char said[OWN_SAID];
	uint32_t said_size;
	char history[OWN_HISTORY]; /* own_history.c */
	uint32_t history_size;
	int returned_in[OWN_RETURNS]; /* segments */
	int returns;
	const void *spin_at, *spin_from; /* the load that was the last step, of a loop that waits */
	uint64_t spin_value;
	own_await awaits[OWN_AWAITS]; /* the loads that were its last steps, the newest last */
	int awaits_count;
	bool is_awaiting;
	const own_digest *again; /* it stands where it stood then */
	int64_t heap_state;      /* own_heap.c: a hash of its free blocks */
} own_fiber;

/* Without spaces at its end. */
static inline int own_said_size(const own_fiber *fiber)
{
	int size = (int)fiber->said_size;

	while (size && fiber->said[size - 1] == ' ')
		size--;
	return size;
}

extern own_fiber own_fibers[EXPLORE_THREADS];
extern own_fiber *own_now; /* the fiber that runs; NULL: the engine, or code before main */
extern explore_program own_program;
extern int (*own_main)(int, char **, char **);
extern char **own_arguments;
extern const void *own_code[EXPLORE_THREADS]; /* the function with which each thread begins */
extern bool own_has_raced;                    /* in the execution that was run last */
/* The step depends on the thread's own state alone, so it need not be run again. */
extern bool own_is_pure;
/* Adds `value` at `of` to what the running thread is, as long as it is not taken away again. */
void own_hold(const void *of, uint64_t value, bool adds);
extern bool own_volatile_is_relaxed, own_has_volatile; /* it has made a volatile access */
extern bool own_may_leak, own_is_sc;                   /* the model is SC */
extern const void *own_last; /* where the program was when it called the runtime last */

static inline int own_thread(void)
{
	return (int)(own_now - own_fibers);
}

/* own_main.c: sets the program's error, unless it is set already. */
__attribute__((format(printf, 1, 2))) void own_refuse(const char *format, ...);
__attribute__((format(printf, 1, 2))) const char *own_text(const char *format, ...);
uint32_t own_site(const void *from, const char *what);
/* Operations in Rust's standard library that the explorer knows by where they are called. */
enum own_std { OWN_LOCK, OWN_UNLOCK, OWN_SPIN, OWN_AWAIT, OWN_STDS };
bool own_is_std(enum own_std kind, const void *from);

/* own_fibers.c */
bool own_make_fibers(void);
extern bool own_has_arena; /* false: the fixed addresses are taken */
void own_begin(own_fiber *fiber);
/* Runs the fiber to its next step. False: it cannot go on; an error or the step EXPLORE_FAIL says
 * why. */
bool own_resume(own_fiber *fiber);
void own_pause(void); /* called on the fiber */
size_t own_tls_size(void);
/* The bytes with which thread-local storage begins; NULL: the place is none. */
const char *own_tls_image(const char *at);

/* own_replay.c */
void own_make_program(explore_program *program);
void own_forget(void);
own_digest own_digest_of(const own_fiber *fiber); /* of the place where it stands */
bool own_has_ended(int thread); /* it was created, and has ended before, for sure */
bool own_is_alone(void);        /* every thread that was created has */
/* Every location gets the last value of its modification order, but for those on the stack below
 * `stack`, where the runtime stands. */
void own_settle_all(const char *stack);

bool own_ends_step(const explore_graph *graph, const explore_node *node, uint64_t *value);
/* A step that depends on the thread's own state alone was run before. */
bool own_is_known(int t, explore_position from, uint64_t value, bool failed);

/* own_past.c */
/* The step that runs depends on the thread's own state, and on memory as what happens before has
 * left it; `own_is_whole`: and on the last value of each location. */
extern bool own_is_causal, own_is_whole;
extern bool own_has_bare_code; /* the program has code without hooks */
void own_begin_step(void);
void own_note_access(const char *at, size_t size, bool writes); /* by the step that runs */
void own_end_step(void);
/* The step that ended last was the last one of the thread in the graph. */
void own_know(const explore_graph *graph, int t, explore_position position);
/* EXPLORE_UNKNOWN: the graph has to be run. */
explore_position own_recall(const explore_graph *graph, int t);
void own_begin_search(void); /* main has run to its first step */
void own_forget_pasts(void);

/* own_hooks.c: one step of the running fiber; returns its value. Before main, acts directly. */
uint64_t own_step(explore_step step, void *at, const char *what, const void *from);
extern uint64_t own_given;
extern bool own_given_failed;
uint64_t own_load(void *at, int size, int order, const char *what, const void *from);
void own_store(void *at, int size, uint64_t value, int order, const char *what, const void *from);
uint64_t own_update(int kind, void *at, int size, uint64_t value, int order, const char *what,
		    const void *from);
bool own_cas(void *at, int size, uint64_t expected, uint64_t value, int order, const char *what,
	     const void *from);
/* The running fiber has done what ends an execution. */
_Noreturn void own_fail(const char *text, bool is_crash, bool is_race, const void *from);

/* own_memory.c */
bool own_make_memory(void);
void own_reset_memory(void);
/* Another model: what was learned under the last one is forgotten, so the order of models is
 * of no effect. */
void own_unlearn_memory(void);
void own_unlearn_heap(void);
void own_unlearn_threads(void);
int own_location(char *at, int size, const char *what);
char *own_place(int location);
size_t own_data(const char **at); /* the bytes of the program's data, which begin at `at` */
/* A plain access: looks for races. One of a location is a step. */
void own_plain(char *at, size_t size, bool writes, bool is_volatile, const void *from);
/* Fills memory now, for malloc or free. */
void own_clobber(char *at, size_t size, unsigned char byte, const char *what, const void *from);
void own_unmark(char *at, size_t size); /* no byte of it belongs to a location any more */
void own_settle(void); /* turns announced writes, which are done by now, into steps */

/* own_heap.c */
bool own_keep_heap(void); /* what it holds now is there when main begins */
void own_reset_heap(void);
/* The byte with which the heap begins; NULL: a fresh one. */
const char *own_heap_image(const char *at);
void own_check_heap(const char *at, size_t size, bool writes, const void *from);
void *own_malloc_from(size_t size, size_t alignment, const void *from);
void own_free_from(void *at, const void *from);
/* Atomic objects of two owners of this block overlap: explores again, with one owner for it. False:
 * it has one. */
bool own_hand_out_once(const char *at);
/* Main ends: fails if a block was lost. `stack`: the lowest byte of the stack that is alive. */
void own_find_leaks(const char *stack);
size_t own_size_of(const void *at); /* of the block that begins here; 0: none does */

/* own_locks.c: the clock of the running thread shows at least this time. */
struct timespec;
void own_pass_until(const struct timespec *until);
/* A lock of the runtime's own: a word of 4 bytes. */
void own_lock_word(void *at, const char *what, const void *from);
void own_unlock_word(void *at, const char *what, const void *from);
/* Sleeps if the word holds the value. Returns an explore_woken. */
uint64_t own_sleep_on(void *at, uint32_t value, bool has_deadline, const char *what,
		      const void *from);
uint64_t own_wake(void *at, uint64_t most, const char *what, const void *from);

/* own_futex.c */
enum { OWN_IS_MOVED = 64 }; /* `expected` of a wake that moves; what the sleeper's wait returns */
void own_unlearn_futexes(void);
void own_reset_futexes(void);

/* own_history.c: the outcome of an execution with this history, instead of what is printed; false:
 * the program has made no calls. */
bool own_history_outcome(const char *const histories[EXPLORE_THREADS], char text[EXPLORE_TEXT]);

/* own_files.c */
struct pollfd;
bool own_is_file(int number); /* no standard stream */
long own_read(int number, void *into, size_t size, const void *from);
long own_write(int number, const void *bytes, size_t size, const void *from);
int own_poll(struct pollfd *streams, unsigned long count, int limit_ms, const void *from);
/* The descriptor to which this memory of the runtime belongs; OWN_NOTHING: to none. */
int own_file_at(const char *at);
void own_unlearn_files(void);
void own_reset_files(void);

/* own_cxx.c */
void own_run_ends(void);  /* of the thread */
void own_run_exits(void); /* of the program, on main */

/* own_libc.c: to the standard output, or to the standard error stream. */
void own_print(const char *text, size_t size, bool is_error);
_Noreturn void own__exit(int code);

/* own_threads.c */
/* `stack`: of main, the lowest byte of the stack that is alive. */
_Noreturn void own_end_thread(void *result, const char *stack);
void *own_start(uint64_t start); /* runs what the thread begins with */
void own_reset_keys(void);
/* Why a program ends with a code: what its thread has said, and another one that said something. */
const char *own_why(const char *what, int code);

/* The names of the modelled functions in the objects of the program: own__malloc for malloc. */
#define OWN(type, name, ...)           \
	type own__##name(__VA_ARGS__); \
	type own__##name(__VA_ARGS__)

static inline own_digest own_mix(own_digest digest, uint64_t word)
{
	digest.a = (digest.a ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	digest.a ^= digest.a >> 32;
	digest.b = (digest.b + word) * UINT64_C(0xff51afd7ed558ccd);
	digest.b ^= digest.b >> 29;
	return digest;
}

#endif
