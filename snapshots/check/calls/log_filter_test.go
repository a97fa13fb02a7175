package calls

import (
	"bytes"
	"testing"
)

func TestLengthOfLogIsWithoutTheZeroBytesAtItsEnd(t *testing.T) {
	const piece = 64 << 10
	for _, lineBytes := range []int{0, 1, 300, piece - 1, piece, piece + 1, 3*piece + 5} {
		for _, zeroBytes := range []int{0, 1, piece - 1, piece, piece + 1, 5 * piece} {
			content := append(bytes.Repeat([]byte("x"), lineBytes), make([]byte, zeroBytes)...)
			got, err := WrittenLength(bytes.NewReader(content), int64(len(content)))
			if err != nil || got != int64(lineBytes) {
				t.Errorf("%d bytes and %d zero bytes: %d, %v", lineBytes, zeroBytes, got, err)
			}
		}
	}
	gap := append(append([]byte("x"), make([]byte, piece)...), 'y', 0)
	if got, err := WrittenLength(bytes.NewReader(gap), int64(len(gap))); err != nil || got != piece+2 {
		t.Errorf("with zero bytes in between: %d, %v", got, err)
	}
}
