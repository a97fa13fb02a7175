package machines

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace. It ends when neither a file handle nor a process uses it.
type Namespace struct{ handle *os.File }

// NewNamespace makes a network namespace.
func NewNamespace() (*Namespace, error) {
	var n *Namespace
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("machines: a network namespace: %w", err)
		}
		handle, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		if err != nil {
			return fmt.Errorf("machines: %w", err)
		}
		n = &Namespace{handle}
		return nil
	})
	return n, err
}

// onThread calls fn on a thread that ends afterwards, so that fn may change the thread.
func onThread(fn func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the goroutine ends without unlocking the thread, so the thread ends too
		result <- fn()
	}()
	return <-result
}

// Do calls fn on a thread that is in the namespace. Sockets that fn opens, and processes that it starts, are in the namespace. The
// thread ends afterwards. In a nil namespace, Do only calls fn.
func (n *Namespace) Do(fn func() error) error {
	if n == nil {
		return fn()
	}
	return onThread(func() error {
		if err := unix.Setns(int(n.handle.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("machines: entering a namespace: %w", err)
		}
		return fn()
	})
}

// run runs a program in the namespace.
func (n *Namespace) run(program string, arguments ...string) error {
	return n.Do(func() error { return run(program, arguments...) })
}

func run(program string, arguments ...string) error {
	if out, err := exec.Command(program, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("machines: %s %v: %w: %s", program, arguments, err, bytes.TrimSpace(out))
	}
	return nil
}

// Close ends the use of the namespace by this process.
func (n *Namespace) Close() error { return n.handle.Close() }
