package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"mizan/cmd/mizan/client"
	"mizan/internal/mapfault"
)

// The exit codes that operators and supervisors rely on.
const (
	ExitClean         = 0
	ExitStorage       = 1
	ExitConfiguration = 2
	ExitLocked        = 3
)

// MappedFileFault is what the process ends with, and exitStorage, where the kernel refuses
// it a page of a file that the store has mapped.
const MappedFileFault = "mizan: storage: a mapped file of the store could not be read or written: the disk is full, or has failed; the next start finds out what is durable"

// Fault ends the process with a code and one line for each thing that is wrong. It is
// the client's type, so that the faults of its commands need no conversion.
type Fault = client.Fault

// StorageFault is a directory or store that can't be used, or broke.
func StorageFault(format string, args ...any) *Fault {
	return &Fault{Code: ExitStorage, Lines: []string{"mizan: storage: " + OneLine(fmt.Sprintf(format, args...))}}
}

// BadConfiguration has a line for each bad key; the lines come without prefix.
func BadConfiguration(lines ...string) *Fault {
	f := &Fault{Code: ExitConfiguration}
	for _, line := range lines {
		f.Lines = append(f.Lines, "mizan: configuration: "+OneLine(line))
	}
	return f
}

// InUse is a directory that another process holds, or that another release wrote.
func InUse(format string, args ...any) *Fault {
	return &Fault{Code: ExitLocked, Lines: []string{"mizan: locked: " + OneLine(fmt.Sprintf(format, args...))}}
}

// OneLine is text as one line: libraries' errors may have several, and so may a
// path.
func OneLine(text string) string {
	parts := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' })
	return strings.Join(parts, "; ")
}

// ReportExit reports err to people, a line each, and is the code to leave with.
func ReportExit(err error, stderr io.Writer) int {
	if err == nil {
		return ExitClean
	}
	var f *Fault
	if !errors.As(err, &f) {
		f = &Fault{Code: ExitStorage, Lines: []string{"mizan: " + OneLine(err.Error())}}
	}
	mapfault.LastWord()
	for _, line := range f.Lines {
		_, _ = fmt.Fprintln(stderr, line)
	}
	return f.Code
}
