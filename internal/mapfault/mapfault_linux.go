//go:build linux && (amd64 || arm64)

package mapfault

//lint:file-ignore U1000 what is unused here is used by the handler, in assembly

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// What the handler uses. It can't wait for a lock, so they are set before it is in force,
// and never again. The handler reads them by name.
var (
	text  []byte
	code  uintptr
	taken uint32           // who writes the line: 0 nobody yet, else the process itself (own) or a thread
	late  uint32           // 1 when a thread writes it because the process did not
	grace = [2]int64{1, 0} // a struct timespec: how long a thread waits for the end, seconds and nanoseconds
)

// own is taken's value when the process has the last word.
const own = 2

var set, ending atomic.Bool

// onFault is the handler, in assembly. It is never called from Go.
func onFault()

// handler is onFault's address, as the kernel calls it.
func handler() uintptr

// sigaction is the kernel's struct sigaction, the same on both architectures.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	flagSiginfo  = 0x4
	flagOnStack  = 0x08000000 // the runtime gives each thread a stack for signals
	flagRestorer = 0x04000000
)

// Exit has a fault in a mapped file end the process with the code, after the line was
// written to standard error. It counts once in a process; the first call holds.
func Exit(exitCode int, line string) error {
	if !set.CompareAndSwap(false, true) {
		return nil
	}
	text, code = []byte(line+"\n"), uintptr(exitCode)
	h := handler()
	action := sigaction{handler: h, flags: flagSiginfo | flagOnStack | flagRestorer, restorer: h, mask: ^uint64(0)} // it never returns, and is not interrupted
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGBUS),
		uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0)
	if errno != 0 {
		return fmt.Errorf("mapfault: %w", errno)
	}
	return nil
}

// LastWord is called before the process says itself why it ends, so that there is one
// line and not two: a fault from now on gives it a second to end, and speaks only after
// that. Where a fault has begun to speak LastWord doesn't return.
func LastWord() {
	if !ending.Swap(true) && !atomic.CompareAndSwapUint32(&taken, 0, own) {
		select {}
	}
}
