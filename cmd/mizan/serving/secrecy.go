package serving

import (
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"mizan/cmd/mizan/cli"
)

// HideMemory protects the process's memory, which contains keys and card numbers: the memory is left out of core dumps, and
// other processes of the same user can't read the memory. After the call, other processes can't trace this process, and its
// files in /proc belong to root.
func HideMemory() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("RLIMIT_CORE can't be set to 0: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_DUMPABLE can't be set to 0: %w", err)
	}
	return nil
}

// preemptionSetting is the GODEBUG setting that decides whether Go's runtime may preempt a goroutine by a signal (package
// runtime, "Environment Variables").
const preemptionSetting = "asyncpreemptoff"

// restartWithoutPreemption makes sure that the runtime does not preempt goroutines of this process by signals. When a signal
// preempts a goroutine, the kernel and the runtime write the thread's registers to memory that can't be wiped. While a card
// number is being copied, a register holds 16 bytes of it. Under load, about one in 25 runs of the memory test found a card
// number in that memory. Goroutines can still be preempted at function calls, and all loops of this program call functions
// often enough.
//
// Go reads the setting only from the environment at its start; a //go:debug directive can't set it. So the process executes its
// own program again with the setting. Process id, arguments and open files stay the same. If the operator has already set
// asyncpreemptoff, the operator's value stays.
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
	signal.Ignore(unix.SIGHUP) // ignore SIGHUP until the new program handles it
	// The kernel names a process after the executed path. The program's own path is tried first, because with the second path
	// ps and pgrep would show only the name "exe". The second path works even if the program's file has been removed.
	path, err := os.Executable()
	if err == nil {
		_ = unix.Exec(path, os.Args, os.Environ()) // Exec returns only if it fails
	}
	err = unix.Exec("/proc/self/exe", os.Args, os.Environ())
	return cli.BadConfiguration("memory: the program can't begin again with GODEBUG=" + preemptionSetting + "=1; start it with that in its environment: " + err.Error())
}
