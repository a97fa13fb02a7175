//go:build !linux || !(amd64 || arm64)

package mapfault

// The handler of mapfault_linux.go does not exist on this system. The functions below have the same names as on Linux, so that
// their callers compile.

// ExitOnFault does nothing on this system: a fault in a mapped file ends the process with the
// runtime's own code, 2, and its stack traces.
func ExitOnFault(exitCode int, line string) error { return nil }

// ClaimExitLine does nothing on this system, because no other thread prints a line.
func ClaimExitLine() {}
