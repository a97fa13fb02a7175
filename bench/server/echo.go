package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// EchoCommand is the subcommand of `mizan bench` that runs an echo server. When the echo server is ready, it prints a line that
// consists of EchoReadyPrefix and the server's URL.
const (
	EchoCommand     = "echo"
	EchoReadyPrefix = "echo at "
)

// maxReadyLine is the maximum length, in bytes, of the line that the echo server prints when it is ready.
const maxReadyLine = 256

// Echo is a process that only answers each POST with the body of the POST.
type Echo struct {
	BaseURL string
	*process
}

// StartEcho starts `mizan bench echo` and waits until the echo server is ready.
func StartEcho(ctx context.Context, binary string) (*Echo, error) {
	output, input, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	defer func() { _ = output.Close() }()
	cmd := exec.Command(binary, "bench", EchoCommand)
	cmd.Stdout = input
	p, err := startProcess(cmd, nil)
	_ = input.Close() // the child has its own copy, so ReadString returns an error if the child ends without a line
	if err != nil {
		return nil, err
	}
	stopWaiting := context.AfterFunc(ctx, func() { _ = output.Close() })
	defer stopWaiting()
	line, err := bufio.NewReader(io.LimitReader(output, maxReadyLine)).ReadString('\n')
	url, isReady := strings.CutPrefix(strings.TrimSpace(line), EchoReadyPrefix)
	if err != nil || !isReady {
		_ = p.Kill()
		return nil, fmt.Errorf("server: the echo did not start: %w\n%s", errors.Join(context.Cause(ctx), p.exitError()), p.stderrEnd)
	}
	return &Echo{BaseURL: url, process: p}, nil
}
