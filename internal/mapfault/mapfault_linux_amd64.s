#include "textflag.h"

// func onFault(): write(2, text), then exit_group(code). Of several threads that meet a
// fault the first writes, and the others wait for the end.
TEXT ·onFault(SB), NOSPLIT|NOFRAME, $0-0
	MOVL  $1, AX
	XCHGL AX, ·taken(SB)
	TESTL AX, AX
	JNZ   wait
	MOVQ  $1, AX
	MOVQ $2, DI
	MOVQ ·text(SB), SI
	MOVQ ·text+8(SB), DX
	SYSCALL
	MOVQ $231, AX
	MOVQ ·code(SB), DI
	SYSCALL
	INT  $3

wait:
	PAUSE
	JMP wait

// func handler() uintptr
TEXT ·handler(SB), NOSPLIT, $0-8
	LEAQ ·onFault(SB), AX
	MOVQ AX, ret+0(FP)
	RET
