/* SPDX-License-Identifier: Apache-2.0
 * fiber_aarch64.S - fiber.h's switch for AArch64.
 *
 *   at sp   +0 .. +72   +80  +88   +96 .. +152   +160   +176, at first
 *           x19 .. x28  x29  x30   d8 .. d15     unused entry, argument
 *
 * Why it works  As fiber_x86_64.S. x30 is the address where it continues. x18 belongs to the
 *               platform.
 * Evidence      tests/thread/test_fiber.py, under qemu-user. */
#ifdef __aarch64__

#define FRAME 176

	.text
	.globl wp__fiber_jump
	.hidden wp__fiber_jump
	.type wp__fiber_jump, %function
	.p2align 5
/* x0: from, x1: to, x2: value, x3: the function to call then, or NULL, x4: its argument. sp is the
 * first field of from and to. */
wp__fiber_jump:
	.cfi_startproc
	hint	#34 /* bti c */
	sub	sp, sp, #FRAME
	.cfi_adjust_cfa_offset FRAME
	stp	x19, x20, [sp]
	.cfi_rel_offset x19, 0
	.cfi_rel_offset x20, 8
	stp	x21, x22, [sp, #16]
	.cfi_rel_offset x21, 16
	.cfi_rel_offset x22, 24
	stp	x23, x24, [sp, #32]
	.cfi_rel_offset x23, 32
	.cfi_rel_offset x24, 40
	stp	x25, x26, [sp, #48]
	.cfi_rel_offset x25, 48
	.cfi_rel_offset x26, 56
	stp	x27, x28, [sp, #64]
	.cfi_rel_offset x27, 64
	.cfi_rel_offset x28, 72
	stp	x29, x30, [sp, #80]
	.cfi_rel_offset x29, 80
	.cfi_rel_offset x30, 88
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	mov	x10, sp
	str	x10, [x0]
	ldr	x10, [x1]
	mov	sp, x10
	cbz	x3, 2f
	mov	x19, x2
	mov	x0, x4
	blr	x3
	mov	x2, x19
2:
	ldp	x19, x20, [sp]
	ldp	x21, x22, [sp, #16]
	ldp	x23, x24, [sp, #32]
	ldp	x25, x26, [sp, #48]
	ldp	x27, x28, [sp, #64]
	ldp	x29, x30, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	mov	x0, x2
	add	sp, sp, #FRAME
	.cfi_def_cfa_offset 0
	.cfi_restore x19
	.cfi_restore x20
	.cfi_restore x21
	.cfi_restore x22
	.cfi_restore x23
	.cfi_restore x24
	.cfi_restore x25
	.cfi_restore x26
	.cfi_restore x27
	.cfi_restore x28
	.cfi_restore x29
	.cfi_restore x30
#ifdef __ARM_FEATURE_BTI_DEFAULT
	ret
#else
	br	x30
#endif
	.cfi_endproc
	.size wp__fiber_jump, . - wp__fiber_jump

	.globl wp__fiber_begin
	.hidden wp__fiber_begin
	.type wp__fiber_begin, %function
	.p2align 4
/* Runs first, behind the nop: see fiber_x86_64.S. At sp: entry, its argument. */
wp__fiber_begin:
	.cfi_startproc
	.cfi_undefined x30
	nop
	hint	#36 /* bti j */
	ldp	x9, x0, [sp], #16
	mov	x29, xzr
	blr	x9
	brk	#1
	.cfi_endproc
	.size wp__fiber_begin, . - wp__fiber_begin

#ifdef __ARM_FEATURE_BTI_DEFAULT
	/* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */
	.section .note.gnu.property, "a", %note
	.p2align 3
	.word	4, 16, 5
	.asciz	"GNU"
	.word	0xc0000000, 4, 1, 0
#endif

#endif

	.section .note.GNU-stack, "", %progbits
