/* SPDX-License-Identifier: Apache-2.0
 * error.c - the texts of the codes, from the table in error.h. */
#include "base/error.h"

#include <stddef.h>

#define WP_CHECK(code, value, text) \
	_Static_assert((code) == (value), #code " is not what the table says");
WP_ERRORS(WP_CHECK)

const char *wp_error_text(int code)
{
#define WP_CASE(name, value, text) \
	case name:                 \
		return text;
	switch (code) {
		WP_ERRORS(WP_CASE)
	default:
		return "not a wakeproof code";
	}
}
