package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"mizan/cmd/mizan/client"
	"mizan/internal/mapfault"
)

// Exit codes on which operators and supervisors rely.
const (
	ExitClean         = 0
	ExitStorage       = 1
	ExitConfiguration = 2
	ExitLocked        = 3
)

// MappedFileFault is the last line that the process prints if the kernel can't read or write a page of a memory-mapped file of
// the store. The process then exits with ExitStorage.
const MappedFileFault = "mizan: storage: a mapped file of the store could not be read or written: the disk is full, or has failed; the next start finds out what is durable"

// Fault is an error that ends the process with an exit code, after the lines of the error are printed. It is an alias of
// client.Fault, so that faults of the commands in package client need no conversion.
type Fault = client.Fault

// StorageFault returns the fault for a data directory or a store that has failed or can't be used.
func StorageFault(format string, args ...any) *Fault {
	return &Fault{Code: ExitStorage, Lines: []string{StoreLinePrefix + OneLine(fmt.Sprintf(format, args...))}}
}

// BadConfiguration returns the fault for a bad configuration. Each line describes one bad configuration key or flag.
// BadConfiguration adds the prefix "mizan: configuration: " to each line.
func BadConfiguration(lines ...string) *Fault {
	f := &Fault{Code: ExitConfiguration}
	for _, line := range lines {
		f.Lines = append(f.Lines, "mizan: configuration: "+OneLine(line))
	}
	return f
}

// InUse returns the fault for a data directory that another process has locked, or that another release has written.
func InUse(format string, args ...any) *Fault {
	return &Fault{Code: ExitLocked, Lines: []string{"mizan: locked: " + OneLine(fmt.Sprintf(format, args...))}}
}

// OneLine joins the lines of a text with semicolons. It is needed because paths and errors of libraries may contain line
// breaks.
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
	mapfault.ClaimExitLine() // so that a later fault in a memory-mapped file prints no second reason
	for _, line := range f.Lines {
		_, _ = fmt.Fprintln(stderr, line)
	}
	return f.Code
}
