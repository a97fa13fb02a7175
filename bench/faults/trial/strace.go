package trial

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mizan/bench/server"
)

// traceTimeout is the longest time that a test waits for strace's last lines.
const traceTimeout = 2 * time.Second

// Tracer returns the path of strace. If strace is not installed or may not trace processes, Tracer skips the test.
func Tracer(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		tb.Skip("NOT TRIED: strace is not installed here")
	}
	if out, err := exec.Command(path, "-f", "-o", os.DevNull, "-e", "trace=close", "true").CombinedOutput(); err != nil {
		tb.Skipf("NOT TRIED: strace may not look into processes here: %v: %s", err, out)
	}
	return path
}

// Traced returns the command that Launch puts in front of the server's command. It runs the server under strace, which makes
// some of the server's system calls fail. The arguments args of strace select these calls. strace runs as a grandchild of the
// test, so that the server is the test's child.
func (c *Case) Traced(tracer string, args ...string) []string {
	return append([]string{tracer, "-D", "-f", "--seccomp-bpf", "-q", "-o", c.traceFile()}, args...)
}

func (c *Case) traceFile() string { return filepath.Join(c.root, "trace") }

// Injected returns the number of the server's system calls that strace made fail. The server must have ended.
func (c *Case) Injected(s *server.Server) int {
	c.tb.Helper()
	end := fmt.Appendf(nil, "%-5d +++ ", s.PID()) // the beginning of the line that strace writes when the server has ended
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	var content []byte
	// strace writes its last lines after the server has ended. If the line about the server's end does not arrive in time,
	// Injected uses the lines that have arrived.
	for limit := time.Now().Add(traceTimeout); !bytes.Contains(content, end) && time.Now().Before(limit); <-tick.C {
		content, _ = os.ReadFile(c.traceFile())
	}
	return bytes.Count(content, []byte("(INJECTED)"))
}

// Attach attaches strace to a running server. From then on strace makes the system calls that args select fail. Attach returns
// false if the server ended before strace was attached. strace ends when the server ends.
func (c *Case) Attach(s *server.Server, tracer string, args ...string) bool {
	c.tb.Helper()
	cmd := exec.Command(tracer, append([]string{"-f", "-o", c.traceFile(), "-p", strconv.Itoa(s.PID())}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		c.tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.tb.Fatal(err)
	}
	lines, attached := bufio.NewScanner(stderr), false
	for !attached && lines.Scan() {
		attached = strings.Contains(lines.Text(), "attached")
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, stderr)
		_ = cmd.Wait()
	}()
	c.tb.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return attached
}
