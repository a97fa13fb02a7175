package client

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Exit codes, beside 0.
const (
	exitFailed  = 1 // no answer, or one that can't be used; the server failed
	exitMisused = 2 // the request was wrong
)

// Fault ends the process with a code, 1 or 2, and a line for each thing that is
// wrong. Lines begin with "mizan: " and have no line break.
type Fault struct {
	Code  int
	Lines []string
}

// Error implements error.
func (f *Fault) Error() string { return strings.Join(f.Lines, "\n") }

// Misused is the fault of whoever called.
func (c *Command) Misused(format string, args ...any) *Fault {
	return &Fault{Code: exitMisused, Lines: []string{c.message(fmt.Sprintf(format, args...))}}
}

// Failed is the fault of the server or of the way to it.
func (c *Command) Failed(format string, args ...any) *Fault {
	return &Fault{Code: exitFailed, Lines: []string{c.message(fmt.Sprintf(format, args...))}}
}

func (c *Command) message(text string) string { return "mizan: " + c.Name + ": " + Printable(text) }

// Note tells people something that is no error.
func (c *Command) Note(format string, args ...any) {
	_, _ = fmt.Fprintln(c.Streams.Err, c.message(fmt.Sprintf(format, args...)))
}

// Printable is text that a terminal shows as it is: whatever else a character could
// make it do is spelled out, line breaks too.
func Printable(text string) string {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unprintable(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
