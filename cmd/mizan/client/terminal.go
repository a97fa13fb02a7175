package client

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// usualWidth is the assumed width of a terminal whose real width can't be determined.
const usualWidth = 80

// TerminalWidth returns the width, in columns, of the terminal to which a stream writes. It returns 0 if the stream is not a
// terminal.
func TerminalWidth(out io.Writer) int {
	f, isFile := out.(*os.File)
	if !isFile {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col > 0 {
		return int(size.Col)
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return usualWidth
}

// IsTerminal tells whether a stream writes to a terminal.
func IsTerminal(out io.Writer) bool { return TerminalWidth(out) > 0 }
