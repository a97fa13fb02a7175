package serving

import (
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"mizan/cmd/mizan/cli"
)

// HideMemory keeps the process's memory out of core dumps and away from other processes of the same user, because it contains
// keys and cards. After the call, other processes can't trace this process, and its files in /proc belong to root.
func HideMemory() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("RLIMIT_CORE can't be set to 0: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_DUMPABLE can't be set to 0: %w", err)
	}
	return nil
}

// preemptionSetting is the GODEBUG setting of Go's runtime that decides whether a goroutine may
// be preempted by a signal (package runtime, "Environment Variables").
const preemptionSetting = "asyncpreemptoff"

// restartWithoutPreemption makes sure that no goroutine of this process is preempted by a signal. At such
// a preemption, the kernel and the runtime write the thread's registers to memory that can't be wiped.
// While a card number is being copied, a register holds 16 bytes of it. Under load, about one in 25
// runs of the memory test found a card number there. Goroutines are still preempted at function calls,
// which all loops of this program make often enough.
//
// Go reads the setting only from the environment and only at its start: it is no //go:debug key. So the
// process executes its own program again with that setting; process id, arguments and open files stay
// the same. If the operator has set the variable, its value stays.
func restartWithoutPreemption() error {
	settings := os.Getenv("GODEBUG")
	if strings.Contains(settings, preemptionSetting+"=") {
		return nil
	}
	if settings != "" {
		settings += ","
	}
	if err := os.Setenv("GODEBUG", settings+preemptionSetting+"=1"); err != nil {
		return cli.BadConfiguration("memory: GODEBUG can't be set: " + err.Error())
	}
	signal.Ignore(unix.SIGHUP) // ignored until the new program handles it
	// The kernel names a process by the path that was executed, and the name "exe" would mean nothing to users of ps and pgrep.
	// The second path leads to the program even if its file has been removed.
	path, err := os.Executable()
	if err == nil {
		_ = unix.Exec(path, os.Args, os.Environ()) // returns only if it fails
	}
	err = unix.Exec("/proc/self/exe", os.Args, os.Environ())
	return cli.BadConfiguration("memory: the program can't begin again with GODEBUG=" + preemptionSetting + "=1; start it with that in its environment: " + err.Error())
}
