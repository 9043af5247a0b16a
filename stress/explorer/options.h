/* SPDX-License-Identifier: Apache-2.0
 * options.h - the explorer's command line, parsed. */
#ifndef WP_EXPLORER_OPTIONS_H
#define WP_EXPLORER_OPTIONS_H

#include "explore.h"

enum { MODELS = 3 };

enum explore_engine { ENGINE_AUTO, ENGINE_GRAPHS, ENGINE_STATES, ENGINE_BOTH };

typedef struct explore_command {
	const char *file, *test, *progress;
	const char *dump; /* file for the graph of the states engine; NULL: none */
	bool lists, is_whole, is_bounded, converses;
	unsigned models; /* bit per enum explore_model */
	enum explore_engine engine;
	explore_options options;
} explore_command;

/* Parses the command line. Refuses requests that make no sense. */
explore_command explore_read_command(int argc, char **argv);

/* Prints one line and exits with 2. */
_Noreturn void explore_refuse(const char *option, const char *value, const char *allowed);

#endif
