/* SPDX-License-Identifier: Apache-2.0
 * joins.h - steps that a comparison with a spec takes as one: --join mpsc.h:120=mpsc.h:150; and
 * counters of which only differences matter: --wrap ticket->next=3 keeps three bits of it.
 *
 *   a step at the first place, and the thread stands at the second   that step follows at once
 *
 * Why it works  It leaves interleavings out, so it is for conformance alone: where a spec takes a
 *               whole operation as one step, and another comparison judges that operation step by
 *               step. Without --join nothing is joined.
 * Spec          none. Evidence  tests/judge/conform/test_conform.py. */
#ifndef WP_EXPLORER_JOINS_H
#define WP_EXPLORER_JOINS_H

#include "program.h"

extern int explore_joins_count;

/* "FILE:LINE=FILE:LINE"; false: it is not of this form, or there are too many. The text stays. */
bool explore_join(char *text);

/* True: the step at site `to` follows the one at site `from` at once. */
bool explore_are_joined(const explore_program *program, uint32_t from, uint32_t to);

extern int explore_wraps_count;

/* "NAME=BITS", for each location whose name contains NAME; false: as above. */
bool explore_wrap(char *text);

/* What is stored of `value` at the location. */
uint64_t explore_wrapped(const explore_program *program, int location, uint64_t value);

#endif
