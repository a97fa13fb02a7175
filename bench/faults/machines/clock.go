package machines

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A program asks the kernel for the time through a function in a page that the kernel maps into each process (the vDSO). Start
// replaces the beginning of this function, in the memory of one process, by readClock.

// readClock is a function for x86-64 that calls the system call clock_gettime, and adds a number of seconds to the time of day.
var readClock = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, 228 (clock_gettime)
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi: which clock; 0 is the time of day
	0x75, 0x09, // jne to ret
	0x66, 0x90, // nop, so that the number of seconds is aligned
	0x48, 0x81, 0x06, 0x00, 0x00, 0x00, 0x00, // add qword [rsi], seconds
	0xc3, // ret
}

const (
	secondsAt    = 16 // where readClock has the number of seconds
	clockFunc    = "__vdso_clock_gettime"
	vdsoMapping  = "[vdso]"
	clockMachine = "amd64"
)

// Clock is the time of day that a process sees.
type Clock struct {
	pid     int
	address int64 // of readClock in the process
}

// ClockUnavailable returns an error that says why this machine cannot have a Clock, or nil if it can.
func ClockUnavailable() error {
	if os.Geteuid() != 0 {
		return errors.New("machines: only root may change the memory of a process that hides it, as servers do")
	}
	return onThread(func() error {
		cmd := exec.Command("sleep", "100")
		c, err := Start(cmd)
		if err != nil {
			return err
		}
		err = c.Set(time.Minute)
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		return err
	})
}

// Start starts a program with a clock of its own, which first shows the right time. The caller must be on a thread of its own, as
// in Namespace.Do.
func Start(cmd *exec.Cmd) (*Clock, error) {
	if runtime.GOARCH != clockMachine {
		return nil, errors.New("machines: clocks are written for processors of the kind " + clockMachine)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(unix.SysProcAttr)
	}
	cmd.SysProcAttr.Ptrace = true // it stops before its first instruction
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		return nil, fmt.Errorf("machines: the process has not stopped at its start: %#x, %w", status, err)
	}
	c := &Clock{pid: pid}
	err := c.install()
	if detachErr := unix.PtraceDetach(pid); err == nil && detachErr != nil {
		err = fmt.Errorf("machines: letting the process continue: %w", detachErr)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		return nil, err
	}
	return c, nil
}

// install writes readClock into the memory of the process.
func (c *Clock) install() error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.pid))
	if err != nil {
		return fmt.Errorf("machines: %w", err)
	}
	var begin, end int64
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, vdsoMapping) {
			if _, err := fmt.Sscanf(line, "%x-%x", &begin, &end); err != nil {
				return fmt.Errorf("machines: %w", err)
			}
		}
	}
	if begin == 0 {
		return errors.New("machines: the process has no " + vdsoMapping)
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.pid), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("machines: %w", err)
	}
	defer func() { _ = memory.Close() }()
	page := make([]byte, end-begin)
	if _, err := memory.ReadAt(page, begin); err != nil {
		return fmt.Errorf("machines: %w", err)
	}
	library, err := elf.NewFile(bytes.NewReader(page))
	if err != nil {
		return fmt.Errorf("machines: %w", err)
	}
	symbols, err := library.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("machines: %w", err)
	}
	for _, s := range symbols {
		if s.Name == clockFunc && s.Size >= uint64(len(readClock)) && s.Value%4 == 0 {
			c.address = begin + int64(s.Value)
			_, err := memory.WriteAt(readClock, c.address)
			return err
		}
	}
	return errors.New("machines: " + vdsoMapping + " has no usable " + clockFunc)
}

// Set sets the process's clock: it differs from the right time by the given time, in whole seconds, from now on.
func (c *Clock) Set(difference time.Duration) error {
	seconds := int64(difference / time.Second)
	if seconds < math.MinInt32 || seconds > math.MaxInt32 {
		return fmt.Errorf("machines: a clock cannot differ by %v", difference)
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.pid), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("machines: %w", err)
	}
	defer func() { _ = memory.Close() }()
	_, err = memory.WriteAt(binary.LittleEndian.AppendUint32(nil, uint32(int32(seconds))), c.address+secondsAt)
	return err
}
