package testkit

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Maximum time that tests wait for a process to start or to stop. The time is long enough for a busy machine.
const (
	startTimeout = 3 * time.Minute
	stopTimeout  = 3 * time.Minute
)

// readyPrefixes are the beginnings of the lines that a server and a simulator print to stdout when they are ready. The rest of
// the line is the address.
var readyPrefixes = []string{"mizan: ready at ", "mizan: simulator ready on "}

// process is a child process and its output.
type process struct {
	cmd    *exec.Cmd
	stdout Output
	stderr Output
	ready  chan string   // receives the address once
	ended  chan struct{} // closed when the process has ended
}

// launch starts a binary. The child is killed at the end of the test, or when the test process is
// killed. If maxOpenFiles is above zero, the child may have at most that many files open.
func launch(tb testing.TB, path string, maxOpenFiles int, env, args []string) *process {
	tb.Helper()
	cmd := exec.Command(path, args...)
	if maxOpenFiles > 0 {
		shellArgs := append([]string{"-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(maxOpenFiles), path}, args...)
		cmd = exec.Command("/bin/sh", shellArgs...) // exec replaces the shell with the binary, in the same process
	}
	p := &process{cmd: cmd, ready: make(chan string, 1), ended: make(chan struct{})}
	p.cmd.Env = append(slices.DeleteFunc(os.Environ(), isTestSetting), env...)
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	startErr := make(chan error, 1)
	go func() {
		// The kernel kills the child when the thread that has started the child ends (Pdeathsig). So this goroutine keeps its
		// thread until the child has ended.
		runtime.LockOSThread()
		err := p.cmd.Start()
		startErr <- err
		if err == nil {
			p.followStdout(stdout)
			_ = p.cmd.Wait()
		}
		close(p.ended)
	}()
	if err := <-startErr; err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		p.kill(tb)
		// Look for the race detector's warning, because the exit code of a killed process does not show whether there was a
		// race.
		if hasRaceDetector && strings.Contains(p.stderr.String(), "WARNING: DATA RACE") {
			tb.Errorf("%s had a race:\n%s", strings.Join(args, " "), p.stderr.String())
		}
	})
	return p
}

// isTestSetting tells whether an environment variable is meant only for the test process and must not be passed to the server.
// The only such variable is GOGC, which make test sets to save time on garbage collection.
func isTestSetting(variable string) bool { return strings.HasPrefix(variable, "GOGC=") }

// followStdout copies the child's stdout into p.stdout, and sends the server's address to p.ready.
func (p *process) followStdout(stdout io.Reader) {
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		_, _ = p.stdout.Write([]byte(line))
		for _, prefix := range readyPrefixes {
			if address, found := strings.CutPrefix(line, prefix); found && err == nil {
				select {
				case p.ready <- strings.TrimSpace(address):
				default:
				}
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *process) isRunning() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *process) signal(tb testing.TB, s os.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Errorf("signal %v: %v", s, err)
	}
}

// wait waits until the process has ended and returns its exit code. If a signal ended the process, wait returns -1.
func (p *process) wait(tb testing.TB, timeout time.Duration) int {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.signal(tb, syscall.SIGQUIT) // makes the process print its goroutines, which the failure message then shows
		p.kill(tb)
		tb.Fatalf("the process did not end within %v\n%s", timeout, p.stderr.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) kill(tb testing.TB) {
	tb.Helper()
	if p.isRunning() {
		p.signal(tb, syscall.SIGKILL)
	}
	<-p.ended
}

// Result is the result of a run of the binary.
type Result struct {
	Exit   int // exit code; -1 if a signal ended the process
	Stdout string
	Stderr string
}

// Run runs the binary with the arguments and waits until it has ended.
func Run(tb testing.TB, env []string, args ...string) Result {
	tb.Helper()
	return RunLimited(tb, 0, env, args...)
}

// RunLimited is like Run, but the binary may have at most maxOpenFiles files open. If maxOpenFiles is 0, the limit of this
// process applies.
func RunLimited(tb testing.TB, maxOpenFiles int, env []string, args ...string) Result {
	tb.Helper()
	p := launch(tb, binaryOf(tb, args), maxOpenFiles, env, args)
	exit := p.wait(tb, startTimeout)
	return Result{Exit: exit, Stdout: p.stdout.String(), Stderr: p.stderr.String()}
}
