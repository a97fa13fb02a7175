//go:build linux && (amd64 || arm64)

package mapfault

//lint:file-ignore U1000 what is unused here is used by the handler, in assembly

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// The data of the signal handler. The handler can't wait for a lock, so this data is set before the handler is installed and
// never changes afterwards. Only taken and late change, and they are changed atomically. The handler is written in assembly and
// refers to the variables by name.
var (
	text  []byte           // the line that is written to standard error
	code  uintptr          // the exit code
	taken uint32           // who writes the line; 0: not decided yet; takenByProcess: the process itself; any other value: a thread that met a fault
	late  uint32           // 1 if a thread has waited in vain for the process to end, and now writes the line itself
	grace = [2]int64{1, 0} // how long a thread waits for the process to end: a struct timespec, seconds and nanoseconds
)

// takenByProcess is the value of taken when the process itself writes the last line.
const takenByProcess = 2

var isInstalled, isEnding atomic.Bool

// onFault is the signal handler, written in assembly. It is never called from Go.
func onFault()

// handler returns the address of onFault. The kernel calls the signal handler at this address.
func handler() uintptr

// sigaction is the kernel's struct sigaction, which is the same on amd64 and arm64.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	flagSiginfo  = 0x4
	flagOnStack  = 0x08000000 // run the handler on the signal stack that the Go runtime gives each thread
	flagRestorer = 0x04000000
)

// ExitOnFault installs the signal handler. From then on, a fault in a mapped file writes the line to standard error and ends
// the process with the exit code. Only the first call in a process has an effect.
func ExitOnFault(exitCode int, line string) error {
	if !isInstalled.CompareAndSwap(false, true) {
		return nil
	}
	text, code = []byte(line+"\n"), uintptr(exitCode)
	h := handler()
	// The mask keeps all other signals from interrupting the handler. The restorer is never used, because the handler never
	// returns.
	action := sigaction{handler: h, flags: flagSiginfo | flagOnStack | flagRestorer, restorer: h, mask: ^uint64(0)}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGBUS),
		uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0)
	if errno != 0 {
		return fmt.Errorf("mapfault: %w", errno)
	}
	return nil
}

// ClaimExitLine must be called before the process itself prints why it ends, so that only one line is printed. A thread that
// meets a fault after the call waits a second for the process to end. The thread prints the line of ExitOnFault only if the
// process has not ended by then. If a thread has already begun to print because of a fault, ClaimExitLine does not return.
func ClaimExitLine() {
	if !isEnding.Swap(true) && !atomic.CompareAndSwapUint32(&taken, 0, takenByProcess) {
		select {}
	}
}
