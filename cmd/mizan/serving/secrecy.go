package serving

import (
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"mizan/cmd/mizan/cli"
)

// HideMemory keeps what this process has in memory, keys and cards that are on their way,
// out of core dumps, and from other processes of its user: it can't be traced by them,
// and its files in /proc are root's.
func HideMemory() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("RLIMIT_CORE can't be set to 0: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_DUMPABLE can't be set to 0: %w", err)
	}
	return nil
}

// preemption is the GODEBUG setting of Go's runtime that decides whether a goroutine may
// be preempted by a signal (package runtime, "Environment Variables").
const preemption = "asyncpreemptoff"

// serveWithoutPreemption makes sure that no goroutine of this process is preempted by a
// signal. The kernel and the runtime then write the thread's registers to memory that
// nobody can wipe, and of a card that is just being copied the registers hold 16 bytes
// each: under load that was found about once in 25 runs of the memory test. Goroutines
// are preempted where they call functions, as all loops here do often enough.
//
// Go takes the setting from the environment when it starts, and from nowhere else: it is
// no //go:debug key, and can't be changed later. So the process begins again with it, as
// itself: same id, arguments and open files. Whoever has set it to something is obeyed.
func serveWithoutPreemption() error {
	settings := os.Getenv("GODEBUG")
	if strings.Contains(settings, preemption+"=") {
		return nil
	}
	if settings != "" {
		settings += ","
	}
	if err := os.Setenv("GODEBUG", settings+preemption+"=1"); err != nil {
		return cli.BadConfiguration("memory: GODEBUG can't be set: " + err.Error())
	}
	signal.Ignore(unix.SIGHUP) // which lasts until it is taken, in the process that begins
	err := unix.Exec("/proc/self/exe", os.Args, os.Environ())
	return cli.BadConfiguration("memory: the program can't begin again with GODEBUG=" + preemption + "=1; start it with that in its environment: " + err.Error())
}
