// SPDX-License-Identifier: Apache-2.0

//go:build faultpoints

#include "textflag.h"

// func shiftedClock() uintptr
TEXT ·shiftedClock(SB), NOSPLIT, $0-8
	LEAQ clock<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// clock is called as C is: DI says which clock, and the time goes to where SI points. With
// the frame pointer the stack is aligned as C has it.
TEXT clock<>(SB), NOSPLIT, $16-0
	MOVQ DI, 0(SP)
	MOVQ SI, 8(SP)
	MOVQ ·truth(SB), AX
	CALL AX
	MOVQ 8(SP), SI
	MOVQ 0(SP), DI
	CMPQ DI, $0 // CLOCK_REALTIME
	JNE  done
	MOVQ ·offset(SB), CX
	MOVQ (CX), CX
	ADDQ CX, (SI)

done:
	RET
