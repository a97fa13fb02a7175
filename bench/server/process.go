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
	waitErr   error         // how the process ended; nil means exit code 0; valid after exited is closed
}

// startProcess starts a command. The kernel kills the command when this process dies. log receives the command's stderr; if log
// is nil, only the end of stderr is kept.
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

// run starts the process, sends the result of the start to startErr, and waits until the process ends. Until then run keeps its
// operating system thread: because of Pdeathsig, the kernel kills the process when the thread that started it ends.
func (p *process) run(cmd *exec.Cmd, startErr chan<- error) {
	runtime.LockOSThread()
	err := cmd.Start()
	startErr <- err
	if err == nil {
		p.waitErr = cmd.Wait()
	}
	close(p.exited)
}

// PID returns the id of the process.
func (p *process) PID() int { return p.process.Pid }

// Exited returns a channel that is closed when the process has ended.
func (p *process) Exited() <-chan struct{} { return p.exited }

// StderrEnd returns the last part of what the process has written to stderr.
func (p *process) StderrEnd() string { return p.stderrEnd.String() }

// ExitCode returns the exit code of a process that has ended, or -1 if a signal ended the process.
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

// Kill sends SIGKILL to the process and waits until it has ended.
func (p *process) Kill() error {
	err := p.signal(syscall.SIGKILL)
	<-p.exited
	return err
}

// Stop sends SIGTERM and waits for the end of the process. If the process still runs after the time wait, Stop kills it and
// returns an error. If the exit code is not 0, Stop returns an error too.
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

// Signal sends a signal, for example SIGSTOP, to the process. It does not wait for the effect of the signal.
func (p *process) Signal(sig syscall.Signal) error { return p.signal(sig) }

// signal sends a signal to the process. If the process has ended, it sends nothing, because the pid may now belong to another
// process.
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

// exitError describes how the process ended. It returns an error even if the exit code is 0.
func (p *process) exitError() error {
	if p.waitErr == nil {
		return errors.New("exit 0")
	}
	return p.waitErr
}
