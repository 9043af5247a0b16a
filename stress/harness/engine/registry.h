/* SPDX-License-Identifier: Apache-2.0
 * registry.h - the tests and twins of the scenario file that is linked with an engine: with this
 * one or with the explorer. The file's constructors call stress_add_test and stress_add_twin
 * (stress.h) before main. */
#ifndef WP_STRESS_REGISTRY_H
#define WP_STRESS_REGISTRY_H

#include "stress.h"

const stress_test *stress_find_test(const char *name); /* NULL: there is no such test */
void stress_print_list(void);                          /* all tests and twins, as JSON */

#endif
