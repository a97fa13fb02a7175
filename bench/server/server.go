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

// pollInterval is how often a starting server is asked whether it is ready. It is the precision of
// Server.ReadyAfter.
const pollInterval = 5 * time.Millisecond

// Options configures the start of a server.
type Options struct {
	Binary  string    // the mizan binary
	Wrapper []string  // a command to which the server's command line is appended, and which executes it in its own process; nil: none
	Dir     string    // the server's data directory
	TLS     string    // value of --tls: "off" or "auto"
	Args    []string  // further arguments of serve
	Log     io.Writer // receives the server's stderr; nil: only the end of stderr is kept, for StderrEnd
}

// Server is a server process, which may have ended.
type Server struct {
	Sandbox    Sandbox       // set by WaitReady
	ReadyAfter time.Duration // from the start of the process until it was ready

	options      Options
	startTime    time.Time
	previousFile os.FileInfo // sandbox.json of the previous start; nil: none
	*process
}

// Start starts `serve --sandbox` on a port that the kernel chooses, and returns without waiting until the server is
// ready.
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

// WaitReady waits until the server accepts requests. If the server ends before that, the error contains the
// end of its output.
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

// probe checks once whether the server is ready. A missing sandbox.json is no error. A malformed one is an error: the
// server replaces the file as a whole, so no reader sees half of it.
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
