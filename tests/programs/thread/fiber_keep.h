/* SPDX-License-Identifier: Apache-2.0
 * fiber_keep.h - `keep`: puts values into every register that a call preserves, around one turn;
 * for fiber.c. */
#include <stdint.h>

void keep(const uint64_t *put, uint64_t *found);

#if defined(__x86_64__)
enum { REGISTERS = 6 };
static const char *const names[REGISTERS] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};
__asm__(".text\n.globl keep\n.type keep, @function\nkeep:\n"
	"push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\npush %rsi\n"
	"mov (%rdi), %rbx\nmov 8(%rdi), %rbp\nmov 16(%rdi), %r12\nmov 24(%rdi), %r13\n"
	"mov 32(%rdi), %r14\nmov 40(%rdi), %r15\n"
	"call turn\n"
	"pop %rsi\n"
	"mov %rbx, (%rsi)\nmov %rbp, 8(%rsi)\nmov %r12, 16(%rsi)\nmov %r13, 24(%rsi)\n"
	"mov %r14, 32(%rsi)\nmov %r15, 40(%rsi)\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n.size keep, . - keep\n");
#else
enum { REGISTERS = 19 };
static const char *const names[REGISTERS] = {"x19", "x20", "x21", "x22", "x23", "x24", "x25",
					     "x26", "x27", "x28", "x29", "d8",  "d9",  "d10",
					     "d11", "d12", "d13", "d14", "d15"};
__asm__(".text\n.globl keep\n.type keep, %function\nkeep:\n"
	"stp x29, x30, [sp, #-176]!\nstp x19, x20, [sp, #16]\nstp x21, x22, [sp, #32]\n"
	"stp x23, x24, [sp, #48]\nstp x25, x26, [sp, #64]\nstp x27, x28, [sp, #80]\n"
	"stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n"
	"stp d14, d15, [sp, #144]\nstr x1, [sp, #160]\n"
	"ldp x19, x20, [x0]\nldp x21, x22, [x0, #16]\nldp x23, x24, [x0, #32]\n"
	"ldp x25, x26, [x0, #48]\nldp x27, x28, [x0, #64]\nldp x29, x9, [x0, #80]\n"
	"fmov d8, x9\nldp d9, d10, [x0, #96]\nldp d11, d12, [x0, #112]\n"
	"ldp d13, d14, [x0, #128]\nldr d15, [x0, #144]\n"
	"bl turn\n"
	"ldr x1, [sp, #160]\n"
	"stp x19, x20, [x1]\nstp x21, x22, [x1, #16]\nstp x23, x24, [x1, #32]\n"
	"stp x25, x26, [x1, #48]\nstp x27, x28, [x1, #64]\nstr x29, [x1, #80]\n"
	"stp d8, d9, [x1, #88]\nstp d10, d11, [x1, #104]\nstp d12, d13, [x1, #120]\n"
	"stp d14, d15, [x1, #136]\n"
	"ldp d14, d15, [sp, #144]\nldp d12, d13, [sp, #128]\nldp d10, d11, [sp, #112]\n"
	"ldp d8, d9, [sp, #96]\nldp x27, x28, [sp, #80]\nldp x25, x26, [sp, #64]\n"
	"ldp x23, x24, [sp, #48]\nldp x21, x22, [sp, #32]\nldp x19, x20, [sp, #16]\n"
	"ldp x29, x30, [sp], #176\nret\n.size keep, . - keep\n");
#endif
