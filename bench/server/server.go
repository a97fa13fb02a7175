package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// pollInterval is how often a starting server is asked whether it is ready. It is the precision of
// Server.ReadyAfter.
const pollInterval = 5 * time.Millisecond

// Options configures the start of a server.
type Options struct {
	Binary string    // the mizan binary
	Dir    string    // the server's data directory
	TLS    string    // value of --tls: "off" or "auto"
	Args   []string  // further arguments of serve
	Log    io.Writer // receives the server's stderr; nil: only the end of stderr is kept, for StderrEnd
}

// Server is a server process, which may have ended.
type Server struct {
	Sandbox    Sandbox       // set by WaitReady
	ReadyAfter time.Duration // from the start of the process until it was ready

	options      Options
	process      *os.Process
	startTime    time.Time
	previousFile os.FileInfo // sandbox.json of the previous start; nil: none
	stderrEnd    *tail
	exited       chan struct{} // closed when the process has ended
	waitErr      error         // how the process ended; nil: exit code 0; valid after exited is closed
}

// Start starts `serve --sandbox` on a port that the kernel chooses, and returns without waiting until the server is
// ready.
func Start(o Options) (*Server, error) {
	s := &Server{options: o, stderrEnd: new(tail), exited: make(chan struct{})}
	if stat, err := os.Stat(filepath.Join(o.Dir, sandboxFile)); err == nil {
		s.previousFile = stat
	}
	args := append([]string{"serve", "--sandbox", "--tls", o.TLS, "--listen", "127.0.0.1:0", "--data", o.Dir}, o.Args...)
	cmd := exec.Command(o.Binary, args...)
	cmd.Stderr = s.stderrEnd
	if o.Log != nil {
		cmd.Stderr = io.MultiWriter(s.stderrEnd, o.Log)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.startTime = time.Now()
	startErr := make(chan error, 1)
	go s.runProcess(cmd, startErr)
	if err := <-startErr; err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.process = cmd.Process
	return s, nil
}

// runProcess starts the process, sends the result to startErr, and waits for the end of the process. It stays on one
// thread, because the kernel treats the end of the thread that started a child as the end of the child's
// parent.
func (s *Server) runProcess(cmd *exec.Cmd, startErr chan<- error) {
	runtime.LockOSThread()
	err := cmd.Start()
	startErr <- err
	if err == nil {
		s.waitErr = cmd.Wait()
	}
	close(s.exited)
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

// probe checks once whether the server is ready. A missing sandbox.json is no error. A malformed one is
// an error, because the server replaces the file as a whole.
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

// PID returns the process's id.
func (s *Server) PID() int { return s.process.Pid }

// Exited returns a channel that is closed when the process has ended.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// StderrEnd returns the end of the server's stderr.
func (s *Server) StderrEnd() string { return s.stderrEnd.String() }

// Kill ends the process with SIGKILL and waits for its end.
func (s *Server) Kill() error {
	err := s.signal(syscall.SIGKILL)
	<-s.exited
	return err
}

// Stop sends SIGTERM and waits. If the process still runs after the wait, Stop kills it and returns an
// error. An exit code other than 0 is an error too.
func (s *Server) Stop(wait time.Duration) error {
	if err := s.signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-s.exited:
	case <-timer.C:
		return errors.Join(fmt.Errorf("server: still running %v after SIGTERM\n%s", wait, s.stderrEnd), s.Kill())
	}
	if s.waitErr != nil {
		return fmt.Errorf("server: stopped with %w\n%s", s.waitErr, s.stderrEnd)
	}
	return nil
}

// signal signals the pid only while it certainly belongs to this process.
func (s *Server) signal(sig syscall.Signal) error {
	select {
	case <-s.exited:
		return fmt.Errorf("server: has already ended: %w\n%s", s.exitError(), s.stderrEnd)
	default:
	}
	if err := s.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("server: signal %v: %w", sig, err)
	}
	return nil
}

// exitError returns how the process ended, as an error even for exit code 0.
func (s *Server) exitError() error {
	if s.waitErr == nil {
		return errors.New("exit 0")
	}
	return s.waitErr
}
