package client

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Exit codes besides 0.
const (
	exitFailed  = 1 // no usable response arrived
	ExitMisused = 2 // the request was wrong, so a retry would fail too
)

// Fault is an error that ends the process with an exit code, after the lines of the error are printed. Each line begins with
// "mizan: " and contains no line break.
type Fault struct {
	Code   int
	Lines  []string
	Status int // HTTP status with which the server refused the request; 0 if there is none
}

// Error implements error.
func (f *Fault) Error() string { return strings.Join(f.Lines, "\n") }

// Misused returns the fault for a command that was used wrongly.
func (c *Command) Misused(format string, args ...any) *Fault {
	return &Fault{Code: ExitMisused, Lines: []string{c.message(fmt.Sprintf(format, args...))}}
}

// Failed returns the fault for a failure of the server or of the connection.
func (c *Command) Failed(format string, args ...any) *Fault {
	return &Fault{Code: exitFailed, Lines: []string{c.message(fmt.Sprintf(format, args...))}}
}

func (c *Command) message(text string) string { return "mizan: " + c.Name + ": " + Printable(text) }

// Note prints a remark to stderr that is not an error.
func (c *Command) Note(format string, args ...any) {
	text := c.message(fmt.Sprintf(format, args...))
	if width := TerminalWidth(c.Streams.Err); width > 0 {
		text = wrapWords(text, width)
	}
	_, _ = fmt.Fprintln(c.Streams.Err, text)
}

// wrapWords breaks a text between words into lines that are at most width columns wide. All lines but the first are indented.
func wrapWords(text string, width int) string {
	const indent = "  "
	var b strings.Builder
	length := 0
	for i, word := range strings.Split(text, " ") {
		n := runewidth.StringWidth(word)
		switch {
		case i == 0:
		case length+1+n > width:
			b.WriteString("\n" + indent)
			length = len(indent)
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += n
	}
	return b.String()
}

// Printable escapes all control characters in a text, including line breaks, so that the text can't control a terminal.
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
