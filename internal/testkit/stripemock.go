package testkit

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// StartStripeMock starts stripe-mock, which refuses paths, parameters and types that Stripe does not know, and returns its address.
// It skips the test where stripe-mock can't be built.
func StartStripeMock(tb testing.TB) string {
	tb.Helper()
	cmd := exec.Command(Tool(tb, "stripe-mock"), "-http-addr", "127.0.0.1:0", "-https-addr", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "Listening for HTTP at address: "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return "http://" + address
		}
	}
	tb.Fatalf("stripe-mock has ended: %v", lines.Err())
	return ""
}
