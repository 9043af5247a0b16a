/* SPDX-License-Identifier: Apache-2.0
 * own_memory.c - the memory that an explored program shares: its data, and the arena of heaps,
 * stacks and thread-local storage.
 *
 *   a byte that an atomic operation has used   belongs to a location: each access is a step
 *   any other byte                             a cell: who has accessed it, and when
 *
 * Why it works  Threads are run in an order that keeps happens-before. So of two accesses that race,
 *               the second finds the first one in the cell, and does not have it in its clock
 *               (FastTrack). A byte that was accessed as plain and turns out to belong to a location
 *               starts the exploration again.
 *               The compiler announces a plain store before it is done. It is done when the thread
 *               takes its next step; its value is read from memory then.
 * Paper         FastTrack: Flanagan, Freund, PLDI 2009.
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "own.h"

enum { ARENA = EXPLORE_THREADS * OWN_SLOT, FRESH = 0xa5 };

typedef struct cell {
	uint32_t generation;
	/* The thread that has taken the old contents off its `writes`, and not added the new ones
	 * yet, + 1; 0: none. */
	int8_t open_by;
	int16_t written_in;               /* the segment of the last write */
	int8_t writer;                    /* or OWN_NOTHING */
	uint16_t readers;                 /* a bit for each thread that has read it */
	int16_t read_in[EXPLORE_THREADS]; /* + 1; of the readers */
	const void *write_from, *read_from;
} cell;

static char *data_at, *data_image;
static size_t data_size, tracked;
static cell *cells;
static int16_t *marks; /* number of the location + 1; its other bytes: -(number + 1) */
static bool *is_plain; /* accessed as plain, in any execution */
static uint32_t generation = 1;
/* Whose stack and thread-local storage other threads have accessed, in any execution. */
static bool is_shared[EXPLORE_THREADS];
static struct {
	char *at;
	int size;
	char name[32];
} places[EXPLORE_LOCATIONS];

/* The writable part of the program itself, without what the linker has made read-only. */
static int find_data(struct dl_phdr_info *info, size_t size, void *unused)
{
	char *base = (char *)(uintptr_t)info->dlpi_addr, *read_only = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
			read_only = base + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		char *at = base + part->p_vaddr, *end = at + part->p_memsz;

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
			continue;
		data_at = read_only > at && read_only <= end ? read_only : at;
		data_size = (size_t)(end - data_at);
	}
	return 1; /* the first object is the program */
}

static void *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

bool own_make_memory(void)
{
	dl_iterate_phdr(find_data, NULL);
	tracked = data_size + ARENA;
	cells = map(tracked * sizeof(*cells));
	marks = map(tracked * sizeof(*marks));
	is_plain = map(tracked);
	data_image = malloc(data_size + 1);
	if (!cells || !marks || !is_plain || !data_image)
		return false;
	memcpy(data_image, data_at, data_size);
	return true;
}

void own_unlearn_memory(void)
{
	madvise(cells, tracked * sizeof(*cells), MADV_DONTNEED); /* zero again */
	madvise(marks, tracked * sizeof(*marks), MADV_DONTNEED);
	madvise(is_plain, tracked, MADV_DONTNEED);
	memset(is_shared, 0, sizeof(is_shared));
	own_program.locations = 0;
}

void own_reset_memory(void)
{
	memcpy(data_at, data_image, data_size);
	generation++;
}

static ptrdiff_t index_of(const char *at)
{
	if (at >= data_at && at < data_at + data_size)
		return at - data_at;
	if (at >= OWN_BASE && at < OWN_BASE + ARENA)
		return (ptrdiff_t)data_size + (at - OWN_BASE);
	return OWN_NOTHING;
}

/* The bytes from here to the end of the data, or of the arena. */
static size_t room_at(const char *at)
{
	bool is_data = at >= data_at && at < data_at + data_size;

	return (size_t)((is_data ? data_at + data_size : OWN_BASE + ARENA) - at);
}

static cell *cell_at(ptrdiff_t at)
{
	cell *cell = &cells[at];

	if (cell->generation != generation) {
		cell->generation = generation;
		cell->open_by = 0;
		cell->writer = OWN_NOTHING;
		cell->readers = 0;
	}
	return cell;
}

/* Locations. */

static uint64_t read_word(const char *at, int size)
{
	uint64_t value = 0;

	memcpy(&value, at, (size_t)size);
	return value;
}

static uint64_t initial(const char *at, int size)
{
	static const unsigned char fresh[8] = {FRESH, FRESH, FRESH, FRESH,
					       FRESH, FRESH, FRESH, FRESH};

	if (at >= data_at && at < data_at + data_size)
		return read_word(data_image + (at - data_at), size);
	if (own_heap_image(at))
		return read_word(own_heap_image(at), size);
	if ((at - OWN_BASE) % OWN_SLOT < OWN_HEAP)
		return read_word((const char *)fresh, size);
	return own_tls_image(at) ? read_word(own_tls_image(at), size) : 0;
}

size_t own_data(const char **at)
{
	*at = data_at;
	return data_size;
}

char *own_place(int location)
{
	return places[location].at;
}

static void name_place(char *name, size_t size, const char *at)
{
	int file = own_file_at(at);

	if (at >= OWN_MOVED && at < OWN_MOVED + 128)
		snprintf(name, size, at == OWN_MOVED ? "requeues" : "moved thread %d",
			 (int)(at - OWN_MOVED) / 4 - 1);
	else if (at == OWN_ANY_FILE || at == OWN_CLOCK)
		snprintf(name, size, at == OWN_CLOCK ? "real time" : "any fd");
	else if (file >= 0)
		snprintf(name, size, "fd %d", file);
	else
		snprintf(name, size, "#%lx", (unsigned long)(uintptr_t)at);
}

int own_location(char *at, int size, const char *what)
{
	ptrdiff_t index = index_of(at);
	int location = own_program.locations;

	if (index < 0) {
		own_refuse("%s at %p: the memory belongs neither to the program nor to its heap",
			   what, (void *)at);
		return OWN_NOTHING;
	}
	if (marks[index] > 0 && places[marks[index] - 1].size == size)
		return marks[index] - 1;
	for (int i = 0; i < size; i++)
		if (marks[index + i]) {
			int other = abs(marks[index + i]) - 1;

			if (own_hand_out_once(at))
				return OWN_NOTHING;
			own_refuse(
				"%s of %d bytes at %p overlaps %d bytes at %p: atomic accesses of "
				"mixed size are not explored",
				what, size, (void *)at, places[other].size,
				(void *)places[other].at);
			return OWN_NOTHING;
		}
	if (location == EXPLORE_LOCATIONS) {
		own_refuse("more than %d atomic locations", EXPLORE_LOCATIONS);
		return OWN_NOTHING;
	}
	for (int i = 0; i < size; i++) {
		marks[index + i] = (int16_t)(i ? -(location + 1) : location + 1);
		if (is_plain[index + i])
			own_program.error = EXPLORE_START_AGAIN;
	}
	places[location].at = at;
	places[location].size = size;
	name_place(places[location].name, sizeof(places[location].name), at);
	own_program.location_names[location] = places[location].name;
	own_program.initial[location] = initial(at, size);
	return own_program.locations++;
}

void own_unmark(char *at, size_t size)
{
	memset(&marks[index_of(at)], 0, size * sizeof(*marks));
}

/* What a thread has written: the sum over its bytes of address and contents, now less before. So a
 * byte that has its old contents again adds nothing. */

static void add_byte(own_digest *sum, const char *at, bool adds)
{
	uint64_t word = (uint64_t)(uintptr_t)at << 8 | (unsigned char)*at;
	own_digest one = own_mix((own_digest){1, 2}, word);

	sum->a += adds ? one.a : -one.a;
	sum->b += adds ? one.b : -one.b;
}

void own_hold(const void *of, uint64_t value, bool adds)
{
	own_digest one = own_mix(own_mix((own_digest){7, 8}, (uint64_t)(uintptr_t)of), value);

	own_now->writes.a += adds ? one.a : -one.a;
	own_now->writes.b += adds ? one.b : -one.b;
}

static bool is_own_stack(const char *at)
{
	return at < own_now->stack_end && at >= own_now->stack_end - OWN_STACK;
}

/* A thread's stack and thread-local storage belong to its position, so an access by the thread
 * itself leaves the step pure, as long as no other thread accesses such bytes. Returns whether that
 * is so: then no other thread can race with the access, either. */
static bool is_private(const char *at)
{
	ptrdiff_t offset = at - OWN_BASE, owner = offset / OWN_SLOT;

	if (at < OWN_BASE || offset >= ARENA || offset % OWN_SLOT < OWN_HEAP + OWN_FILES) {
		own_is_pure = false;
		return false;
	}
	if (owner != own_thread() && !is_shared[owner]) {
		is_shared[owner] = true;
		own_program.error = EXPLORE_START_AGAIN;
	}
	if (is_shared[owner])
		own_is_pure = false;
	return !is_shared[owner];
}

/* Races. */

_Noreturn static void race(const char *at, const char *mine, int other, const char *others,
			   const void *other_from, const void *from)
{
	own_has_raced = true;
	own_fail(
		own_text(
			"thread %d %s #%lx, which thread %d %s at #%lx, and nothing orders the two",
			own_thread(), mine, (unsigned long)(uintptr_t)at, other, others,
			(unsigned long)(uintptr_t)other_from),
		false, true, from);
}

/* For each byte of an access, so it is inlined. */
static inline __attribute__((always_inline)) void check_race(const cell *cell, const char *at,
							     bool writes, const void *from)
{
	int me = own_thread();
	const explore_clock *clock = &own_now->clock;
	const char *mine = writes ? "writes" : "reads";

	if (cell->writer >= 0 && cell->writer != me && clock->at[cell->writer] <= cell->written_in)
		race(at, mine, cell->writer, "writes", cell->write_from, from);
	for (unsigned others = writes ? cell->readers & ~(1u << me) : 0; others;
	     others &= others - 1) {
		int t = __builtin_ctz(others);

		if (clock->at[t] < cell->read_in[t])
			race(at, mine, t, "reads", cell->read_from, from);
	}
}

static void note(cell *cell, bool writes, const void *from)
{
	int me = own_thread();

	if (writes) {
		cell->writer = (int8_t)me;
		cell->written_in = (int16_t)own_now->segment;
		cell->write_from = from;
	} else {
		cell->readers |= (uint16_t)(1u << me);
		cell->read_in[me] = (int16_t)(own_now->segment + 1);
		cell->read_from = from;
	}
}

/* Plain accesses. */

static explore_step plain_step(int kind, int location, bool is_relaxed)
{
	return (explore_step){.kind = (uint8_t)kind,
			      .order = is_relaxed ? EXPLORE_RELAXED : EXPLORE_PLAIN,
			      .size = (uint8_t)places[location].size,
			      .location = location};
}

static void take_step(explore_step step, const char *what, const void *from)
{
	step.site = own_site(from, what);
	own_now->asked = step;
	own_pause();
}

/* A plain read of a location that the access covers. The value is put where the code reads it. */
static void load_location(int location, bool is_relaxed, const void *from)
{
	int size = places[location].size;

	own_settle(); /* what was written before comes before */
	take_step(plain_step(is_relaxed ? EXPLORE_LOAD : EXPLORE_PLAIN_LOAD, location, is_relaxed),
		  is_relaxed ? "volatile load" : "plain load", from);
	memcpy(places[location].at, &own_given, (size_t)size);
}

static void store_locations(own_written written)
{
	ptrdiff_t index = index_of(written.at);

	for (size_t i = 0; i < written.size; i++) {
		int location = marks[index + (ptrdiff_t)i] - 1;
		explore_step step;

		if (location < 0)
			continue;
		step = plain_step(written.is_relaxed ? EXPLORE_STORE : EXPLORE_PLAIN_STORE,
				  location, written.is_relaxed);
		step.operand = read_word(places[location].at, places[location].size);
		take_step(step, written.is_relaxed ? "volatile store" : "plain store",
			  written.from);
		own_is_pure = false; /* the next one is read from memory */
	}
}

/* A byte is about to be written: takes its contents off, once until they are added again. */
static void open_byte(cell *cell, const char *at)
{
	if (is_own_stack(at) || cell->open_by == own_thread() + 1)
		return;
	cell->open_by = (int8_t)(own_thread() + 1);
	add_byte(&own_now->writes, at, false);
}

/* A byte was written: adds its contents. */
static void settle_byte(ptrdiff_t index, const char *at)
{
	cell *cell = cell_at(index);

	if (marks[index] || is_own_stack(at) || cell->open_by != own_thread() + 1)
		return;
	cell->open_by = 0;
	add_byte(&own_now->writes, at, true);
}

void own_settle(void)
{
	own_fiber *me = own_now;

	for (int i = 0; i < me->pending_count; i++) {
		const own_written *written = &me->pending[i];
		ptrdiff_t index = index_of(written->at);

		for (size_t k = 0; k < written->size; k++)
			settle_byte(index + (ptrdiff_t)k, written->at + k);
	}
	for (int i = 0; i < me->pending_count; i++)
		if (me->pending[i].is_marked)
			store_locations(me->pending[i]);
	me->pending_count = 0;
}

static void announce(char *at, size_t size, bool is_marked, bool is_relaxed, const void *from)
{
	static uint64_t unknown;
	own_written *last = &own_now->pending[own_now->pending_count - 1];

	if (own_now->pending_count && !is_marked && !last->is_marked &&
	    last->at + last->size == at) {
		last->size += size;
		return;
	}
	if (own_now->pending_count == OWN_PENDING && !is_marked) {
		own_now->writes.a ^= ++unknown; /* no loop is recognised any more */
		return;
	}
	if (own_now->pending_count == OWN_PENDING) {
		own_refuse(
			"thread %d makes more than %d plain writes to atomic objects between two "
			"steps",
			own_thread(), OWN_PENDING);
		own_pause();
	}
	own_now->pending[own_now->pending_count++] =
		(own_written){at, size, from, is_marked, is_relaxed};
}

/* The number of the location that begins here. The access must cover all of it. */
static int covered(ptrdiff_t index, const char *at, const char *end, const void *from)
{
	int location = abs(marks[index]) - 1;

	if (places[location].at + places[location].size > end || marks[index] < 0) {
		if (own_hand_out_once(at))
			own_pause();
		own_refuse("at #%lx, a plain access ends within the %d bytes at #%lx, which are "
			   "also accessed by atomic operations: accesses of mixed size are not "
			   "explored",
			   (unsigned long)(uintptr_t)from, places[location].size,
			   (unsigned long)(uintptr_t)places[location].at);
		own_pause();
	}
	return location;
}

/* Is there no byte of a location? */
static bool has_no_mark(ptrdiff_t index, size_t size)
{
	const int16_t *at = marks + index;
	uint64_t four;

	for (; size >= 4; size -= 4, at += 4) {
		memcpy(&four, at, sizeof(four));
		if (four)
			return false;
	}
	while (size--)
		if (*at++)
			return false;
	return true;
}

void own_plain(char *at, size_t size, bool writes, bool is_volatile, const void *from)
{
	bool is_relaxed = is_volatile && own_volatile_is_relaxed, is_marked = false, is_alone;
	ptrdiff_t index;

	own_last = from;
	own_has_volatile |= is_volatile;
	if (!own_now || !size)
		return;
	index = index_of(at);
	if (index < 0)
		return;
	size = size < room_at(at) ? size : room_at(at);
	is_alone = is_private(at);
	if (is_alone && !is_relaxed && has_no_mark(index, size)) {
		for (size_t i = 0; i < size; i++)
			is_plain[index + (ptrdiff_t)i] = true;
		return;
	}
	own_note_access(at, size, writes);
	own_check_heap(at, size, writes, from);
	if (is_relaxed && size <= 8 && own_location(at, (int)size, "volatile access") < 0)
		own_pause();
	for (size_t i = 0; i < size; i++) {
		cell *cell;
		int location;

		if (marks[index + (ptrdiff_t)i]) {
			location = covered(index + (ptrdiff_t)i, at + i, at + size, from);
			is_marked = true;
			if (!writes)
				load_location(location, is_relaxed, from);
			i += (size_t)places[location].size - 1;
			own_note_access(at + i, size - i, writes); /* by the next step */
			continue;
		}
		is_plain[index + (ptrdiff_t)i] = true;
		cell = cell_at(index + (ptrdiff_t)i);
		check_race(cell, at + i, writes, from);
		if (writes)
			open_byte(cell, at + i);
		note(cell, writes, from);
	}
	if (writes)
		announce(at, size, is_marked, is_relaxed, from);
}

void own_clobber(char *at, size_t size, unsigned char byte, const char *what, const void *from)
{
	ptrdiff_t index = index_of(at);

	own_is_pure = false;
	own_note_access(at, size, true);
	own_settle();
	for (size_t i = 0; i < size; i++) {
		int location = marks[index + (ptrdiff_t)i] - 1;

		if (!marks[index + (ptrdiff_t)i]) {
			cell *cell = cell_at(index + (ptrdiff_t)i);

			check_race(cell, at + i, true, from);
			note(cell, true, from);
			is_plain[index + (ptrdiff_t)i] = true;
		}
		at[i] = (char)byte;
		if (location >= 0) {
			explore_step step = plain_step(EXPLORE_PLAIN_STORE, location, false);

			memset(&step.operand, byte, (size_t)step.size);
			take_step(step, what, from);
			i += (size_t)step.size - 1;
			memset(places[location].at, byte, step.size);
			own_note_access(at + i, size - i, true); /* by the next step */
		}
	}
}
