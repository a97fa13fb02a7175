package worktest

import (
	"bytes"
	"testing"

	"mizan/internal/steps"
)

func init() { steps.Enable() }

// Bounds of work: how often a parser may look at a byte, and how much work any input may cause.
// The square of the fuzz targets' input sizes is far above them.
const (
	stepsPerByte = 100
	stepsAtLeast = 64 << 10
)

// Linear fails the test if the function takes more steps than a linear function of the input's size
// allows.
func Linear(t *testing.T, input []byte, read func()) {
	t.Helper()
	before := steps.Total()
	read()
	if took := steps.Total() - before; took > stepsPerByte*int64(len(input))+stepsAtLeast {
		t.Fatalf("%.80q…, %d bytes: %d steps", input, len(input), took)
	}
}

// Repeated returns an input of about the size, with a piece repeated in the middle. It makes work
// visible that grows with the square of the number of pieces.
func Repeated(head, piece, tail []byte, size int) []byte {
	times := max(0, size-len(head)-len(tail)) / max(1, len(piece))
	return bytes.Join([][]byte{head, bytes.Repeat(piece, times), tail}, nil)
}

// Add adds seeds of head, piece and tail.
func Add(f *testing.F, seeds ...[3]string) {
	for _, s := range seeds {
		f.Add([]byte(s[0]), []byte(s[1]), []byte(s[2]))
	}
}
