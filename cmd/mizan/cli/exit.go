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

// MappedFileFault is the last line that the process prints if the kernel can't read or write a page of a file that
// the store has mapped. The process then exits with ExitStorage.
const MappedFileFault = "mizan: storage: a mapped file of the store could not be read or written: the disk is full, or has failed; the next start finds out what is durable"

// Fault is an error that ends the process with an exit code, after the error's lines are printed. It is the type of package
// client, so that the faults of the commands in that package need no conversion.
type Fault = client.Fault

// StorageFault returns the fault for a directory or store that failed or can't be used.
func StorageFault(format string, args ...any) *Fault {
	return &Fault{Code: ExitStorage, Lines: []string{StoreLinePrefix + OneLine(fmt.Sprintf(format, args...))}}
}

// BadConfiguration returns the fault for a bad configuration. Each line is about one bad configuration key or flag.
// BadConfiguration adds the prefix to the lines.
func BadConfiguration(lines ...string) *Fault {
	f := &Fault{Code: ExitConfiguration}
	for _, line := range lines {
		f.Lines = append(f.Lines, "mizan: configuration: "+OneLine(line))
	}
	return f
}

// InUse returns the fault for a directory that another process has locked, or that another release has written.
func InUse(format string, args ...any) *Fault {
	return &Fault{Code: ExitLocked, Lines: []string{"mizan: locked: " + OneLine(fmt.Sprintf(format, args...))}}
}

// OneLine joins the lines of a text with semicolons. Paths and the errors of libraries may contain line breaks.
func OneLine(text string) string {
	parts := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' })
	return strings.Join(parts, "; ")
}

// ReportExit writes the lines of err to stderr and returns the exit code.
func ReportExit(err error, stderr io.Writer) int {
	if err == nil {
		return ExitClean
	}
	var f *Fault
	if !errors.As(err, &f) {
		f = &Fault{Code: ExitStorage, Lines: []string{"mizan: " + OneLine(err.Error())}}
	}
	mapfault.LastWord() // so that a later fault in a mapped file prints no second reason
	for _, line := range f.Lines {
		_, _ = fmt.Fprintln(stderr, line)
	}
	return f.Code
}
