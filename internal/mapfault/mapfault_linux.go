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
	taken uint32 // 1 when a thread is writing the line
)

var set atomic.Bool

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
	action := sigaction{handler: h, flags: flagSiginfo | flagOnStack | flagRestorer, restorer: h} // it never returns
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGBUS),
		uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0)
	if errno != 0 {
		return fmt.Errorf("mapfault: %w", errno)
	}
	return nil
}
