/* SPDX-License-Identifier: Apache-2.0
 * joins.h - reductions for the comparison with a spec. --join mpsc.h:120=mpsc.h:150 takes two steps
 * as one. --wrap ticket->next=3 keeps three bits of a counter of which only differences matter.
 *
 *   a step at the first place, after which the thread stands at the second: that step follows at
 *   once
 *
 * Why it works  A join leaves interleavings out, so it is used for conformance only: where a spec
 *               takes a whole operation as one step, and another comparison judges that operation
 *               step by step. Without --join nothing is joined.
 * Spec          none.
 * Evidence      tests/judge/conform/test_conform.py. */
#ifndef WP_EXPLORER_JOINS_H
#define WP_EXPLORER_JOINS_H

#include "program.h"

extern int explore_joins_count;

/* "FILE:LINE=FILE:LINE". False: the text has another form, or there are too many. The text must
 * stay valid. */
bool explore_join(char *text);

/* True: the step at site `to` directly follows the one at site `from`. */
bool explore_are_joined(const explore_program *program, uint32_t from, uint32_t to);

extern int explore_wraps_count;

/* "NAME=BITS", for each location with NAME in its name. False: as above. */
bool explore_wrap(char *text);

/* The part of `value` that is stored at the location. */
uint64_t explore_wrapped(const explore_program *program, int location, uint64_t value);

#endif
