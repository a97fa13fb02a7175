package disk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// namespaceVariable is the name of an environment variable that InPrivateNamespace sets in the process that it starts.
const namespaceVariable = "MIZAN_TEST_PRIVATE_MOUNTS"

// InPrivateNamespace runs the tests in a child process that has a mount namespace of its own, and returns the child's exit
// code. The child is the same test program. In the child, InPrivateNamespace calls run. When the child ends, for any reason,
// the kernel unmounts all file systems that the child has mounted, and ends its loop devices and FUSE connections. Without
// root, InPrivateNamespace calls run in this process, and tests of volumes are skipped.
func InPrivateNamespace(run func() int) int {
	if os.Getenv(namespaceVariable) != "" || os.Geteuid() != 0 {
		return run()
	}
	runtime.LockOSThread() // the kernel kills the child when the thread that started it ends
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), namespaceVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err := cmd.Start()
	if errors.Is(err, syscall.EPERM) { // the process is root, but has no right to mount
		return run()
	}
	if err == nil {
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "disk: the test process in a namespace of its own:", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}
