package server

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// pollInterval is the time between two checks whether a starting server is ready. It is also the precision of
// Server.ReadyAfter.
const pollInterval = 5 * time.Millisecond

// Options configures the start of a server.
type Options struct {
	Binary  string    // the mizan binary
	Wrapper []string  // optional command to which the server's command line is appended; it must exec the server
	Dir     string    // the server's data directory
	TLS     string    // value of --tls: "off" or "auto"
	Args    []string  // further arguments of serve
	Log     io.Writer // receives the server's stderr; may be nil; StderrEnd works in both cases
}

// Server is a server process, which may have ended.
type Server struct {
	Sandbox    Sandbox       // set by WaitReady
	ReadyAfter time.Duration // time from the start of the process until it was ready

	options      Options
	startTime    time.Time
	previousFile os.FileInfo // sandbox.json of the previous start; nil if there is none
	*process
}

// Start starts `serve --sandbox` on a port that the kernel chooses. It does not wait until the server is ready.
func Start(o Options) (*Server, error) {
	s := &Server{options: o}
	if stat, err := os.Stat(filepath.Join(o.Dir, sandboxFile)); err == nil {
		s.previousFile = stat
	}
	command := slices.Concat(o.Wrapper, []string{o.Binary, "serve", "--sandbox", "--tls", o.TLS, "--listen", "127.0.0.1:0", "--data", o.Dir}, o.Args)
	s.startTime = time.Now()
	var err error
	s.process, err = startProcess(exec.Command(command[0], command[1:]...), o.Log)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// WaitReady waits until the server accepts requests. If the server ends before it is ready, the error contains the end of its
// output.
func (s *Server) WaitReady(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		ready, err := s.probe(ctx)
		if err != nil || ready {
			s.ReadyAfter = time.Since(s.startTime)
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("server: not ready after %v: %w\n%s", time.Since(s.startTime).Round(time.Millisecond), ctx.Err(), s.stderrEnd)
		case <-s.exited:
			return fmt.Errorf("server: ended before it was ready: %w\n%s", s.exitError(), s.stderrEnd)
		case <-tick.C:
		}
	}
}

// probe checks once whether the server is ready. A missing sandbox.json is not an error. A malformed sandbox.json is an error:
// the server replaces the file as a whole, so a reader never sees half of it.
func (s *Server) probe(ctx context.Context) (bool, error) {
	path := filepath.Join(s.options.Dir, sandboxFile)
	stat, err := os.Stat(path)
	if err != nil || (s.previousFile != nil && os.SameFile(s.previousFile, stat)) {
		return false, nil
	}
	sandbox, err := ReadSandbox(s.options.Dir)
	if err != nil {
		return false, err
	}
	client, err := sandbox.Client()
	if err != nil {
		return false, err
	}
	defer client.CloseIdleConnections()
	if !isReady(ctx, client, sandbox.BaseURL) {
		return false, nil
	}
	s.Sandbox = sandbox
	return true, nil
}
