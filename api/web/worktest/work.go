package worktest

import (
	"bytes"
	"testing"

	"mizan/internal/steps"
)

func init() { steps.Enable() }

// A parser may take stepsPerByte steps for each byte of its input, and freeSteps more for an input of any size. Work that grows
// with the square of the size exceeds these bounds by far at the sizes that fuzz targets use.
const (
	stepsPerByte = 100
	freeSteps    = 64 << 10
)

// Linear fails the test if parse takes more steps than the bounds allow. parse must parse the input.
func Linear(t *testing.T, input []byte, parse func()) {
	t.Helper()
	before := steps.Total()
	parse()
	if took := steps.Total() - before; took > stepsPerByte*int64(len(input))+freeSteps {
		t.Fatalf("%.80q…, %d bytes: %d steps", input, len(input), took)
	}
}

// Repeated returns an input of about the given size: head, then piece as often as it fits, then tail.
// Such an input reveals work that grows with the square of the number of pieces.
func Repeated(head, piece, tail []byte, size int) []byte {
	times := max(0, size-len(head)-len(tail)) / max(1, len(piece))
	return bytes.Join([][]byte{head, bytes.Repeat(piece, times), tail}, nil)
}

// Add adds seeds to a fuzz target. Each seed has the head, piece and tail that Repeated takes.
func Add(f *testing.F, seeds ...[3]string) {
	for _, s := range seeds {
		f.Add([]byte(s[0]), []byte(s[1]), []byte(s[2]))
	}
}
