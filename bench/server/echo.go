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

// EchoCommand is the command of the binary that runs an echo, and EchoReady begins the line that it prints before its URL
// when it serves.
const (
	EchoCommand = "echo"
	EchoReady   = "echo at "
)

// maxReadyLine bounds the line with the URL in bytes.
const maxReadyLine = 256

// Echo is a process that answers each POST with its own body and does nothing else.
type Echo struct {
	BaseURL string
	*process
}

// StartEcho starts `bench echo` and waits until it serves.
func StartEcho(ctx context.Context, binary string) (*Echo, error) {
	output, input, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	defer func() { _ = output.Close() }()
	cmd := exec.Command(binary, "bench", EchoCommand)
	cmd.Stdout = input
	p, err := startProcess(cmd, nil)
	_ = input.Close() // the child has its own copy, so the end of the child ends the reading
	if err != nil {
		return nil, err
	}
	stopWaiting := context.AfterFunc(ctx, func() { _ = output.Close() })
	defer stopWaiting()
	line, err := bufio.NewReader(io.LimitReader(output, maxReadyLine)).ReadString('\n')
	url, isReady := strings.CutPrefix(strings.TrimSpace(line), EchoReady)
	if err != nil || !isReady {
		_ = p.Kill()
		return nil, fmt.Errorf("server: the echo did not start: %w\n%s", errors.Join(context.Cause(ctx), p.exitError()), p.stderrEnd)
	}
	return &Echo{BaseURL: url, process: p}, nil
}
