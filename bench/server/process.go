package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child process, which may have ended.
type process struct {
	process   *os.Process
	stderrEnd *tail
	exited    chan struct{} // closed when the process has ended
	waitErr   error         // how the process ended; nil: exit code 0; valid after exited is closed
}

// startProcess starts a command, which the kernel kills when this process dies. log receives the command's stderr; if
// log is nil, only the end of stderr is kept.
func startProcess(cmd *exec.Cmd, log io.Writer) (*process, error) {
	p := &process{stderrEnd: new(tail), exited: make(chan struct{})}
	cmd.Stderr = p.stderrEnd
	if log != nil {
		cmd.Stderr = io.MultiWriter(p.stderrEnd, log)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	startErr := make(chan error, 1)
	go p.run(cmd, startErr)
	if err := <-startErr; err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	p.process = cmd.Process
	return p, nil
}

// run starts the process, sends the error of the start (or nil) to startErr, and waits for the end of the process. It keeps its
// operating system thread until then. The process is started with Pdeathsig, so the kernel kills it when the thread that started
// it ends.
func (p *process) run(cmd *exec.Cmd, startErr chan<- error) {
	runtime.LockOSThread()
	err := cmd.Start()
	startErr <- err
	if err == nil {
		p.waitErr = cmd.Wait()
	}
	close(p.exited)
}

// PID returns the process's id.
func (p *process) PID() int { return p.process.Pid }

// Exited returns a channel that is closed when the process has ended.
func (p *process) Exited() <-chan struct{} { return p.exited }

// StderrEnd returns the end of the server's stderr.
func (p *process) StderrEnd() string { return p.stderrEnd.String() }

// ExitCode returns the exit code of a process that has ended; -1 if a signal ended it.
func (p *process) ExitCode() int {
	var failed *exec.ExitError
	switch {
	case p.waitErr == nil:
		return 0
	case errors.As(p.waitErr, &failed):
		return failed.ExitCode()
	}
	return -1
}

// Kill ends the process with SIGKILL and waits for its end.
func (p *process) Kill() error {
	err := p.signal(syscall.SIGKILL)
	<-p.exited
	return err
}

// Stop sends SIGTERM and waits. If the process still runs after the wait, Stop kills it and returns an
// error. An exit code other than 0 is an error too.
func (p *process) Stop(wait time.Duration) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		return errors.Join(fmt.Errorf("server: still running %v after SIGTERM\n%s", wait, p.stderrEnd), p.Kill())
	}
	if p.waitErr != nil {
		return fmt.Errorf("server: stopped with %w\n%s", p.waitErr, p.stderrEnd)
	}
	return nil
}

// Signal sends a signal, for example SIGSTOP, and does not wait for its effect.
func (p *process) Signal(sig syscall.Signal) error { return p.signal(sig) }

// signal sends a signal, unless the process has ended: its pid may then belong to another process.
func (p *process) signal(sig syscall.Signal) error {
	select {
	case <-p.exited:
		return fmt.Errorf("server: has already ended: %w\n%s", p.exitError(), p.stderrEnd)
	default:
	}
	if err := p.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("server: signal %v: %w", sig, err)
	}
	return nil
}

// exitError returns how the process ended, as an error even for exit code 0.
func (p *process) exitError() error {
	if p.waitErr == nil {
		return errors.New("exit 0")
	}
	return p.waitErr
}
