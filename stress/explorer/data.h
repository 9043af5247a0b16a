/* SPDX-License-Identifier: Apache-2.0
 * data.h - a program given as text; shared by its parts.
 *
 *   data.c             the language and its lines
 *   data_words.c       registers, numbers, locations, orders, labels
 *   data_operations.c  the lines of a thread
 *   data_run.c         the program: from a position to the next */
#ifndef WP_EXPLORER_DATA_H
#define WP_EXPLORER_DATA_H

#include "program.h"

enum { REGISTERS = 8, CODE_MOST = 512, LABELS_MOST = 64, OBSERVED_MOST = 24, NAME = 32 };

enum local { SET = 64, IF, GOTO, ASSUME, ASSERT }; /* beyond enum explore_kind */

typedef struct operand {
	bool is_register;
	uint64_t value; /* or the number of the register */
} operand;

typedef struct instruction {
	int kind; /* enum explore_kind or enum local */
	int into; /* register, or -1 */
	explore_step step;
	operand index; /* of the location */
	operand a, b;  /* operand and expected value, or the two sides of a comparison */
	char operator[3];
	char text[3 * NAME]; /* ASSERT: the condition */
	int target;          /* IF, GOTO: an instruction; before linking, a label */
	int line;
} instruction;

typedef struct state { /* what a position names */
	int64_t pc;
	uint64_t registers[REGISTERS];
} state;

typedef struct thread {
	instruction *code;
	int length;
	state *states; /* by position */
	uint32_t states_count, states_room;
	uint32_t *table; /* position + 1; open addressing */
	uint32_t table_size;
	char labels[LABELS_MOST][NAME];
	int label_at[LABELS_MOST], labels_count;
} thread;

typedef struct observed {
	int thread; /* -1: a location */
	int which;
} observed;

typedef struct data {
	explore_program program;
	thread threads[EXPLORE_THREADS];
	char names[EXPLORE_LOCATIONS][NAME];
	char name[NAME * 2];
	observed observed[OBSERVED_MOST];
	int observed_count;
	explore_site *sites;
	char (*texts)[NAME * 2];
	explore_step step; /* the last result of `at` */
	char *error;       /* set while parsing */
	int line;
} data;

/* data_words.c. A function that returns false or -1 has set the error, with the line, unless the
 * comment says otherwise. */
bool data_fail(data *data, const char *format, ...);
int data_find_location(data *data, const char *name); /* -1: none, and no error */
int data_add_location(data *data, const char *name);  /* or the existing location */
bool data_is_name(const char *word);
int data_register(const char *word); /* -1: not a register, and no error */
bool data_read_operand(data *data, const char *word, operand *operand);
bool data_read_location(data *data, const char *word, instruction *at); /* x, or a[3], or a[r0] */
bool data_read_order(data *data, const char *word, uint8_t *order);
int data_label(data *data, thread *thread, const char *name);

/* data_operations.c */
bool data_read_instruction(data *data, thread *thread, char **words, int count);

/* data_run.c: the functions of explore_program */
explore_position data_start(explore_program *program, int which);
const explore_step *data_at(explore_program *program, int which, explore_position position);
explore_position data_next(explore_program *program, int which, explore_position position,
			   uint64_t value, bool failed);
void data_outcome(explore_program *program, const uint64_t *values, const explore_position *ends,
		  char text[EXPLORE_TEXT]);
void data_destroy(explore_program *program);

#endif
