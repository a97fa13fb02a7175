#include "textflag.h"

// func onFault(): write(2, text), then exit_group(code). The first thread that meets a fault
// writes. Any other thread waits for the process to end. If the process itself is to write
// the last line (LastWord), all threads wait. If it has not ended after the time in grace,
// one of them writes.
TEXT ·onFault(SB), NOSPLIT|NOFRAME, $0-0
	MOVD $·taken(SB), R3
	MOVW $1, R4

again:
	LDAXRW (R3), R5
	STLXRW R4, (R3), R6
	CBNZ   R6, again
	CBNZ   R5, wait

speak:
	MOVD   $64, R8
	MOVD $2, R0
	MOVD ·text(SB), R1
	MOVD ·text+8(SB), R2
	SVC
	MOVD $94, R8
	MOVD ·code(SB), R0
	SVC
	BRK

wait:
	MOVD $101, R8
	MOVD $·grace(SB), R0
	MOVD $0, R1
	SVC
	MOVD $·late(SB), R3
	MOVW $1, R4

twice:
	LDAXRW (R3), R5
	STLXRW R4, (R3), R6
	CBNZ   R6, twice
	CBNZ   R5, wait
	B      speak

// func handler() uintptr
TEXT ·handler(SB), NOSPLIT, $0-8
	MOVD $·onFault(SB), R0
	MOVD R0, ret+0(FP)
	RET
