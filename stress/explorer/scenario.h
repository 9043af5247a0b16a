/* SPDX-License-Identifier: Apache-2.0
 * scenario.h - the scenario that was linked with the explorer, if one was. */
#ifndef WP_EXPLORER_SCENARIO_H
#define WP_EXPLORER_SCENARIO_H

#include "../stress.h"
#include "program.h"

void explore_print_list(void);                       /* tests and twins, as stress/engine does */
const stress_test *explore_find_test(const char *name); /* NULL: there is no such test */

/* compiled.c: the test's actors as a program. NULL: `error` says why. */
explore_program *explore_compiled(const stress_test *test, char error[256]);

#endif
