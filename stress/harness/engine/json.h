/* SPDX-License-Identifier: Apache-2.0
 * json.h - prints text as JSON to standard output. */
#ifndef WP_STRESS_JSON_H
#define WP_STRESS_JSON_H

void json_text(const char *text);                    /* "text"; NULL: "" */
void json_field(const char *name, const char *text); /* "name":"text", */

#endif
