/* SPDX-License-Identifier: Apache-2.0
 * dialog.h - questions about a program on standard input, answers on standard output. */
#ifndef WP_EXPLORER_DIALOG_H
#define WP_EXPLORER_DIALOG_H

#include "explore.h"

/* Until there are no more questions. */
void explore_converse(explore_program *program);

#endif
