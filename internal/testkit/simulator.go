package testkit

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Simulator is a running process of `mizan simulator`.
type Simulator struct {
	Dir string
	URL string // for the flag --simulator-url of a server

	tb      testing.TB
	env     []string
	flags   []string
	process *process
}

// StartSimulator starts a simulator on a free loopback port and waits until it is ready. It is killed when the test ends. The
// variables in env are added to the environment.
func StartSimulator(tb testing.TB, env []string) *Simulator {
	tb.Helper()
	dir := tb.TempDir()
	keyring := filepath.Join(dir, "keyring")
	WantQuietSuccess(tb, Run(tb, nil, "keyring", keyring))
	s := &Simulator{Dir: filepath.Join(dir, "simulator"), tb: tb, env: env}
	s.flags = []string{"--data", s.Dir, "--keyring", keyring, "--base-url", "https://127.0.0.1:8443"}
	s.start("127.0.0.1:0")
	return s
}

// Restart starts the simulator again at the same address, after Kill or Stop. The flags are added to those of the last start.
func (s *Simulator) Restart(flags ...string) {
	s.tb.Helper()
	if s.process.isRunning() {
		s.tb.Fatal("restart of a simulator that runs")
	}
	s.flags = append(s.flags, flags...)
	s.start(strings.TrimPrefix(s.URL, "http://"))
}

func (s *Simulator) start(listen string) {
	s.tb.Helper()
	s.process = launch(s.tb, RaceBinary(s.tb), 0, s.env, slices.Concat([]string{"simulator", "--listen", listen}, s.flags))
	select {
	case address := <-s.process.ready:
		s.URL = "http://" + address
	case <-s.process.ended:
		s.tb.Fatalf("the simulator ended with %d before it was ready\n%s", s.process.cmd.ProcessState.ExitCode(), s.process.stderr.String())
	case <-time.After(startTimeout):
		s.process.kill(s.tb)
		s.tb.Fatalf("the simulator was not ready within %v\n%s", startTimeout, s.process.stderr.String())
	}
}

// PID returns the simulator's process id.
func (s *Simulator) PID() int { return s.process.cmd.Process.Pid }

// Stderr returns what the simulator has printed to stderr since its last start.
func (s *Simulator) Stderr() string { return s.process.stderr.String() }

// Kill ends the simulator with SIGKILL.
func (s *Simulator) Kill() {
	s.tb.Helper()
	s.process.kill(s.tb)
}

// Stop sends SIGTERM to the simulator, waits until it has ended, and returns its exit code.
func (s *Simulator) Stop() int {
	s.tb.Helper()
	s.process.signal(s.tb, syscall.SIGTERM)
	return s.process.wait(s.tb, stopTimeout)
}
