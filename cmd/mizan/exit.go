package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"mizan/internal/mapfault"
)

// The exit codes that operators and supervisors rely on.
const (
	exitClean         = 0
	exitStorage       = 1
	exitConfiguration = 2
	exitLocked        = 3
)

// mappedFileFault is what the process ends with, and exitStorage, where the kernel refuses
// it a page of a file that the store has mapped.
const mappedFileFault = "mizan: storage: a mapped file of the store could not be read or written: the disk is full, or has failed; the next start finds out what is durable"

// fault ends the process with a code and one line for each thing that is wrong.
type fault struct {
	code  int
	lines []string
}

// Error implements error.
func (f *fault) Error() string {
	if len(f.lines) == 0 {
		return fmt.Sprintf("exit %d", f.code)
	}
	return f.lines[0]
}

// storageFault is a directory or store that can't be used, or broke.
func storageFault(format string, args ...any) *fault {
	return &fault{code: exitStorage, lines: []string{"mizan: storage: " + folded(fmt.Sprintf(format, args...))}}
}

// badConfiguration has a line for each bad key; the lines come without prefix.
func badConfiguration(lines ...string) *fault {
	f := &fault{code: exitConfiguration}
	for _, line := range lines {
		f.lines = append(f.lines, "mizan: configuration: "+folded(line))
	}
	return f
}

// inUse is a directory that another process holds, or that another release wrote.
func inUse(format string, args ...any) *fault {
	return &fault{code: exitLocked, lines: []string{"mizan: locked: " + folded(fmt.Sprintf(format, args...))}}
}

// folded is text as one line: libraries' errors may have several, and so may a
// path.
func folded(text string) string {
	parts := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' })
	return strings.Join(parts, "; ")
}

// exitCode reports err to people, a line each, and is the code to leave with.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitClean
	}
	var f *fault
	if !errors.As(err, &f) {
		f = &fault{code: exitStorage, lines: []string{"mizan: " + folded(err.Error())}}
	}
	mapfault.LastWord()
	for _, line := range f.lines {
		_, _ = fmt.Fprintln(stderr, line)
	}
	return f.code
}
