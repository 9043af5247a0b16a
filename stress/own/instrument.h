/* SPDX-License-Identifier: Apache-2.0
 * instrument.h - the operations of order.h and litmus.h in a scenario that is explored as a program:
 * those of the product, which the compiler's hooks report. Only a choice is the explorer's own.
 *
 * Spec      none. Evidence  tests/judge/own/test_scenarios.py. */
#ifndef WP_OWN_INSTRUMENT_H
#define WP_OWN_INSTRUMENT_H

#undef WP_INSTRUMENT
#undef WP_INSTRUMENT_H
#include "base/instrument.h"

#define WP_EXPLORE /* litmus.h: a choice is the explorer's */
#define WP__CHOOSE(n) wp__own_choose(n)
#define WP__EXPLORE_LOCAL 0
#define WP__SITE(what) 0
#define wp__explore(kind, order, fail_order, location, operand, expected, site) ((void)(operand))

unsigned wp__own_choose(unsigned n);
/* The next thread that the caller creates is shown with the name of this function. */
void wp__own_begins(void (*as)(void *, void *));

#endif
