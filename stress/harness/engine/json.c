/* SPDX-License-Identifier: Apache-2.0
 * json.c - see json.h. */
#include "json.h"

#include <stdio.h>

void json_text(const char *text)
{
	putchar('"');
	for (const char *c = text ? text : ""; *c; c++) {
		if (*c == '"' || *c == '\\')
			printf("\\%c", *c);
		else if ((unsigned char)*c < ' ')
			printf("\\u%04x", (unsigned)*c);
		else
			putchar(*c);
	}
	putchar('"');
}

void json_field(const char *name, const char *text)
{
	printf("\"%s\":", name);
	json_text(text);
	putchar(',');
}
