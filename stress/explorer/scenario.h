/* SPDX-License-Identifier: Apache-2.0
 * scenario.h - the scenario that is linked with the explorer, if one is. */
#ifndef WP_EXPLORER_SCENARIO_H
#define WP_EXPLORER_SCENARIO_H

#include "stress.h"
#include "program.h"

/* compiled.c: the test's actors as a program. NULL: `error` says why. */
explore_program *explore_compiled(const stress_test *test, char error[256]);

#endif
