package client

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Exit codes besides 0.
const (
	exitFailed  = 1 // no usable response arrived
	exitMisused = 2 // the request was wrong
)

// Fault is an error that ends the process with an exit code, after its lines were printed. Lines begin with
// "mizan: " and contain no line break.
type Fault struct {
	Code  int
	Lines []string
}

// Error implements error.
func (f *Fault) Error() string { return strings.Join(f.Lines, "\n") }

// Misused returns the fault for a wrong use of the command.
func (c *Command) Misused(format string, args ...any) *Fault {
	return &Fault{Code: exitMisused, Lines: []string{c.message(fmt.Sprintf(format, args...))}}
}

// Failed returns the fault for a failure of the server or of the connection.
func (c *Command) Failed(format string, args ...any) *Fault {
	return &Fault{Code: exitFailed, Lines: []string{c.message(fmt.Sprintf(format, args...))}}
}

func (c *Command) message(text string) string { return "mizan: " + c.Name + ": " + Printable(text) }

// Note prints a remark to stderr that is not an error.
func (c *Command) Note(format string, args ...any) {
	_, _ = fmt.Fprintln(c.Streams.Err, c.message(fmt.Sprintf(format, args...)))
}

// Printable escapes all control characters of a text, including line breaks, so that it can't
// control a terminal.
func Printable(text string) string {
	if strings.IndexFunc(text, isUnprintable) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isUnprintable(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }
