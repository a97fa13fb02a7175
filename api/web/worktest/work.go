package worktest

import (
	"bytes"
	"testing"

	"mizan/internal/steps"
)

func init() { steps.Enable() }

// A parser may take freeSteps steps, and stepsPerByte further steps for each byte of its input. If the work of a parser grows
// with the square of the size, the inputs of fuzz targets are large enough to exceed this bound by far.
const (
	stepsPerByte = 100
	freeSteps    = 64 << 10
)

// Linear fails the test if parse takes more steps than the bounds allow. The function parse must parse the input.
func Linear(t *testing.T, input []byte, parse func()) {
	t.Helper()
	before := steps.Total()
	parse()
	if took := steps.Total() - before; took > stepsPerByte*int64(len(input))+freeSteps {
		t.Fatalf("%.80q…, %d bytes: %d steps", input, len(input), took)
	}
}

// Repeated returns an input of about the given size. It begins with head, repeats piece as often as it fits, and ends with
// tail. Such an input reveals work that grows with the square of the number of pieces.
func Repeated(head, piece, tail []byte, size int) []byte {
	times := max(0, size-len(head)-len(tail)) / max(1, len(piece))
	return bytes.Join([][]byte{head, bytes.Repeat(piece, times), tail}, nil)
}

// Add adds seeds to a fuzz target. The three texts of a seed are arguments of Repeated: head, piece and tail.
func Add(f *testing.F, seeds ...[3]string) {
	for _, s := range seeds {
		f.Add([]byte(s[0]), []byte(s[1]), []byte(s[2]))
	}
}
