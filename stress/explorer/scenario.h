/* SPDX-License-Identifier: Apache-2.0
 * scenario.h - the scenario that is linked with the explorer, if there is one. */
#ifndef WP_EXPLORER_SCENARIO_H
#define WP_EXPLORER_SCENARIO_H

#include "stress.h"
#include "program.h"

/* compiled.c: the actors of the test as a program. NULL: `error` has the reason. */
explore_program *explore_compiled(const stress_test *test, char error[256]);

#endif
