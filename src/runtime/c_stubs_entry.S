// SPDX-License-Identifier: BSD-3-Clause
/*
 * The stubs of c_stubs.h, and what they have in common. Each stub differs from the others in one number: which
 * record is its own. It pushes nothing. endbr64 and bti c are for processors that check where an indirect
 * call lands.
 *
 * ar_c_entry keeps the arguments while ar_c_enter looks for the node. While the function runs, the stack holds
 * the node (in what rbx or x19 was), the record, and what alignment asks for. Without a node it is jumped to, as if
 * nothing had been in between; the record is in the sixth argument register then, for those that want it.
 */
#include "runtime/c_stubs_layout.h"

        .hidden ar_c_records
        .hidden ar_c_enter
        .hidden ar_c_leave

        .text
#if defined(__x86_64__)
        .p2align 5
        .type ar_c_entry, %function
ar_c_entry:
        .cfi_startproc
        pushq %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        pushq %rdi
        pushq %rsi
        pushq %rdx
        pushq %rcx
        pushq %r8
        pushq %r9
        .cfi_adjust_cfa_offset 48
        movq %r9, %rdi
        call ar_c_enter
        popq %r9
        popq %r8
        popq %rcx
        popq %rdx
        popq %rsi
        popq %rdi
        .cfi_adjust_cfa_offset -48
        testq %rax, %rax
        je 1f
        movq %rax, %rbx
        pushq %r9
        pushq %r9
        .cfi_adjust_cfa_offset 16
        call *(%r9)
        movq %rbx, %rdi
        movq %rax, %rdx
        popq %rsi
        popq %rsi
        .cfi_adjust_cfa_offset -16
        popq %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        jmp ar_c_leave
1:
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        popq %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        jmp *(%r9)
        .cfi_endproc
        .size ar_c_entry, . - ar_c_entry
#elif defined(__aarch64__)
        .p2align 5
        .type ar_c_entry, %function
ar_c_entry:
        .cfi_startproc
        hint #25 /* paciasp */
        .cfi_negate_ra_state
        stp x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov x29, sp
        stp x19, x5, [sp, #16]
        .cfi_rel_offset x19, 16
        stp x0, x1, [sp, #-48]!
        .cfi_adjust_cfa_offset 48
        stp x2, x3, [sp, #16]
        str x4, [sp, #32]
        mov x0, x5
        bl ar_c_enter
        mov x19, x0
        ldp x2, x3, [sp, #16]
        ldr x4, [sp, #32]
        ldp x0, x1, [sp], #48
        .cfi_adjust_cfa_offset -48
        ldr x5, [sp, #24]
        ldr x16, [x5]
        cbz x19, 1f
        blr x16
        mov x2, x0
        mov x0, x19
        ldr x1, [sp, #24]
        .cfi_remember_state
        ldr x19, [sp, #16]
        .cfi_restore x19
        ldp x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        hint #29 /* autiasp */
        .cfi_negate_ra_state
        b ar_c_leave
1:
        .cfi_restore_state
        ldr x19, [sp, #16]
        .cfi_restore x19
        ldp x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        hint #29
        .cfi_negate_ra_state
        br x16 /* x16: allowed where a call may land */
        .cfi_endproc
        .size ar_c_entry, . - ar_c_entry
#else
#error "no stubs for this processor yet: see c_stubs.h for what one has to do"
#endif

        .section .text.ar_c_stubs, "ax", %progbits
        .p2align 6
        .hidden ar_c_stubs
        .globl ar_c_stubs
        .type ar_c_stubs, %function
ar_c_stubs:
        .cfi_startproc
        .set ar_c_i, 0
        .rept AR_C_N_STUBS
#if defined(__x86_64__)
        endbr64
        leaq ar_c_records + AR_C_RECORD_BYTES * ar_c_i(%rip), %r9
        jmp ar_c_entry
#else
        hint #34 /* bti c */
        adrp x5, ar_c_records + AR_C_RECORD_BYTES * ar_c_i
        add x5, x5, :lo12:ar_c_records + AR_C_RECORD_BYTES * ar_c_i
        b ar_c_entry
#endif
        .p2align 4
        .set ar_c_i, ar_c_i + 1
        .endr
        .cfi_endproc
        .size ar_c_stubs, . - ar_c_stubs

        .section .note.GNU-stack, "", %progbits
#if defined(__CET__)
#include <cet.h>
#endif
