/* SPDX-License-Identifier: Apache-2.0
 * fiber_x86_64.S - fiber.h's switch for x86-64, System V.
 *
 *   at sp     +0    +8   +16  +24  +32  +40  +48  +56                +64, at first
 *           unused  r12  r13  r14  r15  rbx  rbp  where it continues entry, argument
 *
 * Why it works  At every instruction the frame description is right for the stack that sp is in,
 *               because both stacks have the same layout there.
 * Evidence      tests/thread/test_fiber.py. */
#ifdef __x86_64__

#define FRAME 56

#ifdef __CET__
#define LANDING endbr64
#else
#define LANDING
#endif

	.text
	.globl wp__fiber_jump
	.hidden wp__fiber_jump
	.type wp__fiber_jump, @function
	.p2align 5
/* rdi: from, rsi: to, rdx: value, rcx: the function to call then, or NULL, r8: its argument. sp is
 * the first field of from and to. */
wp__fiber_jump:
	.cfi_startproc
	LANDING
	leaq	-FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset FRAME
	movq	%rcx, %r9
	movq	%r12, 8(%rsp)
	.cfi_rel_offset r12, 8
	movq	%r13, 16(%rsp)
	.cfi_rel_offset r13, 16
	movq	%r14, 24(%rsp)
	.cfi_rel_offset r14, 24
	movq	%r15, 32(%rsp)
	.cfi_rel_offset r15, 32
	movq	%rbx, 40(%rsp)
	.cfi_rel_offset rbx, 40
	movq	%rbp, 48(%rsp)
	.cfi_rel_offset rbp, 48
	movq	%rsp, (%rdi)
	movq	(%rsi), %rsp
	testq	%r9, %r9
	jne	2f
1:
	movq	8(%rsp), %r12
	movq	16(%rsp), %r13
	movq	24(%rsp), %r14
	movq	32(%rsp), %r15
	movq	40(%rsp), %rbx
	movq	48(%rsp), %rbp
	movq	FRAME(%rsp), %rcx
	movq	%rdx, %rax
	.cfi_remember_state
	leaq	(FRAME + 8)(%rsp), %rsp
	.cfi_def_cfa_offset 0
	.cfi_register rip, rcx
	.cfi_same_value r12
	.cfi_same_value r13
	.cfi_same_value r14
	.cfi_same_value r15
	.cfi_same_value rbx
	.cfi_same_value rbp
	notrack jmp *%rcx
	.cfi_restore_state
2:
	movq	%rdx, %rbx
	movq	%r8, %rdi
	call	*%r9
	movq	%rbx, %rdx
	jmp	1b
	.cfi_endproc
	.size wp__fiber_jump, . - wp__fiber_jump

	.globl wp__fiber_begin
	.hidden wp__fiber_begin
	.type wp__fiber_begin, @function
	.p2align 4
/* Runs first. The fiber starts behind the nop, because unwinders look up a return address at the
 * byte before it. At sp: entry, its argument. */
wp__fiber_begin:
	.cfi_startproc
	.cfi_undefined rip
	nop
	LANDING
	popq	%rax
	popq	%rdi
	xorl	%ebp, %ebp
	call	*%rax
	ud2
	.cfi_endproc
	.size wp__fiber_begin, . - wp__fiber_begin

#endif

	.section .note.GNU-stack, "", %progbits
